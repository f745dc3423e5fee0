//! Rewriting: a rule matches a node and builds a replacement with a [`Patch`]; [`apply`] checks the
//! replacement and commits it.
//!
//! A rule is a function of about 12 lines, or a closure ([`Rule::new`]):
//!
//! ```
//! use snick::rewrite::{self, DriverOptions};
//! use snick::{OpError, Patch, RewriteResult, Rule};
//!
//! /// `-(-x)` is `x`.
//! const TWICE: Rule = Rule::exact("negative-of-negative", apply);
//!
//! fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
//!     if patch.node().op().type_name() != "Negative" {
//!         return Ok(RewriteResult::NoMatch);
//!     }
//!     let inner = patch.input(0)?;
//!     match patch.op_of(inner).type_name() {
//!         "Negative" => Ok(RewriteResult::one(patch.input_of(inner, 0)?)),
//!         _ => Ok(RewriteResult::NoMatch),
//!     }
//! }
//!
//! let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
//!             %a = Negative-1(%x)\n  %b = Negative-1(%a)\n  %y = Result-1(%b)\n}\n";
//! let mut graph = snick::text::parse(text, None)?;
//! snick::infer(&mut graph);
//! let trace = rewrite::apply(&mut graph, &[TWICE], DriverOptions::default());
//! assert_eq!((trace.applied.len(), graph.len()), (1, 2));
//! # Ok::<(), snick::text::ParseError>(())
//! ```
//!
//! A replacement is committed only if its inferred facts refine the facts of the replaced outputs. Rules
//! created with [`Rule::for_target`] and replacements of opaque layers may yield less precise facts, but not
//! contradictory ones. The replacement inherits the layer's name, tensor names and location. [`apply`]
//! removes replaced layers, even opaque ones, which [`Graph::remove_dead_nodes`] would keep.

mod custom;
mod driver;
mod liveness;
mod rule;
mod substitution;
#[cfg(test)]
mod tests;
mod trace;

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use snick_shape::{Origin, SymExpr};
use snick_tensor::SmallVector;

use crate::builder::{DetachedNodes, NewNode};
use crate::graph::Details;
use crate::{Fact, Graph, GraphBuilder, Monitor, NodeId, NodeRef, Op, OpError, Value};

pub use self::custom::{CUSTOM_OPS, decomposed};
pub use self::driver::{AppliedHook, Check, DriverOptions, NodeFilter, Proposal, apply, apply_throughout};
use self::liveness::Liveness;
pub use self::rule::{Rule, Tolerance};
pub use self::substitution::Substitution;
pub use self::trace::{Applied, CheckFailure, MissedRewrite, RuleWork, Trace, now};

/// The result of a rule.
///
/// ```
/// use snick::RewriteResult;
///
/// let declined = RewriteResult::declined(format!("{} groups", 3));
/// assert_eq!(declined, RewriteResult::Declined("3 groups".into()));
/// ```
// Exhaustive, so that a new variant breaks every match in the sibling crates.
#[derive(Clone, PartialEq, Debug)]
pub enum RewriteResult {
    /// The rule does not match the node.
    NoMatch,
    /// The rule matches but declines, for this reason.
    Declined(String),
    /// Values that replace the outputs, by port; `None` for an output without readers.
    Replaced(Vec<Option<Value>>),
}

impl RewriteResult {
    /// Replaces the only output.
    pub fn one(value: Value) -> Self {
        Self::Replaced(vec![Some(value)])
    }

    /// Replaces the outputs, by port.
    pub fn many(values: impl IntoIterator<Item = Value>) -> Self {
        Self::Replaced(values.into_iter().map(Some).collect())
    }

    /// Declines for this reason.
    pub fn declined(reason: impl Into<String>) -> Self {
        Self::Declined(reason.into())
    }
}

