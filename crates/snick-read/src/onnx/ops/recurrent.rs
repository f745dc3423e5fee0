//! Recurrent layers: GRU, LSTM, RNN.

use snick_ir::{AttrValue, Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::cell::{Cell, Functions, GRU, LSTM, RNN, functions};
use super::lstm::stepwise;
use super::{ImportEntry, many};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    many("GRU", &[7, 14, 22], |b| recurrent(b, &GRU)).attrs(
        "activation_alpha activation_beta activations clip direction hidden_size \
             layout linear_before_reset",
    ),
    many("LSTM", &[7, 14, 22], |b| recurrent(b, &LSTM)).attrs(
        "activation_alpha activation_beta activations clip direction hidden_size \
             input_forget layout",
    ),
    many("RNN", &[7, 14, 22], |b| recurrent(b, &RNN))
        .attrs("activation_alpha activation_beta activations clip direction hidden_size layout"),
];

/// The inputs in the layout of the IR. The direction axis is the first axis of the weights and the second
/// axis of the states.
struct Inputs {
    x: Value,
    states: Vec<Value>,
    lengths: Value,
    /// W, R, B.
    weights: Vec<Value>,
}

/// Adds a recurrent layer. Inputs: X, W, R, B, lengths, and initial states. Outputs: H of every step, and the
/// final states.
pub(super) fn recurrent(b: &mut NodeBuilder, cell: &Cell) -> Result<Vec<Value>> {
    let directions = b.choice::<&[&'static str]>(
        "direction",
        &[("forward", &["forward"]), ("reverse", &["reverse"]), ("bidirectional", &["forward", "reverse"])],
    )?;
    if cell.op_type == LSTM.op_type && (b.optional(7).is_some() || b.flag_attr("input_forget", false)?) {
        return stepwise(b, directions);
    }
    let batch_first = b.flag_attr("layout", false)?;
    let linear = b.flag_attr("linear_before_reset", false)?;
    let inputs = Inputs::read(b, cell, directions.len(), batch_first, linear)?;
    let functions = functions(b, cell, directions.len())?;
    let mut attrs = Attrs::new().with("clip", b.float_attr("clip", 0.0)?);
    attrs.push("hidden_size".into(), AttrValue::Int(b.int_attr("hidden_size", 0)?));
    if cell.op_type == GRU.op_type {
        attrs = attrs.with("linear_before_reset", linear);
    }
    let call = |b: &mut NodeBuilder, inputs: &Inputs, direction: &'static str, functions: &Functions| {
        let mut attrs = attrs.clone().with("direction", direction);
        attrs.push("activations".into(), AttrValue::Texts(functions.names.clone()));
        attrs.push("activations_alpha".into(), AttrValue::Floats(functions.alphas.clone()));
        attrs.push("activations_beta".into(), AttrValue::Floats(functions.betas.clone()));
        let all = [&[inputs.x][..], &inputs.states, &[inputs.lengths], &inputs.weights].concat();
        b.ir_op_with_outputs(cell.op_type, attrs, &all, 1 + cell.states)
    };
    let outputs = match (directions, functions.as_slice()) {
        ([direction], [functions]) => call(b, &inputs, direction, functions)?,
        (_, [forward, reverse]) if forward == reverse => call(b, &inputs, "bidirectional", forward)?,
        _ => {
            // In the IR, both directions of a layer have the same activations, so each direction becomes a
            // separate layer.
            let halves = inputs.by_direction(b)?;
            let mut results = Vec::new();
            for ((direction, half), functions) in directions.iter().zip(&halves).zip(&functions) {
                results.push(call(b, half, direction, functions)?);
            }
            let joined = (0..=cell.states).map(|i| {
                let parts: Vec<Value> = results.iter().filter_map(|r| r.get(i).copied()).collect();
                b.concat(1, &parts)
            });
            joined.collect::<Result<_, _>>()?
        }
    };
    let orders: [&[i64]; 2] =
        if batch_first { [&[0, 2, 1, 3], &[0, 1, 2]] } else { [&[2, 1, 0, 3], &[1, 0, 2]] };
    let turned = outputs.iter().enumerate().map(|(i, &value)| match (i, batch_first) {
        (0, _) => b.transpose(value, orders[0]),
        (_, true) => Ok(value),
        (_, false) => b.transpose(value, orders[1]),
    });
    turned.collect()
}

