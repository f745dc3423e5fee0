//! How the dims of what an operation takes and gives belong together: those of one factor are spread alike. The factors
//! are those of Shardy's rules.

use super::program::{Operation, Program};
use super::reshape;

/// What happens along a factor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum FactorKind {
    /// Each part is computed from the same part.
    PassThrough,
    /// Parts are combined; the result does not have it.
    Reduction,
    /// Looked up: whoever has the element gives it, and all are added.
    Lookup,
    /// Parts move to other devices.
    Permutation,
}

/// Dims that are spread alike, or parts of dims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Factor {
    pub(super) size: usize,
    pub(super) kind: FactorKind,
    /// The dims: operands are counted first, then results.
    pub(super) places: Vec<(usize, usize)>,
}

/// The factors of an operation; those of one dim stand from the outermost to the innermost.
#[derive(Clone, Default, Debug)]
pub(super) struct Rule {
    pub(super) factors: Vec<Factor>,
}

impl Rule {
    pub(super) fn add(
        &mut self,
        size: usize,
        kind: FactorKind,
        places: impl IntoIterator<Item = (usize, usize)>,
    ) {
        self.factors.push(Factor { size, kind, places: places.into_iter().collect() });
    }

    /// By dim of a tensor, its factors.
    pub(super) fn of_tensor(&self, tensor: usize, rank: usize) -> Vec<Vec<usize>> {
        let mut dims = vec![Vec::new(); rank];
        for (at, factor) in self.factors.iter().enumerate() {
            for &(_, dim) in factor.places.iter().filter(|(own, _)| *own == tensor) {
                if let Some(dim) = dims.get_mut(dim) {
                    dim.push(at);
                }
            }
        }
        dims
    }
}

/// Whether elements are computed each from those in the same place.
pub(super) fn is_elementwise(op: &str) -> bool {
    matches!(
        op,
        "abs"
            | "add"
            | "and"
            | "atan2"
            | "cbrt"
            | "ceil"
            | "clamp"
            | "compare"
            | "convert"
            | "cosine"
            | "divide"
            | "exponential"
            | "exponential_minus_one"
            | "floor"
            | "is_finite"
            | "log"
            | "log_plus_one"
            | "logistic"
            | "maximum"
            | "minimum"
            | "multiply"
            | "negate"
            | "not"
            | "or"
            | "popcnt"
            | "power"
            | "remainder"
            | "round_nearest_afz"
            | "round_nearest_even"
            | "rsqrt"
            | "select"
            | "shift_left"
            | "shift_right_arithmetic"
            | "shift_right_logical"
            | "sign"
            | "sine"
            | "sqrt"
            | "subtract"
            | "tan"
            | "tanh"
            | "xor"
    )
}

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
