//! Ops on one element at a time, and conversions.

use snick_ir::OpError;
use snick_ir::ops::elementwise::scalar_parameters::{
    HARD_SIGMOID_ALPHA, HARD_SIGMOID_BETA, SELU_ALPHA, SELU_LAMBDA,
};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Got, Operand, Written};
use super::table::Form::{self, Binary, By, Compare, Unary};

pub(super) const ROWS: &[(&str, Form)] = &[
    ("Abs", Unary("stablehlo.abs")),
    ("Acos", Unary("chlo.acos")),
    ("Acosh", Unary("chlo.acosh")),
    ("Add", Binary("stablehlo.add")),
    ("Asin", Unary("chlo.asin")),
    ("Asinh", Unary("chlo.asinh")),
    ("Atan", Unary("chlo.atan")),
    ("Atanh", Unary("chlo.atanh")),
    ("BitwiseAnd", Binary("stablehlo.and")),
    ("BitwiseNot", Unary("stablehlo.not")),
    ("BitwiseOr", Binary("stablehlo.or")),
    ("BitwiseXor", Binary("stablehlo.xor")),
    ("Ceiling", By(|e| rounded(e, "stablehlo.ceil"))),
    ("Clamp", By(clamp)),
    ("Convert", By(|e| convert(e, "destination_type"))),
    ("ConvertLike", By(convert_like)),
    ("Cos", Unary("stablehlo.cosine")),
    ("Cosh", Unary("chlo.cosh")),
    ("Divide", By(divide)),
    ("Elu", By(elu)),
    ("Equal", Compare("EQ")),
    ("Erf", Unary("chlo.erf")),
    ("Exp", Unary("stablehlo.exponential")),
    ("FakeQuantize", By(fake_quantize)),
    ("Floor", By(|e| rounded(e, "stablehlo.floor"))),
    ("FloorMod", By(floor_mod)),
    ("Gelu", By(gelu)),
    ("Greater", Compare("GT")),
    ("GreaterEqual", Compare("GE")),
    ("HSigmoid", By(|e| activate(e, h_sigmoid))),
    (
        "HSwish",
        By(|e| activate(e, |e, x| h_sigmoid(e, x).map(|gate| e.same("stablehlo.multiply", &[x, &gate])))),
    ),
    ("HardSigmoid", By(hard_sigmoid)),
    ("Less", Compare("LT")),
    ("LessEqual", Compare("LE")),
    ("Log", Unary("stablehlo.log")),
    ("LogicalAnd", Binary("stablehlo.and")),
    ("LogicalNot", Unary("stablehlo.not")),
    ("LogicalOr", Binary("stablehlo.or")),
    ("LogicalXor", Binary("stablehlo.xor")),
    ("Maximum", Binary("stablehlo.maximum")),
    ("Minimum", Binary("stablehlo.minimum")),
    ("Mish", By(|e| activate(e, mish))),
    ("Mod", Binary("stablehlo.remainder")),
    ("Multiply", Binary("stablehlo.multiply")),
    ("Negative", Unary("stablehlo.negate")),
    ("NotEqual", Compare("NE")),
    ("PReLU", By(prelu)),
    ("Power", Binary("stablehlo.power")),
    (
        "ReLU",
        By(|e| activate(e, |e, x| e.full(0.0, &x.ty).map(|zero| e.same("stablehlo.maximum", &[x, &zero])))),
    ),
    ("Round", By(round)),
    ("Select", By(select)),
    ("Selu", By(selu)),
    ("Sigmoid", Unary("stablehlo.logistic")),
    ("Sign", Unary("stablehlo.sign")),
    ("Sin", Unary("stablehlo.sine")),
    ("Sinh", Unary("chlo.sinh")),
    ("SoftPlus", By(|e| activate(e, soft_plus))),
    ("SoftSign", By(|e| activate(e, soft_sign))),
    ("Sqrt", Unary("stablehlo.sqrt")),
    ("SquaredDifference", By(squared_difference)),
    ("Subtract", Binary("stablehlo.subtract")),
    ("Swish", By(swish)),
    ("Tan", Unary("stablehlo.tan")),
    ("Tanh", Unary("stablehlo.tanh")),
    ("Xor", Binary("stablehlo.xor")),
];

