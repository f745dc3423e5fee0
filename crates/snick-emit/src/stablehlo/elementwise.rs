//! Elementwise ops and conversions.

use snick_ir::ops::elementwise::fake_convert::FakeType;
use snick_ir::ops::elementwise::round::RoundMode;
use snick_ir::ops::{Clamp, IsInf};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;
use snick_tensor::kernels::{BinaryOp, BitwiseOp, CompareOp, LogicalOp, UnaryOp};

use super::emitter::{Emitter, Operand, Result};
use super::row::{OpRow, binary, comparison, identity_on_integers, unary};
use super::unary::{activate, converted};
use crate::decompression::is_weights;
use crate::type_limits::bounds;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Arithmetic(op) => match op.function {
            BinaryOp::Add => binary("stablehlo.add"),
            BinaryOp::Div => binary("stablehlo.divide"),
            BinaryOp::FloorDiv => binary("stablehlo.divide").only(|layer| !layer.is_signed_integer()),
            BinaryOp::Max => binary("stablehlo.maximum"),
            BinaryOp::Min => binary("stablehlo.minimum"),
            BinaryOp::Mod => binary("stablehlo.remainder"),
            BinaryOp::Mul => binary("stablehlo.multiply"),
            BinaryOp::Pow => binary("stablehlo.power"),
            BinaryOp::Sub => binary("stablehlo.subtract"),
            BinaryOp::FloorMod | BinaryOp::PRelu | BinaryOp::SquaredDifference => return None,
        },
        Op::Bitwise(op) => match op.function {
            BitwiseOp::And => binary("stablehlo.and"),
            BitwiseOp::LeftShift => binary("stablehlo.shift_left"),
            BitwiseOp::Or => binary("stablehlo.or"),
            BitwiseOp::RightShift => OpRow::new(shift_right),
            BitwiseOp::Xor => binary("stablehlo.xor"),
        },
        Op::BitwiseNot(_) => unary("stablehlo.not"),
        Op::Clamp(op) => OpRow::new(|e| clamp(e, op)),
        Op::Compare(op) => comparison(match op.function {
            CompareOp::Equal => "EQ",
            CompareOp::NotEqual => "NE",
            CompareOp::Greater => "GT",
            CompareOp::GreaterEqual => "GE",
            CompareOp::Less => "LT",
            CompareOp::LessEqual => "LE",
        }),
        Op::Convert(op) => OpRow::new(|e| convert(e, op.destination_type)),
        Op::FakeConvert(op) => OpRow::new(|e| fake_convert(e, op.destination_type)),
        Op::IsFinite(_) => OpRow::new(is_finite),
        Op::IsInf(op) => OpRow::new(|e| is_infinite(e, op)),
        Op::IsNaN(_) => OpRow::new(|e| activate(e, |e, x| Ok(e.compare("NE", x, x)))),
        Op::Logical(op) => binary(match op.function {
            LogicalOp::And => "stablehlo.and",
            LogicalOp::Or => "stablehlo.or",
            LogicalOp::Xor => "stablehlo.xor",
        }),
        Op::LogicalNot(_) => OpRow::new(logical_not),
        Op::Round(op) => identity_on_integers(match op.mode {
            RoundMode::HalfAwayFromZero => "stablehlo.round_nearest_afz",
            RoundMode::HalfToEven => "stablehlo.round_nearest_even",
        }),
        Op::Select(_) => OpRow::new(select),
        Op::Unary(op) => match op.function {
            UnaryOp::Abs => OpRow::new(|e| activate(e, |e, x| Ok(size(e, x)))),
            UnaryOp::Ceiling => identity_on_integers("stablehlo.ceil"),
            UnaryOp::Cos => unary("stablehlo.cosine").floats(),
            UnaryOp::Exp => unary("stablehlo.exponential").floats(),
            UnaryOp::Floor => identity_on_integers("stablehlo.floor"),
            UnaryOp::Log => unary("stablehlo.log").floats(),
            UnaryOp::Negative => unary("stablehlo.negate"),
            UnaryOp::Sigmoid => unary("stablehlo.logistic").floats(),
            UnaryOp::Sign => OpRow::new(sign),
            UnaryOp::Sin => unary("stablehlo.sine").floats(),
            UnaryOp::Sqrt => unary("stablehlo.sqrt").floats(),
            UnaryOp::Tan => unary("stablehlo.tan").floats(),
            UnaryOp::Tanh => unary("stablehlo.tanh").floats(),
            _ => return None,
        },
        Op::Xor(_) => binary("stablehlo.xor"),
        _ => return None,
    })
}

/// The absolute value; StableHLO's `abs` does not accept unsigned numbers.
fn size(e: &mut Emitter, x: &Operand) -> Operand {
    if is_unsigned(x) { x.clone() } else { e.same("stablehlo.abs", &[x]) }
}

fn sign(e: &mut Emitter) -> Result {
    activate(e, |e, x| {
        if !is_unsigned(x) {
            return Ok(e.same("stablehlo.sign", &[x]));
        }
        let one = e.full(1.0, &x.ty)?;
        Ok(e.same("stablehlo.minimum", &[x, &one]))
    })
}

