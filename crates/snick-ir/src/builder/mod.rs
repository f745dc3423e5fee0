//! The graph builder adds nodes, infers their outputs, and returns these as values.
//!
//! Users, rewrites ([`Patch`](crate::rewrite::Patch)) and readers all build graphs with it. Ops are typed, so
//! a typo is a compile error. Frequent ops have short forms such as `b.add(x, y)?`; [`GraphBuilder::op`] adds
//! any op.

mod append_only;
mod by_name;
mod elementwise;
mod masks;
mod movement;
mod reduction;
mod resample;
mod shape;
mod slice;
mod target;
#[cfg(test)]
mod tests;
mod versions;

use std::fmt;
use std::sync::Arc;

use snick_shape::{Interval, ShapeSpec, SymExpr, Symbols};
use snick_tensor::{ElementType, Tensor, TensorError};

use crate::ops::source::constant::Constant;
use crate::ops::source::parameter::Parameter;
use crate::ops::source::result::GraphResult;
use crate::{Fact, Graph, Loc, Located, Node, NodeId, Op, OpError, Value};

pub use self::masks::StridedSliceMasks;
pub use self::resample::{CoordinateTransformation, Resampling, ResizeKernel, ResizeRules, ResizeTarget};
use self::target::Target;
pub(crate) use self::target::{DetachedNodes, NewNode, NewNodes};

/// What the builder does when a new node fails inference.
///
/// ```
/// use snick::{ElementType, GraphBuilder};
///
/// // The default, `Checked`: does not add a layer that fails inference.
/// let b = GraphBuilder::new("g");
/// let x = b.parameter("x", ElementType::F32, "2,3")?;
/// let y = b.parameter("y", ElementType::F32, "2,4")?;
/// assert!(b.add(x, y).is_err());
/// assert_eq!(b.finish()?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum BuildMode {
    /// Removes the node and returns the error.
    #[default]
    Checked,
    /// Keeps the node with unknown outputs. For readers: inferring the whole graph reports the error later.
    Lenient,
}

/// Limit on the outputs of a node in [`BuildMode::Lenient`], so that a corrupt file cannot exhaust memory.
/// Real layers have far fewer.
const MAX_OUTPUTS: usize = 1 << 16;

/// Builds a new graph or adds to a borrowed one.
///
/// ```
/// use snick::{ops, ElementType, GraphBuilder, StridedSliceMasks};
///
/// let b = GraphBuilder::new("crop");
/// let x = b.parameter("x", ElementType::F32, "N,3,H=16..64,W")?;
/// let masks = StridedSliceMasks::new().begin([1, 1, 0]).end([1, 1, 0]);
/// let y = b.strided_slice(x, &[0, 0, 1], &[0, 0, -1], &[1, 1, 2], masks)?;
/// assert_eq!(b.fact(y)?.shape.rank(), Some(4));
/// let z = b.op("sum", ops::Add::default(), &[y, y])?; // any op by its struct
/// let z = b.multiply(z, y)?; // a short form
/// b.result("out", z)?;
/// let graph = b.finish()?;
/// assert_eq!(graph.results().count(), 1);
///
/// let other = GraphBuilder::new("other");
/// assert!(other.relu(z).is_err()); // a value of another graph
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The methods take `&self`, so calls can be nested:
///
/// ```
/// use snick::GraphBuilder;
/// use snick::{ElementType, Tensor};
///
/// let b = GraphBuilder::new("scaled");
/// let x = b.parameter("x", ElementType::F32, "N,4")?;
/// let y = b.add(b.relu(x)?, b.multiply(b.exp(x)?, b.constant(Tensor::scalar(0.5f32))?)?)?;
/// b.result("y", y)?;
/// assert_eq!(b.finish()?.len(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GraphBuilder<'g> {
    target: Target<'g>,
    mode: BuildMode,
    scope: Scope,
    loc: Loc,
}

impl fmt::Debug for GraphBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, scope, loc, .. } = self;
        f.debug_struct("GraphBuilder")
            .field("mode", mode)
            .field("scope", scope)
            .field("loc", loc)
            .finish_non_exhaustive()
    }
}

/// The prefix for names of new nodes.
#[derive(Debug)]
enum Scope {
    /// Names have no prefix.
    Global,
    /// Names have this prefix.
    Named(Arc<str>),
    /// The prefix is the name of this node. The name is looked up only when a node is added, because most
    /// patches add none.
    Node(NodeId),
}

impl GraphBuilder<'static> {
    /// Builds a new graph.
    pub fn new(name: impl Into<String>) -> Self {
        Self::with_target(Target::owned(Graph::new(name)))
    }
}

