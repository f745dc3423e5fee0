//! Ops on one element at a time, and conversions.

use snick_ir::OpError;
use snick_ir::ops::elementwise::hard_sigmoid::HardSigmoid;
use snick_ir::ops::elementwise::selu::Selu;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, float, int, text};
use super::table::EmitRule::{self, Custom, IdentityOnInt, Rename, RenameBroadcast, RenameFloat};
use super::writer::number_of;
use crate::type_limits::bounds;

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("Abs", Rename("Abs")),
    ("Acos", RenameFloat("Acos")),
    ("Acosh", RenameFloat("Acosh")),
    ("Add", RenameBroadcast("Add")),
    ("Asin", RenameFloat("Asin")),
    ("Asinh", RenameFloat("Asinh")),
    ("Atan", RenameFloat("Atan")),
    ("Atanh", RenameFloat("Atanh")),
    ("BitwiseAnd", Custom(|e| bitwise(e, "BitwiseAnd", "And"))),
    ("BitwiseLeftShift", Custom(|e| shift(e, "LEFT"))),
    ("BitwiseNot", Custom(|e| bitwise(e, "BitwiseNot", "Not"))),
    ("BitwiseOr", Custom(|e| bitwise(e, "BitwiseOr", "Or"))),
    ("BitwiseRightShift", Custom(|e| shift(e, "RIGHT"))),
    ("BitwiseXor", Custom(|e| bitwise(e, "BitwiseXor", "Xor"))),
    ("Ceiling", IdentityOnInt("Ceil")),
    ("Clamp", Custom(clamp)),
    ("Convert", Custom(convert)),
    ("ConvertLike", Rename("CastLike")),
    ("ConvertPromoteTypes", Custom(promote)),
    ("Cos", RenameFloat("Cos")),
    ("Cosh", RenameFloat("Cosh")),
    ("Divide", Custom(divide)),
    ("Elu", Custom(|e| with_alpha(e, "Elu"))),
    ("Equal", RenameBroadcast("Equal")),
    ("Erf", RenameFloat("Erf")),
    ("Exp", RenameFloat("Exp")),
    ("Floor", IdentityOnInt("Floor")),
    ("FloorMod", Custom(floor_mod)),
    ("Gelu", Custom(gelu)),
    ("Greater", RenameBroadcast("Greater")),
    ("GreaterEqual", RenameBroadcast("GreaterOrEqual")),
    ("HSigmoid", Custom(h_sigmoid)),
    ("HSwish", RenameFloat("HardSwish")),
    ("HardSigmoid", Custom(hard_sigmoid)),
    ("IsFinite", Custom(is_finite)),
    ("IsInf", Custom(is_inf)),
    ("IsNaN", RenameFloat("IsNaN")),
    ("Less", RenameBroadcast("Less")),
    ("LessEqual", RenameBroadcast("LessOrEqual")),
    ("Log", RenameFloat("Log")),
    ("LogicalAnd", RenameBroadcast("And")),
    ("LogicalNot", Rename("Not")),
    ("LogicalOr", RenameBroadcast("Or")),
    ("LogicalXor", RenameBroadcast("Xor")),
    ("Maximum", RenameBroadcast("Max")),
    ("Minimum", RenameBroadcast("Min")),
    ("Mish", RenameFloat("Mish")),
    (
        "Mod",
        Custom(|e| {
            expect_numpy(e)?;
            e.last("Mod", &e.inputs(), vec![int("fmod", 1)])
        }),
    ),
    ("Multiply", RenameBroadcast("Mul")),
    ("Negative", Rename("Neg")),
    ("NotEqual", Custom(not_equal)),
    ("PReLU", Custom(prelu)),
    ("Power", RenameBroadcast("Pow")),
    ("ReLU", Custom(relu)),
    ("Round", Custom(round)),
    ("Select", RenameBroadcast("Where")),
    ("Selu", Custom(selu)),
    ("Sigmoid", RenameFloat("Sigmoid")),
    ("Sign", Rename("Sign")),
    ("Sin", RenameFloat("Sin")),
    ("Sinh", RenameFloat("Sinh")),
    ("SoftPlus", RenameFloat("Softplus")),
    ("SoftSign", RenameFloat("Softsign")),
    ("Sqrt", RenameFloat("Sqrt")),
    ("SquaredDifference", Custom(squared_difference)),
    ("Subtract", RenameBroadcast("Sub")),
    ("Swish", Custom(swish)),
    ("Tan", RenameFloat("Tan")),
    ("Tanh", RenameFloat("Tanh")),
    ("Xor", RenameBroadcast("Xor")),
];

