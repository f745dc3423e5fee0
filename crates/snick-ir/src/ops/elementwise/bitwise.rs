//! Bits of two integers that broadcast: a row of the table each.
//!
//! BitwiseAnd-13, BitwiseOr-13, BitwiseXor-13 (booleans, too), BitwiseLeftShift-15, BitwiseRightShift-15.

use snick_tensor::Tensor;
use snick_tensor::kernels::BitwiseOp;

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op_family! {
    /// A function of the bits of two integers. And, or and xor take booleans, too.
    #[family(inputs = Arity::exactly(2), traits = [PURE, ELEMENTWISE])]
    pub struct Bitwise(BitwiseOp) {
        /// How the shapes of the inputs are combined.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
    /// The bits that are set in both inputs.
    BitwiseAnd: "BitwiseAnd", [13] => BitwiseOp::And;
    /// The bits that are set in either input.
    BitwiseOr: "BitwiseOr", [13] => BitwiseOp::Or;
    /// The bits that are set in exactly one input.
    BitwiseXor: "BitwiseXor", [13] => BitwiseOp::Xor;
    /// The first input shifted left by as many bits as the second says.
    BitwiseLeftShift: "BitwiseLeftShift", [15] => BitwiseOp::LeftShift;
    /// The first input shifted right by as many bits as the second says.
    BitwiseRightShift: "BitwiseRightShift", [15] => BitwiseOp::RightShift;
}

impl InferOp for Bitwise {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let domain = match self.function {
            BitwiseOp::LeftShift | BitwiseOp::RightShift => Domain::IntegralNumber,
            _ => Domain::Integral,
        };
        let et = domain.check("the inputs", cx.common_type([0, 1]))?;
        let shape = self.broadcast.infer(cx, cx.shape(0), cx.shape(1))?;
        Ok(Facts::from(Fact::new(et, shape)))
    }
}

impl EvalOp for Bitwise {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let a = &inputs[0];
        let b = &*self.broadcast.second(a, &inputs[1])?;
        Ok(vec![self.function.apply(a, b)?])
    }
}
