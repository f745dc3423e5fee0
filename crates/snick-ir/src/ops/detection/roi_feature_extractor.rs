//! ExperimentalDetectronROIFeatureExtractor-6.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{Listed, SmallVector, Tensor};

use super::checks::{check_dims, common_dim, common_float, dims_of, expect_ranks, expect_size, wrong_shape};
use super::corners::Corners;
use super::sampling::{Bins, FeatureMaps, Region};
use crate::ops::allocation::reserved;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading};

op! {
    /// Applies ROIAlign to each region, on the level of a feature pyramid that matches the size of the
    /// region.
    ///
    /// Inputs: regions `[rois, 4]` and levels `[1, C, H, W]`, finest first. Outputs:
    /// `[rois, C, output_size, output_size]`, and the unchanged regions.
    #[op(
        "ExperimentalDetectronROIFeatureExtractor", since = [6], inputs = Arity::at_least(2),
        category = Reduction, traits = [PURE],
        name = was_extension()
    )]
    pub struct RoiFeatureExtractor {
        /// Height and width of the output.
        pub output_size: usize = 0,
        /// Samples per bin and axis; 0 or less for about one sample per element of the level.
        pub sampling_ratio: i64 = 0,
        /// Pixels of the image per element, for each level.
        pub pyramid_scales: SmallVector<i64, 4> = SmallVector::new(),
        /// Whether positions refer to the centres of elements.
        pub aligned: bool = false,
    }
}

/// A square region with this side length, in pixels, belongs to level `CANONICAL_LEVEL`.
const CANONICAL_SIZE: f32 = 224.0;
const CANONICAL_LEVEL: f32 = 2.0;

impl InferOp for RoiFeatureExtractor {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..cx.len())?;
        expect_ranks(cx, &[2])?;
        expect_size(cx, 0, 1, 4)?;
        for level in 1..cx.len() {
            cx.expect_rank(level, "4", |rank| rank == 4)?;
            expect_size(cx, level, 0, 1)?;
        }
        let regions = common_dim(cx, &[(0, 0)])?;
        let levels: SmallVector<(usize, usize), 5> = (1..cx.len()).map(|level| (level, 1)).collect();
        let channels = common_dim(cx, &levels)?;
        let size = SymExpr::from(self.output_size as i64);
        let dims = [regions.clone(), channels, size.clone(), size];
        Ok(Facts::from([
            Fact::new(element_type, Shape::ranked(dims)),
            Fact::new(element_type, Shape::ranked([regions, 4.into()])),
        ]))
    }
}

impl EvalOp for RoiFeatureExtractor {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([regions, first], _) = leading(inputs)?;
        let &[count, 4] = regions.dims() else {
            return Err(wrong_shape("the regions", regions, "[rois,4]"));
        };
        let [_, channels, ..] = dims_of::<4>("the first level", first)?;
        let mut levels = Vec::with_capacity(inputs.len());
        for tensor in &inputs[1..] {
            let [_, _, height, width] = dims_of("a level", tensor)?;
            check_dims("a level", tensor, &[1, channels, height, width])?;
            levels.push(FeatureMaps::new(tensor)?);
        }
        let size = self.output_size;
        let bins = Bins {
            counts: [size, size],
            samples: usize::try_from(self.sampling_ratio).unwrap_or(0),
            max: false,
        };
        let shift = if self.aligned { 0.5 } else { 0.0 };
        let dims = [count, channels, size, size];
        let mut out = reserved(&dims)?;
        for corners in Corners::all(&regions.to_f32_vec()?) {
            let Some(level) = level_of(&corners, levels.len()) else {
                out.resize(out.len() + channels * size * size, 0.0);
                continue;
            };
            let (Some(maps), Some(&scale)) = (levels.get(level), self.pyramid_scales.get(level)) else {
                let found = Listed(&self.pyramid_scales);
                return Err(OpError::mismatch("`pyramid_scales`", found, "a scale per level"));
            };
            let [x0, y0, x1, y1] = corners.coordinates().map(|v| v * (1.0 / scale as f32) - shift);
            let region = Region { start: [y0, x0], size: [(y1 - y0).max(1.0), (x1 - x0).max(1.0)] };
            bins.pool(maps, 0, &region, |at| at, &mut out)?;
        }
        let features = Tensor::from_vec(&dims, out)?.cast(first.element_type())?;
        Ok(vec![features, regions.clone()])
    }
}

/// The level for a region; `None` for an empty region, whose features are zero.
fn level_of(corners: &Corners, levels: usize) -> Option<usize> {
    let area = corners.area(0.0);
    if area.is_nan() || area <= 0.0 {
        return None;
    }
    let level = (area.sqrt() / CANONICAL_SIZE + 1e-6).log2() + CANONICAL_LEVEL;
    Some((level.floor().max(0.0) as usize).min(levels.checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_regions_belong_to_coarse_levels() {
        let level = |side: f32| level_of(&Corners::from([0.0, 0.0, side, side]), 4);
        assert_eq!(level(0.0), None);
        assert_eq!(level(10.0), Some(0));
        assert_eq!(level(224.0), Some(2));
        assert_eq!(level(1e9), Some(3));
    }
}
