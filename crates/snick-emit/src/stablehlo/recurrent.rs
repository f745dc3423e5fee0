//! Recurrent cells, and recurrent sequences as loops over cells.

use snick_ir::ops::recurrent::cell::{Cell, CellKind};
use snick_ir::ops::recurrent::direction::Direction;
use snick_ir::{Op, OpError};
use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::contract::contract;
use super::emitter::{Emitter, Operand, Result};
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    let (cell, direction) = Cell::of(op)?;
    Some(match direction {
        Some(direction) => OpRow::new(move |e| sequence(e, &cell, direction)),
        None => OpRow::new(move |e| self::cell(e, &cell)),
    })
}

/// A cell with its weights, for one direction. `R` has the shape `[gates * hidden, hidden]`.
struct Weights {
    cell: Cell,
    r: Operand,
    /// Added to `X W^T`, gate by gate.
    bias: Operand,
    /// Added to the product of the hidden state and the last gate of R.
    inner_bias: Option<Operand>,
    hidden: SymExpr,
}

/// Multiplies the rows of `x` by the rows of `w`: `x * w^T`.
fn by_rows(e: &mut Emitter, x: &Operand, w: &Operand) -> Result<Operand> {
    contract(e, x, w, [&[], &[]], [&[x.ty.rank().saturating_sub(1)], &[1]])
}

/// Gates `first..first + count`, which are parts of the last axis.
fn gates(e: &mut Emitter, x: &Operand, first: i64, count: i64, hidden: &SymExpr) -> Result<Operand> {
    let (start, len) = (e.product([&first.into(), hidden])?, e.product([&count.into(), hidden])?);
    e.part(x, x.ty.rank().saturating_sub(1), &start, len)
}

/// Applies the activation at index `place` of the cell's list.
fn activate(e: &mut Emitter, cell: &Cell, place: usize, clipped: bool, x: &Operand) -> Result<Operand> {
    let mut x = x.clone();
    if clipped && cell.settings.clip > 0.0 {
        let (low, high) = (e.full(-cell.settings.clip, &x.ty)?, e.full(cell.settings.clip, &x.ty)?);
        x = e.same("clamp", &[&low, &x, &high]);
    }
    match cell.activation(place).to_ascii_lowercase().as_str() {
        "sigmoid" => Ok(e.same("logistic", &[&x])),
        "tanh" => Ok(e.same("tanh", &[&x])),
        "relu" => {
            let zero = e.full(0.0, &x.ty)?;
            Ok(e.same("maximum", &[&x, &zero]))
        }
        other => Err(OpError::unsupported(format!("the activation {other}"))),
    }
}

