//! Which dims of the operands and the result of an operation correspond. As in the rules of Shardy,
//! corresponding dims form a factor and are sharded in the same way.

use snick_ir::{AxisMap, FactorKind};

use super::elementwise::is_elementwise;
use super::factors::Rule;
use super::program::{Operation, Program};
use super::reshape;

/// The rule of an operation; `None` if it is unknown.
pub(super) fn of(program: &Program, operation: &Operation) -> Option<Rule> {
    let tensors: Vec<&[usize]> = (operation.operands.iter().chain(&operation.results))
        .map(|&value| program.values[value].dims.as_slice())
        .collect();
    let (result, operands) = tensors.split_last().filter(|_| operation.results.len() == 1)?;
    if let ("reshape", &[x]) = (operation.op.as_str(), operands) {
        return reshape::rule(x, result);
    }
    axis_map(operation, operands, result).map(|map| Rule::sized(map, &tensors))
}

fn axis_map(operation: &Operation, operands: &[&[usize]], result: &[usize]) -> Option<AxisMap> {
    // Scalars have no dims. If a dim is sliced or concatenated, its shards have to move.
    let aligned = || AxisMap::aligned(operands, result, |_| false);
    match (operation.op.as_str(), operands) {
        ("constant" | "iota", _) => Some(AxisMap::default()),
        (op, _) if is_elementwise(op) => Some(aligned()),
        ("concatenate" | "slice" | "pad", _) => Some(aligned()),
        ("broadcast_in_dim", &[x]) => broadcast(x, result, &operation.list("dims")?),
        ("dot_general", &[a, b]) => {
            let batch = operation.lists("batching_dims").unwrap_or_default();
            Some(product([a.len(), b.len()], &batch, &operation.lists("contracting_dims")?))
        }
        ("gather", &[data, indices]) => gather(data, indices, result, operation),
        ("reduce", &[x, _]) => {
            let axes = operation.list("dimensions")?;
            Some(AxisMap::reduction(x.len(), |dim| axes.contains(&dim), false))
        }
        ("reverse", &[x]) => {
            let axes = operation.list("dims")?;
            Some(AxisMap::rows(x.len(), |dim| axes.contains(&dim)))
        }
        ("dynamic_slice", &[x, ..]) => {
            let mut map = AxisMap::default();
            (0..x.len()).for_each(|dim| window(&mut map, x, dim, result, dim));
            Some(map)
        }
        ("transpose", _) => Some(AxisMap::transpose(operation.list("dims")?)),
        _ => None,
    }
}

/// Maps a dim of operand 0. The result may have only a part of this dim, at an unknown position.
fn window(map: &mut AxisMap, x: &[usize], from: usize, result: &[usize], to: usize) {
    if x.get(from) == result.get(to) {
        map.add(FactorKind::PassThrough, [(0, from)], Some(to));
    } else {
        map.add(FactorKind::Permutation, [(0, from)], None);
        map.add(FactorKind::Permutation, [], Some(to));
    }
}

fn broadcast(x: &[usize], result: &[usize], axes: &[usize]) -> Option<AxisMap> {
    let mut map = AxisMap::default();
    for (to, size) in result.iter().enumerate() {
        let from = axes.iter().position(|&axis| axis == to).filter(|&from| x.get(from) == Some(size));
        map.add(FactorKind::PassThrough, from.map(|from| (0, from)), Some(to));
    }
    Some(map)
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

fn gather(data: &[usize], indices: &[usize], result: &[usize], operation: &Operation) -> Option<AxisMap> {
    let offset = operation.list("offset_dims")?;
    let collapsed = operation.list("collapsed_slice_dims")?;
    let entries = operation.number("index_vector_dim")?;
    let mut windows = (0..data.len()).filter(|dim| !collapsed.contains(dim));
    let mut places = (0..indices.len()).filter(|&dim| dim != entries);
    let mut map = AxisMap::default();
    for to in 0..result.len() {
        match offset.contains(&to) {
            false => map.add(FactorKind::PassThrough, [(1, places.next()?)], Some(to)),
            true => window(&mut map, data, windows.next()?, result, to),
        }
    }
    collapsed.into_iter().for_each(|dim| map.add(FactorKind::Lookup, [(0, dim)], None));
    Some(map)
}
