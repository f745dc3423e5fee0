//! Elementwise operators without parameters.

use snick_ir::{Attrs, Op, OpError, ops};

use super::{ImportEntry, one, same};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    same("Abs", &[6, 13], "Abs"),
    same("Acos", &[7, 22], "Acos"),
    same("Acosh", &[9, 22], "Acosh"),
    same("Add", &[7, 13, 14], "Add"),
    same("And", &[7], "LogicalAnd"),
    same("Asin", &[7, 22], "Asin"),
    same("Asinh", &[9, 22], "Asinh"),
    same("Atan", &[7, 22], "Atan"),
    same("Atanh", &[9, 22], "Atanh"),
    same("BitwiseAnd", &[18], "BitwiseAnd"),
    same("BitwiseNot", &[18], "BitwiseNot"),
    same("BitwiseOr", &[18], "BitwiseOr"),
    same("BitwiseXor", &[18], "BitwiseXor"),
    same("Ceil", &[6, 13], "Ceiling"),
    same("Cos", &[7, 22], "Cos"),
    same("Cosh", &[9, 22], "Cosh"),
    same("Equal", &[7, 11, 13, 19], "Equal"),
    same("Erf", &[9, 13], "Erf"),
    same("Exp", &[6, 13], "Exp"),
    same("Floor", &[6, 13], "Floor"),
    same("Greater", &[7, 9, 13], "Greater"),
    same("GreaterOrEqual", &[12, 16], "GreaterEqual"),
    same("HardSwish", &[14, 22], "HSwish"),
    same("IsNaN", &[9, 13, 20], "IsNaN"),
    same("Less", &[7, 9, 13], "Less"),
    same("LessOrEqual", &[12, 16], "LessEqual"),
    same("Log", &[6, 13], "Log"),
    same("Mish", &[18, 22], "Mish"),
    same("Mul", &[7, 13, 14], "Multiply"),
    same("Neg", &[6, 13], "Negative"),
    same("Not", &[1], "LogicalNot"),
    same("Or", &[7], "LogicalOr"),
    same("Relu", &[6, 13, 14], "ReLU"),
    same("Sigmoid", &[6, 13], "Sigmoid"),
    same("Sign", &[9, 13], "Sign"),
    same("Sin", &[7, 22], "Sin"),
    same("Sinh", &[9, 22], "Sinh"),
    same("Softplus", &[1, 22], "SoftPlus"),
    same("Softsign", &[1, 22], "SoftSign"),
    same("Sqrt", &[6, 13], "Sqrt"),
    same("Sub", &[7, 13, 14], "Subtract"),
    same("Tan", &[7, 22], "Tan"),
    same("Tanh", &[6, 13], "Tanh"),
    same("Where", &[9, 16], "Select"),
    same("Xor", &[7], "LogicalXor"),
    one("BitShift", &[11, 28], bit_shift).attrs("direction"),
    one("Div", &[7, 13, 14], |b| {
        let (x, y) = (b.input(0)?, b.input(1)?);
        b.divide(x, y)
    }),
    one("Max", &[6, 8, 12, 13], |b| folded(b, ops::Maximum::default())),
    one("Mean", &[6, 8, 13], mean),
    one("Min", &[6, 8, 12, 13], |b| folded(b, ops::Minimum::default())),
    one("Mod", &[10, 13], modulo).attrs("fmod"),
    one("Pow", &[7, 12, 13, 15], power),
    one("Reciprocal", &[6, 13], reciprocal),
    one("Round", &[11, 22], |b| {
        let x = b.input(0)?;
        b.ir_op("Round", Attrs::new().with("mode", "half_to_even"), &[x])
    }),
    one("Sum", &[6, 8, 13], |b| folded(b, ops::Add::default())),
    one("SwiGLU", &[28], |b| {
        let (gate, x) = (b.input(0)?, b.input(1)?);
        let alpha = b.float_attr("alpha", 1.0)?;
        let alpha = b.scalar_like(gate, alpha)?;
        let gate = b.add_op(ops::Swish, &[gate, alpha])?;
        b.multiply(gate, x)
    })
    .attrs("alpha"),
];

/// Folds any number of inputs with a binary op.
fn folded(b: &mut NodeBuilder, op: impl Into<Op>) -> Result {
    let inputs = b.all()?;
    let mut inputs = inputs.into_iter();
    let (first, op) = (inputs.next().ok_or(OpError::NotConnected { port: 0 })?, op.into());
    inputs.try_fold(first, |sum, next| b.add_op(op.clone(), &[sum, next]))
}

fn mean(b: &mut NodeBuilder) -> Result {
    let sum = folded(b, ops::Add::default())?;
    b.divide(sum, b.inputs.len() as f64)
}

/// Adds a bit shift. If the amount is negative, or at least the number of bits, all bits are shifted out.
/// Before operator set 28, the result for such amounts was undefined.
fn bit_shift(b: &mut NodeBuilder) -> Result {
    let (x, amount) = (b.input(0)?, b.input(1)?);
    let right = match b.text_attr("direction", "")? {
        "LEFT" => false,
        "RIGHT" => true,
        _ => return Err(b.attrs.bad("direction", "LEFT or RIGHT")),
    };
    let element_type = b.element_type(x)?;
    let bits = b.scalar(element_type, f64::from(element_type.bit_width().unwrap_or(0)))?;
    let zero = b.scalar(element_type, 0.0)?;
    let beyond = b.greater_equal(amount, bits)?;
    let (mut far, mut fill) = (beyond, zero);
    if element_type.is_signed() {
        let below = b.less(amount, zero)?;
        far = b.logical_or(beyond, below)?;
        if right {
            let negative = b.less(x, zero)?;
            fill = b.select(negative, -1.0, zero)?;
        }
    }
    let amount = b.select(far, zero, amount)?;
    let shifted = match right {
        true => b.add_op(ops::BitwiseRightShift::default(), &[x, amount])?,
        false => b.add_op(ops::BitwiseLeftShift::default(), &[x, amount])?,
    };
    b.select(far, fill, shifted)
}

/// Adds a remainder. It has the sign of the divisor; with `fmod`, the sign of the dividend.
fn modulo(b: &mut NodeBuilder) -> Result {
    let (x, y) = (b.input(0)?, b.input(1)?);
    if b.flag_attr("fmod", false)? { b.modulo(x, y) } else { b.floor_mod(x, y) }
}

/// Adds a power. The exponent may have another type than the base. The result has the type of the base.
fn power(b: &mut NodeBuilder) -> Result {
    let (base, exponent) = (b.input(0)?, b.input(1)?);
    let (result, other) = (b.element_type(base)?, b.element_type(exponent)?);
    if result == other {
        return b.power(base, exponent);
    }
    let common = match (result.is_float(), other.is_float()) {
        (false, true) => other,
        _ => result,
    };
    let (base, exponent) = (b.convert(base, common)?, b.convert(exponent, common)?);
    let power = b.power(base, exponent)?;
    b.convert(power, result)
}

fn reciprocal(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    b.divide(1.0, x)
}
