//! Rules that capture values, and the properties that replacements inherit.

use std::sync::Arc;
use std::time::Duration;

use snick_tensor::Tensor;

use super::*;
use crate::text::{PrintOptions, parse, print};
use crate::{Arity, Attrs, Custom, CustomOp, Facts, Infer, Info, Limits, PortIds, Watch, infer};

fn graph(layers: &str) -> Graph {
    let mut graph = parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
    infer(&mut graph);
    graph
}

fn text(graph: &Graph) -> String {
    print(graph, PrintOptions::default())
}

/// Lowers opaque layers of this type to ReLU.
fn lower(op_type: &'static str) -> Rule {
    Rule::new("lower", move |patch| match patch.node().op().type_name() == op_type {
        true => {
            let data = patch.input(0)?;
            patch.relu(data).map(RewriteResult::one)
        }
        false => Ok(RewriteResult::NoMatch),
    })
}

#[test]
fn a_replaced_opaque_layer_is_gone() {
    for declared in [": f32[N,3]", ": f32[?,?]", ": f32[...]", ": dynamic[...]", ""] {
        let mut graph = graph(&format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"4,3\"}}
             %w = Const-1 f32[] <1.0>
             %a = Fancy-x(%x, %w){}
             %b = Fancy-x(%a, %w){}
             %y = Result-1(%b)",
            declared.replace('N', "4"),
            declared.replace('N', "4")
        ));
        let trace = apply(&mut graph, &[lower("Fancy")], DriverOptions::default());
        assert_eq!((trace.applied.len(), &trace.errors[..]), (2, &[][..]), "{declared}");
        assert_eq!((trace.work[0].applied, trace.work[0].declined), (2, 0), "{declared}");
        assert_eq!(graph.len(), 4, "{declared}\n{}", text(&graph));
        assert_eq!(infer(&mut graph), []);
        assert!(text(&graph).contains("%b = ReLU-1(%a) : f32[4,3]"), "{}", text(&graph));
    }
}

#[test]
fn an_opaque_layer_of_which_an_output_is_read_stays() {
    let mut graph = graph(
        "%x = Parameter-1 {element_type: f32, shape: \"4,3\"}
         %a = Fancy-x(%x) : (f32[4,3], f32[4,3])
         %y = Result-1(%a)
         %z = Result-1(%a:1)",
    );
    let rule = Rule::new("first-output", |patch| match patch.is_used(0) && patch.node().op().is_opaque() {
        true => Ok(RewriteResult::one(patch.input(0)?)),
        false => Ok(RewriteResult::NoMatch),
    });
    let trace = apply(&mut graph, &[rule], DriverOptions::default());
    assert_eq!((trace.applied.len(), graph.len()), (1, 4), "{}", text(&graph));
}

