//! OneHot as a comparison of indices with the positions along the new axis.

use snick_ir::ops::movement::one_hot::NegativeIndices;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, normalize_axis};
use snick_tensor::ElementType;

use super::helpers::Result;

pub(crate) const RULE: Rule = Rule::exact("decompose-one-hot", one_hot);

/// Selects `on` where the position along the new axis equals the index.
fn one_hot(p: &mut Patch) -> Result<RewriteResult> {
    let Op::OneHot(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (indices, mut depth, on, off) = (p.input(0)?, p.input(1)?, p.input(2)?, p.input(3)?);
    let rank = p.rank(indices)? + 1;
    let axis = normalize_axis(op.axis, rank)?;
    if p.rank(depth)? > 0 {
        depth = p.reshape(depth, &[])?;
    }
    let depth = p.convert(depth, ElementType::I64)?;
    let mut indices = p.convert(indices, ElementType::I64)?;
    let zero = p.int(0)?;
    if op.negative_indices_mode == NegativeIndices::Normalize {
        let from_start = p.add(indices, depth)?;
        let is_negative = p.less(indices, 0.0)?;
        indices = p.select(is_negative, from_start, indices)?;
    }
    let one = p.int(1)?;
    let places = p.range(zero, depth, one, ElementType::I64)?;
    let behind: Vec<i64> = (1..rank - axis).map(|axis| axis as i64).collect();
    let places = if behind.is_empty() { places } else { p.unsqueeze(places, &behind)? };
    let indices = p.unsqueeze(indices, &[axis as i64])?;
    let is_hot = p.equal(indices, places)?;
    p.select(is_hot, on, off).map(RewriteResult::one)
}
