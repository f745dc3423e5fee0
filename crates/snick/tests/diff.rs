//! Differences between models: equal models with different names, causes, and consequences.
#![cfg(feature = "analyze")]

use snick::{DiffOptions, EndChange, Error, LayerRef, Model, ModelDiff, diff};

type Tested = Result<(), Error>;

/// A model with these layers.
fn model(layers: &[&str]) -> Result<Model, Error> {
    let mut model = snick::parse(&format!("snick 1\ngraph \"g\" {{\n  {}\n}}\n", layers.join("\n  ")))?;
    model.infer().into_result()?;
    Ok(model)
}

fn compare(a: &[&str], b: &[&str]) -> Result<ModelDiff, Error> {
    let (a, b) = (model(a)?, model(b)?);
    let found = diff(&a, &b, &DiffOptions::new())?;
    // The comparison must be symmetric.
    let back = diff(&b, &a, &DiffOptions::new())?;
    assert_eq!((found.is_equal(), found.same, found.renamed), (back.is_equal(), back.same, back.renamed));
    assert_eq!((names(&found.added), names(&found.removed)), (names(&back.removed), names(&back.added)));
    assert_eq!(found.changed.len(), back.changed.len());
    let drift = |diff: &ModelDiff| diff.shape_drift.as_ref().map(|drift| drift.layers);
    assert_eq!(drift(&found), drift(&back));
    Ok(found)
}

fn names(layers: &[LayerRef]) -> Vec<&str> {
    layers.iter().map(|layer| layer.name.as_str()).collect()
}

/// The names of changed, removed and added layers, in the model that has them.
fn causes(diff: &ModelDiff) -> [Vec<&str>; 3] {
    let changed = diff.changed.iter().map(|change| change.a.name.as_str()).collect();
    [changed, names(&diff.removed), names(&diff.added)]
}

