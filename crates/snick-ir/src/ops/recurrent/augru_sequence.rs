//! AUGRUSequence, from OpenVINO's plug-ins.

use super::cell::GruAttrs;
use super::direction::Direction;
use super::sequence::facts;
use super::shapes::{Sizes, sizes};
use crate::ops::detection::checks::{common_dim, expect_size};
use crate::{Arity, Facts, Infer, InferOp, OpError, RawNode};

op! {
    /// GRUSequence whose update gates are scaled by attention. Inputs: as for GRUSequence, then attention
    /// `[batch, steps, 1]`. Shape inference only; cannot be run.
    #[op(
        "AUGRUSequence", since = [1], inputs = Arity::exactly(7),
        category = Product, traits = [PURE], name = internal(), check = Self::check
    )]
    pub struct AugruSequence {
        /// The cell.
        pub gru: GruAttrs = GruAttrs::default(),
        /// The direction; must be `forward`.
        pub direction: Direction = Direction::Forward,
    }
}

impl AugruSequence {
    fn check(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.direction {
            Direction::Forward => Ok(()),
            _ => Err(raw.attrs.bad("direction", "forward")),
        }
    }
}

impl InferOp for AugruSequence {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let kind = self.gru.cell().kind;
        let sizes = sizes(cx, kind, Some(1), 6)?;
        let element_type = cx.common_type([0, 6]);
        cx.expect_rank(6, "3", |rank| rank == 3)?;
        expect_size(cx, 6, 2, 1)?;
        let batch = common_dim(cx, &[(0, 0), (1, 0), (6, 0)])?;
        let steps = common_dim(cx, &[(0, 1), (6, 1)])?;
        Ok(facts(Sizes { element_type, batch, steps, ..sizes }, 1, kind))
    }
}

only_inferred!(AugruSequence);