#[test]
fn inputs_outputs_and_states_stay() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"4\"}
         %r = ReadValue-6(%x) {variable_id: \"v\", variable_shape: \"4\", variable_type: f32}
         %a = Add-1(%r, %x)
         %w = Assign-6(%a) {variable_id: \"v\"}
         %y = Result-1(%w)";
    let mut graph = graph(layers);
    let rule = Rule::new("drop-assign", |patch| match patch.node().op() {
        Op::Assign(_) if patch.is_used(0) => Ok(RewriteResult::one(patch.input(0)?)),
        _ => Ok(RewriteResult::NoMatch),
    });
    let trace = apply(&mut graph, &[rule], DriverOptions::default());
    assert_eq!((trace.applied.len(), graph.len()), (1, 5), "{}", text(&graph));
}

/// The declared facts of an opaque layer may be more precise than the facts inferred for its replacement.
#[test]
fn declared_facts_of_an_opaque_layer_stay() {
    let mut graph = graph(
        "%x = Parameter-1 {element_type: f32, shape: \"N\"}
         %a = Fancy-x(%x) : f32[4]
         %y = Result-1(%a)",
    );
    let trace = apply(&mut graph, &[lower("Fancy")], DriverOptions::default());
    assert_eq!((trace.applied.len(), trace.missed.len()), (1, 0));
    assert!(text(&graph).contains("%a = ReLU-1(%x) : f32[4]"), "{}", text(&graph));
}

/// A replacement inherits the layer's metadata, but nothing specific to the replaced op.
#[test]
fn metadata_is_inherited_and_port_numbers_are_not() {
    fn abs_of_relu(patch: &mut Patch) -> Result<RewriteResult, OpError> {
        match patch.node().op().type_name() {
            "ReLU" => {
                let data = patch.input(0)?;
                patch.abs(data).map(RewriteResult::one)
            }
            _ => Ok(RewriteResult::NoMatch),
        }
    }
    let mut graph = graph(
        "%x = Parameter-1 {element_type: f32, shape: \"4\"}
         %a = ReLU-1(%x)
         %y = Result-1(%a)",
    );
    let layer = graph.find("a").unwrap();
    let place = graph.place(layer);
    let details = graph.nodes[place].details_mut();
    details.extra = Attrs::new().with("surplus", 1);
    details.info = vec![Info { name: "rt_info".into(), ..Info::default() }];
    (details.input_ids, details.output_ids) = (Some(PortIds::new(&[7])), Some(PortIds::new(&[9])));
    let rule = Rule::for_target("abs", abs_of_relu);
    let trace = apply(&mut graph, &[rule], DriverOptions::default());
    assert_eq!((trace.applied.len(), &trace.errors[..]), (1, &[][..]));
    let replacement = graph.node(graph.find("a").unwrap());
    assert_eq!(replacement.op().type_name(), "Abs");
    let details = replacement.details().unwrap();
    assert_eq!(*details, Details { info: details.info.clone(), ..Details::default() });
    assert_eq!(details.info[0].name, "rt_info");
}

#[test]
fn a_rule_that_contradicts_what_is_declared_fails() {
    let mut graph = graph(
        "%x = Parameter-1 {element_type: f32, shape: \"3\"}
         %a = Fancy-x(%x) : f32[4]
         %y = Result-1(%a)",
    );
    let trace = apply(&mut graph, &[lower("Fancy")], DriverOptions::default());
    let error = trace.errors[0].error.to_string();
    assert_eq!(error, "the replacement of output 0 is f32[3], expected f32[4]");
    assert!(text(&graph).contains("Fancy"));
}

#[test]
fn impossible_replacements_are_errors() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"3\"}\n%a = ReLU-1(%x)\n%y = Result-1(%a)";
    let is_relu = |patch: &Patch| patch.node().op().type_name() == "ReLU";
    let other = GraphBuilder::new("other");
    let foreign = other.parameter("z", snick_tensor::ElementType::F32, "3").unwrap();
    let foreign = (0..9).fold(foreign, |value, _| other.relu(value).unwrap());
    let rules = [
        Rule::new("after-itself", move |patch| {
            let output = patch.output(0);
            if is_relu(patch) {
                patch.relu(output).map(RewriteResult::one)
            } else {
                Ok(RewriteResult::NoMatch)
            }
        }),
        Rule::new("itself", move |patch| match is_relu(patch) {
            true => Ok(RewriteResult::one(patch.output(0))),
            false => Ok(RewriteResult::NoMatch),
        }),
        Rule::new("too-many", move |patch| match is_relu(patch) {
            true => Ok(RewriteResult::many([patch.input(0)?, patch.input(0)?])),
            false => Ok(RewriteResult::NoMatch),
        }),
        Rule::new("foreign", move |patch| match is_relu(patch) {
            true => Ok(RewriteResult::one(foreign)),
            false => Ok(RewriteResult::NoMatch),
        }),
        Rule::new("endless", move |patch| {
            let input = patch.input(0);
            if is_relu(patch) {
                patch.relu(input?).map(RewriteResult::one)
            } else {
                Ok(RewriteResult::NoMatch)
            }
        }),
    ];
    let messages = rules.map(|rule| {
        let mut graph = graph(layers);
        let trace = apply(&mut graph, &[rule], DriverOptions::default());
        assert_eq!(graph.len(), 3, "{}", text(&graph));
        assert_eq!(trace.errors.len(), 1);
        trace.errors[0].error.to_string()
    });
    assert_eq!(
        messages,
        [
            "the replacement reads the layer that it replaces",
            "the replacement reads the layer that it replaces",
            "the number of new values is 2, expected 1, as for the layer",
            "a value of another graph, or of a node that was removed",
            "rule `endless` does not end after 112 rewrites; it must not match its own replacement",
        ]
    );
}