/// The two inputs, brought to the shape that both have after broadcasting.
pub(super) fn pair(e: &mut Emitter) -> Result<[Operand; 2], OpError> {
    let dims = e.output(0)?.dims;
    let [a, b] = [e.input(0)?, e.input(1)?];
    match e.word("auto_broadcast")?.as_str() {
        "pdpd" => {
            // The second is matched from `axis` on; sizes of 1 at its end count for nothing.
            let axis = e.attrs.int("axis")?.unwrap_or(-1);
            let ends = b.ty.dims.iter().rposition(|dim| dim.as_const() != Some(1)).map_or(0, |last| last + 1);
            let first = match usize::try_from(axis) {
                Ok(axis) => axis,
                Err(_) => dims.len().saturating_sub(b.ty.rank()),
            };
            let kept = b.ty.dims.get(..ends).unwrap_or_default().to_vec();
            let b = e.reshape(&b, &kept)?;
            let axes: Vec<usize> = (first..first + kept.len()).collect();
            Ok([e.broadcast(&a, &dims)?, e.spread(&b, &axes, &dims)?])
        }
        _ => {
            e.meet(&[&a.ty.dims, &b.ty.dims], &dims)?;
            Ok([e.broadcast(&a, &dims)?, e.broadcast(&b, &dims)?])
        }
    }
}

/// A function of the one input that matters.
fn activate(e: &mut Emitter, function: impl Fn(&mut Emitter, &Operand) -> Got) -> Written {
    let x = e.input(0)?;
    let y = function(e, &x)?;
    e.give(0, y)
}

/// Integers are whole already.
fn rounded(e: &mut Emitter, op: &str) -> Written {
    let x = e.input(0)?;
    let y = if x.ty.element.is_float() { e.same(op, &[&x]) } else { x };
    e.give(0, y)
}

fn round(e: &mut Emitter) -> Written {
    let op = match e.word("mode")?.as_str() {
        "half_away_from_zero" => "stablehlo.round_nearest_afz",
        _ => "stablehlo.round_nearest_even",
    };
    rounded(e, op)
}

fn clamp(e: &mut Emitter) -> Written {
    let (min, max) = (e.float("min")?, e.float("max")?);
    activate(e, |e, x| {
        // Bounds of integers are rounded inwards.
        let whole = !x.ty.element.is_float();
        let scalar = x.ty.sized(&[]);
        let low = e.full(if whole { min.ceil() } else { min }, &scalar)?;
        let high = e.full(if whole { max.floor() } else { max }, &scalar)?;
        let what = format!("{}, {}, {}", low.name, x.name, high.name);
        let tail = format!(": ({scalar}, {}, {scalar}) -> {}", x.ty, x.ty);
        Ok(e.line("stablehlo.clamp", &what, &tail, x.ty.clone()))
    })
}

fn convert(e: &mut Emitter, name: &'static str) -> Written {
    let to = e.attrs.element_type(name)?.ok_or(OpError::MissingAttribute { name })?;
    activate(e, |e, x| converted(e, x, to))
}

fn convert_like(e: &mut Emitter) -> Written {
    let to = e.input(1)?.ty.element;
    activate(e, |e, x| converted(e, x, to))
}

/// Truth is what is not zero.
pub(super) fn converted(e: &mut Emitter, x: &Operand, to: ElementType) -> Got {
    if to != ElementType::Boolean || x.ty.element == to {
        return Ok(e.convert(x, to));
    }
    let zero = e.full(0.0, &x.ty)?;
    Ok(e.compare("NE", x, &zero))
}

/// Whether the remainder must be moved by one divisor to have the divisor's sign: it has the dividend's.
fn moves(e: &mut Emitter, remainder: &Operand, divisor: &Operand) -> Got {
    let zero = e.full(0.0, &remainder.ty)?;
    let [below, divisor_below] = [remainder, divisor].map(|value| e.compare("LT", value, &zero));
    let differ = e.same("stablehlo.xor", &[&below, &divisor_below]);
    let inexact = e.compare("NE", remainder, &zero);
    Ok(e.same("stablehlo.and", &[&differ, &inexact]))
}

