//! Decodes sequences from the output of a network at each step.

use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};
use super::lookup::elements_along;
use super::reduce::{maximum, sum};
use super::row::OpRow;
use super::sorted::sorted;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::CtcGreedyDecoder(op) => OpRow::new(|e| ctc_greedy(e, op.ctc_merge_repeated, false)),
        Op::CtcGreedyDecoderSeqLen(op) => OpRow::new(|e| ctc_greedy(e, op.merge_repeated, true)),
        Op::GatherTree(_) => OpRow::new(gather_tree),
        _ => return None,
    })
}

/// Reduces an axis to the index of its first true element as i64, or to a large number if no element is true.
fn first(e: &mut Emitter, chosen: &Operand, axis: usize) -> Result<Operand> {
    let places = e.iota(axis, chosen.ty.with(ElementType::I64))?;
    let none = e.full(i64::MAX as f64, &places.ty)?;
    let places = e.select(chosen, &places, &none);
    let most = e.full(i64::MAX as f64, &places.ty.sized(&[]))?;
    Ok(e.reduce(&places, &[axis], "minimum", &most))
}

/// Selects the best class at each step, removes blank and repeated classes, and fills up each sequence with
/// -1.
fn ctc_greedy(e: &mut Emitter, merge_repeated: bool, has_lengths: bool) -> Result {
    let (mut x, mut mask) = (e.input(0)?, e.input(1)?);
    if !has_lengths {
        (x, mask) = (e.transpose(&x, &[1, 0, 2]), e.transpose(&mask, &[1, 0]));
    }
    let &[batch, time, classes] = x.ty.fixed()?.as_slice() else {
        return Err(OpError::rank("data", x.ty.rank(), "3"));
    };
    let top = maximum(e, &x, &[2])?;
    let top = e.spread(&top, &[0, 1], &x.ty.dims)?;
    let is_top = e.compare("EQ", &x, &top);
    let best = first(e, &is_top, 2)?;
    let places = e.iota(1, best.ty.clone())?;
    let end = match has_lengths {
        true => e.convert(&mask, ElementType::I64),
        false => {
            // The first 0 in the mask ends a sequence.
            let zero = e.full(0.0, &mask.ty)?;
            let is_off = e.compare("EQ", &mask, &zero);
            first(e, &is_off, 1)?
        }
    };
    let end = e.spread(&end, &[0], &best.ty.dims)?;
    let mut kept = e.compare("LT", &places, &end);
    let blank = match e.len() {
        2 => e.full(classes as f64 - 1.0, &best.ty)?,
        _ => {
            let blank = e.input(2)?;
            let blank = e.convert(&blank, ElementType::I64);
            e.everywhere(&blank, &best.ty.dims)?
        }
    };
    let differs = e.compare("NE", &best, &blank);
    kept = e.same("and", &[&kept, &differs]);
    if merge_repeated && time > 0 {
        let none = e.full(-1.0, &best.ty.sized(&[batch, 1]))?;
        let before = e.part(&best, 1, &0.into(), (time as i64 - 1).into())?;
        let before = e.concatenate(&[none, before], 1)?;
        let is_new = e.compare("NE", &best, &before);
        kept = e.same("and", &[&kept, &is_new]);
    }
    let dropped = e.same("not", &[&kept]);
    let order = e.convert(&dropped, ElementType::I32);
    let [_, front] = sorted(e, &order, &best, 1, "LT");
    let ones = e.convert(&kept, ElementType::I64);
    let count = sum(e, &ones, &[1])?;
    let behind = e.spread(&count, &[0], &front.ty.dims)?;
    let is_there = e.compare("LT", &places, &behind);
    let none = e.full(-1.0, &front.ty)?;
    let read = e.select(&is_there, &front, &none);
    let ty = e.output(0)?;
    let read = e.reshape(&read, &ty.dims)?;
    let read = e.convert(&read, ty.element);
    e.give(0, read)?;
    if has_lengths {
        let element = e.output(1)?.element;
        let count = e.convert(&count, element);
        e.give(1, count)?;
    }
    Ok(())
}

/// Traces beams `[steps, batch, beams]` back through their parents. Replaces all tokens after the first end
/// token with end tokens.
fn gather_tree(e: &mut Emitter) -> Result {
    let (ids, parents, lengths, end) = (e.input(0)?, e.input(1)?, e.input(2)?, e.input(3)?);
    let steps = ids.ty.size(0)?;
    let row = ids.ty.sized(ids.ty.dims.get(1..).unwrap_or_default().to_vec());
    let parents = e.convert(&parents, ElementType::I64);
    let lengths = e.convert(&lengths, ElementType::I64);
    let lengths = e.spread(&lengths, &[0], &row.dims)?;
    let ends = e.everywhere(&end, &row.dims)?;
    let start = [e.everywhere(&end, &ids.ty.dims)?, e.iota(1, row.with(ElementType::I64))?];
    let count = e.number(&(steps as i64).into())?;
    let last = e.number(&(steps as i64 - 1).into())?;
    let followed = e.repeat(&count, &start, None, |e, number, carried| {
        let [all, from] = carried else { return Err(OpError::NotConnected { port: 0 }) };
        let step = e.same("subtract", &[&last, number]);
        let at_step = |e: &mut Emitter, x: &Operand| {
            let part = e.pick(x, 0, &step, &1.into())?;
            let part = e.reshape(&part, &row.dims)?;
            elements_along(e, &part, from, 1)
        };
        let (id, parent) = (at_step(e, &ids)?, at_step(e, &parents)?);
        let everywhere = e.spread(&step, &[], &row.dims)?;
        let lasts = e.compare("LT", &everywhere, &lengths);
        let (id, from) = (e.select(&lasts, &id, &ends), e.select(&lasts, &parent, from));
        let id = e.reshape(&id, [&[1.into()], row.dims.as_slice()].concat())?;
        Ok(vec![e.put(all, &id, 0, &step)?, from])
    })?;
    let all = followed.first().cloned().ok_or(OpError::NotConnected { port: 0 })?;
    let ends = e.everywhere(&end, &all.ty.dims)?;
    let is_end = e.compare("EQ", &all, &ends);
    let first = first(e, &is_end, 0)?;
    let places = e.iota(0, all.ty.with(ElementType::I64))?;
    let first = e.spread(&first, &[1, 2], &places.ty.dims)?;
    let ended = e.compare("GE", &places, &first);
    let y = e.select(&ended, &ends, &all);
    e.give(0, y)
}
