//! Expansions of float functions that StableHLO lacks.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, PI};

use snick_ir::Op;
use snick_tensor::ElementType;
use snick_tensor::kernels::UnaryOp;

use super::emitter::{Emitter, Operand, Result};
use super::row::OpRow;
use super::unary::activate;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    let Op::Unary(op) = op else { return None };
    let (least, function): (_, fn(&mut Emitter, &Operand) -> Result<Operand>) = match op.function {
        UnaryOp::Acos => (ElementType::F32, acos),
        UnaryOp::Acosh => (ElementType::F32, acosh),
        UnaryOp::Asin => (ElementType::F32, asin),
        UnaryOp::Asinh => (ElementType::F32, asinh),
        UnaryOp::Atan => (ElementType::F32, atan),
        UnaryOp::Atanh => (ElementType::F32, atanh),
        UnaryOp::Cosh => (ElementType::F32, cosh),
        UnaryOp::Erf => (ElementType::F32, erf),
        UnaryOp::ErfInv => (ElementType::F64, erf_inv),
        UnaryOp::Sinh => (ElementType::F32, sinh),
        _ => return None,
    };
    Some(OpRow::new(move |e| in_type(e, least, function)).floats())
}

/// Applies a function in type `least`, or in the type of the input if that is wider. In half floats,
/// intermediate results would overflow.
fn in_type(
    e: &mut Emitter,
    least: ElementType,
    function: fn(&mut Emitter, &Operand) -> Result<Operand>,
) -> Result {
    activate(e, |e, x| {
        let wide = if x.ty.element == ElementType::F64 { ElementType::F64 } else { least };
        let wide_x = e.convert(x, wide);
        let y = function(e, &wide_x)?;
        Ok(e.convert(&y, x.ty.element))
    })
}

fn atan(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let one = e.full(1.0, &x.ty)?;
    Ok(e.same("atan2", &[x, &one]))
}

/// `sqrt(1 - x^2)`
fn other_leg(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let one = e.full(1.0, &x.ty)?;
    let (low, high) = (e.same("subtract", &[&one, x]), e.same("add", &[&one, x]));
    let square = e.same("multiply", &[&low, &high]);
    Ok(e.same("sqrt", &[&square]))
}

fn asin(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let leg = other_leg(e, x)?;
    Ok(e.same("atan2", &[x, &leg]))
}

fn acos(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let leg = other_leg(e, x)?;
    Ok(e.same("atan2", &[&leg, x]))
}

/// `(log(1 + x) - log(1 - x)) / 2`
fn atanh(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let negative = e.same("negate", &[x]);
    let (above, below) = (e.same("log_plus_one", &[x]), e.same("log_plus_one", &[&negative]));
    let both = e.same("subtract", &[&above, &below]);
    e.times(&both, 0.5)
}

/// `yes` where `x` exceeds a number, and `no` elsewhere.
fn beyond(e: &mut Emitter, x: &Operand, number: f64, yes: &Operand, no: &Operand) -> Result<Operand> {
    let number = e.full(number, &x.ty)?;
    let is_above = e.compare("GT", x, &number);
    Ok(e.select(&is_above, yes, no))
}

/// Above `LARGE`, `x^2 + 1` rounds to `x^2`. Above `LARGE_EXPONENT`, `e^-x` is negligible next to `e^x`.
/// Neither bound is near overflow.
const LARGE: f64 = 1e10;
const LARGE_EXPONENT: f64 = 20.0;

/// `log(2 x)`
fn log_of_double(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let log = e.same("log", &[x]);
    e.plus(&log, LN_2)
}

/// `log(1 + a + a^2 / (1 + sqrt(1 + a^2)))` for `a = |x|`, with the sign of `x`.
fn asinh(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let size = e.same("abs", &[x]);
    let square = e.same("multiply", &[&size, &size]);
    let root = e.plus(&square, 1.0)?;
    let root = e.same("sqrt", &[&root]);
    let divisor = e.plus(&root, 1.0)?;
    let part = e.same("divide", &[&square, &divisor]);
    let sum = e.same("add", &[&size, &part]);
    let (near, far) = (e.same("log_plus_one", &[&sum]), log_of_double(e, &size)?);
    let y = beyond(e, &size, LARGE, &far, &near)?;
    let sign = e.same("sign", &[x]);
    Ok(e.same("multiply", &[&sign, &y]))
}

/// `log(1 + t + sqrt(t (t + 2)))` for `x = 1 + t`.
fn acosh(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let t = e.plus(x, -1.0)?;
    let above = e.plus(&t, 2.0)?;
    let square = e.same("multiply", &[&t, &above]);
    let root = e.same("sqrt", &[&square]);
    let sum = e.same("add", &[&t, &root]);
    let (near, far) = (e.same("log_plus_one", &[&sum]), log_of_double(e, x)?);
    beyond(e, x, LARGE, &far, &near)
}