/// The layers, with some of them replaced.
fn with<'t>(layers: &[&'t str], edits: &[(&str, &'t str)]) -> Vec<&'t str> {
    let edited = |layer: &&'t str| edits.iter().find(|(old, _)| old == layer).map_or(*layer, |(_, new)| new);
    layers.iter().map(edited).collect()
}

const NORM: &str =
    "%norm = MVN-6(%sum, %axes) {eps: 1e-12, normalize_variance: true, eps_mode: \"inside_sqrt\"}";

/// Two inputs, weights, a norm, an activation, two outputs.
const PLAIN: [&str; 10] = [
    "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}",
    "%bias = Parameter-1 {element_type: f32, shape: \"4\"}",
    "%w = Const-1 f32[4,4] <1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>",
    "%axes = Const-1 i64[1] <1>",
    "%product = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}",
    "%sum = Add-1(%product, %bias) {auto_broadcast: numpy}",
    NORM,
    "%act = ReLU-1(%norm)",
    "%y = Result-1(%act)",
    "%z = Result-1(%product)",
];

#[test]
fn other_names_and_another_order_are_equal() -> Tested {
    let again = [
        "%one = Const-1 i64[1] <1>",
        "%a = Parameter-1 {element_type: f32, shape: \"B,4\"}",
        "%k = Const-1 f32[4,4] <1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>",
        "%b = Parameter-1 {element_type: f32, shape: \"4\"}",
        "%m = MatMul-1(%a, %k) {transpose_a: false, transpose_b: false}",
        // In the first model, these names belong to other layers.
        "%x = Add-1(%m, %b) {auto_broadcast: numpy}",
        "%y = MVN-6(%x, %one) {eps: 1e-12, normalize_variance: true, eps_mode: \"inside_sqrt\"}",
        "%w = ReLU-1(%y)",
        "%s = Result-1(%w)",
        "%t = Result-1(%m)",
    ];
    let found = compare(&PLAIN, &again)?;
    assert!(found.is_equal(), "{found:?}");
    assert_eq!((found.same, found.renamed), (0, 10));
    assert_eq!((found.inputs.len(), found.outputs.len()), (2, 2));
    assert_eq!(compare(&PLAIN, &PLAIN)?.same, 10);
    Ok(())
}

#[test]
fn an_edit_is_one_cause() -> Tested {
    let product = "%product = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}";
    let act = "%act = ReLU-1(%norm)";
    for (edit, expected) in [
        (
            (
                NORM,
                "%n = MVN-6(%sum, %axes) {eps: 1e-5, normalize_variance: true, eps_mode: \"inside_sqrt\"}\n%norm = Identity-16(%n)",
            ),
            [vec!["norm"], vec![], vec!["norm"]],
        ),
        (
            (product, "%product = MatMul-1(%x, %w) {transpose_a: false, transpose_b: true}"),
            [vec!["product"], vec![], vec![]],
        ),
        ((PLAIN[3], "%axes = Const-1 i32[1] <1>"), [vec!["axes"], vec![], vec![]]),
        ((PLAIN[3], "%axes = Const-1 i64[1] <0>"), [vec!["axes"], vec![], vec![]]),
        ((act, "%act = Sigmoid-1(%norm)"), [vec![], vec!["act"], vec!["act"]]),
        ((act, "%new = Abs-1(%norm)\n%act = ReLU-1(%new)"), [vec![], vec![], vec!["new"]]),
        ((act, "%act = ReLU-1(%sum)"), [vec!["act"], vec![], vec![]]),
        ((PLAIN[9], "%z = Result-1(%sum)"), [vec!["z"], vec![], vec![]]),
        ((PLAIN[9], "%z = Result-1(%product)\n%more = Result-1(%sum)"), [vec![], vec![], vec!["more"]]),
    ] {
        let found = compare(&PLAIN, &with(&PLAIN, &[edit]))?;
        assert_eq!(causes(&found), expected, "{edit:?}");
        assert!(!found.is_equal() && found.shape_drift.is_none(), "{edit:?}: {found:?}");
    }
    Ok(())
}

#[test]
fn causes_have_their_values() -> Tested {
    let eps = "%norm = MVN-6(%sum, %axes) {eps: 1e-5, normalize_variance: true, eps_mode: \"inside_sqrt\"}";
    let weights = "%w = Const-1 f32[4,4] <1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15.5, 12>";
    let rewired = "%sum = Add-1(%bias, %product) {auto_broadcast: numpy}";
    let found = compare(&PLAIN, &with(&PLAIN, &[(NORM, eps), (PLAIN[2], weights), (PLAIN[5], rewired)]))?;
    assert_eq!(causes(&found), [vec!["w", "sum", "norm"], vec![], vec![]]);
    let [w, sum, norm] = found.changed.as_slice() else { panic!("three causes") };
    assert_eq!(w.weights.map(|weights| (weights.differ, weights.max_abs)), Some((2.0 / 16.0, 4.0)));
    let reads: Vec<_> =
        sum.inputs.iter().map(|input| (input.port, input.a.as_deref(), input.b.as_deref())).collect();
    assert_eq!(reads, [(0, Some("product"), Some("bias")), (1, Some("bias"), Some("product"))]);
    let [attr] = norm.attrs.as_slice() else { panic!("one attribute") };
    assert_eq!((attr.name.as_str(), &attr.values), ("eps", &[Some("1e-12".into()), Some("1e-5".into())]));
    assert_eq!((norm.a.loc.line, norm.b.loc.line), (9, 9));
    Ok(())
}

#[test]
fn another_version_is_a_difference_and_a_set_that_repeats_the_op_is_none() -> Tested {
    let softmax = |version: &str| -> Result<Model, Error> {
        let layers = [PLAIN[0], &format!("%s = SoftMax-{version}(%x) {{axis: 1}}"), "%y = Result-1(%s)"];
        model(&layers)
    };
    for (versions, is_equal) in [(["1", "8"], false), (["8", "10"], true), (["1", "7"], true)] {
        let [a, b] = versions.map(softmax);
        let found = diff(&a?, &b?, &DiffOptions::new())?;
        assert_eq!(found.is_equal(), is_equal, "{versions:?}: {found:?}");
        if let [change] = found.changed.as_slice() {
            assert_eq!(change.attrs[0].values, [Some("opset1".into()), Some("opset8".into())]);
        }
    }
    Ok(())
}

#[test]
fn shapes_follow_from_the_input_that_was_changed() -> Tested {
    let found = compare(
        &PLAIN,
        &with(&PLAIN, &[(PLAIN[0], "%x = Parameter-1 {element_type: f32, shape: \"2..8,4\"}")]),
    )?;
    assert_eq!(causes(&found), [vec!["x"], vec![], vec![]]);
    assert_eq!(found.changed[0].shapes, Some(["[N,4]".into(), "[2..8,4]".into()]));
    let drift = found.shape_drift.as_ref().expect("shapes drift");
    assert_eq!((drift.first[0].name.as_str(), drift.layers), ("product", 6));
    assert_eq!(drift.facts, ["f32[?,4]", "f32[2..8,4]"]);
    assert_eq!((found.inputs.len(), found.outputs.len()), (1, 2));
    // In the second model, two sizes that were equal are no longer equal.
    let equal = [
        PLAIN[0],
        "%b = Parameter-1 {element_type: f32, shape: \"N,4\"}",
        "%y = Result-1(%x)",
        "%z = Result-1(%b)",
    ];
    let unequal = with(&equal, &[(equal[1], "%b = Parameter-1 {element_type: f32, shape: \"M,4\"}")]);
    assert_eq!(causes(&compare(&equal, &unequal)?), [vec!["b"], vec![], vec![]]);
    Ok(())
}

#[test]
fn order_and_names_of_outputs_matter() -> Tested {
    let named = ["%a = ReLU-1(%x) : _ \"first\"", "%b = Abs-1(%x) : _ \"second\""];
    let outputs = [PLAIN[0], named[0], named[1], "%y = Result-1(%a)", "%z = Result-1(%b)"];
    let moved = [PLAIN[0], named[0], named[1], "%z = Result-1(%b)", "%y = Result-1(%a)"];
    let found = compare(&outputs, &moved)?;
    assert!(!found.is_equal() && found.outputs.iter().all(|output| output.is_moved));
    assert_eq!(causes(&found), [vec![], vec![], vec![]] as [Vec<&str>; 3]);
    let exchanged = ["%a = ReLU-1(%x) : _ \"second\"", "%b = Abs-1(%x) : _ \"first\""];
    let found = compare(&outputs, &with(&outputs, &[(named[0], exchanged[0]), (named[1], exchanged[1])]))?;
    assert!(!found.is_equal() && found.outputs.iter().all(|output: &EndChange| output.is_exchanged));
    Ok(())
}

#[test]
fn swapped_layers_are_one_that_moved() -> Tested {
    let ab = [PLAIN[0], "%a = Exp-1(%x)", "%b = Sin-1(%a)", "%y = Result-1(%b)"];
    let ba = [PLAIN[0], "%b = Sin-1(%x)", "%a = Exp-1(%b)", "%y = Result-1(%a)"];
    let renamed = [PLAIN[0], "%p = Sin-1(%x)", "%q = Exp-1(%p)", "%y = Result-1(%q)"];
    for other in [ba, renamed] {
        // Either of the two swapped layers may count as moved.
        let found = diff(&model(&ab)?, &model(&other)?, &DiffOptions::new())?;
        let [changed, removed, added] = causes(&found);
        assert_eq!((changed.len(), removed.len(), added.len()), (0, 1, 1), "{found:?}");
    }
    Ok(())
}

#[test]
fn a_constant_that_is_shared_is_not_two() -> Tested {
    let sum = |k: &str, l: &str| {
        vec![
            format!("%p = Multiply-1(%x, %{k}) {{auto_broadcast: numpy}}"),
            format!("%q = Add-1(%p, %{l}) {{auto_broadcast: numpy}}"),
            "%y = Result-1(%q)".to_string(),
        ]
    };
    let (shared, apart) = (sum("k", "k"), sum("k", "l"));
    let constants = [PLAIN[0], "%k = Const-1 f32[] <2>", "%l = Const-1 f32[] <2>"];
    let shared: Vec<&str> = constants[..2].iter().copied().chain(shared.iter().map(String::as_str)).collect();
    let apart: Vec<&str> = constants.iter().copied().chain(apart.iter().map(String::as_str)).collect();
    let found = compare(&shared, &apart)?;
    assert_eq!(causes(&found), [vec![], vec![], vec!["l"]]);
    Ok(())
}

/// A chain of equal layers, with other layers inserted after some of them.
fn chain(length: usize, others: &[(usize, &str)], prefix: &str) -> String {
    let mut text =
        "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n".to_string();
    let mut last = "x".to_string();
    for at in 0..length {
        let ops = others.iter().filter(|(own, _)| *own == at).map(|(_, op)| *op);
        for op in ["ReLU"].into_iter().chain(ops) {
            text += &format!("  %{prefix}{op}{at} = {op}-1(%{last})\n");
            last = format!("{prefix}{op}{at}");
        }
    }
    text + &format!("  %y = Result-1(%{last})\n}}\n")
}

#[test]
fn edits_of_many_equal_layers_are_told_apart() -> Tested {
    let mut a = snick::parse(&chain(3000, &[], "a"))?;
    let mut b = snick::parse(&chain(3000, &[(1000, "Sigmoid"), (2000, "Tanh")], "b"))?;
    a.infer().into_result()?;
    b.infer().into_result()?;
    let found = diff(&a, &b, &DiffOptions::new())?;
    assert_eq!(causes(&found), [vec![], vec![], vec!["bSigmoid1000", "bTanh2000"]]);
    assert_eq!((found.same, found.renamed), (2, 3000));
    Ok(())
}

/// An If with two branches, which multiply by a constant and add one; `ends` are the Parameters of the first
/// branch.
fn branches(ends: [&str; 2], links: &str, factor: &str) -> Vec<String> {
    let [first, second] = ends;
    let parameter = |name: &str| format!("%{name} = Parameter-1 {{element_type: f32, shape: \"4\"}}");
    vec![
        parameter("x"),
        parameter("y"),
        "%c = Parameter-1 {element_type: boolean, shape: \"\"}".into(),
        format!(
            "%if = If-8(%c, %x, %y) {{inputs: [{links}], outputs: [\"0 -> 0\"], back_edges: [], \
             else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}}"
        ),
        "then_body graph \"\" {".into(),
        parameter(first),
        parameter(second),
        format!("%k = Const-1 f32[] <{factor}>"),
        "%p = Multiply-1(%u, %k) {auto_broadcast: numpy}".into(),
        "%s = Subtract-1(%p, %v) {auto_broadcast: numpy}".into(),
        "%r = Result-1(%s)\n}".into(),
        "else_body graph \"\" {".into(),
        parameter("u"),
        "%r = Result-1(%u)\n}".into(),
        "%out = Result-1(%if)".into(),
    ]
}

#[test]
fn bodies_are_compared_by_what_their_ends_are_connected_with() -> Tested {
    let lines = |layers: Vec<String>| layers.join("\n");
    let (first, other) = ("\"1 -> 0\", \"2 -> 1\"", "\"2 -> 0\", \"1 -> 1\"");
    let plain = lines(branches(["u", "v"], first, "2"));
    let numbered = lines(branches(["v", "u"], other, "2"));
    let crossed = lines(branches(["u", "v"], other, "2"));
    let factor = lines(branches(["u", "v"], first, "3"));
    let equal = compare(&[&plain], &[&numbered])?;
    assert!(equal.is_equal(), "{equal:?}");
    assert_eq!(equal.same, 13);
    assert!(!compare(&[&plain], &[&crossed])?.is_equal());
    let found = compare(&[&plain], &[&factor])?;
    assert_eq!(causes(&found), [vec!["k"], vec![], vec![]]);
    assert_eq!(found.changed[0].a.body.as_deref(), Some("if/then_body"));
    Ok(())
}

#[test]
fn weights_that_one_model_lacks_are_not_equal() -> Tested {
    let known = with(&PLAIN, &[(PLAIN[2], "%w = Const-1 f32[4,4] #00000000000000aa")]);
    let found = compare(&known, &known)?;
    assert!(found.is_equal() && found.uncompared == 0);
    let found = compare(&PLAIN, &known)?;
    assert_eq!(causes(&found), [vec!["w"], vec![], vec![]]);
    assert!(found.changed[0].lacks_elements);
    Ok(())
}
