//! GenerateProposalsIEInternal, from OpenVINO's plug-ins.

use super::anchor_proposals::ProposalLimits;
use super::generate_proposals::{facts, images};
use crate::ops::index_type::IndexType;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// GenerateProposals whose outputs have the maximum possible number of rows. Takes the same inputs and
    /// returns the same outputs as GenerateProposals. Shape inference only; cannot be run.
    #[op(
        "GenerateProposalsIEInternal", since = [1], inputs = Arity::exactly(4),
        category = Other, traits = [PURE], name = internal()
    )]
    pub struct GenerateProposalsInternal {
        /// Attributes shared with ExperimentalDetectronGenerateProposalsSingleImage.
        pub limits: ProposalLimits = ProposalLimits::default(),
        /// Whether coordinates are fractions of the image; otherwise a box includes the pixels at its
        /// corners.
        pub normalized: bool = true,
        /// Multiplier of the threshold for each kept box.
        pub nms_eta: f64 = 1.0,
        /// Element type of output 2.
        pub roi_num_type: IndexType = IndexType::I64,
    }
}

impl InferOp for GenerateProposalsInternal {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let images = images(cx)?;
        let rows = cx.mul(&images, &(self.limits.post_nms_count as i64).into());
        Ok(facts(cx, images, rows, self.roi_num_type))
    }
}

only_inferred!(GenerateProposalsInternal);
