//! Wrong rules are refuted, and correct rules pass.

use std::sync::Arc;

use snick_ir::ops::Compare;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Arity, Attrs, Custom, CustomOp, Facts, Infer, Op, OpError, Value, infer};
use snick_shape::AxisSlice;
use snick_tensor::kernels::CompareOp;
use snick_tensor::{ElementType, Tensor};

use crate::selection::Selection;
use crate::{Pass, Report, RewriteOptions, apply};

/// Composes two slices, ignoring the step of the inner slice.
const WRONG: Rule = Rule::exact("wrong-merge", wrong);

fn wrong(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let (Some(outer), Ok(middle)) = (Selection::of(patch.node().op()), patch.input(0)) else {
        return Ok(RewriteResult::NoMatch);
    };
    let Some(inner) = Selection::of(patch.op_of(middle)) else { return Ok(RewriteResult::NoMatch) };
    let data = patch.input_of(middle, 0)?;
    let merged = inner.iter().map(|(axis, a)| {
        let b = outer.on(axis).copied().unwrap_or(AxisSlice::whole(a.len));
        (axis, AxisSlice { start: a.start + b.start, ..b })
    });
    Selection::new(merged.collect::<Vec<_>>()).apply(patch, data).map(RewriteResult::one)
}

/// Removes ReLU. This is only correct if no element is negative, as for sizes.
pub(super) const NO_RELU: Rule = Rule::exact("no-relu", |patch| match patch.node().op() {
    Op::Unary(_) => Ok(RewriteResult::one(patch.input(0)?)),
    _ => Ok(RewriteResult::NoMatch),
});

fn check_failures(rules: &'static [Rule], layers: &str) -> Vec<String> {
    let report = report(rules[0].clone(), layers);
    assert!(report.applied.is_empty());
    report.check_failures.into_iter().map(|failure| failure.report).collect()
}

fn report(rule: Rule, layers: &str) -> Report {
    let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
    let mut graph = snick_ir::text::parse(&text, None).unwrap();
    assert!(infer(&mut graph).is_empty());
    let report = apply(&mut graph, &[Pass::new("test", [rule])], &RewriteOptions::new().check(true).seed(1));
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    report
}

/// Checks that the rule is applied and found correct.
#[track_caller]
pub(super) fn passes(rule: Rule, layers: &str) {
    let name = rule.name().to_string();
    let report = report(rule, layers);
    assert!(report.check_failures.is_empty(), "{}", report.check_failures[0].report);
    assert!(report.checked > 0 && report.unchecked == 0, "{name}: {report:?}");
}

/// Checks that a check finds the rule wrong.
#[track_caller]
pub(super) fn refuted(rule: Rule, layers: &str) {
    let name = rule.name().to_string();
    let report = report(rule, layers);
    assert!(!report.check_failures.is_empty() && !report.is_ok(), "{name}: {report:?}");
}

#[test]
fn a_wrong_rule_is_reported_with_a_test() {
    let reports = check_failures(
        const { &[WRONG] },
        "%x = Parameter-1 {element_type: f32, shape: \"N,10\"}
         %a = ReLU-1(%x)
         %b = slice(%a) {axes: [1], start: [1], len: [4], step: [2]}
         %c = slice(%b) {axes: [1], start: [1], len: [2], step: [1]}
         %y = Result-1(%c)",
    );
    let [report] = reports.as_slice() else { panic!("{reports:?}") };
    for part in [
        "wrong-merge at `c`",
        "[:, 1:9:2]",
        "[:, 1:3]",
        "// RUN: snick canon --passes wrong-merge --verify",
        "%c = slice(%b)",
        "shape: \"",
    ] {
        assert!(report.contains(part), "{part} is not in\n{report}");
    }
    assert!(!report.contains("ReLU"), "{report}");
}

#[test]
fn elements_are_compared() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"3\"}\n%a = ReLU-1(%x)\n%y = Result-1(%a)";
    assert_eq!(check_failures(const { &[NO_RELU] }, layers).len(), 1);
}

