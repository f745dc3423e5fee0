//! GRUSequence-5.

use snick_tensor::Tensor;

use super::cell::GruAttrs;
use super::direction::Direction;
use super::sequence::{eval_sequence, infer_sequence};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// A gated recurrent unit over sequences. Inputs: X `[batch, steps, input]`, state H
    /// `[batch, directions, hidden]`, lengths `[batch]`, and W, R and B of the cell with a leading axis of
    /// directions. Outputs: H after every step `[batch, directions, steps, hidden]`, 0 after the end of a
    /// sequence, and the final H.
    #[op(
        "GRUSequence", since = [5], inputs = Arity::exactly(6),
        category = Product, traits = [PURE, CONTRACTION], weights = [3, 4]
    )]
    pub struct GruSequence {
        /// The cell.
        pub gru: GruAttrs = GruAttrs::default(),
        /// The direction.
        pub direction: Direction = Direction::Forward,
    }
}

impl InferOp for GruSequence {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        infer_sequence(cx, self.gru.cell().kind, self.direction)
    }
}

impl EvalOp for GruSequence {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_sequence(&self.gru.cell(), self.direction, inputs)
    }
}
