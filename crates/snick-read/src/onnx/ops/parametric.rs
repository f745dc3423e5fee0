//! Operators on one element at a time that have parameters, and conversions.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use super::quantize::saturated;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Cast", &[6, 9, 13, 19, 21, 23, 24, 25], cast),
    one("CastLike", &[15, 19, 21, 23, 24, 25], cast_like),
    one("Celu", &[12], celu),
    one("Clip", &[6, 11, 12, 13], clip),
    many("Dropout", &[7, 10, 12, 13, 22], dropout),
    one("Elu", &[6, 22], elu),
    one("Gelu", &[20], gelu),
    one("HardSigmoid", &[6, 22], hard_sigmoid),
    one("Identity", &[1, 13, 14, 16, 19, 21, 23, 24, 25], |b| b.input(0)),
    one("IsInf", &[10, 20], is_inf),
    one("LeakyRelu", &[6, 16], leaky_relu),
    one("PRelu", &[7, 9, 16], |b| {
        let (x, slope) = (b.input(0)?, b.input(1)?);
        sloped(b, x, slope)
    }),
    one("Selu", &[6, 22], selu),
    one("Shrink", &[9], shrink),
    one("Swish", &[24], swish),
    one("ThresholdedRelu", &[10, 22], thresholded_relu),
];

fn cast(b: &mut NodeBuilder) -> Result {
    let (x, to) = (b.input(0)?, b.type_attr("to")?.ok_or(OpError::MissingAttribute { name: "to" })?);
    cast_to(b, x, to)
}

fn cast_like(b: &mut NodeBuilder) -> Result {
    let (x, like) = (b.input(0)?, b.input(1)?);
    match b.element_type(like) {
        Ok(to) => cast_to(b, x, to),
        Err(_) => b.plain("ConvertLike", &[x, like]),
    }
}

/// What is beyond the range of a small float type becomes the last number in it, unless the node says otherwise.
fn cast_to(b: &mut NodeBuilder, x: Value, to: ElementType) -> Result {
    let saturate = b.flag("saturate", true)?;
    match to {
        ElementType::F8E4M3 | ElementType::F8E5M2 if saturate => saturated(b, x, to),
        ElementType::F4E2M1 => saturated(b, x, to),
        ElementType::F8E8M0 => power_of_two(b, x),
        _ => b.convert(x, to),
    }
}

/// A number as the next power of two, above, below or nearest as the node says.
fn power_of_two(b: &mut NodeBuilder, x: Value) -> Result {
    let nearest = b.convert(x, ElementType::F8E8M0)?;
    let (compare, factor) = match b.text("round_mode", "up")? {
        "nearest" => return Ok(nearest),
        "up" => ("Less", 2.0),
        "down" => ("Greater", 0.5),
        _ => return Err(b.attrs.bad("round_mode", "up, down or nearest")),
    };
    let x = b.convert(x, ElementType::F32)?;
    let found = b.convert(nearest, ElementType::F32)?;
    let wrong = b.plain(compare, &[found, x])?;
    let factor = b.number(ElementType::F32, factor)?;
    let other = b.plain("Multiply", &[found, factor])?;
    let power = b.plain("Select", &[wrong, other, found])?;
    b.convert(power, ElementType::F8E8M0)
}

/// Bounds are attributes up to operator set 6, then inputs. A lower bound above the upper one gives the upper.
fn clip(b: &mut NodeBuilder) -> Result {
    let mut x = b.input(0)?;
    for (i, name, op_type) in [(1, "min", "Maximum"), (2, "max", "Minimum")] {
        let bound = match b.attrs.float(name)?.filter(|_| b.since < 11) {
            Some(bound) => Some(b.number_like(x, bound)?),
            None => b.optional(i),
        };
        if let Some(bound) = bound {
            x = b.plain(op_type, &[x, bound])?;
        }
    }
    Ok(x)
}

/// At inference nothing is dropped, and the mask is all true.
fn dropout(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    let x = b.input(0)?;
    if let Some(training) = b.optional(2) {
        let training = b.known_ints(training);
        if training.is_none_or(|v| v.first() != Some(&0)) {
            return Err(OpError::unsupported("training"));
        }
    }
    let mut outputs = vec![x];
    if b.wants(1) {
        let kept = b.number(if b.since < 10 { b.element_type(x)? } else { ElementType::Boolean }, 1.0)?;
        let shape = b.shape_of(x)?;
        outputs.push(b.make("Broadcast", Attrs::new().with("mode", "numpy"), &[kept, shape])?);
    }
    Ok(outputs)
}