/// A rewrite of one node: a [`GraphBuilder`] that knows the node. A rule can use it to read the graph and add
/// nodes, but not to change existing nodes. The graph stays as it is while the rule runs, so references to its
/// nodes and facts stay valid while nodes are added.
///
/// ```
/// use snick::{OpError, Patch, RewriteResult};
///
/// /// `x * x + y` for `x^2 + y`, if nothing else reads the square.
/// fn square(patch: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
///     if patch.node().op().type_name() != "Add" {
///         return Ok(RewriteResult::NoMatch);
///     }
///     let (power, y) = (patch.input(0)?, patch.input(1)?);
///     if patch.op_of(power).type_name() != "Power" || !patch.is_read_once(power) {
///         return Ok(RewriteResult::NoMatch);
///     }
///     let exponent = patch.fact(patch.input_of(power, 1)?)?.ints();
///     if exponent.as_deref() != Some(&[2]) {
///         return Ok(RewriteResult::declined("an exponent other than 2"));
///     }
///     let x = patch.input_of(power, 0)?;
///     patch.add(patch.multiply(x, x)?, y).map(RewriteResult::one) // inferred at once
/// }
/// # let _ = square;
/// ```
pub struct Patch<'g> {
    builder: GraphBuilder<'g>,
    graph: &'g Graph,
    root: NodeId,
    liveness: &'g Liveness,
    monitor: RefCell<Option<&'g mut Monitor>>,
}

impl<'g> Deref for Patch<'g> {
    type Target = GraphBuilder<'g>;

    fn deref(&self) -> &Self::Target {
        &self.builder
    }
}

impl DerefMut for Patch<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

impl<'g> Patch<'g> {
    fn new(graph: &'g Graph, root: NodeId, liveness: &'g Liveness, monitor: Option<&'g mut Monitor>) -> Self {
        Self {
            builder: GraphBuilder::patch(graph, root),
            graph,
            root,
            liveness,
            monitor: RefCell::new(monitor),
        }
    }

    /// The graph without the new nodes.
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Takes [fuel](crate::Limits::fuel) for computing this many elements while rewriting; `false` if too
    /// little is left. The rule should then keep the layer: a run computes the elements within its own
    /// limits.
    pub fn take_fuel(&self, elements: usize) -> bool {
        self.monitor.borrow_mut().as_deref_mut().is_none_or(|monitor| monitor.take_fuel(elements))
    }

    /// The origin for symbols that the rule creates.
    pub fn origin(&self) -> Origin {
        Origin { node: u32::try_from(self.root.index()).unwrap_or(u32::MAX), port: 0, axis: 0 }
    }