/// Faults that a rule may have when it folds BatchNorm into the preceding Convolution.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Fault {
    Nothing,
    NoEpsilon,
    NoBias,
    NoMean,
    ScaleOfNextChannel,
    SquaredScale,
}

/// `gamma * (conv(x, w) - mean) / sqrt(variance + epsilon) + beta` as a Convolution and an Add.
fn fold_bn(fault: Fault) -> Rule {
    let rule = Rule::new("fold-bn", move |patch| {
        if patch.node().op().type_name() != "BatchNormInference" {
            return Ok(RewriteResult::NoMatch);
        }
        let conv = patch.input(0)?;
        let numbers = |value: Value| Ok(patch.fact(value)?.as_tensor().unwrap().to_f64_vec()?);
        let epsilon = patch.node().op().attrs().float("epsilon")?.unwrap();
        let epsilon = if fault == Fault::NoEpsilon { 0.0 } else { epsilon };
        let [gamma, beta, mean, variance]: [Vec<f64>; 4] =
            [1, 2, 3, 4].map(|i| numbers(patch.input(i)?)).map(Result::<_, OpError>::unwrap);
        let (x, weights) = (patch.input_of(conv, 0)?, patch.input_of(conv, 1)?);
        let element_type = patch.fact(weights)?.element_type;
        let dims = patch.fact(weights)?.as_tensor().unwrap().dims().to_vec();
        let channels = gamma.len();
        let scales: Vec<f64> = (0..channels).map(|c| gamma[c] / (variance[c] + epsilon).sqrt()).collect();
        let of_channel = |c: usize| match fault {
            Fault::ScaleOfNextChannel => scales[(c + 1) % channels],
            Fault::SquaredScale => scales[c] * scales[c],
            _ => scales[c],
        };
        let old = numbers(weights)?;
        let filter = old.len() / channels;
        let folded: Vec<f64> = old.iter().enumerate().map(|(i, w)| w * of_channel(i / filter)).collect();
        let bias = (0..channels).map(|c| match fault {
            Fault::NoBias => -mean[c] * scales[c],
            Fault::NoMean => beta[c],
            _ => beta[c] - mean[c] * scales[c],
        });
        let bias = Tensor::from_vec(&[1, channels, 1], bias.collect::<Vec<f64>>())?.cast(element_type)?;
        let folded = Tensor::from_vec(&dims, folded)?.cast(element_type)?;
        let op = patch.op_of(conv).clone();
        let (folded, bias) = (patch.constant(folded)?, patch.constant(bias)?);
        let product = patch.add_op(op, &[x, folded])?;
        patch.add(product, bias).map(RewriteResult::one)
    });
    rule.may_round_within(1e-5, 0.0)
}

fn conv_bn(element_type: &str, epsilon: &str, beta: &str, variance: &str) -> String {
    format!(
        "%x = Parameter-1 {{element_type: {element_type}, shape: \"1..2,2,8..9\"}}
         %w = Const-1 {element_type}[2,2,3] <0.5, -0.25, 0.75, 1.5, 0.3, -0.7, 0.1, 0.9, -1.1, 0.6, 0.2, 0.4>
         %c = Convolution-1(%x, %w) {{strides: [1], dilations: [1], pads_begin: [0], pads_end: [0], auto_pad: explicit}}
         %gamma = Const-1 {element_type}[2] <1.25, 0.8>
         %beta = Const-1 {element_type}[2] <{beta}>
         %mean = Const-1 {element_type}[2] <0.2, -0.1>
         %variance = Const-1 {element_type}[2] <{variance}>
         %b = BatchNormInference-5(%c, %gamma, %beta, %mean, %variance) {{epsilon: {epsilon}}}
         %y = Result-1(%b)"
    )
}

