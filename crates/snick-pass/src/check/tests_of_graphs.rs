//! Tests that checks accept correct passes over the graph, refute wrong ones, and count the others as
//! unchecked.

use snick_ir::text::{PrintOptions, parse, print};
use snick_ir::{Graph, NodeId, infer};

use crate::{Pass, PassContext, Report, RewriteOptions, apply};

fn run(pass: Pass, layers: &str) -> (Report, bool) {
    let mut graph = parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
    assert!(infer(&mut graph).is_empty());
    let before = print(&graph, PrintOptions::default());
    let report = apply(&mut graph, &[pass], &RewriteOptions::new().check(true));
    let is_changed = print(&graph, PrintOptions::default()) != before;
    (report, is_changed)
}

/// Checks that the pass changes the graph and is found correct.
#[track_caller]
fn passes(pass: Pass, layers: &str) {
    let (report, is_changed) = run(pass, layers);
    assert!(report.check_failures.is_empty(), "{}", report.check_failures[0].report);
    assert!(report.is_ok() && report.checked > 0 && is_changed, "{report:?}");
}

/// Checks that the pass is found wrong and undone.
#[track_caller]
fn refuted(pass: Pass, layers: &str) {
    let (report, is_changed) = run(pass, layers);
    assert!(!report.is_ok() && !is_changed, "{report:?}");
    assert_eq!((report.check_failures.len(), report.applied.len()), (1, 0));
}

/// Checks that the pass changes the graph and is counted as unchecked.
#[track_caller]
fn unchecked(pass: Pass, layers: &str) {
    let (report, is_changed) = run(pass, layers);
    assert!(!report.is_ok() && report.unchecked > 0 && report.check_failures.is_empty(), "{report:?}");
    assert!(is_changed);
}

fn of_type(graph: &Graph, op_type: &str) -> Vec<NodeId> {
    graph.ids().filter(|&id| graph.node(id).op().type_name() == op_type).collect()
}

/// Replaces all layers of a type with their first input.
fn drop_all(op_type: &'static str) -> Pass {
    Pass::graph("drop-all", move |graph: &mut Graph, _: &mut PassContext| {
        for id in of_type(graph, op_type) {
            let input = graph.node(id).input(0);
            graph.replace_outputs(id, &[input]);
        }
    })
}

const RELU: &str = "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
                    %n = Negative-1(%x)
                    %a = ReLU-1(%n)
                    %b = ReLU-1(%a)
                    %e = Exp-1(%b)
                    %y = Result-1(%e)";

#[test]
fn a_pass_that_drops_every_relu_is_refuted() {
    refuted(drop_all("ReLU"), RELU);
    // The same pass, written as a function that returns a trace.
    let drop = |graph: &mut Graph, _: Option<usize>| {
        for id in of_type(graph, "ReLU") {
            let input = graph.node(id).input(0);
            graph.replace_outputs(id, &[input]);
        }
        snick_ir::rewrite::Trace::default()
    };
    refuted(Pass::of_graph("drop", drop), RELU);
}

#[test]
fn a_pass_that_drops_one_of_two_relus_is_right() {
    let drop_second = Pass::graph("drop-second", |graph: &mut Graph, cx: &mut PassContext| {
        let relu = graph.find("b").unwrap();
        let input = graph.node(relu).input(0);
        cx.applied(graph.node(relu));
        graph.replace_outputs(relu, &[input]);
    });
    passes(drop_second.clone(), RELU);
    let (report, _) = run(drop_second, RELU);
    assert_eq!((&*report.applied[0].layer, report.checked), ("b", 1));
}

#[test]
fn inner_values_may_change_if_the_outputs_do_not() {
    // Dropping the negation changes the inner value, but not the output: `|-x|` is `|x|`.
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"N\"}
                  %a = Negative-1(%x)
                  %b = Abs-1(%a)
                  %y = Result-1(%b)";
    passes(drop_all("Negative"), layers);
    refuted(drop_all("Abs"), layers);
}

