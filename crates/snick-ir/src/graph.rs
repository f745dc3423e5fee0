//! The graph: nodes, connections, and the only methods that change them.
//!
//! Wraps a petgraph whose edges carry an output port and an input port; the interface uses [`Value`]s. Passes
//! never renumber nodes, and the text form uses only names.

mod edit;
mod execution;
mod find;
mod node;

use snick_tensor::SmallVector;
use std::collections::HashSet;
use std::sync::Arc;

use petgraph::Direction::{Incoming, Outgoing};
use petgraph::stable_graph::{EdgeReference, NodeIndex, StableDiGraph};
use petgraph::visit::{EdgeFiltered, EdgeRef, IntoEdgeReferences};
use snick_shape::Symbols;

use crate::{Fact, Info, Op, OpError, OpTraits};

use self::node::GraphId;
pub use self::node::{Declared, Details, Loc, Node, NodeId, NodeRef, Output, PortIds, Value};

/// An edge: output port of the source, input port of the target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wire {
    from: u32,
    to: u32,
}

impl Wire {
    /// Marks a removed connection. Removing an edge from a petgraph takes time proportional to the edges of
    /// both nodes, so edges are only marked, and removed in bulk.
    const DETACHED: Self = Self { from: u32::MAX, to: u32::MAX };

    fn is_attached(self) -> bool {
        self != Self::DETACHED
    }
}

/// A model, or the body of an op.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %relu = ReLU-1(%x)\n  %y = Result-1(%relu)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// for id in graph.order()? {
///     println!("{}", graph.node(id).name());
/// }
/// let input = graph.parameters().next().expect("an input");
/// assert_eq!((graph.len(), graph.node(input).name()), (3, "x"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Graph {
    /// Name of the model.
    pub name: String,
    /// The file path as the user gave it, for messages.
    pub source: String,
    /// The IR version of the file, one of [`IR_VERSIONS`](crate::IR_VERSIONS).
    pub ir_version: Option<u32>,
    /// `rt_info`, `meta_data` and other metadata of the model.
    pub info: Vec<Info>,
    id: GraphId,
    pub(crate) nodes: StableDiGraph<Node, Wire>,
    /// The number of detached connections.
    detached: usize,
    pub(crate) symbols: Symbols,
}

/// Copies the graph into an `Arc`, which sessions share.
impl From<&Graph> for Arc<Graph> {
    fn from(graph: &Graph) -> Self {
        Self::new(graph.clone())
    }
}

/// The limit on port numbers. It bounds memory, because the lists of a node's inputs and outputs are as long
/// as the largest port number.
const MAX_PORTS: u32 = 1 << 24;

/// Inputs of a node by port; `None` if not connected.
pub type Inputs = SmallVector<Option<Value>, 5>;

impl Graph {
    /// An empty graph.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Reserves space for more nodes and connections.
    pub fn reserve(&mut self, nodes: usize, connections: usize) {
        self.nodes.reserve_nodes(nodes);
        self.nodes.reserve_edges(connections);
    }

    /// Sets the path for messages, in bodies too.
    pub fn set_source(&mut self, source: &str) {
        self.source = source.into();
        self.for_each_body(|body| body.set_source(source));
    }

