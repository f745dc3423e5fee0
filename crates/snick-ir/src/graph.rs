//! The graph: nodes, connections, and the only methods that change them.
//!
//! It wraps a petgraph whose edges carry (output port, input port); the interface uses [`Value`]s. Nodes are never
//! renumbered while passes run; the text form uses names only.

mod edit;
mod node;

use std::collections::BinaryHeap;
use std::sync::Arc;

use petgraph::Direction::{Incoming, Outgoing};
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::{EdgeRef, IntoEdgeReferences};
use smallvec::SmallVec;
use snick_shape::Symbols;

use crate::{Fact, Info, Located, Op, OpError, OpTraits};

use self::node::GraphId;
pub use self::node::{Declared, Details, Loc, Node, NodeId, NodeRef, Output, PortIds, Value};

/// Output port of the source, input port of the target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wire {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// A model or a sub-graph body.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %relu = ReLU-1(%x)\n  %y = Result-1(%relu)\n}\n";
/// let mut graph = snick_ir::text::parse(text, None)?;
/// assert!(snick_ir::infer(&mut graph).is_empty());
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
    /// The path of the file as given, for messages.
    pub source: String,
    /// IR version of the file it was read from.
    pub ir_version: Option<u32>,
    /// `rt_info`, `meta_data` and other metadata of the model.
    pub info: Vec<Info>,
    id: GraphId,
    pub(crate) nodes: StableDiGraph<Node, Wire>,
    pub(crate) symbols: Symbols,
}

/// A copy: sessions share their graph.
impl From<&Graph> for Arc<Graph> {
    fn from(graph: &Graph) -> Self {
        Self::new(graph.clone())
    }
}

/// Input ports are below this: the inputs of a node are a list as long as its largest port.
const MAX_PORTS: u32 = 1 << 24;

