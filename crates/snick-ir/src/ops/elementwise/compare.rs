//! Comparisons of two tensors that broadcast: a row of the table each.
//!
//! Equal-1, NotEqual-1, Greater-1, GreaterEqual-1, Less-1, LessEqual-1. The answer is boolean; NaN is not equal to
//! anything, nor less or greater.

use smallvec::smallvec;
use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::CompareOp;
use snick_tensor::{ElementType, Tensor};

use super::auto_broadcast::AutoBroadcast;
use super::known_elements::{element_interval, zip};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// A question about two elements of one type.
#[derive(Clone, PartialEq, Debug)]
pub struct Compare {
    /// Which.
    pub function: CompareOp,
    /// How the inputs are brought together.
    pub broadcast: AutoBroadcast,
}

typed_names! {
    Compare { function, broadcast: AutoBroadcast }
    Equal = CompareOp::Equal,
    NotEqual = CompareOp::NotEqual,
    Greater = CompareOp::Greater,
    GreaterEqual = CompareOp::GreaterEqual,
    Less = CompareOp::Less,
    LessEqual = CompareOp::LessEqual,
}

/// In the order of the names.
const FUNCTIONS: [CompareOp; 6] = [
    CompareOp::Equal,
    CompareOp::NotEqual,
    CompareOp::Greater,
    CompareOp::GreaterEqual,
    CompareOp::Less,
    CompareOp::LessEqual,
];

impl OpDef for Compare {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("Equal", &[1]),
        OpName::openvino("NotEqual", &[1]),
        OpName::openvino("Greater", &[1]),
        OpName::openvino("GreaterEqual", &[1]),
        OpName::openvino("Less", &[1]),
        OpName::openvino("LessEqual", &[1]),
    ];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { function: FUNCTIONS[raw.row(Self::NAMES)], broadcast: AutoBroadcast::parse(raw)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.broadcast.write(Attrs::new())
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[FUNCTIONS.iter().position(|f| *f == self.function).unwrap_or(0)]
    }
}

impl InferOp for Compare {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = cx.common_type([0, 1]);
        let shape = self.broadcast.infer(cx, cx.shape(0), cx.shape(1))?;
        let answers =
            zip(cx, self.broadcast, &shape, (0, 1), |cx, a, b| match decide(self.function, cx, a, b, et) {
                Some(answer) => SymExpr::from(i64::from(answer)),
                None => cx.unknown(Interval::exact(0).hull(Interval::exact(1))),
            });
        Ok(smallvec![Fact::new(ElementType::Boolean, shape).with_elements(answers)])
    }
}

impl EvalOp for Compare {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let a = &inputs[0];
        let b = &*self.broadcast.second(a, &inputs[1])?;
        Ok(vec![self.function.apply(a, b)?])
    }
}

/// The answer for two integers, if what is known of them suffices.
fn decide(function: CompareOp, cx: &mut Infer, a: &SymExpr, b: &SymExpr, et: ElementType) -> Option<bool> {
    let (ia, ib) = (element_interval(cx, a, et), element_interval(cx, b, et));
    // The difference of expressions knows more than the two intervals, where it exists.
    let difference = match cx.symbols().sub(a, b) {
        Some(difference) => ia.sub(ib).meet(cx.interval(&difference)).unwrap_or(Interval::ANY),
        None => ia.sub(ib),
    };
    let equal = match difference.is_exact() {
        Some(difference) => Some(difference == 0),
        None => (!difference.contains(0)).then_some(false),
    };
    let (less, greater) = (difference.hi() < 0, difference.lo() > 0);
    let (at_most, at_least) = (difference.hi() <= 0, difference.lo() >= 0);
    let decided = |yes: bool, no: bool| (yes || no).then_some(yes);
    match function {
        CompareOp::Equal => equal,
        CompareOp::NotEqual => equal.map(|e| !e),
        CompareOp::Less => decided(less, at_least),
        CompareOp::LessEqual => decided(at_most, greater),
        CompareOp::Greater => decided(greater, at_most),
        CompareOp::GreaterEqual => decided(at_least, less),
    }
}
