//! The graph: nodes, connections, and the only methods that change them.
//!
//! It wraps a petgraph whose edges carry (output port, input port); the interface uses [`Value`]s. Nodes are never
//! renumbered while passes run; the text form uses names only.

use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

use petgraph::Direction::{Incoming, Outgoing};
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::{EdgeRef, IntoEdgeReferences};
use smallvec::SmallVec;
use snick_shape::Symbols;
use snick_tensor::ElementType;

use crate::{Attrs, Fact, Info, Located, Op, OpError, OpTraits, Version};

/// The id of a node. It says nothing about the order of execution, which is [`Graph::order`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(NodeIndex);

impl NodeId {
    /// An index for side tables, below [`Graph::bound`].
    pub fn index(self) -> usize {
        self.0.index()
    }

    pub(crate) fn petgraph(self) -> NodeIndex {
        self.0
    }
}

impl From<NodeIndex> for NodeId {
    fn from(index: NodeIndex) -> Self {
        Self(index)
    }
}

/// An output of a node, which inputs of others read.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value {
    /// The node.
    pub node: NodeId,
    /// The output port, from 0.
    pub port: u32,
}

/// Line and column in the source, both from 1; 0 if unknown.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Loc {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Port numbers in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortIds {
    /// Consecutive from this number.
    From(u32),
    /// Other numbers.
    Listed(Box<[u32]>),
}

impl PortIds {
    /// Makes port numbers from those of all ports, in order.
    pub fn new(ids: &[u32]) -> Self {
        match ids.first() {
            None => Self::From(0),
            Some(&first) if ids.iter().zip(first..).all(|(&id, want)| id == want) => Self::From(first),
            Some(_) => Self::Listed(ids.into()),
        }
    }

    /// The number of port `i`.
    pub fn id(&self, i: usize) -> u32 {
        match self {
            Self::From(first) => first.saturating_add(u32::try_from(i).unwrap_or(u32::MAX)),
            Self::Listed(ids) => ids.get(i).copied().unwrap_or(u32::MAX),
        }
    }

    /// The position of a port number among `count` ports.
    pub fn position(&self, id: u32, count: usize) -> Option<usize> {
        match self {
            Self::From(first) => id.checked_sub(*first).map(|i| i as usize).filter(|&i| i < count),
            Self::Listed(ids) => ids.iter().position(|&i| i == id),
        }
    }
}

/// The declaration of an output port in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declared {
    /// The element type; `Dynamic` if there is none.
    pub element_type: ElementType,
    /// The dims, -1 if dynamic; `None` for a dynamic rank.
    pub dims: Option<SmallVec<[i64; 4]>>,
}

/// An output port of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// The inferred fact; unknown before inference.
    pub fact: Fact,
    /// Tensor names.
    pub names: Option<Box<[String]>>,
    /// The declaration in the file.
    pub declared: Option<Declared>,
}

impl Output {
    /// An output with an unknown fact.
    pub fn unknown() -> Self {
        Self { fact: Fact::unknown(), names: None, declared: None }
    }

    /// Tensor names; may be empty.
    pub fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }
}

/// Rare details of a node.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Details {
    /// Input port numbers in the file, if they do not count from 0.
    pub input_ids: Option<PortIds>,
    /// Attributes that the op does not declare.
    pub extra: Attrs<'static>,
    /// `rt_info` and other metadata of the layer.
    pub info: Vec<Info>,
}

/// A layer: an op, its outputs, its name and location.
#[derive(Clone, Debug)]
pub struct Node {
    /// Layer name; need not be unique.
    pub name: Arc<str>,
    /// The op.
    pub op: Op,
    /// The operation set in the file.
    pub version: Version,
    /// Outputs by port.
    pub outs: SmallVec<[Output; 1]>,
    /// Output port numbers in the file; `None` if they continue those of the inputs.
    pub output_ids: Option<PortIds>,
    /// The location in the source.
    pub loc: Loc,
    /// Rare details.
    pub details: Option<Box<Details>>,
}

impl Node {
    /// A node without outputs; [`Graph::infer_node`] or the reader adds them.
    pub fn new(name: impl Into<Arc<str>>, op: Op) -> Self {
        let version = op.default_version();
        Self {
            name: name.into(),
            op,
            version,
            outs: SmallVec::new(),
            output_ids: None,
            loc: Loc::default(),
            details: None,
        }
    }

    /// The details, created if there are none.
    pub fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_with(Box::default)
    }

    /// The number of output port `i` in the file, or in an OpenVINO IR that would be written.
    pub fn output_id(&self, i: usize, inputs: usize) -> u32 {
        match &self.output_ids {
            Some(ids) => ids.id(i),
            None => u32::try_from(inputs + i).unwrap_or(u32::MAX),
        }
    }
}

