//! Shards the values that have no sharding yet. Like Shardy, propagates shardings from operands to results
//! and back, first through operations that do not change elements.
//!
//! Shardings propagate through the factors of an operation. A factor is sharded over the sub-axes of the mesh
//! on which all tensors with this factor agree, except sub-axes that shard another factor of the same tensor.
//! Propagation continues until no sharding changes.

use std::collections::BTreeSet;

use snick_ir::FactorKind;

use super::devices::{Devices, Spread};
use super::factors::Rule;
use super::program::Program;
use crate::stablehlo::hlo::OpKind;

/// The direction in which shardings propagate through an operation: from operands to results (forward), from
/// results to operands (backward), or both.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Direction {
    Neither,
    Forward,
    Backward,
    Both,
}

/// The rule of an operation, and the factors of each dim of its tensors.
pub(super) struct Shape {
    pub(super) rule: Rule,
    /// The factors, by tensor (operands first) and dim.
    pub(super) dims: Vec<Vec<Vec<usize>>>,
}

/// The sharding of a tensor in terms of an operation's factors.
pub(super) struct Projected {
    /// For each factor, the sub-axes over which it is sharded.
    pub(super) parts: Vec<Vec<usize>>,
    /// The remaining sub-axes, which could not be assigned to a factor.
    pub(super) rest: Vec<usize>,
    /// For each factor, whether it cannot be sharded further, because the size of the next sub-axis of the
    /// dim does not divide the remaining size of the factor.
    cut: Vec<bool>,
}

/// Assigns the sub-axes of each dim to the factors of this dim, outermost first. A factor takes sub-axes as
/// long as their product divides its size; the innermost factor takes all that are left.
pub(super) fn project(shape: &Shape, tensor: usize, spread: &Spread, devices: &Devices) -> Projected {
    let count = shape.rule.factors.len();
    let mut projected =
        Projected { parts: vec![Vec::new(); count], rest: Vec::new(), cut: vec![false; count] };
    for (factors, parts) in shape.dims[tensor].iter().zip(spread) {
        let mut left = parts.iter().copied().peekable();
        for (at, &factor) in factors.iter().enumerate() {
            let size = shape.rule.factors[factor].size;
            let is_last = at + 1 == factors.len();
            let mut taken = 1;
            while let Some(part) =
                left.next_if(|&part| is_last || size.is_multiple_of(taken * devices.count(&[part])))
            {
                taken *= devices.count(&[part]);
                projected.parts[factor].push(part);
            }
            if left.peek().is_some() && taken != size {
                projected.cut[factor] = true;
                break;
            }
        }
        projected.rest.extend(left);
    }
    projected
}

/// The sharding of a tensor, given the sub-axes over which each factor is sharded. A dim cannot be sharded
/// beyond its first factor that is not fully sharded.
pub(super) fn joined(shape: &Shape, tensor: usize, parts: &[Vec<usize>], devices: &Devices) -> Spread {
    let of_dim = |factors: &Vec<usize>| {
        let mut all = Vec::new();
        for &factor in factors {
            all.extend(&parts[factor]);
            if devices.count(&parts[factor]) != shape.rule.factors[factor].size {
                break;
            }
        }
        all
    };
    shape.dims[tensor].iter().map(of_dim).collect()
}

/// The shardings that are known so far.
pub(super) struct Placement<'p> {
    pub(super) program: &'p Program,
    pub(super) devices: &'p Devices,
    pub(super) shapes: &'p [Option<Shape>],
    /// The sharding of each value.
    pub(super) spreads: Vec<Spread>,
    /// For each value, whether the user fixed its sharding.
    pub(super) closed: Vec<bool>,
}

