//! Bitwise functions of two integers, with broadcasting.
//!
//! BitwiseAnd-13, BitwiseOr-13, BitwiseXor-13 (also of booleans), BitwiseLeftShift-15, BitwiseRightShift-15.

use snick_tensor::Tensor;
use snick_tensor::kernels::BitwiseOp;

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op_family! {
    /// A bitwise function of two integers. And, or and xor also accept booleans.
    #[family(inputs = Arity::exactly(2), category = Elementwise, traits = [PURE, ELEMENTWISE])]
    pub struct Bitwise(BitwiseOp) {
        /// How the input shapes are broadcast.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
    /// Bitwise and of two inputs.
    BitwiseAnd: "BitwiseAnd", [13] => BitwiseOp::And;
    /// Bitwise or of two inputs.
    BitwiseOr: "BitwiseOr", [13] => BitwiseOp::Or;
    /// Bitwise exclusive or of two inputs.
    BitwiseXor: "BitwiseXor", [13] => BitwiseOp::Xor;
    /// Input 0 shifted left by input 1.
    BitwiseLeftShift: "BitwiseLeftShift", [15] => BitwiseOp::LeftShift;
    /// Input 0 shifted right by input 1.
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

    fn is_commutative(&self) -> bool {
        matches!(self.function, BitwiseOp::And | BitwiseOp::Or | BitwiseOp::Xor)
            && self.broadcast.is_symmetric()
    }
}