#[test]
fn a_fold_of_batch_norm_is_right_with_all_its_terms() {
    let models = [
        conv_bn("f32", "0.001", "0.5, -0.25", "1.0, 0.5"),
        conv_bn("f32", "1e-5", "0.5, -0.25", "1.0, 0.5"),
        // The epsilon has no effect next to variances as large as these.
        conv_bn("f32", "1e-5", "0.0, 0.0", "4.0, 9.0"),
        conv_bn("f32", "1e-3", "0.0, 0.0", "100000.0, 50000.0"),
    ];
    for model in &models {
        passes(fold_bn(Fault::Nothing), model);
        for fault in [Fault::NoEpsilon, Fault::NoMean, Fault::ScaleOfNextChannel, Fault::SquaredScale] {
            refuted(fold_bn(fault), model);
        }
    }
    refuted(fold_bn(Fault::NoBias), &models[0]);
    // In this model, the bias is zero, so dropping it has no effect. With other constants, it has.
    refuted(fold_bn(Fault::NoBias), &models[2]);
    let half = conv_bn("f16", "0.01", "0.5, -0.25", "0.25, 0.5");
    passes(fold_bn(Fault::Nothing), &half);
    refuted(fold_bn(Fault::NoBias), &half);
    refuted(fold_bn(Fault::NoEpsilon), &half);
}

/// Changes the constant factor of a multiplication.
fn factor(to: f64) -> Rule {
    Rule::new("another-factor", move |patch| {
        if patch.node().op().type_name() != "Multiply" {
            return Ok(RewriteResult::NoMatch);
        }
        let old = patch.input(1)?;
        if patch.graph().node(old.node).name() != "c" {
            return Ok(RewriteResult::NoMatch);
        }
        let x = patch.input(0)?;
        let new = patch.scalar_like(x, to)?;
        patch.multiply(x, new).map(RewriteResult::one)
    })
}

fn product(element_type: &str, factor: &str) -> String {
    format!(
        "%x = Parameter-1 {{element_type: {element_type}, shape: \"4\"}}
         %c = Const-1 {element_type}[] <{factor}>
         %a = Multiply-1(%x, %c) {{auto_broadcast: numpy}}
         %y = Result-1(%a)"
    )
}

#[test]
fn tolerances_are_those_that_a_rule_declares() {
    let tiny = product("f32", "0.0001");
    refuted(factor(0.0), &tiny);
    refuted(factor(0.0).may_round(), &tiny);
    refuted(factor(0.0).may_round_within(1e-3, 0.0), &tiny);
    refuted(factor(0.0).may_round_within(0.5, 0.0), &tiny);
    // All elements are below 2^18 in magnitude, so an absolute tolerance can cover them.
    passes(factor(0.0).may_round_within(0.0, 30.0), &tiny);
    refuted(factor(0.00011).may_round_within(1e-3, 0.0), &tiny);
    refuted(factor(f64::NAN).may_round_within(1e-3, 0.0), &tiny);
    passes(factor(0.00011).may_round_within(0.11, 0.0), &tiny);
    refuted(factor(0.00010001), &tiny);
    passes(factor(0.00010001).may_round_within(1e-3, 0.0), &tiny);
    // Two infinities are equal, even if elements may be rounded.
    passes(factor(1.00001e38).may_round_within(1e-3, 0.0), &product("f32", "1e38"));
    // In f16, one unit in the last place is a relative difference of about 1e-3.
    refuted(factor(0.0).may_round_within(1e-3, 0.0), &product("f16", "0.001"));
    refuted(factor(1.02).may_round_within(1e-3, 0.0), &product("f16", "1.0"));
    passes(factor(1.001).may_round_within(1e-3, 0.0), &product("f16", "1.0"));
}

/// `(x + c) - c` equals `x` except for rounding: the sum may be much larger than `x`, and cancels.
fn add_and_subtract() -> Rule {
    Rule::new("add-and-subtract", |patch| {
        let op = patch.node().op().type_name();
        match patch.input(0) {
            Ok(sum) if op == "Subtract" && patch.op_of(sum).type_name() == "Add" => {
                Ok(RewriteResult::one(patch.input_of(sum, 0)?))
            }
            _ => Ok(RewriteResult::NoMatch),
        }
    })
}