    /// Visits the bodies of the ops of this graph.
    pub fn for_each_body(&mut self, mut visit: impl FnMut(&mut Graph)) {
        for node in self.nodes.node_weights_mut() {
            node.op.bodies_mut().iter_mut().for_each(&mut visit);
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.node_count()
    }

    /// Number of nodes, including nodes in bodies.
    pub fn layers(&self) -> usize {
        let inside = |node: &Node| node.op.bodies().map(|(_, body)| body.layers()).sum::<usize>();
        self.len() + self.nodes.node_weights().map(inside).sum::<usize>()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest [`NodeId::index`].
    pub fn bound(&self) -> usize {
        self.nodes.node_indices().next_back().map_or(0, |i| i.index() + 1)
    }

    /// The symbols that facts refer to.
    #[inline]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Adds an unconnected node. [`Graph::connect`] connects its inputs.
    #[inline]
    pub fn add(&mut self, node: Node) -> NodeId {
        let index = self.nodes.add_node(node);
        self.id_of(index)
    }

    /// Connects `value` to input `port` of `node`, replacing an existing connection.
    ///
    /// # Errors
    /// [`OpError::ForeignValue`] if either node is not in the graph. Another error if the port number is too
    /// large, or if `value` is an output of a Result: Results end the graph and run last, so nothing may read
    /// them.
    #[inline]
    pub fn connect(&mut self, value: Value, node: NodeId, port: u32) -> Result<(), OpError> {
        let old = self.nodes.edges_directed(self.place(node), Incoming).find(|e| e.weight().to == port);
        let old = old.map(|e| e.id());
        self.connect_new(value, node, port)?;
        if let Some(old) = old {
            self.nodes.remove_edge(old);
        }
        Ok(())
    }

    /// Like [`Graph::connect`], for an input that is not connected yet. Does not check this precondition,
    /// because the check takes time proportional to the inputs of the node.
    ///
    /// # Errors
    /// Same as [`Graph::connect`].
    #[inline]
    pub fn connect_new(&mut self, value: Value, node: NodeId, port: u32) -> Result<(), OpError> {
        if ![value.node, node].iter().all(|&id| self.contains(id)) {
            return Err(OpError::ForeignValue);
        }
        if port >= MAX_PORTS {
            return Err(OpError::out_of_range("input port", i64::from(port), format!("below {MAX_PORTS}")));
        }
        let (from, to) = (self.place(value.node), self.place(node));
        if matches!(self.nodes[from].op, Op::Result(_)) {
            return Err(OpError::mismatch(format!("input {port}"), "a Result", "the value that it returns"));
        }
        self.nodes.add_edge(from, to, Wire { from: value.port, to: port });
        Ok(())
    }

    /// Adds a node that reads `inputs`. Values of other graphs stay unconnected; inference reports them.
    pub fn add_wired(&mut self, node: Node, inputs: &[Value]) -> NodeId {
        let id = self.add(node);
        for (port, &value) in (0..).zip(inputs) {
            if self.contains(value.node) {
                let (from, to) = (self.place(value.node), self.place(id));
                self.nodes.add_edge(from, to, Wire { from: value.port, to: port });
            }
        }
        id
    }

    /// Removes and returns a node; `None` if the graph does not have it. The readers of its outputs lose
    /// those inputs.
    pub fn remove(&mut self, id: NodeId) -> Option<Node> {
        self.nodes.remove_node(self.place(id))
    }

    /// Whether the id belongs to this graph and its node still exists.
    #[inline]
    pub fn contains(&self, id: NodeId) -> bool {
        self.nodes.contains_node(self.place(id))
    }

    /// The petgraph index of a node; an invalid index if the id belongs to another graph.
    #[inline]
    pub(crate) fn place(&self, id: NodeId) -> NodeIndex {
        if id.graph == self.id { id.index } else { NodeIndex::end() }
    }

    #[inline]
    pub(crate) fn id_of(&self, index: NodeIndex) -> NodeId {
        NodeId { index, graph: self.id }
    }

    /// The node, if it exists.
    #[inline]
    pub fn get(&self, id: NodeId) -> Option<NodeRef<'_>> {
        self.nodes.node_weight(self.place(id)).map(|data| NodeRef { graph: self, id, data })
    }

    /// The node of this id.
    ///
    /// # Panics
    /// If the node does not exist; see [`Graph::get`]. Ids are valid until their nodes are removed.
    #[inline]
    pub fn node(&self, id: NodeId) -> NodeRef<'_> {
        NodeRef { graph: self, id, data: &self.nodes[self.place(id)] }
    }

    /// The output that a value refers to.
    #[inline]
    pub fn output(&self, value: Value) -> Option<&Output> {
        self.nodes.node_weight(self.place(value.node))?.outs.get(value.port as usize)
    }

    /// The fact of a value.
    #[inline]
    pub fn fact(&self, value: Value) -> Option<&Fact> {
        self.output(value).map(|o| &o.fact)
    }

