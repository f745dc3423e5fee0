//! Tests that a check executes the layers and generates the elements that are needed to refute certain wrong
//! rules.

use snick_ir::rewrite::{RewriteResult, Rule};
use snick_tensor::{ElementType, SplitMix};

use super::sample::{Fill, random_tensor};
use super::tests::{NO_RELU, passes, refuted};

/// The inputs of a layer may be related in ways that are only visible in the preceding layers.
#[test]
fn a_wide_region_accepts_what_is_right_for_the_values_that_occur() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"N\"}
                  %s = Multiply-1(%x, %x) {auto_broadcast: numpy}
                  %a = ReLU-1(%s)
                  %y = Result-1(%a)";
    passes(NO_RELU, layers);
    refuted(NO_RELU, &layers.replace("Multiply", "Add"));
}

/// If a layer that cannot be executed were added to the region, nothing would be compared.
#[test]
fn layers_with_bodies_do_not_join_a_region() {
    let body = "graph \"\" {
                %x = Parameter-1 {element_type: f32, shape: \"3,1\"}
                %ends = Const-1 i32[2] <0, 3>
                %y = VLSDPA-ie_internal_opset(%x, %x, %x, %ends)
                %r = Result-1(%y)
                }";
    let layers = format!(
        "%x = Parameter-1 {{element_type: f32, shape: \"3,1\"}}
         %c = Parameter-1 {{element_type: boolean, shape: \"\"}}
         %if = If-8(%c, %x) {{inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [],
         else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}}
         then_body {body}
         else_body {body}
         %a = ReLU-1(%if)
         %y = Result-1(%a)"
    );
    refuted(NO_RELU, &layers);
}

/// Moves an Abs above a Broadcast, or drops it.
fn broadcast_last(keeps_abs: bool) -> Rule {
    Rule::new("broadcast-last", move |patch| match (patch.node().op().type_name(), patch.input(0)) {
        ("Abs", Ok(large)) if patch.op_of(large).type_name() == "Broadcast" => {
            let (abs, op) = (patch.node().op().clone(), patch.op_of(large).clone());
            let (x, to) = (patch.input_of(large, 0)?, patch.input_of(large, 1)?);
            let x = if keeps_abs { patch.add_op(abs, &[x])? } else { x };
            patch.add_op(op, &[x, to]).map(RewriteResult::one)
        }
        _ => Ok(RewriteResult::NoMatch),
    })
}

/// If integers up to the bounds of their type were used as sizes, tensors would exceed the memory of any
/// machine.
#[test]
fn elements_that_are_sizes_are_small() {
    let layers = "%x = Parameter-1 {element_type: i32, shape: \"8,1\"}
                  %to = Parameter-1 {element_type: i64, shape: \"1\"}
                  %b = Broadcast-3(%x, %to) {mode: bidirectional}
                  %a = Abs-1(%b)
                  %y = Result-1(%a)";
    passes(broadcast_last(true), layers);
    refuted(broadcast_last(false), layers);
}

/// Drops an op that clamps or limits its first input.
fn drop_limit(op_type: &'static str) -> Rule {
    Rule::new("drop-limit", move |patch| match patch.node().op().type_name() == op_type {
        true => Ok(RewriteResult::one(patch.input(0)?)),
        false => Ok(RewriteResult::NoMatch),
    })
}

#[test]
fn integers_reach_the_bounds_of_their_type() {
    for (op_type, limit) in [("Minimum", 2_147_000_000), ("Maximum", -2_147_000_000)] {
        let layers = format!(
            "%x = Parameter-1 {{element_type: i32, shape: \"8\"}}
             %limit = Const-1 i32[] <{limit}>
             %a = {op_type}-1(%x, %limit) {{auto_broadcast: numpy}}
             %y = Result-1(%a)"
        );
        refuted(drop_limit(op_type), &layers);
    }
}

/// If sizes depend on elements, integers are small or equal to their index. These integers must suffice to
/// refute a wrong threshold.
#[test]
fn integers_differ_where_sizes_depend_on_them() {
    let higher = Rule::new("higher-threshold", |patch| {
        let Ok(greater) = patch.input(0) else { return Ok(RewriteResult::NoMatch) };
        if patch.node().op().type_name() != "NonZero"
            || patch.fact(patch.input_of(greater, 1)?)?.ints().as_deref() != Some(&[5])
        {
            return Ok(RewriteResult::NoMatch);
        }
        let (x, op) = (patch.input_of(greater, 0)?, patch.node().op().clone());
        let threshold = patch.scalar(ElementType::I32, 1000.0)?;
        let greater = patch.greater(x, threshold)?;
        patch.add_op(op, &[greater]).map(RewriteResult::one)
    });
    refuted(
        higher,
        "%x = Parameter-1 {element_type: i32, shape: \"N\"}
         %five = Const-1 i32[] <5>
         %a = Greater-1(%x, %five) {auto_broadcast: numpy}
         %b = NonZero-3(%a) {output_type: i64}
         %y = Result-1(%b)",
    );
}

/// Sums of coarse elements are exact, and the elements have either sign, so that a forgotten term is visible.
#[test]
fn elements_are_drawn_as_their_fill_says() {
    let drawn = |fill| {
        let tensor = random_tensor(ElementType::F32, &[256], 256, fill, &mut SplitMix::new(1)).unwrap();
        tensor.to_f64_vec().unwrap()
    };
    let least = |elements: &[f64]| elements.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = |elements: &[f64]| elements.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let coarse = drawn(Fill::Coarse);
    assert!(coarse.iter().all(|x| (x * 16.0).fract() == 0.0 && x.abs() <= 8.0));
    assert!(least(&coarse) < -7.0 && largest(&coarse) > 7.0);
    let scaled = drawn(Fill::Scaled);
    assert!(least(&scaled) < -4.0 && largest(&scaled) > 4.0);
    assert!(scaled.iter().any(|x| x.abs() < 1e-5));
    let positive = drawn(Fill::Positive);
    assert!(least(&positive) > 0.0 && least(&positive) < 1e-5 && largest(&positive) > 4.0);
    assert_eq!(drawn(Fill::Distinct)[..3], [1.0, 2.0, 3.0]);
}