#[test]
fn terms_that_cancel_may_round() {
    let layers = |subtracted: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"N\"}}
             %c = Const-1 f32[] <100.0>
             %d = Const-1 f32[] <{subtracted}>
             %a = Add-1(%x, %c) {{auto_broadcast: numpy}}
             %b = Subtract-1(%a, %d) {{auto_broadcast: numpy}}
             %y = Result-1(%b)"
        )
    };
    refuted(add_and_subtract(), &layers("100.0"));
    passes(add_and_subtract().may_round_within(1e-5, 0.0), &layers("100.0"));
    refuted(add_and_subtract().may_round_within(1e-5, 0.0), &layers("99.999"));
}

/// Sums along a different axis.
const OTHER_AXIS: Rule = Rule::exact("other-axis", |patch| {
    let axes = patch.input(1);
    match (patch.node().op().type_name(), axes) {
        ("ReduceSum", Ok(axes)) if patch.fact(axes)?.ints().as_deref() == Some(&[1]) => {
            let (x, axis, op) = (patch.input(0)?, patch.ints(&[0])?, patch.node().op().clone());
            patch.add_op(op, &[x, axis]).map(RewriteResult::one)
        }
        _ => Ok(RewriteResult::NoMatch),
    }
});

/// `x * c / c` equals `x`, unless the product overflows.
const PRODUCT_AND_QUOTIENT: Rule = Rule::exact("product-and-quotient", |patch| {
    let product = patch.input(0);
    match (patch.node().op().type_name(), product) {
        ("Divide", Ok(product)) if patch.op_of(product).type_name() == "Multiply" => {
            Ok(RewriteResult::one(patch.input_of(product, 0)?))
        }
        _ => Ok(RewriteResult::NoMatch),
    }
});

/// Drops a term that is nonzero only for a size of 11.
const WRONG_AT_11: Rule = Rule::exact("wrong-at-11", |patch| {
    let sum = patch.input(0);
    match (patch.node().op().type_name(), sum) {
        ("Add", Ok(x)) => Ok(RewriteResult::one(x)),
        _ => Ok(RewriteResult::NoMatch),
    }
});

#[test]
fn siblings_of_wrong_rules_are_refuted() {
    refuted(
        OTHER_AXIS,
        "%x = Parameter-1 {element_type: f32, shape: \"3,3\"}
         %one = Const-1 i64[1] <1>
         %a = ReduceSum-1(%x, %one) {keep_dims: false}
         %y = Result-1(%a)",
    );
    for element_type in ["i8", "i32", "i64", "u8"] {
        refuted(
            PRODUCT_AND_QUOTIENT,
            &format!(
                "%x = Parameter-1 {{element_type: {element_type}, shape: \"N\"}}
                 %c = Const-1 {element_type}[] <2>
                 %a = Multiply-1(%x, %c) {{auto_broadcast: numpy}}
                 %b = Divide-1(%a, %c) {{auto_broadcast: numpy}}
                 %y = Result-1(%b)"
            ),
        );
    }
    let drops_negative =
        "%x = Parameter-1 {element_type: i32, shape: \"5\"}\n%a = ReLU-1(%x)\n%y = Result-1(%a)";
    refuted(NO_RELU, drops_negative);
    refuted(
        WRONG_AT_11,
        "%x = Parameter-1 {element_type: i64, shape: \"N\"}
         %s = ShapeOf-3(%x) {output_type: i64}
         %k = Const-1 i64[1] <11>
         %e = Equal-1(%s, %k) {auto_broadcast: numpy}
         %more = Convert-1(%e) {destination_type: i64}
         %a = Add-1(%x, %more) {auto_broadcast: numpy}
         %y = Result-1(%a)",
    );
}

