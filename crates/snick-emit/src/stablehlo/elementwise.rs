//! Ops on one element at a time, and conversions.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};
use super::rule::EmitRule::{Binary, Compare, Custom, IdentityOnInt, Unary};
use super::rule::OpRow;
use super::unary::{activate, converted};
use crate::decompression::is_weights;
use crate::type_limits::bounds;

pub(super) const ROWS: &[OpRow] = &[
    OpRow::new("Abs", Custom(|e| activate(e, |e, x| Ok(size(e, x))))),
    OpRow::new("Add", Binary("stablehlo.add")),
    OpRow::new("BitwiseAnd", Binary("stablehlo.and")),
    OpRow::new("BitwiseLeftShift", Binary("stablehlo.shift_left")),
    OpRow::new("BitwiseNot", Unary("stablehlo.not")),
    OpRow::new("BitwiseOr", Binary("stablehlo.or")),
    OpRow::new("BitwiseRightShift", Custom(shift_right)),
    OpRow::new("BitwiseXor", Binary("stablehlo.xor")),
    OpRow::new("Ceiling", IdentityOnInt("stablehlo.ceil")),
    OpRow::new("Clamp", Custom(clamp)),
    OpRow::new("Convert", Custom(convert)),
    OpRow::new("FakeConvert", Custom(fake_convert)),
    OpRow::new("Cos", Unary("stablehlo.cosine")).floats(),
    OpRow::new("Divide", Binary("stablehlo.divide")).only(|layer| layer.divides_towards_zero()),
    OpRow::new("Equal", Compare("EQ")),
    OpRow::new("Exp", Unary("stablehlo.exponential")).floats(),
    OpRow::new("Floor", IdentityOnInt("stablehlo.floor")),
    OpRow::new("Greater", Compare("GT")),
    OpRow::new("GreaterEqual", Compare("GE")),
    OpRow::new("IsFinite", Custom(is_finite)),
    OpRow::new("IsInf", Custom(is_infinite)),
    OpRow::new("IsNaN", Custom(|e| activate(e, |e, x| Ok(e.compare("NE", x, x))))),
    OpRow::new("Less", Compare("LT")),
    OpRow::new("LessEqual", Compare("LE")),
    OpRow::new("Log", Unary("stablehlo.log")).floats(),
    OpRow::new("LogicalAnd", Binary("stablehlo.and")),
    OpRow::new("LogicalNot", Custom(logical_not)),
    OpRow::new("LogicalOr", Binary("stablehlo.or")),
    OpRow::new("LogicalXor", Binary("stablehlo.xor")),
    OpRow::new("Maximum", Binary("stablehlo.maximum")),
    OpRow::new("Minimum", Binary("stablehlo.minimum")),
    OpRow::new("Mod", Binary("stablehlo.remainder")),
    OpRow::new("Multiply", Binary("stablehlo.multiply")),
    OpRow::new("Negative", Unary("stablehlo.negate")),
    OpRow::new("NotEqual", Compare("NE")),
    OpRow::new("Power", Binary("stablehlo.power")),
    OpRow::new("Round", Custom(round)),
    OpRow::new("Select", Custom(select)),
    OpRow::new("Sigmoid", Unary("stablehlo.logistic")).floats(),
    OpRow::new("Sign", Custom(sign)),
    OpRow::new("Sin", Unary("stablehlo.sine")).floats(),
    OpRow::new("Sqrt", Unary("stablehlo.sqrt")).floats(),
    OpRow::new("Subtract", Binary("stablehlo.subtract")),
    OpRow::new("Tan", Unary("stablehlo.tan")).floats(),
    OpRow::new("Tanh", Unary("stablehlo.tanh")).floats(),
    OpRow::new("Xor", Binary("stablehlo.xor")),
];

/// Without the sign, which unsigned numbers have none of.
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

/// Of integers, not of their bits.
fn logical_not(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    if x.ty.element != ElementType::Boolean {
        return Err(OpError::unsupported(format!("the truth of {}", x.ty.element)));
    }
    let y = e.same("stablehlo.not", &[&x]);
    e.give(0, y)
}

fn round(e: &mut Emitter) -> Result {
    let op = match e.word("mode")?.as_str() {
        "half_away_from_zero" => "stablehlo.round_nearest_afz",
        _ => "stablehlo.round_nearest_even",
    };
    activate(e, |e, x| Ok(if x.ty.element.is_float() { e.same(op, &[x]) } else { x.clone() }))
}

fn clamp(e: &mut Emitter) -> Result {
    let (min, max) = (e.float("min")?, e.float("max")?);
    activate(e, |e, x| {
        let scalar = x.ty.sized(&[]);
        let [low, high] = bounds(min, max, x.ty.element);
        let (low, high) = (e.full(low, &scalar)?, e.full(high, &scalar)?);
        let what = format!("{}, {}, {}", low.name, x.name, high.name);
        let tail = format!(": ({scalar}, {}, {scalar}) -> {}", x.ty, x.ty);
        Ok(e.line("stablehlo.clamp", &what, &tail, x.ty.clone()))
    })
}

fn convert(e: &mut Emitter) -> Result {
    let to = e.type_attr("destination_type")?;
    // Constants are converted ahead of the run; what overflows in a run is saturated here, and not by XLA.
    if is_low_bit(to) {
        return Err(OpError::unsupported(format!("the element type {to}")));
    }
    // Halves are computed in f32, but what is stored as such in weights was rounded when they were compressed.
    let is_stored = to.is_half() && e.is_float() && e.inputs.first().is_some_and(|&x| is_weights(e.graph, x));
    activate(e, |e, x| {
        let x = if is_stored { e.convert(x, to) } else { x.clone() };
        converted(e, &x, to)
    })
}

/// Scaled, shifted, kept within a float of 8 bits, brought to it by way of a half float, and back.
fn fake_convert(e: &mut Emitter) -> Result {
    let target = e.type_attr("destination_type")?;
    let greatest = if target == ElementType::F8E5M2 { 57344.0 } else { 448.0 };
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

/// Whether numbers of a type have fewer than 8 bits, or are floats of 8.
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

/// Signed numbers are filled with their sign.
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

/// Infinities of the signs that are asked for.
fn is_infinite(e: &mut Emitter) -> Result {
    let mut signs = Vec::with_capacity(2);
    for (name, sign) in [("detect_negative", -1.0), ("detect_positive", 1.0)] {
        if e.attrs.bool(name)?.unwrap_or(true) {
            signs.push(sign);
        }
    }
    activate(e, |e, x| {
        let mut found = e.full(0.0, &x.ty.with(ElementType::Boolean))?;
        for sign in &signs {
            let infinity = e.full(sign * f64::INFINITY, &x.ty)?;
            let own = e.compare("EQ", x, &infinity);
            found = e.same("stablehlo.or", &[&found, &own]);
        }
        Ok(found)
    })
}
