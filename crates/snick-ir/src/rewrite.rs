//! Rewriting: rules look at a node and build a replacement through a [`Patch`]; the driver checks it and puts it in.
//!
//! A replacement lands only if what is inferred of it refines what was known of the replaced outputs. It inherits
//! the layer's name, tensor names and place. Nothing is removed until [`Graph::sweep`].

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;
use snick_shape::{Origin, SymExpr, Symbols};
use snick_tensor::Tensor;

use crate::op::Values;
use crate::ops::source::constant::Constant;
use crate::{Attrs, Fact, Facts, Graph, Located, Node, NodeId, Op, OpError, RawNode, Value, Version};

/// What a rule, or the lowering of an op, answers.
#[derive(Clone, PartialEq, Debug)]
pub enum Lowered {
    /// Nothing to do here.
    Keep,
    /// The rule would apply, but for this reason.
    Stay(String),
    /// These values replace the outputs, by port.
    Replace(Values),
}

impl Lowered {
    /// One value replaces the only output.
    pub fn one(value: Value) -> Self {
        Self::Replace(smallvec::smallvec![Some(value)])
    }
}

/// A named rewrite.
#[derive(Copy, Clone, Debug)]
pub struct Rule {
    /// Its name in traces and on the command line.
    pub name: &'static str,
    /// Looks at [`Patch::node`] and builds the replacement.
    pub apply: fn(&mut Patch) -> Result<Lowered, OpError>,
}

/// A rule at work on one node: reads the graph, adds nodes, changes nothing else.
pub struct Patch<'g> {
    graph: &'g mut Graph,
    root: NodeId,
    added: SmallVec<[NodeId; 8]>,
}

impl<'g> Patch<'g> {
    fn new(graph: &'g mut Graph, root: NodeId) -> Self {
        Self { graph, root, added: SmallVec::new() }
    }

    /// The graph as it stands.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// The symbols of the graph, to build expressions.
    pub fn symbols(&mut self) -> &mut Symbols {
        &mut self.graph.symbols
    }

    /// The place of birth of a symbol that the rule makes.
    pub fn origin(&self) -> Origin {
        Origin { node: u32::try_from(self.root.index()).unwrap_or(u32::MAX), port: 0, axis: 0 }
    }

    /// The node the rule looks at.
    pub fn node(&self) -> &Node {
        self.graph.node(self.root)
    }

    /// The value at input `i` of the node.
    pub fn input(&self, i: usize) -> Result<Value, OpError> {
        self.optional(i).ok_or(OpError::NotConnected { port: i })
    }

    /// The value at input `i`, if there is one.
    pub fn optional(&self, i: usize) -> Option<Value> {
        self.graph.inputs(self.root).get(i).copied().flatten()
    }

    /// Output `port` of the node.
    pub fn output(&self, port: u32) -> Value {
        Value { node: self.root, port }
    }

    /// Whether somebody reads output `port`.
    pub fn is_used(&self, port: u32) -> bool {
        !self.graph.uses(self.output(port)).is_empty()
    }

    /// What is known of a value.
    pub fn fact(&self, value: Value) -> Result<&Fact, OpError> {
        self.graph.fact(value).ok_or(OpError::NotConnected { port: value.port as usize })
    }

    /// Adds a node and infers it; returns its first output.
    pub fn add(&mut self, op: impl Into<Op>, inputs: &[Value]) -> Result<Value, OpError> {
        let op = op.into();
        let root = self.graph.node(self.root);
        let mut node = Node::new(format!("{}/{}", root.name, op.type_name()), op);
        node.loc = root.loc;
        let id = self.graph.add_wired(node, inputs);
        self.added.push(id);
        self.graph.infer_node(id).map_err(|located| located.error)?;
        Ok(Value { node: id, port: 0 })
    }

    /// Adds a node by its OpenVINO operation type; returns its first output.
    pub fn make(&mut self, op_type: &str, attrs: Attrs, inputs: &[Value]) -> Result<Value, OpError> {
        let op = Op::parse(&mut RawNode::openvino(op_type, Version::Unversioned, attrs, 1))?;
        if op.is_opaque() {
            return Err(OpError::unsupported(format!("operation type `{op_type}`")));
        }
        self.add(op, inputs)
    }

    /// Facts of all inputs of the node.
    pub fn input_facts(&self) -> Result<Facts, OpError> {
        let inputs = self.graph.inputs(self.root);
        let fact = |(port, value): (usize, &Option<Value>)| {
            value.and_then(|value| self.graph.fact(value)).cloned().ok_or(OpError::NotConnected { port })
        };
        inputs.iter().enumerate().map(fact).collect()
    }

    /// A dim of an output of the node, as inferred.
    pub fn output_dim(&self, port: u32, axis: usize) -> Result<SymExpr, OpError> {
        let dims = self.fact(self.output(port))?.shape.dims();
        let dim = dims.and_then(|dims| dims.get(axis)).cloned();
        dim.ok_or_else(|| OpError::out_of_range("axis", axis as i64, "an axis of the output"))
    }

