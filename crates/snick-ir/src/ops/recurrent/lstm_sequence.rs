//! LSTMSequence-1 and LSTMSequence-5.

use snick_tensor::Tensor;

use super::cell::{Cell, CellKind, LstmAttrs, WeightsFormat};
use super::direction::Direction;
use super::sequence::{eval_sequence, infer_sequence};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, Since};

op! {
    /// A long short-term memory over sequences. Inputs: X `[batch, steps, input]`, states H and C
    /// `[batch, directions, hidden]`, lengths `[batch]`, and W, R and B of the cell with a leading axis of
    /// directions. Outputs: H after every step `[batch, directions, steps, hidden]`, 0 after the end of a
    /// sequence, and the final H and C. In version 1, an eighth input may hold peepholes.
    #[op(
        "LSTMSequence", since = [1, 5], inputs = Arity::between(7, 8),
        category = Product, traits = [PURE, CONTRACTION],
        weights = [4, 5]
    )]
    pub struct LstmSequence {
        /// The version.
        pub since: Since = Since(5),
        /// The cell.
        pub lstm: LstmAttrs = LstmAttrs::default(),
        /// Whether the forget gate is `1 - i`; not supported at run time.
        #[until(5)]
        pub input_forget: bool = false,
        /// The order of the gates in the weights; ignored, as in OpenVINO.
        #[until(5)]
        pub weights_format: WeightsFormat = WeightsFormat::Ifco,
        /// The direction.
        pub direction: Direction = Direction::Forward,
    }
}

impl InferOp for LstmSequence {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.check_arity(cx.len())?;
        infer_sequence(cx, CellKind::Lstm, self.direction)
    }
}

impl EvalOp for LstmSequence {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.check_arity(inputs.len())?;
        eval_sequence(&self.cell(), self.direction, inputs)
    }
}

impl LstmSequence {
    /// Only version 1 has optional inputs.
    fn check_arity(&self, inputs: usize) -> Result<(), OpError> {
        match self.since.at_least(5) {
            true => Arity::exactly(7).check(inputs),
            false => Ok(()),
        }
    }

    pub(super) fn cell(&self) -> Cell {
        self.lstm.cell(self.input_forget)
    }
}
