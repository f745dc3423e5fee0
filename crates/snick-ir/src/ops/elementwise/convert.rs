//! Convert-1.

use snick_shape::{Interval, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::known_elements::{element_interval, map, type_range, unwrapped};
use super::known_floats;
use crate::float_bounds::{FloatBounds, Ratio, round};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Converts to another element type. Floats are truncated to integers; integers wrap.
    #[op(
        "Convert", since = [1], inputs = Arity::exactly(1),
        category = Elementwise, traits = [PURE, ELEMENTWISE, NO_ARITHMETIC],
        name = in_newest()
    )]
    pub struct Convert {
        /// The element type of the output. If the file omits the attribute, the type is `dynamic`, and the op
        /// can be inferred but not run.
        pub destination_type: ElementType = ElementType::Dynamic,
    }
}

impl InferOp for Convert {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let fact = Fact::new(self.destination_type, cx.shape(0).clone());
        converted(cx, fact).map(Facts::from)
    }
}

impl EvalOp for Convert {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![inputs[0].cast(self.destination_type)?])
    }
}

/// Infers a conversion of input 0 to the element type of `fact`.
///
/// # Errors
/// If the conversion is from or to strings, which would require parsing or formatting numbers.
pub(super) fn converted(cx: &mut Infer, fact: Fact) -> Result<Fact, OpError> {
    let (from, to) = (cx.element_type(0), fact.element_type);
    let is_text = |et| et == ElementType::String;
    let is_known = ![from, to].contains(&ElementType::Dynamic);
    if is_known && is_text(from) != is_text(to) {
        return Err(OpError::unsupported("conversion from or to text"));
    }
    Ok(with_elements(cx, fact))
}

/// Adds known elements to the result, converted from input 0. If an integer may wrap, only the range of its
/// type is known; if a number may be rounded, only bounds are known.
fn with_elements(cx: &mut Infer, fact: Fact) -> Fact {
    let (from, to) = (cx.element_type(0), fact.element_type);
    if cx.input(0).as_tensor().is_some() {
        return fact; // constant folding computes the elements
    }
    let whole = |et: ElementType| et.is_integer() || et == ElementType::Boolean;
    if whole(from) && to.is_float() {
        let elements = cx.input(0).elements();
        let reals = elements.map(|elements| known_floats::integers(cx, from, to, &elements));
        return fact.with_reals(reals);
    }
    if whole(from) && whole(to) {
        let elements = map(cx, |cx, element| {
            let interval = element_interval(cx, element, from);
            integer(cx, element, interval, to)
        });
        return fact.with_elements(elements);
    }
    let Some(reals) = known_floats::reals(cx, 0) else { return fact };
    if whole(to) {
        let elements: Vec<SymExpr> = reals.iter().map(|real| whole_part(cx, real, from, to)).collect();
        return fact.with_elements(Some(elements));
    }
    let reals = reals.into_iter().map(|real| {
        let exact = real.ratio.filter(Ratio::is_exact);
        let ratio = exact.and_then(|ratio| Ratio::new(cx, to, Some(ratio.num), Some(ratio.den)));
        FloatBounds::within(round(to, real.lo), round(to, real.hi)).with(ratio)
    });
    let reals: Vec<FloatBounds> = reals.collect();
    if to.is_float() { fact.with_reals(Some(reals)) } else { fact }
}

/// Converts an integer within `interval` to another type.
fn integer(cx: &mut Infer, element: &SymExpr, interval: Interval, to: ElementType) -> SymExpr {
    match to {
        ElementType::Boolean if !interval.contains(0) => 1.into(),
        ElementType::Boolean if interval.is_exact() == Some(0) => 0.into(),
        ElementType::Boolean if type_range(to).covers(&interval) => element.clone(),
        ElementType::Boolean => cx.unknown(type_range(to)),
        _ => unwrapped(cx, to, interval, &[interval], |_| element.clone()),
    }
}

/// Truncates a real number to an integer type. As a boolean, every nonzero number is true.
fn whole_part(cx: &mut Infer, real: &FloatBounds, from: ElementType, to: ElementType) -> SymExpr {
    if to == ElementType::Boolean {
        let nonzero = real.lo > 0.0 || real.hi < 0.0;
        return if nonzero { 1.into() } else { cx.unknown(type_range(to)) };
    }
    match known_floats::cut(cx, real, from) {
        Some((element, interval)) => unwrapped(cx, to, interval, &[interval], |_| element),
        None => cx.unknown(type_range(to)),
    }
}
