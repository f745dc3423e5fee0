//! ShapeOf-1 and ShapeOf-3: the shape of a tensor as a tensor.

use smallvec::smallvec;
use snick_shape::{Interval, Shape};
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// The sizes of all axes. ShapeOf-1 always gives i64; ShapeOf-3 gives i64 or i32.
#[derive(Clone, PartialEq, Debug)]
pub struct ShapeOf {
    /// Element type of the sizes; ShapeOf-1 says none.
    pub output_type: Option<ElementType>,
}

impl OpDef for ShapeOf {
    const NAMES: &'static [OpName] = &[OpName::openvino("ShapeOf", &[1, 3]).in_newest()];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let output_type = match raw.since {
            1 => None,
            _ => {
                let choices = &[("i64", ElementType::I64), ("i32", ElementType::I32)];
                Some(raw.attrs.choice("output_type", choices)?.unwrap_or(ElementType::I64))
            }
        };
        Ok(Self { output_type })
    }

    fn attrs(&self) -> Attrs<'static> {
        match self.output_type {
            Some(output_type) => Attrs::new().with("output_type", output_type),
            None => Attrs::new(),
        }
    }
}

impl InferOp for ShapeOf {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let output_type = self.output_type.unwrap_or(ElementType::I64);
        let Some(dims) = cx.shape(0).dims() else {
            let rank = cx.unknown(Interval::DIM);
            return Ok(smallvec![Fact::new(output_type, Shape::ranked([rank]))]);
        };
        let fact = Fact::new(output_type, Shape::from([dims.len() as i64]));
        Ok(smallvec![fact.with_elements(Some(dims))])
    }
}

impl EvalOp for ShapeOf {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let sizes = inputs[0].dims().iter().map(|&d| d as i64).collect();
        Ok(vec![
            Tensor::from_vec(&[inputs[0].rank()], sizes)?
                .cast(self.output_type.unwrap_or(ElementType::I64))?,
        ])
    }
}
