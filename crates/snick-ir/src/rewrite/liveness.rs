//! Liveness of nodes. Replaced nodes stay in the graph until dead nodes are removed, but no longer count as
//! readers.

use super::Committed;
use crate::{Graph, NodeId, Op, OpTraits};

/// The number of live readers of each node, and which nodes are dead.
pub(super) struct Liveness {
    nodes: Vec<State>,
}

#[derive(Copy, Clone, Default)]
struct State {
    readers: u32,
    dead: bool,
}

impl Liveness {
    /// The liveness of a graph without dead nodes.
    pub(super) fn of(graph: &Graph) -> Self {
        let mut nodes = vec![State::default(); graph.bound()];
        for (source, _) in graph.connections() {
            nodes[source.index()].readers += 1;
        }
        Self { nodes }
    }

    /// How many inputs of live nodes read this node.
    pub(super) fn readers(&self, id: NodeId) -> u32 {
        self.nodes.get(id.index()).map_or(0, |state| state.readers)
    }

    /// Whether a node still in the graph is dead.
    pub(super) fn is_dead(&self, id: NodeId) -> bool {
        self.nodes.get(id.index()).is_some_and(|state| state.dead)
    }

    /// Updates the counts for a replacement of `root`. Returns the nodes that have become the only reader of
    /// another node.
    pub(super) fn update(&mut self, graph: &Graph, root: NodeId, committed: &Committed) -> Vec<NodeId> {
        for &id in &committed.added {
            if id.index() >= self.nodes.len() {
                self.nodes.resize(id.index() + 1, State::default());
            }
            self.nodes[id.index()] = State::default();
        }
        for &id in &committed.added {
            for input in graph.sources(id) {
                self.nodes[input.index()].readers += 1;
            }
        }
        for &(reader, new) in &committed.moved {
            if !self.nodes[reader.index()].dead {
                self.nodes[root.index()].readers -= 1;
                self.nodes[new.index()].readers += 1;
            }
        }
        self.bury(graph, root, &committed.added)
    }

    /// Marks nodes without readers as dead, and then nodes that only dead nodes read.
    fn bury(&mut self, graph: &Graph, root: NodeId, added: &[NodeId]) -> Vec<NodeId> {
        let mut alone = Vec::new();
        let mut todo = vec![root];
        todo.extend(added);
        while let Some(id) = todo.pop() {
            let state = self.nodes[id.index()];
            if state.readers > 0 || state.dead || is_kept(graph.node(id).op(), id == root) {
                continue;
            }
            self.nodes[id.index()].dead = true;
            for input in graph.sources(id) {
                self.nodes[input.index()].readers -= 1;
                match self.nodes[input.index()].readers {
                    0 => todo.push(input),
                    1 => alone.push(input),
                    _ => {}
                }
            }
        }
        alone.retain(|&id| self.readers(id) == 1);
        alone.iter().filter_map(|&id| self.only_reader(graph, id)).collect()
    }

    fn only_reader(&self, graph: &Graph, id: NodeId) -> Option<NodeId> {
        graph.readers(id).find(|&reader| !self.is_dead(reader))
    }
}

/// Whether a node without readers stays in the graph. A replaced root does not, unless it is an input or
/// output of the model or reads or writes a variable.
fn is_kept(op: &Op, is_replaced: bool) -> bool {
    let is_bound = || matches!(op, Op::Parameter(_) | Op::Result(_)) || op.has(OpTraits::STATEFUL);
    op.has(OpTraits::ROOT) && (!is_replaced || is_bound())
}