impl<'g> GraphBuilder<'g> {
    /// Adds to an existing graph.
    pub fn on(graph: &'g mut Graph) -> Self {
        Self::with_target(Target::borrowed(graph))
    }

    /// Collects nodes that replace `root`, and leaves the graph as it is. Their names are prefixed with the
    /// name of `root`.
    pub(crate) fn patch(graph: &'g Graph, root: NodeId) -> Self {
        let loc = graph.node(root).loc();
        Self { target: Target::patch(graph), mode: BuildMode::Checked, scope: Scope::Node(root), loc }
    }

    fn with_target(target: Target<'g>) -> Self {
        Self { target, mode: BuildMode::Checked, scope: Scope::Global, loc: Loc::default() }
    }

    /// Sets what happens when inference fails.
    #[must_use]
    pub fn mode(self, mode: BuildMode) -> Self {
        Self { mode, ..self }
    }

    /// Prefixes names of new nodes with `scope` and a slash.
    #[must_use]
    pub fn scope(self, scope: impl Into<Arc<str>>) -> Self {
        Self { scope: Scope::Named(scope.into()), ..self }
    }

    fn scope_name(&self) -> Option<Arc<str>> {
        match &self.scope {
            Scope::Global => None,
            Scope::Named(name) => Some(name.clone()),
            Scope::Node(node) => {
                self.target.with_graph(|graph| graph.get(*node).map(|node| node.shared_name()))
            }
        }
    }

    /// Sets the source location of new nodes.
    #[must_use]
    pub fn loc(self, loc: Loc) -> Self {
        Self { loc, ..self }
    }

    /// The graph built so far. In a [`Patch`](crate::rewrite::Patch), the graph without the new nodes.
    ///
    /// The reference stays valid while nodes are added, so the first call after a node was added copies the
    /// graph. To read a single fact, use [`GraphBuilder::fact`], which copies nothing else.
    pub fn graph(&self) -> &Graph {
        match &self.target {
            Target::Graph(building) => building.copy(),
            Target::Patch(new) => new.graph(),
        }
    }

    /// The path of the graph's file, for messages; see [`Graph::source`].
    pub fn source(&self) -> String {
        self.target.with_graph(|graph| graph.source.clone())
    }

    /// The nodes added so far, in order.
    pub fn added(&self) -> Vec<NodeId> {
        self.target.added()
    }

