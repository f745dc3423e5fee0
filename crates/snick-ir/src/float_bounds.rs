//! What is known of one element of a floating-point tensor.

use snick_shape::{Interval, SymExpr};
use snick_tensor::{ElementType, Tensor};

use crate::Infer;

/// Bounds of an element and, where rounding loses nothing that matters, the quotient that it is.
#[derive(Clone, PartialEq, Debug)]
pub struct FloatBounds {
    /// The element is not below; minus infinity where no bound is known, and then it may be NaN as well.
    pub lo: f64,
    /// The element is not above; infinity likewise.
    pub hi: f64,
    /// The element is the number of its type nearest to this.
    pub ratio: Option<Ratio>,
}

/// An expression divided by a positive number. The expression is small enough for the element type to hold each of its
/// values, so that no rounding of the quotient reaches the next integer: floor and ceiling of both are the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratio {
    /// Dividend.
    pub num: SymExpr,
    /// Divisor, 1 or more.
    pub den: i64,
}

/// The integers around 0 that a floating-point type holds, all of them.
fn exact_integers(et: ElementType) -> Option<Interval> {
    let bits = match et {
        ElementType::F64 => 53,
        ElementType::F32 => 24,
        ElementType::F16 => 11,
        ElementType::BF16 => 8,
        _ => return None,
    };
    Interval::new(-(1 << bits), 1 << bits)
}

/// The nearest number of a floating-point type.
pub fn round(et: ElementType, x: f64) -> f64 {
    match et {
        ElementType::F64 => x,
        ElementType::F32 => f64::from(x as f32),
        _ => {
            let rounded = Tensor::scalar(x).cast(et).and_then(|t| t.to_f64_vec()).ok();
            rounded.and_then(|values| values.first().copied()).unwrap_or(f64::NAN)
        }
    }
}

impl Ratio {
    /// Whether the quotient needs no rounding: its divisor is a power of two.
    pub fn is_exact(&self) -> bool {
        self.den.count_ones() == 1
    }

    /// The quotient in lowest terms, as far as that is seen; `None` if its dividend may be too large for the type.
    pub fn new(cx: &mut Infer, et: ElementType, num: Option<SymExpr>, den: Option<i64>) -> Option<Self> {
        let (num, den) = (num?, den.filter(|den| *den >= 1)?);
        let whole = cx.floor_div(&num, &den.into());
        let divides = den > 1 && cx.mul(&whole, &den.into()) == num;
        let ratio = if divides { Self { num: whole, den: 1 } } else { Self { num, den } };
        exact_integers(et)?.covers(&cx.interval(&ratio.num)).then_some(ratio)
    }

    /// A number, if few bits say it.
    fn of(et: ElementType, x: f64) -> Option<Self> {
        const MAX_SHIFT: u32 = 20;
        let shift = (0..=MAX_SHIFT).find(|shift| (x * f64::from(1u32 << shift)).fract() == 0.0)?;
        let num = x * f64::from(1u32 << shift);
        let small = exact_integers(et)?.hi() as f64;
        (num.abs() < small).then(|| Self { num: SymExpr::from(num as i64), den: 1 << shift })
    }
}

impl FloatBounds {
    /// Nothing is known.
    pub fn unknown() -> Self {
        Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY, ratio: None }
    }

    /// A number of the type.
    pub fn constant(et: ElementType, x: f64) -> Self {
        if x.is_nan() {
            return Self::unknown();
        }
        Self { lo: x, hi: x, ratio: Ratio::of(et, x) }
    }

    /// An integer, within `interval`, as a number of the type.
    pub fn integer(cx: &mut Infer, et: ElementType, element: &SymExpr, interval: Interval) -> Self {
        let end = |end: i64| match end {
            i64::MIN => f64::NEG_INFINITY,
            i64::MAX => f64::INFINITY,
            end => round(et, end as f64),
        };
        let fits = exact_integers(et).is_some_and(|exact| exact.covers(&interval));
        let ratio = if fits { Ratio::new(cx, et, Some(element.clone()), Some(1)) } else { None };
        Self { lo: end(interval.lo()), hi: end(interval.hi()), ratio }
    }

    /// The integer that the element is, if it is one in every run.
    pub fn as_integer(&self) -> Option<&SymExpr> {
        self.ratio.as_ref().filter(|ratio| ratio.den == 1).map(|ratio| &ratio.num)
    }

    /// Whether a bound is known.
    pub fn is_bounded(&self) -> bool {
        self.lo > f64::NEG_INFINITY || self.hi < f64::INFINITY
    }

    /// What lies within bounds that are computed, and NaN where that went wrong.
    pub fn within(lo: f64, hi: f64) -> Self {
        if lo <= hi { Self { lo, hi, ratio: None } } else { Self::unknown() }
    }

    /// The same bounds with a quotient.
    pub fn with(self, ratio: Option<Ratio>) -> Self {
        Self { ratio, ..self }
    }

    /// The integers that are left where the fraction is cut off. An end that no bound is known of, or that no
    /// integer can be, is `None`.
    pub fn cut(&self) -> (Option<i64>, Option<i64>) {
        // The limits of i64 as reals: the upper one is just outside.
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        let end = |x: f64| (x.abs() < LIMIT).then(|| x.trunc() as i64);
        (end(self.lo), end(self.hi))
    }
}