/// ONNX brings shapes together in one way only.
pub(super) fn expect_numpy(e: &Emitter) -> Result {
    match e.word("auto_broadcast")?.as_str() {
        "" | "numpy" | "none" => Ok(()),
        other => Err(OpError::unsupported(format!("auto_broadcast `{other}` in ONNX"))),
    }
}

/// Booleans have operators of their own.
fn bitwise(e: &mut Emitter, op: &str, of_booleans: &str) -> Result {
    expect_numpy(e)?;
    let boolean = e.element_type(0)? == ElementType::Boolean;
    e.last(if boolean { of_booleans } else { op }, &e.inputs(), vec![])
}

fn shift(e: &mut Emitter, direction: &str) -> Result {
    expect_numpy(e)?;
    let element_type = e.element_type(0)?;
    if element_type.is_signed() {
        return Err(OpError::unsupported(format!("shifts of {element_type} in ONNX")));
    }
    e.last("BitShift", &e.inputs(), vec![text("direction", direction)])
}

fn clamp(e: &mut Emitter) -> Result {
    let element_type = e.element_type(0)?;
    let bound = |name| e.attrs.float(name)?.ok_or(OpError::MissingAttribute { name });
    let bounds = bounds(bound("min")?, bound("max")?, element_type);
    let mut inputs = vec![e.input(0)?];
    for bound in bounds {
        inputs.push(e.number(element_type, bound)?);
    }
    e.last("Clip", &inputs, vec![])
}

fn convert(e: &mut Emitter) -> Result {
    let name = "destination_type";
    let to = e.attrs.element_type(name)?.ok_or(OpError::MissingAttribute { name })?;
    e.last("Cast", &e.inputs(), vec![int("to", number_of(to)?.into())])
}

/// Both values in the type that both have in the end.
fn promote(e: &mut Emitter) -> Result {
    let types: Vec<ElementType> = e.node.outs.iter().map(|out| out.fact.element_type).collect();
    for (port, element_type) in types.into_iter().enumerate().take(e.len()) {
        let value = e.input(port)?;
        e.last_port(port, "Cast", &[value], Emitter::to(element_type)?)?;
    }
    Ok(())
}

/// Runtimes have no Relu of integers.
fn relu(e: &mut Emitter) -> Result {
    let (x, element_type) = (e.input(0)?, e.element_type(0)?);
    if element_type.is_float() {
        return e.last("Relu", &[x], vec![]);
    }
    let zero = e.number(element_type, 0.0)?;
    e.last("Max", &[x, zero], vec![])
}

/// ONNX divides integers towards zero; where the layer rounds down, the remainder is taken away first.
fn divide(e: &mut Emitter) -> Result {
    expect_numpy(e)?;
    let (x, y) = (e.input(0)?, e.input(1)?);
    let element_type = e.element_type(0)?;
    let rounds_down = e.attrs.bool("m_pythondiv")?.unwrap_or(true);
    if element_type.is_float() || !element_type.is_signed() || !rounds_down {
        return e.last("Div", &[x, y], vec![]);
    }
    let remainder = e.node("Mod", &[&x, &y], vec![int("fmod", 0)]);
    let whole = e.node("Sub", &[x, remainder], vec![]);
    e.last("Div", &[whole, y], vec![])
}

/// ONNX has the remainder with the sign of the divisor for integers only.
fn floor_mod(e: &mut Emitter) -> Result {
    expect_numpy(e)?;
    let (x, y) = (e.input(0)?, e.input(1)?);
    if !e.element_type(0)?.is_float() {
        return e.last("Mod", &[x, y], vec![int("fmod", 0)]);
    }
    // The remainder with the sign of the dividend is moved by one divisor where the signs differ.
    let remainder = e.node("Mod", &[&x, &y], vec![int("fmod", 1)]);
    let zero = e.number(e.element_type(0)?, 0.0)?;
    let [below, divisor_below] = [&remainder, &y].map(|value| e.node("Less", &[value, &zero], vec![]));
    let differ = e.node("Xor", &[below, divisor_below], vec![]);
    let exact = e.node("Equal", &[&remainder, &zero], vec![]);
    let inexact = e.node("Not", &[exact], vec![]);
    let moves = e.node("And", &[differ, inexact], vec![]);
    let moved = e.node("Add", &[&remainder, &y], vec![]);
    e.last("Where", &[moves, moved, remainder], vec![])
}

fn with_alpha(e: &mut Emitter, op: &str) -> Result {
    let alpha = e.attrs.float("alpha")?.unwrap_or(1.0);
    e.last(op, &e.inputs(), vec![float("alpha", alpha)])
}

