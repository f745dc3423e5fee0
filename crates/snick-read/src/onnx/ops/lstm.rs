//! Converts an LSTM to a loop over steps. This is needed for features that LSTMSequence does not have:
//! peepholes, coupled gates, and quantized matrix multiplications.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::cell::{LSTM, functions};
use crate::onnx::builder::{NodeBuilder, Result};
use crate::onnx::stepped::{Step, Stepped};

/// Selects one index of the first axis and drops the axis. Folds constants.
pub(super) fn at(b: &mut NodeBuilder, value: Value, index: usize) -> Result {
    if let Some(tensor) = b.constant_value(value) {
        let part = tensor.slice(0, index, 1, 1)?.squeeze(0)?.contiguous();
        return b.constant(part);
    }
    let index = b.int(index as i64)?;
    b.gather(value, index, 0)
}

/// The cell of an LSTM.
pub(super) struct Cell<'a> {
    /// The activations: for the input, output and forget gates, for the cell gate, and for the cell state.
    pub(super) activations: &'a [String],
    /// The bound to which the sums of the gates are clipped; 0 for no clipping.
    pub(super) clip: f64,
    /// Whether the forget gate is one minus the input gate.
    pub(super) coupled: bool,
}

impl Cell<'_> {
    fn activated(&self, b: &mut NodeBuilder, i: usize, x: Value) -> Result {
        let op_type = match self.activations.get(i).map(String::as_str) {
            Some("sigmoid") => "Sigmoid",
            Some("relu") => "ReLU",
            _ => "Tanh",
        };
        b.ir_op(op_type, Attrs::new(), &[x])
    }

    fn clipped(&self, b: &mut NodeBuilder, x: Value) -> Result {
        match self.clip {
            0.0 => Ok(x),
            clip => b.clamp(x, -clip, clip),
        }
    }

    /// Computes the next state and the next cell state. `gates` contains the sums for the input, output,
    /// forget and cell gates; `peepholes` contains the weights for the input, output and forget gates.
    fn step(
        &self,
        b: &mut NodeBuilder,
        gates: Value,
        cell: Value,
        peepholes: Option<Value>,
    ) -> Result<[Value; 2], OpError> {
        let gates = b.split(gates, -1, 4)?;
        let peepholes = match peepholes {
            Some(peepholes) => b.split(peepholes, -1, 3)?,
            None => Vec::new(),
        };
        let gate = |b: &mut NodeBuilder, i: usize, cell: Value| {
            let mut sum = gates[i];
            if let Some(&peephole) = peepholes.get(i) {
                let seen = b.multiply(peephole, cell)?;
                sum = b.add(sum, seen)?;
            }
            let sum = self.clipped(b, sum)?;
            self.activated(b, 0, sum)
        };
        let input = gate(b, 0, cell)?;
        let forget = if self.coupled { b.subtract(1.0, input)? } else { gate(b, 2, cell)? };
        let fresh = self.clipped(b, gates[3])?;
        let fresh = self.activated(b, 1, fresh)?;
        let (kept, added) = (b.multiply(forget, cell)?, b.multiply(input, fresh)?);
        let cell = b.add(kept, added)?;
        let output = gate(b, 1, cell)?;
        let shown = self.activated(b, 2, cell)?;
        Ok([b.multiply(output, shown)?, cell])
    }

    /// Runs all steps of a direction. `product` multiplies the state by the recurrent weights.
    pub(super) fn run(
        &self,
        b: &mut NodeBuilder,
        direction: Direction,
        product: impl FnOnce(&mut NodeBuilder, Value, &[Value]) -> Result,
    ) -> Result<[Value; 3], OpError> {
        let Direction { index, reverse, mut gates, states, mut fixed, lengths } = direction;
        if let Some(bias) = b.optional(3) {
            // Input 3 contains the bias for the data, followed by the bias for the state. Both are added to
            // the sums of the gates.
            let bias = at(b, bias, index)?;
            let halves = b.split(bias, 0, 2)?;
            let bias = b.add(halves[0], halves[1])?;
            gates = b.add(gates, bias)?;
        }
        let peepholes = match b.optional(7) {
            Some(peepholes) => {
                fixed.push(at(b, peepholes, index)?);
                Some(fixed.len() - 1)
            }
            None => None,
        };
        let mut parts = vec![gates];
        if let Some(lengths) = lengths {
            // For each step, whether the sequence is long enough.
            let steps = b.size_of(gates, 0)?;
            let (steps, lengths) = (b.count_to(steps)?, b.convert(lengths, ElementType::I64)?);
            let (steps, lengths) = (b.reshape(steps, &[-1, 1, 1])?, b.reshape(lengths, &[1, -1, 1])?);
            parts.push(b.less(steps, lengths)?);
        }
        let stepped = Stepped { parts: &parts, axis: 0, reverse, states: &states, fixed: &fixed };
        let Step { states, made } = stepped.build(b, |b, parts, states, fixed| {
            let (fresh, past) = (b.squeeze(parts[0], &[0])?, product(b, states[0], fixed)?);
            let gates = b.add(fresh, past)?;
            let peepholes = peepholes.map(|i| fixed[i]);
            let [mut hidden, mut kept] = self.step(b, gates, states[1], peepholes)?;
            let mut shown = hidden;
            if let Some(&there) = parts.get(1) {
                let there = b.squeeze(there, &[0])?;
                shown = b.select(there, hidden, 0.0)?;
                hidden = b.select(there, hidden, states[0])?;
                kept = b.select(there, kept, states[1])?;
            }
            Ok(Step { states: vec![hidden, kept], made: vec![b.unsqueeze(shown, &[0])?] })
        })?;
        match (made.as_slice(), states.as_slice()) {
            (&[made], &[hidden, kept]) => Ok([made, hidden, kept]),
            _ => Err(OpError::NotConnected { port: 0 }),
        }
    }
}

