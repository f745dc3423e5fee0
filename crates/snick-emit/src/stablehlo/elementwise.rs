//! Elementwise ops and conversions.

use snick_ir::ops::elementwise::fake_convert::FakeType;
use snick_ir::ops::elementwise::round::RoundMode;
use snick_ir::ops::{Clamp, IsInf};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;
use snick_tensor::kernels::{BinaryOp, BitwiseOp, CompareOp, LogicalOp, UnaryOp};

use super::emitter::{Emitter, OpKind, Operand, Result};
use super::row::{OpRow, binary, comparison, identity_on_integers, unary};
use super::unary::{activate, converted};
use crate::decompression::is_weights;
use crate::type_limits::bounds;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Arithmetic(op) => match op.function {
            BinaryOp::Add => binary("add"),
            BinaryOp::Div => binary("divide"),
            BinaryOp::FloorDiv => binary("divide").only(|layer| !layer.is_signed_integer()),
            BinaryOp::Max => binary("maximum"),
            BinaryOp::Min => binary("minimum"),
            BinaryOp::Mod => binary("remainder"),
            BinaryOp::Mul => binary("multiply"),
            BinaryOp::Pow => binary("power"),
            BinaryOp::Sub => binary("subtract"),
            BinaryOp::FloorMod | BinaryOp::PRelu | BinaryOp::SquaredDifference => return None,
        },
        Op::Bitwise(op) => match op.function {
            BitwiseOp::And => binary("and"),
            BitwiseOp::LeftShift => binary("shift_left"),
            BitwiseOp::Or => binary("or"),
            BitwiseOp::RightShift => OpRow::new(shift_right),
            BitwiseOp::Xor => binary("xor"),
        },
        Op::BitwiseNot(_) => unary("not"),
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
            LogicalOp::And => "and",
            LogicalOp::Or => "or",
            LogicalOp::Xor => "xor",
        }),
        Op::LogicalNot(_) => OpRow::new(logical_not),
        Op::Round(op) => identity_on_integers(match op.mode {
            RoundMode::HalfAwayFromZero => "round_nearest_afz",
            RoundMode::HalfToEven => "round_nearest_even",
        }),
        Op::Select(_) => OpRow::new(select),
        Op::Unary(op) => match op.function {
            UnaryOp::Abs => OpRow::new(|e| activate(e, |e, x| Ok(size(e, x)))),
            UnaryOp::Ceiling => identity_on_integers("ceil"),
            UnaryOp::Cos => unary("cosine").floats(),
            UnaryOp::Exp => unary("exponential").floats(),
            UnaryOp::Floor => identity_on_integers("floor"),
            UnaryOp::Log => unary("log").floats(),
            UnaryOp::Negative => unary("negate"),
            UnaryOp::Sigmoid => unary("logistic").floats(),
            UnaryOp::Sign => OpRow::new(sign),
            UnaryOp::Sin => unary("sine").floats(),
            UnaryOp::Sqrt => unary("sqrt").floats(),
            UnaryOp::Tan => unary("tan").floats(),
            UnaryOp::Tanh => unary("tanh").floats(),
            _ => return None,
        },
        Op::Xor(_) => binary("xor"),
        _ => return None,
    })
}

/// The absolute value; StableHLO's `abs` does not accept unsigned numbers.
fn size(e: &mut Emitter, x: &Operand) -> Operand {
    if is_unsigned(x) { x.clone() } else { e.same("abs", &[x]) }
}

fn sign(e: &mut Emitter) -> Result {
    activate(e, |e, x| {
        if !is_unsigned(x) {
            return Ok(e.same("sign", &[x]));
        }
        let one = e.full(1.0, &x.ty)?;
        Ok(e.same("minimum", &[x, &one]))
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
    let y = e.same("not", &[&x]);
    e.give(0, y)
}

fn clamp(e: &mut Emitter, op: &Clamp) -> Result {
    activate(e, |e, x| {
        let scalar = x.ty.sized(&[]);
        let [low, high] = bounds(op.min, op.max, x.ty.element);
        let (low, high) = (e.full(low, &scalar)?, e.full(high, &scalar)?);
        Ok(e.op(OpKind::Mixed("clamp"), &[&low, x, &high], x.ty.clone()))
    })
}

fn convert(e: &mut Emitter, to: ElementType) -> Result {
    // Low-bit types are rejected, because snick saturates on overflow and XLA does not. Most conversions of
    // constants are folded, so they are not affected.
    if is_low_bit(to) {
        return Err(OpError::unsupported(format!("the element type {to}")));
    }
    // Half floats may be computed in f32. However, compressed weights that the model rounds to half floats
    // must be rounded here, too.
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
    let mut value = e.same("multiply", &[data, scale]);
    if let Some(shift) = shift.first() {
        value = e.same("subtract", &[&value, shift]);
    }
    value = e.within(&value, -greatest, greatest)?;
    for element in [ElementType::F16, target, ElementType::F32] {
        value = e.convert(&value, element);
    }
    if let Some(shift) = shift.first() {
        value = e.same("add", &[&value, shift]);
    }
    let y = e.same("divide", &[&value, scale]);
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
    let op = if is_unsigned(&a) { "shift_right_logical" } else { "shift_right_arithmetic" };
    let y = e.same(op, &[&a, &b]);
    e.give(0, y)
}

fn is_finite(e: &mut Emitter) -> Result {
    activate(e, |e, x| Ok(e.op(OpKind::Mixed("is_finite"), &[x], x.ty.with(ElementType::Boolean))))
}

/// Tests for infinities of the selected signs.
fn is_infinite(e: &mut Emitter, op: &IsInf) -> Result {
    let signs = [(op.detect_negative, -1.0), (op.detect_positive, 1.0)];
    activate(e, |e, x| {
        let mut found = e.full(0.0, &x.ty.with(ElementType::Boolean))?;
        for (_, sign) in signs.iter().filter(|(is_detected, _)| *is_detected) {
            let infinity = e.full(sign * f64::INFINITY, &x.ty)?;
            let own = e.compare("EQ", x, &infinity);
            found = e.same("or", &[&found, &own]);
        }
        Ok(found)
    })
}
