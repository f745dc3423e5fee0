//! Activations: functions that bend.

use snick_ir::ops::elementwise::hard_sigmoid::HardSigmoid;
use snick_ir::ops::elementwise::selu::Selu;

use super::elementwise::{activate, real_function};
use super::emitter::{Emitter, Operand, Result};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("Elu", Custom(elu)),
    ("Gelu", Custom(gelu)),
    ("HSigmoid", Custom(|e| real_function(e, h_sigmoid))),
    (
        "HSwish",
        Custom(|e| {
            real_function(e, |e, x| h_sigmoid(e, x).map(|gate| e.same("stablehlo.multiply", &[x, &gate])))
        }),
    ),
    ("HardSigmoid", Custom(hard_sigmoid)),
    ("Mish", Custom(|e| activate(e, mish))),
    ("PReLU", Custom(prelu)),
    (
        "ReLU",
        Custom(|e| {
            activate(e, |e, x| e.full(0.0, &x.ty).map(|zero| e.same("stablehlo.maximum", &[x, &zero])))
        }),
    ),
    ("Selu", Custom(selu)),
    ("SoftPlus", Custom(|e| activate(e, soft_plus))),
    ("SoftSign", Custom(|e| activate(e, soft_sign))),
    ("Swish", Custom(swish)),
];

/// `alpha * (exp(x) - 1)` below 0.
fn exponential_below(e: &mut Emitter, x: &Operand, alpha: f64) -> Result<Operand> {
    let (zero, alpha) = (e.full(0.0, &x.ty)?, e.full(alpha, &x.ty)?);
    // Not of what is above 0: it could be infinite.
    let below = e.same("stablehlo.minimum", &[x, &zero]);
    let grown = e.same("stablehlo.exponential_minus_one", &[&below]);
    let scaled = e.same("stablehlo.multiply", &[&alpha, &grown]);
    let above = e.compare("GT", x, &zero);
    Ok(e.select(&above, x, &scaled))
}

fn elu(e: &mut Emitter) -> Result {
    let alpha = e.float("alpha")?;
    activate(e, |e, x| exponential_below(e, x, alpha))
}

/// Parameter `i` beside each element of `x`. Where the number in the file is known and `meaning` takes it for another,
/// it is that other one.
fn parameter(e: &mut Emitter, i: usize, meaning: fn(f64) -> f64, x: &Operand) -> Result<Operand> {
    match e.known_real(i) {
        Some(given) if meaning(given) != given => e.full(meaning(given), &x.ty),
        _ => {
            let one = e.input(i)?;
            e.everywhere(&one, &x.ty.dims)
        }
    }
}

fn selu(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let alpha = parameter(e, 1, Selu::alpha, &x)?;
    let lambda = parameter(e, 2, Selu::lambda, &x)?;
    let below = exponential_below(e, &x, 1.0)?;
    let scaled = e.same("stablehlo.multiply", &[&alpha, &below]);
    let zero = e.full(0.0, &x.ty)?;
    let above = e.compare("GT", &x, &zero);
    let either = e.select(&above, &x, &scaled);
    let y = e.same("stablehlo.multiply", &[&lambda, &either]);
    e.give(0, y)
}

fn gelu(e: &mut Emitter) -> Result {
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
fn ramp(e: &mut Emitter, x: &Operand, slope: &Operand, shift: &Operand) -> Result<Operand> {
    let (zero, one) = (e.full(0.0, &x.ty)?, e.full(1.0, &x.ty)?);
    let scaled = e.same("stablehlo.multiply", &[slope, x]);
    let moved = e.same("stablehlo.add", &[&scaled, shift]);
    let above = e.same("stablehlo.maximum", &[&moved, &zero]);
    Ok(e.same("stablehlo.minimum", &[&above, &one]))
}

fn h_sigmoid(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let (slope, shift) = (e.full(1.0 / 6.0, &x.ty)?, e.full(0.5, &x.ty)?);
    ramp(e, x, &slope, &shift)
}

fn hard_sigmoid(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let alpha = parameter(e, 1, HardSigmoid::alpha, &x)?;
    let beta = parameter(e, 2, HardSigmoid::beta, &x)?;
    let y = ramp(e, &x, &alpha, &beta)?;
    e.give(0, y)
}

/// `log(1 + exp(x))`, without overflow: `max(x, 0) + log(1 + exp(-|x|))`.
fn soft_plus(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let zero = e.full(0.0, &x.ty)?;
    let size = e.same("stablehlo.abs", &[x]);
    let below = e.same("stablehlo.negate", &[&size]);
    let grown = e.same("stablehlo.exponential", &[&below]);
    let bend = e.same("stablehlo.log_plus_one", &[&grown]);
    let above = e.same("stablehlo.maximum", &[x, &zero]);
    Ok(e.same("stablehlo.add", &[&above, &bend]))
}

fn soft_sign(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let one = e.full(1.0, &x.ty)?;
    let size = e.same("stablehlo.abs", &[x]);
    let below = e.same("stablehlo.add", &[&one, &size]);
    Ok(e.same("stablehlo.divide", &[x, &below]))
}

fn mish(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let plus = soft_plus(e, x)?;
    let bend = e.same("stablehlo.tanh", &[&plus]);
    Ok(e.same("stablehlo.multiply", &[x, &bend]))
}

/// `x * sigmoid(beta * x)`
fn swish(e: &mut Emitter) -> Result {
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
fn prelu(e: &mut Emitter) -> Result {
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