#[test]
fn works_of_a_rule_add_up() {
    let work = |tried, applied, declined, time| RuleWork {
        tried,
        applied,
        declined,
        time: Duration::from_secs(time),
        ..RuleWork::new("rule".into())
    };
    let mut total = work(5, 3, 2, 7);
    total.add(&work(4, 1, 3, 2));
    assert_eq!(total, work(9, 4, 5, 9));
    let mut begun = now();
    total.pause(&mut begun);
    assert!(begun.is_some() && total.time >= Duration::from_secs(9));
}

/// An error of the custom op itself is not reported as an error of its decomposition.
#[test]
fn an_error_of_a_custom_op_is_not_one_of_its_decomposition() {
    #[derive(Debug)]
    struct Wrong;

    impl CustomOp for Wrong {
        fn arity(&self) -> Arity {
            Arity::exactly(1)
        }

        fn infer(&self, _: &mut Infer<'_>) -> Result<Facts, OpError> {
            Err(OpError::rank("input 0", 0, "1"))
        }
    }

    let op = Custom::new("my.ops", "Wrong", Arc::new(Wrong));
    let error = decomposed(&op, &[Tensor::scalar(3f32)], 1).unwrap_err();
    assert!(!matches!(error, OpError::InDecomposition(_)), "{error:?}");
}

#[test]
fn a_patch_says_what_surrounds_its_layer() {
    let graph = graph(
        "%x = Parameter-1 {element_type: f32, shape: \"6\"}
         %axis = Const-1 i64[] <0>
         %s:3 = Split-1(%x, %axis) {num_splits: 3}
         %y = Result-1(%s:1)",
    );
    let root = graph.find("s").unwrap();
    let liveness = Liveness::of(&graph);
    let mut monitor = Watch::new().limits(Limits::new().fuel(3)).start();
    let patch = Patch::new(&graph, root, &liveness, Some(&mut monitor));
    assert_ne!(root.index(), 0);
    assert_eq!(patch.origin(), Origin { node: root.index() as u32, port: 0, axis: 0 });
    assert_eq!(patch.used_outputs(), [false, true]);
    assert_eq!([0, 1, 2].map(|port| patch.is_used(port)), [false, true, false]);
    let inputs = [patch.input(0).unwrap(), patch.input(1).unwrap()];
    assert_eq!(patch.inputs_of(patch.output(0)).unwrap().as_slice(), inputs);
    assert_eq!([4, 3, 1].map(|elements| patch.take_fuel(elements)), [false, true, false]);
}

#[test]
fn constructors_of_rules_say_what_stays() {
    fn none(_: &mut Patch) -> Result<RewriteResult, OpError> {
        Ok(RewriteResult::NoMatch)
    }
    let rules = [
        Rule::new("new", none),
        Rule::exact("exact", none),
        Rule::rounding("rounding", none),
        Rule::for_target("for-target", none),
    ];
    assert_eq!(rules.each_ref().map(Rule::is_exact), [true, true, false, true]);
    assert_eq!(rules.each_ref().map(Rule::keeps_facts), [false, false, false, true]);
}