fn is_unsigned(x: &Operand) -> bool {
    x.ty.element.is_integer() && !x.ty.element.is_signed()
}

/// Logical, not bitwise, negation.
fn logical_not(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    if x.ty.element != ElementType::Boolean {
        return Err(OpError::unsupported(format!("the truth of {}", x.ty.element)));
    }
    let y = e.same("stablehlo.not", &[&x]);
    e.give(0, y)
}

fn clamp(e: &mut Emitter, op: &Clamp) -> Result {
    activate(e, |e, x| {
        let scalar = x.ty.sized(&[]);
        let [low, high] = bounds(op.min, op.max, x.ty.element);
        let (low, high) = (e.full(low, &scalar)?, e.full(high, &scalar)?);
        let what = format!("{}, {}, {}", low.name, x.name, high.name);
        let tail = format!(": ({scalar}, {}, {scalar}) -> {}", x.ty, x.ty);
        Ok(e.line("stablehlo.clamp", &what, &tail, x.ty.clone()))
    })
}

fn convert(e: &mut Emitter, to: ElementType) -> Result {
    // Constants are converted before the run. At run time, snick saturates on overflow and XLA does not.
    if is_low_bit(to) {
        return Err(OpError::unsupported(format!("the element type {to}")));
    }
    // Half floats are computed in f32. Compressed weights that were rounded to half floats must stay rounded,
    // however.
    let is_stored = to.is_half() && e.is_float() && e.inputs.first().is_some_and(|&x| is_weights(e.graph, x));
    activate(e, |e, x| {
        let x = if is_stored { e.convert(x, to) } else { x.clone() };
        converted(e, &x, to)
    })
}

/// Scales and shifts, clamps to an 8-bit float type, and converts to that type through f16 and back.
fn fake_convert(e: &mut Emitter, to: FakeType) -> Result {
    let (target, greatest) = to.limits();
    let mut operands = e.operands()?;
    for operand in &mut operands {
        *operand = e.convert(operand, ElementType::F32);
    }
    let dims = operands.first().map(|data| data.ty.dims.clone()).unwrap_or_default();
    let mut wide = Vec::with_capacity(operands.len());
    for operand in &operands {
        wide.push(e.broadcast(operand, &dims)?);
    }
    let [data, scale, shift @ ..] = wide.as_slice() else { return Err(OpError::NotConnected { port: 1 }) };
    let mut value = e.same("stablehlo.multiply", &[data, scale]);
    if let Some(shift) = shift.first() {
        value = e.same("stablehlo.subtract", &[&value, shift]);
    }
    value = e.within(&value, -greatest, greatest)?;
    for element in [ElementType::F16, target, ElementType::F32] {
        value = e.convert(&value, element);
    }
    if let Some(shift) = shift.first() {
        value = e.same("stablehlo.add", &[&value, shift]);
    }
    let y = e.same("stablehlo.divide", &[&value, scale]);
    let element = e.output(0)?.element;
    let y = e.convert(&y, element);
    e.give(0, y)
}

/// Whether numbers of a type have fewer than 8 bits, or are 8-bit floats.
fn is_low_bit(element: ElementType) -> bool {
    let bits = element.bit_width().unwrap_or(u32::MAX);
    element != ElementType::Boolean && (bits < 8 || (bits == 8 && element.is_float()))
}

fn select(e: &mut Emitter) -> Result {
    let dims = e.output(0)?.dims;
    let [condition, yes, no] = [e.input(0)?, e.input(1)?, e.input(2)?];
    e.meet(&[&condition.ty.dims, &yes.ty.dims, &no.ty.dims], &dims)?;
    let (condition, yes, no) =
        (e.broadcast(&condition, &dims)?, e.broadcast(&yes, &dims)?, e.broadcast(&no, &dims)?);
    let y = e.select(&condition, &yes, &no);
    e.give(0, y)
}

/// Shifts right; the shift is arithmetic for signed numbers.
fn shift_right(e: &mut Emitter) -> Result {
    let [a, b] = e.pair()?;
    let kind = if is_unsigned(&a) { "logical" } else { "arithmetic" };
    let y = e.same(&format!("stablehlo.shift_right_{kind}"), &[&a, &b]);
    e.give(0, y)
}

fn is_finite(e: &mut Emitter) -> Result {
    activate(e, |e, x| {
        let ty = x.ty.with(ElementType::Boolean);
        Ok(e.line("stablehlo.is_finite", &x.name, &format!(": ({}) -> {ty}", x.ty), ty))
    })
}

/// Tests for infinities of the selected signs.
fn is_infinite(e: &mut Emitter, op: &IsInf) -> Result {
    let signs = [(op.detect_negative, -1.0), (op.detect_positive, 1.0)];
    activate(e, |e, x| {
        let mut found = e.full(0.0, &x.ty.with(ElementType::Boolean))?;
        for (_, sign) in signs.iter().filter(|(is_detected, _)| *is_detected) {
            let infinity = e.full(sign * f64::INFINITY, &x.ty)?;
            let own = e.compare("EQ", x, &infinity);
            found = e.same("stablehlo.or", &[&found, &own]);
        }
        Ok(found)
    })
}
