//! Steps between FakeQuantizes that compute on codes. A code is the index of a quantization level, stored in
//! one byte.

use std::ops::Range;
use std::sync::Arc;

use snick_ir::{Op, OpError, OpTraits};
use snick_tensor::Tensor;
use snick_tensor::kernels::{
    QuantizedConvolution, QuantizedMatMul, QuantizedMaxPool, Quantizer, Stage, concat,
};

/// The ports of the inputs whose elements an op with `count` inputs moves to its output. If they are quantized
/// alike, so is the output.
pub(crate) fn moved_inputs(op: &Op, count: usize) -> Range<usize> {
    match op {
        Op::Concat(_) => 0..count,
        Op::MaxPool(_) => 0..1,
        // A Gather writes zeros for indices out of range.
        op if op.has(OpTraits::MOVES_ELEMENTS) && !op.has(OpTraits::MAYBE_SLICE) => 0..1,
        _ => 0..0,
    }
}

/// The computation of a step.
pub(crate) enum QuantizedStep {
    /// Converts values to codes.
    Quantize(Arc<Quantizer>),
    /// Converts codes to values.
    Dequantize(Arc<Quantizer>),
    /// Computes a convolution of codes. The result consists of values, or of codes if layers after it up to a
    /// FakeQuantize are part of the step.
    Convolve(Box<QuantizedConvolution>),
    /// Multiplies codes with constant weights; the result consists of values.
    Multiply(Box<QuantizedMatMul>),
    /// Applies a MaxPool to codes.
    MaxPool(Box<QuantizedMaxPool>),
    /// Joins quantized images along the channels; inputs and result are codes.
    Concat,
    /// Selects these groups of channels of quantized images; input and result are codes.
    Slice(Range<usize>),
    /// Adds two quantized values; inputs and result are codes.
    Add { parts: [Arc<Quantizer>; 2], sum: Arc<Quantizer> },
}

impl QuantizedStep {
    /// Whether the output consists of codes instead of values.
    pub(crate) fn returns_codes(&self) -> bool {
        match self {
            Self::Dequantize(_) | Self::Multiply(_) => false,
            Self::Convolve(convolution) => convolution.returns_codes(),
            _ => true,
        }
    }

    /// Whether the output consists of sums of products as values, to which element-wise layers can be applied;
    /// see [`Self::evaluate_then`].
    pub(crate) fn is_contraction(&self) -> bool {
        !self.returns_codes() && !matches!(self, Self::Dequantize(_))
    }

    /// Whether the step only moves codes of channels.
    pub(crate) fn moves_channels(&self) -> bool {
        matches!(self, Self::Concat | Self::Slice(_))
    }

    /// Computes the output and applies element-wise functions to it. `None` if they need a separate pass.
    pub(crate) fn evaluate_then(
        &self,
        inputs: &[Tensor],
        stages: &[Stage<&Tensor>],
    ) -> Result<Option<Tensor>, OpError> {
        Ok(match (self, inputs) {
            (Self::Convolve(convolution), [codes]) => convolution.run_then(codes, stages)?,
            (Self::Multiply(product), [codes]) => product.run_then(codes, stages)?,
            _ => None,
        })
    }

    /// Computes the output.
    pub(crate) fn evaluate(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let output = match (self, inputs) {
            (Self::Quantize(quantizer), [values]) => quantizer.quantize(values)?,
            (Self::Dequantize(quantizer), [codes]) => quantizer.dequantize(codes)?,
            (Self::Convolve(convolution), [codes]) => convolution.run(codes)?,
            (Self::Multiply(product), [codes]) => product.run(codes)?,
            (Self::MaxPool(pool), [codes]) => pool.run(codes)?,
            (Self::Concat, inputs) => concat(&inputs.iter().collect::<Vec<_>>(), 1)?,
            (Self::Slice(groups), [codes]) => codes.slice(1, groups.start, groups.len(), 1)?,
            (Self::Add { parts: [left, right], sum }, [a, b]) => {
                Quantizer::add([(&**left, a), (&**right, b)], sum)?
            }
            (_, others) => return Err(OpError::mismatch("the number of operands", others.len(), 1)),
        };
        Ok(vec![output])
    }
}
