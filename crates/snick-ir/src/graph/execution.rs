//! The execution order of the nodes, and the ops that a run evaluates for them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use snick_tensor::SmallVector;

use super::{Graph, NodeId};
use crate::{Fact, Located, Op, OpError};

impl Graph {
    /// Topological order, as close to the order of ids as possible, so that listings follow the file. Unless
    /// the ids are already in topological order, all Results come last, in order of their ids. The error
    /// names a layer on a cycle.
    pub fn order(&self) -> Result<Vec<NodeId>, Located> {
        if self.connections().all(|(source, reader)| source < reader) {
            return Ok(self.ids().collect());
        }
        let (results, mut order): (Vec<_>, Vec<_>) =
            self.order_by(|_| ())?.into_iter().partition(|&id| matches!(self.node(id).op(), Op::Result(_)));
        debug_assert_eq!(results.len(), self.results().count());
        order.extend(self.results());
        Ok(order)
    }

    /// Topological order that follows the order of another version of the graph: a layer stays at the place
    /// of the layer with the same name, and other layers come right before their first reader. A listing in
    /// this order differs little from a listing of the other version.
    ///
    /// ```
    /// use snick::rewrite::{self, DriverOptions, RewriteResult, Rule};
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %b = Exp-1(%x)\n  %y = Result-1(%a)\n  %z = Result-1(%b)\n}\n";
    /// let before = snick::text::parse(text, None)?;
    /// let mut graph = before.clone();
    /// snick::infer(&mut graph);
    /// let rule = Rule::new("as-maximum", |patch| patch.maximum(patch.input(0)?, 0).map(RewriteResult::one));
    /// rewrite::apply(&mut graph, &[rule.roots(["ReLU"])], DriverOptions::default());
    /// let names = |order: Vec<_>| order.into_iter().map(|id| graph.node(id).name()).collect::<Vec<_>>();
    /// assert_eq!(names(graph.order_like(&before)?), ["x", "a/Const", "a", "b", "y", "z"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Graph::order`], for either graph.
    pub fn order_like(&self, other: &Self) -> Result<Vec<NodeId>, Located> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, &id) in other.order()?.iter().enumerate() {
            places.entry(other.node(id).name()).or_insert(place);
        }
        // The place of each node, and whether another layer was there before.
        let mut ranks = vec![(usize::MAX, false); self.bound()];
        for &id in self.order()?.iter().rev() {
            ranks[id.index()] = match places.get(self.node(id).name()) {
                Some(&place) => (place, true),
                None => {
                    let first = self.readers(id).map(|reader| ranks[reader.index()].0).min();
                    (first.unwrap_or(usize::MAX), false)
                }
            };
        }
        self.order_by(|id| ranks[id.index()])
    }

    /// Topological order that takes the least of all nodes whose inputs are computed.
    fn order_by<K: Ord>(&self, key: impl Fn(NodeId) -> K) -> Result<Vec<NodeId>, Located> {
        let mut missing = vec![0usize; self.bound()];
        for (_, reader) in self.connections() {
            missing[reader.index()] += 1;
        }
        let entry = |id: NodeId| Reverse((key(id), id));
        let mut ready: BinaryHeap<_> = self.ids().filter(|id| missing[id.index()] == 0).map(entry).collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(Reverse((_, id))) = ready.pop() {
            order.push(id);
            for reader in self.readers(id) {
                let left = &mut missing[reader.index()];
                *left -= 1;
                if *left == 0 {
                    ready.push(entry(reader));
                }
            }
        }
        match order.len() == self.len() {
            true => Ok(order),
            false => Err(self.located(self.on_cycle(), OpError::Cycle)),
        }
    }

    /// The more specific op that a run evaluates for a node, if the facts of its inputs allow one.
    pub fn specialized(&self, id: NodeId) -> Option<Op> {
        self.node(id).op().specialize(&self.input_facts(id)?)
    }

    /// The facts of the inputs of a node, if all are connected.
    pub(crate) fn input_facts(&self, id: NodeId) -> Option<SmallVector<&Fact, 5>> {
        self.inputs(id).iter().map(|input| self.fact((*input)?)).collect()
    }
}