    /// The node to rewrite.
    pub fn node(&self) -> NodeRef<'g> {
        self.graph.node(self.root)
    }

    /// The value at input `i` of the node.
    ///
    /// # Errors
    /// [`OpError::NotConnected`].
    pub fn input(&self, i: usize) -> Result<Value, OpError> {
        self.try_input(i).ok_or(OpError::NotConnected { port: i })
    }

    /// The value at input `i`, if connected.
    ///
    /// ```
    /// use snick::rewrite::{RewriteResult, Rule};
    ///
    /// // Adds the bias, if there is one.
    /// let rule = Rule::new("lower-linear", |patch| match patch.node().op().type_name() {
    ///     "Linear" => {
    ///         let product = patch.matmul(patch.input(0)?, patch.input(1)?)?;
    ///         let sum = patch.try_input(2).map_or(Ok(product), |bias| patch.add(product, bias));
    ///         sum.map(RewriteResult::one)
    ///     }
    ///     _ => Ok(RewriteResult::NoMatch),
    /// });
    /// # let _ = rule;
    /// ```
    pub fn try_input(&self, i: usize) -> Option<Value> {
        self.graph.inputs(self.root).get(i).copied().flatten()
    }

    /// The two inputs of the node and, if its op is [commutative](Op::is_commutative), the same inputs in the
    /// other order. No order if the node does not have exactly two inputs.
    ///
    /// ```
    /// use snick::rewrite::{self, DriverOptions, RewriteResult, Rule};
    ///
    /// // `x + -y` and `-y + x` become `x - y`.
    /// let rule = Rule::new("add-of-negative", |patch| {
    ///     for [x, negative] in patch.input_orders() {
    ///         if patch.op_of(negative).type_name() == "Negative" {
    ///             return patch.subtract(x, patch.input_of(negative, 0)?).map(RewriteResult::one);
    ///         }
    ///     }
    ///     Ok(RewriteResult::NoMatch)
    /// });
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
    /// #             %a = Negative-1(%x)\n  %b = Add-1(%a, %x)\n  %y = Result-1(%b)\n}\n";
    /// let mut graph = snick::text::parse(text, None)?;
    /// snick::infer(&mut graph);
    /// let trace = rewrite::apply(&mut graph, &[rule.roots(["Add"])], DriverOptions::default());
    /// assert_eq!(trace.applied.len(), 1);
    /// # Ok::<(), snick::text::ParseError>(())
    /// ```
    pub fn input_orders(&self) -> impl Iterator<Item = [Value; 2]> + use<> {
        let both = match *self.graph.inputs(self.root) {
            [Some(x), Some(y)] => Some([x, y]),
            _ => None,
        };
        let swapped = both.filter(|_| self.node().op().is_commutative()).map(|[x, y]| [y, x]);
        both.into_iter().chain(swapped)
    }

    /// The constant operand of a node with two inputs, after the other operand. Finds `x + c` and `c + x`, but
    /// only `x - c`, because Subtract is not [commutative](Op::is_commutative). MLIR matches it with
    /// `m_Constant`.
    ///
    /// ```
    /// use snick::rewrite::{RewriteResult, Rule};
    ///
    /// // `x * 2` and `2 * x` become `x + x`.
    /// let rule = Rule::new("double", |patch| match patch.constant_operand() {
    ///     Some([x, c]) if patch.splat_value(c) == Some(2.0) && patch.rank(c)? == 0 => {
    ///         patch.add(x, x).map(RewriteResult::one)
    ///     }
    ///     _ => Ok(RewriteResult::NoMatch),
    /// });
    /// let rule = rule.roots(["Multiply"]);
    /// # let _ = rule;
    /// ```
    pub fn constant_operand(&self) -> Option<[Value; 2]> {
        self.input_orders().find(|&[_, constant]| self.constant_value(constant).is_some())
    }

    /// Output `port` of the node.
    pub fn output(&self, port: u32) -> Value {
        Value { node: self.root, port }
    }

    /// Whether output `port` is read.
    pub fn is_used(&self, port: u32) -> bool {
        !self.graph.uses(self.output(port)).is_empty()
    }

    /// For each output of the node, up to the last one that is read: whether it is read.
    pub fn used_outputs(&self) -> Vec<bool> {
        self.graph.used_outputs(self.root)
    }

    /// The op that computes a value.
    pub fn op_of(&self, value: Value) -> &Op {
        match self.new_node(value) {
            Some(new) => &new.node.op,
            None => self.graph.node(value.node).op(),
        }
    }

    fn new_node(&self, value: Value) -> Option<&NewNode> {
        self.builder.new_nodes()?.get(value.node)
    }

    /// The value at input `i` of the node that computes `value`.
    pub fn input_of(&self, value: Value, i: usize) -> Result<Value, OpError> {
        self.inputs_of(value)?.get(i).copied().ok_or(OpError::NotConnected { port: i })
    }

    /// All inputs of the node that computes `value`.
    pub fn inputs_of(&self, value: Value) -> Result<SmallVector<Value, 5>, OpError> {
        if let Some(new) = self.new_node(value) {
            return Ok(new.inputs.iter().copied().collect());
        }
        let inputs = self.graph.inputs(value.node);
        let connected = |(port, input): (usize, &Option<Value>)| input.ok_or(OpError::NotConnected { port });
        inputs.iter().enumerate().map(connected).collect()
    }

    /// Whether the node that computes `value` has a single reader. If so, a rule can replace the node for
    /// that reader without leaving the old node to be computed as well.
    pub fn is_read_once(&self, value: Value) -> bool {
        self.liveness.readers(value.node) == 1
    }

    /// Whether an op of this kind reads an output of the node that computes `value`; `false` if the node has
    /// more than `most` readers.
    pub fn is_read_by(&self, value: Value, most: u32, kind: impl Fn(&Op) -> bool) -> bool {
        let graph = self.graph;
        self.liveness.readers(value.node) <= most
            && graph.readers(value.node).any(|id| !self.liveness.is_dead(id) && kind(graph.node(id).op()))
    }

    /// The facts of all inputs of the node.
    pub fn input_facts(&self) -> Result<Vec<&Fact>, OpError> {
        let inputs = self.graph.inputs(self.root);
        let fact = |(port, value): (usize, &Option<Value>)| {
            value.and_then(|value| self.graph.fact(value)).ok_or(OpError::NotConnected { port })
        };
        inputs.iter().enumerate().map(fact).collect()
    }

    /// The inferred dim of an output of the node.
    pub fn output_dim(&self, port: u32, axis: usize) -> Result<SymExpr, OpError> {
        let dims = self.fact(self.output(port))?.shape.dims();
        let dim = dims.and_then(|dims| dims.get(axis)).cloned();
        dim.ok_or_else(|| OpError::out_of_range("axis", axis as i64, "an axis of the output"))
    }

    /// The dims of a value; `None` for a dynamic rank.
    pub fn dims(&self, value: Value) -> Result<Option<SmallVector<SymExpr, 4>>, OpError> {
        Ok(self.fact(value)?.shape.dims().map(SmallVector::from))
    }

    /// Removes the new nodes, so that the next rule starts without them.
    fn undo(&mut self) {
        if self.builder.new_nodes().is_none_or(|new| !new.is_unused()) {
            self.builder.take_new_nodes();
        }
    }
}

