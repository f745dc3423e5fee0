//! NonMaxSuppression-1, NonMaxSuppression-3, NonMaxSuppression-4, NonMaxSuppression-5 and NonMaxSuppression-9.

use snick_tensor::Tensor;

use super::checks::{expect_f32_or_half, expect_size, wrong_shape};
use super::corners::Corners;
use super::nms_selection::{Boxes, NmsLimits, infer};
use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, Since, leading};

op! {
    /// Hard or soft non-maximum suppression.
    ///
    /// Inputs: boxes `[batch, boxes, 4]` and scores `[batch, classes, boxes]`, and optionally the maximum
    /// number of boxes per class, the IoU threshold, the score threshold, and since opset 5 the sigma of soft
    /// suppression. Outputs: rows `[rows, 3]` of batch, class and box, and since opset 5 rows `[rows, 3]` of
    /// batch, class and score, and the number of rows `[1]`.
    #[op(
        "NonMaxSuppression", since = [1, 3, 4, 5, 9], inputs = Arity::between(2, 6),
        category = Other, traits = [PURE], name = extended_in(9)
    )]
    pub struct NonMaxSuppression {
        /// The version.
        pub since: Since = Since(9),
        /// The box format.
        pub box_encoding: BoxEncoding = BoxEncoding::Corner,
        /// Whether to sort rows by score across batches and classes.
        pub sort_result_descending: bool = true,
        /// Element type of outputs 0 and 2.
        #[since(3)]
        pub output_type: IndexType = IndexType::I64,
    }
}

/// The box format.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BoxEncoding {
    /// Two opposite corners (y, x, y, x).
    Corner,
    /// Centre x, centre y, width and height.
    Center,
}

attr_words!(BoxEncoding { Corner = "corner", Center = "center" });

impl InferOp for NonMaxSuppression {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if !self.has_scores() {
            Arity::between(2, 5).check(cx.len())?;
        } else {
            for port in [0, 1, 3, 4, 5].into_iter().filter(|&port| port < cx.len()) {
                expect_f32_or_half(cx, port)?;
            }
        }
        for port in 2..cx.len() {
            // Since opset 5, a vector of one element is also accepted.
            cx.expect_rank(port, "0", |rank| rank == 0 || (self.has_scores() && rank == 1))?;
            expect_size(cx, port, 0, 1)?;
        }
        let facts = infer(cx, 4, self.output_type.element_type())?;
        let outputs = if self.has_scores() { facts.len() } else { 1 };
        Ok(facts.into_iter().take(outputs).collect())
    }
}

impl EvalOp for NonMaxSuppression {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([boxes, scores], limits) = leading(inputs)?;
        let &[_, _, 4] = boxes.dims() else {
            return Err(wrong_shape("the boxes", boxes, "[batch,boxes,4]"));
        };
        let limits = NmsLimits::new(limits, true)?;
        // If nothing can be selected, the boxes are not read.
        let values = if limits.max_per_class == 0 { Vec::new() } else { boxes.to_f32_vec()? };
        let corners: Vec<Corners> =
            values.as_chunks().0.iter().map(|&numbers| self.corners(numbers)).collect();
        let index = self.output_type.element_type();
        let all = Boxes { bounds: &corners, rotated: None };
        let mut outputs = limits.select(boxes, scores, all, self.sort_result_descending, index)?;
        if !self.has_scores() {
            outputs.truncate(1);
        }
        Ok(outputs)
    }
}

impl NonMaxSuppression {
    /// Whether scores and the number of rows are also outputs.
    fn has_scores(&self) -> bool {
        self.since.at_least(5)
    }

    /// Decodes a box; two opposite corners may be given in any order.
    fn corners(&self, [a, b, c, d]: [f32; 4]) -> Corners {
        Corners::from(match self.box_encoding {
            BoxEncoding::Center => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
            BoxEncoding::Corner => [a.min(c), b.min(d), a.max(c), b.max(d)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_boxes_are_dropped() {
        let boxes = vec![0f32, 0., 1., 1., 0., 0.1, 1., 1.1, 0., 10., 1., 11.];
        let boxes = Tensor::from_vec(&[1, 3, 4], boxes).unwrap();
        let scores = Tensor::from_vec(&[1, 1, 3], vec![0.9f32, 0.75, 0.6]).unwrap();
        let limits = [Tensor::scalar(3i64), Tensor::scalar(0.5f32), Tensor::scalar(0f32)];
        let inputs = [vec![boxes, scores], limits.to_vec()].concat();
        let out = NonMaxSuppression::default().eval(&inputs).unwrap();
        assert_eq!(out[0].to_i64_vec().unwrap(), [0, 0, 0, 0, 0, 2]);
        assert_eq!(out[2].to_i64_vec().unwrap(), [2]);
    }
}
