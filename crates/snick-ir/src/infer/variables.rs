//! Infers the values of variables from their assignments, and checks assignments against ReadValues.

use std::collections::BTreeMap;

use snick_shape::{Interval, Shape, Symbols};
use snick_tensor::ElementType;

use crate::{Fact, Graph, Located, NodeId, Op, OpError};

/// The properties that all values of a variable share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct VariableValues {
    /// The element type, if it is the same for all values.
    pub(crate) element_type: ElementType,
    /// The intervals of the sizes, if the rank is the same for all values.
    pub(crate) dims: Option<Vec<Interval>>,
}

impl VariableValues {
    /// The properties of a value with this fact.
    pub(crate) fn of(fact: &Fact, symbols: &Symbols) -> Self {
        Self { element_type: fact.element_type, dims: intervals(&fact.shape, symbols) }
    }

    /// The properties that the values of `self` and the values of `other` share.
    pub(crate) fn join(&self, other: &Self) -> Self {
        let is_same = self.element_type == other.element_type;
        let dims =
            self.dims.as_ref().zip(other.dims.as_ref()).filter(|(mine, theirs)| mine.len() == theirs.len());
        Self {
            element_type: if is_same { self.element_type } else { ElementType::Dynamic },
            dims: dims.map(|(mine, theirs)| mine.iter().zip(theirs).map(|(a, b)| a.hull(*b)).collect()),
        }
    }

    /// Like [`VariableValues::join`], but dims that `other` changes become unbounded, so that repeated joins
    /// converge.
    fn widen(&self, other: &Self) -> Self {
        let mut joined = self.join(other);
        for (dim, mine) in joined.dims.iter_mut().flatten().zip(self.dims.iter().flatten()) {
            if dim != mine {
                *dim = Interval::DIM;
            }
        }
        joined
    }
}

/// Values that inference assumes for variables without a declared type or rank. An assumption holds if the
/// values inferred under it stay within its bounds.
#[derive(Clone, Default, Debug)]
pub(crate) struct Assumed(BTreeMap<String, VariableValues>);

impl Assumed {
    /// The values assumed to be assigned to a variable; `None` if it only has its initial value.
    pub(crate) fn values(&self, variable_id: &str) -> Option<&VariableValues> {
        self.0.get(variable_id)
    }

    /// The assumptions for the next round; `None` if the current ones held.
    pub(super) fn next(&self, graph: &Graph) -> Option<Self> {
        let mut reads: BTreeMap<&str, Vec<VariableValues>> = BTreeMap::new();
        let mut assigned: BTreeMap<&str, VariableValues> = BTreeMap::new();
        each_graph(graph, &mut |graph| {
            for id in graph.ids() {
                let node = graph.node(id);
                match node.op() {
                    Op::ReadValue(op) => {
                        let fact = node.outs().first().map(|out| &out.fact);
                        let values = VariableValues::of(fact.unwrap_or(&Fact::unknown()), graph.symbols());
                        reads.entry(&op.variable_id).or_default().push(op.undeclared(values));
                    }
                    Op::Assign(op) => {
                        let fact = self::assigned(graph, id).unwrap_or(&Fact::unknown()).clone();
                        let values = VariableValues::of(&fact, graph.symbols());
                        let known = assigned.entry(&op.variable_id).or_insert_with(|| values.clone());
                        *known = known.join(&values);
                    }
                    _ => {}
                }
            }
        });
        let mut next = self.clone();
        let mut holds = true;
        for (variable, reads) in reads {
            let Some(assigned) = assigned.get(variable) else { continue };
            if reads.iter().any(|read| read.join(assigned) != *read) {
                holds = false;
                let read = reads.into_iter().reduce(|a, b| a.join(&b));
                next.0.extend(read.map(|read| (variable.to_string(), read.widen(assigned))));
            }
        }
        (!holds).then_some(next)
    }
}

/// Visits the graph and, recursively, its bodies.
fn each_graph<'g>(graph: &'g Graph, visit: &mut impl FnMut(&'g Graph)) {
    visit(graph);
    for id in graph.ids() {
        graph.node(id).op().bodies().for_each(|(_, body)| each_graph(body, visit));
    }
}

/// The type and shape that a ReadValue declares.
struct Read {
    element_type: ElementType,
    /// The declared size of each axis; `None` if the shape is not declared.
    dims: Option<Vec<Interval>>,
}

/// Checks every Assign in an inferred graph and its bodies against the ReadValues of its variable. Each
/// Assign needs at least one ReadValue. Returns all errors.
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

/// The fact of the value that an Assign reads.
fn assigned(graph: &Graph, id: NodeId) -> Option<&Fact> {
    graph.fact(graph.inputs(id).first().copied().flatten()?)
}

/// The error if an assigned value can never match a ReadValue.
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
