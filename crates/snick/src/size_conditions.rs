//! What the layers of a model ask of the sizes of its inputs, where inference leaves them open.

use std::collections::HashSet;

use snick_ir::{Fact, Graph, NodeId, Op, OpTraits};
use snick_shape::{SymExpr, SymbolId};

/// A condition on dims.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SizeCondition {
    /// Their product is a multiple of a number.
    Multiple { dims: Vec<SymExpr>, of: i64 },
    /// Their product is a number.
    Product { dims: Vec<SymExpr>, is: i64 },
    /// Both are equal.
    Equal(SymExpr, SymExpr),
    /// Both are equal, or one is 1.
    Broadcast(SymExpr, SymExpr),
    /// It is at least a number.
    AtLeast(SymExpr, i64),
}

impl SizeCondition {
    /// Whether it holds; `None` while a dim of it is unknown.
    pub(crate) fn holds(&self, value: &dyn Fn(&SymExpr) -> Option<i64>) -> Option<bool> {
        let product =
            |dims: &[SymExpr]| dims.iter().try_fold(1i64, |product, dim| product.checked_mul(value(dim)?));
        Some(match self {
            Self::Multiple { dims, of } => product(dims)?.checked_rem(*of) == Some(0),
            Self::Product { dims, is } => product(dims)? == *is,
            Self::Equal(a, b) => value(a)? == value(b)?,
            Self::Broadcast(a, b) => {
                let (a, b) = (value(a)?, value(b)?);
                a == b || a == 1 || b == 1
            }
            Self::AtLeast(dim, least) => value(dim)? >= *least,
        })
    }

    /// The symbols of its dims.
    pub(crate) fn symbols(&self) -> Vec<SymbolId> {
        let dims: Vec<&SymExpr> = match self {
            Self::Multiple { dims, .. } | Self::Product { dims, .. } => dims.iter().collect(),
            Self::Equal(a, b) | Self::Broadcast(a, b) => vec![a, b],
            Self::AtLeast(dim, _) => vec![dim],
        };
        let mut symbols: Vec<SymbolId> = dims.into_iter().flat_map(SymExpr::symbols).collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }
}

/// The conditions of all layers, bodies aside, that depend on a symbol.
pub(crate) fn size_conditions(graph: &Graph) -> Vec<SizeCondition> {
    let mut found = Vec::new();
    for id in graph.ids() {
        let node = graph.node(id);
        if let Some(facts) = facts(graph, id) {
            of_layer(node.op(), &facts, &mut found);
        }
        if has_window(node.op()) {
            // The window lies in the padded input.
            let dims = node.outs().first().and_then(|out| out.fact.shape.dims()).unwrap_or_default();
            found.extend(dims.iter().map(|dim| SizeCondition::AtLeast(dim.clone(), 1)));
        }
    }
    let mut seen = HashSet::new();
    found.retain(|condition| !condition.symbols().is_empty() && seen.insert(condition.clone()));
    found
}

/// Whether an op moves a window over its input.
fn has_window(op: &Op) -> bool {
    matches!(
        op,
        Op::Convolution(_)
            | Op::GroupConvolution(_)
            | Op::BinaryConvolution(_)
            | Op::DeformableConvolution(_)
            | Op::MaxPool(_)
            | Op::AvgPool(_)
    )
}

/// The facts of all inputs.
fn facts(graph: &Graph, id: NodeId) -> Option<Vec<&Fact>> {
    graph.inputs(id).iter().map(|input| graph.fact((*input)?)).collect()
}

