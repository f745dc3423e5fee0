//! Determines the roles of an input's integers, such as indices or lengths. Looks through layers that copy
//! the integers, add to them or multiply them.

use std::collections::{HashMap, HashSet, VecDeque};

use snick_ir::{Graph, IntegerRole, NodeId, Op, OpTraits, Value};
use snick_shape::SymExpr;
use snick_tensor::kernels::BinaryOp;

/// Maximum number of values to visit per input.
const MAX_LAYERS: usize = 64;

/// The roles of integers at input ports of layers.
pub(crate) type Roles<'r> = HashMap<(NodeId, u32), &'r IntegerRole>;

/// How layers use the integers of an input.
#[derive(Clone, Debug)]
pub(crate) enum InputRole {
    /// Used as indices into axes of these sizes, after the changes by the layers in between.
    Indices(Vec<(Change, SymExpr)>),
    /// Any other use. Changes by the layers in between are ignored.
    Other(IntegerRole),
}

/// The effect of the layers between an input and the use of its integers: multiplication by `factor`, then
/// addition of a number in the range `added`.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Change {
    factor: i64,
    added: (i64, i64),
}

impl Change {
    const NONE: Self = Self { factor: 1, added: (0, 0) };

    /// The range of nonnegative integers that are valid indices (below `size`) after the change.
    fn range(self, size: i64) -> Option<(i64, i64)> {
        let least = 0i64.checked_sub(self.added.0)?.max(0);
        let most = size.checked_sub(1)?.checked_sub(self.added.1)?.checked_div(self.factor)?;
        let least = least.checked_add(self.factor - 1)?.checked_div(self.factor)?;
        (least <= most).then_some((least, most))
    }

    fn times(self, factor: i64) -> Option<Self> {
        let product = |number: i64| number.checked_mul(factor);
        let added = (product(self.added.0)?, product(self.added.1)?);
        (factor > 0).then_some(Self { factor: product(self.factor)?, added })
    }

    fn plus(self, (least, most): (i64, i64)) -> Option<Self> {
        let added = (self.added.0.checked_add(least)?, self.added.1.checked_add(most)?);
        Some(Self { added, ..self })
    }
}

/// The role of the integers of a Parameter. This is the role of their first use. If they are first used as
/// indices, all other uses as indices are collected, too.
pub(crate) fn input_role(graph: &Graph, roles: &Roles, parameter: NodeId) -> Option<InputRole> {
    let mut todo = VecDeque::from([(Value { node: parameter, port: 0 }, Change::NONE)]);
    let mut seen = HashSet::new();
    let mut indices = Vec::new();
    while let Some((value, change)) = todo.pop_front() {
        if !seen.insert(value) || seen.len() > MAX_LAYERS {
            continue;
        }
        for (reader, port) in graph.uses(value) {
            match roles.get(&(reader, port)) {
                Some(IntegerRole::Index(size)) => indices.push((change, size.clone())),
                Some(&role) if indices.is_empty() => return Some(InputRole::Other(role.clone())),
                _ => {}
            }
            let ports = 0..graph.node(reader).outs().len() as u32;
            if let Some(change) = changed(graph, reader, port, change) {
                todo.extend(ports.map(|port| (Value { node: reader, port }, change)));
            }
        }
    }
    (!indices.is_empty()).then_some(InputRole::Indices(indices))
}

/// Extends a change by the effect of a layer. `None` unless the layer copies the integers, adds to them or
/// multiplies them.
fn changed(graph: &Graph, reader: NodeId, port: u32, change: Change) -> Option<Change> {
    let node = graph.node(reader);
    let other = || {
        let ints = graph.fact(node.input(1 - usize::try_from(port).ok()?.min(1))?)?.ints()?;
        Some((ints.iter().copied().min()?, ints.iter().copied().max()?))
    };
    match node.op() {
        Op::Convert(_) | Op::Identity(_) | Op::Concat(_) => Some(change),
        Op::ConvertLike(_) if port == 0 => Some(change),
        Op::Arithmetic(op) => match op.function {
            BinaryOp::Add => change.plus(other()?),
            BinaryOp::Sub if port == 0 => {
                let (least, most) = other()?;
                change.plus((most.checked_neg()?, least.checked_neg()?))
            }
            BinaryOp::Mul => {
                other().filter(|(least, most)| least == most).and_then(|(factor, _)| change.times(factor))
            }
            _ => None,
        },
        op if op.has(OpTraits::MOVES_ELEMENTS) && port == 0 => Some(change),
        _ => None,
    }
}

/// Generates `count` integers with a role in row-major order, for a last axis of length `last`. `value`
/// evaluates sizes. The integers are between `least` and `most` if the role allows it.
pub(crate) fn integers(
    role: &InputRole,
    count: usize,
    last: usize,
    (least, most): (i64, i64),
    value: &dyn Fn(&SymExpr) -> Option<i64>,
    mut draw: impl FnMut(i64, i64) -> i64,
) -> Vec<i64> {
    let last = last.max(1);
    let mut number = |at: usize| match role {
        InputRole::Indices(indices) => {
            let ranges = indices.iter().filter_map(|(change, size)| change.range(value(size)?));
            let (low, high) = ranges.fold((0, i64::MAX), |(low, high), (a, b)| (low.max(a), high.min(b)));
            let high = high.max(low);
            draw(least.clamp(low, high), most.clamp(low, high))
        }
        InputRole::Other(IntegerRole::Axes(rank)) => (at % last % (*rank).max(1)) as i64,
        InputRole::Other(IntegerRole::Count(size)) => {
            let end = value(size).unwrap_or(1).max(0);
            draw(1.min(end), most.max(1).min(end))
        }
        // The last length is -1, that is, the rest of the axis; all other lengths are 0.
        InputRole::Other(IntegerRole::Lengths) => -i64::from(at % last + 1 == last),
        InputRole::Other(IntegerRole::Shape) => {
            if at.is_multiple_of(last) {
                -1
            } else {
                1
            }
        }
        InputRole::Other(_) => draw(1, least.max(1)),
    };
    (0..count).map(&mut number).collect()
}
