//! Reduces models that contain a planted failure.

use super::edit::{Edit, applied};
use super::*;
use snick_ir::Op;
use snick_ir::text::parse;

fn model(layers: &str) -> Graph {
    let mut graph = parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
    infer(&mut graph);
    graph
}

fn has(graph: &Graph, op: &str) -> bool {
    graph.ids().any(|id| {
        let node = graph.node(id);
        node.op().type_name() == op || node.op().bodies().any(|(_, body)| has(body, op))
    })
}

/// Reduces the model, and checks that no further single edit keeps it interesting.
fn reduced(graph: &Graph, test: impl Fn(&Graph, &[Located]) -> bool) -> Reduction {
    let found = reduce(graph, 100_000, &mut |graph, errors| test(graph, errors));
    assert!(found.is_minimal);
    let mut again = found.graph.clone();
    let errors = infer(&mut again);
    assert!(test(&again, &errors), "what is left is not interesting");
    for edit in KINDS.iter().flat_map(|edits| edits(&again)) {
        assert_is_needed(&again, &edit, &test);
    }
    found
}

fn assert_is_needed(graph: &Graph, edit: &[Edit], test: &dyn Fn(&Graph, &[Located]) -> bool) {
    let Some(mut smaller) = applied(graph, edit) else { return };
    if Size::of(&smaller) < Size::of(graph) && smaller.results().next().is_some() {
        let errors = infer(&mut smaller);
        assert!(!test(&smaller, &errors), "{edit:?} leaves it interesting");
    }
}

/// The types of all layers, sorted.
fn types(graph: &Graph) -> Vec<String> {
    let mut types: Vec<String> = graph.ids().map(|id| graph.node(id).op().type_name().to_string()).collect();
    types.sort();
    types
}

/// A network of many layers around a layer that fails.
fn network() -> Graph {
    let mut layers = String::from(
        "%x = Parameter-1 {element_type: f32, shape: \"2,8,16\"}\n%w = Const-1 f32[16] <1, 2, 3, 4, 5, 6, 7, 8, 9, 1, \
         2, 3, 4, 5, 6, 7>\n%l0 = Add-1(%x, %w)\n",
    );
    for at in 0..24 {
        let op = ["ReLU-1", "Abs-1", "Floor-1", "Sigmoid-1"][at % 4];
        layers += &format!("%l{} = {op}(%l{at})\n", at + 1);
    }
    layers += "%o = Const-1 i64[3] <0, 2, 1>\n%t = Transpose-1(%l12, %o)\n%bad = Add-1(%t, %l24)\n\
               %m = Multiply-1(%bad, %l3)\n%y = Result-1(%m)\n%z = Result-1(%l20)\n%u = Result-1(%t)\n";
    model(&layers)
}

#[test]
fn an_error_is_left_with_its_operands() {
    let graph = network();
    let errors = infer(&mut graph.clone());
    let kind = ErrorKind::of(&errors[0]);
    assert_eq!(kind.to_string(), "S020 of Add");
    let found = reduced(&graph, |_, errors| kind.is_among(errors));
    assert_eq!(types(&found.graph), ["Add", "Parameter", "Parameter", "Result"]);
    assert!(found.tests < 400, "{} tests", found.tests);
}

#[test]
fn a_pair_of_layers_is_left() {
    let found = reduced(&network(), |graph, _| has(graph, "Transpose") && has(graph, "Floor"));
    let operations = found
        .graph
        .ids()
        .filter(|&id| !matches!(found.graph.node(id).op(), Op::Parameter(_) | Op::Const(_) | Op::Result(_)));
    assert_eq!(operations.count(), 2, "{:?}", types(&found.graph));
    assert!(found.graph.len() <= 6, "{:?}", types(&found.graph));
}

#[test]
fn sizes_ranks_and_attributes_are_cut() {
    let graph = model(
        "%x = Parameter-1 {element_type: f32, shape: \"4,5,6,64\"}\n%k = Const-1 i64[] <3>\n\
         %t:2 = TopK-11(%x, %k) {axis: 3, mode: min, sort: index, index_element_type: i64, stable: true}\n\
         %y = Result-1(%t)\n%z = Result-1(%t:1)",
    );
    let found = reduced(&graph, |graph, errors| has(graph, "TopK") && errors.is_empty());
    let text = print(&found.graph, PrintOptions::new());
    assert!(text.contains("shape: \"1\"") || text.contains("shape: \"3\""), "{text}");
    assert!(!text.contains("min") && !text.contains("stable: true"), "{text}");
}

