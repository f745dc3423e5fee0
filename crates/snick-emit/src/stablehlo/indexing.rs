//! Ops that select elements by indices.

use snick_ir::ops::{Gather, GatherElements, GatherNd, ReverseSequence};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};
use super::lookup::{Lookup, column, elements_along, from_start, look_up, own_place};
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Gather(op) => OpRow::new(|e| gather(e, op)),
        Op::GatherElements(op) => OpRow::new(|e| gather_elements(e, op)),
        Op::GatherNd(op) => OpRow::new(|e| gather_nd(e, op)),
        Op::ReverseSequence(op) => OpRow::new(|e| reverse_sequence(e, op)),
        _ => return None,
    })
}

/// Gathers the slice of the data at each index along one axis. The first `batch_dims` axes are batch axes.
fn gather(e: &mut Emitter, op: &Gather) -> Result {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    let axis = e.fixed(2, "the axis of a Gather")?.first().copied().unwrap_or(0);
    let axis = snick_ir::normalize_axis(axis, data.ty.rank())?;
    let batch = op.batch(indices.ty.rank(), axis)?;
    let entries = from_start(e, &indices, &data.ty.dims[axis])?;
    let mut columns = (0..batch).map(|axis| own_place(e, &entries, axis)).collect::<Result<Vec<_>, _>>()?;
    columns.push(column(e, &entries)?);
    let places = e.concatenate(&columns, entries.ty.rank())?;
    let dims = e.output(0)?.dims;
    // The output axes that come from the indices.
    let inside: Vec<usize> = (0..batch).chain(axis..axis + indices.ty.rank() - batch).collect();
    let indexed: Vec<usize> = (0..batch).chain([axis]).collect();
    let mut sizes = data.ty.dims.clone();
    indexed.iter().for_each(|&axis| sizes[axis] = 1.into());
    let offset = (0..dims.len()).filter(|out| !inside.contains(out)).collect();
    let lookup = Lookup { offset, collapsed: indexed.clone(), indexed, sizes };
    let y = look_up(e, &data, &places, lookup, &dims)?;
    let size = data.ty.dims[axis].clone();
    // The smallest possible size of the indexed axis.
    let least = e.graph.symbols().interval(&size).lo();
    if e.known(1).is_some_and(|indices| indices.iter().all(|&index| (-least..least).contains(&index))) {
        return e.give(0, y);
    }
    // StableHLO clamps an index that is out of range, whereas the layer returns 0 for it.
    let (zero, end) = (e.full(0.0, &entries.ty)?, e.number(&size)?);
    let end = e.spread(&end, &[], &entries.ty.dims)?;
    let (above, below) = (e.compare("GE", &entries, &zero), e.compare("LT", &entries, &end));
    let inside_axis = e.same("and", &[&above, &below]);
    let inside_axis = e.spread(&inside_axis, &inside, &dims)?;
    let nothing = e.full(0.0, &y.ty)?;
    let y = e.select(&inside_axis, &y, &nothing);
    e.give(0, y)
}

/// Gathers elements. The position along `axis` is given by the indices; along other axes it is the position
/// in the result.
fn gather_elements(e: &mut Emitter, op: &GatherElements) -> Result {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    let axis = snick_ir::normalize_axis(op.axis, data.ty.rank())?;
    let y = elements_along(e, &data, &indices, axis)?;
    e.give(0, y)
}

/// Reverses the first elements of each sequence of a batch.
fn reverse_sequence(e: &mut Emitter, op: &ReverseSequence) -> Result {
    let (data, lengths) = (e.input(0)?, e.input(1)?);
    let batch = snick_ir::normalize_axis(op.batch_axis, data.ty.rank())?;
    let axis = snick_ir::normalize_axis(op.seq_axis, data.ty.rank())?;
    let lengths = e.convert(&lengths, ElementType::I64);
    let lengths = e.spread(&lengths, &[batch], &data.ty.dims)?;
    let places = e.iota(axis, lengths.ty.clone())?;
    let one = e.full(1.0, &lengths.ty)?;
    let last = e.same("subtract", &[&lengths, &one]);
    let mirrored = e.same("subtract", &[&last, &places]);
    let turns = e.compare("LT", &places, &lengths);
    let places = e.select(&turns, &mirrored, &places);
    let y = elements_along(e, &data, &places, axis)?;
    e.give(0, y)
}

/// Writes a GatherND. The last axis of the indices holds index vectors for the leading axes of the data after
/// the batch axes. The window covers the remaining axes.
fn gather_nd(e: &mut Emitter, op: &GatherNd) -> Result {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    let batch = op.batch_dims;
    let first = indices.ty.rank().saturating_sub(1);
    let count = indices.ty.size(first)?;
    let tuples = Operand { ty: indices.ty.sized(indices.ty.dims[..first].to_vec()), ..indices.clone() };
    let mut columns = (0..batch).map(|axis| own_place(e, &tuples, axis)).collect::<Result<Vec<_>, _>>()?;
    for entry in 0..count {
        let part = e.part(&indices, first, &(entry as i64).into(), 1.into())?;
        let size = data.ty.dims.get(batch + entry);
        let size =
            size.ok_or_else(|| OpError::rank("the data", data.ty.rank(), (batch + count).to_string()))?;
        columns.push(from_start(e, &part, size)?);
    }
    let places = e.concatenate(&columns, first)?;
    let indexed: Vec<usize> = (0..batch + count).collect();
    let dims = [&indices.ty.dims[..first], &data.ty.dims[indexed.len()..]].concat();
    let sizes = data.ty.dims.iter().enumerate();
    let sizes = sizes.map(|(axis, dim)| if axis < indexed.len() { 1.into() } else { dim.clone() });
    let sizes = sizes.collect();
    let offset = (first..dims.len()).collect();
    let lookup = Lookup { offset, collapsed: indexed.clone(), indexed, sizes };
    let y = look_up(e, &data, &places, lookup, dims)?;
    // Before version 8, the op merges the batch axes of its output into one.
    let dims = e.output(0)?.dims;
    let y = e.reshape(&y, dims)?;
    e.give(0, y)
}
