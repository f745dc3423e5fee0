//! Logical functions of two boolean tensors, with broadcasting: LogicalAnd-1, LogicalOr-1 and LogicalXor-1.

use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::LogicalOp;
use snick_tensor::{ElementType, Tensor};

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use super::known_elements::{element_interval, zip};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op_family! {
    /// An element-wise function of two booleans.
    #[family(inputs = Arity::exactly(2), category = Elementwise, traits = [PURE, ELEMENTWISE])]
    pub struct Logical(LogicalOp) {
        /// How the input shapes are broadcast.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
    /// Logical and of two inputs.
    LogicalAnd: "LogicalAnd", [1] => LogicalOp::And;
    /// Logical or of two inputs.
    LogicalOr: "LogicalOr", [1] => LogicalOp::Or;
    /// Logical exclusive or of two inputs.
    LogicalXor: "LogicalXor", [1] => LogicalOp::Xor;
}

impl InferOp for Logical {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Domain::Boolean.check("the inputs", cx.common_type([0, 1]))?;
        let shape = self.broadcast.infer(cx, cx.shape(0), cx.shape(1))?;
        let answers = zip(cx, self.broadcast, &shape, (0, 1), |cx, a, b| {
            let of = |e: &SymExpr| element_interval(cx, e, ElementType::Boolean).is_exact().map(|v| v != 0);
            let answer = match (self.function, of(a), of(b)) {
                (LogicalOp::And, Some(false), _) | (LogicalOp::And, _, Some(false)) => Some(false),
                (LogicalOp::Or, Some(true), _) | (LogicalOp::Or, _, Some(true)) => Some(true),
                (LogicalOp::And | LogicalOp::Or, Some(_), Some(b)) => Some(b),
                (LogicalOp::Xor, Some(a), Some(b)) => Some(a != b),
                _ => None,
            };
            match answer {
                Some(answer) => SymExpr::from(i64::from(answer)),
                None => cx.unknown(Interval::exact(0).hull(Interval::exact(1))),
            }
        });
        Ok(Facts::from(Fact::new(ElementType::Boolean, shape).with_elements(answers)))
    }
}

impl EvalOp for Logical {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let a = &inputs[0];
        let b = &*self.broadcast.second(a, &inputs[1])?;
        Ok(vec![self.function.apply(a, b)?])
    }

    fn is_commutative(&self) -> bool {
        self.broadcast.is_symmetric()
    }
}
