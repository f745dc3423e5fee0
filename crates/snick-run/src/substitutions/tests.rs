//! Checks each kind of step, and that a wrong step is detected. For a wrong step, a session gets the plan for
//! a graph that differs in one place.

use snick_ir::{infer, text};
use snick_pass::Checker;
use snick_tensor::kernels::QuantizedConvolution;

use super::*;

fn session(layers: &str) -> Session {
    let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}}}\n"), None).unwrap();
    assert!(infer(&mut graph).is_empty());
    Session::new(graph).unwrap()
}

/// The kinds of all claims of a session, and how many of them are refuted.
fn claims(session: Session) -> (Vec<&'static str>, usize) {
    let (mut checker, mut by, mut refuted) = (Checker::new(7), Vec::new(), 0);
    for Substitutions { graph, claims } in Substitutions::of(&Arc::new(session)) {
        refuted += claims.iter().filter(|claim| checker.check_substitution(&graph, claim).is_err()).count();
        by.extend(claims.iter().map(|claim| claim.by));
    }
    assert_eq!((checker.checked() + refuted, checker.unchecked()), (by.len(), 0));
    (by, refuted)
}

/// Replaces `@` in the layers by `right` and by `wrong`. Checks that the plan for `right` has a step of kind
/// `by`, and that the plan for `wrong` is refuted when it is used for the `right` graph.
fn wrong_plans_are_refuted(by: &str, layers: &str, [right, wrong]: [&str; 2]) {
    let [right, wrong] = [right, wrong].map(|number| layers.replace('@', number));
    let (found, refuted) = claims(session(&right));
    assert!(found.contains(&by) && refuted == 0, "{found:?}, {refuted} refuted");
    let mut planted = session(&right);
    let other = session(&wrong);
    // The plan refers to nodes by id, and the ids of the two graphs may differ.
    let [ids, own] = [&other, &planted].map(|session| session.graph.order().unwrap());
    let own_of: HashMap<NodeId, NodeId> = ids.into_iter().zip(own).collect();
    planted.plan = other.plan;
    planted.plan.steps.iter_mut().for_each(|step| step.node = own_of[&step.node]);
    planted.plan.codes.values_mut().for_each(|(value, _)| value.node = own_of[&value.node]);
    assert!(claims(planted).1 > 0, "{by}");
}

const X: &str = "  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n";

#[test]
fn folded_constants_are_checked() {
    let layers = "  %c = Const-1 f32[4] <1, 2, @, 4>\n  %n = Negative-1(%c)\n  \
                  %m = MatMul-1(%x, %n) {transpose_a: false, transpose_b: false}\n  %y = Result-1(%m)\n";
    wrong_plans_are_refuted("fold", &format!("{X}{layers}"), ["3", "5"]);
}

#[test]
fn fused_layers_are_checked() {
    let layers = "  %b = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  %r = ReLU-1(%b)\n  \
                  %s = Subtract-1(@) {auto_broadcast: numpy}\n  %y = Result-1(%s)\n";
    wrong_plans_are_refuted("fuse-elementwise", &format!("{X}{layers}"), ["%x, %r", "%r, %x"]);
}

#[test]
fn pruned_outputs_are_checked() {
    let layers = "  %p = Parameter-1 {element_type: f32, shape: \"N,2,4\"}\n  \
                  %m = MaxPool-8(%p) {kernel: [2], strides: [1], @, dilations: [1], index_element_type: i64, axis: 0}\n  \
                  %y = Result-1(%m)\n";
    let pads = ["pads_begin: [0], pads_end: [1]", "pads_begin: [1], pads_end: [0]"];
    wrong_plans_are_refuted("prune-outputs", layers, pads);
}

