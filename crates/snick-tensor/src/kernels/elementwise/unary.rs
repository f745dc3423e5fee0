//! Functions of one element.

use super::erf_inv::erf_inv;
use super::unary_op::UnaryOp::{self, *};
use super::vector_unary;
use crate::buffer::Buffer;
use crate::kernels::broadcast::{Strided, for_each_block};
use crate::kernels::dispatch::{widen, with_number, with_real};
use crate::kernels::extremum::clamp;
use crate::kernels::sharing;
use crate::kernels::vectors::Number;
use crate::{Element, ElementType, Tensor, TensorError};

impl UnaryOp {
    /// Applies the function to every element. The result has the type and dims of the input.
    ///
    /// Functions that map integers to integers are exact for integer types. Other functions of integers are
    /// computed in `f64` and rounded to nearest, ties to even.
    ///
    /// # Errors
    /// [`TensorError::UnsupportedType`] for booleans and strings.
    pub fn apply(&self, input: &Tensor) -> Result<Tensor, TensorError> {
        let [wide] = widen([input])?;
        let values = with_number!(wide.element_type(), T => {
            let mut to = Buffer::any(wide.len())?;
            let from = Strided::<T>::new(&wide);
            if from.layout.is_contiguous() && !to.is_empty() {
                let from = &from.data[from.layout.start..];
                sharing::in_parts(&mut to, 1, sharing::ELEMENTS, |first, to| {
                    T::apply(*self, &from[first..], to);
                });
            } else {
                let mut rest = &mut to[..];
                for_each_block(&from, |from| {
                    let (part, later) = std::mem::take(&mut rest).split_at_mut(from.len());
                    T::apply(*self, from, part);
                    rest = later;
                });
            }
            Tensor::from_buffer(T::TYPE, input.dims(), to)
        })?;
        values.cast(input.element_type())
    }
}

impl UnaryOp {
    /// Applies the function to every element in place.
    pub fn apply_in_place(&self, values: &mut [f32]) {
        let mut block = [0.0; 256];
        for values in values.chunks_mut(block.len()) {
            let from = &mut block[..values.len()];
            from.copy_from_slice(values);
            f32::apply(*self, from, values);
        }
    }
}

/// Number types with all unary functions.
trait Unary: Element + Number {
    fn unary(op: UnaryOp, values: &[Self]) -> Vec<Self>;

    /// Writes several elements at a time with vector instructions. Returns `false` and writes nothing if there is no
    /// such form.
    fn vectorised(_: UnaryOp, _: &[Self], _: &mut [Self]) -> bool {
        false
    }

    /// Writes the function of the first elements of `from` to `to`.
    fn apply(op: UnaryOp, from: &[Self], to: &mut [Self]) {
        /// Elements whose results stay in the L1 cache.
        const BLOCK: usize = 2048;
        for (from, to) in from.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
            if !Self::vectorised(op, &from[..to.len()], to) {
                to.copy_from_slice(&Self::unary(op, &from[..to.len()]));
            }
        }
    }
}

fn map<T: Copy>(values: &[T], f: impl Fn(T) -> T) -> Vec<T> {
    values.iter().map(|&x| f(x)).collect()
}

