//! Elementwise ops and conversions.

use snick_ir::ops::elementwise::gelu::Approximation;
use snick_ir::ops::elementwise::hard_sigmoid::HardSigmoid;
use snick_ir::ops::elementwise::round::RoundMode;
use snick_ir::ops::elementwise::selu::Selu;
use snick_ir::ops::{Clamp, IsInf, PRelu};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;
use snick_tensor::kernels::{BinaryOp, BitwiseOp, CompareOp, LogicalOp, UnaryOp};

use super::bitwise::{bitwise, shift};
use super::emitter::{Emitter, Result, float, int, text};
use super::row::{OpRow, identity_on_integers, renamed};
use super::types::{CLAMPED, FLOATS_TO_32_BITS, IN_SIGNED, MOVED, NEGATED, SELECTED, SHORT_IN_I32};
use crate::layer::Layer;
use crate::type_limits::bounds;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Arithmetic(op) => arithmetic(op.function)?,
        Op::Bitwise(op) => match op.function {
            BitwiseOp::And => OpRow::new(|e| bitwise(e, "BitwiseAnd", "And")),
            BitwiseOp::LeftShift => OpRow::new(|e| shift(e, "LEFT")),
            BitwiseOp::Or => OpRow::new(|e| bitwise(e, "BitwiseOr", "Or")),
            BitwiseOp::RightShift => OpRow::new(|e| shift(e, "RIGHT")),
            BitwiseOp::Xor => OpRow::new(|e| bitwise(e, "BitwiseXor", "Xor")),
        },
        Op::BitwiseNot(_) => OpRow::new(|e| bitwise(e, "BitwiseNot", "Not")),
        Op::Clamp(op) => OpRow::new(|e| clamp(e, op)).every_type().lacks(CLAMPED),
        Op::Compare(op) => match op.function {
            CompareOp::Equal => renamed("Equal"),
            CompareOp::NotEqual => OpRow::new(not_equal),
            CompareOp::Greater => renamed("Greater").only(|layer| !is_boolean(layer)),
            CompareOp::GreaterEqual => {
                OpRow::new(|e| or_equal(e, "Greater")).only(|layer| !is_boolean(layer))
            }
            CompareOp::Less => renamed("Less").only(|layer| !is_boolean(layer)),
            CompareOp::LessEqual => OpRow::new(|e| or_equal(e, "Less")).only(|layer| !is_boolean(layer)),
        },
        Op::Convert(op) => {
            OpRow::new(|e| e.last("Cast", &e.inputs(), e.to(op.destination_type)?)).every_type()
        }
        Op::Elu(op) => OpRow::new(|e| e.last("Elu", &e.inputs(), vec![float("alpha", op.alpha)]))
            .lacks(FLOATS_TO_32_BITS),
        Op::Gelu(op) => OpRow::new(|e| gelu(e, op.approximation_mode)).lacks(FLOATS_TO_32_BITS),
        Op::HardSigmoid(_) => {
            OpRow::new(hard_sigmoid_of_inputs).lacks(FLOATS_TO_32_BITS).only(has_known_parameters)
        }
        Op::IsInf(op) => OpRow::new(|e| is_inf(e, op)).every_type(),
        Op::IsNaN(_) => renamed("IsNaN").every_type().floats(),
        Op::Logical(op) => {
            let name = match op.function {
                LogicalOp::And => "And",
                LogicalOp::Or => "Or",
                LogicalOp::Xor => "Xor",
            };
            renamed(name).only(is_boolean)
        }
        Op::LogicalNot(_) => renamed("Not").only(is_boolean),
        Op::PRelu(_) => OpRow::new(prelu).lacks(FLOATS_TO_32_BITS),
        // ONNX only rounds halves to even. For integers, the rounding mode does not matter.
        Op::Round(op) => {
            identity_on_integers("Round").only(|layer| !layer.is_float() || op.mode == RoundMode::HalfToEven)
        }
        Op::Select(_) => OpRow::new(select).lacks(SELECTED),
        Op::Selu(_) => OpRow::new(selu).lacks(FLOATS_TO_32_BITS).only(has_known_parameters),
        Op::Unary(op) => unary(op.function)?,
        Op::Xor(_) => renamed("Xor").only(is_boolean),
        _ => return None,
    })
}

fn arithmetic<'g>(function: BinaryOp) -> Option<OpRow<'g>> {
    Some(match function {
        BinaryOp::Add => renamed("Add"),
        BinaryOp::Div => renamed("Div"),
        BinaryOp::FloorDiv => renamed("Div").only(|layer| !layer.is_signed_integer()),
        // For floats, ONNX only has the remainder with the sign of the dividend.
        BinaryOp::FloorMod => modulo(0).only(|layer| !layer.is_float()),
        BinaryOp::Max => renamed("Max").lacks(SHORT_IN_I32),
        BinaryOp::Min => renamed("Min").lacks(SHORT_IN_I32),
        BinaryOp::Mod => modulo(1),
        BinaryOp::Mul => renamed("Mul"),
        BinaryOp::Pow => renamed("Pow").lacks(IN_SIGNED),
        BinaryOp::Sub => renamed("Sub"),
        BinaryOp::PRelu | BinaryOp::SquaredDifference => return None,
    })
}