/// Computes the next states from `sums`, which is `X W^T` plus the bias for this step.
fn step(e: &mut Emitter, w: &Weights, sums: &Operand, states: &[Operand]) -> Result<Vec<Operand>, OpError> {
    let h = states.first().ok_or(OpError::NotConnected { port: 1 })?;
    match (w.cell.kind, states) {
        (CellKind::Lstm, [_, c]) => {
            let recurrent = by_rows(e, h, &w.r)?;
            let sums = e.same("add", &[sums, &recurrent]);
            let gate = |e: &mut Emitter, i: i64, place: usize| {
                let own = gates(e, &sums, i, 1, &w.hidden)?;
                activate(e, &w.cell, place, true, &own)
            };
            let (forget, input) = (gate(e, 0, 0)?, gate(e, 1, 0)?);
            let (content, output) = (gate(e, 2, 1)?, gate(e, 3, 0)?);
            let kept = e.same("multiply", &[&forget, c]);
            let new = e.same("multiply", &[&input, &content]);
            let c = e.same("add", &[&kept, &new]);
            let shown = activate(e, &w.cell, 2, false, &c)?;
            Ok(vec![e.same("multiply", &[&output, &shown]), c])
        }
        (CellKind::Gru { linear_before_reset }, _) => {
            let rows = |e: &mut Emitter, first: i64, count: i64| {
                let (start, len) =
                    (e.product([&first.into(), &w.hidden])?, e.product([&count.into(), &w.hidden])?);
                e.part(&w.r, 0, &start, len)
            };
            let r = rows(e, 0, 2)?;
            let recurrent = by_rows(e, h, &r)?;
            let own = gates(e, sums, 0, 2, &w.hidden)?;
            let both = e.same("add", &[&own, &recurrent]);
            let both = activate(e, &w.cell, 0, true, &both)?;
            let (update, reset) = (gates(e, &both, 0, 1, &w.hidden)?, gates(e, &both, 1, 1, &w.hidden)?);
            let r = rows(e, 2, 1)?;
            let inner = if linear_before_reset {
                let mut inner = by_rows(e, h, &r)?;
                if let Some(bias) = &w.inner_bias {
                    let bias = e.broadcast(bias, &inner.ty.dims)?;
                    inner = e.same("add", &[&inner, &bias]);
                }
                e.same("multiply", &[&inner, &reset])
            } else {
                let kept = e.same("multiply", &[&reset, h]);
                by_rows(e, &kept, &r)?
            };
            let own = gates(e, sums, 2, 1, &w.hidden)?;
            let content = e.same("add", &[&own, &inner]);
            let content = activate(e, &w.cell, 1, true, &content)?;
            let one = e.full(1.0, &update.ty)?;
            let rest = e.same("subtract", &[&one, &update]);
            let new = e.same("multiply", &[&rest, &content]);
            let kept = e.same("multiply", &[&update, h]);
            Ok(vec![e.same("add", &[&new, &kept])])
        }
        (CellKind::Rnn, _) => {
            let recurrent = by_rows(e, h, &w.r)?;
            let sum = e.same("add", &[sums, &recurrent]);
            Ok(vec![activate(e, &w.cell, 0, true, &sum)?])
        }
        _ => Err(OpError::NotConnected { port: 2 }),
    }
}

/// The weights of one direction, without the direction axis.
fn weights(e: &mut Emitter, cell: &Cell, r: Operand, b: &Operand) -> Result<Weights, OpError> {
    let hidden = r.ty.dims.last().cloned().ok_or_else(|| OpError::rank("R", 0, "2"))?;
    let count = cell.kind.gates() as i64;
    let inner_bias = match cell.kind {
        CellKind::Gru { linear_before_reset: true } => Some(gates(e, b, count, 1, &hidden)?),
        _ => None,
    };
    let bias = gates(e, b, 0, count, &hidden)?;
    Ok(Weights { cell: cell.clone(), r, bias, inner_bias, hidden })
}

/// Rejects the options that `snick run` does not support either.
fn check(e: &Emitter, cell: &Cell, peepholes: usize) -> Result {
    if cell.input_forget {
        return Err(OpError::unsupported("input_forget"));
    }
    if e.len() > peepholes && e.known_float(peepholes) != Some(0.0) {
        return Err(OpError::unsupported("an LSTM with peepholes"));
    }
    Ok(())
}

/// Writes a cell. Inputs: X `[batch, input]`, states `[batch, hidden]`, W, R, B.
fn cell(e: &mut Emitter, cell: &Cell) -> Result {
    let at = 1 + cell.kind.states();
    check(e, cell, at + 3)?;
    let (x, w) = (e.input(0)?, e.input(at)?);
    let states = (1..at).map(|i| e.input(i)).collect::<Result<Vec<_>, _>>()?;
    let r = e.input(at + 1)?;
    let b = match e.len() > at + 2 {
        true => e.input(at + 2)?,
        false => e.full(0.0, &r.ty.sized(r.ty.dims.get(..1).unwrap_or_default().to_vec()))?,
    };
    let weights = weights(e, cell, r, &b)?;
    let sums = biased(e, &x, &w, &weights)?;
    let next = step(e, &weights, &sums, &states)?;
    (0..).zip(next).try_for_each(|(port, state)| e.give(port, state))
}

/// `x * w^T + bias`
fn biased(e: &mut Emitter, x: &Operand, w: &Operand, weights: &Weights) -> Result<Operand> {
    let products = by_rows(e, x, w)?;
    let bias = e.broadcast(&weights.bias, &products.ty.dims)?;
    Ok(e.same("add", &[&products, &bias]))
}

