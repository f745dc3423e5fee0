//! Checks that the values assigned to a variable match what is read from it.

use std::collections::BTreeMap;

use snick_shape::{Interval, Shape, Symbols};
use snick_tensor::ElementType;

use crate::{Fact, Graph, Located, NodeId, Op, OpError};

/// The type and shape that a ReadValue declares.
struct Read {
    element_type: ElementType,
    /// The declared size of each axis; `None` if the shape is not declared.
    dims: Option<Vec<Interval>>,
}

/// Checks every Assign in the inferred graph and its bodies against the ReadValues of its variable; there must be at
/// least one. Returns all errors.
pub(super) fn check(graph: &Graph) -> Vec<Located> {
    let (mut reads, mut errors) = (BTreeMap::new(), Vec::new());
    collect(graph, &mut reads);
    compare(graph, &reads, &mut errors);
    errors
}

fn collect<'g>(graph: &'g Graph, reads: &mut BTreeMap<&'g str, Vec<Read>>) {
    for id in graph.ids() {
        let node = graph.node(id);
        if let (Op::ReadValue(op), Some(out)) = (node.op(), node.outs().first()) {
            let declared = op.variable_shape.as_ref();
            let dims = declared.and_then(|_| intervals(&out.fact.shape, graph.symbols()));
            let read = Read { element_type: out.fact.element_type, dims };
            reads.entry(&op.variable_id).or_default().push(read);
        }
        node.op().bodies().for_each(|(_, body)| collect(body, reads));
    }
}

fn compare(graph: &Graph, reads: &BTreeMap<&str, Vec<Read>>, errors: &mut Vec<Located>) {
    for id in graph.ids() {
        let node = graph.node(id);
        if let Op::Assign(op) = node.op() {
            let reads = reads.get(op.variable_id.as_str()).map(Vec::as_slice).unwrap_or_default();
            let error = match reads {
                [] => Some(OpError::NoValue {
                    what: format!("variable `{}`", op.variable_id),
                    why: "no ReadValue reads it".into(),
                }),
                reads => assigned(graph, id)
                    .and_then(|fact| conflict(&op.variable_id, fact, reads, graph.symbols())),
            };
            errors.extend(error.map(|error| graph.located(id, error)));
        }
        node.op().bodies().for_each(|(_, body)| compare(body, reads, errors));
    }
}

/// The fact of the value that a node assigns.
fn assigned(graph: &Graph, id: NodeId) -> Option<&Fact> {
    graph.fact(graph.inputs(id).first().copied().flatten()?)
}

/// The error if a value can never match a ReadValue.
fn conflict(variable_id: &str, fact: &Fact, reads: &[Read], symbols: &Symbols) -> Option<OpError> {
    let what = format!("the value assigned to variable `{variable_id}`");
    for read in reads {
        let types = [fact.element_type, read.element_type];
        if types[0] != types[1] && !types.contains(&ElementType::Dynamic) {
            return Some(OpError::element_type(
                what,
                types[0],
                format!("{} as its ReadValue declares", types[1]),
            ));
        }
        let (Some(mine), Some(theirs)) = (intervals(&fact.shape, symbols), &read.dims) else { continue };
        if mine.len() != theirs.len() {
            return Some(OpError::rank(
                what,
                mine.len(),
                format!("{} as its ReadValue declares", theirs.len()),
            ));
        }
        if let Some((mine, theirs)) =
            mine.iter().zip(theirs).find(|(mine, theirs)| mine.meet(**theirs).is_none())
        {
            let sentence = format!("an axis of {what} is {{}}, but its ReadValue declares {{}}");
            return Some(OpError::conflict(sentence, mine, theirs));
        }
    }
    None
}

fn intervals(shape: &Shape, symbols: &Symbols) -> Option<Vec<Interval>> {
    Some(shape.dims()?.iter().map(|dim| symbols.interval(dim)).collect())
}
