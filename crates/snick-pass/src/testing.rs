//! Test helpers that apply a single rule with checks.

use std::collections::HashMap;

use snick_ir::text::{PrintOptions, print};
use snick_ir::{Graph, Op, OpError, Value, infer};
use snick_tensor::Tensor;

use crate::{Pass, Report, RewriteOptions, apply};

fn at_work(rule: &str, layers: &str) -> (Graph, Report) {
    let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
    let mut graph = snick_ir::text::parse(&text, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let errors: Vec<String> = infer(&mut graph).iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    let report =
        apply(&mut graph, &[Pass::by_name(rule).unwrap()], &RewriteOptions::new().check(true).seed(1));
    let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    assert!(report.check_failures.is_empty(), "{}", report.check_failures[0].report);
    assert_eq!(report.unchecked, 0, "an application could not be checked");
    (graph, report)
}

/// Applies a rule to these layers and returns the resulting graph as text. The rule must match and reach a
/// fixed point.
pub(crate) fn fires(rule: &str, layers: &str) -> String {
    let (mut graph, report) = at_work(rule, layers);
    assert!(!report.applied.is_empty(), "{rule} does not fire");
    let again = apply(&mut graph, &[Pass::by_name(rule).unwrap()], &RewriteOptions::new());
    assert!(again.applied.is_empty(), "{rule} fires again");
    print(&graph, PrintOptions::default())
}

/// Checks that a rule does not match any of these layers.
pub(crate) fn silent(rule: &str, layers: &str) {
    let (_, report) = at_work(rule, layers);
    assert!(report.applied.is_empty(), "{:?}", report.applied);
}

/// Runs a graph on inputs in the order of its Parameters, and returns the value of the first Result.
pub(crate) fn run(graph: &Graph, inputs: &[Tensor]) -> Result<Tensor, OpError> {
    let mut inputs = inputs.iter().cloned();
    let mut values: HashMap<Value, Tensor> = HashMap::new();
    for id in graph.order().unwrap() {
        let read: Vec<_> =
            graph.inputs(id).into_iter().map(|value| values[&value.unwrap()].clone()).collect();
        let outputs = match graph.node(id).op() {
            Op::Parameter(_) => vec![inputs.next().unwrap()],
            Op::Result(_) => return Ok(read[0].clone()),
            op => op.eval(&read)?,
        };
        values.extend((0..).zip(outputs).map(|(port, tensor)| (Value { node: id, port }, tensor)));
    }
    panic!("no Result")
}