fn of_layer(op: &Op, facts: &[&Fact], found: &mut Vec<SizeCondition>) {
    let dims = |port: usize| facts.get(port).and_then(|fact| fact.shape.dims());
    match op {
        Op::Split(split) => {
            if let Some(dim) = axis_input(facts, 1).and_then(|axis| dims(0)?.get(axis)) {
                found.push(SizeCondition::Multiple { dims: vec![dim.clone()], of: split.num_splits });
            }
        }
        Op::VariadicSplit(_) => of_lengths(facts, found),
        Op::Reshape(_) => of_reshape(facts, found),
        Op::Concat(concat) => of_concat(concat.axis, facts, found),
        Op::Gather(_) => of_gather(facts, found),
        Op::MatMul(product) => {
            let inner = |port: usize, is_last: bool| {
                let dims = dims(port)?;
                let from_end = if is_last || dims.len() == 1 { 1 } else { 2 };
                dims.len().checked_sub(from_end).map(|axis| dims[axis].clone())
            };
            if let Some((a, b)) = inner(0, !product.transpose_a).zip(inner(1, product.transpose_b)) {
                found.push(SizeCondition::Equal(a, b));
            }
            if let Some((a, b)) = dims(0).zip(dims(1)) {
                let batch = |dims: &[SymExpr]| dims[..dims.len().saturating_sub(2)].to_vec();
                broadcast(&batch(a), &batch(b), found);
            }
        }
        op if op.has(OpTraits::ELEMENTWISE) => {
            for (at, a) in facts.iter().enumerate() {
                for b in &facts[at + 1..] {
                    if let Some((a, b)) = a.shape.dims().zip(b.shape.dims()) {
                        broadcast(a, b, found);
                    }
                }
            }
        }
        _ => {}
    }
}

/// The axis that an input names, if it is known.
fn axis_input(facts: &[&Fact], port: usize) -> Option<usize> {
    let rank = facts.first()?.shape.dims()?.len();
    match facts.get(port)?.ints()?[..] {
        [axis] => snick_ir::normalize_axis(axis, rank).ok(),
        _ => None,
    }
}

/// Dims of two shapes that are matched from the last on.
fn broadcast(a: &[SymExpr], b: &[SymExpr], found: &mut Vec<SizeCondition>) {
    let pairs = a.iter().rev().zip(b.iter().rev()).filter(|(a, b)| a != b);
    found.extend(pairs.map(|(a, b)| SizeCondition::Broadcast(a.clone(), b.clone())));
}

fn of_lengths(facts: &[&Fact], found: &mut Vec<SizeCondition>) {
    let dim = axis_input(facts, 1).and_then(|axis| facts[0].shape.dims()?.get(axis));
    let (Some(dim), Some(lengths)) = (dim, facts.get(2).and_then(|fact| fact.ints())) else { return };
    let sum = lengths.iter().fold(0i64, |sum, &len| sum.saturating_add(len.max(0)));
    found.push(match lengths.contains(&-1) {
        true => SizeCondition::AtLeast(dim.clone(), sum),
        false => SizeCondition::Equal(dim.clone(), sum.into()),
    });
}

/// The elements fill the constant shape: all of it, or -1 times the rest of it.
fn of_reshape(facts: &[&Fact], found: &mut Vec<SizeCondition>) {
    let (Some(dims), Some(to)) = (facts[0].shape.dims(), facts.get(1).and_then(|fact| fact.ints())) else {
        return;
    };
    // A 0 stands for a dim of the data, or for an empty result.
    if to.contains(&0) {
        return;
    }
    let fixed = to.iter().fold(1i64, |product, &size| product.saturating_mul(size.max(1)));
    let dims = dims.to_vec();
    found.push(match to.contains(&-1) {
        true => SizeCondition::Multiple { dims, of: fixed },
        false => SizeCondition::Product { dims, is: fixed },
    });
}

fn of_concat(axis: i64, facts: &[&Fact], found: &mut Vec<SizeCondition>) {
    let Some(first) = facts.first().and_then(|fact| fact.shape.dims()) else { return };
    let Ok(axis) = snick_ir::normalize_axis(axis, first.len()) else { return };
    for other in facts[1..].iter().filter_map(|fact| fact.shape.dims()) {
        let pairs = first.iter().zip(other).enumerate().filter(|(at, (a, b))| *at != axis && a != b);
        found.extend(pairs.map(|(_, (a, b))| SizeCondition::Equal(a.clone(), b.clone())));
    }
}

/// Constant indices lie in the axis.
fn of_gather(facts: &[&Fact], found: &mut Vec<SizeCondition>) {
    let dim = axis_input(facts, 2).and_then(|axis| facts[0].shape.dims()?.get(axis));
    let (Some(dim), Some(indices)) = (dim, facts.get(1).and_then(|fact| fact.ints())) else { return };
    // A negative index counts from the end.
    let least =
        indices.iter().map(|&index| if index < 0 { index.saturating_neg() } else { index.saturating_add(1) });
    found.extend(least.max().map(|least| SizeCondition::AtLeast(dim.clone(), least)));
}