#[test]
fn known_sizes_replace_unknown_ones() {
    let graph = model(
        "%x = Parameter-1 {element_type: f32, shape: \"N,?,2..9\"}\n%w = Parameter-1 {element_type: f32, shape: \
         \"...\"}\n%a = Add-1(%x, %w)\n%y = Result-1(%a)",
    );
    let found = reduced(&graph, |graph, errors| has(graph, "Add") && errors.is_empty());
    assert_eq!(types(&found.graph), ["Add", "Parameter", "Result"]);
    assert!(print(&found.graph, PrintOptions::new()).contains("shape: \"\""));
}

/// A Loop with a long body that contains `inner`.
fn looped(inner: &str) -> Graph {
    model(&format!(
        "%x = Parameter-1 {{element_type: f32, shape: \"3,4\"}}\n%n = Const-1 i64[] <5>\n\
         %go = Const-1 boolean[] <1>\n%q = Sqrt-1(%x)\n\
         %loop:2 = Loop-5(%n, %go, %q, %x) {{inputs: [\"_ -> 0 purpose=current_iteration\", \"2 -> 1\", \"3 -> 2\"], \
         outputs: [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\", \"1 -> 2\"], back_edges: [1,1]}}\n\
         body graph \"\" {{\n%i = Parameter-1 {{element_type: i64, shape: \"\"}}\n\
         %s = Parameter-1 {{element_type: f32, shape: \"...\"}}\n%t = Parameter-1 {{element_type: f32, shape: \"...\"}}\n\
         %true = Const-1 boolean[] <1>\n%a = Abs-1(%s)\n%b = Floor-1(%a)\n{inner}\n%c = ReLU-1(%in)\n\
         %d = Sigmoid-1(%t)\n%r0 = Result-1(%true)\n%r1 = Result-1(%c)\n%r2 = Result-1(%d)\n}}\n\
         %f = Floor-1(%loop)\n%y = Result-1(%f)\n%z = Result-1(%loop:1)"
    ))
}

#[test]
fn an_error_in_a_body_is_taken_out_of_it() {
    let graph = looped("%w = Const-1 f32[3] <1, 2, 3>\n%in = Multiply-1(%b, %w)");
    let errors = infer(&mut graph.clone());
    let kind = ErrorKind::of(&errors[0]);
    assert_eq!(kind.to_string(), "S020 of Multiply");
    let found = reduced(&graph, |_, errors| kind.is_among(errors));
    assert!(!has(&found.graph, "Loop") && found.graph.len() == 4, "{:?}", types(&found.graph));
}

#[test]
fn a_body_that_is_needed_is_reduced() {
    let graph = looped("%in = Exp-1(%b)");
    let found = reduced(&graph, |graph, errors| {
        let inside = |id| graph.node(id).op().bodies().any(|(_, body)| has(body, "Exp"));
        errors.is_empty() && graph.ids().any(inside)
    });
    let text = print(&found.graph, PrintOptions::new());
    for gone in ["Abs", "Floor", "ReLU", "Sigmoid", "Sqrt", "back_edges: [1"] {
        assert!(!text.contains(gone), "{gone}:\n{text}");
    }
    assert!(found.graph.layers() <= 10, "{text}");
}

#[test]
fn a_layer_that_reaches_no_result_is_kept() {
    let graph = model(
        "%x = Parameter-1 {element_type: f32, shape: \"2\"}\n%w = Parameter-1 {element_type: f32, shape: \"3\"}\n\
         %r = ReLU-1(%x)\n%bad = Add-1(%r, %w)\n%y = Result-1(%r)",
    );
    let found = reduced(&graph, |graph, _| has(graph, "Add"));
    assert!(has(&found.graph, "Add") && !has(&found.graph, "ReLU"), "{:?}", types(&found.graph));
}

#[test]
fn the_number_of_tests_is_limited() {
    let mut calls = 0;
    let found = reduce(&network(), 10, &mut |graph, _| {
        calls += 1;
        has(graph, "Floor")
    });
    assert_eq!((found.tests, calls, found.is_minimal), (10, 10, false));
    let none = reduce(&network(), 0, &mut |_, _| true);
    assert_eq!((none.tests, none.graph.len()), (0, network().len()));
}
