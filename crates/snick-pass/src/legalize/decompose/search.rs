//! Places in sorted bounds, counted.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};
use snick_tensor::ElementType;

use super::helpers::Result;

pub(crate) const BUCKETIZE: Rule = Rule::exact("decompose-bucketize", bucketize);
pub(crate) const SEARCH_SORTED: Rule = Rule::exact("decompose-search-sorted", search_sorted);

fn bucketize(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Bucketize(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (x, bounds) = (p.input(0)?, p.input(1)?);
    count(p, bounds, x, !op.with_right_bound, op.output_type.element_type())
}

fn search_sorted(p: &mut Patch) -> Result<RewriteResult> {
    let Op::SearchSorted(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (mut sorted, values) = (p.input(0)?, p.input(1)?);
    if p.rank(sorted)? > 1 {
        sorted = p.unsqueeze(sorted, &[-2])?;
    }
    count(p, sorted, values, op.right_mode, op.output_type.element_type())
}

/// How many of the bounds along the last axis lie below each value, or, `or_equal`, not above it.
fn count(p: &mut Patch, bounds: Value, x: Value, or_equal: bool, to: ElementType) -> Result<RewriteResult> {
    let common = match [p.element_type(bounds)?, p.element_type(x)?] {
        [a, b] if !a.is_float() && !b.is_float() => ElementType::I64,
        [ElementType::F32, ElementType::F32] => ElementType::F32,
        _ => ElementType::F64,
    };
    let (bounds, x) = (p.convert(bounds, common)?, p.convert(x, common)?);
    let x = p.unsqueeze(x, &[-1])?;
    let is_below = if or_equal { p.less_equal(bounds, x)? } else { p.less(bounds, x)? };
    let ones = p.convert(is_below, ElementType::I64)?;
    let count = p.reduce_sum(ones, &[-1], false)?;
    p.convert(count, to).map(RewriteResult::one)
}