impl Inputs {
    fn read(
        b: &mut NodeBuilder,
        cell: &Cell,
        directions: usize,
        batch_first: bool,
        linear: bool,
    ) -> Result<Self, OpError> {
        let (mut x, w, r) = (b.input(0)?, b.input(1)?, b.input(2)?);
        if !batch_first {
            x = b.transpose(x, &[1, 0, 2])?;
        }
        let hidden = match b.attrs.int("hidden_size")? {
            Some(hidden) => hidden,
            None => {
                let dims = b.dims(r).filter(|dims| dims.len() == 3);
                dims.ok_or_else(|| OpError::unsupported("weights of unknown size"))?[2] as i64
            }
        };
        let directions = directions as i64;
        let gates = cell.gates.len() as i64;
        let batch = b.size_of(x, 0)?;
        let lengths = match b.optional(4) {
            Some(lengths) => lengths,
            None => {
                let steps = b.size_of(x, 1)?;
                let steps = b.convert(steps, ElementType::I32)?;
                let steps = b.to_scalar(steps)?;
                b.broadcast_to(steps, batch)?
            }
        };
        let mut states = Vec::new();
        for i in 0..cell.states {
            states.push(match b.optional(5 + i) {
                Some(state) if batch_first => state,
                Some(state) => b.transpose(state, &[1, 0, 2])?,
                None => {
                    let (zero, rest) = (b.scalar_like(x, 0.0)?, b.ints(&[directions, hidden])?);
                    let sizes = b.concat(0, &[batch, rest])?;
                    b.broadcast_to(zero, sizes)?
                }
            });
        }
        let bias = match b.optional(3) {
            Some(bias) => bias,
            None => {
                let sizes = b.ints(&[directions, gates.saturating_mul(2).saturating_mul(hidden)])?;
                let zero = b.scalar_like(x, 0.0)?;
                b.broadcast_to(zero, sizes)?
            }
        };
        let biases = b.split(bias, 1, 2 * cell.gates.len())?;
        let (of_w, of_r) = biases.split_at(cell.gates.len());
        let mut sums = Vec::new();
        for (i, &gate) in cell.gates.iter().enumerate() {
            // With `linear_before_reset`, the hidden gate of a GRU has separate biases for the products with
            // W and R.
            if linear && cell.op_type == GRU.op_type && i == 2 {
                sums.extend([of_w[gate], of_r[gate]]);
            } else {
                sums.push(b.add(of_w[gate], of_r[gate])?);
            }
        }
        let weights = vec![reordered(b, w, cell)?, reordered(b, r, cell)?, b.concat(1, &sums)?];
        Ok(Self { x, states, lengths, weights })
    }

    /// The inputs for each direction.
    fn by_direction(&self, b: &mut NodeBuilder) -> Result<[Self; 2], OpError> {
        let mut halves =
            [0, 1].map(|_| Self { x: self.x, states: vec![], lengths: self.lengths, weights: vec![] });
        for (i, half) in (0..).zip(&mut halves) {
            for &state in &self.states {
                half.states.push(b.slice_range(state, 1, i, i + 1)?);
            }
            for &weights in &self.weights {
                half.weights.push(b.slice_range(weights, 0, i, i + 1)?);
            }
        }
        Ok(halves)
    }
}

/// Reorders the gates of weights from the order of ONNX to the order of the IR.
fn reordered(b: &mut NodeBuilder, weights: Value, cell: &Cell) -> Result {
    if cell.gates.is_sorted() {
        return Ok(weights);
    }
    let parts = b.split(weights, 1, cell.gates.len())?;
    let parts: Vec<Value> = cell.gates.iter().map(|&gate| parts[gate]).collect();
    b.concat(1, &parts)
}
