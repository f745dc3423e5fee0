//! Comparisons of two tensors, with broadcasting.
//!
//! Equal-1, NotEqual-1, Greater-1, GreaterEqual-1, Less-1, LessEqual-1. The result is boolean; NaN is neither
//! equal to, less than nor greater than anything.

use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::CompareOp;
use snick_tensor::{ElementType, Tensor};

use super::auto_broadcast::AutoBroadcast;
use super::known_elements::{element_interval, zip};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op_family! {
    /// An element-wise comparison with a boolean result.
    #[family(inputs = Arity::exactly(2), category = Elementwise, traits = [PURE, ELEMENTWISE])]
    pub struct Compare(CompareOp) {
        /// How the input shapes are broadcast.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
    /// Whether elements of two inputs are equal.
    Equal: "Equal", [1] => CompareOp::Equal;
    /// Whether elements of two inputs differ.
    NotEqual: "NotEqual", [1] => CompareOp::NotEqual;
    /// Whether input 0 is greater than input 1.
    Greater: "Greater", [1] => CompareOp::Greater;
    /// Whether input 0 is greater than or equal to input 1.
    GreaterEqual: "GreaterEqual", [1] => CompareOp::GreaterEqual;
    /// Whether input 0 is less than input 1.
    Less: "Less", [1] => CompareOp::Less;
    /// Whether input 0 is less than or equal to input 1.
    LessEqual: "LessEqual", [1] => CompareOp::LessEqual;
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
        Ok(Facts::from(Fact::new(ElementType::Boolean, shape).with_elements(answers)))
    }
}

impl EvalOp for Compare {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let a = &inputs[0];
        let b = &*self.broadcast.second(a, &inputs[1])?;
        Ok(vec![self.function.apply(a, b)?])
    }

    fn is_commutative(&self) -> bool {
        matches!(self.function, CompareOp::Equal | CompareOp::NotEqual) && self.broadcast.is_symmetric()
    }
}

/// The result of comparing two integers, if it is the same in every run.
fn decide(function: CompareOp, cx: &mut Infer, a: &SymExpr, b: &SymExpr, et: ElementType) -> Option<bool> {
    let (ia, ib) = (element_interval(cx, a, et), element_interval(cx, b, et));
    // The difference as an expression, if there is one, is often more precise than the difference of the
    // intervals.
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
