//! Ops on one element at a time, and conversions.

use snick_ir::OpError;
use snick_ir::ops::elementwise::auto_broadcast::AutoBroadcast;
use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};
use super::reduction::sum;
use super::table::EmitRule::{self, Binary, Compare, Custom, FloatUnary, Unary};
use super::types::computed;
use crate::type_limits::bounds;

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("Abs", Custom(|e| activate(e, |e, x| Ok(size(e, x))))),
    ("Acos", FloatUnary("chlo.acos")),
    ("Acosh", FloatUnary("chlo.acosh")),
    ("Add", Binary("stablehlo.add")),
    ("Asin", FloatUnary("chlo.asin")),
    ("Asinh", FloatUnary("chlo.asinh")),
    ("Atan", FloatUnary("chlo.atan")),
    ("Atanh", FloatUnary("chlo.atanh")),
    ("BitwiseAnd", Binary("stablehlo.and")),
    ("BitwiseLeftShift", Binary("stablehlo.shift_left")),
    ("BitwiseNot", Unary("stablehlo.not")),
    ("BitwiseOr", Binary("stablehlo.or")),
    ("BitwiseRightShift", Custom(shift_right)),
    ("BitwiseXor", Binary("stablehlo.xor")),
    ("Bucketize", Custom(bucketize)),
    ("Ceiling", Custom(|e| rounded(e, "stablehlo.ceil"))),
    ("Clamp", Custom(clamp)),
    ("Convert", Custom(|e| convert(e, "destination_type"))),
    ("ConvertLike", Custom(convert_like)),
    ("ConvertPromoteTypes", Custom(promote)),
    ("Cos", FloatUnary("stablehlo.cosine")),
    ("Cosh", FloatUnary("chlo.cosh")),
    ("Divide", Custom(divide)),
    ("Equal", Compare("EQ")),
    ("Erf", FloatUnary("chlo.erf")),
    ("ErfInv", Unary("chlo.erf_inv")),
    ("Exp", FloatUnary("stablehlo.exponential")),
    ("Floor", Custom(|e| rounded(e, "stablehlo.floor"))),
    ("FloorMod", Custom(floor_mod)),
    ("Greater", Compare("GT")),
    ("GreaterEqual", Compare("GE")),
    ("IsFinite", Custom(is_finite)),
    ("IsInf", Custom(is_infinite)),
    ("IsNaN", Custom(|e| activate(e, |e, x| Ok(e.compare("NE", x, x))))),
    ("Less", Compare("LT")),
    ("LessEqual", Compare("LE")),
    ("Log", FloatUnary("stablehlo.log")),
    ("LogicalAnd", Binary("stablehlo.and")),
    ("LogicalNot", Custom(logical_not)),
    ("LogicalOr", Binary("stablehlo.or")),
    ("LogicalXor", Binary("stablehlo.xor")),
    ("Maximum", Binary("stablehlo.maximum")),
    ("Minimum", Binary("stablehlo.minimum")),
    ("Mod", Binary("stablehlo.remainder")),
    ("Multiply", Binary("stablehlo.multiply")),
    ("Negative", Unary("stablehlo.negate")),
    ("NotEqual", Compare("NE")),
    ("Power", Binary("stablehlo.power")),
    ("Round", Custom(round)),
    ("Select", Custom(select)),
    ("Sigmoid", FloatUnary("stablehlo.logistic")),
    ("Sign", Custom(sign)),
    ("Sin", FloatUnary("stablehlo.sine")),
    ("Sinh", FloatUnary("chlo.sinh")),
    ("Sqrt", FloatUnary("stablehlo.sqrt")),
    ("SquaredDifference", Custom(squared_difference)),
    ("Subtract", Binary("stablehlo.subtract")),
    ("Tan", FloatUnary("stablehlo.tan")),
    ("Tanh", FloatUnary("stablehlo.tanh")),
    ("Xor", Binary("stablehlo.xor")),
];

