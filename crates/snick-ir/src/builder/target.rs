//! Where a builder adds nodes: to a graph, or to a patch of a graph that stays as it is.
//!
//! The methods of a builder take `&self`, so that calls can be nested. The values that they return refer to
//! nodes by number; references to facts stay valid while nodes are added.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use petgraph::stable_graph::NodeIndex;
use snick_shape::{Origin, Symbols};
use snick_tensor::SmallVector;

use super::append_only::AppendOnly;
use super::{BuildMode, MAX_OUTPUTS};
use crate::infer::infer_new;
use crate::{Fact, Graph, Node, NodeId, Op, OpError, Output, Value};

/// Where a builder adds nodes.
pub(super) enum Target<'g> {
    /// Adds nodes to a graph at once.
    Graph(Box<Building<'g>>),
    /// Collects nodes, and leaves the graph as it is.
    Patch(NewNodes<'g>),
}

/// A graph that is being built.
pub(super) struct Building<'g> {
    graph: RefCell<GraphRef<'g>>,
    added: RefCell<SmallVector<NodeId, 8>>,
    /// Copies of facts that callers hold references to.
    facts: AppendOnly<Fact>,
    /// The position of each copied fact.
    copied: RefCell<HashMap<Value, usize>>,
    /// Copies of the graph that callers hold references to.
    copies: AppendOnly<Graph>,
    /// Whether the last copy is up to date.
    is_copied: Cell<bool>,
}

enum GraphRef<'g> {
    Owned(Box<Graph>),
    Borrowed(&'g mut Graph),
}

impl Deref for GraphRef<'_> {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        match self {
            Self::Owned(graph) => graph,
            Self::Borrowed(graph) => graph,
        }
    }
}

impl DerefMut for GraphRef<'_> {
    fn deref_mut(&mut self) -> &mut Graph {
        match self {
            Self::Owned(graph) => graph,
            Self::Borrowed(graph) => graph,
        }
    }
}

impl Target<'static> {
    /// A new graph.
    pub(super) fn owned(graph: Graph) -> Self {
        Self::Graph(Box::new(Building::new(GraphRef::Owned(Box::new(graph)))))
    }
}

impl<'g> Target<'g> {
    /// An existing graph.
    pub(super) fn borrowed(graph: &'g mut Graph) -> Self {
        Self::Graph(Box::new(Building::new(GraphRef::Borrowed(graph))))
    }

    /// New nodes for an existing graph.
    pub(super) fn patch(graph: &'g Graph) -> Self {
        Self::Patch(NewNodes::new(graph))
    }

    /// Reads the graph, without the new nodes of a patch.
    pub(super) fn with_graph<R>(&self, read: impl FnOnce(&Graph) -> R) -> R {
        match self {
            Self::Graph(building) => read(&building.graph.borrow()),
            Self::Patch(new) => read(new.graph),
        }
    }

    /// Reads the symbols.
    pub(super) fn with_symbols<R>(&self, read: impl FnOnce(&Symbols) -> R) -> R {
        match self {
            Self::Graph(building) => read(building.graph.borrow().symbols()),
            Self::Patch(new) => match &*new.symbols.borrow() {
                Some(symbols) => read(symbols),
                None => read(new.graph.symbols()),
            },
        }
    }

    pub(super) fn symbols_mut(&mut self) -> &mut Symbols {
        match self {
            Self::Graph(building) => {
                building.is_copied.set(false);
                &mut building.graph.get_mut().symbols
            }
            Self::Patch(new) => new.symbols.get_mut().get_or_insert_with(|| new.graph.symbols.clone()),
        }
    }

    /// Reads the op of a node.
    pub(super) fn with_op<R>(&self, id: NodeId, read: impl FnOnce(&Op) -> R) -> Option<R> {
        match self {
            Self::Graph(building) => building.graph.borrow().get(id).map(|node| read(node.op())),
            Self::Patch(new) => match new.get(id) {
                Some(new) => Some(read(&new.node.op)),
                None => new.graph.get(id).map(|node| read(node.op())),
            },
        }
    }

    /// Reads the fact of a value.
    pub(super) fn with_fact<R>(&self, value: Value, read: impl FnOnce(&Fact) -> R) -> Option<R> {
        match self {
            Self::Graph(building) => building.graph.borrow().fact(value).map(read),
            Self::Patch(new) => new.fact(value).map(read),
        }
    }

