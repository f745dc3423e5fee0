//! ExperimentalDetectronGenerateProposalsSingleImage-6.

use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::anchor_proposals::{ProposalLimits, Selection};
use super::checks::{check_dims, common_dim, common_float, dims_of, expect_ranks, expect_size, zero_padded};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Refines anchors and selects the best boxes for one image by non-maximum suppression.
    ///
    /// Inputs: the image size `[3]` of height, width and scale; anchors `[H * W * A, 4]`; deltas
    /// `[4 * A, H, W]`; and scores `[A, H, W]`. Outputs: boxes `[post_nms_count, 4]` and their scores
    /// `[post_nms_count]`. Unused rows are zero.
    #[op(
        "ExperimentalDetectronGenerateProposalsSingleImage", since = [6], inputs = Arity::exactly(4),
        category = Other, traits = [PURE], name = was_extension()
    )]
    pub struct GenerateProposalsSingleImage {
        /// Attributes shared with GenerateProposals.
        pub limits: ProposalLimits = ProposalLimits::default(),
    }
}

impl InferOp for GenerateProposalsSingleImage {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..4)?;
        expect_ranks(cx, &[1, 2, 3, 3])?;
        expect_size(cx, 0, 0, 3)?;
        expect_size(cx, 1, 1, 4)?;
        common_dim(cx, &[(2, 1), (3, 1)])?;
        common_dim(cx, &[(2, 2), (3, 2)])?;
        let rows = SymExpr::from(self.limits.post_nms_count as i64);
        Ok(Facts::from([
            Fact::new(element_type, Shape::ranked([rows.clone(), 4.into()])),
            Fact::new(element_type, Shape::ranked([rows])),
        ]))
    }
}

impl EvalOp for GenerateProposalsSingleImage {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [size, anchors, deltas, scores] = exactly(inputs)?;
        let [kinds, height, width] = dims_of("the scores", scores)?;
        check_dims("the anchors", anchors, &[height.saturating_mul(width).saturating_mul(kinds), 4])?;
        // IoU excludes the pixels at the right and bottom of a box (`iou_unit` is 0), although all other
        // lengths include them.
        let selection = Selection {
            limits: &self.limits,
            unit: 1.0,
            iou_unit: 0.0,
            is_scaled: false,
            drops_small: false,
        };
        let proposed =
            selection.propose(&size.unsqueeze(0)?, anchors, &deltas.unsqueeze(0)?, &scores.unsqueeze(0)?)?;
        let (et, rows) = (size.element_type(), self.limits.post_nms_count);
        Ok(vec![
            zero_padded::<f32>(&[rows, 4], proposed.boxes)?.cast(et)?,
            zero_padded::<f32>(&[rows], proposed.scores)?.cast(et)?,
        ])
    }
}
