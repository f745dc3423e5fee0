//! Propagates known floating-point elements through element-wise ops.
//!
//! Bounds pass through monotone functions and are rounded to the element type. Exact quotients pass through
//! functions that keep them exact.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::ElementType;
use snick_tensor::kernels::{BinaryOp, UnaryOp};

use super::auto_broadcast::AutoBroadcast;
use super::known_elements::{element_interval, positions};
use crate::fact::{Known, MAX_ELEMENTS};
use crate::float_bounds::{FloatBounds, Ratio, round};
use crate::{Fact, Infer};

/// Whether elements of this type are tracked through arithmetic. Narrower types are not tracked, because
/// runtimes compute them in a wider type of their choice.
fn is_followed(et: ElementType) -> bool {
    matches!(et, ElementType::F32 | ElementType::F64)
}

/// The elements of a floating-point input, if anything is known about them.
pub fn reals(cx: &mut Infer, i: usize) -> Option<Vec<FloatBounds>> {
    let fact = cx.optional(i)?;
    let et = fact.element_type;
    if !et.is_float() {
        return None;
    }
    match fact.known.as_ref()? {
        Known::Reals(reals) => Some(reals.to_vec()),
        Known::Tensor(tensor) if tensor.len() <= MAX_ELEMENTS => {
            Some(tensor.to_f64_vec().ok()?.into_iter().map(|x| FloatBounds::constant(et, x)).collect())
        }
        Known::Tensor(_) => None,
        Known::Elements(elements) => Some(integers(cx, et, et, elements)),
    }
}

/// Converts integer elements to a floating-point type.
pub fn integers(
    cx: &mut Infer,
    from: ElementType,
    to: ElementType,
    elements: &[SymExpr],
) -> Vec<FloatBounds> {
    let real = |element| {
        let interval = element_interval(cx, element, from);
        FloatBounds::integer(cx, to, element, interval)
    };
    elements.iter().map(real).collect()
}

/// Applies a function to pairs of elements of inputs 0 and 1 after broadcasting; `None` if nothing is known,
/// or if all inputs are constants, which are folded.
pub fn zip(
    cx: &mut Infer,
    broadcast: AutoBroadcast,
    out: &Shape,
    function: BinaryOp,
    et: ElementType,
) -> Option<Vec<FloatBounds>> {
    if !is_followed(et) || cx.inputs().iter().all(|fact| fact.as_tensor().is_some()) {
        return None;
    }
    if [0, 1].iter().any(|&i| cx.input(i).known.is_none()) {
        return None;
    }
    let out = out.as_static()?;
    let (da, db) = (cx.shape(0).as_static()?, cx.shape(1).as_static()?);
    let aligned = broadcast.aligned(da.len(), &db).ok()?;
    let (ia, ib) = (positions(&da, &out)?, positions(&aligned, &out)?);
    let (ra, rb) = (reals(cx, 0)?, reals(cx, 1)?);
    ia.into_iter().zip(ib).map(|(x, y)| Some(binary(function, cx, ra.get(x)?, rb.get(y)?, et))).collect()
}

/// Maps the elements of input 0; `None` if nothing is known, or if the input is a constant, which is folded.
pub fn map(cx: &mut Infer, f: impl Fn(&mut Infer, &FloatBounds) -> FloatBounds) -> Option<Vec<FloatBounds>> {
    let fact = cx.input(0);
    if !is_followed(fact.element_type) || fact.as_tensor().is_some() {
        return None;
    }
    let reals = reals(cx, 0)?;
    Some(reals.iter().map(|real| f(cx, real)).collect())
}

/// The bounds of a binary function for two numbers of one type.
pub fn binary(
    function: BinaryOp,
    cx: &mut Infer,
    a: &FloatBounds,
    b: &FloatBounds,
    et: ElementType,
) -> FloatBounds {
    if !a.is_bounded() || !b.is_bounded() {
        return FloatBounds::unknown(); // possibly NaN
    }
    let corners = |f: fn(f64, f64) -> f64| {
        let all = [f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)].map(|x| round(et, x));
        if all.iter().any(|x| x.is_nan()) {
            return FloatBounds::unknown();
        }
        FloatBounds::within(
            all.into_iter().fold(f64::INFINITY, f64::min),
            all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        )
    };
    let ratio = a.ratio.as_ref().zip(b.ratio.as_ref()).and_then(|(a, b)| quotient(function, cx, a, b, et));
    let range = match function {
        BinaryOp::Add => corners(|a, b| a + b),
        BinaryOp::Sub => corners(|a, b| a - b),
        BinaryOp::Mul => corners(|a, b| a * b),
        BinaryOp::Div if b.lo > 0.0 || b.hi < 0.0 => corners(|a, b| a / b),
        BinaryOp::Max => FloatBounds::within(a.lo.max(b.lo), a.hi.max(b.hi)),
        BinaryOp::Min => FloatBounds::within(a.lo.min(b.lo), a.hi.min(b.hi)),
        // For other functions, use the bounds of the resulting exact quotient, if there is one.
        _ => match &ratio {
            Some(ratio) => spread(cx, ratio, et),
            None => FloatBounds::unknown(),
        },
    };
    range.with(ratio)
}

