//! NonMaxSuppressionIEInternal, from OpenVINO's plug-ins.

use snick_shape::Shape;

use super::checks::{dim, expect_f32_or_half};
use super::nms_selection::infer;
use crate::ops::index_type::IndexType;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// NonMaxSuppression whose outputs have the maximum possible number of rows, if that number is known
    /// before the run. Takes the same inputs and returns the same outputs as NonMaxSuppression, but with
    /// `rotation` a box has five numbers. Shape inference only; cannot be run.
    #[op(
        "NonMaxSuppressionIEInternal", since = [1], inputs = Arity::between(5, 6),
        category = Other, traits = [PURE], name = internal()
    )]
    pub struct NonMaxSuppressionInternal {
        /// Whether boxes are given by their centre (1) or by corners (0).
        pub center_point_box: i64 = 0,
        /// Whether to sort rows by score across batches and classes.
        pub sort_result_descending: bool = true,
        /// Element type of outputs 0 and 2.
        pub output_type: IndexType = IndexType::I64,
        /// Element type of output 1.
        pub score_output_type: snick_tensor::ElementType = snick_tensor::ElementType::F32,
        /// The direction in which boxes are rotated; 0 if they are not rotated.
        pub rotation: i64 = 0,
    }
}

impl InferOp for NonMaxSuppressionInternal {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for port in [0, 1].into_iter().chain(3..cx.len()) {
            expect_f32_or_half(cx, port)?;
        }
        (2..cx.len()).try_for_each(|port| cx.expect_one(port))?;
        let numbers = if self.rotation == 0 { 4 } else { 5 };
        let mut facts: Vec<_> = infer(cx, numbers, self.output_type.element_type())?.into_iter().collect();
        let rows = self.rows(cx);
        if let [indices, scores, _] = facts.as_mut_slice() {
            scores.element_type = self.score_output_type;
            if let Some(rows) = rows {
                indices.shape = Shape::ranked([rows.into(), 3.into()]);
                scores.shape = indices.shape.clone();
            }
        }
        Ok(facts.into_iter().collect())
    }
}

impl NonMaxSuppressionInternal {
    /// The maximum number of rows, if all sizes are known.
    fn rows(&self, cx: &Infer) -> Option<i64> {
        let known = |port, axis| dim(cx, port, axis)?.as_const();
        let most = *cx.input(2).ints()?.first()?;
        let each = known(0, 1)?.min(most.max(0));
        each.checked_mul(known(1, 1)?)?.checked_mul(known(1, 0)?)
    }
}

only_inferred!(NonMaxSuppressionInternal);