    /// All nodes in order of their ids.
    #[inline]
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.nodes.node_indices().map(|index| self.id_of(index))
    }

    /// Inputs of a node by port.
    #[inline]
    pub fn inputs(&self, id: NodeId) -> Inputs {
        let mut inputs = Inputs::new();
        for edge in self.reads(id) {
            let port = edge.weight().to as usize;
            if port >= inputs.len() {
                inputs.resize(port + 1, None);
            }
            inputs[port] = Some(Value { node: self.id_of(edge.source()), port: edge.weight().from });
        }
        inputs
    }

    /// The input edges of a node.
    #[inline]
    fn reads(&self, id: NodeId) -> impl Iterator<Item = EdgeReference<'_, Wire>> {
        self.nodes.edges_directed(self.place(id), Incoming).filter(|e| e.weight().is_attached())
    }

    /// The output edges of a node.
    #[inline]
    fn read_by(&self, id: NodeId) -> impl Iterator<Item = EdgeReference<'_, Wire>> {
        self.nodes.edges_directed(self.place(id), Outgoing).filter(|e| e.weight().is_attached())
    }

    /// The nodes that a node reads, one entry per input.
    #[inline]
    pub(crate) fn sources(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.reads(id).map(|edge| self.id_of(edge.source()))
    }

    /// The nodes that read a node, one entry per input.
    #[inline]
    pub(crate) fn readers(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.read_by(id).map(|edge| self.id_of(edge.target()))
    }

    /// All connections as pairs of producer and reader.
    #[inline]
    pub(crate) fn connections(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let attached = self.nodes.edge_references().filter(|e| e.weight().is_attached());
        attached.map(|e| (self.id_of(e.source()), self.id_of(e.target())))
    }

    /// The node with this id, mutable; `None` if the graph does not have it.
    #[inline]
    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.node_weight_mut(self.place(id))
    }

    /// The readers of a value as (node, input port), sorted. Takes time proportional to the number of readers
    /// of all outputs of the node.
    pub fn uses(&self, value: Value) -> SmallVector<(NodeId, u32), 4> {
        let mut uses: SmallVector<(NodeId, u32), 4> = self
            .read_by(value.node)
            .filter(|e| e.weight().from == value.port)
            .map(|e| (self.id_of(e.target()), e.weight().to))
            .collect();
        uses.sort_unstable();
        uses
    }

    /// For each output of a node, up to the last one that is read: whether it is read.
    pub fn used_outputs(&self, id: NodeId) -> Vec<bool> {
        let mut used = Vec::new();
        for edge in self.read_by(id) {
            let port = edge.weight().from as usize;
            if port >= used.len() {
                used.resize(port + 1, false);
            }
            used[port] = true;
        }
        used
    }

    /// Redirects the readers of each output of a node to the new value given for its port, if the graph has
    /// that value. The new values inherit the tensor names of the outputs. Returns each redirected reader and
    /// the node it now reads.
    pub fn replace_outputs(
        &mut self,
        node: NodeId,
        values: &[Option<Value>],
    ) -> SmallVector<(NodeId, NodeId), 8> {
        for (port, &new) in (0..).zip(values) {
            let Some(new) = new.filter(|&new| self.output(new).is_some()) else { continue };
            let names = self.output_mut(Value { node, port }).map(|out| std::mem::take(&mut out.names));
            if let (Some(names), Some(out)) = (names, self.output_mut(new)) {
                out.names.extend(names);
            }
        }
        self.move_uses(node, |port| values.get(port as usize).copied().flatten())
    }

    /// Redirects the readers of a node to the values that `new` returns for its ports. Returns each
    /// redirected reader and the node it now reads.
    fn move_uses(
        &mut self,
        node: NodeId,
        new: impl Fn(u32) -> Option<Value>,
    ) -> SmallVector<(NodeId, NodeId), 8> {
        let moved = self.read_by(node).filter_map(|edge| {
            let wire = *edge.weight();
            let value = new(wire.from).filter(|value| self.contains(value.node))?;
            Some((wire.from, edge.id(), edge.target(), Wire { from: value.port, to: wire.to }, value.node))
        });
        let mut moved: SmallVector<_, 8> = moved.collect();
        moved.sort_by_key(|&(port, ..)| port);
        for &(_, edge, reader, wire, value) in &moved {
            self.nodes[edge] = Wire::DETACHED;
            self.nodes.add_edge(self.place(value), reader, wire);
        }
        self.detached += moved.len();
        if self.detached > 64 && 2 * self.detached > self.nodes.edge_count() {
            self.keep(|_| true);
        }
        moved.into_iter().map(|(_, _, reader, _, value)| (self.id_of(reader), value)).collect()
    }

    /// The Parameters in order of their ids, which is the order of the model's inputs in the file.
    pub fn parameters(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids().filter(|&id| matches!(self.node(id).op(), Op::Parameter(_)))
    }

    /// The Results in order of their ids, which is the order of the model's outputs in the file.
    pub fn results(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids().filter(|&id| matches!(self.node(id).op(), Op::Result(_)))
    }

    /// A node on a cycle: a member of a strongly connected component of several nodes, or a node that reads
    /// itself.
    fn on_cycle(&self) -> NodeId {
        let attached = EdgeFiltered::from_fn(&self.nodes, |e| e.weight().is_attached());
        let components = petgraph::algo::tarjan_scc(&attached);
        let reads_itself = |&n: &NodeIndex| self.sources(self.id_of(n)).any(|source| source.index == n);
        let cyclic = components
            .iter()
            .filter(|c| c.len() > 1 || c.iter().any(reads_itself))
            .filter_map(|c| c.iter().min());
        self.id_of(cyclic.min().copied().unwrap_or_default())
    }

    /// Removes the nodes that neither a Result nor another root depends on. Keeps Parameters, because they
    /// are part of the model's signature.
    pub fn remove_dead_nodes(&mut self) {
        self.remove_all_but(|graph, id| graph.node(id).op().has(OpTraits::ROOT));
    }

    /// Removes the nodes that no root depends on.
    pub(crate) fn remove_all_but(&mut self, is_root: impl Fn(&Graph, NodeId) -> bool) {
        let mut alive = vec![false; self.bound()];
        let mut todo: Vec<NodeId> = self.ids().filter(|&id| is_root(self, id)).collect();
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut alive[id.index()], true) {
                continue;
            }
            todo.extend(self.sources(id));
        }
        if self.detached > 0 || alive.iter().filter(|&&alive| alive).count() < self.len() {
            self.keep(|n| alive[n.index()]);
        }
    }

    /// Removes nodes and their connections. Faster than removing them one by one.
    pub fn remove_all(&mut self, ids: &HashSet<NodeId>) {
        let removed: HashSet<NodeIndex> = ids.iter().map(|&id| self.place(id)).collect();
        self.keep(|n| !removed.contains(&n));
    }

    /// Keeps the nodes selected by `is_kept`, with their ids and connections. Done in bulk, because removing
    /// nodes one by one walks the edges of hub nodes repeatedly.
    fn keep(&mut self, is_kept: impl Fn(NodeIndex) -> bool) {
        let nodes = std::mem::take(&mut self.nodes);
        self.nodes = nodes.filter_map_owned(
            |n, node| is_kept(n).then_some(node),
            |_, wire| wire.is_attached().then_some(wire),
        );
        self.detached = 0;
    }
}