#[test]
fn other_inputs_and_outputs_cannot_be_compared() {
    let drop_output = Pass::graph("drop-output", |graph: &mut Graph, _: &mut PassContext| {
        let last = graph.results().last().unwrap();
        graph.remove(last);
    });
    unchecked(drop_output, &format!("{RELU}\n%z = Result-1(%a)"));
}

/// Callers find inputs and outputs by name, so a pass that changes names cannot be checked.
#[test]
fn other_names_of_inputs_and_outputs_are_unchecked() {
    let rename = |layer: &'static str| {
        Pass::graph("rename", move |graph: &mut Graph, _: &mut PassContext| {
            let id = graph.find(layer).unwrap();
            graph.rename(id, "renamed");
        })
    };
    let name_tensor = |layer: &'static str| {
        Pass::graph("name-tensor", move |graph: &mut Graph, _: &mut PassContext| {
            let value = graph.node(graph.find(layer).unwrap()).output(0).unwrap();
            graph.set_tensor_names(value, vec!["renamed".into()]);
        })
    };
    let layers = RELU
        .replace(
            "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}",
            "%x = Parameter-1 {element_type: f32, shape: \"N,4\"} : _ \"in\"",
        )
        .replace("%e = Exp-1(%b)", "%e = Exp-1(%b) : _ \"out\"");
    for layer in ["x", "y"] {
        unchecked(rename(layer), RELU);
    }
    for layer in ["x", "e"] {
        unchecked(name_tensor(layer), &layers);
    }
    // Names of inner layers may change, because callers do not use them.
    let (report, is_changed) = run(rename("n"), RELU);
    assert!(report.is_ok() && is_changed, "{report:?}");
}

#[test]
fn every_output_is_compared() {
    // The input of the first ReLU is nonnegative, so only the output of the second one shows the difference.
    for (first, second) in [("b", "c"), ("c", "b")] {
        let layers = format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"4\"}}
             %a = Abs-1(%x)
             %b = ReLU-1(%a)
             %c = ReLU-1(%x)
             %y = Result-1(%{first})
             %z = Result-1(%{second})"
        );
        refuted(drop_all("ReLU"), &layers);
    }
}

/// A tolerance applies only to elements, not to sizes and types.
#[test]
fn outputs_of_another_size_or_type_are_refuted() {
    let layers = |layer: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"N\"}}
             %z = Parameter-1 {{element_type: f32, shape: \"M\"}}
             %a = {layer}
             %y = Result-1(%a)"
        )
    };
    let drop = |op_type| drop_all(op_type).may_round_within(1e-5, 0.0);
    refuted(drop("Concat"), &layers("Concat-1(%x, %z) {axis: 0}"));
    refuted(drop("Convert"), &layers("Convert-1(%x) {destination_type: f64}"));
}

/// A layer that cannot be executed is matched by name, and only its inputs are compared.
#[test]
fn layers_that_cannot_run_are_left_out() {
    let around = |second: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"4\"}}
             %a = ReLU-1(%x)
             %b = {second}(%a)
             %f = Fancy-x(%b) : f32[4]
             %c = Negative-1(%f)
             %d = Negative-1(%c)
             %y = Result-1(%d)"
        )
    };
    passes(drop_all("ReLU"), &around("ReLU-1").replace("%a = ReLU-1", "%a = Abs-1"));
    refuted(drop_all("ReLU"), &around("ReLU-1"));
    passes(drop_all("Negative"), &around("ReLU-1"));
    // No layer remains that matches the replaced layer by name, so its inputs cannot be compared.
    unchecked(drop_all("Fancy"), &around("ReLU-1"));
}