    /// The new nodes of a patch; `None` for a graph that is being built.
    pub(crate) fn new_nodes(&self) -> Option<&NewNodes<'g>> {
        match &self.target {
            Target::Graph(_) => None,
            Target::Patch(new) => Some(new),
        }
    }

    /// Removes and returns the new nodes of a patch.
    pub(crate) fn take_new_nodes(&mut self) -> DetachedNodes {
        match &mut self.target {
            Target::Graph(_) => DetachedNodes::default(),
            Target::Patch(new) => new.take(),
        }
    }

    /// The symbols of the graph, to build expressions.
    pub fn symbols(&mut self) -> &mut Symbols {
        self.target.symbols_mut()
    }

    /// The interval of an expression over the symbols of the graph.
    ///
    /// ```
    /// use snick::GraphBuilder;
    /// use snick::Interval;
    /// use snick::ElementType;
    ///
    /// let b = GraphBuilder::new("g");
    /// let x = b.parameter("x", ElementType::F32, "N=1..8")?;
    /// let n = b.fact(x)?.shape().dims().expect("a rank")[0].clone();
    /// assert_eq!(Some(b.interval(&n)), Interval::new(1, 8));
    /// # Ok::<(), snick::OpError>(())
    /// ```
    pub fn interval(&self, expr: &SymExpr) -> Interval {
        self.target.with_symbols(|symbols| symbols.interval(expr))
    }

    /// The tensor of a Constant; `None` if another op computes the value, or if the weights are missing.
    ///
    /// ```
    /// use snick::GraphBuilder;
    /// use snick::{ElementType, Tensor};
    ///
    /// let b = GraphBuilder::new("g");
    /// let x = b.parameter("x", ElementType::F32, "N")?;
    /// let two = b.constant(Tensor::scalar(2f32))?;
    /// assert_eq!(b.constant_value(two).as_deref(), Some(&Tensor::scalar(2f32)));
    /// assert_eq!(b.constant_value(x), None);
    /// # Ok::<(), snick::OpError>(())
    /// ```
    pub fn constant_value(&self, value: Value) -> Option<Arc<Tensor>> {
        self.target.with_op(value.node, |op| match op {
            Op::Const(Constant::Here(tensor)) => Some(tensor.clone()),
            _ => None,
        })?
    }

    /// The element of a Constant with equal elements, such as a scalar, rounded to f64. `None` for any other
    /// value, for strings, and for a Constant without elements.
    ///
    /// ```
    /// use snick::GraphBuilder;
    /// use snick::Tensor;
    ///
    /// let b = GraphBuilder::new("g");
    /// let halves = b.constant(Tensor::from_vec(&[3], vec![0.5f32; 3])?)?;
    /// assert_eq!(b.splat_value(halves), Some(0.5));
    /// assert_eq!(b.splat_value(b.ints(&[1, 2])?), None);
    /// # Ok::<(), snick::OpError>(())
    /// ```
    pub fn splat_value(&self, value: Value) -> Option<f64> {
        let tensor = self.constant_value(value)?;
        // Most constants differ from their first element near the beginning.
        let corner = |len: usize| {
            let mut part = Tensor::clone(&tensor);
            (0..tensor.rank()).try_for_each(|axis| part.narrow(axis, 0, len.min(tensor.dims()[axis]), 1))?;
            Ok::<_, TensorError>(part)
        };
        let is_filled = |part: &Tensor| -> Result<bool, TensorError> {
            Ok(corner(1)?.broadcast_to(part.dims())? == *part)
        };
        let first = corner(1).ok().filter(|first| !first.is_empty())?;
        let is_splat = is_filled(&corner(2).ok()?).ok()? && is_filled(&tensor).ok()?;
        first.to_f64_vec().ok()?.first().copied().filter(|_| is_splat)
    }

    /// Infers the whole graph and returns it. A borrowed graph is left empty.
    ///
    /// # Errors
    /// The first inference error. In [`BuildMode::Checked`], each node has already passed inference, so only
    /// the values assigned to variables can still cause an error.
    pub fn finish(mut self) -> Result<Graph, Located> {
        let mut graph = match &mut self.target {
            Target::Graph(building) => building.take(),
            Target::Patch(new) => new.applied(),
        };
        match crate::infer(&mut graph).into_iter().next() {
            Some(error) => Err(error),
            None => Ok(graph),
        }
    }

    /// The fact of a value.
    ///
    /// # Errors
    /// [`OpError::ForeignValue`] if the graph has no such value, as for all methods that take values.
    pub fn fact(&self, value: Value) -> Result<&Fact, OpError> {
        self.target.fact(value).ok_or(OpError::ForeignValue)
    }

    /// Reads the fact of a value without copying it.
    fn with_fact<R>(&self, value: Value, read: impl FnOnce(&Fact) -> R) -> Result<R, OpError> {
        self.target.with_fact(value, read).ok_or(OpError::ForeignValue)
    }

    /// The element type of a value, which must be known.
    pub fn element_type(&self, value: Value) -> Result<ElementType, OpError> {
        match self.with_fact(value, |fact| fact.element_type)? {
            ElementType::Dynamic => Err(OpError::unsupported("an input of unknown element type")),
            element_type => Ok(element_type),
        }
    }

    /// The rank of a value, which must be known.
    pub fn rank(&self, value: Value) -> Result<usize, OpError> {
        self.with_fact(value, |fact| fact.shape.rank())?
            .ok_or_else(|| OpError::unsupported("an input of unknown rank"))
    }

    /// Adds an input to the graph. The shape is written as on the command line: `N,3,H=16..64,?`.
    pub fn parameter(&self, name: &str, element_type: ElementType, shape: &str) -> Result<Value, OpError> {
        let bad = |error| OpError::mismatch("the shape", format!("`{shape}`"), format!("a shape: {error}"));
        let shape: ShapeSpec = shape.parse().map_err(bad)?;
        self.op(name, Parameter { element_type, shape }, &[])
    }

    /// Adds an output to the graph.
    pub fn result(&self, name: &str, value: Value) -> Result<NodeId, OpError> {
        Ok(self.op(name, GraphResult, &[value])?.node)
    }

    /// Adds a constant.
    pub fn constant(&self, tensor: impl Into<Arc<Tensor>>) -> Result<Value, OpError> {
        self.add_op(Constant::new(tensor.into()), &[])
    }

    /// Adds a vector of i64.
    pub fn ints(&self, values: &[i64]) -> Result<Value, OpError> {
        self.constant(Tensor::from_vec(&[values.len()], values.to_vec())?)
    }

    /// Adds a scalar of i64.
    pub fn int(&self, value: i64) -> Result<Value, OpError> {
        self.constant(Tensor::scalar(value))
    }

    /// Adds a scalar.
    pub fn scalar(&self, element_type: ElementType, value: f64) -> Result<Value, OpError> {
        self.constant(Tensor::scalar(value).cast(element_type)?)
    }

    /// Adds a scalar with the element type of `like`, which must be known.
    pub fn scalar_like(&self, like: Value, value: f64) -> Result<Value, OpError> {
        let element_type = self.element_type(like)?;
        self.scalar(element_type, value)
    }

    /// Adds a named node; returns its first output.
    pub fn op(&self, name: &str, op: impl Into<Op>, inputs: &[Value]) -> Result<Value, OpError> {
        let name = match self.scope_name() {
            Some(scope) => format!("{scope}/{name}").into(),
            None => Arc::from(name),
        };
        Ok(Value { node: self.add_node(Node::new(name, op.into()), inputs, 1)?, port: 0 })
    }

    /// Adds a node named after its op; returns its first output.
    pub fn add_op(&self, op: impl Into<Op>, inputs: &[Value]) -> Result<Value, OpError> {
        let node = self.named_by_type(op.into());
        Ok(Value { node: self.add_node(node, inputs, 1)?, port: 0 })
    }

    /// Adds a node named after its op; returns its first `N` outputs.
    pub fn add_outputs<const N: usize>(
        &self,
        op: impl Into<Op>,
        inputs: &[Value],
    ) -> Result<[Value; N], OpError> {
        let node = self.named_by_type(op.into());
        let node = self.add_node(node, inputs, N)?;
        Ok(std::array::from_fn(|port| Value { node, port: port_number(port) }))
    }

    /// Adds a node named after its op; returns its first `count` outputs.
    pub fn add_op_with_outputs(
        &self,
        op: impl Into<Op>,
        inputs: &[Value],
        count: usize,
    ) -> Result<Vec<Value>, OpError> {
        let node = self.named_by_type(op.into());
        let node = self.add_node(node, inputs, count)?;
        Ok((0..count).map(|port| Value { node, port: port_number(port) }).collect())
    }

    fn named_by_type(&self, op: Op) -> Node {
        let name = match self.scope_name() {
            Some(scope) => format!("{scope}/{}", op.type_name()),
            None => format!("{}_{}", op.type_name(), self.target.with_graph(Graph::bound)),
        };
        Node::new(name, op)
    }

    /// Adds a node with at least `outputs` outputs. If inference finds fewer, [`BuildMode::Checked`] returns
    /// an error and [`BuildMode::Lenient`] adds unknown outputs. A node without a location gets the location
    /// of the builder.
    pub fn add_node(&self, mut node: Node, inputs: &[Value], outputs: usize) -> Result<NodeId, OpError> {
        inputs.iter().try_for_each(|&input| self.with_fact(input, |_| ()))?;
        if node.loc == Loc::default() {
            node.loc = self.loc;
        }
        self.target.add(node, inputs, outputs, self.mode)
    }
}

