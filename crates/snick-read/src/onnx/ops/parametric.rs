//! Elementwise operators with parameters, and conversions.

use snick_ir::{Attrs, Op, OpError, Value, ops};
use snick_tensor::ElementType;

use super::quantize::saturated;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Cast", &[6, 9, 13, 19, 21, 23, 24, 25], cast).attrs("round_mode saturate to"),
    one("CastLike", &[15, 19, 21, 23, 24, 25], cast_like).attrs("round_mode saturate"),
    one("Celu", &[12], celu).attrs("alpha"),
    one("Clip", &[6, 11, 12, 13], clip).attrs("max min"),
    many("Dropout", &[7, 10, 12, 13, 22], dropout).ignores("ratio seed"),
    one("Elu", &[6, 22], elu).attrs("alpha"),
    one("Gelu", &[20], gelu).attrs("approximate"),
    one("HardSigmoid", &[6, 22], hard_sigmoid).attrs("alpha beta"),
    one("Identity", &[1, 13, 14, 16, 19, 21, 23, 24, 25], |b| b.input(0)),
    one("IsInf", &[10, 20], is_inf).attrs("detect_negative detect_positive"),
    one("LeakyRelu", &[6, 16], leaky_relu).attrs("alpha"),
    one("PRelu", &[7, 9, 16], |b| {
        let (x, slope) = (b.input(0)?, b.input(1)?);
        sloped(b, x, slope)
    }),
    one("Selu", &[6, 22], selu).attrs("alpha gamma"),
    one("Shrink", &[9], shrink).attrs("bias lambd"),
    one("Swish", &[24], swish).attrs("alpha"),
    one("ThresholdedRelu", &[10, 22], thresholded_relu).attrs("alpha"),
];

fn cast(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let number = b.required_int("to")?;
    let how = Rounding::read(b)?;
    match b.type_attr("to") {
        Ok(to) => cast_to(b, x, to.unwrap_or(ElementType::Dynamic), how),
        // The shape is known although snick does not support the element type.
        Err(_) if snick_onnx::is_type_number(number) => b.convert(x, ElementType::Dynamic),
        Err(error) => Err(error),
    }
}

fn cast_like(b: &mut NodeBuilder) -> Result {
    let (x, like) = (b.input(0)?, b.input(1)?);
    let how = Rounding::read(b)?;
    match b.element_type(like) {
        Ok(to) => cast_to(b, x, to, how),
        Err(_) => b.add_op(ops::ConvertLike, &[x, like]),
    }
}

/// The rounding mode of conversions to small float types.
#[derive(Copy, Clone)]
struct Rounding {
    /// Whether overflow results in the end of the range instead of infinity or NaN.
    saturates: bool,
    /// The direction in which to round to powers of two.
    mode: &'static str,
}

impl Rounding {
    fn read(b: &NodeBuilder) -> Result<Self> {
        let modes = [("up", "up"), ("down", "down"), ("nearest", "nearest")];
        Ok(Self { saturates: b.flag_attr("saturate", true)?, mode: b.choice("round_mode", &modes)? })
    }
}

fn cast_to(b: &mut NodeBuilder, x: Value, to: ElementType, how: Rounding) -> Result {
    match to {
        ElementType::F8E4M3 | ElementType::F8E5M2 if how.saturates => saturated(b, x, to),
        ElementType::F4E2M1 => saturated(b, x, to),
        ElementType::F8E8M0 => power_of_two(b, x, how.mode),
        _ => b.convert(x, to),
    }
}

/// Rounds to a power of two: up, down, or to the nearest.
fn power_of_two(b: &mut NodeBuilder, x: Value, mode: &str) -> Result {
    let nearest = b.convert(x, ElementType::F8E8M0)?;
    let (compare, factor): (Op, f64) = match mode {
        "nearest" => return Ok(nearest),
        "up" => (ops::Less::default().into(), 2.0),
        _ => (ops::Greater::default().into(), 0.5),
    };
    let x = b.convert(x, ElementType::F32)?;
    let found = b.convert(nearest, ElementType::F32)?;
    let wrong = b.add_op(compare, &[found, x])?;
    let other = b.multiply(found, factor)?;
    let power = b.select(wrong, other, found)?;
    b.convert(power, ElementType::F8E8M0)
}

/// Adds a Clip. The bounds are attributes up to operator set 6 and inputs later. If the lower bound exceeds
/// the upper bound, the result is the upper bound.
fn clip(b: &mut NodeBuilder) -> Result {
    let mut x = b.input(0)?;
    for (i, name) in [(1, "min"), (2, "max")] {
        let bound = match b.attrs.float(name)?.filter(|_| b.since < 11) {
            Some(bound) => Some(b.scalar_like(x, bound)?),
            None => b.optional(i),
        };
        if let Some(bound) = bound {
            x = if i == 1 { b.maximum(x, bound)? } else { b.minimum(x, bound)? };
        }
    }
    Ok(x)
}

