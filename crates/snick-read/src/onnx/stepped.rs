//! Builds loops for operators that process an axis one element at a time and have no equivalent in the IR.

use snick_ir::ops::control::port_map::{Cut, PortLink, PortMap};
use snick_ir::ops::control::subgraph::{SubGraph, SubGraphKind};
use snick_ir::ops::{GraphResult, Parameter};
use snick_ir::{Graph, OpError, Value};
use snick_shape::{DimSpec, Interval, ShapeSpec};

use super::builder::{NodeBuilder, Result};

/// A loop along an axis.
pub(super) struct Stepped<'v> {
    /// The values to slice. Each slice keeps the axis, with size 1.
    pub(super) parts: &'v [Value],
    /// The axis of all values and results along which the loop runs.
    pub(super) axis: i64,
    /// Whether the loop runs backward.
    pub(super) reverse: bool,
    /// The initial states.
    pub(super) states: &'v [Value],
    /// Loop-invariant values.
    pub(super) fixed: &'v [Value],
}

/// The results of one iteration.
pub(super) struct Step {
    /// The states for the next iteration.
    pub(super) states: Vec<Value>,
    /// Slices of size 1 that the loop concatenates.
    pub(super) made: Vec<Value>,
}

impl Stepped<'_> {
    /// Builds the loop. `step` builds one iteration from the slices, the states and the loop-invariant
    /// values. Returns the final states and the concatenated slices.
    pub(super) fn build(
        &self,
        b: &mut NodeBuilder,
        step: impl FnOnce(&mut NodeBuilder, &[Value], &[Value], &[Value]) -> Result<Step, OpError>,
    ) -> Result<Step, OpError> {
        let mut inner = Graph::new(b.name);
        inner.source = b.source();
        let mut body = NodeBuilder { since: b.since, ..NodeBuilder::new(&mut inner, b.name) };
        let mut inside = |values: &[Value]| -> Result<Vec<Value>> {
            values.iter().map(|&value| parameter(&mut body, b, value)).collect()
        };
        let (parts, states, fixed) = (inside(self.parts)?, inside(self.states)?, inside(self.fixed)?);
        let Step { states: next, made } = step(&mut body, &parts, &states, &fixed)?;
        for &value in next.iter().chain(&made) {
            body.add_op(GraphResult, &[value])?;
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
        let mut outputs = b.add_op_with_outputs(op, &inputs, outputs)?.into_iter();
        let states = outputs.by_ref().take(next.len()).collect();
        Ok(Step { states, made: outputs.collect() })
    }
}

/// A Parameter of the body for an outer value, with dynamic dims.
fn parameter(body: &mut NodeBuilder, outside: &NodeBuilder, value: Value) -> Result {
    let (element_type, rank) = (outside.element_type(value)?, outside.rank(value)?);
    let shape = ShapeSpec::Dims(vec![DimSpec::Interval(Interval::DIM); rank]);
    let name = body.added().len().to_string();
    body.op(&name, Parameter { element_type, shape }, &[])
}
