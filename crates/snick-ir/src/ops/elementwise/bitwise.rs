//! Bits of two integers that broadcast: a row of the table each.
//!
//! BitwiseAnd-13, BitwiseOr-13, BitwiseXor-13 (booleans, too), BitwiseLeftShift-15, BitwiseRightShift-15.

use smallvec::smallvec;
use snick_tensor::Tensor;
use snick_tensor::kernels::BitwiseOp;

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// A function of the bits of two integers.
#[derive(Clone, PartialEq, Debug)]
pub struct Bitwise {
    /// Which.
    pub function: BitwiseOp,
    /// How the inputs are brought together.
    pub broadcast: AutoBroadcast,
}

typed_names! {
    Bitwise { function, broadcast: AutoBroadcast }
    BitwiseAnd = BitwiseOp::And,
    BitwiseOr = BitwiseOp::Or,
    BitwiseXor = BitwiseOp::Xor,
    BitwiseLeftShift = BitwiseOp::LeftShift,
    BitwiseRightShift = BitwiseOp::RightShift,
}

/// In the order of the names.
const FUNCTIONS: [BitwiseOp; 5] =
    [BitwiseOp::And, BitwiseOp::Or, BitwiseOp::Xor, BitwiseOp::LeftShift, BitwiseOp::RightShift];

impl OpDef for Bitwise {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("BitwiseAnd", &[13]),
        OpName::openvino("BitwiseOr", &[13]),
        OpName::openvino("BitwiseXor", &[13]),
        OpName::openvino("BitwiseLeftShift", &[15]),
        OpName::openvino("BitwiseRightShift", &[15]),
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

impl InferOp for Bitwise {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let domain = match self.function {
            BitwiseOp::LeftShift | BitwiseOp::RightShift => Domain::IntegralNumber,
            _ => Domain::Integral,
        };
        let et = domain.check("the inputs", cx.common_type([0, 1]))?;
        let shape = self.broadcast.infer(cx, cx.shape(0), cx.shape(1))?;
        Ok(smallvec![Fact::new(et, shape)])
    }
}

impl EvalOp for Bitwise {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let a = &inputs[0];
        let b = &*self.broadcast.second(a, &inputs[1])?;
        Ok(vec![self.function.apply(a, b)?])
    }
}
