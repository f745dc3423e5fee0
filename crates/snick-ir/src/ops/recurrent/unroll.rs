//! Evaluation of recurrent ops in f32: computes the products with W for all steps at once, then the steps one
//! by one. Threads share the directions.

use snick_tensor::kernels::{concat, matmul, sharing};
use snick_tensor::{ElementType, Tensor};

use super::cell::{Cell, CellKind};
use crate::OpError;

/// Inputs of a sequence. The states and the weights have an axis of directions.
pub struct Unroll<'a> {
    /// X, `[batch, steps, input]`.
    pub x: &'a Tensor,
    /// The initial H and C, `[batch, directions, hidden]`.
    pub states: &'a [Tensor],
    /// Length of each sequence; if absent, each sequence has all steps.
    pub lengths: Option<&'a Tensor>,
    /// W, R, B and peepholes.
    pub weights: &'a [Tensor],
    /// For each direction, whether it is reversed.
    pub reversed: &'a [bool],
}

/// Computes H after every step `[batch, directions, steps, hidden]` and the final states
/// `[batch, directions, hidden]`.
pub fn unroll(cell: &Cell, given: &Unroll) -> Result<Vec<Tensor>, OpError> {
    let element_type = given.x.element_type();
    let (&[batch, steps, input], [w, r, b, peepholes @ ..]) = (given.x.dims(), given.weights) else {
        return Err(OpError::rank("X", given.x.rank(), "3"));
    };
    let hidden = r.dims().last().copied().unwrap_or(0);
    let directions = given.reversed.len();
    let block = |count: usize| {
        let rows = hidden.checked_mul(count);
        rows.ok_or_else(|| OpError::unsupported(format!("a hidden size of {hidden}")))
    };
    let (rows, biases) = (block(cell.kind.gates())?, block(cell.kind.biases())?);
    for state in given.states {
        expect("a state", state, &[batch, directions, hidden])?;
    }
    expect("W", w, &[directions, rows, input])?;
    expect("R", r, &[directions, rows, hidden])?;
    expect("B", b, &[directions, biases])?;
    refuse_unsupported(cell, peepholes)?;
    let lengths = match given.lengths {
        None => vec![steps; batch],
        Some(lengths) => {
            expect("lengths", lengths, &[batch])?;
            checked_lengths(&lengths.to_i64_vec()?, steps)?
        }
    };
    let x = given.x.cast(ElementType::F32)?;
    let sequences = Sequences { cell, x, states: given.states, weights: [w, r, b], lengths, hidden };
    let mut each: Vec<Vec<Tensor>> = vec![Vec::new(); directions];
    let parts = each.iter_mut().zip(given.reversed).enumerate();
    sharing::try_for_each(parts, |(direction, (results, &reversed))| {
        *results = sequences.unroll(direction, reversed)?;
        Ok::<(), OpError>(())
    })?;
    let stacked = |i: usize| {
        let results = each.iter().filter_map(|results| results.get(i));
        let results = results.map(|result| result.unsqueeze(1)).collect::<Result<Vec<_>, _>>()?;
        Ok(concat(&results.iter().collect::<Vec<_>>(), 1)?.cast(element_type)?)
    };
    (0..=given.states.len()).map(stacked).collect()
}

/// Checked inputs, with X in f32.
struct Sequences<'a> {
    cell: &'a Cell,
    x: Tensor,
    states: &'a [Tensor],
    weights: [&'a Tensor; 3],
    lengths: Vec<usize>,
    hidden: usize,
}

impl Sequences<'_> {
    /// Computes one direction: H after every step `[batch, steps, hidden]` and the final states
    /// `[batch, hidden]`.
    fn unroll(&self, direction: usize, reversed: bool) -> Result<Vec<Tensor>, OpError> {
        let Self { cell, x, states, weights: [w, r, b], lengths, hidden } = self;
        let of = |t: &Tensor, axis: usize| -> Result<Tensor, OpError> {
            Ok(t.slice(axis, direction, 1, 1)?.squeeze(axis)?.cast(ElementType::F32)?)
        };
        let (batch, steps) = (lengths.len(), x.dims().get(1).copied().unwrap_or(0));
        let products = matmul(x, &of(w, 0)?, false, true)?;
        let mut states = states
            .iter()
            .map(|state| Ok(of(state, 1)?.to_f32_vec()?))
            .collect::<Result<Vec<_>, OpError>>()?;
        let every_step = Tensor::zeros(ElementType::F32, &[batch, steps, *hidden])?;
        let mut every_step = every_step.values::<f32>()?.into_owned();
        let mut stepper = Stepper::new(cell, *hidden, of(r, 0)?, of(b, 0)?.to_f32_vec()?)?;
        let rows = cell.kind.gates() * hidden;
        Walk { products: &products.values()?, rows, steps, lengths, reversed }.run(
            &mut stepper,
            &mut states,
            &mut every_step,
        )?;
        let states = states.into_iter().map(|state| Tensor::from_vec(&[batch, *hidden], state));
        let every_step = Tensor::from_vec(&[batch, steps, *hidden], every_step);
        Ok(std::iter::once(every_step).chain(states).collect::<Result<_, _>>()?)
    }
}