fn gelu(e: &mut Emitter) -> Result {
    let mode = if e.word("approximation_mode")? == "tanh" { "tanh" } else { "none" };
    e.last("Gelu", &e.inputs(), vec![text("approximate", mode)])
}

fn h_sigmoid(e: &mut Emitter) -> Result {
    let element_type = e.element_type(0)?;
    if !element_type.is_float() {
        return Err(OpError::unsupported(format!("`HSigmoid` of {element_type} in ONNX")));
    }
    e.last("HardSigmoid", &e.inputs(), vec![float("alpha", 1.0 / 6.0), float("beta", 0.5)])
}

fn hard_sigmoid(e: &mut Emitter) -> Result {
    let alpha = HardSigmoid::alpha(e.fixed_float(1, "alpha")?);
    let beta = HardSigmoid::beta(e.fixed_float(2, "beta")?);
    let x = e.input(0)?;
    e.last("HardSigmoid", &[x], vec![float("alpha", alpha), float("beta", beta)])
}

fn selu(e: &mut Emitter) -> Result {
    let alpha = Selu::alpha(e.fixed_float(1, "alpha")?);
    let gamma = Selu::lambda(e.fixed_float(2, "lambda")?);
    let x = e.input(0)?;
    e.last("Selu", &[x], vec![float("alpha", alpha), float("gamma", gamma)])
}

fn is_finite(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let (infinite, nan) = (e.node("IsInf", &[&x], vec![]), e.node("IsNaN", &[&x], vec![]));
    let either = e.node("Or", &[infinite, nan], vec![]);
    e.last("Not", &[either], vec![])
}

fn is_inf(e: &mut Emitter) -> Result {
    let flag = |name| Ok::<_, OpError>(i64::from(e.attrs.bool(name)?.unwrap_or(true)));
    let (negative, positive) = (flag("detect_negative")?, flag("detect_positive")?);
    let attrs = vec![int("detect_negative", negative), int("detect_positive", positive)];
    e.last("IsInf", &e.inputs(), attrs)
}

fn not_equal(e: &mut Emitter) -> Result {
    expect_numpy(e)?;
    let equal = e.node("Equal", &e.inputs(), vec![]);
    e.last("Not", &[equal], vec![])
}

/// A slope of one axis belongs to the channels; ONNX would lay it along the last axis.
fn prelu(e: &mut Emitter) -> Result {
    let (x, slope) = (e.input(0)?, e.input(1)?);
    // Old files mix types.
    let mut slope = e.cast(slope, e.element_type(1)?, e.element_type(0)?)?;
    let single = e.fact(1)?.shape.as_static().is_some_and(|dims| dims.iter().all(|&dim| dim == 1));
    let (rank, slopes) = (e.rank(0)?, e.rank(1)?);
    if slopes == 1 && rank > 2 && !single {
        let mut sizes = vec![1; rank - 1];
        sizes[0] = -1;
        let sizes = e.vector(&sizes)?;
        slope = e.node("Reshape", &[slope, sizes], vec![]);
    } else if slopes > rank || (slopes == 1 && rank < 2 && !single) {
        return Err(OpError::unsupported("a slope of more axes than the data in ONNX"));
    }
    e.last("PRelu", &[x, slope], vec![])
}

/// Halves away from zero: `sign(x) * floor(|x| + 1/2)`.
fn round(e: &mut Emitter) -> Result {
    let (x, element_type) = (e.input(0)?, e.element_type(0)?);
    if !element_type.is_float() {
        return e.last("Identity", &[x], vec![]);
    }
    if e.word("mode")? != "half_away_from_zero" {
        return e.last("Round", &[x], vec![]);
    }
    let half = e.number(element_type, 0.5)?;
    let (size, sign) = (e.node("Abs", &[&x], vec![]), e.node("Sign", &[&x], vec![]));
    let above = e.node("Add", &[size, half], vec![]);
    let whole = e.node("Floor", &[above], vec![]);
    e.last("Mul", &[sign, whole], vec![])
}

fn squared_difference(e: &mut Emitter) -> Result {
    expect_numpy(e)?;
    let difference = e.node("Sub", &e.inputs(), vec![]);
    e.last("Mul", &[&difference, &difference], vec![])
}

fn swish(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let scaled = if e.len() > 1 { e.node("Mul", &e.inputs(), vec![]) } else { x.clone() };
    let gate = e.node("Sigmoid", &[scaled], vec![]);
    e.last("Mul", &[x, gate], vec![])
}
