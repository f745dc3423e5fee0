//! Custom ops: those without an implementation run as the ops that they decompose to.

use snick_ir::ops::{GraphResult, Parameter};
use snick_ir::rewrite::{CUSTOM_OPS, DriverOptions, apply};
use snick_ir::{Custom, Graph, Located, Node, NodeId, OpError, Value, infer};
use snick_shape::{DimSpec, Interval, ShapeSpec};
use snick_tensor::Tensor;

use crate::facts::check_values;
use crate::run::Options;
use crate::session::Session;

/// The outputs of a custom op, which is that of a node, checked against what it inferred.
pub(crate) fn evaluate(
    op: &Custom,
    inputs: &[Tensor],
    graph: &Graph,
    node: NodeId,
) -> Result<Vec<Tensor>, OpError> {
    op.definition().arity().check(inputs.len())?;
    let values = match op.eval(inputs) {
        Err(missing @ OpError::NoImplementation { .. }) => {
            decomposed(op, inputs, graph.node(node).outs().len(), missing)?
        }
        computed => computed?,
    };
    check_values(graph, node, &values)?;
    Ok(values)
}

/// The outputs of what the op decomposes to, for these inputs; `missing` if it does not decompose.
fn decomposed(
    op: &Custom,
    inputs: &[Tensor],
    outputs: usize,
    missing: OpError,
) -> Result<Vec<Tensor>, OpError> {
    let mut graph = Graph::new(op.op_type());
    let parameters: Vec<Value> = inputs.iter().map(|input| parameter(&mut graph, input)).collect();
    let node = graph.add_wired(Node::new(op.op_type(), op.clone().into()), &parameters);
    graph.ensure_outputs(node, outputs);
    for port in 0..outputs {
        let value = graph.node(node).output(port).ok_or(OpError::ForeignValue)?;
        graph.add_wired(Node::new(format!("output{port}"), GraphResult.into()), &[value]);
    }
    // An error of the op itself needs no place of its own.
    let inside = |located: Located| match located.layer == op.op_type() && located.op == op.op_type() {
        true => located.error,
        false => OpError::InDecomposition(Box::new(located)),
    };
    infer(&mut graph).into_iter().next().map_or(Ok(()), |error| Err(inside(error)))?;
    let trace = apply(&mut graph, &[CUSTOM_OPS], DriverOptions::default());
    trace.errors.into_iter().next().map_or(Ok(()), |error| Err(inside(error)))?;
    let remains = graph.ids().any(|id| graph.node(id).op() == &op.clone().into());
    if remains {
        return Err(match trace.missed.into_iter().next() {
            Some(missed) => OpError::NoValue { what: "the outputs".into(), why: missed.reason },
            None => missing,
        });
    }
    infer(&mut graph).into_iter().next().map_or(Ok(()), |error| Err(inside(error)))?;
    let session = Session::without_folding(graph).map_err(inside)?;
    session.run(inputs, Options::default()).complete().map_err(inside)
}

fn parameter(graph: &mut Graph, input: &Tensor) -> Value {
    let dims = input.dims().iter().map(|&size| DimSpec::Interval(Interval::exact(size as i64)));
    let shape = ShapeSpec::Dims(dims.collect());
    let op = Parameter { element_type: input.element_type(), shape };
    Value { node: graph.add(Node::new("input", op.into())), port: 0 }
}