/// The bounds that an exact quotient implies.
fn spread(cx: &Infer, ratio: &Ratio, et: ElementType) -> FloatBounds {
    let (interval, den) = (cx.interval(&ratio.num), ratio.den as f64);
    FloatBounds::within(round(et, interval.lo() as f64 / den), round(et, interval.hi() as f64 / den))
}

/// Applies a function to two quotients, if the result is again a quotient: sums and products of exact
/// quotients, and an exact quotient divided by a number.
fn quotient(function: BinaryOp, cx: &mut Infer, a: &Ratio, b: &Ratio, et: ElementType) -> Option<Ratio> {
    let exact = a.is_exact() && b.is_exact();
    // The denominators are powers of two, so the larger one is a common denominator.
    let den = a.den.max(b.den);
    let mut common = |ratio: &Ratio| cx.mul(&ratio.num, &(den / ratio.den).into());
    let (num, den) = match function {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Max | BinaryOp::Min if exact => {
            let (x, y) = (common(a), common(b));
            let num = match function {
                BinaryOp::Add => cx.add(&x, &y),
                BinaryOp::Sub => cx.sub(&x, &y),
                BinaryOp::Max => cx.max(&x, &y),
                _ => cx.min(&x, &y),
            };
            (num, Some(den))
        }
        BinaryOp::Mul if exact => (cx.mul(&a.num, &b.num), a.den.checked_mul(b.den)),
        BinaryOp::Div if a.is_exact() => {
            let divisor = b.num.as_const().filter(|n| *n != 0)?;
            let num = cx.mul(&a.num, &b.den.checked_mul(divisor.signum())?.into());
            (num, a.den.checked_mul(divisor.checked_abs()?))
        }
        BinaryOp::Pow if exact && b.den == 1 => match b.num.as_const()? {
            0 => (1.into(), Some(1)),
            1 => (a.num.clone(), Some(a.den)),
            2 => (cx.mul(&a.num, &a.num), a.den.checked_mul(a.den)),
            _ => return None,
        },
        BinaryOp::SquaredDifference if exact => {
            let (x, y) = (common(a), common(b));
            let difference = cx.sub(&x, &y);
            (cx.mul(&difference, &difference), den.checked_mul(den))
        }
        _ => return None,
    };
    Ratio::new(cx, et, Some(num), den)
}

/// The bounds of a unary function for one number; unknown for functions that are not tracked.
pub fn unary(function: UnaryOp, cx: &mut Infer, a: &FloatBounds, et: ElementType) -> FloatBounds {
    if !a.is_bounded() {
        return FloatBounds::unknown(); // possibly NaN
    }
    let zero = SymExpr::from(0);
    let ends = |f: fn(f64) -> f64| FloatBounds::within(f(a.lo), f(a.hi));
    let Some(ratio) = &a.ratio else {
        return match function {
            UnaryOp::Floor => ends(f64::floor),
            UnaryOp::Ceiling => ends(f64::ceil),
            UnaryOp::RoundHalfToEven => ends(f64::round_ties_even),
            UnaryOp::RoundHalfAwayFromZero => ends(f64::round),
            UnaryOp::Relu => ends(|x| x.max(0.0)),
            UnaryOp::Negative => FloatBounds::within(-a.hi, -a.lo),
            UnaryOp::Abs if a.lo >= 0.0 => a.clone(),
            _ => FloatBounds::unknown(),
        };
    };
    let den: SymExpr = ratio.den.into();
    let (range, num, den) = match function {
        UnaryOp::Floor => (ends(f64::floor), cx.floor_div(&ratio.num, &den), 1),
        UnaryOp::Ceiling => (ends(f64::ceil), cx.ceil_div(&ratio.num, &den), 1),
        UnaryOp::RoundHalfToEven | UnaryOp::RoundHalfAwayFromZero if ratio.den == 1 => return a.clone(),
        UnaryOp::RoundHalfToEven => return ends(f64::round_ties_even),
        UnaryOp::RoundHalfAwayFromZero => return ends(f64::round),
        UnaryOp::Relu => (ends(|x| x.max(0.0)), cx.max(&ratio.num, &zero), ratio.den),
        UnaryOp::Negative => (FloatBounds::within(-a.hi, -a.lo), cx.sub(&zero, &ratio.num), ratio.den),
        UnaryOp::Abs if a.lo >= 0.0 => return a.clone(),
        _ => return FloatBounds::unknown(),
    };
    let ratio = Ratio::new(cx, et, Some(num), Some(den));
    range.with(ratio)
}

