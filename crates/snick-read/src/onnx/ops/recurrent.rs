//! Recurrent networks along sequences: GRU, LSTM, RNN.

use snick_ir::{AttrValue, Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::cell::{Cell, Functions, GRU, LSTM, RNN, functions};
use super::lstm::stepwise;
use super::{ImportEntry, many};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    many("GRU", &[7, 14, 22], |b| recurrent(b, &GRU)),
    many("LSTM", &[7, 14, 22], |b| recurrent(b, &LSTM)),
    many("RNN", &[7, 14, 22], |b| recurrent(b, &RNN)),
];

/// Inputs of all directions, as the IR has them: directions in front of weights, second in states.
struct Inputs {
    x: Value,
    states: Vec<Value>,
    lengths: Value,
    /// W, R, B.
    weights: Vec<Value>,
}

/// Inputs X, W, R, B, lengths, first states; outputs H of every step, and the last states.
pub(super) fn recurrent(b: &mut NodeBuilder, cell: &Cell) -> Result<Vec<Value>, OpError> {
    let directions: &[&str] = match b.text("direction", "forward")? {
        "forward" => &["forward"],
        "reverse" => &["reverse"],
        "bidirectional" => &["forward", "reverse"],
        _ => return Err(b.attrs.bad("direction", "forward, reverse or bidirectional")),
    };
    if cell.op_type == LSTM.op_type && (b.optional(7).is_some() || b.flag("input_forget", false)?) {
        return stepwise(b, directions);
    }
    let batch_first = b.flag("layout", false)?;
    let linear = b.flag("linear_before_reset", false)?;
    let inputs = Inputs::read(b, cell, directions.len(), batch_first, linear)?;
    let functions = functions(b, cell, directions.len())?;
    let mut attrs = Attrs::new().with("clip", b.float("clip", 0.0)?);
    attrs.push("hidden_size".into(), AttrValue::Int(b.int("hidden_size", 0)?));
    if cell.op_type == GRU.op_type {
        attrs = attrs.with("linear_before_reset", linear);
    }
    let call = |b: &mut NodeBuilder, inputs: &Inputs, direction: &'static str, functions: &Functions| {
        let mut attrs = attrs.clone().with("direction", direction);
        attrs.push("activations".into(), AttrValue::Texts(functions.names.clone()));
        attrs.push("activations_alpha".into(), AttrValue::Floats(functions.alphas.clone()));
        attrs.push("activations_beta".into(), AttrValue::Floats(functions.betas.clone()));
        let all = [&[inputs.x][..], &inputs.states, &[inputs.lengths], &inputs.weights].concat();
        b.many(cell.op_type, attrs, &all, 1 + cell.states)
    };
    let outputs = match (directions, functions.as_slice()) {
        ([direction], [functions]) => call(b, &inputs, direction, functions)?,
        (_, [forward, reverse]) if forward == reverse => call(b, &inputs, "bidirectional", forward)?,
        _ => {
            // The IR has the same functions for both directions; here each goes by itself.
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
        (0, _) => b.transposed(value, orders[0]),
        (_, true) => Ok(value),
        (_, false) => b.transposed(value, orders[1]),
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
            x = b.transposed(x, &[1, 0, 2])?;
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
        let batch = b.size(x, 0)?;
        let lengths = match b.optional(4) {
            Some(lengths) => lengths,
            None => {
                let steps = b.size(x, 1)?;
                let steps = b.convert(steps, ElementType::I32)?;
                let steps = b.scalar(steps)?;
                b.filled(steps, batch)?
            }
        };
        let mut states = Vec::new();
        for i in 0..cell.states {
            states.push(match b.optional(5 + i) {
                Some(state) if batch_first => state,
                Some(state) => b.transposed(state, &[1, 0, 2])?,
                None => {
                    let (zero, rest) = (b.number_like(x, 0.0)?, b.vector(&[directions, hidden])?);
                    let sizes = b.join(&[batch, rest])?;
                    b.filled(zero, sizes)?
                }
            });
        }
        let bias = match b.optional(3) {
            Some(bias) => bias,
            None => {
                let sizes = b.vector(&[directions, gates.saturating_mul(2).saturating_mul(hidden)])?;
                let zero = b.number_like(x, 0.0)?;
                b.filled(zero, sizes)?
            }
        };
        let biases = b.parts(bias, 1, 2 * cell.gates.len())?;
        let (of_w, of_r) = biases.split_at(cell.gates.len());
        let mut sums = Vec::new();
        for (i, &gate) in cell.gates.iter().enumerate() {
            // What is reset after the product has its bias apart.
            if linear && cell.op_type == GRU.op_type && i == 2 {
                sums.extend([of_w[gate], of_r[gate]]);
            } else {
                sums.push(b.plain("Add", &[of_w[gate], of_r[gate]])?);
            }
        }
        let weights = vec![reordered(b, w, cell)?, reordered(b, r, cell)?, b.concat(1, &sums)?];
        Ok(Self { x, states, lengths, weights })
    }

    /// The inputs of each direction.
    fn by_direction(&self, b: &mut NodeBuilder) -> Result<[Self; 2], OpError> {
        let mut halves =
            [0, 1].map(|_| Self { x: self.x, states: vec![], lengths: self.lengths, weights: vec![] });
        for (i, half) in (0..).zip(&mut halves) {
            for &state in &self.states {
                half.states.push(b.range_of(state, 1, i, i + 1)?);
            }
            for &weights in &self.weights {
                half.weights.push(b.range_of(weights, 0, i, i + 1)?);
            }
        }
        Ok(halves)
    }
}

/// Weights with their gates as the IR has them.
fn reordered(b: &mut NodeBuilder, weights: Value, cell: &Cell) -> Result {
    if cell.gates.is_sorted() {
        return Ok(weights);
    }
    let parts = b.parts(weights, 1, cell.gates.len())?;
    let parts: Vec<Value> = cell.gates.iter().map(|&gate| parts[gate]).collect();
    b.concat(1, &parts)
}
