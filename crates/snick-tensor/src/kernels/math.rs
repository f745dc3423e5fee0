//! Functions of one `f32` that the compiler can turn into vector code: no branches, no tables, no calls.
//!
//! Error bounds are relative, over all inputs with a normal result; tests check them. `NaN` gives `NaN`, and
//! an infinite input gives the limit of the function.

use crate::kernels::vectors::{Instructions, multiply_add};

/// `c[0] + c[1] x + c[2] x^2 + ..`
#[inline(always)]
fn polynomial<I: Instructions, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = multiply_add::<I>(sum, x, coefficients[i]);
    }
    sum
}

/// `e^x`, within 1e-7.
#[inline(always)]
pub(crate) fn exp<I: Instructions>(x: f32) -> f32 {
    // Outside this range the result is 0 or infinite.
    let (power, exponent) = power::<I>(x.clamp(-104.0, 89.0));
    // Multiplies by two powers of two, because a subnormal result needs a smaller one than `two_to` can
    // return.
    let half = exponent >> 1;
    power * two_to(half) * two_to(exponent - half)
}

/// As [`exp`], but with two differences. Results that would be nearly subnormal are 0, because some
/// processors handle subnormal numbers a hundred times slower; in a sum with larger numbers this does not
/// matter. Results from `2^127.5` on are infinite.
#[inline(always)]
pub(crate) fn exp_or_zero<I: Instructions>(x: f32) -> f32 {
    const LEAST: f32 = -87.0;
    let (power, exponent) = power::<I>(x.clamp(LEAST, 89.0));
    let result = power * two_to(exponent);
    if x < LEAST { 0.0 } else { result }
}

/// ln 2 in two parts. The first has so few bits that its products with exponents are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// Splits `e^x` into a number near 1 and the exponent of a power of two; `|x|` is at most 128.
#[inline(always)]
fn power<I: Instructions>(x: f32) -> (f32, i32) {
    // Adding this rounds to an integer in the low bits.
    const SHIFT: f32 = 12_582_912.0;
    let shifted = multiply_add::<I>(x, std::f32::consts::LOG2_E, SHIFT);
    let whole = shifted - SHIFT;
    let rest = multiply_add::<I>(whole, -LN_2[0], x);
    let rest = multiply_add::<I>(whole, -LN_2[1], rest);
    let tail = [0.5, 0.166_666_65, 4.166_579_6e-2, 8.333_452e-3, 1.398_2e-3, 1.987_569_1e-4];
    let tail = polynomial::<I, 6>(rest, tail);
    let power = multiply_add::<I>(tail, rest * rest, rest) + 1.0;
    (power, (shifted.to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32))
}

/// `2^exponent` for exponents of normal numbers, -126 to 127; infinite for 128.
#[inline(always)]
fn two_to(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) as u32) << 23)
}

