//! How the dims of what an operation takes and gives belong together: those of one factor are spread alike. The factors
//! are those of Shardy's rules.

use super::elementwise::is_elementwise;
use super::factors::{FactorKind, Rule};
use super::program::{Operation, Program};
use super::reshape;

/// The rule of an operation; `None` where there is none here.
pub(super) fn of(program: &Program, operation: &Operation) -> Option<Rule> {
    let dims = |values: &[usize]| -> Vec<&[usize]> {
        values.iter().map(|&value| program.values[value].dims.as_slice()).collect()
    };
    let (operands, results) = (dims(&operation.operands), dims(&operation.results));
    let [result] = results.as_slice() else { return None };
    let op = operation.op.as_str();
    match (op, operands.as_slice()) {
        ("constant" | "iota", _) => Some(Rule::default()),
        (op, operands) if is_elementwise(op) => Some(pointwise(operands, result)),
        ("broadcast_in_dim", &[x]) => broadcast(x, result, &operation.list("dims")?),
        ("concatenate", operands) => {
            let axis = operation.number("dimension")?;
            Some(side_by_side(operands, result, |dim| dim == axis))
        }
        ("dot_general", &[a, b]) => {
            let batch = operation.lists("batching_dims").unwrap_or_default();
            product(a, b, &batch, &operation.lists("contracting_dims")?)
        }
        ("gather", &[data, indices]) => gather(data, indices, result, operation),
        ("reduce", &[x, _]) => Some(reduction(x, &operation.list("dimensions")?)),
        ("reshape", &[x]) => reshape::rule(x, result),
        ("reverse", &[x]) => {
            let axes = operation.list("dims")?;
            Some(side_by_side(&[x], result, |dim| axes.contains(&dim)))
        }
        ("slice", &[x]) => Some(side_by_side(&[x], result, |dim| x.get(dim) != result.get(dim))),
        ("pad", &[x, _]) => Some(side_by_side(&[x], result, |dim| x.get(dim) != result.get(dim))),
        ("dynamic_slice", &[x, ..]) => Some(kept(&[x], result, 1 + operation.operands.len() - 1)),
        ("transpose", &[x]) => {
            let order = operation.list("dims")?;
            let mut rule = Rule::default();
            for (to, &from) in order.iter().enumerate() {
                rule.add(*x.get(from)?, FactorKind::PassThrough, [(0, from), (1, to)]);
            }
            Some(rule)
        }
        _ => None,
    }
}

/// Scalars among the operands have no dims to spread.
fn pointwise(operands: &[&[usize]], result: &[usize]) -> Rule {
    let mut rule = Rule::default();
    for (dim, &size) in result.iter().enumerate() {
        let own = operands.iter().enumerate().filter(|(_, operand)| operand.len() == result.len());
        let places: Vec<(usize, usize)> =
            own.map(|(at, _)| (at, dim)).chain([(operands.len(), dim)]).collect();
        rule.add(size, FactorKind::PassThrough, places);
    }
    rule
}

/// As [`pointwise`], but along some dims parts move.
fn side_by_side(operands: &[&[usize]], result: &[usize], moves: impl Fn(usize) -> bool) -> Rule {
    let mut rule = pointwise(operands, result);
    for (dim, factor) in rule.factors.iter_mut().enumerate().filter(|(dim, _)| moves(*dim)) {
        factor.kind = FactorKind::Permutation;
        factor.size =
            operands.iter().filter_map(|operand| operand.get(dim)).fold(factor.size, |a, &b| a.max(b));
    }
    rule
}

/// As [`pointwise`] in dims of equal size; others belong to nothing.
fn kept(operands: &[&[usize]], result: &[usize], result_place: usize) -> Rule {
    let mut rule = Rule::default();
    for (dim, &size) in result.iter().enumerate() {
        match operands.first().and_then(|x| x.get(dim)) {
            Some(&own) if own == size => {
                rule.add(size, FactorKind::PassThrough, [(0, dim), (result_place, dim)])
            }
            Some(&own) => rule.add(own, FactorKind::Permutation, [(0, dim)]),
            None => {}
        }
    }
    rule
}

fn broadcast(x: &[usize], result: &[usize], axes: &[usize]) -> Option<Rule> {
    let mut rule = Rule::default();
    for (to, &size) in result.iter().enumerate() {
        match axes.iter().position(|&axis| axis == to) {
            Some(from) if *x.get(from)? == size => {
                rule.add(size, FactorKind::PassThrough, [(0, from), (1, to)])
            }
            _ => rule.add(size, FactorKind::PassThrough, [(1, to)]),
        }
    }
    Some(rule)
}

fn product(a: &[usize], b: &[usize], batch: &[Vec<usize>; 2], shared: &[Vec<usize>; 2]) -> Option<Rule> {
    let mut rule = Rule::default();
    let mut out = 0..;
    for (&i, &j) in batch[0].iter().zip(&batch[1]) {
        rule.add(*a.get(i)?, FactorKind::PassThrough, [(0, i), (1, j), (2, out.next()?)]);
    }
    for (side, dims) in [a, b].into_iter().enumerate() {
        for (dim, &size) in dims.iter().enumerate() {
            if !batch[side].contains(&dim) && !shared[side].contains(&dim) {
                rule.add(size, FactorKind::PassThrough, [(side, dim), (2, out.next()?)]);
            }
        }
    }
    for (&i, &j) in shared[0].iter().zip(&shared[1]) {
        rule.add(*a.get(i)?, FactorKind::Reduction, [(0, i), (1, j)]);
    }
    Some(rule)
}

fn reduction(x: &[usize], axes: &[usize]) -> Rule {
    let mut rule = Rule::default();
    let mut out = 0;
    for (dim, &size) in x.iter().enumerate() {
        if axes.contains(&dim) {
            rule.add(size, FactorKind::Reduction, [(0, dim)]);
        } else {
            rule.add(size, FactorKind::PassThrough, [(0, dim), (2, out)]);
            out += 1;
        }
    }
    rule
}

fn gather(data: &[usize], indices: &[usize], result: &[usize], operation: &Operation) -> Option<Rule> {
    let offset = operation.list("offset_dims")?;
    let collapsed = operation.list("collapsed_slice_dims")?;
    let entries = operation.number("index_vector_dim")?;
    let mut window = (0..data.len()).filter(|dim| !collapsed.contains(dim));
    let mut places = (0..indices.len()).filter(|&dim| dim != entries);
    let mut rule = Rule::default();
    for (to, &size) in result.iter().enumerate() {
        if !offset.contains(&to) {
            rule.add(size, FactorKind::PassThrough, [(1, places.next()?), (2, to)]);
            continue;
        }
        let from = window.next()?;
        match *data.get(from)? {
            own if own == size => rule.add(size, FactorKind::PassThrough, [(0, from), (2, to)]),
            own => {
                rule.add(own, FactorKind::Permutation, [(0, from)]);
                rule.add(size, FactorKind::Permutation, [(2, to)]);
            }
        }
    }
    for dim in collapsed {
        rule.add(*data.get(dim)?, FactorKind::Lookup, [(0, dim)]);
    }
    Some(rule)
}
