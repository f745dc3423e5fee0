//! Range-1 and Range-4.

use snick_shape::{Birth, Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor, kernels};

use crate::fact::MAX_ELEMENTS;
use crate::infer::given_up::{BEYOND_TYPE, EITHER_DIRECTION};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since};

op! {
    /// The numbers `start`, `start + step`, ... up to but excluding `stop`. In version 1, the output has the
    /// type of the inputs; later versions first convert them to `output_type`.
    #[op(
        "Range", since = [1, 4], inputs = Arity::exactly(3),
        category = Movement, traits = [PURE, NO_ARITHMETIC]
    )]
    pub struct Range {
        /// The version.
        pub since: Since = Since(4),
        /// The element type of the output; `dynamic` if the file omits it.
        #[since(4)]
        pub output_type: ElementType = ElementType::Dynamic,
    }
}

const INPUTS: [&str; 3] = ["start", "stop", "step"];

impl InferOp for Range {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = match self.output_type {
            output_type @ (ElementType::Boolean | ElementType::String) => {
                return Err(OpError::element_type("output_type", output_type, "a numeric type"));
            }
            output_type if self.since.at_least(4) && output_type != ElementType::Dynamic => output_type,
            _ => cx.common_type(0..3),
        };
        for (i, what) in INPUTS.into_iter().enumerate() {
            let got = cx.element_type(i);
            if matches!(got, ElementType::Boolean | ElementType::String) {
                return Err(OpError::element_type(what, got, "a numeric type"));
            }
            match cx.shape(i).rank() {
                None | Some(0) => {}
                Some(rank) => return Err(OpError::rank(what, rank, "0")),
            }
        }
        if let Some(bounds) = self.constants(cx) {
            let count = count(element_type, bounds)?;
            return Ok(Facts::from(Fact::new(element_type, Shape::from([count]))));
        }
        if cx.optional(2).is_some_and(is_zero) {
            return Err(OpError::out_of_range("step", 0, "not 0"));
        }
        let Some([start, stop, step]) = self.integers(cx, element_type) else {
            let is_whole = (0..INPUTS.len()).all(|i| self.integer(cx, i).is_some());
            let birth = if is_whole { Birth::GivenUp(BEYOND_TYPE.into()) } else { Birth::Data(None) };
            let dim = cx.born(Interval::DIM, || birth);
            return Ok(Facts::from(Fact::new(element_type, Shape::ranked([dim]))));
        };
        let length = self.length(cx, &start, &stop, &step)?;
        let count = length.as_const().filter(|_| element_type.is_integer());
        let count = count.and_then(|n| usize::try_from(n).ok()).filter(|&n| n <= MAX_ELEMENTS);
        let elements = count.map(|count| {
            let mut elements = Vec::with_capacity(count);
            let mut element = start;
            for _ in 0..count {
                elements.push(element.clone());
                element = cx.add(&element, &step);
            }
            elements
        });
        Ok(Facts::from(Fact::new(element_type, Shape::ranked([length])).with_elements(elements)))
    }
}

impl EvalOp for Range {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let element_type = match self.output_type {
            ElementType::Dynamic => inputs[0].element_type(),
            output_type if self.since.at_least(4) => output_type,
            _ => inputs[0].element_type(),
        };
        let mut bounds = [Endpoint::Int(0); 3];
        for (i, bound) in bounds.iter_mut().enumerate() {
            *bound = number(INPUTS[i], &inputs[i])?;
        }
        let count = count(element_type, bounds)?;
        Ok(vec![match count {
            0 => Tensor::zeros(element_type, &[0])?,
            _ => kernels::range(&inputs[0], &inputs[1], &inputs[2], element_type)?,
        }])
    }
}

/// The value of one of the three inputs.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Endpoint {
    Int(i64),
    Real(f64),
}

impl Endpoint {
    fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    /// Converts the value to the type of the output.
    fn to(self, element_type: ElementType) -> Self {
        match (self, element_type.is_integer()) {
            (Self::Real(value), true) => Self::Int(value as i64),
            (Self::Int(value), false) => Self::Real(value as f64),
            _ => self,
        }
    }
}

fn number(what: &str, tensor: &Tensor) -> Result<Endpoint, OpError> {
    if tensor.len() != 1 {
        return Err(OpError::mismatch(what, format!("{} elements", tensor.len()), "one element"));
    }
    let number = if tensor.element_type().is_float() {
        tensor.to_f64_vec()?.first().copied().map(Endpoint::Real)
    } else {
        tensor.to_i64_vec()?.first().copied().map(Endpoint::Int)
    };
    number.ok_or_else(|| OpError::mismatch(what, "no element", "one element"))
}

/// Whether the step is known to be 0.
fn is_zero(step: &Fact) -> bool {
    match step.as_tensor() {
        Some(tensor) => number("step", tensor).is_ok_and(|number| number.float() == 0.0),
        None => step.ints().is_some_and(|ints| *ints == [0]),
    }
}