/// The steps in one direction.
struct Walk<'a> {
    /// `X W^T`, `[batch, steps, rows]`.
    products: &'a [f32],
    rows: usize,
    steps: usize,
    /// Length of each sequence.
    lengths: &'a [usize],
    reversed: bool,
}

impl Walk<'_> {
    /// The position in sequence `n` that a step processes; `None` after the end of the sequence.
    fn place(&self, n: usize, step: usize) -> Option<usize> {
        let length = self.lengths.get(n).copied().filter(|&length| step < length)?;
        Some(if self.reversed { length - 1 - step } else { step })
    }

    /// Runs all steps on `states`, each `[batch, hidden]`. Stores H after each step of a sequence that has not
    /// ended in `every_step`, `[batch, steps, hidden]`.
    fn run(
        &self,
        stepper: &mut Stepper,
        states: &mut [Vec<f32>],
        every_step: &mut [f32],
    ) -> Result<(), OpError> {
        let hidden = stepper.hidden;
        if hidden == 0 {
            return Ok(());
        }
        for step in 0..self.lengths.iter().copied().max().unwrap_or(0) {
            let product = |n: usize| {
                let place = self.place(n, step)?;
                self.products.get((n * self.steps + place) * self.rows..)?.get(..self.rows)
            };
            stepper.step(product, states)?;
            let h = states.first().map(Vec::as_slice).unwrap_or_default();
            for (n, row) in h.chunks(hidden).enumerate() {
                let Some(place) = self.place(n, step) else { continue };
                if let Some(to) = every_step.chunks_mut(hidden).nth(n * self.steps + place) {
                    to.copy_from_slice(row);
                }
            }
        }
        Ok(())
    }
}

fn expect(what: &str, tensor: &Tensor, dims: &[usize]) -> Result<(), OpError> {
    if tensor.dims() == dims {
        return Ok(());
    }
    Err(OpError::mismatch(
        format!("the shape of {what}"),
        format!("{:?}", tensor.dims()),
        format!("{dims:?}"),
    ))
}

fn checked_lengths(lengths: &[i64], steps: usize) -> Result<Vec<usize>, OpError> {
    let checked = |&length: &i64| match usize::try_from(length) {
        Ok(fits) if fits <= steps => Ok(fits),
        _ => Err(OpError::out_of_range("length of a sequence", length, format!("0 to {steps}"))),
    };
    lengths.iter().map(checked).collect()
}

fn refuse_unsupported(cell: &Cell, peepholes: &[Tensor]) -> Result<(), OpError> {
    if cell.input_forget {
        return Err(OpError::unsupported("input_forget"));
    }
    for peephole in peepholes {
        if peephole.to_f32_vec()?.iter().any(|&v| v != 0.0) {
            return Err(OpError::unsupported("an LSTM with peepholes"));
        }
    }
    Ok(())
}

/// A cell in one direction.
struct Stepper<'a> {
    cell: &'a Cell,
    hidden: usize,
    r: Tensor,
    /// The bias of the products with W, gate by gate.
    bias: Vec<f32>,
    /// With `linear_before_reset`, the bias of the last gate's product with R.
    inner_bias: Vec<f32>,
    /// Scratch space for the inputs of the activations of one sequence.
    sums: Vec<f32>,
}

impl<'a> Stepper<'a> {
    fn new(cell: &'a Cell, hidden: usize, r: Tensor, mut bias: Vec<f32>) -> Result<Self, OpError> {
        let inner_bias = bias.split_off((hidden * cell.kind.gates()).min(bias.len()));
        Ok(Self { cell, hidden, r, bias, inner_bias, sums: Vec::new() })
    }

    /// `state * R^T` for a range of rows of R.
    fn recurrent(&self, state: &[f32], start: usize, rows: usize) -> Result<Tensor, OpError> {
        let batch = state.len() / self.hidden.max(1);
        let state = Tensor::from_vec(&[batch, self.hidden], state.to_vec())?;
        Ok(matmul(&state, &self.r.slice(0, start, rows, 1)?, false, true)?)
    }