/// The natural logarithm, within 2e-7.
#[inline(always)]
pub(crate) fn ln<I: Instructions>(x: f32) -> f32 {
    const TWO_TO_23: f32 = 8_388_608.0;
    const HALF: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    // Subnormal numbers are scaled to normal ones.
    let (scaled, shift) = if x < f32::MIN_POSITIVE { (x * TWO_TO_23, 23.0) } else { (x, 0.0) };
    // `scaled` is `2^exponent` times a number from the root of a half to the root of two.
    let above = scaled.to_bits().wrapping_sub(HALF);
    let exponent = (above.cast_signed() >> 23) as f32 - shift;
    let rest = f32::from_bits((above & 0x7f_ffff) + HALF) - 1.0;
    let square = rest * rest;
    let tail = [
        0.333_333_3,
        -0.249_999_94,
        0.200_007_15,
        -0.166_680_58,
        0.142_493_23,
        -0.124_201_41,
        0.116_769_98,
        -0.115_146_1,
        7.037_683_6e-2,
    ];
    let tail = polynomial::<I, 9>(rest, tail) * square * rest;
    let tail = multiply_add::<I>(exponent, LN_2[1], tail);
    let result = multiply_add::<I>(exponent, LN_2[0], multiply_add::<I>(square, -0.5, tail) + rest);
    if x > 0.0 && x < f32::INFINITY {
        result
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else if x < 0.0 {
        f32::NAN
    } else {
        x
    }
}

/// `1 / (1 + e^-x)`, within 2e-7.
#[inline(always)]
pub(crate) fn sigmoid<I: Instructions>(x: f32) -> f32 {
    1.0 / (1.0 + exp_or_zero::<I>(-x))
}

/// The hyperbolic tangent, within 2e-7.
#[inline(always)]
pub(crate) fn tanh<I: Instructions>(x: f32) -> f32 {
    // Near 0, the formula for `limit` suffers from cancellation, while the odd series does not.
    const SERIES_BELOW: f32 = 0.625;
    let size = x.abs();
    let limit = 1.0 - 2.0 / (exp_or_zero::<I>(2.0 * size) + 1.0);
    let square = x * x;
    let series = [-0.333_332_8, 0.133_314_42, -0.053_739_715, 0.020_639_088, -0.005_704_988_7];
    let series = polynomial::<I, 5>(square, series) * square;
    if size < SERIES_BELOW { multiply_add::<I>(series, x, x) } else { limit.copysign(x) }
}

/// `e^x - 1`, within 5e-7, near zero too.
#[inline(always)]
pub(crate) fn exp_m1<I: Instructions>(x: f32) -> f32 {
    let half = tanh::<I>(0.5 * x);
    // Where the hyperbolic tangent is near 1, its difference from 1 is imprecise, so `exp` is used instead.
    if x < 0.5 { 2.0 * half / (1.0 - half) } else { exp::<I>(x) - 1.0 }
}

/// `ln(1 + e^x)`, within 3e-7.
#[inline(always)]
pub(crate) fn soft_plus<I: Instructions>(x: f32) -> f32 {
    // ln(1 + t) = 2 atanh(t / (2 + t)). The argument is at most a third here, so the series converges
    // quickly.
    let power = exp::<I>(-x.abs());
    let part = power / (2.0 + power);
    let series = [1.0, 1.0 / 3.0, 0.2, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0];
    let rest = 2.0 * part * polynomial::<I, 8>(part * part, series);
    if x.is_nan() { x } else { x.max(0.0) + rest }
}

/// The hard sigmoid: a line between 0 and 1.
#[inline(always)]
pub(crate) fn h_sigmoid(x: f32) -> f32 {
    (x + 3.0).clamp(0.0, 6.0) * (1.0 / 6.0)
}

/// `x * h_sigmoid(x)`
#[inline(always)]
pub(crate) fn h_swish(x: f32) -> f32 {
    x * h_sigmoid(x)
}

/// The error function, within 3e-7.
#[inline(always)]
pub(crate) fn erf<I: Instructions>(x: f32) -> f32 {
    const SERIES_BELOW: f32 = 0.921_875;
    // From here on the result rounds to 1.
    const LIMIT: f32 = 4.0;
    let size = x.abs();
    let square = x * x;
    let series = [
        std::f32::consts::FRAC_2_SQRT_PI,
        -0.376_126_35,
        0.112_837,
        -2.685_964_7e-2,
        5.201_591_6e-3,
        -8.148_506e-4,
        8.392_696e-5,
    ];
    let series = polynomial::<I, 7>(square, series);
    // The coefficients of a polynomial for `-ln(1 - erf(x))`.
    let missing = [
        -3.025_418_3e-4,
        1.130_164,
        0.631_941_6,
        0.109_974_05,
        -2.636_238e-2,
        4.739_417_5e-3,
        -5.926_017e-4,
        4.557_118_5e-5,
        -1.613_102e-6,
    ];
    let missing = polynomial::<I, 9>(size.min(LIMIT), missing);
    let far = 1.0 - exp_or_zero::<I>(-missing);
    if size < SERIES_BELOW {
        series * x
    } else if x.is_nan() {
        x
    } else {
        far.copysign(x)
    }
}

/// `x / 2 * (1 + erf(x / sqrt 2))`.
#[inline(always)]
pub(crate) fn gelu_erf<I: Instructions>(x: f32) -> f32 {
    0.5 * x * (1.0 + erf::<I>(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// `x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`.
#[inline(always)]
pub(crate) fn gelu_tanh<I: Instructions>(x: f32) -> f32 {
    const ROOT: f32 = std::f32::consts::FRAC_2_SQRT_PI / std::f32::consts::SQRT_2;
    0.5 * x * (1.0 + tanh::<I>(ROOT * multiply_add::<I>(0.044_715 * x * x, x, x)))
}

/// `x tanh(ln(1 + e^x))`, without the logarithm.
#[inline(always)]
pub(crate) fn mish<I: Instructions>(x: f32) -> f32 {
    // For larger `x`, the factor rounds to 1. The bound keeps `ratio` from overflowing.
    let power = exp_or_zero::<I>(x.min(20.0));
    let ratio = power * (power + 2.0);
    x * (ratio / (ratio + 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::vectors::{Isa, Vectorised, dispatch_best, dispatch_on};

    type Function = (&'static str, fn(f64) -> f64, f64);

    const FUNCTIONS: [Function; 7] = [
        ("exp", f64::exp, 1e-7),
        ("sigmoid", |x| 1.0 / (1.0 + (-x).exp()), 2e-7),
        ("tanh", f64::tanh, 2e-7),
        ("exp_m1", f64::exp_m1, 5e-7),
        ("erf", libm::erf, 3e-7),
        ("ln", f64::ln, 2e-7),
        ("soft_plus", |x| x.max(0.0) + (-x.abs()).exp().ln_1p(), 3e-7),
    ];

    struct All(f32);

    impl Vectorised for All {
        type Output = [f32; 7];

        #[inline(always)]
        fn run<I: Instructions>(self) -> [f32; 7] {
            let x = self.0;
            [
                exp::<I>(x),
                sigmoid::<I>(x),
                tanh::<I>(x),
                exp_m1::<I>(x),
                erf::<I>(x),
                ln::<I>(x),
                soft_plus::<I>(x),
            ]
        }
    }

    struct OrZero(f32);

    impl Vectorised for OrZero {
        type Output = f32;

        #[inline(always)]
        fn run<I: Instructions>(self) -> f32 {
            exp_or_zero::<I>(self.0)
        }
    }

    #[test]
    fn errors_are_within_their_bounds() {
        // Both signs, from subnormal to overflow.
        let sizes = (0..200_000).map(|i| f32::from_bits(0x3000_0000 + i * 5_000));
        for x in sizes.take_while(|&x| x < 100.0).flat_map(|x| [x, -x]) {
            for found in [dispatch_best(All(x)), dispatch_on(Isa::Baseline, All(x))] {
                for (found, (name, exact, bound)) in found.into_iter().zip(FUNCTIONS) {
                    let exact = exact(x.into());
                    if exact.abs() > f64::from(f32::MIN_POSITIVE) && exact.abs() < f64::from(f32::MAX) {
                        let error = (f64::from(found) - exact).abs() / exact.abs();
                        assert!(error <= bound, "{name}({x}) = {found}, error {error:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn limits_and_nan() {
        let power = |x| dispatch_best(OrZero(x));
        assert_eq!([power(-87.5), power(f32::NEG_INFINITY), power(f32::INFINITY)], [0.0, 0.0, f32::INFINITY]);
        assert!(power(f32::NAN).is_nan());
        let limits = |x| dispatch_best(All(x));
        assert!(limits(f32::NAN).iter().all(|y| y.is_nan()));
        const INF: f32 = f32::INFINITY;
        assert_eq!(limits(INF), [INF, 1.0, 1.0, INF, 1.0, INF, INF]);
        let [rest @ .., ln, soft_plus] = limits(-INF);
        assert_eq!((rest, soft_plus), ([0.0, 0.0, -1.0, -1.0, -1.0], 0.0));
        assert!(ln.is_nan() && limits(-0.5)[5].is_nan());
        assert_eq!(limits(0.0)[..6], [1.0, 0.5, 0.0, 0.0, 0.0, -INF]);
        assert!((limits(f32::from_bits(1))[5] + 103.278_93).abs() < 1e-4);
    }
}