/// The inputs of one direction.
pub(super) struct Direction {
    /// The index of the direction in the weights.
    pub(super) index: usize,
    /// Whether the direction runs backward.
    pub(super) reverse: bool,
    /// The product of the data and the weights, `[steps, batch, gates]`.
    pub(super) gates: Value,
    /// The initial state and cell state, `[batch, hidden]`.
    pub(super) states: Vec<Value>,
    /// Loop-invariant values for the multiplication of the state by the weights.
    pub(super) fixed: Vec<Value>,
    /// Lengths of the sequences.
    pub(super) lengths: Option<Value>,
}

/// The initial state and cell state of a direction: inputs 5 and 6 of the node, or zeros.
pub(super) fn first_states(b: &mut NodeBuilder, x: Value, direction: usize) -> Result<Vec<Value>> {
    let hidden = b.required_int("hidden_size")?;
    let batch = b.size_of(x, 1)?;
    let state = |input: usize| match b.optional(input) {
        Some(state) => at(b, state, direction),
        None => {
            let (zero, hidden) = (b.scalar_like(x, 0.0)?, b.ints(&[hidden])?);
            let sizes = b.concat(0, &[batch, hidden])?;
            b.broadcast_to(zero, sizes)
        }
    };
    [5, 6].into_iter().map(state).collect()
}

/// The states of all steps and the final states, for each direction.
#[derive(Default)]
pub(super) struct Results([Vec<Value>; 3]);

impl Results {
    pub(super) fn push(&mut self, b: &mut NodeBuilder, result: [Value; 3]) -> Result<(), OpError> {
        // The direction axis comes before the batch axis.
        for (i, (all, value)) in self.0.iter_mut().zip(result).enumerate() {
            all.push(b.unsqueeze(value, &[i64::from(i == 0)])?);
        }
        Ok(())
    }

    pub(super) fn joined(&self, b: &mut NodeBuilder) -> Result<Vec<Value>> {
        self.0.iter().enumerate().map(|(i, values)| b.concat(i64::from(i == 0), values)).collect()
    }
}

/// Converts an LSTM step by step. The first axis of its data must be the steps.
pub(super) fn stepwise(b: &mut NodeBuilder, directions: &[&str]) -> Result<Vec<Value>> {
    if b.flag_attr("layout", false)? {
        return Err(OpError::unsupported("a batch-first layout with peepholes or coupled gates"));
    }
    let functions = functions(b, &LSTM, directions.len())?;
    if functions.iter().flat_map(|of| &of.names).any(|name| name == "hardsigmoid") {
        return Err(OpError::unsupported("activation `hardsigmoid` with peepholes or coupled gates"));
    }
    let (x, clip, coupled) = (b.input(0)?, b.float_attr("clip", 0.0)?, b.flag_attr("input_forget", false)?);
    let by_rows = |b: &mut NodeBuilder, x: Value, weights: Value| b.matmul_transposed(x, weights);
    let mut results = Results::default();
    for ((index, &name), functions) in directions.iter().enumerate().zip(&functions) {
        let (w, r) = (b.input(1)?, b.input(2)?);
        let (w, r) = (at(b, w, index)?, at(b, r, index)?);
        let (gates, states) = (by_rows(b, x, w)?, first_states(b, x, index)?);
        let lengths = b.optional(4);
        let direction =
            Direction { index, reverse: name == "reverse", gates, states, fixed: vec![r], lengths };
        let cell = Cell { activations: &functions.names, clip, coupled };
        let result = cell.run(b, direction, |b, state, fixed| by_rows(b, state, fixed[0]))?;
        results.push(b, result)?;
    }
    results.joined(b)
}
