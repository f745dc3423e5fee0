//! Bucketize and SearchSorted: the position of a value is the number of sorted bounds below it.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};
use snick_tensor::ElementType;

use super::helpers::Result;

pub(crate) const BUCKETIZE: Rule = Rule::exact("decompose-bucketize", bucketize);
pub(crate) const SEARCH_SORTED: Rule = Rule::exact("decompose-search-sorted", search_sorted);

fn bucketize(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Bucketize(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (x, bounds) = (p.input(0)?, p.input(1)?);
    let is_below: IsBelow = match op.with_right_bound {
        true => |p, bound, x| p.less(bound, x),
        // NaN must sort after all bounds.
        false => |p, bound, x| {
            let is_above = p.less(x, bound)?;
            p.logical_not(is_above)
        },
    };
    count(p, bounds, x, is_below, op.output_type.element_type())
}

fn search_sorted(p: &mut Patch) -> Result<RewriteResult> {
    let Op::SearchSorted(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (mut sorted, values) = (p.input(0)?, p.input(1)?);
    if p.rank(sorted)? > 1 {
        sorted = p.unsqueeze(sorted, &[-2])?;
    }
    let is_below: IsBelow = match op.right_mode {
        true => |p, bound, x| p.less_equal(bound, x),
        false => |p, bound, x| p.less(bound, x),
    };
    count(p, sorted, values, is_below, op.output_type.element_type())
}

/// Whether a bound is counted as below a value.
type IsBelow = fn(&mut Patch, Value, Value) -> Result<Value>;

/// For each value, the number of bounds along the last axis that are below the value.
fn count(
    p: &mut Patch,
    bounds: Value,
    x: Value,
    is_below: IsBelow,
    to: ElementType,
) -> Result<RewriteResult> {
    let common = match [p.element_type(bounds)?, p.element_type(x)?] {
        [a, b] if !a.is_float() && !b.is_float() => ElementType::I64,
        [ElementType::F32, ElementType::F32] => ElementType::F32,
        _ => ElementType::F64,
    };
    let (bounds, x) = (p.convert(bounds, common)?, p.convert(x, common)?);
    let x = p.unsqueeze(x, &[-1])?;
    let is_below = is_below(p, bounds, x)?;
    let ones = p.convert(is_below, ElementType::I64)?;
    let count = p.reduce_sum(ones, &[-1], false)?;
    p.convert(count, to).map(RewriteResult::one)
}
