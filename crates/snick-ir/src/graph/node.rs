//! Nodes and their parts.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use petgraph::stable_graph::NodeIndex;
use snick_tensor::{ElementType, SmallVector};

use super::Graph;
use crate::{Attrs, Fact, Info, Op, Version};

/// The id of a node. Ids do not imply an order of execution; see [`Graph::order`].
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %relu = ReLU-1(%x)\n  %y = Result-1(%relu)\n}\n";
/// let graph = snick::text::parse(text, None)?;
/// let relu = graph.find("relu").expect("a layer of this name");
/// assert_eq!(graph.node(relu).name(), "relu");
/// assert_eq!(graph.order()?[1], relu);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    pub(crate) index: NodeIndex,
    pub(super) graph: GraphId,
}

impl NodeId {
    /// An index for side tables, below [`Graph::bound`].
    #[inline]
    pub fn index(self) -> usize {
        self.index.index()
    }

    /// Whether both ids belong to the same graph.
    pub(crate) fn is_of_graph(self, other: Self) -> bool {
        self.graph == other.graph
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({})", self.index())
    }
}

/// Distinguishes graphs, so that an id cannot be used with the wrong graph. Copies of a graph keep its ids.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct GraphId(u32);

impl Default for GraphId {
    /// A unique id.
    fn default() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// An output of a node.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %relu = ReLU-1(%x)\n  %y = Result-1(%relu)\n}\n";
/// let graph = snick::text::parse(text, None)?;
/// let relu = graph.node(graph.find("relu").expect("layer"));
/// let value = relu.output(0).expect("its output");
/// assert_eq!((value.node, value.port), (relu.id(), 0));
/// assert_eq!(graph.uses(value).len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value {
    /// The node.
    pub node: NodeId,
    /// The output port, from 0.
    pub port: u32,
}

/// Line and column in the source, both from 1; 0 if unknown.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %relu = ReLU-1(%x)\n  %y = Result-1(%relu)\n}\n";
/// let graph = snick::text::parse(text, None)?;
/// let relu = graph.node(graph.find("relu").expect("layer"));
/// assert_eq!((relu.loc().line, relu.loc().to_string()), (4, "4:3".to_string()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Loc {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl Loc {
    /// The location as `12:3`, if known.
    ///
    /// ```
    /// use snick::Loc;
    ///
    /// assert_eq!(Loc { line: 12, column: 3 }.text().as_deref(), Some("12:3"));
    /// assert_eq!(Loc::default().text(), None);
    /// ```
    pub fn text(self) -> Option<String> {
        (self.line > 0).then(|| self.to_string())
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Port numbers in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortIds {
    /// Consecutive numbers, starting with this one.
    From(u32),
    /// Arbitrary numbers.
    Listed(Box<[u32]>),
}

impl PortIds {
    /// Port numbers from a list of the numbers of all ports, in order.
    pub fn new(ids: &[u32]) -> Self {
        match ids.first() {
            None => Self::From(0),
            Some(&first) if ids.iter().zip(first..).all(|(&id, want)| id == want) => Self::From(first),
            Some(_) => Self::Listed(ids.into()),
        }
    }

    /// The number of port `i`.
    #[inline]
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
    /// The element type; `Dynamic` if not declared.
    pub element_type: ElementType,
    /// The dims, -1 if dynamic; `None` for a dynamic rank.
    pub dims: Option<SmallVector<i64, 4>>,
}

/// An output port of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// The inferred fact; unknown before inference.
    pub fact: Fact,
    /// Tensor names.
    pub names: Vec<String>,
    /// The declaration in the file.
    pub declared: Option<Declared>,
}

impl Output {
    /// An output with an unknown fact.
    pub fn unknown() -> Self {
        Self { fact: Fact::unknown(), names: Vec::new(), declared: None }
    }

