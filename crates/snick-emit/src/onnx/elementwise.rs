//! Ops on one element at a time, and conversions.

use snick_ir::OpError;
use snick_ir::ops::PRelu;
use snick_ir::ops::elementwise::hard_sigmoid::HardSigmoid;
use snick_ir::ops::elementwise::selu::Selu;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, float, int, text};
use super::rule::EmitRule::{Custom, IdentityOnInt, Rename};
use super::rule::OpRow;
use super::types::{CLAMPED, FLOATS_TO_32_BITS, IN_SIGNED, MOVED, NEGATED, NOT_F64, SELECTED, SHORT_IN_I32};
use crate::layer::Layer;
use crate::type_limits::bounds;

pub(super) const ROWS: &[OpRow] = &[
    OpRow::new("Abs", Rename("Abs")),
    OpRow::new("Acos", Rename("Acos")).floats().lacks(NOT_F64),
    OpRow::new("Acosh", Rename("Acosh")).floats().lacks(NOT_F64),
    OpRow::new("Add", Rename("Add")),
    OpRow::new("Asin", Rename("Asin")).floats().lacks(NOT_F64),
    OpRow::new("Asinh", Rename("Asinh")).floats().lacks(NOT_F64),
    OpRow::new("Atan", Rename("Atan")).floats().lacks(NOT_F64),
    OpRow::new("Atanh", Rename("Atanh")).floats().lacks(NOT_F64),
    OpRow::new("BitwiseAnd", Custom(|e| bitwise(e, "BitwiseAnd", "And"))),
    OpRow::new("BitwiseLeftShift", Custom(|e| shift(e, "LEFT"))),
    OpRow::new("BitwiseNot", Custom(|e| bitwise(e, "BitwiseNot", "Not"))),
    OpRow::new("BitwiseOr", Custom(|e| bitwise(e, "BitwiseOr", "Or"))),
    OpRow::new("BitwiseRightShift", Custom(|e| shift(e, "RIGHT"))),
    OpRow::new("BitwiseXor", Custom(|e| bitwise(e, "BitwiseXor", "Xor"))),
    OpRow::new("Ceiling", IdentityOnInt("Ceil")),
    OpRow::new("Clamp", Custom(clamp)).every_type().lacks(CLAMPED),
    OpRow::new("Convert", Custom(convert)).every_type(),
    OpRow::new("Cos", Rename("Cos")).floats(),
    OpRow::new("Cosh", Rename("Cosh")).floats().lacks(NOT_F64),
    OpRow::new("Divide", Rename("Div")).only(|layer| layer.divides_towards_zero()),
    OpRow::new("Elu", Custom(elu)).floats().lacks(NOT_F64),
    OpRow::new("Equal", Rename("Equal")),
    OpRow::new("Erf", Rename("Erf")).floats().lacks(NOT_F64),
    OpRow::new("Exp", Rename("Exp")).floats(),
    OpRow::new("Floor", IdentityOnInt("Floor")),
    // Of floats there is only the remainder with the sign of the dividend.
    OpRow::new("FloorMod", Custom(|e| e.last("Mod", &e.inputs(), vec![int("fmod", 0)])))
        .only(|layer| !layer.is_float()),
    OpRow::new("Gelu", Custom(gelu)).floats().lacks(NOT_F64),
    OpRow::new("Greater", Rename("Greater")).only(|layer| !is_boolean(layer)),
    OpRow::new("GreaterEqual", Rename("GreaterOrEqual")).only(|layer| !is_boolean(layer)),
    OpRow::new("HSigmoid", Custom(|e| hard_sigmoid(e, 1.0 / 6.0, 0.5))).floats().lacks(NOT_F64),
    OpRow::new("HSwish", Rename("HardSwish")).floats().lacks(NOT_F64),
    OpRow::new("HardSigmoid", Custom(hard_sigmoid_of_inputs))
        .floats()
        .lacks(NOT_F64)
        .only(has_known_parameters),
    OpRow::new("IsInf", Custom(is_inf)).every_type(),
    OpRow::new("IsNaN", Rename("IsNaN")).every_type().floats(),
    OpRow::new("Less", Rename("Less")).only(|layer| !is_boolean(layer)),
    OpRow::new("LessEqual", Rename("LessOrEqual")).only(|layer| !is_boolean(layer)),
    OpRow::new("Log", Rename("Log")).floats(),
    OpRow::new("LogicalAnd", Rename("And")).only(is_boolean),
    OpRow::new("LogicalNot", Rename("Not")).only(is_boolean),
    OpRow::new("LogicalOr", Rename("Or")).only(is_boolean),
    OpRow::new("LogicalXor", Rename("Xor")).only(is_boolean),
    OpRow::new("Maximum", Rename("Max")).lacks(SHORT_IN_I32),
    OpRow::new("Minimum", Rename("Min")).lacks(SHORT_IN_I32),
    OpRow::new("Mish", Rename("Mish")).floats().lacks(NOT_F64),
    OpRow::new("Mod", Custom(|e| e.last("Mod", &e.inputs(), vec![int("fmod", 1)]))),
    OpRow::new("Multiply", Rename("Mul")),
    OpRow::new("Negative", Rename("Neg")).lacks(NEGATED),
    OpRow::new("NotEqual", Custom(not_equal)),
    OpRow::new("PReLU", Custom(prelu)).lacks(FLOATS_TO_32_BITS),
    OpRow::new("Power", Rename("Pow")).lacks(IN_SIGNED),
    OpRow::new("ReLU", Rename("Relu")).floats(),
    OpRow::new("Round", IdentityOnInt("Round")).only(rounds_to_even),
    OpRow::new("Select", Custom(select)).lacks(SELECTED),
    OpRow::new("Selu", Custom(selu)).floats().lacks(NOT_F64).only(has_known_parameters),
    OpRow::new("Sigmoid", Rename("Sigmoid")).floats(),
    OpRow::new("Sign", Rename("Sign")).every_type().lacks(MOVED),
    OpRow::new("Sin", Rename("Sin")).floats(),
    OpRow::new("Sinh", Rename("Sinh")).floats().lacks(NOT_F64),
    OpRow::new("SoftPlus", Rename("Softplus")).floats().lacks(NOT_F64),
    OpRow::new("SoftSign", Rename("Softsign")).floats().lacks(NOT_F64),
    OpRow::new("Sqrt", Rename("Sqrt")).floats(),
    OpRow::new("Subtract", Rename("Sub")),
    OpRow::new("Tan", Rename("Tan")).floats().lacks(NOT_F64),
    OpRow::new("Tanh", Rename("Tanh")).floats(),
    OpRow::new("Xor", Rename("Xor")).only(is_boolean),
];

