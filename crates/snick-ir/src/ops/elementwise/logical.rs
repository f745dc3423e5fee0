//! Logic on two boolean tensors that broadcast: LogicalAnd-1, LogicalOr-1, LogicalXor-1 and its old name Xor-1.

use smallvec::smallvec;
use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::LogicalOp;
use snick_tensor::{ElementType, Tensor};

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use super::known_elements::{element_interval, zip};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// A function of two truth values.
#[derive(Clone, PartialEq, Debug)]
pub struct Logical {
    /// Its name's row.
    row: usize,
    /// How the inputs are brought together.
    pub broadcast: AutoBroadcast,
}

typed_names! {
    Logical { row, broadcast: AutoBroadcast }
    LogicalAnd = 0,
    LogicalOr = 1,
    LogicalXor = 2,
}

impl Logical {
    /// Which function.
    pub fn function(&self) -> LogicalOp {
        match self.row {
            0 => LogicalOp::And,
            1 => LogicalOp::Or,
            _ => LogicalOp::Xor,
        }
    }
}

impl OpDef for Logical {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("LogicalAnd", &[1]),
        OpName::openvino("LogicalOr", &[1]),
        OpName::openvino("LogicalXor", &[1]),
        OpName::openvino("Xor", &[1]).missing_in(2, 17),
    ];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { row: raw.row(Self::NAMES), broadcast: AutoBroadcast::parse(raw)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.broadcast.write(Attrs::new())
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[self.row]
    }
}

impl InferOp for Logical {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Domain::Boolean.check("the inputs", cx.common_type([0, 1]))?;
        let shape = self.broadcast.infer(cx, cx.shape(0), cx.shape(1))?;
        let answers = zip(cx, self.broadcast, &shape, (0, 1), |cx, a, b| {
            let of = |e: &SymExpr| element_interval(cx, e, ElementType::Boolean).is_exact().map(|v| v != 0);
            let answer = match (self.function(), of(a), of(b)) {
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
        Ok(smallvec![Fact::new(ElementType::Boolean, shape).with_elements(answers)])
    }
}

impl EvalOp for Logical {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let a = &inputs[0];
        let b = &*self.broadcast.second(a, &inputs[1])?;
        Ok(vec![self.function().apply(a, b)?])
    }
}