    /// Updates the states. `product` returns `X W^T` of a sequence, or `None` if the sequence has ended.
    fn step<'p>(
        &mut self,
        product: impl Fn(usize) -> Option<&'p [f32]>,
        states: &mut [Vec<f32>],
    ) -> Result<(), OpError> {
        match (self.cell.kind, &mut *states) {
            (CellKind::Lstm, [h, c]) => self.lstm(product, h, c),
            (CellKind::Gru { linear_before_reset }, [h]) => self.gru(product, linear_before_reset, h),
            (CellKind::Rnn, [h]) => self.rnn(product, h),
            _ => Err(OpError::mismatch("the number of states", states.len(), self.cell.kind.states())),
        }
    }

    /// Sets `self.sums` for one sequence to `X W^T + B`, plus `H R^T` for the gates that `recurrent` covers.
    fn sum(&mut self, product: &[f32], recurrent: &[f32]) {
        self.sums.clear();
        self.sums.extend(product.iter().zip(&self.bias).map(|(p, b)| p + b));
        self.sums.iter_mut().zip(recurrent).for_each(|(sum, r)| *sum += r);
    }

    fn rnn<'p>(
        &mut self,
        product: impl Fn(usize) -> Option<&'p [f32]>,
        h: &mut [f32],
    ) -> Result<(), OpError> {
        let f = self.cell.function(0, true)?;
        let size = self.hidden;
        let recurrent = self.recurrent(h, 0, size)?;
        for (n, (h, r)) in h.chunks_mut(size).zip(recurrent.values()?.chunks(size)).enumerate() {
            let Some(product) = product(n) else { continue };
            self.sum(product, r);
            f.apply(&mut self.sums);
            h.iter_mut().zip(&self.sums).for_each(|(h, &sum)| *h = sum);
        }
        Ok(())
    }

    fn lstm<'p>(
        &mut self,
        product: impl Fn(usize) -> Option<&'p [f32]>,
        h: &mut [f32],
        c: &mut [f32],
    ) -> Result<(), OpError> {
        let (f, g) = (self.cell.function(0, true)?, self.cell.function(1, true)?);
        let last = self.cell.function(2, false)?;
        let size = self.hidden;
        let recurrent = self.recurrent(h, 0, 4 * size)?;
        let recurrent = recurrent.values()?;
        let rows = h.chunks_mut(size).zip(c.chunks_mut(size)).zip(recurrent.chunks(4 * size));
        for (n, ((h, c), r)) in rows.enumerate() {
            let Some(product) = product(n) else { continue };
            self.sum(product, r);
            let mut gates = self.sums.chunks_mut(size);
            let (Some(forget), Some(input), Some(content), Some(output)) =
                (gates.next(), gates.next(), gates.next(), gates.next())
            else {
                continue;
            };
            [&mut *forget, &mut *input, &mut *output].into_iter().for_each(|gate| f.apply(gate));
            g.apply(content);
            let kept = c.iter_mut().zip(forget.iter());
            for ((c, forget), (input, content)) in kept.zip(input.iter().zip(content.iter())) {
                *c = forget * *c + input * content;
            }
            h.copy_from_slice(c);
            last.apply(h);
            h.iter_mut().zip(output.iter()).for_each(|(h, output)| *h *= output);
        }
        Ok(())
    }

    fn gru<'p>(
        &mut self,
        product: impl Fn(usize) -> Option<&'p [f32]>,
        linear_before_reset: bool,
        h: &mut [f32],
    ) -> Result<(), OpError> {
        let (f, g) = (self.cell.function(0, true)?, self.cell.function(1, true)?);
        let size = self.hidden;
        let gates = self.recurrent(h, 0, 2 * size)?;
        let gates = gates.values()?;
        let mut update = vec![0.0; h.len()];
        let mut reset = vec![0.0; h.len()];
        let rows = update.chunks_mut(size).zip(reset.chunks_mut(size)).zip(gates.chunks(2 * size));
        for (n, ((z, r), gates)) in rows.enumerate() {
            let Some(product) = product(n) else { continue };
            self.sum(product, gates);
            f.apply(self.sums.get_mut(..2 * size).unwrap_or_default());
            let (update, reset) = self.sums.split_at(size.min(self.sums.len()));
            z.iter_mut().zip(update).for_each(|(z, &sum)| *z = sum);
            r.iter_mut().zip(reset).for_each(|(r, &sum)| *r = sum);
        }
        let mut content = if linear_before_reset {
            let mut content = self.recurrent(h, 2 * size, size)?.to_f32_vec()?;
            for (row, r) in content.chunks_mut(size).zip(reset.chunks(size)) {
                row.iter_mut().zip(r).zip(&self.inner_bias).for_each(|((v, r), b)| *v = (*v + b) * r);
            }
            content
        } else {
            let kept: Vec<f32> = reset.iter().zip(h.iter()).map(|(r, h)| r * h).collect();
            self.recurrent(&kept, 2 * size, size)?.to_f32_vec()?
        };
        let rows = h.chunks_mut(size).zip(update.chunks(size)).zip(content.chunks_mut(size));
        for (n, ((h, z), content)) in rows.enumerate() {
            let Some(product) = product(n) else { continue };
            let inner = product.iter().zip(&self.bias).skip(2 * size).map(|(p, b)| p + b);
            content.iter_mut().zip(inner).for_each(|(content, inner)| *content += inner);
            g.apply(content);
            for ((h, z), content) in h.iter_mut().zip(z).zip(content.iter()) {
                *h = (1.0 - z) * content + z * *h;
            }
        }
        Ok(())
    }
}