fn is_boolean(layer: &Layer) -> bool {
    layer.element_type(0) == Ok(ElementType::Boolean)
}

/// ONNX Runtime has no Where of booleans.
fn select(e: &mut Emitter) -> Result {
    if e.element_type(1)? != ElementType::Boolean {
        return e.last("Where", &e.inputs(), vec![]);
    }
    let (condition, then, otherwise) = (e.input(0)?, e.input(1)?, e.input(2)?);
    let opposite = e.node("Not", &[&condition], vec![]);
    let then = e.node("And", &[condition, then], vec![]);
    let otherwise = e.node("And", &[opposite, otherwise], vec![]);
    e.last("Or", &[then, otherwise], vec![])
}

/// Booleans have operators of their own.
fn bitwise(e: &mut Emitter, op: &str, of_booleans: &str) -> Result {
    let boolean = e.element_type(0)? == ElementType::Boolean;
    e.last(if boolean { of_booleans } else { op }, &e.inputs(), vec![])
}

fn shift(e: &mut Emitter, direction: &str) -> Result {
    let element_type = e.element_type(0)?;
    if element_type.is_signed() {
        return Err(OpError::unsupported(format!("shifts of {element_type}")));
    }
    e.last("BitShift", &e.inputs(), vec![text("direction", direction)])
}

