//! ROIAlignRotated-15.

use snick_tensor::Tensor;

use super::aligned_regions::AlignedRegions;
use super::sampling::Region;
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Averages bilinear samples of a feature map over the bins of each rotated region.
    ///
    /// Inputs: a map `[N, C, H, W]`, regions `[rois, 5]` of centre x, centre y, width, height and angle in
    /// radians, and the image of each region `[rois]`. Output: `[rois, C, pooled_h, pooled_w]`.
    #[op("ROIAlignRotated", since = [15], inputs = Arity::exactly(3), category = Reduction, traits = [PURE])]
    pub struct RoiAlignRotated {
        /// Attributes shared with ROIAlign.
        pub regions: AlignedRegions = AlignedRegions::default(),
        /// Whether angles are clockwise.
        pub clockwise_mode: bool = false,
    }
}

impl InferOp for RoiAlignRotated {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.regions.infer(cx, 5)
    }
}

impl EvalOp for RoiAlignRotated {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let scale = self.regions.spatial_scale as f32;
        self.regions.pool::<5>(inputs, false, |bins, maps, image, &[x, y, width, height, angle], out| {
            let (x, y) = (x * scale - 0.5, y * scale - 0.5);
            let (width, height) = (width * scale, height * scale);
            let (sin, cos) = if self.clockwise_mode { -angle } else { angle }.sin_cos();
            // The region before rotation, centred at the origin; `to_map` rotates it and moves it to its
            // position on the map.
            let region = Region { start: [-height / 2.0, -width / 2.0], size: [height, width] };
            let to_map = |[dy, dx]: [f32; 2]| [dy * cos - dx * sin + y, dy * sin + dx * cos + x];
            bins.pool(maps, image, &region, to_map, out)
        })
    }
}
