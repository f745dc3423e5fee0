//! GroupedMatMulCompressed, from OpenVINO's plug-ins.

use snick_shape::Shape;

use crate::ops::nn::grouped_matmul::product;
use crate::{Arity, Fact, Facts, Infer, InferOp, OpCost, OpError};

op! {
    /// GroupedMatMul with compressed matrices. Inputs: rows; matrices; offsets, only if the rows have rank 2;
    /// scales; and optionally zero points. Shape inference only; cannot be run.
    #[op(
        "GroupedMatMulCompressed", since = [1], inputs = Arity::between(3, 5),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct GroupedMatMulCompressed;
}

impl InferOp for GroupedMatMulCompressed {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        // Matrices of rank 4 are split into groups, for which there are several layouts.
        let shape = match cx.shape(1).rank() {
            Some(4) => Shape::unranked(),
            _ => product(cx, cx.shape(0).rank() == Some(2))?,
        };
        Ok(Facts::from(Fact::new(element_type, shape)))
    }

    fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
        OpCost::multiply_adds(output, inputs[0].shape.dims()?.last_chunk::<1>()?)
    }
}

only_inferred!(GroupedMatMulCompressed);