fn elu(b: &mut NodeBuilder) -> Result {
    let (x, alpha) = (b.input(0)?, b.float("alpha", 1.0)?);
    b.make("Elu", Attrs::new().with("alpha", alpha), &[x])
}

/// `max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)`.
fn celu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let alpha = b.float("alpha", 1.0)?;
    let alpha = b.number_like(x, alpha)?;
    let ratio = divide(b, x, alpha)?;
    let curve = b.make("Elu", Attrs::new().with("alpha", 1.0), &[ratio])?;
    let curve = b.plain("Multiply", &[curve, alpha])?;
    let zero = b.number_like(x, 0.0)?;
    let negative = b.plain("Less", &[x, zero])?;
    b.plain("Select", &[negative, curve, x])
}

fn gelu(b: &mut NodeBuilder) -> Result {
    let mode = match b.text("approximate", "none")? {
        "none" => "ERF",
        "tanh" => "TANH",
        _ => return Err(b.attrs.bad("approximate", "none or tanh")),
    };
    let x = b.input(0)?;
    b.make("Gelu", Attrs::new().with("approximation_mode", mode), &[x])
}

fn hard_sigmoid(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (alpha, beta) = (b.float("alpha", 0.2)?, b.float("beta", 0.5)?);
    ramp(b, x, alpha, beta)
}

/// `alpha x + beta`, kept within 0..1. To the IR's HardSigmoid a parameter of zero says something else.
pub fn ramp(b: &mut NodeBuilder, x: Value, alpha: f64, beta: f64) -> Result {
    let meant = alpha != 0.0 && beta != 0.0;
    let (alpha, beta) = (b.number_like(x, alpha)?, b.number_like(x, beta)?);
    if meant {
        return b.plain("HardSigmoid", &[x, alpha, beta]);
    }
    let scaled = b.plain("Multiply", &[x, alpha])?;
    let line = b.plain("Add", &[scaled, beta])?;
    b.make("Clamp", Attrs::new().with("min", 0.0).with("max", 1.0), &[line])
}

fn is_inf(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (negative, positive) = (b.flag("detect_negative", true)?, b.flag("detect_positive", true)?);
    let attrs = Attrs::new().with("detect_negative", negative).with("detect_positive", positive);
    b.make("IsInf", attrs, &[x])
}

fn leaky_relu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let alpha = b.float("alpha", 0.01)?;
    let slope = b.number_like(x, alpha)?;
    b.plain("PReLU", &[x, slope])
}

/// `x`, times `slope` where negative. The IR's PReLU would take a slope of one axis for one of channels.
fn sloped(b: &mut NodeBuilder, x: Value, slope: Value) -> Result {
    let zero = b.number_like(x, 0.0)?;
    let negative = b.plain("Less", &[x, zero])?;
    let scaled = b.plain("Multiply", &[x, slope])?;
    b.plain("Select", &[negative, scaled, x])
}

fn selu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let alpha = b.float("alpha", 1.673_263_192_176_818_8)?;
    let gamma = b.float("gamma", 1.050_701_022_148_132_3)?;
    let (alpha, gamma) = (b.number_like(x, alpha)?, b.number_like(x, gamma)?);
    b.plain("Selu", &[x, alpha, gamma])
}

/// `x + bias` below `-lambd`, `x - bias` above `lambd`, 0 between.
fn shrink(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (lambd, bias) = (b.float("lambd", 0.5)?, b.float("bias", 0.0)?);
    let (low, high) = (b.number_like(x, -lambd)?, b.number_like(x, lambd)?);
    let (bias, zero) = (b.number_like(x, bias)?, b.number_like(x, 0.0)?);
    let (below, above) = (b.plain("Less", &[x, low])?, b.plain("Greater", &[x, high])?);
    let (up, down) = (b.plain("Add", &[x, bias])?, b.plain("Subtract", &[x, bias])?);
    let right = b.plain("Select", &[above, down, zero])?;
    b.plain("Select", &[below, up, right])
}

fn swish(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let beta = b.float("alpha", 1.0)?;
    let beta = b.number_like(x, beta)?;
    b.plain("Swish", &[x, beta])
}

fn thresholded_relu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let alpha = b.float("alpha", 1.0)?;
    let (alpha, zero) = (b.number_like(x, alpha)?, b.number_like(x, 0.0)?);
    let above = b.plain("Greater", &[x, alpha])?;
    b.plain("Select", &[above, x, zero])
}