    /// Tensor names; may be empty.
    #[inline]
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Details that few nodes have.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Details {
    /// Input port numbers in the file, unless they count from 0.
    pub input_ids: Option<PortIds>,
    /// Output port numbers in the file; `None` if they continue the input port numbers.
    pub output_ids: Option<PortIds>,
    /// Attributes that the op does not declare.
    pub extra: Attrs<'static>,
    /// `rt_info` and other metadata of the layer.
    pub info: Vec<Info>,
}

/// A layer: an op, its outputs, its name and location.
///
/// ```
/// use snick::{ops, Graph, Node, Op};
///
/// let mut graph = Graph::new("g");
/// let id = graph.add(Node::new("sum", Op::from(ops::Add::default())));
/// assert_eq!(graph.node(id).name(), "sum");
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    /// Layer name; not necessarily unique.
    pub name: Arc<str>,
    /// The op.
    pub op: Op,
    /// The operation set in the file.
    pub version: Version,
    /// Outputs by port.
    pub outs: SmallVector<Output, 1>,
    /// The location in the source.
    pub loc: Loc,
    /// Rare details.
    pub details: Option<Box<Details>>,
}

impl Node {
    /// A node without outputs; [`Graph::infer_node`] or the reader adds them.
    pub fn new(name: impl Into<Arc<str>>, op: Op) -> Self {
        let version = op.default_version();
        Self { name: name.into(), op, version, outs: SmallVector::new(), loc: Loc::default(), details: None }
    }

    /// The details, created on demand.
    pub fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_with(Box::default)
    }
}

/// A reference to a node of a graph.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %relu = ReLU-1(%x)\n  %y = Result-1(%relu)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let relu = graph.node(graph.find("relu").expect("layer"));
/// assert_eq!((relu.name(), relu.op().type_name()), ("relu", "ReLU"));
/// let producer = relu.input(0).expect("input 0 is connected").node;
/// assert_eq!(graph.node(producer).name(), "x");
/// let fact = relu.outputs().next().expect("an output");
/// assert_eq!(fact.shape().display(graph.symbols()).to_string(), "[N,4]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, Debug)]
pub struct NodeRef<'g> {
    pub(super) graph: &'g Graph,
    pub(super) id: NodeId,
    pub(super) data: &'g Node,
}

impl<'g> NodeRef<'g> {
    /// The id.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The layer name; not necessarily unique.
    #[inline]
    pub fn name(self) -> &'g str {
        &self.data.name
    }

    /// The layer name, shared.
    pub fn shared_name(self) -> Arc<str> {
        self.data.name.clone()
    }

    /// The op.
    #[inline]
    pub fn op(self) -> &'g Op {
        &self.data.op
    }

    /// The operation set in the file.
    #[inline]
    pub fn version(self) -> &'g Version {
        &self.data.version
    }

    /// The location in the source.
    #[inline]
    pub fn loc(self) -> Loc {
        self.data.loc
    }

    /// The values that the node reads, in order of ports, excluding unconnected ports.
    pub fn inputs(self) -> impl ExactSizeIterator<Item = Value> + use<> {
        let inputs: SmallVector<Value, 5> = self.graph.inputs(self.id).into_iter().flatten().collect();
        inputs.into_iter()
    }

    /// The value at input `port`, if one is connected.
    pub fn input(self, port: usize) -> Option<Value> {
        self.graph.inputs(self.id).get(port).copied().flatten()
    }

    /// The facts of the outputs, by port; unknown before inference.
    #[inline]
    pub fn outputs(self) -> impl ExactSizeIterator<Item = &'g Fact> {
        self.data.outs.iter().map(|out| &out.fact)
    }

    /// Output `port` as a value.
    pub fn output(self, port: usize) -> Option<Value> {
        let port = (port < self.data.outs.len()).then(|| u32::try_from(port).ok())?;
        port.map(|port| Value { node: self.id, port })
    }

    /// The outputs, by port, with their declarations in the file.
    #[inline]
    pub fn outs(self) -> &'g [Output] {
        &self.data.outs
    }

    /// Rare details.
    #[inline]
    pub fn details(self) -> Option<&'g Details> {
        self.data.details.as_deref()
    }

    /// The output port numbers in the file; `None` if they continue the input port numbers.
    pub fn output_ids(self) -> Option<&'g PortIds> {
        self.data.details.as_ref()?.output_ids.as_ref()
    }

    /// The number of output port `i` in the file. If the file does not specify it, output ports are numbered
    /// after the `inputs` input ports, as in OpenVINO IR.
    pub fn output_id(self, i: usize, inputs: usize) -> u32 {
        match self.output_ids() {
            Some(ids) => ids.id(i),
            None => u32::try_from(inputs + i).unwrap_or(u32::MAX),
        }
    }

    /// A copy that can be added to another graph.
    pub fn to_node(self) -> Node {
        self.data.clone()
    }
}
