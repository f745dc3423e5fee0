//! Shared code of ROIAlign and ROIAlignRotated.

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, common_float, expect_ranks, expect_size, zero_padded};
use super::sampling::{Bins, FeatureMaps};
use crate::ops::allocation::reserved;
use crate::{Fact, Facts, Infer, OpError, exactly};

attrs! {
    /// Attributes shared by ROIAlign and ROIAlignRotated.
    pub struct AlignedRegions {
        /// Height of the output.
        pub pooled_h: usize = 0,
        /// Width of the output.
        pub pooled_w: usize = 0,
        /// Samples per bin and axis; 0 or less for about one sample per element of the map.
        pub sampling_ratio: i64 = 0,
        /// Scale from region coordinates to elements of the map.
        pub spatial_scale: f64 = 0.0,
    }
}

impl AlignedRegions {
    /// Infers `[rois, C, pooled_h, pooled_w]`, checking that `numbers` numbers describe each region.
    pub fn infer(&self, cx: &mut Infer, numbers: i64) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..2)?;
        cx.expect_integer(2);
        expect_ranks(cx, &[4, 2, 1])?;
        expect_size(cx, 1, 1, numbers)?;
        let regions = common_dim(cx, &[(1, 0), (2, 0)])?;
        let channels = common_dim(cx, &[(0, 1)])?;
        let [height, width] = [self.pooled_h, self.pooled_w].map(|size| (size as i64).into());
        Ok(Facts::from(Fact::new(element_type, Shape::ranked([regions, channels, height, width]))))
    }

    /// Pools regions, each described by `N` numbers: `pool` appends the bins of one region to the output. If
    /// `has_end` is set, the first region with image -1 ends the list of regions, and the rest of the output
    /// is zero.
    pub(super) fn pool<const N: usize>(
        &self,
        inputs: &[Tensor],
        has_end: bool,
        pool: impl Fn(&Bins, &FeatureMaps, usize, &[f32; N], &mut Vec<f32>) -> Result<(), OpError>,
    ) -> Result<Vec<Tensor>, OpError> {
        let [data, regions, images] = exactly(inputs)?;
        let maps = FeatureMaps::new(data)?;
        let images = images.to_i64_vec()?;
        check_dims("the regions", regions, &[images.len(), N])?;
        let counts = [self.pooled_h, self.pooled_w];
        let bins = Bins { counts, samples: usize::try_from(self.sampling_ratio).unwrap_or(0), max: false };
        let dims = [images.len(), maps.dims()[1], counts[0], counts[1]];
        let mut out = reserved(&dims)?;
        for (region, &image) in regions.to_f32_vec()?.as_chunks::<N>().0.iter().zip(&images) {
            if image == -1 && has_end {
                break;
            }
            pool(&bins, &maps, maps.image(image)?, region, &mut out)?;
        }
        Ok(vec![zero_padded(&dims, out)?.cast(data.element_type())?])
    }
}