/// Truncates a number to an integer. Returns the integer and its interval, or `None` if the number may be out
/// of range of i64. An unknown upper bound is accepted for types that are tracked through arithmetic: the
/// number is then a size, and sizes never approach the limits of a type.
pub fn cut(cx: &mut Infer, real: &FloatBounds, from: ElementType) -> Option<(SymExpr, Interval)> {
    let (lo, hi) = match real.cut() {
        (Some(lo), Some(hi)) => (lo, hi),
        (Some(lo), None) if is_followed(from) => (lo, i64::MAX),
        _ => return None,
    };
    let interval = Interval::new(lo, hi)?;
    let expr = match &real.ratio {
        Some(ratio) if lo >= 0 && real.lo >= 0.0 => cx.floor_div(&ratio.num, &ratio.den.into()),
        Some(ratio) if real.hi <= 0.0 => cx.ceil_div(&ratio.num, &ratio.den.into()),
        _ => cx.unknown(interval),
    };
    Some((expr, interval))
}

impl Fact {
    /// Adds known real elements to the fact, unless none of them is bounded or their number does not match
    /// the shape.
    pub fn with_reals(self, reals: Option<Vec<FloatBounds>>) -> Self {
        let Some(reals) = reals.filter(|reals| reals.iter().any(FloatBounds::is_bounded)) else {
            return self;
        };
        let integers: Option<Vec<SymExpr>> = reals.iter().map(|real| real.as_integer().cloned()).collect();
        if integers.is_some() {
            return self.with_elements(integers);
        }
        let fits = self.shape.as_static().is_some_and(|dims| {
            dims.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim)) == Some(reals.len())
        });
        if !fits || reals.len() > MAX_ELEMENTS {
            return self;
        }
        Self { known: Some(Known::Reals(reals.into())), ..self }
    }
}

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    /// The size that inference derives from the layers `chain`, where `%f` is a size in `range` as f32 and
    /// `%r` the result.
    fn inferred(range: &str, chain: &str) -> (String, String) {
        let text = format!(
            "snick 1\ngraph \"t\" {{
  %x = Parameter-1 {{element_type: f32, shape: \"{range}\"}}
  %s = ShapeOf-3(%x) {{output_type: i64}}
  %f = Convert-1(%s) {{destination_type: f32}}
  %four = Const-1 f32[] <4>
  %tenth = Const-1 f32[] <0.1>
{chain}
  %i = Convert-1(%r) {{destination_type: i64}}
  %one = Const-1 f32[] <1>
  %out = Broadcast-3(%one, %i) {{mode: numpy}}
}}\n"
        );
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let out = graph.ids().find(|&id| graph.node(id).name() == "out").unwrap();
        let shape = &graph.node(out).outs()[0].fact.shape;
        let symbols = graph.symbols();
        (shape.display_intervals(symbols).to_string(), shape.display(symbols).to_string())
    }

    fn says(range: &str, chain: &str, interval: &str, expression: &str) {
        assert_eq!(inferred(range, chain), (interval.into(), expression.into()), "{range}: {chain}");
    }

    #[test]
    fn exact_quotients_become_expressions() {
        let numpy = "{auto_broadcast: numpy}";
        let quarter = "  %d = Divide-1(%f, %four) {auto_broadcast: numpy, m_pythondiv: true}\n";
        says("7..9", &format!("{quarter}  %r = Floor-1(%d)"), "[1..2]", "[s0/4]");
        says("7..9", &format!("{quarter}  %r = Ceiling-1(%d)"), "[2..3]", "[(s0+3)/4]");
        says("7..9", &format!("{quarter}  %r = Multiply-1(%d, %four) {numpy}"), "[7..9]", "[7..9]");
        says("7..9", &format!("{quarter}  %r = Round-5(%d) {{mode: half_to_even}}"), "[2]", "[2]");
        says("2..3", &format!("  %r = Subtract-1(%four, %f) {numpy}"), "[1..2]", "[4-s0]");
        // Above 2^24, f32 cannot represent every integer.
        says("7..", &format!("{quarter}  %r = Floor-1(%d)"), "[1..]", "[1..]");
    }

    #[test]
    fn rounded_numbers_keep_bounds() {
        says("20..39", "  %r = Multiply-1(%f, %tenth) {auto_broadcast: numpy}", "[2..3]", "[2..3]");
        says("3..5", "  %r = Clamp-1(%f) {min: 3.5, max: 4.5}", "[3..4]", "[min(s0,4)]");
        // A divisor that may be 0 makes the quotient unknown.
        says(
            "0..5",
            "  %r = Divide-1(%four, %f) {auto_broadcast: numpy, m_pythondiv: true}",
            "[?]",
            "[max(s1,0)]",
        );
    }
}
