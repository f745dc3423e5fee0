//! Tests of counterexamples.

use snick_ir::{Limits, Watch};

use super::{Counterexample, counterexamples};
use crate::{Error, Model};

fn model(layers: &str) -> Model {
    let mut model = crate::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n")).unwrap();
    model.infer().into_result().unwrap();
    model
}

/// The counterexample for the first output.
#[track_caller]
fn found(before: &str, after: &str) -> Option<Counterexample> {
    let outputs = counterexamples(&model(before), &model(after), &[0], 1, &Watch::new()).unwrap();
    outputs.into_iter().next().unwrap()
}

/// `x[start:stop:step]` along an axis, for an input of this shape.
fn slice(shape: &str, [start, stop, step, axis]: [i64; 4]) -> String {
    let constant = |name: &str, value: i64| format!("%{name} = Const-1 i64[1] <{value}>\n");
    format!("%x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
        + &constant("start", start)
        + &constant("stop", stop)
        + &constant("step", step)
        + &constant("axis", axis)
        + "%a = Slice-8(%x, %start, %stop, %step, %axis)\n%y = Result-1(%a)"
}

#[test]
fn mistakes_in_slices_are_found() {
    let right = [1, 9, 2, 0];
    for wrong in [[2, 9, 2, 0], [1, 10, 2, 0], [1, 9, 3, 0], [1, 9, 2, 1]] {
        let found = found(&slice("N,N", right), &slice("N,N", wrong)).expect("a difference");
        assert_eq!(found.sizes.keys().collect::<Vec<_>>(), ["N"]);
        assert_ne!(found.before, found.after, "{wrong:?}");
    }
    assert_eq!(found(&slice("N,N", right), &slice("N,N", right)), None);
}

/// `x[:min(N, most)]` for `x[N]`.
fn shortened(shape: &str, most: i64) -> String {
    slice(shape, [0, most, 1, 0])
}

#[test]
fn mistakes_at_one_size_are_found() {
    // Equal for fewer than 8 elements, and for the one size 1001 of the last pair.
    let eight = found(&shortened("..8", 7), &shortened("..8", 8)).expect("a difference");
    assert_eq!(eight.sizes.values().collect::<Vec<_>>(), [&8]);
    assert_eq!((eight.index.as_slice(), &*eight.before, &*eight.after), (&[][..], "f32[7]", "f32[8]"));
    let bound = found(&shortened("..1001", 1000), &shortened("..1001", 1001)).expect("a difference");
    assert_eq!(bound.sizes.values().collect::<Vec<_>>(), [&1001]);
    let seven = |less: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"N\"}}\n%shape = ShapeOf-3(%x) {{output_type: i64}}\n\
             %seven = Const-1 i64[1] <{less}>\n%is = Equal-1(%shape, %seven) {{auto_broadcast: numpy}}\n\
             %n = Negative-1(%x)\n%a = Select-1(%is, %x, %n) {{auto_broadcast: numpy}}\n%y = Result-1(%a)"
        )
    };
    let at_seven = found(&seven("7"), &seven("-7")).expect("a difference");
    assert_eq!(at_seven.sizes["N"], 7);
    assert_eq!(at_seven.index.len(), 1);
}

#[test]
fn orders_of_axes_are_compared() {
    let transpose = |order: &str| {
        format!(
            "%x = Parameter-1 {{element_type: i32, shape: \"N,N\"}}\n%order = Const-1 i64[2] <{order}>\n\
             %a = Transpose-1(%x, %order)\n%y = Result-1(%a)"
        )
    };
    let found = found(&transpose("0, 1"), &transpose("1, 0")).expect("a difference");
    assert!(found.sizes["N"] > 1 && found.index[0] != found.index[1], "{found:?}");
}

