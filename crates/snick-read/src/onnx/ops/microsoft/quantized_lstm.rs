//! ONNX Runtime's LSTM with 8-bit weights. It quantizes the data, and in each step the state, to 8 bits
//! before multiplying them by the weights.

use snick_ir::{OpError, Value};

use super::quantized::scaled_product;
use crate::onnx::builder::{NodeBuilder, Result};
use crate::onnx::ops::cell::{LSTM, functions};
use crate::onnx::ops::lstm::{Cell, Direction, Results, at, first_states};
use crate::onnx::ops::quantize::dynamically;
use crate::onnx::ops::{ImportEntry, many};

pub(super) const ENTRIES: &[ImportEntry] = &[many("DynamicQuantizeLSTM", &[1], quantized_lstm)
    .attrs("activation_alpha activation_beta activations clip direction hidden_size input_forget")];

/// The weights for one direction: integers `[inputs, gates]`, with their scale and zero point.
struct Weights {
    integers: Value,
    scale: Value,
    zero_point: Value,
}

impl Weights {
    /// Reads the weights for a direction from the inputs of the node.
    fn read(b: &mut NodeBuilder, weights: usize, scale: usize, direction: usize) -> Result<Self, OpError> {
        let mut part = |input: usize| {
            let value = b.input(input)?;
            at(b, value, direction)
        };
        Ok(Self { integers: part(weights)?, scale: part(scale)?, zero_point: part(scale + 1)? })
    }

    /// Quantizes `x` to 8 bits and multiplies it by the weights.
    fn times(&self, b: &mut NodeBuilder, x: Value) -> Result {
        let (x, code) = dynamically(b, x)?;
        let zeros = [code.zero_point, Some(self.zero_point)];
        scaled_product(b, [x, self.integers], zeros, [code.scale, self.scale])
    }
}

/// Adds a quantized LSTM. Inputs: X `[steps, batch, inputs]`, W, R, B, lengths, initial states, peepholes,
/// and the scales and zero points of W and R. Outputs: H of all steps, and the final states.
fn quantized_lstm(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let directions = b.choice::<&[bool]>(
        "direction",
        &[("forward", &[false]), ("reverse", &[true]), ("bidirectional", &[false, true])],
    )?;
    if b.optional(4).is_some() {
        return Err(OpError::unsupported("an input of sequence lengths"));
    }
    let functions = functions(b, &LSTM, directions.len())?;
    if functions.iter().flat_map(|of| &of.names).any(|name| name == "hardsigmoid") {
        return Err(OpError::unsupported("activation `hardsigmoid`"));
    }
    let (x, clip, coupled) = (b.input(0)?, b.float_attr("clip", 0.0)?, b.flag_attr("input_forget", false)?);
    let mut results = Results::default();
    for ((d, &reverse), functions) in directions.iter().enumerate().zip(&functions) {
        let gates = Weights::read(b, 1, 8, d)?.times(b, x)?;
        let states = first_states(b, x, d)?;
        let weights = Weights::read(b, 2, 10, d)?;
        let constant = [weights.integers, weights.scale, weights.zero_point].map(|v| b.constant_value(v));
        let [Some(integers), Some(scale), Some(zero_point)] = constant else {
            return Err(OpError::unsupported("weights that are not constant"));
        };
        let cell = Cell { activations: &functions.names, clip, coupled };
        let direction = Direction { index: d, reverse, gates, states, fixed: Vec::new(), lengths: None };
        let result = cell.run(b, direction, |b, state, _| {
            let weights = Weights {
                integers: b.constant(integers)?,
                scale: b.constant(scale)?,
                zero_point: b.constant(zero_point)?,
            };
            weights.times(b, state)
        })?;
        results.push(b, result)?;
    }
    results.joined(b)
}