/// Writes a sequence. Inputs: X `[batch, steps, input]`, states `[batch, directions, hidden]`, lengths, W, R,
/// B. Outputs: the states of all steps `[batch, directions, steps, hidden]`, and the last states.
fn sequence(e: &mut Emitter, cell: &Cell, direction: Direction) -> Result {
    let at = 2 + cell.kind.states();
    check(e, cell, at + 3)?;
    let mut of_directions: Vec<Vec<Operand>> = vec![];
    for (direction, &reversed) in (0..).zip(direction.reversed()) {
        let one = |e: &mut Emitter, i: usize, axis: usize| {
            let x = e.input(i)?;
            let part = e.part(&x, axis, &SymExpr::Const(direction), 1.into())?;
            let mut dims = part.ty.dims.clone();
            dims.remove(axis);
            e.reshape(&part, dims)
        };
        let (w, r, b) = (one(e, at, 0)?, one(e, at + 1, 0)?, one(e, at + 2, 0)?);
        let mut states = Vec::with_capacity(2);
        for i in 1..at - 1 {
            states.push(one(e, i, 1)?);
        }
        let weights = weights(e, cell, r, &b)?;
        of_directions.push(run(e, &weights, &w, states, at - 1, reversed)?);
    }
    for port in 0..at - 1 {
        let mut parts = Vec::with_capacity(of_directions.len());
        for own in &of_directions {
            let x = own.get(port).ok_or(OpError::NotConnected { port })?;
            let mut dims = x.ty.dims.clone();
            dims.insert(1, 1.into());
            parts.push(e.reshape(x, dims)?);
        }
        let y = e.concatenate(&parts, 1)?;
        e.give(port as u32, y)?;
    }
    Ok(())
}

/// Runs one direction. Returns the first state after each step, and all final states. In steps beyond the
/// length of a sequence, the states do not change and the output is 0. The reverse direction begins with
/// these steps.
fn run(
    e: &mut Emitter,
    weights: &Weights,
    w: &Operand,
    states: Vec<Operand>,
    lengths: usize,
    reversed: bool,
) -> Result<Vec<Operand>, OpError> {
    let x = e.input(0)?;
    let sums = biased(e, &x, w, weights)?;
    let [batch, steps, _] = x.ty.dims.as_slice() else { return Err(OpError::rank("X", x.ty.rank(), "3")) };
    let is_full = e.elements(lengths).is_some_and(|lengths| lengths.iter().all(|length| length == steps));
    let lengths = match is_full {
        true => None,
        false => {
            let lengths = e.input(lengths)?;
            Some(e.convert(&lengths, ElementType::I64))
        }
    };
    let row = [batch.clone(), weights.hidden.clone()];
    let all = e.full(0.0, &x.ty.sized(vec![batch.clone(), steps.clone(), weights.hidden.clone()]))?;
    let count = e.number(steps)?;
    let start = [vec![all], states].concat();
    e.repeat(&count, &start, None, |e, number, carried| {
        let (all, states) = carried.split_first().ok_or(OpError::NotConnected { port: 0 })?;
        let mut place = number.clone();
        if reversed {
            let one = e.number(&1.into())?;
            let last = e.same("subtract", &[&count, &one]);
            place = e.same("subtract", &[&last, number]);
        }
        let own = e.pick(&sums, 1, &place, &1.into())?;
        let rows = sums.ty.dims.last().cloned().unwrap_or_else(|| 1.into());
        let own = e.reshape(&own, vec![batch.clone(), rows])?;
        let mut next = step(e, weights, &own, states)?;
        let mut shown = next.first().cloned().ok_or(OpError::NotConnected { port: 1 })?;
        if let Some(lengths) = &lengths {
            let place = e.spread(&place, &[], &lengths.ty.dims)?;
            let lasts = e.compare("LT", &place, lengths);
            let lasts = e.spread(&lasts, &[0], row.to_vec())?;
            for (state, old) in next.iter_mut().zip(states) {
                *state = e.select(&lasts, state, old);
            }
            let nothing = e.full(0.0, &shown.ty)?;
            shown = e.select(&lasts, &shown, &nothing);
        }
        let shown = e.reshape(&shown, vec![batch.clone(), 1.into(), weights.hidden.clone()])?;
        let all = e.put(all, &shown, 1, &place)?;
        Ok([vec![all], next].concat())
    })
}
