//! The execution order of the nodes, and the ops that a run evaluates for them.

use std::collections::BinaryHeap;

use smallvec::SmallVec;

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
        let mut missing = vec![0usize; self.bound()];
        for (_, reader) in self.connections() {
            missing[reader.index()] += 1;
        }
        let ready = self.ids().filter(|id| missing[id.index()] == 0).map(std::cmp::Reverse);
        let mut ready: BinaryHeap<_> = ready.collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(std::cmp::Reverse(id)) = ready.pop() {
            order.push(id);
            for reader in self.readers(id) {
                let left = &mut missing[reader.index()];
                *left -= 1;
                if *left == 0 {
                    ready.push(std::cmp::Reverse(reader));
                }
            }
        }
        if order.len() != self.len() {
            return Err(self.located(self.on_cycle(), OpError::Cycle));
        }
        let (results, mut order): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|&id| matches!(self.node(id).op(), Op::Result(_)));
        debug_assert_eq!(results.len(), self.results().count());
        order.extend(self.results());
        Ok(order)
    }

    /// The more specific op that a run evaluates for a node, if the facts of its inputs allow one.
    pub fn specialized(&self, id: NodeId) -> Option<Op> {
        self.node(id).op().specialize(&self.input_facts(id)?)
    }

    /// The facts of the inputs of a node, if all are connected.
    pub(crate) fn input_facts(&self, id: NodeId) -> Option<SmallVec<[&Fact; 5]>> {
        self.inputs(id).iter().map(|input| self.fact((*input)?)).collect()
    }
}