/// `e^a / 2` for large `a`; only overflows if the result does.
fn half_power(e: &mut Emitter, size: &Operand) -> Result<Operand> {
    let less = e.plus(size, -LN_2)?;
    Ok(e.same("exponential", &[&less]))
}

/// `(m + m / (m + 1)) / 2` for `m = e^a - 1`, with the sign of `x`.
fn sinh(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let size = e.same("abs", &[x]);
    let grown = e.same("exponential_minus_one", &[&size]);
    let divisor = e.plus(&grown, 1.0)?;
    let part = e.same("divide", &[&grown, &divisor]);
    let sum = e.same("add", &[&grown, &part]);
    let (near, far) = (e.times(&sum, 0.5)?, half_power(e, &size)?);
    let y = beyond(e, &size, LARGE_EXPONENT, &far, &near)?;
    let sign = e.same("sign", &[x]);
    Ok(e.same("multiply", &[&sign, &y]))
}

/// `(e^a + 1 / e^a) / 2`
fn cosh(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let size = e.same("abs", &[x]);
    let grown = e.same("exponential", &[&size]);
    let one = e.full(1.0, &x.ty)?;
    let shrunk = e.same("divide", &[&one, &grown]);
    let sum = e.same("add", &[&grown, &shrunk]);
    let (near, far) = (e.times(&sum, 0.5)?, half_power(e, &size)?);
    beyond(e, &size, LARGE_EXPONENT, &far, &near)
}

/// Coefficients of a polynomial, highest power first.
type Coefficients = &'static [f64];

/// The error function, by two formulas for `a = |x|` that meet at 1. Below 1, it is `a P(a^2)`. Above 1, it
/// is `1 - erfc(a)`, with `erfc(a) = exp(-a^2) Q((a - K) / (a + K)) / (1 + 2 a)` and K = 2.5 (the form of
/// Shepherd and Laframboise, 1981). P and Q are Chebyshev interpolants for these ranges, computed with 40
/// digits. The relative error is 1.6e-7 in f32 and 2e-16 in f64.
struct ErrorFunction {
    near: Coefficients,
    far: Coefficients,
    /// From this value on, `erf` rounds to 1.
    end: f64,
}

const IN_F32: ErrorFunction = ErrorFunction {
    near: &[
        7.875875062685488e-05,
        -0.000801686428716587,
        0.005189087423433974,
        -0.026854212010626412,
        0.11283594715160218,
        -0.37612626666720334,
        1.1283791658483509,
    ],
    far: &[
        -0.00440214714547923,
        0.0009811567385790232,
        0.0327659561201471,
        -0.1029686693365136,
        0.15762980014499733,
        -0.09902452242598812,
        -0.12235676294359668,
        1.264838184348707,
    ],
    end: 4.0,
};

const IN_F64: ErrorFunction = ErrorFunction {
    near: &[
        5.957176147748911e-11,
        -1.1372848856791674e-09,
        1.4659775274047436e-08,
        -1.6350312701054695e-07,
        1.6461000484121368e-06,
        -1.4925595266831182e-05,
        0.0001205533111164271,
        -0.000854832698083379,
        0.0052239776248180145,
        -0.026866170645076792,
        0.11283791670954879,
        -0.3761263890318375,
        FRAC_2_SQRT_PI,
    ],
    far: &[
        4.727035383999773e-07,
        -1.20810543036591e-06,
        -4.172799612419221e-06,
        2.4889455807856173e-06,
        2.268589458987406e-05,
        6.287219611533655e-06,
        -0.0001135201722723042,
        -8.848147809088696e-05,
        0.0006321241408612426,
        0.0004918659568781356,
        -0.00438207832970265,
        0.0009318928118746032,
        0.032760893268347545,
        -0.10296705603846149,
        0.15762991902322296,
        -0.09902453957360272,
        -0.12235676308240433,
        1.2648381843668615,
    ],
    end: 6.0,
};

const CENTRE: f64 = 2.5;

fn polynomial(e: &mut Emitter, coefficients: Coefficients, x: &Operand) -> Result<Operand> {
    let mut coefficients = coefficients.iter();
    let mut y = e.full(*coefficients.next().unwrap_or(&0.0), &x.ty)?;
    for &coefficient in coefficients {
        let product = e.same("multiply", &[&y, x]);
        y = e.plus(&product, coefficient)?;
    }
    Ok(y)
}