/// Adds a Dropout. In inference, no element is dropped, so the mask is all true.
fn dropout(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let x = b.input(0)?;
    if let Some(training) = b.optional(2) {
        let training = b.known_ints(training);
        if training.is_none_or(|v| v.first() != Some(&0)) {
            return Err(OpError::unsupported("training mode"));
        }
    }
    let mut outputs = vec![x];
    if b.wants(1) {
        let mask_type = if b.since < 10 { b.element_type(x)? } else { ElementType::Boolean };
        let kept = b.scalar(mask_type, 1.0)?;
        let shape = b.shape_of(x)?;
        outputs.push(b.broadcast_to(kept, shape)?);
    }
    Ok(outputs)
}

fn elu(b: &mut NodeBuilder) -> Result {
    let (x, alpha) = (b.input(0)?, b.float_attr("alpha", 1.0)?);
    b.add_op(ops::Elu { alpha }, &[x])
}

/// Computes `max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)`.
fn celu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let alpha = b.float_attr("alpha", 1.0)?;
    let alpha = b.scalar_like(x, alpha)?;
    let ratio = b.divide(x, alpha)?;
    let curve = b.add_op(ops::Elu { alpha: 1.0 }, &[ratio])?;
    let curve = b.multiply(curve, alpha)?;
    let negative = b.less(x, 0.0)?;
    b.select(negative, curve, x)
}

fn gelu(b: &mut NodeBuilder) -> Result {
    let mode = b.choice("approximate", &[("none", "ERF"), ("tanh", "TANH")])?;
    let x = b.input(0)?;
    b.ir_op("Gelu", Attrs::new().with("approximation_mode", mode), &[x])
}

fn hard_sigmoid(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (alpha, beta) = (b.float_attr("alpha", 0.2)?, b.float_attr("beta", 0.5)?);
    ramp(b, x, alpha, beta)
}

/// Computes `alpha x + beta`, clamped to 0..1. If `alpha` or `beta` is 0, avoids HardSigmoid, because the
/// OpenVINO runtime replaces such a parameter with its default.
pub fn ramp(b: &mut NodeBuilder, x: Value, alpha: f64, beta: f64) -> Result {
    let meant = alpha != 0.0 && beta != 0.0;
    let (alpha, beta) = (b.scalar_like(x, alpha)?, b.scalar_like(x, beta)?);
    if meant {
        return b.add_op(ops::HardSigmoid, &[x, alpha, beta]);
    }
    let scaled = b.multiply(x, alpha)?;
    let line = b.add(scaled, beta)?;
    b.clamp(line, 0.0, 1.0)
}

fn is_inf(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (negative, positive) = (b.flag_attr("detect_negative", true)?, b.flag_attr("detect_positive", true)?);
    let attrs = Attrs::new().with("detect_negative", negative).with("detect_positive", positive);
    b.ir_op("IsInf", attrs, &[x])
}

fn leaky_relu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let alpha = b.float_attr("alpha", 0.01)?;
    let slope = b.scalar_like(x, alpha)?;
    b.add_op(ops::PRelu, &[x, slope])
}

/// Multiplies `x` by `slope` where `x` is negative. This is not a PReLU, because the PReLU of the IR would
/// broadcast a vector along the channel axis.
fn sloped(b: &mut NodeBuilder, x: Value, slope: Value) -> Result {
    let negative = b.less(x, 0.0)?;
    let scaled = b.multiply(x, slope)?;
    b.select(negative, scaled, x)
}

fn selu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let alpha = b.float_attr("alpha", 1.673_263_192_176_818_8)?;
    let gamma = b.float_attr("gamma", 1.050_701_022_148_132_3)?;
    let (alpha, gamma) = (b.scalar_like(x, alpha)?, b.scalar_like(x, gamma)?);
    b.add_op(ops::Selu, &[x, alpha, gamma])
}

/// Computes `x + bias` below `-lambd`, `x - bias` above `lambd`, and 0 in between.
fn shrink(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (lambd, bias) = (b.float_attr("lambd", 0.5)?, b.float_attr("bias", 0.0)?);
    let bias = b.scalar_like(x, bias)?;
    let (below, above) = (b.less(x, -lambd)?, b.greater(x, lambd)?);
    let (up, down) = (b.add(x, bias)?, b.subtract(x, bias)?);
    let right = b.select(above, down, 0.0)?;
    b.select(below, up, right)
}

fn swish(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let beta = b.float_attr("alpha", 1.0)?;
    let beta = b.scalar_like(x, beta)?;
    b.add_op(ops::Swish, &[x, beta])
}

fn thresholded_relu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let alpha = b.float_attr("alpha", 1.0)?;
    let above = b.greater(x, alpha)?;
    b.select(above, x, 0.0)
}
