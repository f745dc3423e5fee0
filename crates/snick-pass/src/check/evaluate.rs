//! Evaluates a layer, with its bodies if it has any.

use std::collections::HashMap;

use snick_ir::{Graph, Op, OpError, Value};
use snick_tensor::Tensor;

/// The outputs of an op for these inputs.
pub(super) fn outputs(op: &Op, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
    match op {
        Op::SubGraph(op) => op.execute(inputs, &mut |number, arguments| {
            let body = op.bodies.get(number);
            run(
                body.ok_or_else(|| OpError::mismatch("the number of bodies", op.bodies.len(), number + 1))?,
                arguments,
            )
        }),
        op => op.eval(inputs),
    }
}

/// What the Results of a body return if its Parameters have these values.
fn run(body: &Graph, arguments: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
    let order = body.order().map_err(|cycle| OpError::Inside(Box::new(cycle)))?;
    let mut values: HashMap<Value, Tensor> =
        body.parameters().map(|node| Value { node, port: 0 }).zip(arguments.iter().cloned()).collect();
    let mut results = Vec::new();
    for node in order {
        let inputs = body.inputs(node).into_iter().enumerate().map(|(port, value)| {
            value.and_then(|value| values.get(&value)).cloned().ok_or(OpError::NotConnected { port })
        });
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        match body.node(node).op() {
            Op::Parameter(_) => {}
            Op::Result(_) => results.extend(inputs.into_iter().next()),
            op => {
                let found = outputs(body.specialized(node).as_ref().unwrap_or(op), &inputs)?;
                values.extend((0..).map(|port| Value { node, port }).zip(found));
            }
        }
    }
    Ok(results)
}
