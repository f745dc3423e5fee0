//! Position-sensitive pooling, shared by PSROIPooling and DeformablePSROIPooling.

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::checks::{common_dim, expect_ranks, zero_padded};
use super::sampling::{FeatureMaps, Plane};
use crate::ops::allocation::reserved;
use crate::{Fact, Facts, Infer, OpError};

/// Sizes given by the attributes.
#[derive(Copy, Clone)]
pub struct Layout {
    /// Number of output channels.
    pub depth: usize,
    /// Height and width of the output.
    pub group: usize,
    /// Samples per bin along y and x.
    pub samples: [usize; 2],
}

impl Layout {
    /// The number of channels that the map must have. Each output channel reads `planes[0] * planes[1]`
    /// channels.
    pub fn channels(&self, planes: [usize; 2]) -> Result<i64, OpError> {
        let planes = planes[0].checked_mul(planes[1]);
        let channels = planes.and_then(|planes| planes.checked_mul(self.depth)).map(i64::try_from);
        channels.and_then(Result::ok).ok_or_else(|| OpError::unsupported("an output of this size"))
    }

    /// Infers `[rois, depth, group, group]`.
    pub fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[4, 2, 4])?;
        let regions = common_dim(cx, &[(1, 0)])?;
        let [depth, group] = [self.depth, self.group].map(|size| size as i64);
        let shape = Shape::ranked([regions, depth.into(), group.into(), group.into()]);
        Ok(Facts::from(Fact::new(cx.element_type(0), shape)))
    }

    /// Pools regions `[rois, 5]` of a map with this many channels: `pool` receives the index of a region and
    /// appends its bins to the output. The first region with image -1 and all regions after it produce zeros.
    pub fn pool(
        &self,
        data: &Tensor,
        regions: &Tensor,
        channels: i64,
        side: impl Fn([f32; 2]) -> Side,
        pool: impl Fn(&RegionBins, usize, &mut Vec<f32>),
    ) -> Result<Vec<Tensor>, OpError> {
        let maps = FeatureMaps::new(data)?;
        let listed = maps.regions(regions)?;
        if usize::try_from(channels) != Ok(maps.dims()[1]) {
            return Err(OpError::mismatch("the number of channels", maps.dims()[1], channels));
        }
        let dims = [regions.dims()[0], self.depth, self.group, self.group];
        let mut out = reserved(&dims)?;
        for (index, (image, [x0, y0, x1, y1])) in listed.into_iter().enumerate() {
            let sides = [side([y0, y1]), side([x0, x1])];
            pool(&RegionBins { maps: &maps, image, layout: *self, sides }, index, &mut out);
        }
        Ok(vec![zero_padded(&dims, out)?.cast(data.element_type())?])
    }
}

/// The extent of a region on one axis of the map.
#[derive(Copy, Clone)]
pub struct Side {
    /// The position where the region starts.
    pub start: f32,
    /// The length of the region.
    pub length: f32,
}

impl Side {
    /// The extent from `start` to `end`, with a length of at least 0.1, so that empty regions can be pooled.
    pub fn not_empty(start: f32, end: f32) -> Self {
        Self { start, length: (end - start).max(0.1) }
    }
}

/// The bins of one region.
pub struct RegionBins<'a> {
    maps: &'a FeatureMaps,
    image: usize,
    /// Sizes given by the attributes.
    pub layout: Layout,
    /// The extents on y and x.
    pub sides: [Side; 2],
}

impl RegionBins<'_> {
    /// A channel of the map.
    pub fn plane(&self, channel: usize) -> Plane<'_> {
        self.maps.plane(self.image, channel)
    }

    /// The channel that a bin reads, for ops where each bin reads its own channel.
    pub fn own_plane(&self, depth: usize, at: [usize; 2]) -> Plane<'_> {
        self.plane((depth * self.layout.group + at[0]) * self.layout.group + at[1])
    }

    /// Height and width of the map.
    pub fn size(&self) -> [usize; 2] {
        let [_, _, height, width] = self.maps.dims();
        [height, width]
    }

    /// Appends the value of `bin` for each output channel, row and column.
    pub fn for_each(&self, out: &mut Vec<f32>, bin: impl Fn(usize, [usize; 2]) -> f32) {
        let group = self.layout.group;
        for depth in 0..self.layout.depth {
            for row in 0..group {
                out.extend((0..group).map(|column| bin(depth, [row, column])));
            }
        }
    }
}
