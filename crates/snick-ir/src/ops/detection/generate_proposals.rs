//! GenerateProposals-9.

use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::anchor_proposals::{ProposalLimits, Selection};
use super::checks::{
    check_dims, common_dim, dim, dims_of, expect_at_least, expect_ranks, expect_size, rows_up_to, zero_padded,
};
use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, exactly};

op! {
    /// Refines anchors and selects the best boxes for a batch of images by non-maximum suppression.
    ///
    /// Inputs: image sizes `[N, 3 or 4]` of height, width and one or two scales; anchors `[H, W, A, 4]`;
    /// deltas `[N, 4 * A, H, W]`; and scores `[N, A, H, W]`. Outputs: the boxes of all images `[rows, 4]`,
    /// their scores `[rows]`, and the number of rows of each image `[N]`.
    #[op(
        "GenerateProposals", since = [9], inputs = Arity::exactly(4),
        category = Other, traits = [PURE], check = Self::check_attrs
    )]
    pub struct GenerateProposals {
        /// Attributes shared with ExperimentalDetectronGenerateProposalsSingleImage.
        pub limits: ProposalLimits = ProposalLimits::default(),
        /// Whether coordinates are fractions of the image; otherwise a box includes the pixels at its
        /// corners.
        pub normalized: bool = true,
        /// Multiplier of the threshold for each kept box; must be 1.
        pub nms_eta: f64 = 1.0,
        /// Element type of output 2.
        pub roi_num_type: IndexType = IndexType::I64,
    }
}

impl InferOp for GenerateProposals {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let images = images(cx)?;
        let bounds = [cx.interval(&images), (self.limits.post_nms_count as i64).into()];
        let rows = rows_up_to(cx, &bounds);
        Ok(facts(cx, images, rows, self.roi_num_type))
    }
}

/// Checks the inputs and returns the number of images.
pub(super) fn images(cx: &mut Infer) -> Result<SymExpr, OpError> {
    expect_ranks(cx, &[2, 4, 4, 4])?;
    if expect_size(cx, 0, 1, 3).is_err() {
        expect_size(cx, 0, 1, 4)?;
    }
    expect_size(cx, 1, 3, 4)?;
    let images = common_dim(cx, &[(0, 0), (2, 0), (3, 0)])?;
    common_dim(cx, &[(1, 0), (2, 2), (3, 2)])?;
    common_dim(cx, &[(1, 1), (2, 3), (3, 3)])?;
    let anchors = common_dim(cx, &[(1, 2), (3, 1)])?;
    expect_deltas(cx, &anchors)?;
    Ok(images)
}

/// Facts of the boxes, their scores and the number of rows of each image.
pub(super) fn facts(cx: &Infer, images: SymExpr, rows: SymExpr, index: IndexType) -> Facts {
    let element_type = cx.element_type(0);
    Facts::from([
        Fact::new(element_type, Shape::ranked([rows.clone(), 4.into()])),
        Fact::new(element_type, Shape::ranked([rows])),
        Fact::new(index.element_type(), Shape::ranked([images])),
    ])
}

impl EvalOp for GenerateProposals {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [sizes, anchors, deltas, scores] = exactly(inputs)?;
        let [images, kinds, height, width] = dims_of("the scores", scores)?;
        check_dims("the anchors", anchors, &[height, width, kinds, 4])?;
        let unit = if self.normalized { 0.0 } else { 1.0 };
        let selection =
            Selection { limits: &self.limits, unit, iou_unit: unit, is_scaled: true, drops_small: true };
        let proposed = selection.propose(sizes, anchors, deltas, scores)?;
        let (et, rows) = (sizes.element_type(), proposed.scores.len());
        Ok(vec![
            zero_padded::<f32>(&[rows, 4], proposed.boxes)?.cast(et)?,
            zero_padded::<f32>(&[rows], proposed.scores)?.cast(et)?,
            Tensor::from_vec(&[images], proposed.counts)?.cast(self.roi_num_type.element_type())?,
        ])
    }
}

impl GenerateProposals {
    fn check_attrs(&self, raw: &RawNode) -> Result<(), OpError> {
        if self.nms_eta != 1.0 {
            return Err(raw.attrs.bad("nms_eta", "1"));
        }
        expect_at_least("pre_nms_count", self.limits.pre_nms_count as i64, 1)?;
        expect_at_least("post_nms_count", self.limits.post_nms_count as i64, 1)
    }
}

/// Requires four delta channels per anchor.
fn expect_deltas(cx: &mut Infer, anchors: &SymExpr) -> Result<(), OpError> {
    let expected = cx.mul(anchors, &4.into());
    let Some(channels) = dim(cx, 2, 1) else { return Ok(()) };
    let (got, expected) = (cx.interval(&channels), cx.interval(&expected));
    match got.meet(expected) {
        Some(_) => Ok(()),
        None => Err(OpError::mismatch("the number of channels of the deltas", got, expected)),
    }
}