impl AsRef<Graph> for Graph {
    fn as_ref(&self) -> &Graph {
        self
    }
}

/// Equal as models: the same nodes in the same order, with equal names, ops, versions, connections and
/// metadata. Ignores locations, declared ports of known ops, and facts, which follow from the rest.
impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        let (Ok(mine), Ok(theirs)) = (self.order(), other.order()) else { return false };
        if mine.len() != theirs.len() || self.name != other.name || self.info != other.info {
            return false;
        }
        let mut place = vec![usize::MAX; self.bound()];
        let mut their_place = vec![usize::MAX; other.bound()];
        for (i, (a, b)) in mine.iter().zip(&theirs).enumerate() {
            (place[a.index()], their_place[b.index()]) = (i, i);
        }
        mine.iter().zip(&theirs).all(|(&a, &b)| {
            let (x, y) = (self.node(a), other.node(b));
            let wired = |inputs: &Inputs, place: &[usize]| -> Vec<_> {
                inputs.iter().map(|v| v.map(|v| (place[v.node.index()], v.port))).collect()
            };
            let names =
                |n: NodeRef| -> Vec<Vec<String>> { n.outs().iter().map(|o| o.names().to_vec()).collect() };
            x.name() == y.name()
                && x.op() == y.op()
                && x.version() == y.version()
                && x.details() == y.details()
                && names(x) == names(y)
                && wired(&self.inputs(a), &place) == wired(&other.inputs(b), &their_place)
        })
    }
}