/// Output port of the source, input port of the target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wire {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// A model or a sub-graph body.
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
    pub(crate) nodes: StableDiGraph<Node, Wire>,
    pub(crate) symbols: Symbols,
}

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

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest [`NodeId::index`].
    pub fn bound(&self) -> usize {
        self.nodes.node_indices().next_back().map_or(0, |i| i.index() + 1)
    }

    /// The symbols of the facts.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Adds a node without inputs; see [`Graph::connect`].
    pub fn add(&mut self, node: Node) -> NodeId {
        NodeId(self.nodes.add_node(node))
    }

    /// Connects `value` to input `port` of `node`, replacing what was connected.
    pub fn connect(&mut self, value: Value, node: NodeId, port: u32) {
        let old = self.nodes.edges_directed(node.0, Incoming).find(|e| e.weight().to == port).map(|e| e.id());
        if let Some(old) = old {
            self.nodes.remove_edge(old);
        }
        self.nodes.add_edge(value.node.0, node.0, Wire { from: value.port, to: port });
    }

    /// Adds a node that reads `inputs`.
    pub fn add_wired(&mut self, node: Node, inputs: &[Value]) -> NodeId {
        let id = self.add(node);
        for (port, &value) in (0..).zip(inputs) {
            self.nodes.add_edge(value.node.0, id.0, Wire { from: value.port, to: port });
        }
        id
    }

    /// The node, if it exists.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.node_weight(id.0)
    }

    /// The node. It must exist: the caller must not keep ids of removed nodes.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    /// The node, to change its names and metadata.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0]
    }

    /// The output that a value refers to.
    pub fn output(&self, value: Value) -> Option<&Output> {
        self.nodes[value.node.0].outs.get(value.port as usize)
    }

    /// The fact of a value.
    pub fn fact(&self, value: Value) -> Option<&Fact> {
        self.output(value).map(|o| &o.fact)
    }

    /// All nodes in order of their ids.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.nodes.node_indices().map(NodeId)
    }

    /// Inputs of a node by port.
    pub fn inputs(&self, id: NodeId) -> Inputs {
        let mut inputs = Inputs::new();
        for edge in self.nodes.edges_directed(id.0, Incoming) {
            let port = edge.weight().to as usize;
            if port >= inputs.len() {
                inputs.resize(port + 1, None);
            }
            inputs[port] = Some(Value { node: NodeId(edge.source()), port: edge.weight().from });
        }
        inputs
    }

    /// The readers of a value: (node, input port), in order.
    pub fn uses(&self, value: Value) -> SmallVec<[(NodeId, u32); 4]> {
        let edges = self.nodes.edges_directed(value.node.0, Outgoing);
        let mut uses: SmallVec<[(NodeId, u32); 4]> = edges
            .filter(|e| e.weight().from == value.port)
            .map(|e| (NodeId(e.target()), e.weight().to))
            .collect();
        uses.sort_unstable();
        uses
    }

    /// Makes every reader of `old` read `new`.
    pub fn replace_uses(&mut self, old: Value, new: Value) {
        self.move_uses(old, new);
    }

    /// [`Graph::replace_uses`] that also moves the tensor names. Returns the reader of each use.
    pub fn replace_uses_with_names(&mut self, old: Value, new: Value) -> SmallVec<[NodeId; 4]> {
        let names = self.nodes[old.node.0].outs.get_mut(old.port as usize).and_then(|out| out.names.take());
        if let (Some(names), Some(out)) = (names, self.nodes[new.node.0].outs.get_mut(new.port as usize)) {
            let mut all = out.names.take().map(Vec::from).unwrap_or_default();
            all.extend(names);
            out.names = Some(all.into());
        }
        self.move_uses(old, new)
    }

    /// [`Graph::replace_uses`]; returns the reader of each use.
    fn move_uses(&mut self, old: Value, new: Value) -> SmallVec<[NodeId; 4]> {
        let edges = self.nodes.edges_directed(old.node.0, Outgoing);
        let moved: SmallVec<[_; 4]> = edges
            .filter(|e| e.weight().from == old.port)
            .map(|e| (e.id(), e.target(), e.weight().to))
            .collect();
        let wire = |(edge, target, to)| {
            self.nodes.remove_edge(edge);
            self.nodes.add_edge(new.node.0, target, Wire { from: new.port, to });
            NodeId(target)
        };
        moved.into_iter().map(wire).collect()
    }

    /// Parameters in order of their ids: the model's inputs in file order.
    pub fn parameters(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids().filter(|&id| matches!(self.node(id).op, Op::Parameter(_)))
    }

    /// Results in order of their ids: the model's outputs in file order.
    pub fn results(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids().filter(|&id| matches!(self.node(id).op, Op::Result(_)))
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
            for edge in self.nodes.edges_directed(id.0, Outgoing) {
                let left = &mut missing[edge.target().index()];
                *left -= 1;
                if *left == 0 {
                    ready.push(std::cmp::Reverse(NodeId(edge.target())));
                }
            }
        }
        if order.len() != self.len() {
            return Err(self.located(self.on_cycle(), OpError::Cycle));
        }
        let (results, mut order): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|&id| matches!(self.node(id).op, Op::Result(_)));
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
        NodeId(cyclic.min().copied().unwrap_or_default())
    }

    /// Removes the nodes that no Result and no other root depends on. Parameters are kept: they are the signature of
    /// the model.
    pub fn remove_dead_nodes(&mut self) {
        let mut alive = vec![false; self.bound()];
        let mut todo: Vec<NodeId> = self.ids().filter(|&id| self.node(id).op.has(OpTraits::ROOT)).collect();
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut alive[id.index()], true) {
                continue;
            }
            todo.extend(self.nodes.neighbors_directed(id.0, Incoming).map(NodeId));
        }
        if alive.iter().filter(|&&alive| alive).count() == self.len() {
            return;
        }
        // Rebuilt at once with the same ids: removing nodes singly walks the edges of hub nodes repeatedly.
        let nodes = std::mem::take(&mut self.nodes);
        self.nodes = nodes.filter_map_owned(|n, node| alive[n.index()].then_some(node), |_, wire| Some(wire));
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
                |n: &Node| -> Vec<Vec<String>> { n.outs.iter().map(|o| o.names().to_vec()).collect() };
            x.name == y.name
                && x.op == y.op
                && x.version == y.version
                && x.details == y.details
                && names(x) == names(y)
                && wired(&self.inputs(a), &place) == wired(&other.inputs(b), &their_place)
        })
    }
}