/// Inputs of a node by port; `None` if not connected.
pub type Inputs = SmallVec<[Option<Value>; 5]>;

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

    /// Sets the path for messages, bodies included.
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

    /// Number of nodes, those of bodies included.
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

    /// The symbols of the facts.
    #[inline]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Adds a node without inputs; see [`Graph::connect`].
    #[inline]
    pub fn add(&mut self, node: Node) -> NodeId {
        let index = self.nodes.add_node(node);
        self.id_of(index)
    }

    /// Connects `value` to input `port` of `node`, replacing what was connected.
    ///
    /// # Errors
    /// [`OpError::ForeignValue`] if the graph does not have one of the two nodes; a port beyond every real layer's.
    #[inline]
    pub fn connect(&mut self, value: Value, node: NodeId, port: u32) -> Result<(), OpError> {
        if ![value.node, node].iter().all(|&id| self.contains(id)) {
            return Err(OpError::ForeignValue);
        }
        if port >= MAX_PORTS {
            return Err(OpError::out_of_range("input port", i64::from(port), format!("below {MAX_PORTS}")));
        }
        let (from, to) = (self.place(value.node), self.place(node));
        let old = self.nodes.edges_directed(to, Incoming).find(|e| e.weight().to == port).map(|e| e.id());
        if let Some(old) = old {
            self.nodes.remove_edge(old);
        }
        self.nodes.add_edge(from, to, Wire { from: value.port, to: port });
        Ok(())
    }

    /// Adds a node that reads `inputs`. Values of other graphs stay unconnected, which inference reports.
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

    /// Removes a node; its readers lose that input. Returns the node, or `None` if the graph has none of this id.
    pub fn remove(&mut self, id: NodeId) -> Option<Node> {
        self.nodes.remove_node(self.place(id))
    }

    /// Whether this graph gave out the id and still has the node.
    #[inline]
    pub fn contains(&self, id: NodeId) -> bool {
        self.nodes.contains_node(self.place(id))
    }

    /// The place of a node in the petgraph; that of no node if the id is of another graph.
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

    /// The node.
    ///
    /// # Panics
    /// If the graph has no node of this id; [`Graph::get`] does not. Ids that this graph gave out are valid until their
    /// nodes are removed.
    #[inline]
    pub fn node(&self, id: NodeId) -> NodeRef<'_> {
        NodeRef { graph: self, id, data: &self.nodes[self.place(id)] }
    }

    /// The first layer of this name.
    pub fn find(&self, layer: &str) -> Option<NodeId> {
        self.ids().find(|&id| self.node(id).name() == layer)
    }

    /// The first value that has this tensor name.
    pub fn find_tensor(&self, name: &str) -> Option<Value> {
        self.ids().find_map(|node| {
            let outs = self.node(node).outs();
            let port = outs.iter().position(|out| out.names().iter().any(|n| n == name))?;
            Some(Value { node, port: u32::try_from(port).ok()? })
        })
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

    /// The op that a run evaluates in place of that of a node, given what is known of its inputs.
    pub fn specialized(&self, id: NodeId) -> Option<Op> {
        let inputs = self.inputs(id);
        let facts: Option<SmallVec<[&Fact; 5]>> = inputs.iter().map(|input| self.fact((*input)?)).collect();
        self.node(id).op().specialize(&facts?)
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
        for edge in self.nodes.edges_directed(self.place(id), Incoming) {
            let port = edge.weight().to as usize;
            if port >= inputs.len() {
                inputs.resize(port + 1, None);
            }
            inputs[port] = Some(Value { node: self.id_of(edge.source()), port: edge.weight().from });
        }
        inputs
    }

    /// The readers of a value: (node, input port), in order.
    pub fn uses(&self, value: Value) -> SmallVec<[(NodeId, u32); 4]> {
        let edges = self.nodes.edges_directed(self.place(value.node), Outgoing);
        let mut uses: SmallVec<[(NodeId, u32); 4]> = edges
            .filter(|e| e.weight().from == value.port)
            .map(|e| (self.id_of(e.target()), e.weight().to))
            .collect();
        uses.sort_unstable();
        uses
    }

    /// Makes every reader of `old` read `new`. Nothing happens if the graph does not have both; so with the next method.
    pub fn replace_uses(&mut self, old: Value, new: Value) {
        self.move_uses(old, new);
    }

    /// [`Graph::replace_uses`] that also moves the tensor names. Returns the reader of each use.
    pub fn replace_uses_with_names(&mut self, old: Value, new: Value) -> SmallVec<[NodeId; 4]> {
        let names = self.output_mut(old).and_then(|out| out.names.take());
        if let (Some(names), Some(out)) = (names, self.output_mut(new)) {
            let mut all = out.names.take().map(Vec::from).unwrap_or_default();
            all.extend(names);
            out.names = Some(all.into());
        }
        self.move_uses(old, new)
    }

    /// [`Graph::replace_uses`]; returns the reader of each use.
    fn move_uses(&mut self, old: Value, new: Value) -> SmallVec<[NodeId; 4]> {
        if !self.contains(new.node) {
            return SmallVec::new();
        }
        let edges = self.nodes.edges_directed(self.place(old.node), Outgoing);
        let moved: SmallVec<[_; 4]> = edges
            .filter(|e| e.weight().from == old.port)
            .map(|e| (e.id(), e.target(), e.weight().to))
            .collect();
        let wire = |(edge, target, to)| {
            self.nodes.remove_edge(edge);
            self.nodes.add_edge(self.place(new.node), target, Wire { from: new.port, to });
            self.id_of(target)
        };
        moved.into_iter().map(wire).collect()
    }

    /// Parameters in order of their ids: the model's inputs in file order.
    pub fn parameters(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids().filter(|&id| matches!(self.node(id).op(), Op::Parameter(_)))
    }

    /// Results in order of their ids: the model's outputs in file order.
    pub fn results(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids().filter(|&id| matches!(self.node(id).op(), Op::Result(_)))
    }

    /// Topological order, as close to the order of ids as possible, so that output follows the file; Results that
    /// cannot keep their place come last, in their order. An error names a layer on a cycle.
    pub fn order(&self) -> Result<Vec<NodeId>, Located> {
        if self.nodes.edge_references().all(|e| e.source() < e.target()) {
            return Ok(self.ids().collect());
        }
        let mut missing = vec![0usize; self.bound()];
        for edge in self.nodes.edge_references() {
            missing[edge.target().index()] += 1;
        }
        let ready = self.ids().filter(|id| missing[id.index()] == 0).map(std::cmp::Reverse);
        let mut ready: BinaryHeap<_> = ready.collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(std::cmp::Reverse(id)) = ready.pop() {
            order.push(id);
            for edge in self.nodes.edges_directed(self.place(id), Outgoing) {
                let left = &mut missing[edge.target().index()];
                *left -= 1;
                if *left == 0 {
                    ready.push(std::cmp::Reverse(self.id_of(edge.target())));
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

    /// The first node of a strongly connected component of several nodes, or that reads itself.
    fn on_cycle(&self) -> NodeId {
        let components = petgraph::algo::tarjan_scc(&self.nodes);
        let cyclic = components
            .iter()
            .filter(|c| c.len() > 1 || c.iter().any(|&n| self.nodes.contains_edge(n, n)))
            .filter_map(|c| c.iter().min());
        self.id_of(cyclic.min().copied().unwrap_or_default())
    }

    /// Removes the nodes that no Result and no other root depends on. Parameters are kept: they are the signature of
    /// the model.
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
            todo.extend(
                self.nodes.neighbors_directed(self.place(id), Incoming).map(|index| self.id_of(index)),
            );
        }
        if alive.iter().filter(|&&alive| alive).count() == self.len() {
            return;
        }
        // Rebuilt at once with the same ids: removing nodes singly walks the edges of hub nodes repeatedly.
        let nodes = std::mem::take(&mut self.nodes);
        self.nodes = nodes.filter_map_owned(|n, node| alive[n.index()].then_some(node), |_, wire| Some(wire));
    }
}

impl AsRef<Graph> for Graph {
    fn as_ref(&self) -> &Graph {
        self
    }
}

/// Equal as models: the same nodes in the same order, with equal names, ops, versions, connections and metadata.
/// Locations, declared ports of known ops, and facts (which follow from the rest) are ignored.
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
