//! The rule of an operation lists the dims of its operands and its result that correspond to each other. As
//! in Shardy, corresponding dims form a factor and are sharded in the same way.

use snick_ir::{AxisMap, FactorKind};

use super::factors::Rule;
use super::program::Program;
use super::reshape;
use crate::stablehlo::hlo::{Gather, Op, OpKind};

/// The rule of an operation, if it is known.
pub(super) fn of(program: &Program, op: &Op) -> Option<Rule> {
    let tensors: Vec<&[usize]> =
        op.operands.iter().chain(&op.results).map(|&value| program.dims[value].as_slice()).collect();
    let (result, operands) = tensors.split_last().filter(|_| op.results.len() == 1)?;
    if let (OpKind::Reshape, &[x]) = (&op.kind, operands) {
        return reshape::rule(x, result);
    }
    axis_map(&op.kind, operands, result).map(|map| Rule::sized(map, &tensors))
}

fn axis_map(kind: &OpKind, operands: &[&[usize]], result: &[usize]) -> Option<AxisMap> {
    // Dims correspond by index; scalar operands have no dims. Sliced, padded and concatenated dims correspond
    // too, although elements may move between devices.
    let aligned = || AxisMap::aligned(operands, result, |_| false);
    match (kind, operands) {
        (OpKind::Constant(_) | OpKind::Iota(_), _) => Some(AxisMap::default()),
        (OpKind::Slice(_), _) => Some(aligned()),
        (OpKind::Pad { .. } | OpKind::Concatenate(_), _) => Some(aligned()),
        (kind, _) if kind.is_elementwise() => Some(aligned()),
        (OpKind::BroadcastInDim(axes), &[x]) => Some(broadcast(x, result, axes)),
        (OpKind::DotGeneral { batch, contracting, .. }, &[a, b]) => {
            Some(product([a.len(), b.len()], batch, contracting))
        }
        (OpKind::Gather(numbers), &[data, indices]) => gather(data, indices, result, numbers),
        (OpKind::Reduce { axes, .. }, &[x, _]) => {
            Some(AxisMap::reduction(x.len(), |dim| axes.contains(&dim), false))
        }
        (OpKind::Reverse(axes), &[x]) => Some(AxisMap::rows(x.len(), |dim| axes.contains(&dim))),
        (OpKind::DynamicSlice(_), &[x, ..]) => {
            let mut map = AxisMap::default();
            (0..x.len()).for_each(|dim| window(&mut map, x, dim, result, dim));
            Some(map)
        }
        (OpKind::Transpose(order), _) => Some(AxisMap::transpose(order.clone())),
        _ => None,
    }
}

/// Maps dim `from` of operand 0 to dim `to` of the result. If the sizes differ, the result dim is a part of
/// the operand dim at an unknown position, so elements may move between devices.
fn window(map: &mut AxisMap, x: &[usize], from: usize, result: &[usize], to: usize) {
    if x.get(from) == result.get(to) {
        map.add(FactorKind::PassThrough, [(0, from)], Some(to));
    } else {
        map.add(FactorKind::Permutation, [(0, from)], None);
        map.add(FactorKind::Permutation, [], Some(to));
    }
}

fn broadcast(x: &[usize], result: &[usize], axes: &[usize]) -> AxisMap {
    let mut map = AxisMap::default();
    for (to, size) in result.iter().enumerate() {
        let from = axes.iter().position(|&axis| axis == to).filter(|&from| x.get(from) == Some(size));
        map.add(FactorKind::PassThrough, from.map(|from| (0, from)), Some(to));
    }
    map
}

fn product(ranks: [usize; 2], batch: &[Vec<usize>; 2], summed: &[Vec<usize>; 2]) -> AxisMap {
    let mut map = AxisMap::default();
    for (to, (&a, &b)) in batch[0].iter().zip(&batch[1]).enumerate() {
        map.add(FactorKind::PassThrough, [(0, a), (1, b)], Some(to));
    }
    let own = |side: usize| {
        (0..ranks[side]).filter(move |dim| !batch[side].contains(dim) && !summed[side].contains(dim))
    };
    map.product([own(0), own(1)], summed[0].iter().copied().zip(summed[1].iter().copied()))
}

fn gather(data: &[usize], indices: &[usize], result: &[usize], numbers: &Gather) -> Option<AxisMap> {
    let Gather { offset, collapsed, .. } = numbers;
    let mut windows = (0..data.len()).filter(|dim| !collapsed.contains(dim));
    // The last axis of the indices holds the index vectors.
    let mut places = 0..indices.len().saturating_sub(1);
    let mut map = AxisMap::default();
    for to in 0..result.len() {
        match offset.contains(&to) {
            false => map.add(FactorKind::PassThrough, [(1, places.next()?)], Some(to)),
            true => window(&mut map, data, windows.next()?, result, to),
        }
    }
    collapsed.iter().for_each(|&dim| map.add(FactorKind::Lookup, [(0, dim)], None));
    Some(map)
}
