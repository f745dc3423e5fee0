//! FullyConnected, from OpenVINO's plug-ins, and its variants with compressed or quantized weights.

use snick_shape::Shape;
use snick_tensor::ElementType;

use super::rms::output_type;
use crate::ops::control::opaque::declared_facts;
use crate::ops::nn::matmul::CANNOT_MULTIPLY;
use crate::{Arity, Fact, Facts, Infer, InferOp, OpCost, OpError};

/// Infers the product `[.., N]` of data `[.., K]` and weights `[N, K]`. For weights of another rank, uses the
/// declared shape of the output.
fn infer(declared: ElementType, cx: &mut Infer) -> Result<Facts, OpError> {
    let element_type = output_type(declared, cx.element_type(0));
    match (cx.shape(0).dims(), cx.shape(1).dims()) {
        (Some([outer @ .., depth]), Some([outputs, own])) => {
            if cx.merge(depth, own).is_none() {
                return Err(cx.conflict(CANNOT_MULTIPLY, cx.shape(0), cx.shape(1)));
            }
            let dims = outer.iter().chain([outputs]).cloned();
            Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
        }
        _ => Ok(declared_facts(cx)),
    }
}

/// Implements the traits of an op that has shape inference but cannot be run.
macro_rules! fully_connected {
    ($op:ident) => {
        impl InferOp for $op {
            fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
                infer(self.output_type, cx)
            }

            fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
                OpCost::multiply_adds(output, inputs[0].shape.dims()?.last_chunk::<1>()?)
            }
        }

        only_inferred!($op);
    };
}

op! {
    /// Multiplies data `[.., K]` by the transpose of weights `[N, K]` and adds an optional bias. Inputs:
    /// data, weights, bias. Output: `[.., N]`. Shape inference only; cannot be run.
    #[op(
        "FullyConnected", since = [1], inputs = Arity::between(2, 3),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct FullyConnected {
        /// The element type of the output; `dynamic` for the type of the data.
        pub output_type: ElementType = ElementType::Dynamic,
    }
}

op! {
    /// FullyConnected with compressed weights. Inputs: data, weights, bias, scales, zero points. Shape
    /// inference only; cannot be run.
    #[op(
        "FullyConnectedCompressed", since = [1], inputs = Arity::between(4, 5),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct FullyConnectedCompressed {
        /// The element type of the output; `dynamic` for the type of the data.
        pub output_type: ElementType = ElementType::Dynamic,
    }
}

op! {
    /// FullyConnected for quantized data and weights. Inputs: data, weights, bias, and scales and zero points
    /// for weights, inputs and outputs. Shape inference only; cannot be run.
    #[op(
        "FullyConnectedQuantized", since = [1], inputs = Arity::between(3, 9),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct FullyConnectedQuantized {
        /// The element type of the output; `dynamic` for the type of the data.
        pub output_type: ElementType = ElementType::Dynamic,
    }
}

op! {
    /// FullyConnected for quantized data and weights. Inputs: data, weights, bias, and scales and zero points
    /// for the output. Shape inference only; cannot be run.
    #[op(
        "FullyConnectedQuantizedLegacy", since = [1], inputs = Arity::between(3, 5),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct FullyConnectedQuantizedLegacy {
        /// The element type of the output; `dynamic` for the type of the data.
        pub output_type: ElementType = ElementType::Dynamic,
    }
}

fully_connected!(FullyConnected);
fully_connected!(FullyConnectedCompressed);
fully_connected!(FullyConnectedQuantized);
fully_connected!(FullyConnectedQuantizedLegacy);
