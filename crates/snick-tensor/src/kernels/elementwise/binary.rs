//! Functions of two elements, with numpy broadcasting.

use super::remainder;
use super::zip::zip;
use crate::kernels::dispatch::{is_computed_in, widen, with_number};
use crate::kernels::vectors::Number;
use crate::{ElementType, PodElement, Tensor, TensorError};

/// A function of two numbers of the same type.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`; integers truncate.
    Div,
    /// `a / b`; integers round down.
    FloorDiv,
    /// `min(a, b)`; `NaN` if either is.
    Min,
    /// `max(a, b)`; `NaN` if either is.
    Max,
    /// `a` to the power of `b`.
    Pow,
    /// `(a - b)^2`.
    SquaredDifference,
    /// The remainder with the sign of `a`.
    Mod,
    /// The remainder with the sign of `b`.
    FloorMod,
    /// `a`, or `a * b` if `a` is negative.
    PRelu,
}

use BinaryOp::*;

impl BinaryOp {
    /// Applies the function to every pair of elements, with broadcasting.
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`] if the types differ, [`TensorError::UnsupportedType`] for booleans and
    /// strings, [`TensorError::ShapeMismatch`], and [`TensorError::DivisionByZero`] if an integer is divided
    /// by a zero in `b`.
    pub fn apply(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
        let et = a.element_type();
        let computed = |a: &Tensor, b: &Tensor| match self {
            Mod | FloorMod if has_near_remainders(a, b) => self.near_remainder(a, b),
            _ => match self.plain_power(a, b) {
                Some(powers) => powers,
                None => with_number!(a.element_type(), T => self.run::<T>(a, b)),
            },
        };
        if is_computed_in(et) && b.element_type() == et {
            return computed(a, b);
        }
        let [a, b] = widen([a, b])?;
        computed(&a, &b)?.cast(et)
    }

    /// Computes powers of `f32` if the exponent is a scalar that [`Arithmetic::pow`] handles without `powf`,
    /// in a loop compiled for that exponent.
    fn plain_power(&self, a: &Tensor, b: &Tensor) -> Option<Result<Tensor, TensorError>> {
        let are_real = [a, b].iter().all(|tensor| tensor.element_type() == ElementType::F32);
        if *self != Pow || !are_real || b.len() != 1 {
            return None;
        }
        macro_rules! over {
            ($exponent:literal) => {
                Some(zip::<f32, f32>(ElementType::F32, a, b, |x, _| Arithmetic::pow(x, $exponent)))
            };
        }
        match *b.units::<f32>().first()? {
            -1.0 => over!(-1.0),
            -0.5 => over!(-0.5),
            0.5 => over!(0.5),
            0.75 => over!(0.75),
            1.0 => over!(1.0),
            2.0 => over!(2.0),
            3.0 => over!(3.0),
            _ => None,
        }
    }

    fn near_remainder(self, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
        match self {
            FloorMod => zip::<f32, f32>(ElementType::F32, a, b, remainder::floor_near),
            _ => zip::<f32, f32>(ElementType::F32, a, b, remainder::near),
        }
    }

    fn run<T: Arithmetic>(self, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
        let divides = matches!(self, Div | FloorDiv | Mod | FloorMod);
        if divides && !T::TYPE.is_float() && !a.is_empty() && b.units::<T>().contains(&T::default()) {
            return Err(TensorError::DivisionByZero);
        }
        with_function!(self, T, f => zip::<T, T>(T::TYPE, a, b, f))
    }
}

/// As [`with_function`], but runs `$rest` for remainders.
macro_rules! with_fusable {
    ($op:expr, $t:ty, $f:ident => $body:expr, else $rest:expr) => {{
        use $crate::kernels::elementwise::binary::{Arithmetic as A, BinaryOp::*};
        macro_rules! over {
            ($function:expr) => {{
                let $f = $function;
                $body
            }};
        }
        match $op {
            Add => over!(<$t as A>::add),
            Sub => over!(<$t as A>::sub),
            Mul => over!(<$t as A>::mul),
            Div => over!(<$t as A>::div),
            Min => over!($crate::kernels::extremum::least::<$t>),
            Max => over!($crate::kernels::extremum::greatest::<$t>),
            FloorDiv => over!(<$t as A>::floor_div),
            Pow => over!(<$t as A>::pow),
            SquaredDifference => {
                over!(|x: $t, y: $t| <$t as A>::mul(<$t as A>::sub(x, y), <$t as A>::sub(x, y)))
            }
            PRelu => {
                over!(|x: $t, y: $t| if x < <$t as Default>::default() { <$t as A>::mul(x, y) } else { x })
            }
            Mod | FloorMod => $rest,
        }
    }};
}

pub(super) use with_fusable;

/// Runs `$body` with `$f` as the function `$op` of two `$t`. The body is compiled once per function.
macro_rules! with_function {
    ($op:expr, $t:ty, $f:ident => $body:expr) => {{
        use $crate::kernels::elementwise::binary::with_fusable;
        with_fusable!($op, $t, $f => $body, else match $op {
            FloorMod => over!(<$t as A>::floor_mod),
            _ => over!(<$t as A>::modulo),
        })
    }};
}

pub(super) use with_function;

/// Whether [`remainder::near`] is exact for all pairs.
fn has_near_remainders(a: &Tensor, b: &Tensor) -> bool {
    let are_real = [a, b].iter().all(|tensor| tensor.element_type() == ElementType::F32);
    are_real && remainder::are_near(&a.units::<f32>(), &b.units::<f32>())
}

/// Arithmetic that never panics: integers wrap, and callers reject zero divisors.
pub(super) trait Arithmetic: PodElement + Number {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn floor_div(self, other: Self) -> Self;
    fn modulo(self, other: Self) -> Self;
    fn floor_mod(self, other: Self) -> Self;
    fn pow(self, other: Self) -> Self;
}

macro_rules! real {
    ($($t:ident)*) => {$(
        impl Arithmetic for $t {
            #[inline(always)]
            fn add(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self - other }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self * other }
            #[inline(always)]
            fn div(self, other: Self) -> Self { self / other }
            fn floor_div(self, other: Self) -> Self { self / other }
            fn modulo(self, other: Self) -> Self { self % other }
            fn floor_mod(self, other: Self) -> Self {
                let rest = self % other;
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest }
            }
            #[inline(always)]
            fn pow(self, other: Self) -> Self {
                // Unlike `sqrt`, `powf(0.5)` maps -0 to 0 and -infinity to infinity.
                let root = |x: Self| if x == Self::NEG_INFINITY { Self::INFINITY } else { (x + 0.0).sqrt() };
                match other {
                    -1.0 => 1.0 / self,
                    -0.5 => 1.0 / root(self),
                    0.5 => root(self),
                    0.75 => root(self) * root(root(self)),
                    1.0 => self,
                    2.0 => self * self,
                    3.0 => self * self * self,
                    _ => self.powf(other),
                }
            }
        }
    )*};
}

real!(f32 f64);

macro_rules! integer {
    ($($t:ident: $negative:expr),* $(,)?) => {$(
        impl Arithmetic for $t {
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn div(self, other: Self) -> Self { self.wrapping_div(other) }
            fn floor_div(self, other: Self) -> Self {
                let exact = self.wrapping_rem(other) == 0;
                let down = !exact && $negative(self) != $negative(other);
                self.wrapping_div(other).wrapping_sub(down.into())
            }
            fn modulo(self, other: Self) -> Self { self.wrapping_rem(other) }
            fn floor_mod(self, other: Self) -> Self {
                let rest = self.wrapping_rem(other);
                if rest != 0 && $negative(rest) != $negative(other) {
                    rest.wrapping_add(other)
                } else {
                    rest
                }
            }
            fn pow(self, other: Self) -> Self {
                if $negative(other) {
                    // 1 / x^n truncates to 0 except for 1 and -1.
                    return match self {
                        1 => 1,
                        _ if self.wrapping_add(1) == 0 => {
                            if other & 1 == 0 { 1 } else { self }
                        }
                        _ => 0,
                    };
                }
                let (mut power, mut base, mut left) = (1 as $t, self, other);
                while left != 0 {
                    if left & 1 == 1 {
                        power = power.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                power
            }
        }
    )*};
}

integer! {
    i8: i8::is_negative, i16: i16::is_negative, i32: i32::is_negative, i64: i64::is_negative,
    u8: |_: u8| false, u16: |_: u16| false, u32: |_: u32| false, u64: |_: u64| false,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_exponents_equal_powers() {
        let special = [0.0, -0.0, 1.0, -1.0, 2.5, -3.25, 1e-30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let x = Tensor::from_vec(&[special.len()], special.to_vec()).unwrap();
        for exponent in [-1.0, -0.5, 0.5, 0.75, 1.0, 2.0, 3.0] {
            let found = Pow.apply(&x, &Tensor::scalar(exponent)).unwrap().to_f32_vec().unwrap();
            for (x, found) in special.into_iter().zip(found) {
                let expected = x.powf(exponent);
                let near = (found - expected).abs() <= 2e-7 * expected.abs();
                let same = found == expected || found.is_nan() && expected.is_nan();
                assert!(near || same, "{x} to {exponent}: {found}, expected {expected}");
            }
        }
    }

    fn ints(op: BinaryOp, a: i32, b: i32) -> i64 {
        op.apply(&Tensor::scalar(a), &Tensor::scalar(b)).unwrap().to_i64_vec().unwrap()[0]
    }

    #[test]
    fn remainders_and_quotients_of_every_sign() {
        for (a, b, div, floor_div, rem, floor_mod) in
            [(7, 2, 3, 3, 1, 1), (-7, 2, -3, -4, -1, 1), (7, -2, -3, -4, 1, -1), (-7, -2, 3, 3, -1, -1)]
        {
            assert_eq!(ints(Div, a, b), div);
            assert_eq!(ints(FloorDiv, a, b), floor_div);
            assert_eq!(ints(Mod, a, b), rem);
            assert_eq!(ints(FloorMod, a, b), floor_mod);
            let f = |op: BinaryOp| {
                let [x, y] = [a, b].map(|v| Tensor::scalar(v as f32));
                op.apply(&x, &y).unwrap().to_i64_vec().unwrap()[0]
            };
            assert_eq!((f(Mod), f(FloorMod)), (rem, floor_mod));
        }
        assert_eq!(ints(Div, i32::MIN, -1), i32::MIN.into());
        assert_eq!((ints(Pow, -3, 3), ints(Pow, -1, -3), ints(Pow, 5, -1)), (-27, -1, 0));
    }

    #[test]
    fn integer_division_by_zero_is_refused() {
        let (one, zero) = (Tensor::scalar(1i32), Tensor::scalar(0i32));
        assert_eq!(Mod.apply(&one, &zero), Err(TensorError::DivisionByZero));
        assert!(Div.apply(&Tensor::scalar(1.0f32), &Tensor::scalar(0.0f32)).is_ok());
        assert!(Add.apply(&one, &Tensor::scalar(1i64)).is_err());
    }

    #[test]
    fn rows_columns_and_views_broadcast() {
        let column = Tensor::from_vec(&[2, 1], vec![10i16, 20]).unwrap();
        let row = Tensor::from_vec(&[3], vec![1i16, 2, 3]).unwrap();
        let sum = Add.apply(&column, &row).unwrap();
        assert_eq!(sum.dims(), [2, 3]);
        assert_eq!(sum.to_i64_vec().unwrap(), [11, 12, 13, 21, 22, 23]);
        let back = row.slice(0, 2, 3, -1).unwrap();
        assert_eq!(Sub.apply(&row, &back).unwrap().to_i64_vec().unwrap(), [-2, 0, 2]);
        let turned = sum.transposed();
        assert_eq!(Sub.apply(&turned, &turned).unwrap().to_i64_vec().unwrap(), [0; 6]);
    }

    #[test]
    fn f16_results_are_rounded_once() {
        let a = Tensor::from_vec(&[1], vec![half::f16::from_f32(2048.0)]).unwrap();
        let b = Tensor::from_vec(&[1], vec![half::f16::from_f32(3.0)]).unwrap();
        assert_eq!(Add.apply(&a, &b).unwrap().to_f32_vec().unwrap(), [2052.0]);
    }
}
