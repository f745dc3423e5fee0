//! Known facts about the elements of floating-point tensors: bounds, and the exact quotient if an element is
//! a rounded quotient.

use snick_shape::{Interval, SymExpr};
use snick_tensor::{ElementType, Tensor};

use crate::Infer;

/// Bounds of an element and, if the element is known to be a rounded quotient, that quotient before rounding.
#[derive(Clone, PartialEq, Debug)]
pub struct FloatBounds {
    /// Lower bound; minus infinity if unknown, in which case the element may also be NaN.
    pub lo: f64,
    /// Upper bound; infinity if unknown, in which case the element may also be NaN.
    pub hi: f64,
    /// The exact quotient, if known. The element is this quotient rounded to the element type.
    pub ratio: Option<Ratio>,
}

/// An expression divided by a positive integer. The element type represents every value of the dividend
/// exactly, so rounding the quotient never turns a fraction into an integer and never changes its floor or
/// ceiling.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratio {
    /// Dividend.
    pub num: SymExpr,
    /// Divisor, 1 or more.
    pub den: i64,
}

/// The range in which a floating-point type represents all integers.
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

/// Rounds to the nearest number of a floating-point type.
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
    /// Whether the quotient needs no rounding, because its divisor is a power of two.
    pub fn is_exact(&self) -> bool {
        self.den.count_ones() == 1
    }

    /// The quotient `num / den`, reduced if possible; `None` if the dividend may be too large to be exact in
    /// the type.
    pub fn new(cx: &mut Infer, et: ElementType, num: Option<SymExpr>, den: Option<i64>) -> Option<Self> {
        let (num, den) = (num?, den.filter(|den| *den >= 1)?);
        let whole = cx.floor_div(&num, &den.into());
        let divides = den > 1 && cx.mul(&whole, &den.into()) == num;
        let ratio = if divides { Self { num: whole, den: 1 } } else { Self { num, den } };
        exact_integers(et)?.covers(&cx.interval(&ratio.num)).then_some(ratio)
    }

    /// A constant as a quotient, if it has few fractional bits.
    fn of(et: ElementType, x: f64) -> Option<Self> {
        const MAX_SHIFT: u32 = 20;
        let shift = (0..=MAX_SHIFT).find(|shift| (x * f64::from(1u32 << shift)).fract() == 0.0)?;
        let num = x * f64::from(1u32 << shift);
        let small = exact_integers(et)?.hi() as f64;
        (num.abs() < small).then(|| Self { num: SymExpr::from(num as i64), den: 1 << shift })
    }
}

impl FloatBounds {
    /// Unknown bounds.
    pub fn unknown() -> Self {
        Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY, ratio: None }
    }

    /// The bounds of a constant.
    pub fn constant(et: ElementType, x: f64) -> Self {
        if x.is_nan() {
            return Self::unknown();
        }
        Self { lo: x, hi: x, ratio: Ratio::of(et, x) }
    }

    /// The bounds of an integer within `interval`, converted to a floating-point type.
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

    /// The expression of an element that is an integer in every run.
    pub fn as_integer(&self) -> Option<&SymExpr> {
        self.ratio.as_ref().filter(|ratio| ratio.den == 1).map(|ratio| &ratio.num)
    }

    /// Whether a bound is known.
    pub fn is_bounded(&self) -> bool {
        self.lo > f64::NEG_INFINITY || self.hi < f64::INFINITY
    }

    /// Bounds from computed lower and upper ends; unknown if an end is NaN or `lo` exceeds `hi`.
    pub fn within(lo: f64, hi: f64) -> Self {
        if lo <= hi { Self { lo, hi, ratio: None } } else { Self::unknown() }
    }

    /// The same bounds with this quotient.
    pub fn with(self, ratio: Option<Ratio>) -> Self {
        Self { ratio, ..self }
    }

    /// The bounds after truncation to an integer; `None` for an end that is unknown or outside `i64`.
    pub fn cut(&self) -> (Option<i64>, Option<i64>) {
        // 2^63, just above `i64::MAX`.
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        let end = |x: f64| (x.abs() < LIMIT).then(|| x.trunc() as i64);
        (end(self.lo), end(self.hi))
    }
}