    /// Adds an i64 constant.
    pub fn ints(&mut self, dims: &[usize], values: &[i64]) -> Result<Value, OpError> {
        let tensor = Tensor::from_vec(dims, values.to_vec())?;
        self.add(Constant::new(Arc::new(tensor)), &[])
    }

    /// Adds an i64 scalar constant.
    pub fn int(&mut self, value: i64) -> Result<Value, OpError> {
        self.ints(&[], &[value])
    }

    /// Removes what was added.
    fn undo(self) {
        for id in self.added.iter().rev() {
            self.graph.nodes.remove_node(id.petgraph());
        }
    }

    /// Puts `values` in place of the outputs of the node.
    fn land(self, values: &[Option<Value>]) {
        let Self { graph, root, added } = self;
        let (name, several) = (graph.node(root).name.clone(), values.len() > 1);
        for (port, &new) in (0..).zip(values) {
            let Some(new) = new else { continue };
            let old = Value { node: root, port };
            graph.replace_uses(old, new);
            let Some(out) = graph.nodes[root.petgraph()].outs.get_mut(port as usize) else { continue };
            let names = out.names.take();
            if let (Some(names), Some(out)) =
                (names, graph.nodes[new.node.petgraph()].outs.get_mut(new.port as usize))
            {
                let mut all = out.names.take().map(Vec::from).unwrap_or_default();
                all.extend(names);
                out.names = Some(all.into());
            }
            if added.contains(&new.node) {
                let name = if several { format!("{name}.{port}").into() } else { name.clone() };
                graph.nodes[new.node.petgraph()].name = name;
            }
        }
    }
}

/// One rule that fired.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The rule.
    pub rule: &'static str,
    /// The layer it replaced.
    pub layer: Arc<str>,
    /// The layer's operation type.
    pub op: String,
}

/// A layer that a rule had to leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Left {
    /// The layer.
    pub layer: Arc<str>,
    /// Its operation type.
    pub op: String,
    /// Why it stays.
    pub reason: String,
}

/// What the driver did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// Rules that fired, in order.
    pub applied: Vec<Applied>,
    /// Layers left, with reasons.
    pub left: Vec<Left>,
    /// Rules that failed or whose replacement was refused.
    pub errors: Vec<Located>,
}

/// Applies `rules` to every node, and to what they put in, until nothing changes; at most `stop_after` times.
/// Replaced nodes stay behind, unread: sweep the graph afterwards.
pub fn apply(graph: &mut Graph, rules: &[Rule], stop_after: Option<usize>) -> Trace {
    let mut trace = Trace::default();
    let Ok(order) = graph.order() else { return trace };
    // A rule set that feeds itself must end: no sound one needs more than a few replacements a layer.
    let limit = stop_after.unwrap_or(64 + 16 * order.len());
    let mut todo = VecDeque::from(order);
    while let Some(id) = todo.pop_front() {
        for rule in rules {
            if trace.applied.len() >= limit {
                return trace;
            }
            let layer = graph.node(id).name.clone();
            let op = graph.node(id).op.type_name().to_string();
            let mut patch = Patch::new(graph, id);
            match (rule.apply)(&mut patch) {
                Ok(Lowered::Keep) => patch.undo(),
                Ok(Lowered::Stay(reason)) => {
                    patch.undo();
                    trace.left.push(Left { layer, op, reason });
                }
                Ok(Lowered::Replace(values)) => match refused(&patch, &values) {
                    Some(error) => {
                        patch.undo();
                        trace.errors.push(graph.located(id, error));
                    }
                    None => {
                        let added = patch.added.clone();
                        patch.land(&values);
                        trace.applied.push(Applied { rule: rule.name, layer, op });
                        added.iter().rev().for_each(|&id| todo.push_front(id));
                        break;
                    }
                },
                Err(error) => {
                    patch.undo();
                    trace.errors.push(graph.located(id, error));
                }
            }
        }
    }
    trace
}

/// Why a replacement must not land: some new fact does not refine the old one.
fn refused(patch: &Patch, values: &[Option<Value>]) -> Option<OpError> {
    let symbols = patch.graph.symbols();
    for (port, &value) in (0..).zip(values) {
        let Some(value) = value else { continue };
        let old = patch.graph.fact(patch.output(port))?;
        let new = patch.graph.fact(value);
        if !new.is_some_and(|new| new.refines(old, symbols)) {
            let text = |f: &Fact| format!("{}{}", f.element_type, f.shape.display_symbolic(symbols));
            let got = new.map_or("nothing".to_string(), text);
            return Some(OpError::mismatch(format!("the replacement of output {port}"), got, text(old)));
        }
    }
    None
}
