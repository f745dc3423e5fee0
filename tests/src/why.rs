//! Explanations of sizes: symbols are defined, trees end where symbols originate, suggestions work.

use std::collections::BTreeSet;

use snick::{BirthKind, Model, Part, Role, ValuePart, WhyNode};

use crate::files;

fn inferred(layers: &str) -> Model {
    let mut model = snick::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n")).unwrap();
    assert_eq!(model.infer().errors(), []);
    model
}

/// The printed tree of a target.
fn why(layers: &str, target: &str) -> String {
    let model = inferred(layers);
    let target = model.target(target).unwrap();
    let texts = target.parts(&model).into_iter().map(|part| model.why(part).unwrap().to_string());
    texts.collect::<Vec<_>>().join("\n")
}

/// The names in an expression, except functions.
fn names(expr: &str) -> BTreeSet<&str> {
    let words = expr.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with(char::is_alphabetic) && !["min", "max"].contains(word)).collect()
}

/// Computed nodes have children, which contain all their symbols; leaves are not computed.
fn check(node: &WhyNode, model: &Model, depth: usize) {
    assert!(depth <= 256, "too deep");
    assert_eq!(node.from.is_empty(), node.role != Role::Computed, "{node}");
    assert!(node.place.layer.is_empty() || model.graph().find(&node.place.layer).is_some(), "{node}");
    let is_born = matches!(node.role, Role::Data | Role::Merged | Role::GivenUp);
    assert!(!is_born || node.reason.is_some(), "{node}");
    if !node.from.is_empty() {
        let below: BTreeSet<&str> = node.from.iter().flat_map(|child| names(&child.expr)).collect();
        assert!(names(&node.expr).is_subset(&below), "{node}");
    }
    node.from.iter().for_each(|child| check(child, model, depth + 1));
}

#[test]
fn trees_of_all_sizes_end_at_births() {
    let mut count = 0;
    for path in files::ops_and_models() {
        let Ok(mut model) = snick::load(&path) else { continue };
        if !model.infer().is_ok() {
            continue;
        }
        let symbols = model.symbols();
        let listed: BTreeSet<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
        assert_eq!(listed.len(), symbols.len(), "{}: a symbol is listed twice", path.display());
        for symbol in &symbols {
            let is_input = symbol.kind == BirthKind::Input;
            assert_eq!(symbol.reason.is_none(), is_input, "{}: {symbol}", path.display());
        }
        let graph = model.graph();
        for id in graph.ids() {
            for (port, out) in graph.node(id).outs().iter().enumerate() {
                let value = graph.node(id).output(port).unwrap();
                for part in Part::dims(&out.fact) {
                    let why = model.why(ValuePart::new(value, part)).unwrap();
                    assert!(names(&why.tree.expr).is_subset(&listed), "{}: {why}", path.display());
                    check(&why.tree, &model, 1);
                    count += 1;
                }
            }
        }
    }
    assert!(count > 1000, "{count} sizes");
}

