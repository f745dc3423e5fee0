//! AUGRUCell, from OpenVINO's plug-ins.

use snick_shape::Shape;

use super::cell::GruAttrs;
use super::shapes::sizes;
use crate::ops::detection::checks::{common_dim, expect_ranks, expect_size};
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// GRUCell whose update gate is scaled by attention. Inputs: as for GRUCell, then attention `[batch, 1]`.
    /// Shape inference only; cannot be run.
    #[op(
        "AUGRUCell", since = [1], inputs = Arity::exactly(6),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct AugruCell {
        /// The cell.
        pub gru: GruAttrs = GruAttrs::default(),
    }
}

impl InferOp for AugruCell {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let sizes = sizes(cx, self.gru.cell().kind, None, 5)?;
        let element_type = cx.common_type(0..6);
        expect_ranks(cx, &[2, 2, 2, 2, 1, 2])?;
        expect_size(cx, 5, 1, 1)?;
        let batch = common_dim(cx, &[(0, 0), (1, 0), (5, 0)])?;
        Ok(Facts::from(Fact::new(element_type, Shape::ranked([batch, sizes.hidden]))))
    }
}

only_inferred!(AugruCell);