macro_rules! real {
    ($t:ident { $($vectorised:tt)* }, $erf:path, $asinh:path, $acosh:path, $atanh:path) => {
        impl Unary for $t {
            $($vectorised)*

            fn unary(op: UnaryOp, v: &[$t]) -> Vec<$t> {
                use std::$t::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};
                let sigmoid = |x: $t| 1.0 / (1.0 + (-x).exp());
                // The exponent is never positive, so nothing overflows.
                let soft_plus = |x: $t| x.max(0.0) + (-x.abs()).exp().ln_1p();
                let hard = |x: $t| (x + 3.0).clamp(0.0, 6.0) * (1.0 / 6.0);
                match op {
                    Abs => map(v, $t::abs),
                    Acos => map(v, $t::acos),
                    Acosh => map(v, $acosh),
                    Asin => map(v, $t::asin),
                    Asinh => map(v, $asinh),
                    Atan => map(v, $t::atan),
                    Atanh => map(v, $atanh),
                    Ceiling => map(v, $t::ceil),
                    Cos => map(v, $t::cos),
                    Cosh => map(v, $t::cosh),
                    Erf => map(v, $erf),
                    ErfInv => map(v, |x| erf_inv(f64::from(x)) as $t),
                    Exp => map(v, $t::exp),
                    Floor => map(v, $t::floor),
                    Log => map(v, $t::ln),
                    Negative => map(v, |x| -x),
                    Relu => map(v, |x| if x < 0.0 { 0.0 } else { x }),
                    Sigmoid => map(v, sigmoid),
                    Sign => map(v, |x| match x {
                        _ if x > 0.0 => 1.0,
                        _ if x < 0.0 => -1.0,
                        _ if x == 0.0 => 0.0,
                        _ => x,
                    }),
                    Sin => map(v, $t::sin),
                    Sinh => map(v, $t::sinh),
                    SoftPlus => map(v, soft_plus),
                    SoftSign => map(v, |x| x / (1.0 + x.abs())),
                    Sqrt => map(v, $t::sqrt),
                    Tan => map(v, $t::tan),
                    Tanh => map(v, $t::tanh),
                    HSigmoid => map(v, hard),
                    HSwish => map(v, |x| x * hard(x)),
                    Mish => map(v, |x| x * soft_plus(x).tanh()),
                    RoundHalfToEven => map(v, $t::round_ties_even),
                    RoundHalfAwayFromZero => map(v, $t::round),
                    GeluErf => map(v, |x| 0.5 * x * (1.0 + $erf(x * FRAC_1_SQRT_2))),
                    GeluTanh => {
                        // sqrt(2 / pi)
                        let k = FRAC_2_SQRT_PI / SQRT_2;
                        map(v, |x| 0.5 * x * (1.0 + (k * (x + 0.044715 * x * x * x)).tanh()))
                    }
                    Swish { beta } => map(v, |x| x / (1.0 + (-(beta as $t) * x).exp())),
                    Elu { alpha } => map(v, |x| if x < 0.0 { alpha as $t * x.exp_m1() } else { x }),
                    Selu { alpha, lambda } => {
                        let (alpha, lambda) = (alpha as $t, lambda as $t);
                        map(v, |x| lambda * if x > 0.0 { x } else { alpha * x.exp_m1() })
                    }
                    HardSigmoid { alpha, beta } => {
                        let (alpha, beta) = (alpha as $t, beta as $t);
                        map(v, |x| clamp(alpha * x + beta, 0.0, 1.0))
                    }
                    Clamp { min, max } => map(v, |x| clamp(x, min as $t, max as $t)),
                }
            }
        }
    };
}

// The inverse hyperbolic functions of the standard library overflow for large numbers and are inaccurate near
// -1.
real!(
    f32 {
        fn vectorised(op: UnaryOp, from: &[f32], to: &mut [f32]) -> bool {
            vector_unary::apply(op, from, to)
        }
    },
    libm::erff, libm::asinhf, libm::acoshf, libm::atanhf
);
real!(f64 {}, libm::erf, libm::asinh, libm::acosh, libm::atanh);

macro_rules! integer {
    ($($t:ident: $negate:expr, $abs:expr);* $(;)?) => {$(
        impl Unary for $t {
            fn unary(op: UnaryOp, v: &[$t]) -> Vec<$t> {
                match op {
                    Abs => map(v, $abs),
                    Negative => map(v, $negate),
                    Relu => map(v, |x| x.max(0)),
                    // Unsigned numbers are never negative, so the subtraction never computes 0 - 1.
                    Sign => map(v, |x| (x > 0) as $t - (x < <$t>::default()) as $t),
                    Ceiling | Floor | RoundHalfToEven | RoundHalfAwayFromZero => v.to_vec(),
                    Clamp { min, max } => {
                        let (min, max) = (min.ceil() as $t, max.floor() as $t);
                        map(v, |x| clamp(x, min, max))
                    }
                    _ => {
                        let wide: Vec<f64> = v.iter().map(|&x| x as f64).collect();
                        // The OpenVINO runtime rounds to even, wraps negative values of unsigned types, and
                        // converts NaN to the minimum of the type.
                        let whole = |y: f64| match y.round_ties_even() {
                            y if y < 0.0 && <$t>::MIN == 0 => (y as i64) as $t,
                            y if y.is_nan() => <$t>::MIN,
                            y => y as $t,
                        };
                        f64::unary(op, &wide).into_iter().map(whole).collect()
                    }
                }
            }
        }
    )*};
}

integer! {
    i8: i8::wrapping_neg, i8::wrapping_abs;
    i16: i16::wrapping_neg, i16::wrapping_abs;
    i32: i32::wrapping_neg, i32::wrapping_abs;
    i64: i64::wrapping_neg, i64::wrapping_abs;
    u8: u8::wrapping_neg, |x| x;
    u16: u16::wrapping_neg, |x| x;
    u32: u32::wrapping_neg, |x| x;
    u64: u64::wrapping_neg, |x| x;
}

/// A test of one float.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TestOp {
    /// Is neither infinite nor `NaN`.
    IsFinite,
    /// Is infinite, with one of the allowed signs.
    IsInf {
        /// Whether minus infinity counts.
        negative: bool,
        /// Whether infinity counts.
        positive: bool,
    },
    /// Is not a number.
    IsNaN,
}

