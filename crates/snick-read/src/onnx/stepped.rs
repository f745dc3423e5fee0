//! Loops that are written here, for operators which go step by step in a way that no op of the IR does.

use snick_ir::ops::control::port_map::{Cut, PortLink, PortMap};
use snick_ir::ops::control::subgraph::{SubGraph, SubGraphKind};
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::ops::source::result::GraphResult;
use snick_ir::{Attrs, Graph, Node, OpError, Output, Value};
use snick_shape::{DimSpec, Interval, ShapeSpec};

use super::builder::{NodeBuilder, Result};

/// Values that go along an axis, one index of it each step.
pub(super) struct Stepped<'v> {
    /// Values that are cut; each part keeps the axis, with the size 1.
    pub(super) parts: &'v [Value],
    /// The axis of them all, and of what is made.
    pub(super) axis: i64,
    /// Whether the last index comes first.
    pub(super) reverse: bool,
    /// States before the first step.
    pub(super) states: &'v [Value],
    /// Values that are the same in each step.
    pub(super) fixed: &'v [Value],
}

/// What one step gives.
pub(super) struct Step {
    /// The states for the next one.
    pub(super) states: Vec<Value>,
    /// Parts, one index of the axis each, that are put together.
    pub(super) made: Vec<Value>,
}

impl Stepped<'_> {
    /// Builds the loop: `step` gets parts, states and fixed values and builds one step. Gives the last states and what
    /// was made.
    pub(super) fn build(
        &self,
        b: &mut NodeBuilder,
        step: impl FnOnce(&mut NodeBuilder, &[Value], &[Value], &[Value]) -> Result<Step, OpError>,
    ) -> Result<Step, OpError> {
        let mut inner = Graph::new(b.name);
        inner.source = b.graph.source.clone();
        let mut body = NodeBuilder {
            graph: &mut inner,
            name: b.name,
            since: b.since,
            inputs: Vec::new(),
            wanted: Vec::new(),
            attrs: Attrs::new(),
            added: Vec::new(),
        };
        let mut inside = |values: &[Value]| -> Result<Vec<Value>, OpError> {
            values.iter().map(|&value| parameter(&mut body, b, value)).collect()
        };
        let (parts, states, fixed) = (inside(self.parts)?, inside(self.states)?, inside(self.fixed)?);
        let Step { states: next, made } = step(&mut body, &parts, &states, &fixed)?;
        for &value in next.iter().chain(&made) {
            body.add(GraphResult.into(), &[value], 1)?;
        }
        let cut = match self.reverse {
            false => Cut::each(self.axis),
            true => Cut { start: -1, end: 0, stride: -1, ..Cut::each(self.axis) },
        };
        let link = |i: usize, whole: bool| PortLink { cut: (!whole).then_some(cut), ..PortLink::whole(i, i) };
        let first = self.parts.len();
        let inputs = [self.parts, self.states, self.fixed].concat();
        let map = PortMap {
            inputs: (0..inputs.len()).map(|i| link(i, i >= first)).collect(),
            outputs: (0..next.len() + made.len()).map(|i| link(i, i < next.len())).collect(),
            back_edges: (0..next.len()).map(|i| (i, first + i)).collect(),
        };
        let op = SubGraph::new(SubGraphKind::TensorIterator, vec![inner], vec![map])?;
        let outputs = op.outputs();
        let node = b.add(op.into(), &inputs, outputs)?;
        let mut outputs = (0..).zip(0..outputs).map(|(port, _)| Value { node, port });
        let states = outputs.by_ref().take(next.len()).collect();
        Ok(Step { states, made: outputs.collect() })
    }
}

/// A Parameter of the body for a value outside: its element type and rank; sizes follow from what is fed.
fn parameter(body: &mut NodeBuilder, outside: &NodeBuilder, value: Value) -> Result {
    let (element_type, rank) = (outside.element_type(value)?, outside.rank(value)?);
    let shape = ShapeSpec::Dims(vec![DimSpec::Interval(Interval::DIM); rank]);
    let mut node =
        Node::new(format!("{}/{}", body.name, body.added.len()), Parameter { element_type, shape }.into());
    node.outs.push(Output::unknown());
    let node = body.graph.add(node);
    body.added.push(node);
    // What does not fit is told by the inference of the whole graph, with its place.
    let _ = body.graph.infer_node(node);
    Ok(Value { node, port: 0 })
}