/// The two inputs, brought to the shape that both have after broadcasting.
pub(super) fn pair(e: &mut Emitter) -> Result<[Operand; 2], OpError> {
    let dims = e.output(0)?.dims;
    let [a, b] = [e.input(0)?, e.input(1)?];
    if over(e)?.is_some() {
        return Ok([a, aligned(e, &b, &dims)?]);
    }
    e.meet(&[&a.ty.dims, &b.ty.dims], &dims)?;
    Ok([e.broadcast(&a, &dims)?, e.broadcast(&b, &dims)?])
}

/// The axis of the first input over which the second is laid, where the layer brings shapes together in that way; -1
/// aligns the last axes.
fn over(e: &Emitter) -> Result<Option<i64>, OpError> {
    match e.word("auto_broadcast")?.as_str() {
        "pdpd" => Ok(Some(e.attrs.int(AutoBroadcast::PDPD_AXIS)?.unwrap_or(0))),
        _ => Ok(None),
    }
}

/// An input that is not the first, repeated to sizes as the layer brings shapes together.
pub(super) fn aligned(e: &mut Emitter, x: &Operand, dims: &[SymExpr]) -> Result<Operand> {
    match over(e)?.map(usize::try_from) {
        Some(Ok(first)) => {
            let axes: Vec<usize> = (first..first + x.ty.rank()).collect();
            e.spread(x, &axes, dims.to_vec())
        }
        _ => e.broadcast(x, dims.to_vec()),
    }
}

/// A function of the one input that matters.
pub(super) fn activate(
    e: &mut Emitter,
    function: impl Fn(&mut Emitter, &Operand) -> Result<Operand>,
) -> Result {
    let x = e.input(0)?;
    let y = function(e, &x)?;
    e.give(0, y)
}

/// A function of real numbers. Of integers it is taken in f64 and rounded to even; unsigned types get what is below
/// zero wrapped.
pub(super) fn real_function(
    e: &mut Emitter,
    function: impl Fn(&mut Emitter, &Operand) -> Result<Operand>,
) -> Result {
    activate(e, |e, x| {
        let element = x.ty.element;
        if element.is_float() {
            return function(e, x);
        }
        let wide = e.convert(x, ElementType::F64);
        let value = function(e, &wide)?;
        let whole = e.same("stablehlo.round_nearest_even", &[&value]);
        let near = e.convert(&whole, element);
        if element.is_signed() {
            return Ok(near);
        }
        let zero = e.full(0.0, &whole.ty)?;
        let is_below = e.compare("LT", &whole, &zero);
        let signed = e.convert(&whole, ElementType::I64);
        let wrapped = e.convert(&signed, element);
        Ok(e.select(&is_below, &wrapped, &near))
    })
}

/// Without the sign, which unsigned numbers have none of.
pub(super) fn size(e: &mut Emitter, x: &Operand) -> Operand {
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
        return Err(OpError::unsupported(format!("the truth of {} in StableHLO", x.ty.element)));
    }
    let y = e.same("stablehlo.not", &[&x]);
    e.give(0, y)
}

/// Integers are whole already.
fn rounded(e: &mut Emitter, op: &str) -> Result {
    let x = e.input(0)?;
    let y = if x.ty.element.is_float() { e.same(op, &[&x]) } else { x };
    e.give(0, y)
}

