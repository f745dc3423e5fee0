//! Replaces custom ops with their decompositions.

use snick_shape::{DimSpec, Interval, ShapeSpec};
use snick_tensor::Tensor;

use super::{DriverOptions, Patch, RewriteResult, Rule, apply as rewrite};
use crate::ops::source::parameter::Parameter;
use crate::ops::source::result::GraphResult;
use crate::{Custom, Graph, Located, Node, Op, OpError, Value, infer};

/// Replaces custom ops with their [decompositions](crate::CustomOp::decompose), to write models for runtimes
/// without these ops, and to run ops without an implementation.
pub const CUSTOM_OPS: Rule = Rule::for_target("custom-ops", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let Op::Custom(op) = patch.node().op() else { return Ok(RewriteResult::NoMatch) };
    op.clone().definition().decompose(patch)
}

/// The decomposition of a custom op for inputs of these types and sizes, as a graph with a Parameter for each
/// input and a Result for each of the `outputs`.
///
/// ```
/// use std::sync::Arc;
///
/// use snick::rewrite::decomposed;
/// use snick::{Arity, Custom, CustomOp, Facts, Infer, OpError, Patch, RewriteResult, Tensor};
///
/// #[derive(Debug)]
/// struct Square;
///
/// impl CustomOp for Square {
///     fn arity(&self) -> Arity {
///         Arity::exactly(1)
///     }
///
///     fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
///         Ok(cx.input(0).clone().into())
///     }
///
///     fn decompose(&self, b: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
///         let x = b.input(0)?;
///         b.multiply(x, x).map(RewriteResult::one)
///     }
/// }
///
/// let op = Custom::new("my.ops", "Square", Arc::new(Square));
/// let graph = decomposed(&op, &[Tensor::scalar(3f32)], 1)?;
/// assert!(graph.ids().any(|id| graph.node(id).op().type_name() == "Multiply"));
/// # Ok::<(), OpError>(())
/// ```
///
/// # Errors
/// [`OpError::NoImplementation`] if the op has no decomposition, [`OpError::NoValue`] if the decomposition
/// declines these inputs, and errors of the op or its decomposition.
pub fn decomposed(op: &Custom, inputs: &[Tensor], outputs: usize) -> Result<Graph, OpError> {
    let mut graph = Graph::new(op.op_type());
    let parameters: Vec<Value> = inputs.iter().map(|input| parameter(&mut graph, input)).collect();
    let node = graph.add_wired(Node::new(op.op_type(), op.clone().into()), &parameters);
    graph.ensure_outputs(node, outputs);
    for port in 0..outputs {
        let value = graph.node(node).output(port).ok_or(OpError::ForeignValue)?;
        graph.add_wired(Node::new(format!("output{port}"), GraphResult.into()), &[value]);
    }
    // Errors of the op itself are returned without a location.
    let inside = |located: Located| match located.layer == op.op_type() && located.op == op.op_type() {
        true => located.error,
        false => OpError::InDecomposition(Box::new(located)),
    };
    infer(&mut graph).into_iter().next().map_or(Ok(()), |error| Err(inside(error)))?;
    let trace = rewrite(&mut graph, &[CUSTOM_OPS], DriverOptions::default());
    trace.errors.into_iter().next().map_or(Ok(()), |error| Err(inside(error)))?;
    if graph.ids().any(|id| graph.node(id).op() == &op.clone().into()) {
        return Err(match trace.missed.into_iter().next() {
            Some(missed) => OpError::NoValue { what: "the outputs".into(), why: missed.reason },
            None => OpError::NoImplementation { op_type: op.op_type().into() },
        });
    }
    infer(&mut graph).into_iter().next().map_or(Ok(()), |error| Err(inside(error)))?;
    Ok(graph)
}

fn parameter(graph: &mut Graph, input: &Tensor) -> Value {
    let dims = input.dims().iter().map(|&size| DimSpec::Interval(Interval::exact(size as i64)));
    let shape = ShapeSpec::Dims(dims.collect());
    let op = Parameter { element_type: input.element_type(), shape };
    Value { node: graph.add(Node::new("input", op.into())), port: 0 }
}
