//! Embedding bags: gathers rows of a table, and sums the rows of each bag.

use snick_ir::ops::ScatterNdUpdate;
use snick_ir::ops::movement::embedding_bag::BagReduction;
use snick_ir::ops::movement::scatter_reduction::ScatterReduction;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};
use snick_tensor::ElementType;

use super::helpers::{Result, at_run_time, known};

pub(crate) const RULE: Rule =
    Rule::exact("decompose-embedding-bag", embedding_bag).may_round_within(1e-5, 0.0);

fn embedding_bag(p: &mut Patch) -> Result<RewriteResult> {
    match p.node().op() {
        Op::EmbeddingBagPackedSum(_) => packed(p, BagReduction::Sum),
        Op::EmbeddingBagPacked(op) => {
            let reduction = op.reduction;
            packed(p, reduction)
        }
        Op::EmbeddingBagOffsets(op) if op.reduction == BagReduction::Mean => {
            Ok(RewriteResult::Declined("means of bags of any size".into()))
        }
        Op::EmbeddingBagOffsets(_) | Op::EmbeddingBagOffsetsSum(_) => offsets(p),
        Op::EmbeddingSegmentsSum(_) => {
            let (bags, count) = (index(p, 2)?, index(p, 3)?);
            let count = p.reshape(count, &[1])?;
            summed(p, bags, count, 4, 5)
        }
        _ => Ok(RewriteResult::NoMatch),
    }
}

/// Input `i` as i64.
fn index(p: &mut Patch, i: usize) -> Result<Value> {
    let input = p.input(i)?;
    p.convert(input, ElementType::I64)
}

/// Gathers rows with indices of rank `axes`. Multiplies them by input `weights` if the layer has this input.
fn rows(p: &mut Patch, axes: usize, weights: usize) -> Result<Value> {
    let (table, indices) = (p.input(0)?, index(p, 1)?);
    let rows = p.gather(table, indices, 0)?;
    let Some(mut weights) = p.try_input(weights) else { return Ok(rows) };
    let behind: Vec<i64> = (axes..axes + p.rank(table)? - 1).map(|axis| axis as i64).collect();
    if !behind.is_empty() {
        weights = p.unsqueeze(weights, &behind)?;
    }
    p.multiply(rows, weights)
}

/// Bags of equal size: each row of indices is a bag.
fn packed(p: &mut Patch, reduction: BagReduction) -> Result<RewriteResult> {
    let rows = rows(p, 2, 2)?;
    let y = match reduction {
        BagReduction::Mean => p.reduce_mean(rows, &[1], false)?,
        BagReduction::Sum => p.reduce_sum(rows, &[1], false)?,
    };
    Ok(RewriteResult::one(y))
}

/// The bags are given by start offsets: an index belongs to the last bag that starts at or before it.
fn offsets(p: &mut Patch) -> Result<RewriteResult> {
    let (indices, begins) = (p.input(1)?, index(p, 2)?);
    let (count, total) = (p.size_of(begins, 0)?, p.size_of(indices, 0)?);
    let (total, zero, one) = (p.squeeze(total, &[0])?, p.int(0)?, p.int(1)?);
    let places = p.range(zero, total, one, ElementType::I64)?;
    let places = p.unsqueeze(places, &[-1])?;
    let has_begun = p.less_equal(begins, places)?;
    let has_begun = p.convert(has_begun, ElementType::I64)?;
    let begun = p.reduce_sum(has_begun, &[-1], false)?;
    let bags = p.subtract(begun, 1.0)?;
    summed(p, bags, count, 3, 4)
}

/// Adds updates to a tensor of zeros, at indices `places`.
fn scattered(p: &mut Patch, zeros: Value, places: Value, updates: Value) -> Result<Value> {
    p.add_op(
        ScatterNdUpdate { reduction: ScatterReduction::Sum, ..Default::default() },
        &[zeros, places, updates],
    )
}

/// Sums the rows of each bag. The input at port `default` selects the row that results from an empty bag; the
/// result is 0 if this input is negative or not connected.
fn summed(p: &mut Patch, bags: Value, count: Value, default: usize, weights: usize) -> Result<RewriteResult> {
    let (table, rows) = (p.input(0)?, rows(p, 1, weights)?);
    let rank = p.rank(table)?;
    let mut sizes = vec![count];
    if rank > 1 {
        let shape = p.shape_of(table)?;
        sizes.push(p.slice8(shape, &[1], &[i64::MAX], &[1], &[0])?);
    }
    let sizes = p.concat(0, &sizes)?;
    let zero = p.scalar_like(table, 0.0)?;
    let empty = p.broadcast_to(zero, sizes)?;
    let places = p.unsqueeze(bags, &[-1])?;
    let sum = scattered(p, empty, places, rows)?;
    let row = match p.try_input(default) {
        None => return Ok(RewriteResult::one(sum)),
        Some(_) => match known(p, default)?.and_then(|rows| rows.first().copied()) {
            None => return Ok(at_run_time("the default row")),
            Some(row) if row < 0 => return Ok(RewriteResult::one(sum)),
            Some(row) => row,
        },
    };
    let row = p.ints(&[row])?;
    let row = p.gather(table, row, 0)?;
    // The number of indices in each bag.
    let none = p.int(0)?;
    let none = p.broadcast_to(none, count)?;
    let (one, of_indices) = (p.int(1)?, p.shape_of(bags)?);
    let ones = p.broadcast_to(one, of_indices)?;
    let counts = scattered(p, none, places, ones)?;
    let mut is_filled = p.greater(counts, 0.0)?;
    if rank > 1 {
        is_filled = p.unsqueeze(is_filled, &(1..rank as i64).collect::<Vec<_>>())?;
    }
    p.select(is_filled, sum, row).map(RewriteResult::one)
}