impl Placement<'_> {
    /// Shards all values, in three rounds; see [`direction`].
    pub(super) fn propagate(&mut self) {
        for round in 0..3 {
            let is_spread = |value: &usize| self.spreads[*value].iter().any(|parts| !parts.is_empty());
            let touched = |at: &usize| {
                let op = &self.program.body().ops[*at];
                op.operands.iter().chain(&op.results).any(is_spread)
            };
            let mut open: BTreeSet<usize> = (0..self.program.body().ops.len()).filter(touched).collect();
            while let Some(at) = open.pop_first() {
                for value in self.update(at, round) {
                    open.extend(&self.program.touching[value]);
                }
            }
        }
    }

    /// Propagates through one operation. Returns the values that were sharded further.
    fn update(&mut self, at: usize, round: usize) -> Vec<usize> {
        let op = &self.program.body().ops[at];
        let Some(shape) = self.shapes[at].as_ref().filter(|_| !self.program.is_constant(op)) else {
            return vec![];
        };
        let values: Vec<usize> = op.operands.iter().chain(&op.results).copied().collect();
        let takes_part: Vec<bool> = values.iter().map(|&value| !self.program.constant[value]).collect();
        let projected: Vec<Projected> = (values.iter().enumerate())
            .map(|(tensor, &value)| project(shape, tensor, &self.spreads[value], self.devices))
            .collect();
        let operands = op.operands.len();
        let mut agreed: Vec<Vec<usize>> = (0..shape.rule.factors.len())
            .map(|factor| match direction(&op.kind, shape.rule.factors[factor].kind, round) {
                Direction::Neither => Vec::new(),
                way => agree(shape, factor, way, operands, &projected, &takes_part),
            })
            .collect();
        for (tensor, own) in projected.iter().enumerate().filter(|(tensor, _)| takes_part[*tensor]) {
            let closed = self.closed[values[tensor]];
            for factors in &shape.dims[tensor] {
                for (at, &factor) in factors.iter().enumerate() {
                    let is_last = at + 1 == factors.len();
                    let size = shape.rule.factors[factor].size;
                    let fits = |position: usize, parts: &[usize]| {
                        own.parts[factor].get(position) == parts.get(position)
                            || (!closed
                                && !own.cut[factor]
                                && (is_last || size.is_multiple_of(self.devices.count(&parts[..=position]))))
                    };
                    let end = (0..agreed[factor].len()).find(|&position| !fits(position, &agreed[factor]));
                    if let Some(end) = end {
                        agreed[factor].truncate(end);
                    }
                }
            }
        }
        let snapshot = agreed.clone();
        for (tensor, own) in projected.iter().enumerate().filter(|(tensor, _)| takes_part[*tensor]) {
            let factors: Vec<usize> = shape.dims[tensor].iter().flatten().copied().collect();
            for &factor in &factors {
                let others = || factors.iter().filter(|&&other| other != factor);
                let is_taken = |part: &usize| {
                    own.rest.contains(part)
                        || others()
                            .any(|&other| own.parts[other].contains(part) || snapshot[other].contains(part))
                };
                if let Some(end) = agreed[factor].iter().position(is_taken) {
                    agreed[factor].truncate(end);
                }
            }
        }
        let mut changed = Vec::new();
        for (tensor, &value) in values.iter().enumerate().filter(|(tensor, _)| takes_part[*tensor]) {
            let mut parts = projected[tensor].parts.clone();
            let mut grows = false;
            for &factor in shape.dims[tensor].iter().flatten() {
                if agreed[factor].len() > parts[factor].len() && agreed[factor].starts_with(&parts[factor]) {
                    parts[factor].clone_from(&agreed[factor]);
                    grows = true;
                }
            }
            if !grows || self.closed[value] || !projected[tensor].rest.is_empty() {
                continue;
            }
            let spread = joined(shape, tensor, &parts, self.devices);
            let size = |spread: &Spread| spread.iter().map(Vec::len).sum::<usize>();
            if size(&spread) > size(&self.spreads[value]) {
                self.spreads[value] = spread;
                changed.push(value);
            }
        }
        changed
    }
}

/// The direction of propagation in a round. Round 0 covers reshapes, transposes, element-wise operations and
/// dynamic slices (forward only). Round 1 adds broadcasts (backward only) and all factors of the kinds
/// `PassThrough` and `Lookup`. Round 2 covers all factors.
fn direction(op: &OpKind, factor: FactorKind, round: usize) -> Direction {
    let passes = factor == FactorKind::PassThrough || factor == FactorKind::Lookup;
    match op {
        OpKind::Reshape | OpKind::Transpose(_) => Direction::Both,
        _ if round >= 2 || op.is_elementwise() => Direction::Both,
        OpKind::BroadcastInDim(_) if round == 1 => Direction::Backward,
        _ if round == 1 && passes => Direction::Both,
        OpKind::DynamicSlice(_) | OpKind::DynamicUpdateSlice => Direction::Forward,
        _ => Direction::Neither,
    }
}

/// The sub-axes on which all tensors with a factor agree. Tensors on the side that shardings propagate to
/// contribute no sub-axes, but a conflict with their sharding limits the result.
fn agree(
    shape: &Shape,
    factor: usize,
    way: Direction,
    operands: usize,
    projected: &[Projected],
    takes_part: &[bool],
) -> Vec<usize> {
    let mut tensors: Vec<usize> = (0..projected.len()).collect();
    if way == Direction::Backward {
        tensors.rotate_left(operands);
    }
    let mut agreed: Vec<usize> = Vec::new();
    let mut grows = true;
    for tensor in tensors {
        let has = takes_part[tensor] && shape.dims[tensor].iter().flatten().any(|&own| own == factor);
        if !has {
            continue;
        }
        let is_far = match way {
            Direction::Forward => tensor >= operands,
            Direction::Backward => tensor < operands,
            Direction::Both | Direction::Neither => false,
        };
        let own = &projected[tensor].parts[factor];
        let shared = agreed.iter().zip(own).take_while(|(a, b)| a == b).count();
        if shared < agreed.len().min(own.len()) {
            agreed.truncate(shared);
            grows = false;
        } else if grows && !is_far && own.len() > agreed.len() {
            agreed.clone_from(own);
        }
    }
    agreed
}
