//! Element-wise functions of one input, without attributes.

use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::{ElementFunction, UnaryOp};
use snick_tensor::{ElementType, Tensor};

use super::domain::Domain;
use super::known_elements::{element_interval, map, unwrapped};
use super::known_floats;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op_family! {
    /// An element-wise function of one input. The element type and shape do not change.
    #[family(inputs = Arity::exactly(1), category = Elementwise, traits = [PURE, ELEMENTWISE])]
    pub struct Unary(UnaryOp) {}
    /// `|x|`.
    Abs: "Abs", [1] => UnaryOp::Abs;
    /// The arc cosine.
    Acos: "Acos", [1] => UnaryOp::Acos;
    /// The inverse hyperbolic cosine.
    Acosh: "Acosh", [4] => UnaryOp::Acosh;
    /// The arc sine.
    Asin: "Asin", [1] => UnaryOp::Asin;
    /// The inverse hyperbolic sine.
    Asinh: "Asinh", [4] => UnaryOp::Asinh;
    /// The arc tangent.
    Atan: "Atan", [1] => UnaryOp::Atan;
    /// The inverse hyperbolic tangent.
    Atanh: "Atanh", [4] => UnaryOp::Atanh;
    /// Rounds up to an integer.
    Ceiling: "Ceiling", [1] => UnaryOp::Ceiling;
    /// The cosine.
    Cos: "Cos", [1] => UnaryOp::Cos;
    /// The hyperbolic cosine.
    Cosh: "Cosh", [1] => UnaryOp::Cosh;
    /// The Gauss error function.
    Erf: "Erf", [1] => UnaryOp::Erf;
    /// The inverse of the Gauss error function.
    ErfInv: "ErfInv", [17] => UnaryOp::ErfInv;
    /// `e^x`.
    Exp: "Exp", [1] => UnaryOp::Exp;
    /// Rounds down to an integer.
    Floor: "Floor", [1] => UnaryOp::Floor;
    /// `min(max(x + 3, 0), 6) / 6`.
    HSigmoid: "HSigmoid", [5], Activation => UnaryOp::HSigmoid;
    /// `x * HSigmoid(x)`.
    HSwish: "HSwish", [4], Activation => UnaryOp::HSwish;
    /// The natural logarithm.
    Log: "Log", [1] => UnaryOp::Log;
    /// `x * tanh(SoftPlus(x))`.
    Mish: "Mish", [4], Activation => UnaryOp::Mish;
    /// `-x`.
    Negative: "Negative", [1] => UnaryOp::Negative;
    /// `max(x, 0)`.
    Relu: "ReLU", [1], Activation => UnaryOp::Relu;
    /// `1 / (1 + e^-x)`.
    Sigmoid: "Sigmoid", [1], Activation => UnaryOp::Sigmoid;
    /// The sign of `x`: -1, 0 or 1.
    Sign: "Sign", [1] => UnaryOp::Sign;
    /// The sine.
    Sin: "Sin", [1] => UnaryOp::Sin;
    /// The hyperbolic sine.
    Sinh: "Sinh", [1] => UnaryOp::Sinh;
    /// `ln(1 + e^x)`.
    SoftPlus: "SoftPlus", [4], Activation => UnaryOp::SoftPlus;
    /// `x / (1 + |x|)`.
    SoftSign: "SoftSign", [9], Activation => UnaryOp::SoftSign;
    /// The square root.
    Sqrt: "Sqrt", [1] => UnaryOp::Sqrt;
    /// The tangent.
    Tan: "Tan", [1] => UnaryOp::Tan;
    /// The hyperbolic tangent.
    Tanh: "Tanh", [1], Activation => UnaryOp::Tanh;
}

impl InferOp for Unary {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = domain(self.function).check("the input", cx.element_type(0))?;
        let fact = Fact::new(et, cx.shape(0).clone());
        let elements = if has_integer_form(self.function) {
            map(cx, |cx, element| integer(self.function, cx, element, et))
        } else {
            None
        };
        let reals = known_floats::map(cx, |cx, real| known_floats::unary(self.function, cx, real, et));
        Ok(Facts::from(fact.with_reals(reals).with_elements(elements)))
    }
}

impl EvalOp for Unary {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![self.function.apply(&inputs[0])?])
    }

    fn element_function(&self, _: &[&Fact]) -> Option<ElementFunction> {
        Some(ElementFunction::Unary(self.function))
    }
}

/// The element types that inference accepts.
fn domain(function: UnaryOp) -> Domain {
    match function {
        UnaryOp::ErfInv | UnaryOp::Mish | UnaryOp::SoftPlus | UnaryOp::SoftSign => Domain::Real,
        _ => Domain::Number,
    }
}

/// Whether the function is exact for integers and can be expressed as a formula.
fn has_integer_form(function: UnaryOp) -> bool {
    use UnaryOp::{Abs, Ceiling, Floor, Negative, Relu, Sign};
    matches!(function, Abs | Ceiling | Floor | Negative | Relu | Sign)
}

/// The result of the function for an integer.
fn integer(function: UnaryOp, cx: &mut Infer, element: &SymExpr, et: ElementType) -> SymExpr {
    let interval = element_interval(cx, element, et);
    let zero = SymExpr::from(0);
    let sign = |positive: bool, negative: bool| i64::from(positive) - i64::from(negative);
    match function {
        UnaryOp::Negative => unwrapped(cx, et, interval.neg(), &[interval], |cx| cx.sub(&zero, element)),
        UnaryOp::Abs if interval.lo() >= 0 => element.clone(),
        UnaryOp::Abs => unwrapped(cx, et, interval.abs(), &[interval], |cx| {
            let negative = cx.sub(&zero, element);
            cx.max(element, &negative)
        }),
        UnaryOp::Relu => cx.max(element, &zero),
        UnaryOp::Sign => {
            let lo = sign(interval.lo() > 0, interval.lo() < 0);
            let hi = sign(interval.hi() > 0, interval.hi() < 0);
            cx.unknown(Interval::new(lo, hi).unwrap_or(Interval::ANY))
        }
        _ => element.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attrs, Op, OpDef, RawNode, Version};

    #[test]
    fn every_row_is_found_by_its_name_and_opset() {
        for (name, &function) in Unary::NAMES.iter().zip(Unary::FUNCTIONS) {
            let version = Version::Opset(name.since[0]);
            let op = Op::parse(&mut RawNode::openvino(name.name, version, Attrs::new(), 1)).unwrap();
            assert_eq!(op, Op::Unary(Unary { function }));
            assert_eq!(op.type_name(), name.name);
        }
        let mut early = RawNode::openvino("Mish", Version::Opset(3), Attrs::new(), 1);
        assert!(Op::parse(&mut early).is_err());
        let mut other = RawNode::openvino("relu", Version::Opset(1), Attrs::new(), 1);
        assert_eq!(Op::parse(&mut other).unwrap().type_name(), "ReLU");
    }
}