impl TestOp {
    /// Tests every element. The result is boolean.
    ///
    /// # Errors
    /// [`TensorError::UnsupportedType`] unless the elements are floats.
    pub fn apply(&self, input: &Tensor) -> Result<Tensor, TensorError> {
        let [wide] = widen([input])?;
        with_real!(wide.element_type(), T => {
            let test = |&x: &T| match *self {
                TestOp::IsFinite => x.is_finite(),
                TestOp::IsNaN => x.is_nan(),
                TestOp::IsInf { negative, positive } => {
                    x.is_infinite() && if x > 0.0 { positive } else { negative }
                }
            };
            let answers = wide.units::<T>().iter().map(|x| u8::from(test(x))).collect();
            Tensor::from_units(ElementType::Boolean, input.dims(), answers)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(op: UnaryOp, x: f32) -> f32 {
        op.apply(&Tensor::scalar(x)).unwrap().to_f32_vec().unwrap()[0]
    }

    #[test]
    fn inverse_hyperbolic_functions_hold_to_the_ends_of_their_range() {
        for (op, x, expected) in [
            (Atanh, 1.0_f32.next_down(), 8.664_34),
            (Atanh, (-1.0_f32).next_up(), -8.664_34),
            (Asinh, 3e38, 89.289_99),
            (Asinh, -3e38, -89.289_99),
            (Acosh, 3e38, 89.289_99),
        ] {
            let found = f(op, x);
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} is not {expected}");
        }
    }

    fn near(found: f32, expected: f32) {
        assert!((found - expected).abs() <= 1e-6, "{found} is not {expected}");
    }

    #[test]
    fn formulas_at_points_known_by_hand() {
        near(f(Erf, 1.0), 0.842_700_8);
        near(f(Erf, -0.5), -0.520_499_9);
        near(f(Sigmoid, 0.0), 0.5);
        near(f(SoftPlus, 0.0), std::f32::consts::LN_2);
        near(f(SoftPlus, 200.0), 200.0);
        near(f(SoftSign, -1.0), -0.5);
        near(f(HSigmoid, 1.5), 0.75);
        near(f(HSwish, 1.0), 2.0 / 3.0);
        near(f(Mish, 1.0), 0.865_098_4);
        near(f(GeluErf, 1.0), 0.841_344_7);
        near(f(GeluTanh, 1.0), 0.841_192);
        near(f(Swish { beta: 1.0 }, 1.0), 0.731_058_6);
        near(f(Elu { alpha: 2.0 }, -1.0), -1.264_241);
        near(f(HardSigmoid { alpha: 0.2, beta: 0.5 }, 1.0), 0.7);
        assert_eq!(f(RoundHalfToEven, 2.5), 2.0);
        assert_eq!(f(RoundHalfAwayFromZero, -2.5), -3.0);
        assert!(f(Sign, f32::NAN).is_nan());
        assert_eq!(f(Clamp { min: -1.0, max: 2.0 }, 5.0), 2.0);
    }

    #[test]
    fn integers_stay_exact() {
        let t = Tensor::from_vec(&[3], vec![i8::MIN, -3, 5]).unwrap();
        let of = |op: UnaryOp| op.apply(&t).unwrap().to_i64_vec().unwrap();
        assert_eq!(of(Abs), [-128, 3, 5]);
        assert_eq!(of(Sign), [-1, -1, 1]);
        assert_eq!(of(Relu), [0, 0, 5]);
        assert_eq!(of(Clamp { min: -2.5, max: 3.5 }), [-2, -2, 3]);
        let one = Tensor::scalar(1i32);
        let whole = |op: UnaryOp| op.apply(&one).unwrap().to_i64_vec().unwrap()[0];
        assert_eq!((whole(Sin), whole(Tanh), whole(Exp), whole(Cosh)), (1, 1, 3, 2));
        // NaN becomes the minimum of the type, and results out of range are clamped.
        let ends = Tensor::from_vec(&[3], vec![0i8, -1, 100]).unwrap();
        assert_eq!(Log.apply(&ends).unwrap().to_i64_vec().unwrap(), [-128, -128, 5]);
        assert_eq!(Exp.apply(&ends).unwrap().to_i64_vec().unwrap(), [1, 0, 127]);
        let wide = Tensor::scalar(i64::MAX);
        assert_eq!(Abs.apply(&wide).unwrap(), wide);
        assert!(Abs.apply(&Tensor::from_bools(&[], &[true]).unwrap()).is_err());
    }

    #[test]
    fn infinities_are_tested_by_sign() {
        let t = Tensor::from_vec(&[3], vec![f32::NEG_INFINITY, f32::NAN, f32::INFINITY]).unwrap();
        let op = TestOp::IsInf { negative: false, positive: true };
        assert_eq!(op.apply(&t).unwrap().to_bools().unwrap(), [false, false, true]);
        assert_eq!(TestOp::IsNaN.apply(&t).unwrap().to_bools().unwrap(), [false, true, false]);
    }
}