fn modulo<'g>(fmod: i64) -> OpRow<'g> {
    OpRow::new(move |e| e.last("Mod", &e.inputs(), vec![int("fmod", fmod)]))
}

fn unary<'g>(function: UnaryOp) -> Option<OpRow<'g>> {
    Some(match function {
        UnaryOp::Abs => renamed("Abs"),
        UnaryOp::Acos => renamed("Acos").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Acosh => renamed("Acosh").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Asin => renamed("Asin").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Asinh => renamed("Asinh").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Atan => renamed("Atan").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Atanh => renamed("Atanh").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Ceiling => identity_on_integers("Ceil"),
        UnaryOp::Cos => renamed("Cos").floats(),
        UnaryOp::Cosh => renamed("Cosh").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Erf => renamed("Erf").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Exp => renamed("Exp").floats(),
        UnaryOp::Floor => identity_on_integers("Floor"),
        UnaryOp::HSigmoid => OpRow::new(|e| hard_sigmoid(e, 1.0 / 6.0, 0.5)).lacks(FLOATS_TO_32_BITS),
        UnaryOp::HSwish => renamed("HardSwish").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Log => renamed("Log").floats(),
        UnaryOp::Mish => renamed("Mish").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Negative => renamed("Neg").lacks(NEGATED),
        UnaryOp::Relu => renamed("Relu").floats(),
        UnaryOp::Sigmoid => renamed("Sigmoid").floats(),
        UnaryOp::Sign => renamed("Sign").every_type().lacks(MOVED),
        UnaryOp::Sin => renamed("Sin").floats(),
        UnaryOp::Sinh => renamed("Sinh").lacks(FLOATS_TO_32_BITS),
        UnaryOp::SoftPlus => renamed("Softplus").lacks(FLOATS_TO_32_BITS),
        UnaryOp::SoftSign => renamed("Softsign").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Sqrt => renamed("Sqrt").floats(),
        UnaryOp::Tan => renamed("Tan").lacks(FLOATS_TO_32_BITS),
        UnaryOp::Tanh => renamed("Tanh").floats(),
        _ => return None,
    })
}

fn is_boolean(layer: &Layer) -> bool {
    layer.element_type(0) == Ok(ElementType::Boolean)
}

/// Selects booleans with And and Or, because ONNX Runtime does not support them in Where.
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

fn clamp(e: &mut Emitter, op: &Clamp) -> Result {
    let element_type = e.element_type(0)?;
    let bounds = bounds(op.min, op.max, element_type);
    let mut inputs = vec![e.input(0)?];
    for bound in bounds {
        inputs.push(e.number(element_type, bound)?);
    }
    // ONNX Runtime only has the oldest Clip for f32.
    if e.is_older(12) && element_type != ElementType::F32 {
        let raised = e.node("Max", &inputs[..2], vec![]);
        return e.last("Min", &[&raised, &inputs[2]], vec![]);
    }
    e.last("Clip", &inputs, vec![])
}

/// Whether the parameters, which are inputs of the layer, can become attributes.
fn has_known_parameters(layer: &Layer) -> bool {
    (1..layer.len()).all(|i| layer.known_float(i).is_some())
}

fn gelu(e: &mut Emitter, approximation: Approximation) -> Result {
    let mode = match approximation {
        Approximation::Erf => "none",
        Approximation::Tanh => "tanh",
    };
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

fn is_inf(e: &mut Emitter, op: &IsInf) -> Result {
    let [negative, positive] = [op.detect_negative, op.detect_positive].map(i64::from);
    let attrs = vec![int("detect_negative", negative), int("detect_positive", positive)];
    e.last("IsInf", &e.inputs(), attrs)
}

/// GreaterOrEqual or LessOrEqual. The opposite of the other comparison would be true for NaN.
fn or_equal(e: &mut Emitter, op: &str) -> Result {
    let (inputs, operator) = (e.inputs(), format!("{op}OrEqual"));
    if e.has(&operator) {
        return e.last(&operator, &inputs, vec![]);
    }
    let either = [op, "Equal"].map(|op| e.node(op, &inputs, vec![]));
    e.last("Or", &either, vec![])
}

fn not_equal(e: &mut Emitter) -> Result {
    let equal = e.node("Equal", &e.inputs(), vec![]);
    e.last("Not", &[equal], vec![])
}

/// Reshapes a slope per channel to have trailing axes of size 1. Otherwise ONNX would align it with the last
/// axis.
fn prelu(e: &mut Emitter) -> Result {
    let (x, slope) = (e.input(0)?, e.input(1)?);
    // In old files, the types of data and slope may differ.
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
