//! ExperimentalDetectronROIFeatureExtractor-6: each region aligned on the level of a pyramid that suits its size.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, common_float, expect_rank, expect_size, room};
use super::corners::Corners;
use super::sampling::{Bins, Maps, Region};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Regions `[rois, 4]` and levels `[1, C, H, W]` to `[rois, C, output_size, output_size]`, and the regions again.
#[derive(Clone, PartialEq, Debug)]
pub struct RoiFeatureExtractor {
    settings: Settings,
}

const TABLE: Table = &[
    ("output_size", Kind::Int),
    ("sampling_ratio", Kind::Int),
    ("pyramid_scales", Kind::Ints),
    ("aligned", Kind::Bool),
];

/// A region of this size, side by side, is for level 2.
const CANONICAL_SIZE: f32 = 224.0;
const CANONICAL_LEVEL: f32 = 2.0;

impl OpDef for RoiFeatureExtractor {
    const NAMES: &'static [OpName] =
        &[OpName::openvino("ExperimentalDetectronROIFeatureExtractor", &[6]).was_extension()];
    const ARITY: Arity = Arity::at_least(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { settings: Settings::parse(&raw.attrs, TABLE)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }
}

impl InferOp for RoiFeatureExtractor {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..cx.len())?;
        expect_rank(cx, 0, 2)?;
        expect_size(cx, 0, 1, 4)?;
        for level in 1..cx.len() {
            expect_rank(cx, level, 4)?;
            expect_size(cx, level, 0, 1)?;
        }
        let regions = common_dim(cx, &[(0, 0)])?;
        let levels: SmallVec<[(usize, usize); 5]> = (1..cx.len()).map(|level| (level, 1)).collect();
        let channels = common_dim(cx, &levels)?;
        let size = SymExpr::from(self.size()? as i64);
        let dims: SmallVec<[SymExpr; 4]> = smallvec![regions.clone(), channels, size.clone(), size];
        Ok(smallvec![
            Fact::new(element_type, Shape::ranked(dims)),
            Fact::new(element_type, Shape::ranked([regions, 4.into()])),
        ])
    }
}

impl EvalOp for RoiFeatureExtractor {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [regions, first, ..] = inputs else { return Ok(Vec::new()) };
        let &[count, 4] = regions.dims() else {
            return Err(OpError::mismatch("the regions", format!("{:?}", regions.dims()), "[rois, 4]"));
        };
        let levels = inputs.iter().skip(1).map(Maps::new).collect::<Result<Vec<_>, _>>()?;
        let channels = first.dims().get(1).copied().unwrap_or(0);
        for (level, tensor) in levels.iter().zip(inputs.iter().skip(1)) {
            let [_, _, height, width] = level.dims();
            check_dims("a level", tensor, &[1, channels, height, width])?;
        }
        let scales = self.settings.ints("pyramid_scales");
        let size = self.size()?;
        let bins = Bins {
            counts: [size, size],
            samples: usize::try_from(self.settings.int("sampling_ratio", 0)).unwrap_or(0),
            max: false,
        };
        let shift = if self.settings.bool("aligned", false) { 0.5 } else { 0.0 };
        let dims = [count, channels, size, size];
        let mut out = room(&dims)?;
        for corners in Corners::all(&regions.to_f32_vec()?) {
            let Some(level) = level_of(&corners, levels.len()) else {
                out.resize(out.len() + channels * size * size, 0.0);
                continue;
            };
            let (Some(maps), Some(&scale)) = (levels.get(level), scales.get(level)) else {
                return Err(OpError::mismatch("`pyramid_scales`", format!("{scales:?}"), "a scale a level"));
            };
            let [x0, y0, x1, y1] = corners.sides().map(|v| v * (1.0 / scale as f32) - shift);
            let region = Region { start: [y0, x0], size: [(y1 - y0).max(1.0), (x1 - x0).max(1.0)] };
            bins.pool(maps, 0, &region, |at| at, &mut out)?;
        }
        let features = Tensor::from_vec(&dims, out)?.cast(first.element_type())?;
        Ok(vec![features, regions.clone()])
    }
}

impl RoiFeatureExtractor {
    fn size(&self) -> Result<usize, OpError> {
        let size = self.settings.int("output_size", 0);
        usize::try_from(size).map_err(|_| OpError::out_of_range("`output_size`", size, "0 or more"))
    }
}

/// The level for a region; none for an empty region, whose features are zeros.
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
    fn large_regions_are_for_coarse_levels() {
        let level = |side: f32| level_of(&Corners::from([0.0, 0.0, side, side]), 4);
        assert_eq!(level(0.0), None);
        assert_eq!(level(10.0), Some(0));
        assert_eq!(level(224.0), Some(2));
        assert_eq!(level(1e9), Some(3));
    }
}