/// Equal layers with equal inputs compute the same value, whether or not they can be executed.
#[test]
fn layers_that_cannot_run_may_be_merged() {
    let merge = Pass::graph("merge", |graph: &mut Graph, cx: &mut PassContext| {
        let [first, second] = ["f", "g"].map(|name| graph.find(name).unwrap());
        cx.applied(graph.node(second));
        let value = snick_ir::Value { node: first, port: 0 };
        graph.replace_outputs(second, &[Some(value)]);
    });
    passes(
        merge,
        "%x = Parameter-1 {element_type: f32, shape: \"4\"}
         %f = Fancy-x(%x) : f32[4]
         %g = Fancy-x(%x) : f32[4]
         %y = Result-1(%f)
         %z = Result-1(%g)",
    );
}

#[test]
fn states_are_compared() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"4\"}
                  %r = ReadValue-6(%x) {variable_id: \"v\", variable_shape: \"4\", variable_type: f32}
                  %a = Add-1(%r, %x) {auto_broadcast: numpy}
                  %b = ReLU-1(%a)
                  %w = Assign-6(%b) {variable_id: \"v\"}
                  %y = Result-1(%a)";
    refuted(drop_all("ReLU"), layers);
    passes(drop_all("ReLU"), &layers.replace("%a = Add-1(%r, %x) {auto_broadcast: numpy}", "%a = Exp-1(%r)"));
}

#[test]
fn passes_that_round_declare_it() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"N\"}
                  %three = Const-1 f32[] <3.0>
                  %a = Divide-1(%x, %three) {auto_broadcast: numpy}
                  %y = Result-1(%a)";
    let by_reciprocal = || {
        Pass::graph("by-reciprocal", |graph: &mut Graph, cx: &mut PassContext| {
            for id in of_type(graph, "Divide") {
                cx.applied(graph.node(id));
                let x = graph.node(id).input(0).unwrap();
                let b = snick_ir::GraphBuilder::on(graph);
                let third = b.scalar(snick_tensor::ElementType::F32, 1.0 / 3.0)?;
                let product = b.multiply(x, third)?;
                graph.replace_outputs(id, &[Some(product)]);
            }
            Ok(())
        })
    };
    refuted(by_reciprocal(), layers);
    passes(by_reciprocal().may_round_within(1e-6, 0.0), layers);
}

#[test]
fn a_rebuilt_graph_is_compared() {
    let rebuild = |op: &'static str| {
        Pass::graph("rebuild", move |graph: &mut Graph, _: &mut PassContext| {
            let text = print(graph, PrintOptions::default()).replace("ReLU-1", op);
            *graph = parse(&text, None).unwrap();
            infer(graph);
        })
    };
    refuted(rebuild("Abs-1"), RELU);
    let (report, _) = run(rebuild("ReLU-1"), RELU);
    assert!(report.is_ok(), "{report:?}");
}

/// Layers with bodies cannot be executed alone, so a pass that changes a body itself is not verified.
#[test]
fn changes_in_bodies_are_unchecked() {
    let layers = "%c = Parameter-1 {element_type: boolean, shape: \"\"}
        %x = Parameter-1 {element_type: f32, shape: \"3\"}
        %if = If-8(%c, %x) {inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [],
                            else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}
          then_body graph \"then\" {
            %x = Parameter-1 {element_type: f32, shape: \"3\"}
            %a = ReLU-1(%x)
            %r = Result-1(%a)
          }
          else_body graph \"else\" {
            %x = Parameter-1 {element_type: f32, shape: \"3\"}
            %r = Result-1(%x)
          }
        %y = Result-1(%if)";
    let in_bodies = Pass::graph("in-bodies", |graph: &mut Graph, _: &mut PassContext| {
        graph.for_each_body(|body| {
            for id in of_type(body, "ReLU") {
                let input = body.node(id).input(0);
                body.replace_outputs(id, &[input]);
            }
        });
    });
    unchecked(in_bodies, layers);
    // Each body on its own is checked as a graph.
    refuted(drop_all("ReLU"), layers);
}
