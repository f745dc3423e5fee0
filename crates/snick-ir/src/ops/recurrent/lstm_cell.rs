//! LSTMCell-1 and LSTMCell-4.

use snick_tensor::Tensor;

use super::cell::{Cell, CellKind, LstmAttrs, WeightsFormat};
use super::step::{eval_step, infer_step};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, Since};

op! {
    /// One step of a long short-term memory. Inputs: X `[batch, input]`, states H and C `[batch, hidden]`, W
    /// `[4 * hidden, input]`, R `[4 * hidden, hidden]` and B `[4 * hidden]`, with gates in the order f, i, c,
    /// o. Outputs: the next H and C. In version 1, B is optional and defaults to 0, and a seventh input may
    /// hold peepholes.
    #[op(
        "LSTMCell", since = [1, 4], inputs = Arity::between(5, 7),
        category = Product, traits = [PURE, CONTRACTION], weights = [3, 4]
    )]
    pub struct LstmCell {
        /// The version.
        pub since: Since = Since(4),
        /// The cell.
        pub lstm: LstmAttrs = LstmAttrs::default(),
        /// Whether the forget gate is `1 - i`; not supported at run time.
        #[until(4)]
        pub input_forget: bool = false,
        /// The order of the gates in the weights; ignored, as in OpenVINO.
        #[until(4)]
        pub weights_format: WeightsFormat = WeightsFormat::Ifco,
    }
}

impl InferOp for LstmCell {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.check_arity(cx.len())?;
        infer_step(cx, CellKind::Lstm)
    }
}

impl EvalOp for LstmCell {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.check_arity(inputs.len())?;
        eval_step(&self.cell(), inputs)
    }
}

impl LstmCell {
    /// Only version 1 has optional inputs.
    fn check_arity(&self, inputs: usize) -> Result<(), OpError> {
        match self.since.at_least(4) {
            true => Arity::exactly(6).check(inputs),
            false => Ok(()),
        }
    }

    pub(super) fn cell(&self) -> Cell {
        self.lstm.cell(self.input_forget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attrs, Op, RawNode, Version};

    fn of_ones(opset: u8, dims: &[&[usize]]) -> Result<Vec<f32>, OpError> {
        let attrs = Attrs::new().with("hidden_size", 4i64);
        let op = Op::parse(&mut RawNode::openvino("LSTMCell", Version::Opset(opset), attrs, 2))?;
        let inputs: Vec<Tensor> = dims.iter().map(|dims| Tensor::full::<f32>(dims, 1.0).unwrap()).collect();
        let outputs = op.eval(&inputs)?;
        outputs.iter().map(|output| Ok(output.to_f32_vec()?[0])).collect()
    }

    /// The expected values come from the OpenVINO runtime.
    #[test]
    fn the_first_definition_may_omit_the_bias() {
        let dims: [&[usize]; 6] = [&[2, 3], &[2, 4], &[2, 4], &[16, 3], &[16, 4], &[16]];
        for (count, expected) in [(5, [0.9630203f32, 1.9981762]), (6, [0.9636569, 1.9993291])] {
            let got = of_ones(1, &dims[..count]).unwrap();
            assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-6), "{got:?}");
        }
        assert!(of_ones(4, &dims[..5]).is_err());
    }
}