    /// The fact of a value. The reference stays valid while nodes are added.
    pub(super) fn fact(&self, value: Value) -> Option<&Fact> {
        match self {
            Self::Graph(building) => building.fact(value),
            Self::Patch(new) => new.fact(value),
        }
    }

    /// The nodes added so far, in order.
    pub(super) fn added(&self) -> Vec<NodeId> {
        match self {
            Self::Graph(building) => building.added.borrow().to_vec(),
            Self::Patch(new) => (0..new.nodes.len()).map(|at| new.id(at)).collect(),
        }
    }

    /// Adds a node with at least `outputs` outputs.
    pub(super) fn add(
        &self,
        node: Node,
        inputs: &[Value],
        outputs: usize,
        mode: BuildMode,
    ) -> Result<NodeId, OpError> {
        match self {
            Self::Graph(building) => building.add(node, inputs, outputs, mode),
            Self::Patch(new) => new.add(node, inputs, outputs),
        }
    }
}

impl<'g> Building<'g> {
    fn new(graph: GraphRef<'g>) -> Self {
        Self {
            graph: RefCell::new(graph),
            added: RefCell::default(),
            facts: AppendOnly::default(),
            copied: RefCell::default(),
            copies: AppendOnly::default(),
            is_copied: Cell::new(false),
        }
    }

    /// A copy of the graph, which is up to date until the next node is added.
    pub(super) fn copy(&self) -> &Graph {
        let last = self.copies.last().filter(|_| self.is_copied.get());
        last.unwrap_or_else(|| {
            self.is_copied.set(true);
            self.copies.push(self.graph.borrow().clone())
        })
    }

    /// Takes the graph, and leaves an empty one.
    pub(super) fn take(&mut self) -> Graph {
        std::mem::take(self.graph.get_mut())
    }

    fn fact(&self, value: Value) -> Option<&Fact> {
        if let Some(&at) = self.copied.borrow().get(&value) {
            return self.facts.get(at);
        }
        let fact = self.graph.borrow().fact(value)?.clone();
        self.copied.borrow_mut().insert(value, self.facts.len());
        Some(self.facts.push(fact))
    }

    fn add(&self, node: Node, inputs: &[Value], outputs: usize, mode: BuildMode) -> Result<NodeId, OpError> {
        if mode == BuildMode::Lenient && outputs > MAX_OUTPUTS {
            let (count, expected) =
                (i64::try_from(outputs).unwrap_or(i64::MAX), format!("at most {MAX_OUTPUTS}"));
            return Err(OpError::out_of_range("the number of outputs", count, expected));
        }
        let graph = &mut *self.graph.borrow_mut();
        self.is_copied.set(false);
        let id = graph.add_wired(node, inputs);
        let inferred = graph.infer_node(id).map_err(|located| located.error);
        let place = graph.place(id);
        let outs = &mut graph.nodes[place].outs;
        let checked = match mode {
            BuildMode::Lenient => {
                outs.resize_with(outs.len().max(outputs), Output::unknown);
                Ok(())
            }
            BuildMode::Checked => inferred.and_then(|()| has_outputs(outs.len(), outputs)),
        };
        match checked {
            Ok(()) => self.added.borrow_mut().push(id),
            Err(_) => drop(graph.remove(id)),
        }
        checked.map(|()| id)
    }
}

fn has_outputs(found: usize, expected: usize) -> Result<(), OpError> {
    match found < expected {
        true => Err(OpError::mismatch("the number of outputs", found, format!("{expected} or more"))),
        false => Ok(()),
    }
}

/// The new nodes of a patch. Each has an id that no node of the graph has; [`NewNodes::add_to`] replaces it.
pub(crate) struct NewNodes<'g> {
    graph: &'g Graph,
    nodes: AppendOnly<NewNode>,
    /// The symbols of the graph and of the new nodes, once there are new nodes.
    symbols: RefCell<Option<Symbols>>,
    /// The index of the first new node.
    first: OnceCell<usize>,
}

/// A node that is not part of a graph yet.
pub(crate) struct NewNode {
    pub(crate) node: Node,
    pub(crate) inputs: SmallVector<Value, 4>,
}

