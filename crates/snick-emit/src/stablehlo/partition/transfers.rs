//! The data that devices exchange after all values are sharded.

use std::collections::HashSet;

use snick_ir::FactorKind;

use super::devices::{Devices, Spread};
use super::factors::Rule;
use super::halo::Slice;
use super::program::Program;
use super::propagate::{Placement, Projected, Shape, joined, project};
use super::{Collective, Transfer, Unplanned};
use crate::stablehlo::hlo::OpKind;

/// The collectives of all operations, and the operations with unknown traffic.
pub(super) fn of(placement: &Placement, is_used: &[bool]) -> (Vec<Transfer>, Vec<Unplanned>) {
    let (mut transfers, mut unplanned) = (Vec::new(), Vec::new());
    // Values that were already resharded, so that later operations can reuse the copy.
    let mut moved = HashSet::new();
    for (at, op) in placement.program.body().ops.iter().enumerate() {
        let Some(&value) = op.results.first() else { continue };
        if placement.program.is_constant(op) || !is_used[at] {
            continue;
        }
        let name = || placement.program.name(value).to_string();
        let operation = || op.kind.name().to_string();
        match of_operation(placement, at, &mut moved) {
            Ok(own) => transfers.extend(own.into_iter().map(|(collective, devices, bytes)| Transfer {
                value: name(),
                operation: operation(),
                collective,
                devices,
                bytes,
            })),
            Err(reason) => {
                unplanned.push(Unplanned { value: name(), operation: operation(), reason });
            }
        }
    }
    for &value in &placement.program.body().results {
        let whole = placement.devices.whole_axes(&placement.spreads[value]);
        let step = transition(placement.program, value, &placement.spreads[value], &whole, placement.devices);
        if let Ok(Some((collective, devices, bytes))) = step {
            let value = placement.program.name(value).to_string();
            transfers.push(Transfer { value, operation: "return".into(), collective, devices, bytes });
        }
    }
    (transfers, unplanned)
}

/// A collective, the number of devices that exchange data, and the bytes that each of them sends.
type Step = (Collective, usize, u64);

fn of_operation(
    placement: &Placement,
    at: usize,
    moved: &mut HashSet<(usize, Spread)>,
) -> Result<Vec<Step>, String> {
    let (program, devices) = (placement.program, placement.devices);
    let op = &program.body().ops[at];
    let values: Vec<usize> = op.operands.iter().chain(&op.results).copied().collect();
    let is_spread =
        |value: usize| !program.constant[value] && placement.spreads[value].iter().any(|p| !p.is_empty());
    if !values.iter().any(|&value| is_spread(value)) {
        return Ok(vec![]);
    }
    let Some(shape) = &placement.shapes[at] else {
        return Err("it is not known how this operation is spread".into());
    };
    let uneven = |&value: &usize| {
        let dims = program.dims[value].iter().zip(&placement.spreads[value]);
        dims.map(|(&size, parts)| (size, devices.count(parts)))
            .find(|(size, count)| !size.is_multiple_of(*count))
    };
    if let Some((size, count)) = values.iter().find_map(uneven) {
        return Err(format!("a dim of {size} is spread over {count} devices, which do not divide it"));
    }
    let parts = computed_as(placement, shape, &values, op.operands.len())?;
    let mut steps = Vec::new();
    for (tensor, &value) in op.operands.iter().enumerate().filter(|(_, value)| !program.constant[**value]) {
        let want = joined(shape, tensor, &parts, devices);
        let step = transition(program, value, &placement.spreads[value], &want, devices)?;
        steps.extend(step.filter(|_| moved.insert((value, want))));
    }
    steps.extend(sliced(placement, at, &parts, shape)?);
    let summed: Vec<usize> = (shape.rule.factors.iter().zip(&parts))
        .filter(|(factor, _)| matches!(factor.kind, FactorKind::Reduction | FactorKind::Lookup))
        .flat_map(|(_, parts)| parts.iter().copied())
        .collect();
    let group = devices.count(&summed);
    if group > 1 {
        for &value in &op.results {
            let bytes = local_bytes(program, value, &placement.spreads[value], devices);
            steps.push((Collective::AllReduce, group, bytes * 2 * (group as u64 - 1) / group as u64));
        }
    }
    Ok(steps)
}

/// For each factor, the mesh sub-axes over which the computation is sharded. They come from the sharding of
/// the result or, for a factor of kind `Reduction` or `Lookup`, from the operand with the most sub-axes.
fn computed_as(
    placement: &Placement,
    shape: &Shape,
    values: &[usize],
    operands: usize,
) -> Result<Vec<Vec<usize>>, String> {
    let projected: Vec<_> = (values.iter().enumerate())
        .map(|(tensor, &value)| project(shape, tensor, &placement.spreads[value], placement.devices))
        .collect();
    if projected
        .iter()
        .zip(values)
        .any(|(own, &value)| !own.rest.is_empty() && !placement.program.constant[value])
    {
        return Err("a dim is spread further than the part of it that stays together".into());
    }
    let has = |rule: &Rule, tensor: usize, factor: usize| {
        rule.factors[factor].places.iter().any(|(own, _)| *own == tensor)
    };
    let results = operands..values.len();
    let mut parts = vec![Vec::new(); shape.rule.factors.len()];
    for (factor, parts) in parts.iter_mut().enumerate() {
        if let Some(result) = results.clone().find(|&tensor| has(&shape.rule, tensor, factor)) {
            parts.clone_from(&projected[result].parts[factor]);
        }
    }
    let taken: Vec<usize> = parts.iter().flatten().copied().collect();
    for (factor, own) in shape.rule.factors.iter().enumerate() {
        let of_operands = || {
            let tensors = (0..operands).filter(|&tensor| !placement.program.constant[values[tensor]]);
            tensors
                .filter(|&tensor| has(&shape.rule, tensor, factor))
                .map(|tensor| &projected[tensor].parts[factor])
        };
        match own.kind {
            FactorKind::Permutation if is_sliced(placement, shape, values, factor) => {}
            FactorKind::Permutation if of_operands().any(|parts| !parts.is_empty()) => {
                return Err("parts of it move along a dim that is spread".into());
            }
            FactorKind::Reduction | FactorKind::Lookup => {
                let is_shared = of_operands().count() > 1 && of_operands().all(|parts| !parts.is_empty());
                if is_shared && of_operands().flatten().any(|part| taken.contains(part)) {
                    return Err(
                        "its result is to be spread over the axis that its operands are summed along".into(),
                    );
                }
                let longest = of_operands().max_by_key(|parts| parts.len());
                let free = longest.into_iter().flatten().take_while(|part| !taken.contains(part));
                let free: Vec<usize> = free.copied().collect();
                if !gathers_instead(placement, shape, &projected, values, factor, &free) {
                    parts[factor] = free;
                }
            }
            _ => {}
        }
    }
    Ok(parts)
}