/// `f(a > b)` becomes `f(b < a)`.
const SWAPPED: Rule = Rule::exact("swapped", |patch| {
    let Ok(answer) = patch.input(0) else { return Ok(RewriteResult::NoMatch) };
    let compare = match patch.op_of(answer) {
        Op::Compare(compare) if compare.function == CompareOp::Greater => compare.clone(),
        _ => return Ok(RewriteResult::NoMatch),
    };
    let (a, b) = (patch.input_of(answer, 0)?, patch.input_of(answer, 1)?);
    let less = patch.add_op(Compare { function: CompareOp::Less, ..compare }, &[b, a])?;
    let outer = patch.node().op().clone();
    patch.add_op(outer, &[less]).map(RewriteResult::one)
});

/// Inference does not know elements that are computed from data. Nevertheless, a sample must not choose them
/// freely, because the old and the new layers depend on the same data.
#[test]
fn elements_that_follow_from_data_are_not_chosen_freely() {
    let compared = |shape: &str, element_type: &str, data: &str| {
        format!(
            "%x = Parameter-1 {{element_type: {element_type}, shape: \"{shape}\"}}
             %s = ShapeOf-3(%x) {{output_type: i64}}
             %five = Const-1 {element_type}[] <5>
             %a = Greater-1({data}, %five) {{auto_broadcast: numpy}}
             %b = NonZero-3(%a) {{output_type: i64}}
             %y = Result-1(%b)
             %z = Result-1(%s)"
        )
    };
    for element_type in ["i32", "i64", "f32"] {
        passes(SWAPPED, &compared("8", element_type, "%x"));
        passes(SWAPPED, &compared("N", element_type, "%x"));
    }
    passes(SWAPPED, &compared("H,W", "i64", "%s"));
}

/// Doubles its input. Can only be executed if `decomposes` is set.
#[derive(Debug)]
struct Twice {
    decomposes: bool,
}

impl CustomOp for Twice {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("decomposes", self.decomposes)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        Ok(cx.input(0).clone().into())
    }

    fn decompose(&self, b: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        if !self.decomposes {
            return Ok(RewriteResult::NoMatch);
        }
        let x = b.input(0)?;
        b.add(x, x).map(RewriteResult::one)
    }
}

/// Replaces a layer with a `Twice` that reads the first input of the layer.
fn to_twice(op_type: &'static str, decomposes: bool) -> Rule {
    Rule::new("to-twice", move |patch| {
        if patch.node().op().type_name() != op_type {
            return Ok(RewriteResult::NoMatch);
        }
        let x = patch.input(0)?;
        let twice = Custom::new("my.ops", "Twice", Arc::new(Twice { decomposes }));
        patch.add_op(Op::Custom(twice), &[x]).map(RewriteResult::one)
    })
}

#[test]
fn custom_ops_are_decomposed_to_be_executed() {
    let doubled = "%x = Parameter-1 {element_type: f32, shape: \"N,2\"}
                   %a = Add-1(%x, %x) {auto_broadcast: numpy}
                   %y = Result-1(%a)";
    passes(to_twice("Add", true), doubled);
    let squared = doubled.replace("Add", "Multiply");
    refuted(to_twice("Multiply", true), &squared);
    let report = report(to_twice("Add", false), doubled);
    assert_eq!((report.applied.len(), report.checked, report.unchecked), (1, 0, 1));
    assert!(report.check_failures.is_empty() && !report.is_ok());
}

/// If a rule captured constants of the model, it is not checked with other constants.
#[test]
fn captured_constants_are_not_those_of_other_models() {
    let rule = Rule::new("captured", |patch| {
        if patch.node().op().type_name() != "Sqrt" {
            return Ok(RewriteResult::NoMatch);
        }
        patch.scalar(ElementType::F32, 3.0).map(RewriteResult::one)
    });
    let layers = "%c = Const-1 f32[] <9.0>\n%a = Sqrt-1(%c)\n%y = Result-1(%a)";
    passes(rule.may_round(), layers);
}