impl<'g> NewNodes<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self { graph, nodes: AppendOnly::default(), symbols: RefCell::default(), first: OnceCell::new() }
    }

    fn first(&self) -> usize {
        *self.first.get_or_init(|| self.graph.bound())
    }

    fn id(&self, at: usize) -> NodeId {
        self.graph.id_of(NodeIndex::new(self.first() + at))
    }

    /// The new node with this id.
    pub(crate) fn get(&self, id: NodeId) -> Option<&NewNode> {
        let at = id.index().checked_sub(*self.first.get()?)?;
        self.nodes.get(at).filter(|_| self.id(at) == id)
    }

    fn fact(&self, value: Value) -> Option<&Fact> {
        match self.get(value.node) {
            Some(new) => new.node.outs.get(value.port as usize).map(|out| &out.fact),
            None => self.graph.fact(value),
        }
    }

    fn add(&self, mut node: Node, inputs: &[Value], outputs: usize) -> Result<NodeId, OpError> {
        let facts: SmallVector<&Fact, 5> = inputs.iter().filter_map(|&input| self.fact(input)).collect();
        let id = self.id(self.nodes.len());
        let symbols = &mut *self.symbols.borrow_mut();
        let symbols = symbols.get_or_insert_with(|| self.graph.symbols.clone());
        infer_new(&mut node, id, &facts, symbols)
            .map_err(|error| self.graph.with_origins(inputs.iter().copied(), error))?;
        has_outputs(node.outs.len(), outputs)?;
        self.nodes.push(NewNode { node, inputs: SmallVector::from_slice(inputs) });
        Ok(id)
    }

    /// The graph without the new nodes.
    pub(super) fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Whether no node was added, not even one that failed inference.
    pub(crate) fn is_unused(&self) -> bool {
        self.first.get().is_none()
    }

    /// Removes and returns the new nodes.
    pub(super) fn take(&mut self) -> DetachedNodes {
        let Self { nodes, symbols, first, .. } = std::mem::replace(self, Self::new(self.graph));
        DetachedNodes { nodes, symbols: symbols.into_inner(), first: first.into_inner().unwrap_or(0) }
    }

    /// A copy of the graph with the new nodes.
    pub(super) fn applied(&mut self) -> Graph {
        let mut graph = self.graph.clone();
        self.take().add_to(&mut graph, &mut []);
        graph
    }
}

/// New nodes, to be added to their graph.
#[derive(Default)]
pub(crate) struct DetachedNodes {
    nodes: AppendOnly<NewNode>,
    symbols: Option<Symbols>,
    first: usize,
}

impl DetachedNodes {
    /// Adds the nodes to the graph that they were inferred for, and replaces their ids in `values`. Returns
    /// the ids in the graph.
    pub(crate) fn add_to(self, graph: &mut Graph, values: &mut [Option<Value>]) -> SmallVector<NodeId, 8> {
        let Self { nodes, symbols, first } = self;
        let mut added: SmallVector<NodeId, 8> = SmallVector::new();
        let known = graph.symbols.len();
        for NewNode { node, mut inputs } in nodes.into_elements() {
            let owner = graph.id_of(NodeIndex::end());
            inputs.iter_mut().for_each(|value| *value = placed(*value, owner, first, &added));
            added.push(graph.add_wired(node, &inputs));
        }
        let owner = graph.id_of(NodeIndex::end());
        values.iter_mut().flatten().for_each(|value| *value = placed(*value, owner, first, &added));
        if let Some(mut symbols) = symbols {
            for symbol in symbols.ids().skip(known) {
                let origin = symbols.origin(symbol);
                let at = (origin.node as usize).checked_sub(first).and_then(|at| added.get(at));
                let node = at.and_then(|id| u32::try_from(id.index()).ok());
                if let Some(node) = node.filter(|&node| node != origin.node) {
                    symbols.set_origin(symbol, Origin { node, ..origin });
                }
            }
            graph.symbols = symbols;
        }
        added
    }
}

/// The value in the graph for a value of a patch. `owner` is any id of the graph.
fn placed(value: Value, owner: NodeId, first: usize, added: &[NodeId]) -> Value {
    let at = value.node.index().checked_sub(first).filter(|_| value.node.is_of_graph(owner));
    match at.and_then(|at| added.get(at)) {
        Some(&node) => Value { node, ..value },
        None => value,
    }
}
