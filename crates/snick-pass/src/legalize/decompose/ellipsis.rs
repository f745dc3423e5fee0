//! StridedSlice whose ellipsis stands for no axis, without the ellipsis.

use snick_ir::ops::slice::strided_slice::EntryPlan;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};

use super::helpers::{Result, all_inputs};

pub(crate) const RULE: Rule = Rule::exact("remove-empty-ellipsis", ellipsis);

fn ellipsis(p: &mut Patch) -> Result<RewriteResult> {
    let Op::StridedSlice(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let Some(plan) = op.plan(&p.input_facts()?)? else { return Ok(RewriteResult::NoMatch) };
    let is_kept = |entry: &EntryPlan| *entry != EntryPlan::Whole(0);
    let kept: Vec<usize> = (0..plan.0.len()).filter(|&i| is_kept(&plan.0[i])).collect();
    if kept.len() == plan.0.len() {
        return Ok(RewriteResult::NoMatch);
    }
    let mut inputs = all_inputs(p)?;
    for input in &mut inputs[1..] {
        *input = entries(p, *input, &kept)?;
    }
    let mut op = op;
    for mask in [
        &mut op.begin_mask,
        &mut op.end_mask,
        &mut op.new_axis_mask,
        &mut op.shrink_axis_mask,
        &mut op.ellipsis_mask,
    ] {
        *mask = kept.iter().map(|&i| u8::from(mask.get(i))).collect();
    }
    p.add_op(op, &inputs).map(RewriteResult::one)
}

/// The elements of a vector at these positions.
fn entries(p: &mut Patch, vector: Value, kept: &[usize]) -> Result<Value> {
    if let Some(tensor) = p.constant_value(vector) {
        let all = tensor.to_i64_vec()?;
        let some: Vec<i64> = kept.iter().filter_map(|&i| all.get(i).copied()).collect();
        let (some, element_type) = (p.ints(&some)?, tensor.element_type());
        return p.convert(some, element_type);
    }
    let places = p.ints(&kept.iter().map(|&i| i as i64).collect::<Vec<_>>())?;
    p.gather(vector, places, 0)
}
