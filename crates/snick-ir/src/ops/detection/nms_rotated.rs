//! NMSRotated-13.

use snick_tensor::Tensor;

use super::checks::wrong_shape;
use super::corners::Corners;
use super::nms_selection::{Boxes, NmsLimits, infer};
use super::rotated_box::RotatedBox;
use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, leading};

op! {
    /// Non-maximum suppression of rotated boxes.
    ///
    /// Inputs: boxes `[batch, boxes, 5]` of centre x, centre y, width, height and angle in radians; scores
    /// `[batch, classes, boxes]`; the maximum number of boxes per class; the IoU threshold; and the score
    /// threshold. Outputs: rows `[rows, 3]` of batch, class and box; rows `[rows, 3]` of batch, class and
    /// score; and the number of rows `[1]`.
    #[op("NMSRotated", since = [13], inputs = Arity::exactly(5), category = Other, traits = [PURE])]
    pub struct NmsRotated {
        /// Whether to sort rows by score across batches and classes.
        pub sort_result_descending: bool = true,
        /// Element type of outputs 0 and 2.
        pub output_type: IndexType = IndexType::I64,
        /// Whether angles are clockwise.
        pub clockwise: bool = true,
    }
}

impl InferOp for NmsRotated {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        [0, 1, 3, 4].into_iter().try_for_each(|port| cx.expect_real(port))?;
        cx.expect_integer(2);
        (2..5).try_for_each(|port| cx.expect_one(port))?;
        infer(cx, 5, self.output_type.element_type())
    }
}

impl EvalOp for NmsRotated {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([boxes, scores], limits) = leading(inputs)?;
        let &[_, _, 5] = boxes.dims() else {
            return Err(wrong_shape("the boxes", boxes, "[batch,boxes,5]"));
        };
        let turn = if self.clockwise { 1.0 } else { -1.0 };
        let values = boxes.to_f32_vec()?;
        let rotated: Vec<RotatedBox> =
            values.as_chunks().0.iter().map(|&numbers| RotatedBox::new(numbers, turn)).collect();
        let limits = NmsLimits::new(limits, false)?;
        let index = self.output_type.element_type();
        let bounds: Vec<Corners> = rotated.iter().map(RotatedBox::bounds).collect();
        let all = Boxes { bounds: &bounds, rotated: Some(&rotated) };
        limits.select(boxes, scores, all, self.sort_result_descending, index)
    }
}
