//! Values of a graph that are known to be equal.

use std::collections::{BTreeMap, HashMap};

use crate::answer::Guide;
use crate::classes::Classes;
use crate::compare;
use crate::graph::{Attribute, Graph, Node, Value};

/// What makes nodes equal: operation, attributes, bodies, inputs and the number of outputs.
type Key<'g> = (&'g str, &'g BTreeMap<String, Attribute>, Vec<usize>, Vec<Option<Value>>, usize);

/// Values of a graph that are known to be equal.
///
/// Equal operations with equal inputs are equal. Everything else is an equality that [`Equalities::prove`]
/// proves. Nodes are numbered in topological order, so equalities of inputs must be proved before
/// [`Equalities::advance`] passes the nodes that read them.
#[derive(Debug)]
pub struct Equalities<'g> {
    graph: &'g Graph,
    classes: Classes,
    first: HashMap<Key<'g>, usize>,
    /// The first body that equals a body.
    bodies: HashMap<usize, usize>,
    next: usize,
}

impl<'g> Equalities<'g> {
    /// No equalities, except between these pairs of bodies.
    pub fn new(graph: &'g Graph, bodies: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut first = HashMap::new();
        for (a, b) in bodies {
            let a = first.get(&a).copied().unwrap_or(a);
            first.insert(b, a);
        }
        Self { graph, classes: Classes::default(), first: HashMap::new(), bodies: first, next: 0 }
    }

    /// Finds equal operations with equal inputs among the nodes before `end`.
    pub fn advance(&mut self, end: usize) {
        while self.next < end.min(self.graph.nodes.len()) {
            let number = self.next;
            self.next += 1;
            let node = &self.graph.nodes[number];
            if self.graph.function(Value { node: number, port: 0 }).is_some() {
                let first = *self.first.entry(self.key(node)).or_insert(number);
                for port in 0..node.outputs.len() {
                    self.classes.join(Value { node: first, port }, Value { node: number, port });
                }
            }
        }
    }

    fn key(&self, node: &'g Node) -> Key<'g> {
        let mut inputs: Vec<Option<Value>> =
            node.inputs.iter().map(|input| input.map(|input| self.first(input))).collect();
        if node.is_commutative() {
            inputs.sort_unstable();
        }
        let bodies = node.bodies.iter().map(|body| self.bodies.get(body).copied().unwrap_or(*body));
        (&node.op, &node.attributes, bodies.collect(), inputs, node.outputs.len())
    }

    /// The first value that is known to equal a value.
    pub fn first(&self, value: Value) -> Value {
        self.classes.first(value)
    }

    /// Proves that two values are equal: the same element type, shape and elements, for all sizes. Where the
    /// value of the first exists, the second does not fail either.
    ///
    /// # Errors
    /// The reason why this is not proved.
    pub fn prove(&mut self, before: Value, after: Value, guide: &mut dyn Guide) -> Result<(), String> {
        self.advance(before.node.max(after.node).saturating_add(1));
        if self.first(before) != self.first(after) {
            compare::prove(self.graph, &self.classes, (before, after), guide)?;
            self.classes.join(before, after);
        }
        Ok(())
    }
}