/// The number of elements of the output.
fn count(element_type: ElementType, bounds: [Endpoint; 3]) -> Result<i64, OpError> {
    let bad = |what: &str, value: f64| OpError::mismatch(what, value, "a finite number, and the step not 0");
    for (number, what) in bounds.iter().zip(INPUTS) {
        let value = number.float();
        if !value.is_finite() || (what == "step" && value == 0.0) {
            return Err(bad(what, value));
        }
    }
    let too_many = || bad("the number of elements", f64::INFINITY);
    match bounds.map(|bound| bound.to(element_type)) {
        // A step of 0 comes from truncating a fraction; the output is then empty.
        [_, _, Endpoint::Int(0)] => Ok(0),
        [Endpoint::Int(start), Endpoint::Int(stop), Endpoint::Int(step)] => {
            let (span, step) = (i128::from(stop) - i128::from(start), i128::from(step));
            let count =
                if (span > 0) == (step > 0) { span.unsigned_abs().div_ceil(step.unsigned_abs()) } else { 0 };
            i64::try_from(count).map_err(|_| too_many())
        }
        [start, stop, step] => {
            let count = ((stop.float() - start.float()) / step.float()).ceil().max(0.0);
            if count < 9.0e18 { Ok(count as i64) } else { Err(too_many()) }
        }
    }
}

impl Range {
    /// The inputs, if all are constant.
    fn constants(&self, cx: &Infer) -> Option<[Endpoint; 3]> {
        let at = |i: usize| cx.optional(i)?.as_tensor().and_then(|t| number(INPUTS[i], t).ok());
        Some([at(0)?, at(1)?, at(2)?])
    }

    /// The inputs as expressions, if the type of the output represents them exactly.
    fn integers(&self, cx: &mut Infer, element_type: ElementType) -> Option<[SymExpr; 3]> {
        let [start, stop, step] = [self.integer(cx, 0)?, self.integer(cx, 1)?, self.integer(cx, 2)?];
        match element_type.integer_range() {
            Some((lo, hi)) => {
                let range = Interval::new(lo, hi)?;
                let holds = |value| range.covers(&cx.interval(value));
                (holds(&start) && holds(&stop) && holds(&step)).then_some([start, stop, step])
            }
            // Computing in floats would give another count only for outputs larger than any tensor.
            None => {
                let below =
                    |value: &SymExpr, most: u64| value.as_const().is_some_and(|n| n.unsigned_abs() <= most);
                let exact = element_type.is_float() && below(&start, 1 << 53) && below(&step, 1 << 16);
                exact.then_some([start, stop, step])
            }
        }
    }

    /// An input as an expression, if it is an integer.
    fn integer(&self, cx: &mut Infer, i: usize) -> Option<SymExpr> {
        let fact = cx.optional(i)?;
        if let Some(tensor) = fact.as_tensor().filter(|t| t.element_type().is_float()) {
            let value = number(INPUTS.get(i)?, tensor).ok()?.float();
            let cuts = self.since.at_least(4) && self.output_type.is_integer();
            return (cuts || value.fract() == 0.0).then_some(SymExpr::from(value as i64));
        }
        if fact.element_type.is_integer() && fact.shape.rank() == Some(0) {
            return cx.elements_or_unknown(i)?.first().cloned();
        }
        fact.elements()?.first().cloned()
    }

    fn length(
        &self,
        cx: &mut Infer,
        start: &SymExpr,
        stop: &SymExpr,
        step: &SymExpr,
    ) -> Result<SymExpr, OpError> {
        let zero = SymExpr::from(0);
        let by = cx.interval(step);
        // A step of 0 comes from truncating a fraction; the output is then empty.
        if by.is_exact() == Some(0) {
            return Ok(zero);
        }
        // With a negative step, swap the ends and negate the step.
        let (from, to, step) = if by.hi() < 0 {
            (stop, start, cx.sub(&zero, step))
        } else if by.lo() > 0 {
            (start, stop, step.clone())
        } else {
            return Ok(cx.born(Interval::DIM, || Birth::GivenUp(EITHER_DIRECTION.into())));
        };
        let span = cx.sub(to, from);
        let count = cx.ceil_div(&span, &step);
        let length = cx.max(&count, &zero);
        // The interval of an unbounded length may have lost its lower bound of 0.
        Ok(cx.as_dim(&length).unwrap_or(zero))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let ints =
            |a, b, c| count(ElementType::I64, [Endpoint::Int(a), Endpoint::Int(b), Endpoint::Int(c)]).ok();
        assert_eq!(ints(0, 5, 2), Some(3));
        assert_eq!(ints(5, 0, -2), Some(3));
        assert_eq!(ints(5, 0, 2), Some(0));
        assert_eq!(ints(0, 0, -1), Some(0));
        assert_eq!(ints(0, 5, 0), None);
        assert_eq!(ints(i64::MIN, i64::MAX, 1), None);
        let reals = |et, a, b, c| count(et, [Endpoint::Real(a), Endpoint::Real(b), Endpoint::Real(c)]).ok();
        assert_eq!(reals(ElementType::F32, 0.5, 2.6, 0.5), Some(5));
        assert_eq!(reals(ElementType::I64, 0.5, 2.4, 0.5), Some(0));
        assert_eq!(reals(ElementType::F32, 0.0, f64::INFINITY, 0.5), None);
    }

    #[test]
    fn values() {
        let scalar = |v: f32| Tensor::scalar(v);
        let range = Range { output_type: ElementType::I32, ..Range::default() };
        let out = range.eval(&[scalar(1.0), scalar(6.0), scalar(2.0)]).unwrap();
        assert_eq!(out[0].to_i64_vec().unwrap(), [1, 3, 5]);
        assert_eq!(out[0].element_type(), ElementType::I32);
    }
}
