//! The epilogue of a convolution of quantised codes: from sums to the codes of the result.

use std::sync::Arc;

use crate::kernels::fake_quantize::Rule;
use crate::kernels::math::h_swish;
use crate::kernels::quantizer::Quantizer;
use crate::{ElementType, Tensor};

/// The element-wise functions between the sums of a [`QuantizedConvolution`](super::QuantizedConvolution) and
/// the codes of its results, in this order. Tensors of `f32` have one element for all channels, or one per
/// channel on their third-last axis.
#[derive(Clone, Debug)]
pub struct QuantizedEpilogue {
    /// Added to the sums.
    pub bias: Option<Tensor>,
    /// Whether an HSwish is applied to the results of the previous step.
    pub has_hswish: bool,
    /// Multiplies negative results of the previous step, as in a PReLU.
    pub slope: Option<Tensor>,
    /// Multiplies all results of the previous step.
    pub scale: Option<Tensor>,
    /// Added to the scaled results.
    pub shift: Option<Tensor>,
    /// Bounds of the results before they are quantised.
    pub clamp: Option<[f32; 2]>,
    /// Quantises the results.
    pub quantizer: Arc<Quantizer>,
}

impl QuantizedEpilogue {
    /// An epilogue that only quantises.
    pub fn new(quantizer: Arc<Quantizer>) -> Self {
        Self { bias: None, has_hswish: false, slope: None, scale: None, shift: None, clamp: None, quantizer }
    }

    /// The epilogue of each channel, with the last channel repeated to a multiple of four. `None` if a tensor
    /// does not have the type and shape that [`QuantizedEpilogue`] requires.
    pub(super) fn channels(&self) -> Option<Vec<ChannelEpilogue>> {
        let outputs = self.quantizer.channels()?;
        let by_channel = |tensor: &Option<Tensor>, neutral: f32| {
            let Some(tensor) = tensor else { return Some(vec![neutral; outputs]) };
            tensor.expect(ElementType::F32).ok()?;
            tensor.broadcast_to(&[1, outputs, 1, 1]).ok()?.to_f32_vec().ok()
        };
        let (biases, slopes) = (by_channel(&self.bias, 0.0)?, by_channel(&self.slope, 1.0)?);
        let (scales, shifts) = (by_channel(&self.scale, 1.0)?, by_channel(&self.shift, 0.0)?);
        let [min, max] = self.clamp.unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
        let channel = |(i, rule): (usize, &Rule<f32>)| {
            let i = i.min(outputs - 1);
            let within = |bound: f32| bound.max(rule.low).min(rule.high);
            let rule = Rule { low: within(min), high: within(max), ..*rule };
            ChannelEpilogue {
                bias: biases[i],
                has_hswish: self.has_hswish,
                slope: slopes[i],
                scale: scales[i],
                shift: shifts[i],
                rule,
            }
        };
        Some(self.quantizer.rules().iter().enumerate().map(channel).collect())
    }
}

/// The epilogue of one channel: `quantize(prelu(hswish(sum + bias)) * scale + shift)`.
#[derive(Copy, Clone)]
pub(super) struct ChannelEpilogue {
    pub bias: f32,
    pub has_hswish: bool,
    pub slope: f32,
    pub scale: f32,
    pub shift: f32,
    /// The rule of the quantizer, with the bounds of the clamp.
    pub rule: Rule<f32>,
}

impl ChannelEpilogue {
    /// Leaves sums as they are.
    pub const NONE: Self = {
        let (low, high) = (f32::MIN, f32::MAX);
        let rule = Rule { low, high, scale: 1.0, shift: 0.0, step: 1.0, output_low: 0.0 };
        ChannelEpilogue { bias: 0.0, has_hswish: false, slope: 1.0, scale: 1.0, shift: 0.0, rule }
    };

    /// The code of a sum, rounded as the float kernels round.
    #[inline(always)]
    pub fn code(&self, sum: f32) -> u32 {
        let x = sum + self.bias;
        let x = if self.has_hswish { h_swish(x) } else { x };
        let x = if x < 0.0 { x * self.slope } else { x };
        self.rule.level(x * self.scale + self.shift)
    }

    /// The largest factor by which the epilogue amplifies a difference between two sums.
    pub fn steepness(&self) -> f32 {
        self.scale.abs() * self.slope.abs().max(1.0) * self.hswish_steepness()
    }

    /// The largest slope of the HSwish, or 1 without it.
    pub fn hswish_steepness(&self) -> f32 {
        if self.has_hswish { 1.5 } else { 1.0 }
    }
}