#[test]
fn numbers_of_slices_are_checked() {
    let layers = "  %i = Parameter-1 {element_type: i64, shape: \"1\"}\n  %0 = Const-1 i64[] <0>\n  \
                  %more = Const-1 i64[] <@>\n  %g = Gather-8(%i, %0, %0) {batch_dims: 0}\n  \
                  %a = Add-1(%g, %more) {auto_broadcast: numpy}\n  \
                  %s = slice(%x, %a) {axes: [1], start: [\"in ?\"], len: [1], step: [1]}\n  %y = Result-1(%s)\n";
    wrong_plans_are_refuted("compute-slice-numbers", &format!("{X}{layers}"), ["1", "2"]);
}

/// A matrix multiplication with 8-bit weights that are large enough to stay packed.
fn packed_layers() -> String {
    let codes = (0..256 * 256).map(|i| (i * 37 % 255).to_string()).collect::<Vec<_>>().join(", ");
    let scales = (0..256).map(|i| format!("0.0{}", 1 + i % 7)).collect::<Vec<_>>().join(", ");
    format!(
        "  %x = Parameter-1 {{element_type: f32, shape: \"N,256\"}}\n  %codes = Const-1 u8[256,256] <{codes}>\n  \
         %floats = Convert-1(%codes) {{destination_type: f32}}\n  %zero = Const-1 f32[1,1] <@>\n  \
         %shifted = Subtract-1(%floats, %zero) {{auto_broadcast: numpy}}\n  %scales = Const-1 f32[256,1] <{scales}>\n  \
         %w = Multiply-1(%shifted, %scales) {{auto_broadcast: numpy}}\n  \
         %m = MatMul-1(%x, %w) {{transpose_a: false, transpose_b: true}}\n  %y = Result-1(%m)\n"
    )
}

#[test]
fn products_of_packed_weights_are_checked() {
    wrong_plans_are_refuted("keep-packed", &packed_layers(), ["128", "127"]);
}

/// A convolution with integer filters between two FakeQuantizes.
fn quantized_layers() -> String {
    let codes = (0..16 * 8 * 9).map(|i| (i * 37 % 255 - 127).to_string()).collect::<Vec<_>>().join(", ");
    let scales = (0..16).map(|i| format!("0.0{}", 1 + i % 7)).collect::<Vec<_>>().join(", ");
    let quantize = |name: &str, of: &str| {
        format!(
            "  %{name}0 = Const-1 f32[] <-2.0>\n  %{name}1 = Const-1 f32[] <1.984375>\n  \
             %{name} = FakeQuantize-1(%{of}, %{name}0, %{name}1, %{name}0, %{name}1) {{levels: 256, auto_broadcast: numpy}}\n"
        )
    };
    format!(
        "  %x = Parameter-1 {{element_type: f32, shape: \"1,8,16,16\"}}\n{}  %codes = Const-1 i8[16,8,3,3] <{codes}>\n  \
         %floats = Convert-1(%codes) {{destination_type: f32}}\n  %scales = Const-1 f32[16,1,1,1] <{scales}>\n  \
         %w = Multiply-1(%floats, %scales) {{auto_broadcast: numpy}}\n  \
         %c = Convolution-1(%a, %w) {{strides: [1,1], pads_begin: [1,1], pads_end: [1,1], dilations: [1,1], auto_pad: explicit}}\n  \
         %bias = Const-1 f32[1,1,1,1] <@>\n  %d = Add-1(%c, %bias) {{auto_broadcast: numpy}}\n{}  %y = Result-1(%f)\n",
        quantize("a", "x"),
        quantize("f", "d"),
    )
}

/// A machine without fast multiplication of bytes computes such layers in floats, so they have no
/// substitutes.
#[test]
fn convolutions_on_codes_are_checked() {
    match QuantizedConvolution::is_fast() {
        true => wrong_plans_are_refuted("fuse-int8", &quantized_layers(), ["0.5", "0.75"]),
        false => {
            assert!(!claims(session(&quantized_layers().replace('@', "0.5"))).0.contains(&"fuse-int8"))
        }
    }
}
