//! LSTMCell-1, LSTMCell-4, GRUCell-3, RNNCell-1: one step of a recurrent network.

use smallvec::smallvec;
use snick_shape::Shape;
use snick_tensor::Tensor;

use super::cell::{Cell, CellKind};
use super::shapes::sizes;
use super::unroll::{Unroll, unroll};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// Inputs X `[batch, input]`, the states `[batch, hidden]` (H; an LSTM has C too), W `[gates * hidden, input]`, R
/// `[gates * hidden, hidden]` and B `[gates * hidden]`; outputs the next states. The gates of an LSTM stand in the
/// order f, i, c, o; LSTMCell-1 names another and is read so all the same, can couple the forget gate, may lack B, which
/// is 0 then, and may have peepholes as a seventh input.
#[derive(Clone, PartialEq, Debug)]
pub struct RecurrentCell {
    /// Which, and its attributes.
    pub cell: Cell,
}

impl OpDef for RecurrentCell {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("LSTMCell", &[1, 4]),
        OpName::openvino("GRUCell", &[3]).was_extension(),
        OpName::openvino("RNNCell", &[1]).missing_in(2, 2).was_extension(),
    ];
    const ARITY: Arity = Arity::between(5, 7);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::CONTRACTION);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { cell: Cell::parse(raw)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.cell.attrs()
    }

    fn name(&self) -> &'static OpName {
        match self.cell.kind {
            CellKind::Lstm(_) => &Self::NAMES[0],
            CellKind::Gru { .. } => &Self::NAMES[1],
            CellKind::Rnn => &Self::NAMES[2],
        }
    }
}

impl InferOp for RecurrentCell {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let sizes = sizes(cx, self.cell.kind, None)?;
        let state = Fact::new(sizes.element_type, Shape::ranked([sizes.batch, sizes.hidden]));
        Ok(smallvec![state; self.cell.kind.states()])
    }
}

impl EvalOp for RecurrentCell {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.cell.kind.arity(0).check(inputs.len())?;
        let (data, weights) = inputs.split_at(1 + self.cell.kind.states());
        let mut weights = weights.to_vec();
        if let [_, r] = weights.as_slice() {
            let rows = r.dims().first().copied().unwrap_or(0);
            weights.push(Tensor::zeros(r.element_type(), &[rows])?);
        }
        // A sequence of one step in one direction.
        let at = |tensors: &[Tensor], axis: usize| {
            let with_axis = |t: &Tensor| match t.rank() {
                0 => Err(OpError::rank("an input", 0, "1 or 2")),
                _ => Ok(t.unsqueeze(axis)?),
            };
            tensors.iter().map(with_axis).collect::<Result<Vec<_>, _>>()
        };
        let (data, weights) = (at(data, 1)?, at(&weights, 0)?);
        let [x, states @ ..] = data.as_slice() else { return Ok(Vec::new()) };
        let given = Unroll { x, states, lengths: None, weights: &weights, reversed: &[false] };
        let outputs = unroll(&self.cell, &given)?;
        outputs.iter().skip(1).map(|state| Ok(state.squeeze(1)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, RawNode, Version};

    fn of_ones(opset: u8, dims: &[&[usize]]) -> Result<Vec<f32>, OpError> {
        let attrs = Attrs::new().with("hidden_size", 4i64);
        let op = Op::parse(&mut RawNode::openvino("LSTMCell", Version::Opset(opset), attrs, 2))?;
        let inputs: Vec<Tensor> = dims.iter().map(|dims| Tensor::full::<f32>(dims, 1.0).unwrap()).collect();
        let outputs = op.eval(&inputs)?;
        outputs.iter().map(|output| Ok(output.to_f32_vec()?[0])).collect()
    }

    /// The answers of the OpenVINO runtime.
    #[test]
    fn the_first_lstm_may_lack_its_bias() {
        let dims: [&[usize]; 6] = [&[2, 3], &[2, 4], &[2, 4], &[16, 3], &[16, 4], &[16]];
        for (count, expected) in [(5, [0.9630203f32, 1.9981762]), (6, [0.9636569, 1.9993291])] {
            let got = of_ones(1, &dims[..count]).unwrap();
            assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-6), "{got:?}");
        }
        assert!(of_ones(4, &dims[..5]).is_err());
    }
}