#[test]
fn suggestions_give_what_they_say() {
    let mut count = 0;
    for path in files::ops_and_models() {
        let Ok(mut model) = snick::load(&path) else { continue };
        if !model.infer().is_ok() {
            continue;
        }
        let unknown = model.why_unknown();
        assert_eq!(unknown.origins.iter().map(|origin| origin.dims).sum::<usize>(), unknown.dims);
        for origin in &unknown.origins {
            for suggestion in &origin.suggestions {
                let mut changed = model.clone();
                changed.reshape(&suggestion.shape).unwrap();
                assert!(changed.infer().is_ok());
                let graph = changed.graph();
                let node = graph.node(graph.find(&origin.layer).unwrap());
                let text = |fact: &snick::Fact| {
                    format!("{}{}", fact.element_type(), fact.shape().display_labels(graph.symbols()))
                };
                let facts: Vec<String> = node.outputs().map(text).collect();
                assert!(facts.contains(&suggestion.gives), "{}: {suggestion:?}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 50, "{count} suggestions");
}

#[test]
fn a_broadcast_says_when_both_sizes_are_equal() {
    // A mask of 4 positions, cut to the length of the new keys after the past ones.
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"T,8\"}
        %past = Parameter-1 {element_type: f32, shape: \"P,8\"}
        %value = Const-1 f32[] <0>
        %sizes = Const-1 i64[2] <4, 8>
        %mask = Broadcast-3(%value, %sizes) {mode: numpy}
        %zero = Const-1 i64[1] <0>
        %one = Const-1 i64[1] <1>
        %axis = Const-1 i64[] <0>
        %past_shape = ShapeOf-3(%past) {output_type: i64}
        %from = Gather-8(%past_shape, %zero, %axis) {batch_dims: 0}
        %new_shape = ShapeOf-3(%x) {output_type: i64}
        %count = Gather-8(%new_shape, %zero, %axis) {batch_dims: 0}
        %to = Add-1(%from, %count) {auto_broadcast: \"numpy\"}
        %cut = Slice-8(%mask, %from, %to, %one, %zero)
        %sum = Add-1(%x, %cut) {auto_broadcast: \"numpy\"}
        %y = Result-1(%sum)";
    insta::assert_snapshot!(why(layers, "sum:2:0"), @r#"
    sum axis 0 = s2

    s2  Add sum, axis 0  (17:9)
      broadcasts T with min(T,max(4-P,0)); equal only while T<=max(4-P,0) (?)

    try --shape "x[T=..1024,8],past[P=..1024,8]"
        s2 is at most 1024
    "#);
}

#[test]
fn a_body_keeps_the_symbols_of_outside_and_names_its_own() {
    let path = files::root().join("models/subgraphs_loop/model.xml");
    let mut model = snick::load(path).unwrap();
    assert!(model.infer().is_ok());
    let symbols: Vec<String> = model.symbols().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(symbols.join("\n"), @r"
    s0: Parameter x (4:3), axis 0
    s1: Loop loop (28:3), axis 0: the values of Parameter `trips` (10:3) are known only in a run
    b1_s0: Parameter iteration (52:6): the number of the iteration
    ");
}

#[test]
fn both_operands_of_an_error_are_followed_to_their_births() {
    let mut model = snick::parse(
        "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
         %w = Const-1 f32[1,4] <1, 2, 3, 4>\n  %a = Relu-1(%x)\n  %b = Abs-1(%w)\n  \
         %sum = Add-1(%a, %b) {auto_broadcast: \"numpy\"}\n  %y = Result-1(%sum)\n}\n",
    )
    .unwrap();
    let inference = model.infer();
    let explained = model.why_error(&inference.errors()[0]).unwrap();
    let operands: Vec<String> = explained.operands.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(operands.join(""), @r"
    3  Parameter x, axis 1  (3:3)  input
    4  Const w, axis 1  (4:3)  constant
    ");
}

#[test]
fn a_size_from_a_shape_subgraph_is_followed_through_its_values() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"N,6\"}
        %shape = ShapeOf-3(%x) {output_type: i64}
        %zero = Const-1 i64[1] <0>
        %axis = Const-1 i64[] <0>
        %n = Gather-8(%shape, %zero, %axis) {batch_dims: 0}
        %two = Const-1 i64[1] <2>
        %half = Multiply-1(%n, %two) {auto_broadcast: \"numpy\"}
        %three = Const-1 i64[1] <3>
        %to = Concat-1(%half, %three) {axis: 0}
        %y = Reshape-1(%x, %to) {special_zero: false}
        %r = Result-1(%y)";
    insta::assert_snapshot!(why(layers, "y"), @r#"
    y axis 0 = 2*N

    2*N  Multiply half, element 0  (9:9)
    └─ N  Parameter x, axis 0  (3:1)  input

    try --shape "x[N=..1024,6]"
        2*N is at most 2048

    y axis 1 = 3  Const three, element 0  (10:9)  constant
    "#);
}

#[test]
fn names_that_are_not_there_are_errors_with_a_hint() {
    let model = inferred("%data = Parameter-1 {element_type: f32, shape: \"N,6\"}\n%r = Result-1(%data)");
    let error = |target: &str| model.target(target).unwrap_err().to_string();
    assert_eq!(error("dat"), "no layer or tensor named `dat`; did you mean `data`?");
    assert_eq!(error("data:3"), "layer `data` has no output port 3; its output port is 0");
    assert_eq!(error("data:0:2"), "no axis 2 in the shape [s0,6] of `data`".replace("s0", "N"));
}

/// The layers and axes, or elements, where the operands of the only error originate.
fn clash(layers: &str) -> Vec<String> {
    let mut model = snick::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n")).unwrap();
    let errors = model.infer();
    assert_eq!(errors.errors().len(), 1, "{layers}");
    let explained = model.why_error(&errors.errors()[0]).unwrap();
    assert_eq!(explained.operands.len(), explained.parts.len());
    let place = |node: &WhyNode| match (node.place.axis, node.place.element) {
        (Some(axis), _) => format!("{} axis {axis}", node.place.layer),
        (_, element) => format!("{} element {}", node.place.layer, element.unwrap()),
    };
    explained.operands.iter().map(place).collect()
}

#[test]
fn errors_name_the_sizes_of_both_operands() {
    let with = |inputs: &[(&str, &str)], layer: &str| {
        let inputs = inputs.iter().map(|(name, shape)| {
            format!("%{name} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
        });
        clash(&format!("{}{layer}", inputs.collect::<String>()))
    };
    let to = |target: &str| {
        let count = target.split(',').count();
        format!("%t = Const-1 i64[{count}] <{target}>\n%y = Reshape-1(%x, %t) {{special_zero: false}}")
    };
    let x = |target: &[&str]| {
        ["x axis 0", "x axis 1", "x axis 2"].iter().chain(target).map(ToString::to_string).collect::<Vec<_>>()
    };
    // Changing any one of these axes fixes it.
    assert_eq!(with(&[("x", "2,3,8")], &to("1, 24")), x(&["t element 0", "t element 1"]));
    assert_eq!(with(&[("x", "1,3,8")], &to("2, 24")), x(&["t element 0", "t element 1"]));
    assert_eq!(with(&[("x", "2,3,8")], &to("-1, 5")), x(&["t element 0", "t element 1"]));
    let two = [("a", "2,3"), ("b", "2,4")];
    assert_eq!(with(&two, "%y = Add-1(%a, %b)"), ["a axis 1", "b axis 1"]);
    assert_eq!(with(&two, "%y = Concat-1(%a, %b) {axis: 0}"), ["a axis 1", "b axis 1"]);
    let product = "%y = MatMul-1(%a, %b) {transpose_a: false, transpose_b: false}";
    assert_eq!(with(&two, product), ["a axis 1", "b axis 0"]);
    // Two axes mismatch at once, and changing one of them is not enough.
    let both = [("a", "7,1,2,3"), ("b", "4,5")];
    assert_eq!(with(&both, "%y = Add-1(%a, %b)"), ["a axis 2", "a axis 3", "b axis 0", "b axis 1"]);
    // The input that differs from the two others, and the inputs that it does not match.
    let three = [("a", "2,3"), ("b", "2,4"), ("c", "5,1")];
    assert_eq!(with(&three, "%y = Concat-1(%a, %b, %c) {axis: 1}"), ["a axis 0", "b axis 0", "c axis 0"]);
}