fn round(e: &mut Emitter) -> Result {
    let op = match e.word("mode")?.as_str() {
        "half_away_from_zero" => "stablehlo.round_nearest_afz",
        _ => "stablehlo.round_nearest_even",
    };
    rounded(e, op)
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

fn convert(e: &mut Emitter, name: &'static str) -> Result {
    let to = e.attrs.element_type(name)?.ok_or(OpError::MissingAttribute { name })?;
    activate(e, |e, x| converted(e, x, to))
}

fn convert_like(e: &mut Emitter) -> Result {
    let to = e.input(1)?.ty.element;
    activate(e, |e, x| converted(e, x, to))
}

/// Truth is what is not zero.
pub(super) fn converted(e: &mut Emitter, x: &Operand, to: ElementType) -> Result<Operand> {
    let to = computed(to);
    if to != ElementType::Boolean || x.ty.element == to {
        return Ok(e.convert(x, to));
    }
    let zero = e.full(0.0, &x.ty)?;
    Ok(e.compare("NE", x, &zero))
}

/// Whether the remainder must be moved by one divisor to have the divisor's sign: it has the dividend's.
fn moves(e: &mut Emitter, remainder: &Operand, divisor: &Operand) -> Result<Operand> {
    let zero = e.full(0.0, &remainder.ty)?;
    let [below, divisor_below] = [remainder, divisor].map(|value| e.compare("LT", value, &zero));
    let differ = e.same("stablehlo.xor", &[&below, &divisor_below]);
    let inexact = e.compare("NE", remainder, &zero);
    Ok(e.same("stablehlo.and", &[&differ, &inexact]))
}

/// StableHLO divides integers towards zero; the layer may round down.
fn divide(e: &mut Emitter) -> Result {
    let [a, b] = pair(e)?;
    let rounds_down = e.attrs.bool("m_pythondiv")?.unwrap_or(true);
    let quotient = e.same("stablehlo.divide", &[&a, &b]);
    if a.ty.element.is_float() || !a.ty.element.is_signed() || !rounds_down {
        return e.give(0, quotient);
    }
    let remainder = e.same("stablehlo.remainder", &[&a, &b]);
    let moves = moves(e, &remainder, &b)?;
    let one = e.full(1.0, &a.ty)?;
    let below = e.same("stablehlo.subtract", &[&quotient, &one]);
    let y = e.select(&moves, &below, &quotient);
    e.give(0, y)
}

fn floor_mod(e: &mut Emitter) -> Result {
    let [a, b] = pair(e)?;
    let remainder = e.same("stablehlo.remainder", &[&a, &b]);
    let moves = moves(e, &remainder, &b)?;
    let moved = e.same("stablehlo.add", &[&remainder, &b]);
    let y = e.select(&moves, &moved, &remainder);
    e.give(0, y)
}

fn squared_difference(e: &mut Emitter) -> Result {
    let [a, b] = pair(e)?;
    let difference = e.same("stablehlo.subtract", &[&a, &b]);
    let y = e.same("stablehlo.multiply", &[&difference, &difference]);
    e.give(0, y)
}

fn select(e: &mut Emitter) -> Result {
    let dims = e.output(0)?.dims;
    let [condition, yes, no] = [e.input(0)?, e.input(1)?, e.input(2)?];
    if over(e)?.is_none() {
        e.meet(&[&condition.ty.dims, &yes.ty.dims, &no.ty.dims], &dims)?;
    }
    // Where one input is laid over another, the second is the one that does not stretch.
    let (condition, yes, no) =
        (aligned(e, &condition, &dims)?, e.broadcast(&yes, &dims)?, aligned(e, &no, &dims)?);
    let y = e.select(&condition, &yes, &no);
    e.give(0, y)
}

/// Signed numbers are filled with their sign.
fn shift_right(e: &mut Emitter) -> Result {
    let [a, b] = pair(e)?;
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

/// Both values in the type that both have in the end.
fn promote(e: &mut Emitter) -> Result {
    for port in 0..e.len() {
        let (x, ty) = (e.input(port)?, e.output(port as u32)?);
        let y = converted(e, &x, ty.element)?;
        e.give(port as u32, y)?;
    }
    Ok(())
}

/// How many bounds lie below each element, or not above it where they belong to the bucket on their right.
fn bucketize(e: &mut Emitter) -> Result {
    let (x, bounds, ty) = (e.input(0)?, e.input(1)?, e.output(0)?);
    let common = match (x.ty.element.is_float(), bounds.ty.element.is_float()) {
        (false, false) => ElementType::I64,
        _ => ElementType::F64,
    };
    let (x, bounds) = (e.convert(&x, common), e.convert(&bounds, common));
    let last = x.ty.rank();
    let each = [x.ty.dims.as_slice(), &bounds.ty.dims].concat();
    let own: Vec<usize> = (0..last).collect();
    let (x, bounds) = (e.spread(&x, &own, &each)?, e.spread(&bounds, &[last], &each)?);
    let right = e.attrs.bool("with_right_bound")?.unwrap_or(true);
    let below = e.compare(if right { "LT" } else { "LE" }, &bounds, &x);
    let ones = e.convert(&below, ty.element);
    let y = sum(e, &ones, &[last])?;
    e.give(0, y)
}
