//! Xor-1, the old name of LogicalXor-1.

use snick_tensor::Tensor;
use snick_tensor::kernels::LogicalOp;

use super::auto_broadcast::AutoBroadcast;
use super::logical::Logical;
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError};

op! {
    /// Logical exclusive or of two inputs: the opset1 name of LogicalXor.
    #[op(
        "Xor", since = [1], inputs = Arity::exactly(2),
        category = Elementwise, traits = [PURE, ELEMENTWISE], name = missing_in(2, 17)
    )]
    pub struct Xor {
        /// How the input shapes are broadcast.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
}

impl Xor {
    fn logical(&self) -> Logical {
        Logical { function: LogicalOp::Xor, broadcast: self.broadcast }
    }
}

impl InferOp for Xor {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.logical().infer(cx)
    }
}

impl EvalOp for Xor {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.logical().eval(inputs)
    }

    fn is_commutative(&self) -> bool {
        self.logical().is_commutative()
    }
}
