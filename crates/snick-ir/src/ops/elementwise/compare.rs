//! Comparisons of two tensors that broadcast: a row of the table each.
//!
//! Equal-1, NotEqual-1, Greater-1, GreaterEqual-1, Less-1, LessEqual-1. The answer is boolean; NaN is not equal to
//! anything, nor less or greater.

use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::CompareOp;
use snick_tensor::{ElementType, Tensor};

use super::auto_broadcast::AutoBroadcast;
use super::known_elements::{element_interval, zip};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op_family! {
    /// A comparison of two tensors, element by element; the result is boolean.
    #[family(inputs = Arity::exactly(2), traits = [PURE, ELEMENTWISE])]
    pub struct Compare(CompareOp) {
        /// How the shapes of the inputs are combined.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
    /// Whether the elements are equal.
    Equal: "Equal", [1] => CompareOp::Equal;
    /// Whether the elements differ.
    NotEqual: "NotEqual", [1] => CompareOp::NotEqual;
    /// Whether the first is greater.
    Greater: "Greater", [1] => CompareOp::Greater;
    /// Whether the first is greater or equal.
    GreaterEqual: "GreaterEqual", [1] => CompareOp::GreaterEqual;
    /// Whether the first is less.
    Less: "Less", [1] => CompareOp::Less;
    /// Whether the first is less or equal.
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
