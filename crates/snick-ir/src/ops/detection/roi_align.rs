//! ROIAlign-3 and ROIAlign-9.

use snick_tensor::Tensor;

use super::aligned_regions::AlignedRegions;
use super::sampling::{Bins, Region};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, Since};

op! {
    /// Pools bilinear samples of a feature map over the bins of each region.
    ///
    /// Inputs: a map `[N, C, H, W]`, regions `[rois, 4]` of corners (x, y, x, y), and the image of each
    /// region `[rois]`. Output: `[rois, C, pooled_h, pooled_w]`. The first region with image -1 ends the list
    /// of regions.
    #[op(
        "ROIAlign", since = [3, 9], inputs = Arity::exactly(3), category = Reduction, traits = [PURE],
        name = extended_in(9)
    )]
    pub struct RoiAlign {
        /// The version.
        pub since: Since = Since(9),
        /// Attributes shared with ROIAlignRotated.
        pub regions: AlignedRegions = AlignedRegions::default(),
        /// How the samples of a bin are pooled.
        pub mode: RoiPoolMode = RoiPoolMode::Average,
        /// How region coordinates map to the feature map.
        #[since(9)]
        pub aligned_mode: RoiAlignment = RoiAlignment::Asymmetric,
    }
}

/// How the samples of a bin are pooled.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum RoiPoolMode {
    /// The mean of the samples.
    Average,
    /// The maximum of the samples, at least 0.
    Max,
}

attr_words!(RoiPoolMode { Average = "avg", Max = "max" });

/// How region coordinates map to the feature map.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum RoiAlignment {
    /// `x * scale`; regions are at least 1 element wide and high.
    Asymmetric,
    /// `x * scale - 0.5`.
    HalfPixelForNn,
    /// `(x + 0.5) * scale - 0.5`.
    HalfPixel,
}

attr_words!(RoiAlignment {
    Asymmetric = "asymmetric",
    HalfPixelForNn = "half_pixel_for_nn",
    HalfPixel = "half_pixel"
});

impl InferOp for RoiAlign {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.regions.infer(cx, 4)
    }
}

impl EvalOp for RoiAlign {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.regions.pool::<4>(inputs, true, |bins, maps, image, &corners, out| {
            let bins = Bins { max: self.mode == RoiPoolMode::Max, ..*bins };
            bins.pool(maps, image, &self.region(corners), |at| at, out)
        })
    }
}

impl RoiAlign {
    /// Maps the corners (x, y, x, y) of a region to the feature map.
    fn region(&self, corners: [f32; 4]) -> Region {
        let (before, after, least) = match self.aligned_mode {
            RoiAlignment::Asymmetric => (0.0, 0.0, 1.0),
            RoiAlignment::HalfPixelForNn => (0.0, -0.5, f32::NEG_INFINITY),
            RoiAlignment::HalfPixel => (0.5, -0.5, f32::NEG_INFINITY),
        };
        let scale = self.regions.spatial_scale as f32;
        let [x0, y0, x1, y1] = corners.map(|corner| (corner + before) * scale + after);
        Region { start: [y0, x0], size: [(y1 - y0).max(least), (x1 - x0).max(least)] }
    }
}
