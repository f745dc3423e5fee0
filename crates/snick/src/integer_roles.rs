//! What the integers of an input mean to the layers that read them.

use std::collections::{HashSet, VecDeque};

use snick_ir::{Graph, NodeId, Op, Value};
use snick_shape::SymExpr;

/// What the integers of an input are used for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum IntegerRole {
    /// Positions on an axis of this size.
    Index(SymExpr),
    /// Axes of a tensor of this rank, each once.
    Axes(usize),
    /// Numbers other than 0: steps, repetitions, sizes of what is made.
    Positive,
    /// A number of elements of an axis of this size.
    Count(SymExpr),
    /// Lengths of the parts of an axis: the last is all of it.
    Lengths,
    /// The shape of as many elements as there are.
    Shape,
}

/// The most layers between an input and the layer that uses its integers.
const MAX_LAYERS: usize = 64;

/// The role of the integers of a Parameter, by the first layer with a use for them; layers that only hand them on are
/// looked through.
pub(crate) fn integer_role(graph: &Graph, parameter: NodeId) -> Option<IntegerRole> {
    let mut todo = VecDeque::from([Value { node: parameter, port: 0 }]);
    let mut seen = HashSet::new();
    while let Some(value) = todo.pop_front() {
        if !seen.insert(value) || seen.len() > MAX_LAYERS {
            continue;
        }
        for (reader, port) in graph.uses(value) {
            if let Some(role) = role_at(graph, reader, port) {
                return Some(role);
            }
            let is_handed_on = match graph.node(reader).op() {
                Op::Convert(_) | Op::Identity(_) | Op::Concat(_) => true,
                Op::Reshape(_)
                | Op::Squeeze(_)
                | Op::Unsqueeze(_)
                | Op::ConvertLike(_)
                | Op::Broadcast(_) => port == 0,
                _ => false,
            };
            if is_handed_on {
                todo.push_back(Value { node: reader, port: 0 });
            }
        }
    }
    None
}

/// The role of what a layer reads at a port.
fn role_at(graph: &Graph, reader: NodeId, port: u32) -> Option<IntegerRole> {
    let node = graph.node(reader);
    let dims = |port: usize| node.input(port).and_then(|value| graph.fact(value)?.shape.dims());
    let ints = |port: usize| node.input(port).and_then(|value| graph.fact(value)?.ints());
    let rank = || dims(0).map(<[SymExpr]>::len);
    let size = |axis: i64| {
        let dims = dims(0)?;
        dims.get(snick_ir::normalize_axis(axis, dims.len()).ok()?).cloned()
    };
    let index = |axis: Option<i64>| Some(IntegerRole::Index(size(axis?)?));
    let axis_at = |port: usize| ints(port).and_then(|ints| ints.first().copied());
    match (node.op(), port) {
        (Op::Gather(_), 1) => index(axis_at(2)),
        (Op::GatherElements(op), 1) => index(Some(op.axis)),
        (Op::ScatterUpdate(_) | Op::ScatterElementsUpdate(_), 1) => index(axis_at(3)),
        (Op::ScatterNdUpdate(_) | Op::GatherNd(_), 1) => smallest(dims(0)?).map(IntegerRole::Index),
        (Op::EmbeddingBagPacked(_) | Op::EmbeddingBagPackedSum(_), 1) => index(Some(0)),
        (Op::EmbeddingBagOffsets(_) | Op::EmbeddingBagOffsetsSum(_) | Op::EmbeddingSegmentsSum(_), 1) => {
            index(Some(0))
        }
        (Op::TopK(op), 1) => Some(IntegerRole::Count(size(op.axis)?)),
        (Op::Gather(_) | Op::Split(_) | Op::VariadicSplit(_), 1 | 2) if is_axis(node.op(), port) => {
            rank().map(IntegerRole::Axes)
        }
        (Op::VariadicSplit(_), 2) => Some(IntegerRole::Lengths),
        (Op::Slice8(_), 3) | (Op::StridedSlice(_), 3) | (Op::Range(_), 2) => Some(IntegerRole::Positive),
        (Op::Tile(_), 1) | (Op::RandomUniform(_), 0) => Some(IntegerRole::Positive),
        (Op::Slice8(_), 4) | (Op::Reduce(_) | Op::CumSum(_) | Op::Transpose(_), 1) => {
            rank().map(IntegerRole::Axes)
        }
        (Op::Reshape(_), 1) => Some(IntegerRole::Shape),
        _ => None,
    }
}

/// Whether the port is that of the axis, not of indices or lengths.
fn is_axis(op: &Op, port: u32) -> bool {
    port == if matches!(op, Op::Gather(_)) { 2 } else { 1 }
}

/// The smallest of the sizes that are numbers, so that an index into each lies in all.
fn smallest(dims: &[SymExpr]) -> Option<SymExpr> {
    match dims.iter().all(|dim| dim.as_const().is_some()) {
        true => dims.iter().min_by_key(|dim| dim.as_const()).cloned(),
        false => Some(SymExpr::from(1)),
    }
}

/// The integers of this role, row by row: `count` of them, the last axis having `last`, where the sizes have these
/// values and others lie between `least` and `most`.
pub(crate) fn integers(
    role: &IntegerRole,
    count: usize,
    last: usize,
    (least, most): (i64, i64),
    value: &dyn Fn(&SymExpr) -> Option<i64>,
    mut draw: impl FnMut(i64, i64) -> i64,
) -> Vec<i64> {
    let last = last.max(1);
    let mut number = |at: usize| match role {
        IntegerRole::Index(size) => {
            let end = value(size).unwrap_or(1).saturating_sub(1).max(0);
            draw(least.min(end), most.min(end))
        }
        IntegerRole::Axes(rank) => (at % last % (*rank).max(1)) as i64,
        IntegerRole::Positive => draw(1, least.max(1)),
        IntegerRole::Count(size) => {
            let end = value(size).unwrap_or(1).max(0);
            draw(1.min(end), most.max(1).min(end))
        }
        IntegerRole::Lengths => {
            if at % last + 1 == last {
                -1
            } else {
                0
            }
        }
        IntegerRole::Shape => {
            if at.is_multiple_of(last) {
                -1
            } else {
                1
            }
        }
    };
    (0..count).map(&mut number).collect()
}