/// Inference reports the error of the layer, so the failure of the rule is only a missed rewrite.
#[test]
fn a_rule_that_fails_at_a_layer_that_inference_refuses_misses_it() {
    let layers = |axis: i64| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"3\"}}
             %a = Concat-1(%x, %x) {{axis: {axis}}}
             %y = Result-1(%a)"
        )
    };
    let fails = Rule::new("fails", |patch| match patch.node().op() {
        Op::Concat(_) => Err(OpError::NotConnected { port: 7 }),
        _ => Ok(RewriteResult::NoMatch),
    });
    for (axis, expected) in [(0, (1, 0)), (7, (0, 1))] {
        let mut graph = graph(&layers(axis));
        let trace = apply(&mut graph, std::slice::from_ref(&fails), DriverOptions::default());
        assert_eq!((trace.errors.len(), trace.missed.len()), expected, "{axis}");
        assert_eq!((trace.work[0].tried, trace.work[0].applied), (3, 0));
    }
}

/// New nodes take the numbers of removed ones, and the rule reads the graph and its new nodes meanwhile.
#[test]
fn a_rule_reads_the_graph_while_it_adds_nodes() {
    let mut graph = graph(
        "%x = Parameter-1 {element_type: f32, shape: \"3\"}
         %unread = ReLU-1(%x)
         %a = Fancy-x(%x)
         %unused = ReLU-1(%a)
         %y = Result-1(%a)",
    );
    let rule = Rule::new("lower", |patch| {
        let (node, fact) = (patch.node(), patch.fact(patch.input(0)?)?);
        let relu = patch.relu(patch.abs(patch.input(0)?)?)?;
        let new_fact = patch.fact(relu)?;
        let indices = patch.non_zero(relu)?;
        assert_eq!((patch.op_of(relu).type_name(), patch.input_of(indices, 0)?), ("ReLU", relu));
        assert_eq!((patch.graph().len(), node.name(), fact), (3, "a", new_fact));
        assert_eq!(patch.added().len(), 3);
        Ok(RewriteResult::one(indices))
    });
    let trace = apply(&mut graph, &[rule.roots(["Fancy"])], DriverOptions::default());
    assert_eq!((trace.applied.len(), trace.work[0].tried), (1, 1), "{:?}", trace.errors);
    let replacement = graph.find("a").unwrap();
    let fact = graph.fact(Value { node: replacement, port: 0 }).unwrap();
    let count = fact.shape.dims().unwrap()[1].as_symbol().unwrap();
    assert_eq!(graph.symbols().origin(count).node as usize, replacement.index());
    assert_eq!(graph.order().unwrap().len(), 5);
    assert!(text(&graph).contains("%a = NonZero-3(%a/ReLU)"), "{}", text(&graph));
}

/// Rules that are declined, fail or are refused leave no nodes behind.
#[test]
fn rejected_replacements_leave_the_graph_as_it_was() {
    struct Refuse;

    impl Check for Refuse {
        fn check(&mut self, _: &Proposal) -> Result<(), String> {
            Err("no".into())
        }
    }

    let layers = "%x = Parameter-1 {element_type: f32, shape: \"3\"}\n%a = ReLU-1(%x)\n%y = Result-1(%a)";
    let before = text(&graph(layers));
    let rules = [
        Rule::new("declines", |patch| patch.relu(patch.input(0)?).map(|_| RewriteResult::declined("no"))),
        Rule::new("fails", |patch| patch.relu(patch.input(0)?).and(Err(OpError::NotConnected { port: 1 }))),
        Rule::new("refused", |patch| patch.abs(patch.input(0)?).map(RewriteResult::one)),
    ];
    let mut graph = graph(layers);
    let options = DriverOptions { check: Some(&mut Refuse), ..DriverOptions::default() };
    let trace = apply(&mut graph, &rules.map(|rule| rule.roots(["ReLU"])), options);
    assert_eq!((trace.missed.len(), trace.errors.len(), trace.check_failures.len()), (1, 1, 1));
    assert_eq!((text(&graph), graph.bound()), (before, 3));
}
