//! PriorBoxClustered-1.

use snick_tensor::Tensor;

use super::prior_grid::{self, Cell, single};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Default boxes of given widths and heights around every cell of a feature map.
    ///
    /// Inputs: the size of the map `[H, W]` and the size of the image. Output: `[2, 4 * H * W * widths]`, the
    /// boxes as fractions of the image, then their variances.
    #[op("PriorBoxClustered", since = [1], inputs = Arity::exactly(2), category = Other, traits = [PURE])]
    pub struct PriorBoxClustered {
        /// Pixels of the image per cell if `step_w` or `step_h` is 0; 0 to divide the image evenly.
        pub step: f64 = 0.0,
        /// Pixels of the image per column.
        pub step_w: f64 = 0.0,
        /// Pixels of the image per row.
        pub step_h: f64 = 0.0,
        /// The widths of the boxes, in pixels.
        pub width: Vec<f64> = Vec::new(),
        /// The heights of the boxes in pixels, one for each width.
        pub height: Vec<f64> = Vec::new(),
        /// Whether to clip boxes to the image.
        pub clip: bool = true,
        /// Position of the boxes' centre within a cell, in cells.
        pub offset: f64 = 0.0,
        /// One or four variances; 0.1 if empty.
        pub variance: Vec<f64> = Vec::new(),
    }
}

impl InferOp for PriorBoxClustered {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        prior_grid::infer(cx, self.priors()?)
    }
}

impl EvalOp for PriorBoxClustered {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let boxes = |cell: &Cell, out: &mut Vec<f32>| {
            self.boxes(cell, out);
            Ok(())
        };
        prior_grid::eval(inputs, self.priors()?, &self.variance, self.clip, boxes)
    }
}

impl PriorBoxClustered {
    /// Boxes per cell.
    fn priors(&self) -> Result<i64, OpError> {
        let (widths, heights) = (self.width.len(), self.height.len());
        match widths == heights {
            true => Ok(widths as i64),
            false => Err(OpError::conflict("`width` has {} entries, `height` has {}", widths, heights)),
        }
    }

    fn boxes(&self, cell: &Cell, out: &mut Vec<f32>) {
        let mut steps = [self.step_h, self.step_w].map(|step| match step as f32 {
            0.0 => self.step as f32,
            step => step,
        });
        if steps == [0.0, 0.0] {
            steps = cell.step();
        }
        let center = [0, 1].map(|axis: usize| (cell.at[axis] as f32 + self.offset as f32) * steps[axis]);
        for (width, height) in single(&self.width).into_iter().zip(single(&self.height)) {
            cell.push(center, [height / 2.0, width / 2.0], out);
        }
    }
}