#[test]
fn dims_are_named_as_inference_shows_them() {
    let pair = |op: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"P+T,?\"}}\n\
             %z = Parameter-1 {{element_type: f32, shape: \"P,T,3\"}}\n%a = {op}-1(%x)\n%y = Result-1(%a)"
        )
    };
    let before = model(&pair("Negative"));
    let after = model(&pair("Abs"));
    let outputs = counterexamples(&before, &after, &[0], 1, &Watch::new()).unwrap();
    let sizes = outputs[0].clone().expect("a difference").sizes;
    let x = before.graph().node(before.graph().find("x").unwrap());
    let shape = x.outs()[0].fact.shape.display_labels(before.graph().symbols()).to_string();
    let labels: Vec<&str> = shape.trim_matches(['[', ']']).split(',').collect();
    assert_eq!(sizes["P"] + sizes["T"], sizes[labels[0]]);
    assert!(sizes.contains_key(labels[1]) && sizes.len() == 4, "{sizes:?}");
}

#[test]
fn inputs_and_outputs_correspond_by_name_or_by_order() {
    let subtract = |a: &str, b: &str, names: [&str; 2]| {
        let [first, second] = names;
        format!(
            "%{a} = Parameter-1 {{element_type: f32, shape: \"4\"}}\n\
             %{b} = Parameter-1 {{element_type: f32, shape: \"4\"}}\n\
             %c = Subtract-1(%{}, %{}) {{auto_broadcast: numpy}}\n%d = Exp-1(%c)\n\
             %{first} = Result-1(%{})\n%{second} = Result-1(%{})",
            a.min(b),
            a.max(b),
            if first < second { "c" } else { "d" },
            if first < second { "d" } else { "c" },
        )
    };
    let before = subtract("p", "q", ["s", "t"]);
    assert_eq!(found(&before, &subtract("q", "p", ["t", "s"])), None);
    assert_eq!(found(&before, &subtract("v", "w", ["y", "z"])), None);
    assert!(found(&before, &subtract("w", "v", ["y", "z"])).is_some());
}

#[test]
fn steps_of_models_with_variables_are_compared() {
    let sum = |op: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"2\"}}\n%zero = Const-1 f32[2] <0.0, 0.0>\n\
             %old = ReadValue-6(%zero) {{variable_id: \"v\", variable_type: f32, variable_shape: \"2\"}}\n\
             %new = {op}-1(%old, %x) {{auto_broadcast: \"numpy\"}}\n%put = Assign-6(%new) {{variable_id: \"v\"}}\n\
             %a = Add-1(%x, %old) {{auto_broadcast: numpy}}\n%y = Result-1(%a)"
        )
    };
    // The first step returns `x`.
    assert!(found(&sum("Add"), &sum("Subtract")).is_some());
    assert_eq!(found(&sum("Add"), &sum("Add")), None);
}

#[test]
fn rounding_is_not_a_difference() {
    let sum = |a: &str, b: &str, c: &str| {
        format!(
            "%p = Parameter-1 {{element_type: f32, shape: \"N\"}}\n%q = Parameter-1 {{element_type: f32, shape: \"N\"}}\n\
             %r = Parameter-1 {{element_type: f32, shape: \"N\"}}\n%a = Add-1(%{a}, %{b}) {{auto_broadcast: numpy}}\n\
             %b = Add-1(%a, %{c}) {{auto_broadcast: numpy}}\n%y = Result-1(%b)"
        )
    };
    assert_eq!(found(&sum("p", "q", "r"), &sum("q", "r", "p")), None);
    assert!(found(&sum("p", "q", "r"), &sum("p", "q", "q")).is_some());
}