/// Whether inference fails for a node. Inference reports this error, except in a branch that is never taken.
fn is_refused_by_inference(graph: &mut Graph, id: NodeId) -> bool {
    let is_unknown = graph.node(id).outs().iter().all(|out| out.fact == Fact::unknown());
    is_unknown && graph.infer_node(id).is_err()
}

/// A replacement whose nodes are in the graph; nothing reads them yet.
struct Replacement {
    root: NodeId,
    /// The new values of the outputs, by port.
    values: Vec<Option<Value>>,
    /// The new nodes.
    added: SmallVector<NodeId, 8>,
}

impl Replacement {
    /// Adds the new nodes of a patch to their graph.
    fn stage(graph: &mut Graph, root: NodeId, new: DetachedNodes, mut values: Vec<Option<Value>>) -> Self {
        let added = new.add_to(graph, &mut values);
        Self { root, values, added }
    }

    /// Removes the new nodes.
    fn undo(self, graph: &mut Graph) {
        for id in self.added.into_iter().rev() {
            graph.remove(id);
        }
    }

    /// Replaces the outputs of the root. The new values inherit its name, with the number of the output if several
    /// nodes replace it, and, if `keeps_facts`, its facts.
    fn commit(self, graph: &mut Graph, keeps_facts: bool) -> Committed {
        let Self { root, values, added } = self;
        let moved = graph.replace_outputs(root, &values);
        let mut new_nodes = added.clone();
        new_nodes.sort_unstable();
        for (port, &new) in (0..).zip(&values) {
            let Some(new) = new.filter(|new| new_nodes.binary_search(&new.node).is_ok()) else { continue };
            let replaced = graph.node(root);
            let (name, details) = (replaced.shared_name(), replaced.details().cloned());
            let is_of_new = |value: &Option<Value>| value.is_some_and(|value| value.node == new.node);
            let is_whole = values.len() == 1 || values.iter().all(is_of_new);
            let name = if is_whole { name } else { format!("{name}.{port}").into() };
            let fact = graph.fact(Value { node: root, port }).cloned();
            let Some(node) = graph.node_mut(new.node) else { continue };
            node.name = name;
            if let (true, Some(fact)) = (keeps_facts, fact) {
                node.outs[new.port as usize].fact = fact;
                // Drop port numbers and undeclared attributes, which belong to the replaced op.
                node.details =
                    details.map(|details| Box::new(Details { info: details.info, ..Details::default() }));
            }
        }
        Committed { added, moved }
    }
}

/// The changes of a replacement.
struct Committed {
    /// The added nodes.
    added: SmallVector<NodeId, 8>,
    /// The redirected readers, each with the node that it now reads.
    moved: SmallVector<(NodeId, NodeId), 8>,
}