/// Evaluates both formulas for an absolute value. Returns `erf` by the formula for values below 1, and `erfc`
/// by the formula for values above 1.
fn both_formulas(e: &mut Emitter, size: &Operand) -> Result<[Operand; 2]> {
    let function = if size.ty.element == ElementType::F64 { &IN_F64 } else { &IN_F32 };
    let end = e.full(function.end, &size.ty)?;
    let size = e.same("minimum", &[size, &end]);
    let square = e.same("multiply", &[&size, &size]);
    let near = polynomial(e, function.near, &square)?;
    let near = e.same("multiply", &[&near, &size]);
    let (low, high) = (e.plus(&size, -CENTRE)?, e.plus(&size, CENTRE)?);
    let place = e.same("divide", &[&low, &high]);
    let far = polynomial(e, function.far, &place)?;
    let below = e.same("negate", &[&square]);
    let falling = e.same("exponential", &[&below]);
    let far = e.same("multiply", &[&falling, &far]);
    let double = e.same("add", &[&size, &size]);
    let divisor = e.plus(&double, 1.0)?;
    Ok([near, e.same("divide", &[&far, &divisor])])
}

fn erf(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let size = e.same("abs", &[x]);
    let [near, complement] = both_formulas(e, &size)?;
    let one = e.full(1.0, &x.ty)?;
    let far = e.same("subtract", &[&one, &complement]);
    let y = beyond(e, &size, 1.0, &far, &near)?;
    let sign = e.same("sign", &[x]);
    Ok(e.same("multiply", &[&sign, &y]))
}

/// Winitzki's formula (2008), which has a relative error of 0.002, refined by two steps of Halley's method,
/// as in `snick run`.
fn erf_inv(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    const A: f64 = 0.147;
    const STEPS: usize = 2;
    let one = e.full(1.0, &x.ty)?;
    let target = e.same("abs", &[x]);
    let rest = e.same("subtract", &[&one, &target]);
    let above = e.plus(&target, 1.0)?;
    let product = e.same("multiply", &[&rest, &above]);
    let log = e.same("log", &[&product]);
    let half = e.times(&log, 0.5)?;
    let half = e.plus(&half, 2.0 / (PI * A))?;
    let part = e.times(&log, -1.0 / A)?;
    let square = e.same("multiply", &[&half, &half]);
    let root = e.same("add", &[&square, &part]);
    let root = e.same("sqrt", &[&root]);
    let divisor = e.same("add", &[&root, &half]);
    let square = e.same("divide", &[&part, &divisor]);
    let mut y = e.same("sqrt", &[&square]);
    for _ in 0..STEPS {
        let [near, complement] = both_formulas(e, &y)?;
        let (near, far) = (e.same("subtract", &[&near, &target]), e.same("subtract", &[&rest, &complement]));
        let error = beyond(e, &y, 1.0, &far, &near)?;
        let square = e.same("multiply", &[&y, &y]);
        let below = e.same("negate", &[&square]);
        let slope = e.same("exponential", &[&below]);
        let slope = e.times(&slope, FRAC_2_SQRT_PI)?;
        let step = e.same("divide", &[&error, &slope]);
        let bend = e.same("multiply", &[&y, &step]);
        let bend = e.plus(&bend, 1.0)?;
        let step = e.same("divide", &[&step, &bend]);
        y = e.same("subtract", &[&y, &step]);
    }
    // Results of 0 and infinity need no refinement; for `|x| > 1`, the result is already NaN.
    let (zero, infinity) = (e.full(0.0, &x.ty)?, e.full(f64::INFINITY, &x.ty)?);
    let (is_zero, is_one) = (e.compare("EQ", &target, &zero), e.compare("EQ", &target, &one));
    let y = e.select(&is_zero, &zero, &y);
    let y = e.select(&is_one, &infinity, &y);
    let sign = e.same("sign", &[x]);
    Ok(e.same("multiply", &[&sign, &y]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `erf` of an absolute value in f64, computed as in the module.
    fn erf_by(function: &ErrorFunction, x: f64) -> f64 {
        let at = |coefficients: Coefficients, x: f64| coefficients.iter().fold(0.0, |y, c| y * x + c);
        let size = x.min(function.end);
        let complement =
            (-size * size).exp() * at(function.far, (size - CENTRE) / (size + CENTRE)) / (1.0 + 2.0 * size);
        if size > 1.0 { 1.0 - complement } else { size * at(function.near, size * size) }
    }

    #[test]
    fn the_error_function_is_that_of_tables() {
        for (x, expected) in [
            (1e-8, 1.128379167095512_6e-8),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (1.000_001, 0.842_701_208_056_797_2),
            (2.0, 0.995_322_265_018_952_7),
            (3.0, 0.999_977_909_503_001_4),
            (9.0, 1.0),
        ] {
            for (function, tolerance) in [(&IN_F32, 1.2e-7), (&IN_F64, 1e-15)] {
                let error = (erf_by(function, x) - expected) / expected;
                assert!(error.abs() < tolerance, "{x}: {error}");
            }
        }
    }
}
