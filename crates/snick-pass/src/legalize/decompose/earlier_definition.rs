//! Layers in the newest definition of an operation that a target reads.

use snick_ir::ops::Interpolate;
use snick_ir::ops::nn::interpolate::Mode;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Dialect, Op, Since, Version, earlier_definition, ops};
use snick_shape::Interval;
use snick_tensor::{ElementType, Tensor};

use super::helpers::{Result, all_inputs, at_run_time, known_size};

pub(crate) const RULE: Rule = Rule::exact("earlier-definition", earlier);
pub(crate) const INTERPOLATE: Rule = Rule::exact("earlier-interpolate", interpolate);
pub(crate) const PAD: Rule = Rule::exact("earlier-pad", pad);

/// Definitions that only add attributes: the previous one, if the attributes have their defaults.
fn earlier(p: &mut Patch) -> Result<RewriteResult> {
    match earlier_definition(p.node()) {
        Ok(Some((op, version))) => in_version(p, version, op),
        Ok(None) => Ok(RewriteResult::NoMatch),
        Err(error) => Ok(RewriteResult::declined(error.to_string())),
    }
}

fn in_version(p: &mut Patch, version: Version, op: Op) -> Result<RewriteResult> {
    let (inputs, count) = (all_inputs(p)?, p.node().outs().len());
    p.add_op_of(version, op, &inputs, count).map(RewriteResult::many)
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
    let op = p.node().op().clone();
    let Some(intervals) = [1, 2].into_iter().map(|i| intervals(p, i)).collect::<Result<Option<Vec<_>>>>()?
    else {
        return Ok(at_run_time("the pads"));
    };
    if intervals.iter().flatten().all(|pad| pad.lo() >= 0) {
        return in_version(p, Version::Opset(1), op);
    }
    let mut inputs = all_inputs(p)?;
    let constant = |pad: &Interval| (pad.lo() == pad.hi()).then_some(pad.lo());
    let Some(pads) =
        intervals.iter().map(|pads| pads.iter().map(constant).collect()).collect::<Option<Vec<Vec<i64>>>>()
    else {
        return Ok(at_run_time("the pads"));
    };
    for (axis, (&begin, &end)) in (0..).zip(pads[0].iter().zip(&pads[1])) {
        if begin < 0 || end < 0 {
            let stop = if end < 0 { end } else { i64::MAX };
            let start = begin.min(0).saturating_neg();
            inputs[0] = p.slice8(inputs[0], &[start], &[stop], &[1], &[axis])?;
        }
    }
    for (input, pads) in inputs[1..].iter_mut().zip(&pads) {
        let element_type = p.element_type(*input)?;
        let added = p.ints(&pads.iter().map(|&pad| pad.max(0)).collect::<Vec<_>>())?;
        *input = if element_type == ElementType::I64 { added } else { p.convert(added, element_type)? };
    }
    p.add_op_of(Version::Opset(1), op, &inputs, 1).map(RewriteResult::many)
}

/// The intervals of the integers in input `i`, if their number is known.
fn intervals(p: &Patch, i: usize) -> Result<Option<Vec<Interval>>> {
    let fact = p.fact(p.input(i)?)?;
    Ok(fact.elements().map(|elements| elements.iter().map(|element| p.interval(element)).collect()))
}