fn clamp(e: &mut Emitter) -> Result {
    let element_type = e.element_type(0)?;
    let bounds = bounds(e.float("min")?, e.float("max")?, element_type);
    let mut inputs = vec![e.input(0)?];
    for bound in bounds {
        inputs.push(e.number(element_type, bound)?);
    }
    e.last("Clip", &inputs, vec![])
}

fn convert(e: &mut Emitter) -> Result {
    let to = e.type_attr("destination_type")?;
    e.last("Cast", &e.inputs(), Emitter::to(to)?)
}

fn elu(e: &mut Emitter) -> Result {
    e.last("Elu", &e.inputs(), vec![float("alpha", e.float("alpha")?)])
}

/// Whether the parameters, inputs of the layer, can be attributes.
fn has_known_parameters(layer: &Layer) -> bool {
    (1..layer.len()).all(|i| layer.known_float(i).is_some())
}

/// Whether halves go to the even neighbour; integers stay as they are.
fn rounds_to_even(layer: &Layer) -> bool {
    !layer.is_float() || layer.word("mode").is_ok_and(|mode| mode != "half_away_from_zero")
}

fn gelu(e: &mut Emitter) -> Result {
    let mode = if e.word("approximation_mode")? == "tanh" { "tanh" } else { "none" };
    e.last("Gelu", &e.inputs(), vec![text("approximate", mode)])
}

fn hard_sigmoid(e: &mut Emitter, alpha: f64, beta: f64) -> Result {
    let x = e.input(0)?;
    e.last("HardSigmoid", &[x], vec![float("alpha", alpha), float("beta", beta)])
}

fn hard_sigmoid_of_inputs(e: &mut Emitter) -> Result {
    let alpha = HardSigmoid::alpha(e.fixed_float(1, "alpha")?);
    let beta = HardSigmoid::beta(e.fixed_float(2, "beta")?);
    hard_sigmoid(e, alpha, beta)
}

fn selu(e: &mut Emitter) -> Result {
    let alpha = Selu::alpha(e.fixed_float(1, "alpha")?);
    let gamma = Selu::lambda(e.fixed_float(2, "lambda")?);
    let x = e.input(0)?;
    e.last("Selu", &[x], vec![float("alpha", alpha), float("gamma", gamma)])
}

fn is_inf(e: &mut Emitter) -> Result {
    let flag = |name| Ok::<_, OpError>(i64::from(e.attrs.bool(name)?.unwrap_or(true)));
    let (negative, positive) = (flag("detect_negative")?, flag("detect_positive")?);
    let attrs = vec![int("detect_negative", negative), int("detect_positive", positive)];
    e.last("IsInf", &e.inputs(), attrs)
}

fn not_equal(e: &mut Emitter) -> Result {
    let equal = e.node("Equal", &e.inputs(), vec![]);
    e.last("Not", &[equal], vec![])
}

/// A slope of the channels has axes of size 1 behind it; ONNX would lay it along the last axis.
fn prelu(e: &mut Emitter) -> Result {
    let (x, slope) = (e.input(0)?, e.input(1)?);
    // Old files mix types.
    let mut slope = e.cast(slope, e.element_type(1)?, e.element_type(0)?)?;
    let (rank, slopes) = (e.rank(0)?, e.rank(1)?);
    if PRelu::is_by_channel(e.graph.symbols(), &e.fact(0)?.shape, &e.fact(1)?.shape)? {
        let mut sizes = vec![1; rank - 1];
        sizes[0] = -1;
        let sizes = e.vector(&sizes)?;
        slope = e.node("Reshape", &[slope, sizes], vec![]);
    } else if slopes > rank {
        return Err(OpError::unsupported("a slope of more axes than the data"));
    }
    e.last("PRelu", &[x, slope], vec![])
}
