//! VLSDPA, from OpenVINO's plug-ins.

use snick_shape::Shape;
use snick_tensor::SmallVector;

use crate::{Arity, Fact, Facts, Infer, InferOp, OpError, normalize_each_axis};

op! {
    /// Attention within each of several images concatenated in one sequence. Inputs: queries, keys, values,
    /// and the start of each image. The output has the shape of the queries, permuted by `order_q` and
    /// `order_out`. Shape inference only; cannot be run.
    #[op(
        "VLSDPA", since = [1], inputs = Arity::exactly(4),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct VlSdpa {
        /// Permutation of the queries' axes; empty for none.
        pub order_q: SmallVector<i64, 4> = SmallVector::new(),
        /// Permutation of the keys' axes; empty for none.
        pub order_k: SmallVector<i64, 4> = SmallVector::new(),
        /// Permutation of the values' axes; empty for none.
        pub order_v: SmallVector<i64, 4> = SmallVector::new(),
        /// Permutation of the output's axes; empty for none.
        pub order_out: SmallVector<i64, 4> = SmallVector::new(),
    }
}

impl InferOp for VlSdpa {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..3);
        cx.expect_real(0)?;
        cx.expect_integer(3);
        let shape = transposed(cx.shape(0), &self.order_q)?;
        Ok(Facts::from(Fact::new(element_type, transposed(&shape, &self.order_out)?)))
    }
}

fn transposed(shape: &Shape, order: &[i64]) -> Result<Shape, OpError> {
    let Some(dims) = shape.dims() else { return Ok(Shape::unranked()) };
    if order.is_empty() {
        return Ok(shape.clone());
    }
    if order.len() != dims.len() {
        return Err(OpError::mismatch("the number of axes of an order", order.len(), dims.len()));
    }
    let order = normalize_each_axis(order, dims.len())?;
    Ok(Shape::ranked(order.iter().map(|&axis| dims[axis].clone())))
}

only_inferred!(VlSdpa);
