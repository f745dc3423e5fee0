//! Layers in the newest definition of an operation that a target reads.

use snick_ir::ops::nn::interpolate::Mode;
use snick_ir::ops::{Interpolate, Slice8};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Dialect, Op, Since, Value, Version, earlier_definition, ops};
use snick_tensor::{ElementType, Tensor};

use super::helpers::{Result, all_inputs, at_run_time, known, known_size};

pub(crate) const RULE: Rule = Rule::exact("earlier-definition", earlier);
pub(crate) const INTERPOLATE: Rule = Rule::exact("earlier-interpolate", interpolate);
pub(crate) const PAD: Rule = Rule::for_target("earlier-pad", pad);
pub(crate) const SCATTER_ELEMENTS: Rule = Rule::exact("earlier-scatter-elements", scatter_elements);

/// Definitions that only add attributes or negative integers: the previous one, if the attributes have their
/// defaults, and no integer can be negative.
fn earlier(p: &mut Patch) -> Result<RewriteResult> {
    if let Op::Pad(_) = p.node().op()
        && is_of(p, 12)
        && !may_be_negative(p, 1)?
        && !may_be_negative(p, 2)?
    {
        let op = p.node().op().clone();
        return in_version(p, Version::Opset(1), op);
    }
    match earlier_definition(p.node()) {
        Ok(Some((Op::ScatterElementsUpdate(_), _))) if may_be_negative(p, 1)? => Ok(RewriteResult::NoMatch),
        Ok(Some((op, version))) => in_version(p, version, op),
        Ok(None) => Ok(RewriteResult::NoMatch),
        Err(error) => Ok(RewriteResult::declined(error.to_string())),
    }
}

fn in_version(p: &mut Patch, version: Version, op: Op) -> Result<RewriteResult> {
    let (inputs, count) = (all_inputs(p)?, p.node().outs().len());
    p.add_op_of(version, op, &inputs, count).map(RewriteResult::many)
}

/// ScatterElementsUpdate-3 has no negative indices, so the size of the axis is added to them.
fn scatter_elements(p: &mut Patch) -> Result<RewriteResult> {
    if !matches!(p.node().op(), Op::ScatterElementsUpdate(_)) || !may_be_negative(p, 1)? {
        return Ok(RewriteResult::NoMatch);
    }
    // The other rule reports what the earlier definition lacks.
    let Ok(Some((op, version))) = earlier_definition(p.node()) else { return Ok(RewriteResult::NoMatch) };
    let mut inputs = all_inputs(p)?;
    let (data, indices) = (inputs[0], inputs[1]);
    let Some(axis) = known(p, 3)?.and_then(|axes| axes.first().copied()) else {
        return Ok(at_run_time("the axis"));
    };
    let size = p.size_of(data, axis)?;
    let size = p.convert(size, p.element_type(indices)?)?;
    let from_start = p.add(indices, size)?;
    let is_negative = p.less(indices, 0.0)?;
    inputs[1] = p.select(is_negative, from_start, indices)?;
    p.add_op_of(version, op, &inputs, 1).map(RewriteResult::many)
}

/// Whether an integer in input `i` may be negative.
fn may_be_negative(p: &Patch, i: usize) -> Result<bool> {
    let fact = p.fact(p.input(i)?)?;
    Ok(fact.elements().is_none_or(|elements| elements.iter().any(|element| p.interval(element).lo() < 0)))
}

/// Whether the layer uses the definition of this operation set.
fn is_of(p: &Patch, opset: u8) -> bool {
    let node = p.node();
    let entry = ops::find(Dialect::OpenVino, node.op().type_name());
    entry.and_then(|entry| entry.name.defining_opset(node.version())) == Some(opset)
}

/// Interpolate-4 has inputs for both sizes and scales, and ignores one of them.
fn interpolate(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Interpolate(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    if !op.since.at_least(11) {
        return Ok(RewriteResult::NoMatch);
    }
    if matches!(op.mode, Mode::BilinearPillow | Mode::BicubicPillow) {
        return Ok(RewriteResult::declined("the modes of the Pillow library"));
    }
    let mut inputs = all_inputs(p)?;
    let Some(count) = known_size(p, inputs[1], 0)?.and_then(|count| usize::try_from(count).ok()) else {
        return Ok(at_run_time("the number of axes"));
    };
    match op.by_scales() {
        true => inputs.insert(1, p.ints(&vec![1; count])?),
        false => inputs.insert(2, p.constant(Tensor::from_vec(&[count], vec![1f32; count])?)?),
    }
    let earlier = Op::Interpolate(Box::new(Interpolate { since: Since(4), ..*op }));
    p.add_op_of(Version::Opset(4), earlier, &inputs, 1).map(RewriteResult::many)
}

/// Pad-1 has no negative pads, so they become slices of the data.
fn pad(p: &mut Patch) -> Result<RewriteResult> {
    if !matches!(p.node().op(), Op::Pad(_)) || !is_of(p, 12) {
        return Ok(RewriteResult::NoMatch);
    }
    if !may_be_negative(p, 1)? && !may_be_negative(p, 2)? {
        return Ok(RewriteResult::NoMatch);
    }
    let op = p.node().op().clone();
    let mut inputs = all_inputs(p)?;
    let rank = p.rank(inputs[0])?;
    let axes: Vec<i64> = (0..rank as i64).collect();
    let start = signed(p, 1, |pad| pad.min(0).saturating_neg(), |p, pads| p.negative(p.minimum(pads, 0)?))?;
    let stop = match known(p, 2)? {
        Some(ends) => {
            let stop = |end: i64| if end < 0 { end } else { i64::MAX };
            p.ints(&ends.into_iter().map(stop).collect::<Vec<_>>())?
        }
        None => {
            let ends = p.convert(inputs[2], ElementType::I64)?;
            p.add(p.shape_of(inputs[0])?, p.minimum(ends, 0)?)?
        }
    };
    let (steps, axes) = (p.ints(&vec![1; rank])?, p.ints(&axes)?);
    inputs[0] = p.add_op(Slice8, &[inputs[0], start, stop, steps, axes])?;
    for (i, input) in inputs.iter_mut().enumerate().take(3).skip(1) {
        *input = signed(p, i, |pad| pad.max(0), |p, pads| p.maximum(pads, 0))?;
    }
    p.add_op_of(Version::Opset(1), op, &inputs, 1).map(RewriteResult::many)
}

/// A function of the pads in input `i`, as a constant if they are known.
fn signed(
    p: &Patch,
    i: usize,
    of_known: fn(i64) -> i64,
    of_unknown: fn(&Patch, Value) -> Result<Value>,
) -> Result<Value> {
    match known(p, i)? {
        Some(pads) => p.ints(&pads.into_iter().map(of_known).collect::<Vec<_>>()),
        None => of_unknown(p, p.convert(p.input(i)?, ElementType::I64)?),
    }
}