/// StableHLO divides integers towards zero; the layer may round down.
fn divide(e: &mut Emitter) -> Written {
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

fn floor_mod(e: &mut Emitter) -> Written {
    let [a, b] = pair(e)?;
    let remainder = e.same("stablehlo.remainder", &[&a, &b]);
    let moves = moves(e, &remainder, &b)?;
    let moved = e.same("stablehlo.add", &[&remainder, &b]);
    let y = e.select(&moves, &moved, &remainder);
    e.give(0, y)
}

fn squared_difference(e: &mut Emitter) -> Written {
    let [a, b] = pair(e)?;
    let difference = e.same("stablehlo.subtract", &[&a, &b]);
    let y = e.same("stablehlo.multiply", &[&difference, &difference]);
    e.give(0, y)
}

fn select(e: &mut Emitter) -> Written {
    let dims = e.output(0)?.dims;
    let [condition, yes, no] = [e.input(0)?, e.input(1)?, e.input(2)?];
    e.meet(&[&condition.ty.dims, &yes.ty.dims, &no.ty.dims], &dims)?;
    let (condition, yes, no) =
        (e.broadcast(&condition, &dims)?, e.broadcast(&yes, &dims)?, e.broadcast(&no, &dims)?);
    let y = e.select(&condition, &yes, &no);
    e.give(0, y)
}

/// `alpha * (exp(x) - 1)` below 0.
fn exponential_below(e: &mut Emitter, x: &Operand, alpha: f64) -> Got {
    let (zero, alpha) = (e.full(0.0, &x.ty)?, e.full(alpha, &x.ty)?);
    // Not of what is above 0: it could be infinite.
    let below = e.same("stablehlo.minimum", &[x, &zero]);
    let grown = e.same("stablehlo.exponential_minus_one", &[&below]);
    let scaled = e.same("stablehlo.multiply", &[&alpha, &grown]);
    let above = e.compare("GT", x, &zero);
    Ok(e.select(&above, x, &scaled))
}

fn elu(e: &mut Emitter) -> Written {
    let alpha = e.float("alpha")?;
    activate(e, |e, x| exponential_below(e, x, alpha))
}

/// Parameter `i` beside each element of `x`. One that is known to be zero stands for the usual one, as in the layer.
fn parameter_or_usual(e: &mut Emitter, i: usize, usual: f64, x: &Operand) -> Got {
    match e.known_real(i) {
        Some(0.0) => e.full(usual, &x.ty),
        _ => {
            let one = e.input(i)?;
            e.everywhere(&one, &x.ty.dims)
        }
    }
}

fn selu(e: &mut Emitter) -> Written {
    let x = e.input(0)?;
    let alpha = parameter_or_usual(e, 1, SELU_ALPHA, &x)?;
    let lambda = parameter_or_usual(e, 2, SELU_LAMBDA, &x)?;
    let below = exponential_below(e, &x, 1.0)?;
    let scaled = e.same("stablehlo.multiply", &[&alpha, &below]);
    let zero = e.full(0.0, &x.ty)?;
    let above = e.compare("GT", &x, &zero);
    let either = e.select(&above, &x, &scaled);
    let y = e.same("stablehlo.multiply", &[&lambda, &either]);
    e.give(0, y)
}

fn gelu(e: &mut Emitter) -> Written {
    let by_tanh = e.word("approximation_mode")? == "tanh";
    activate(e, |e, x| {
        let (half, one) = (e.full(0.5, &x.ty)?, e.full(1.0, &x.ty)?);
        let bend = if by_tanh {
            let (cubic, root) =
                (e.full(0.044715, &x.ty)?, e.full((2.0 / std::f64::consts::PI).sqrt(), &x.ty)?);
            let square = e.same("stablehlo.multiply", &[x, x]);
            let cube = e.same("stablehlo.multiply", &[&square, x]);
            let part = e.same("stablehlo.multiply", &[&cubic, &cube]);
            let sum = e.same("stablehlo.add", &[x, &part]);
            let scaled = e.same("stablehlo.multiply", &[&root, &sum]);
            e.same("stablehlo.tanh", &[&scaled])
        } else {
            let root = e.full(std::f64::consts::FRAC_1_SQRT_2, &x.ty)?;
            let scaled = e.same("stablehlo.multiply", &[x, &root]);
            e.same("chlo.erf", &[&scaled])
        };
        let weight = e.same("stablehlo.add", &[&one, &bend]);
        let halved = e.same("stablehlo.multiply", &[&half, x]);
        Ok(e.same("stablehlo.multiply", &[&halved, &weight]))
    })
}

/// `min(max(slope * x + shift, 0), 1)`
fn ramp(e: &mut Emitter, x: &Operand, slope: &Operand, shift: &Operand) -> Got {
    let (zero, one) = (e.full(0.0, &x.ty)?, e.full(1.0, &x.ty)?);
    let scaled = e.same("stablehlo.multiply", &[slope, x]);
    let moved = e.same("stablehlo.add", &[&scaled, shift]);
    let above = e.same("stablehlo.maximum", &[&moved, &zero]);
    Ok(e.same("stablehlo.minimum", &[&above, &one]))
}

fn h_sigmoid(e: &mut Emitter, x: &Operand) -> Got {
    let (slope, shift) = (e.full(1.0 / 6.0, &x.ty)?, e.full(0.5, &x.ty)?);
    ramp(e, x, &slope, &shift)
}

fn hard_sigmoid(e: &mut Emitter) -> Written {
    let x = e.input(0)?;
    let alpha = parameter_or_usual(e, 1, HARD_SIGMOID_ALPHA, &x)?;
    let beta = parameter_or_usual(e, 2, HARD_SIGMOID_BETA, &x)?;
    let y = ramp(e, &x, &alpha, &beta)?;
    e.give(0, y)
}

/// `log(1 + exp(x))`, without overflow: `max(x, 0) + log(1 + exp(-|x|))`.
fn soft_plus(e: &mut Emitter, x: &Operand) -> Got {
    let zero = e.full(0.0, &x.ty)?;
    let size = e.same("stablehlo.abs", &[x]);
    let below = e.same("stablehlo.negate", &[&size]);
    let grown = e.same("stablehlo.exponential", &[&below]);
    let bend = e.same("stablehlo.log_plus_one", &[&grown]);
    let above = e.same("stablehlo.maximum", &[x, &zero]);
    Ok(e.same("stablehlo.add", &[&above, &bend]))
}

fn soft_sign(e: &mut Emitter, x: &Operand) -> Got {
    let one = e.full(1.0, &x.ty)?;
    let size = e.same("stablehlo.abs", &[x]);
    let below = e.same("stablehlo.add", &[&one, &size]);
    Ok(e.same("stablehlo.divide", &[x, &below]))
}

fn mish(e: &mut Emitter, x: &Operand) -> Got {
    let plus = soft_plus(e, x)?;
    let bend = e.same("stablehlo.tanh", &[&plus]);
    Ok(e.same("stablehlo.multiply", &[x, &bend]))
}

/// `x * sigmoid(beta * x)`
fn swish(e: &mut Emitter) -> Written {
    let x = e.input(0)?;
    let mut inner = x.clone();
    if e.len() > 1 {
        let beta = e.input(1)?;
        let beta = e.everywhere(&beta, &x.ty.dims)?;
        inner = e.same("stablehlo.multiply", &[&x, &beta]);
    }
    let gate = e.same("stablehlo.logistic", &[&inner]);
    let y = e.same("stablehlo.multiply", &[&x, &gate]);
    e.give(0, y)
}

/// A slope a channel, or one for all.
fn prelu(e: &mut Emitter) -> Written {
    let (x, slope) = (e.input(0)?, e.input(1)?);
    // Old files have slopes of another real type than the data.
    let slope = e.convert(&slope, x.ty.element);
    let channels = x.ty.dims.get(1);
    let slope = match slope.ty.dims.as_slice() {
        [count] if Some(count) == channels && count.as_const() != Some(1) => {
            e.spread(&slope, &[1], &x.ty.dims)?
        }
        _ => e.broadcast(&slope, &x.ty.dims)?,
    };
    let zero = e.full(0.0, &x.ty)?;
    let below = e.same("stablehlo.multiply", &[&x, &slope]);
    let is_below = e.compare("LT", &x, &zero);
    let y = e.select(&is_below, &below, &x);
    e.give(0, y)
}

/// Rounded to one of `levels` numbers between the input bounds, and moved to the output bounds.
fn fake_quantize(e: &mut Emitter) -> Written {
    let x = e.input(0)?;
    let steps = e.full(e.float("levels")? - 1.0, &x.ty)?;
    let mut bounds = Vec::with_capacity(4);
    for i in 1..5 {
        let bound = e.input(i)?;
        bounds.push(e.broadcast(&bound, &x.ty.dims)?);
    }
    let [low, high, out_low, out_high] = bounds.as_slice() else {
        return Err(OpError::NotConnected { port: 4 });
    };
    let width = e.same("stablehlo.subtract", &[high, low]);
    let out_width = e.same("stablehlo.subtract", &[out_high, out_low]);
    let above = e.same("stablehlo.subtract", &[&x, low]);
    let share = e.same("stablehlo.divide", &[&above, &width]);
    let scaled = e.same("stablehlo.multiply", &[&share, &steps]);
    let level = e.same("stablehlo.round_nearest_even", &[&scaled]);
    let part = e.same("stablehlo.divide", &[&level, &steps]);
    let moved = e.same("stablehlo.multiply", &[&part, &out_width]);
    let inside = e.same("stablehlo.add", &[&moved, out_low]);
    let (least, most) =
        (e.same("stablehlo.minimum", &[low, high]), e.same("stablehlo.maximum", &[low, high]));
    let (is_low, is_high) = (e.compare("LE", &x, &least), e.compare("GT", &x, &most));
    let capped = e.select(&is_high, out_high, &inside);
    let y = e.select(&is_low, out_low, &capped);
    e.give(0, y)
}
