//! Steps on the numbers of levels: what lies between FakeQuantizes, a byte an element.

use std::sync::Arc;

use snick_ir::OpError;
use snick_tensor::Tensor;
use snick_tensor::kernels::{QuantizedConvolution, QuantizedMaxPool, Quantizer};

/// What a step computes.
pub(crate) enum QuantizedStep {
    /// Levels of values.
    Quantize(Arc<Quantizer>),
    /// Values of levels.
    Dequantize(Arc<Quantizer>),
    /// Levels of a convolution of levels, with what follows it.
    Convolve(Box<QuantizedConvolution>),
    /// The greatest levels of windows.
    MaxPool(QuantizedMaxPool),
    /// Levels of the sum of two values, of which it has the levels.
    Add { parts: [Arc<Quantizer>; 2], sum: Arc<Quantizer> },
}

impl QuantizedStep {
    /// Whether its output is levels, not values.
    pub(crate) fn gives_levels(&self) -> bool {
        !matches!(self, Self::Dequantize(_))
    }

    /// Its output.
    pub(crate) fn evaluate(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let output = match (self, inputs) {
            (Self::Quantize(quantizer), [values]) => quantizer.quantize(values)?,
            (Self::Dequantize(quantizer), [levels]) => quantizer.dequantize(levels)?,
            (Self::Convolve(convolution), [levels]) => convolution.run(levels)?,
            (Self::MaxPool(pool), [levels]) => pool.run(levels)?,
            (Self::Add { parts: [left, right], sum }, [a, b]) => {
                Quantizer::add([(&**left, a), (&**right, b)], sum)?
            }
            (_, others) => return Err(OpError::mismatch("the number of operands", others.len(), 1)),
        };
        Ok(vec![output])
    }
}