/// The sum of three values, as steps of 1, and then a layer named `q`.
fn scaled_sum(element_type: &str, steps: i64, [a, b, c]: [&str; 3], q: &str) -> String {
    let constant = |name: &str, value: &str| format!("%{name} = Const-1 {element_type}[1] <{value}>\n");
    let add =
        |name: &str, a: &str, b: &str| format!("%{name} = Add-1(%{a}, %{b}) {{auto_broadcast: numpy}}\n");
    format!("%x = Parameter-1 {{element_type: {element_type}, shape: \"4096\"}}\n")
        + &constant("u", "0.1373")
        + &constant("v", "0.4119")
        + &constant("u_plus_v", "0.5492")
        + &constant("zero", "0")
        + &constant("one", "1")
        + &constant("steps", &steps.to_string())
        + &add("sum", a, b)
        + &add("all", "sum", c)
        + &format!("%s = Multiply-1(%all, %steps) {{auto_broadcast: numpy}}\n%q = {q}\n%y = Result-1(%q)")
}

/// Layers in the branch of an If that a second input selects; the other branch returns its input.
fn in_branch(element_type: &str, layers: &str) -> String {
    let x = format!("%x = Parameter-1 {{element_type: {element_type}, shape: \"4096\"}}\n");
    format!(
        "{x}%c = Parameter-1 {{element_type: boolean, shape: \"\"}}\n\
         %i = If-8(%c, %x) {{inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [], \
         else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}}\n\
         then_body graph \"\" {{\n{layers}\n}}\nelse_body graph \"\" {{\n{x}%r = Result-1(%x)\n}}\n%z = Result-1(%i)"
    )
}

#[test]
fn rounding_that_quantisation_enlarges_is_not_a_difference() {
    // Close to an integer, both jump by 1.
    let steps = ["FloorMod-1(%s, %one) {auto_broadcast: numpy}", "Convert-1(%s) {destination_type: i32}"];
    for (element_type, scale) in [("f32", 4096), ("f16", 4), ("bf16", 4)] {
        let sum = |terms: [&str; 3], q: &str| scaled_sum(element_type, scale, terms, q);
        for q in steps {
            // The sum of the constants is rounded before the run.
            let [before, folded] = [["x", "u", "v"], ["x", "u_plus_v", "zero"]].map(|terms| sum(terms, q));
            assert_eq!(found(&before, &folded), None, "{element_type}: {q}");
            if q == steps[0] {
                let [before, folded] = [before, folded].map(|layers| in_branch(element_type, &layers));
                assert_eq!(found(&before, &folded), None, "{element_type}: {q} in a branch");
            }
        }
        let [before, doubled] = [["x", "u", "v"], ["x", "u", "x"]].map(|terms| sum(terms, "Round-5(%s)"));
        assert!(found(&before, &doubled).is_some(), "{element_type}");
    }
}

#[test]
fn models_that_fail_have_no_counterexample() {
    let divide = |shape: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"N\"}}\n%to = Const-1 i64[2] <{shape}>\n\
             %a = Reshape-1(%x, %to) {{special_zero: false}}\n%shape = ShapeOf-3(%a) {{output_type: i64}}\n%y = Result-1(%x)"
        )
    };
    // The second model rejects odd sizes. Wherever it runs, it computes the same.
    assert_eq!(found(&divide("1, -1"), &divide("2, -1")), None);
    let random = "%x = Parameter-1 {element_type: i64, shape: \"1\"}\n%a = Const-1 f32[] <0.0>\n\
                  %b = Const-1 f32[] <1.0>\n\
                  %r = RandomUniform-8(%x, %a, %b) {output_type: f32, global_seed: 0, op_seed: 0, alignment: tensorflow}\n\
                  %y = Result-1(%r)";
    assert_eq!(found(random, random), None);
}

#[test]
fn the_caller_may_stop_the_search() {
    let (before, after) = (model(&shortened("N", 7)), model(&shortened("N", 8)));
    let cancelled = Watch::new().progress(|_| std::ops::ControlFlow::Break(()));
    let stopped = counterexamples(&before, &after, &[0], 1, &cancelled);
    assert!(matches!(stopped, Err(Error::Cancelled { .. })));
    let limited = Watch::new().limits(Limits::new().time(std::time::Duration::ZERO));
    assert!(matches!(counterexamples(&before, &after, &[0], 1, &limited), Err(Error::Limit { .. })));
}
