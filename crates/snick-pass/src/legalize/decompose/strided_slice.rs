//! StridedSlice whose entries are ranges, and an ellipsis that stands for at least one axis. Bounds of negative steps
//! are not masked.

use snick_ir::ops::slice::mask::Mask;
use snick_ir::ops::slice::strided_slice::EntryPlan;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{IntOrValue, Op, Value};

use super::helpers::{Result, all_inputs, at_run_time};

pub(crate) const RULE: Rule = Rule::exact("simplify-strided-slice", strided_slice);

/// Leaves out an ellipsis that stands for no axis, inserts new axes beforehand with an Unsqueeze, and replaces masks
/// of backward ranges by the least and greatest bounds.
fn strided_slice(p: &mut Patch) -> Result<RewriteResult> {
    let Op::StridedSlice(mut op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let Some(plan) = op.plan(&p.input_facts()?)? else { return Ok(RewriteResult::NoMatch) };
    let entries = &plan.0;
    let kept: Vec<usize> = (0..entries.len()).filter(|&i| entries[i] != EntryPlan::Whole(0)).collect();
    let new_axes = new_axes(entries);
    let is_changed = |i: usize| (1..4).any(|port| replacement(&entries[i], port).is_some());
    if kept.len() == entries.len() && !kept.iter().any(|&i| is_changed(i)) {
        return Ok(RewriteResult::NoMatch);
    }
    let mut inputs = all_inputs(p)?;
    for (port, input) in inputs.iter_mut().enumerate().skip(1) {
        *input = match selected(p, *input, &kept, &|i| replacement(&entries[i], port))? {
            Some(input) => input,
            None => return Ok(at_run_time("bounds")),
        };
    }
    let is_new_axis = |i: usize| entries[i] == EntryPlan::NewAxis;
    let bits = |mask: Mask, port: usize| {
        let bit = |&i: &usize| match port {
            _ if is_new_axis(i) => port > 0,
            _ => mask.get(i) && (port == 0 || replacement(&entries[i], port).is_none()),
        };
        kept.iter().map(|i| u8::from(bit(i))).collect()
    };
    op.begin_mask = bits(op.begin_mask, 1);
    op.end_mask = bits(op.end_mask, 2);
    op.shrink_axis_mask = bits(op.shrink_axis_mask, 0);
    op.ellipsis_mask = bits(op.ellipsis_mask, 0);
    op.new_axis_mask = bits(Mask::default(), 0);
    if !new_axes.is_empty() {
        inputs[0] = p.unsqueeze(inputs[0], &new_axes)?;
    }
    p.add_op(op, &inputs).map(RewriteResult::one)
}

/// The new axes, as axes of the data after their insertion.
fn new_axes(entries: &[EntryPlan]) -> Vec<i64> {
    let mut axis = 0;
    let mut new_axes = Vec::new();
    for entry in entries {
        new_axes.extend((*entry == EntryPlan::NewAxis).then_some(axis));
        axis += if let EntryPlan::Whole(count) = entry { *count as i64 } else { 1 };
    }
    new_axes
}

/// The element that replaces the one of an entry in the input at this port. The step of a new axis is ignored, and
/// may be 0.
fn replacement(entry: &EntryPlan, port: usize) -> Option<i64> {
    match entry {
        EntryPlan::NewAxis => (port == 3).then_some(1),
        EntryPlan::Range(range)
            if !range.single && matches!(range.step, IntOrValue::Int(step) if step < 0) =>
        {
            match port {
                1 => range.start.is_none().then_some(i32::MAX.into()),
                2 => range.stop.is_none().then_some(i32::MIN.into()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The elements of a vector at these positions, or their replacements; `None` if replacements need constants.
fn selected(
    p: &mut Patch,
    vector: Value,
    kept: &[usize],
    replacement: &dyn Fn(usize) -> Option<i64>,
) -> Result<Option<Value>> {
    if let Some(tensor) = p.constant_value(vector) {
        let all = tensor.to_i64_vec()?;
        let element = |&i: &usize| replacement(i).or(all.get(i).copied());
        let some = p.ints(&kept.iter().filter_map(element).collect::<Vec<_>>())?;
        return p.convert(some, tensor.element_type()).map(Some);
    }
    if kept.iter().any(|&i| replacement(i).is_some()) {
        return Ok(None);
    }
    let places = p.ints(&kept.iter().map(|&i| i as i64).collect::<Vec<_>>())?;
    p.gather(vector, places, 0).map(Some)
}
