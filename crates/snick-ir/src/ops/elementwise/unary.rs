//! Functions of one number without attributes: a row of the table each.
//!
//! Abs-1, Acos-1, Acosh-4, Asin-1, Asinh-4, Atan-1, Atanh-4, Ceiling-1, Cos-1, Cosh-1, Erf-1, ErfInv-17,
//! Exp-1, Floor-1, HSigmoid-5, HSwish-4, Log-1, Mish-4, Negative-1, ReLU-1, Sigmoid-1, Sign-1, Sin-1, Sinh-1,
//! SoftPlus-4, SoftSign-9, Sqrt-1, Tan-1, Tanh-1. The type and the shape stay.

use smallvec::smallvec;
use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::{ElementFunction, UnaryOp};
use snick_tensor::{ElementType, Tensor};

use super::domain::Domain;
use super::known_elements::{element_interval, map, unwrapped};
use super::known_floats;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// One function.
struct UnaryFunction {
    name: OpName,
    domain: Domain,
    function: UnaryOp,
}

const fn row(name: &'static str, since: &'static [u8], domain: Domain, function: UnaryOp) -> UnaryFunction {
    UnaryFunction { name: OpName::openvino(name, since), domain, function }
}

const FUNCTIONS: [UnaryFunction; 29] = [
    row("Abs", &[1], Domain::Number, UnaryOp::Abs),
    row("Acos", &[1], Domain::Number, UnaryOp::Acos),
    row("Acosh", &[4], Domain::Number, UnaryOp::Acosh),
    row("Asin", &[1], Domain::Number, UnaryOp::Asin),
    row("Asinh", &[4], Domain::Number, UnaryOp::Asinh),
    row("Atan", &[1], Domain::Number, UnaryOp::Atan),
    row("Atanh", &[4], Domain::Number, UnaryOp::Atanh),
    row("Ceiling", &[1], Domain::Number, UnaryOp::Ceiling),
    row("Cos", &[1], Domain::Number, UnaryOp::Cos),
    row("Cosh", &[1], Domain::Number, UnaryOp::Cosh),
    row("Erf", &[1], Domain::Number, UnaryOp::Erf),
    row("ErfInv", &[17], Domain::Real, UnaryOp::ErfInv),
    row("Exp", &[1], Domain::Number, UnaryOp::Exp),
    row("Floor", &[1], Domain::Number, UnaryOp::Floor),
    row("HSigmoid", &[5], Domain::Number, UnaryOp::HSigmoid),
    row("HSwish", &[4], Domain::Number, UnaryOp::HSwish),
    row("Log", &[1], Domain::Number, UnaryOp::Log),
    row("Mish", &[4], Domain::Real, UnaryOp::Mish),
    row("Negative", &[1], Domain::Number, UnaryOp::Negative),
    row("ReLU", &[1], Domain::Number, UnaryOp::Relu),
    row("Sigmoid", &[1], Domain::Number, UnaryOp::Sigmoid),
    row("Sign", &[1], Domain::Number, UnaryOp::Sign),
    row("Sin", &[1], Domain::Number, UnaryOp::Sin),
    row("Sinh", &[1], Domain::Number, UnaryOp::Sinh),
    row("SoftPlus", &[4], Domain::Real, UnaryOp::SoftPlus),
    row("SoftSign", &[9], Domain::Real, UnaryOp::SoftSign),
    row("Sqrt", &[1], Domain::Number, UnaryOp::Sqrt),
    row("Tan", &[1], Domain::Number, UnaryOp::Tan),
    row("Tanh", &[1], Domain::Number, UnaryOp::Tanh),
];

const NAMES: [OpName; FUNCTIONS.len()] = {
    let mut names = [FUNCTIONS[0].name; FUNCTIONS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = FUNCTIONS[i].name;
        i += 1;
    }
    names
};

/// A function of every element.
#[derive(Clone, PartialEq, Debug)]
pub struct Unary {
    /// Which; one of those in the table.
    pub function: UnaryOp,
}

typed_names! {
    Unary { function }
    Abs = UnaryOp::Abs,
    Acos = UnaryOp::Acos,
    Acosh = UnaryOp::Acosh,
    Asin = UnaryOp::Asin,
    Asinh = UnaryOp::Asinh,
    Atan = UnaryOp::Atan,
    Atanh = UnaryOp::Atanh,
    Ceiling = UnaryOp::Ceiling,
    Cos = UnaryOp::Cos,
    Cosh = UnaryOp::Cosh,
    Erf = UnaryOp::Erf,
    ErfInv = UnaryOp::ErfInv,
    Exp = UnaryOp::Exp,
    Floor = UnaryOp::Floor,
    HSigmoid = UnaryOp::HSigmoid,
    HSwish = UnaryOp::HSwish,
    Log = UnaryOp::Log,
    Mish = UnaryOp::Mish,
    Negative = UnaryOp::Negative,
    Relu = UnaryOp::Relu,
    Sigmoid = UnaryOp::Sigmoid,
    Sign = UnaryOp::Sign,
    Sin = UnaryOp::Sin,
    Sinh = UnaryOp::Sinh,
    SoftPlus = UnaryOp::SoftPlus,
    SoftSign = UnaryOp::SoftSign,
    Sqrt = UnaryOp::Sqrt,
    Tan = UnaryOp::Tan,
    Tanh = UnaryOp::Tanh,
}

impl Unary {
    fn row(&self) -> usize {
        FUNCTIONS.iter().position(|row| row.function == self.function).unwrap_or(0)
    }
}

impl OpDef for Unary {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { function: FUNCTIONS[raw.row(Self::NAMES)].function })
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[self.row()]
    }
}

impl InferOp for Unary {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = FUNCTIONS[self.row()].domain.check("the input", cx.element_type(0))?;
        let fact = Fact::new(et, cx.shape(0).clone());
        let elements = if has_integer_form(self.function) {
            map(cx, |cx, element| integer(self.function, cx, element, et))
        } else {
            None
        };
        let reals = known_floats::map(cx, |cx, real| known_floats::unary(self.function, cx, real, et));
        Ok(smallvec![fact.with_reals(reals).with_elements(elements)])
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

/// Whether integers have an exact result that expressions can follow.
fn has_integer_form(function: UnaryOp) -> bool {
    use UnaryOp::{Abs, Ceiling, Floor, Negative, Relu, Sign};
    matches!(function, Abs | Ceiling | Floor | Negative | Relu | Sign)
}

/// The function of an integer.
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
    use crate::{Attrs, Op, Version};

    #[test]
    fn every_row_is_found_by_its_name_and_opset() {
        for row in &FUNCTIONS {
            let version = Version::Opset(row.name.since[0]);
            let mut raw = RawNode::openvino(row.name.name, version, Attrs::new(), 1);
            let op = Op::parse(&mut raw).unwrap();
            assert_eq!(op, Op::Unary(Unary { function: row.function }));
            assert_eq!(op.type_name(), row.name.name);
        }
        let mut early = RawNode::openvino("Mish", Version::Opset(3), Attrs::new(), 1);
        assert!(Op::parse(&mut early).is_err());
        let mut other = RawNode::openvino("relu", Version::Opset(1), Attrs::new(), 1);
        assert_eq!(Op::parse(&mut other).unwrap().type_name(), "ReLU");
    }
}