/// An operand of a short form: a value, or a number that takes the other operand's element type.
///
/// ```
/// use snick::{ElementType, GraphBuilder};
///
/// let b = GraphBuilder::new("scale");
/// let x = b.parameter("x", ElementType::F32, "N")?;
/// let twice = b.multiply(x, 2.0)?; // a number
/// let more = b.add(twice, 1)?; // an integer
/// let sum = b.add(x, twice)?; // a value
/// assert_eq!(b.fact(sum)?.element_type(), ElementType::F32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Operand {
    /// A value of the graph.
    Value(Value),
    /// A number.
    Number(f64),
    /// An integer.
    Int(i64),
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<f64> for Operand {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<i64> for Operand {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl Operand {
    /// The value; a number becomes a scalar with the element type of `like`.
    fn value(self, b: &GraphBuilder<'_>, like: Value) -> Result<Value, OpError> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Number(number) => b.scalar_like(like, number),
            Self::Int(number) => {
                let element_type = b.element_type(like)?;
                b.constant(Tensor::scalar(number).cast(element_type)?)
            }
        }
    }
}

impl GraphBuilder<'_> {
    /// Resolves two operands to values. At least one of them must be a value of the graph; a number takes its
    /// element type.
    pub fn operands(&self, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<[Value; 2], OpError> {
        match (x.into(), y.into()) {
            (Operand::Value(x), y) => Ok([x, y.value(self, x)?]),
            (x, Operand::Value(y)) => Ok([x.value(self, y)?, y]),
            _ => Err(OpError::unsupported("an operation on two numbers without a value of the graph")),
        }
    }
}

fn port_number(port: usize) -> u32 {
    u32::try_from(port).unwrap_or(u32::MAX)
}