/// Whether an operation is a slice whose operand and result are sharded in the same way along a factor.
fn is_sliced(placement: &Placement, shape: &Shape, values: &[usize], factor: usize) -> bool {
    let &[x, y] = values else { return false };
    shape.rule.factors[factor]
        .places
        .iter()
        .all(|&(_, dim)| placement.spreads[x].get(dim) == placement.spreads[y].get(dim))
}

/// The collective permutes for a slice along a sharded dim.
fn sliced(
    placement: &Placement,
    at: usize,
    parts: &[Vec<usize>],
    shape: &Shape,
) -> Result<Option<Step>, String> {
    let (program, op) = (placement.program, &placement.program.body().ops[at]);
    let mut moving = shape
        .rule
        .factors
        .iter()
        .zip(parts)
        .filter(|(factor, parts)| factor.kind == FactorKind::Permutation && !parts.is_empty());
    let Some((factor, parts)) = moving.next() else { return Ok(None) };
    let refused = || Err("parts of it move along a dim that is spread".to_string());
    let (OpKind::Slice(ranges), &[x], &[y], None) =
        (&op.kind, op.operands.as_slice(), op.results.as_slice(), moving.next())
    else {
        return refused();
    };
    let Some(&(_, dim)) = factor.places.first() else { return refused() };
    let Some(&[start, _, 1]) = ranges.get(dim) else { return refused() };
    let [from, to] = [x, y].map(|value| program.dims[value][dim]);
    let devices = placement.devices.count(parts);
    let slice = Slice { devices, from: from / devices, to: to / devices, start };
    let width: usize = slice.widths().iter().sum();
    let own = local_bytes(program, y, &placement.spreads[y], placement.devices);
    let bytes = own / (slice.to.max(1) as u64) * width as u64;
    Ok((width > 0).then_some((Collective::CollectivePermute, devices, bytes)))
}

/// Whether to gather an operand of a contraction instead of all-reducing the result. This is better if only
/// one operand is sharded along the contracted dim, and this operand is not larger than the result.
fn gathers_instead(
    placement: &Placement,
    shape: &Shape,
    projected: &[Projected],
    values: &[usize],
    factor: usize,
    parts: &[usize],
) -> bool {
    let places = &shape.rule.factors[factor].places;
    let is_spread = |tensor: usize| {
        !placement.program.constant[values[tensor]] && projected[tensor].parts[factor].starts_with(parts)
    };
    let (&[(a, _), (b, _)], Some(&result)) = (places.as_slice(), values.last()) else { return false };
    let spread = match (is_spread(a), is_spread(b)) {
        _ if parts.is_empty() => return false,
        (true, false) => a,
        (false, true) => b,
        _ => return false,
    };
    let bytes =
        |value: usize, spread: &Spread| local_bytes(placement.program, value, spread, placement.devices);
    let mut gathered = placement.spreads[values[spread]].clone();
    gathered.iter_mut().for_each(|own| own.retain(|part| !parts.contains(part)));
    bytes(values[spread], &gathered) <= bytes(result, &placement.spreads[result])
}

pub(super) fn local_bytes(program: &Program, value: usize, spread: &Spread, devices: &Devices) -> u64 {
    program.bytes_of(value, devices.elements(&program.dims[value], spread))
}

/// The step that reshards a value; `None` if the value is only sharded further, which needs no transfer.
fn transition(
    program: &Program,
    value: usize,
    own: &Spread,
    want: &Spread,
    devices: &Devices,
) -> Result<Option<Step>, String> {
    let (mut lost, mut gained) = (Vec::new(), Vec::new());
    for (own, want) in own.iter().zip(want) {
        let shared = own.iter().zip(want).take_while(|(a, b)| a == b).count();
        lost.extend(&own[shared..]);
        gained.extend(&want[shared..]);
    }
    if lost.is_empty() {
        return Ok(None);
    }
    let group = devices.count(&lost) as u64;
    let sent = |spread: &Spread| local_bytes(program, value, spread, devices) * (group - 1) / group;
    let is_exchange = lost.len() == gained.len() && lost.iter().all(|part| gained.contains(part));
    if is_exchange {
        return Ok(Some((Collective::AllToAll, group as usize, sent(want))));
    }
    if lost.iter().any(|part| gained.contains(part)) {
        return Err("its operand is placed in another way, by more than one step".into());
    }
    // If `want` has additional sub-axes, the value is first sharded over them, so that less has to be
    // gathered.
    Ok(Some((Collective::AllGather, group as usize, sent(want))))
}
