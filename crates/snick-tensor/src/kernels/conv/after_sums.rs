//! What follows the sums of a convolution of levels, up to the levels of its results.

use std::sync::Arc;

use crate::kernels::fake_quantize::Rule;
use crate::kernels::quantizer::Quantizer;
use crate::{ElementType, Tensor};

/// What follows the sums of a [`QuantizedConvolution`](super::QuantizedConvolution), in this order. Tensors of `f32` have
/// one element for all channels, or one a channel on their last axis but two.
#[derive(Clone, Debug)]
pub struct AfterSums {
    /// Is added.
    pub bias: Option<Tensor>,
    /// What is negative is multiplied by it.
    pub slope: Option<Tensor>,
    /// Everything is multiplied by it.
    pub scale: Option<Tensor>,
    /// Is added.
    pub shift: Option<Tensor>,
    /// Bounds of the results before they are quantized.
    pub clamp: Option<[f32; 2]>,
    /// Gives the levels of the results.
    pub quantizer: Arc<Quantizer>,
}

impl AfterSums {
    /// Only a quantizer.
    pub fn new(quantizer: Arc<Quantizer>) -> Self {
        Self { bias: None, slope: None, scale: None, shift: None, clamp: None, quantizer }
    }

    /// By channel, the last one repeated to a multiple of four. `None` if a tensor has another type or shape.
    pub(super) fn channels(&self) -> Option<Vec<AfterSum>> {
        let outputs = self.quantizer.channels();
        let by_channel = |tensor: &Option<Tensor>, neutral: f32| {
            let Some(tensor) = tensor else { return Some(vec![neutral; outputs]) };
            tensor.expect(ElementType::F32).ok()?;
            tensor.broadcast_to(&[1, outputs, 1, 1]).ok()?.to_f32_vec().ok()
        };
        let (biases, slopes) = (by_channel(&self.bias, 0.0)?, by_channel(&self.slope, 1.0)?);
        let (scales, shifts) = (by_channel(&self.scale, 1.0)?, by_channel(&self.shift, 0.0)?);
        let [min, max] = self.clamp.unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
        let one = |(i, rule): (usize, &Rule<f32>)| {
            let channel = i.min(outputs - 1);
            let within = |bound: f32| bound.max(rule.low).min(rule.high);
            let rule = Rule { low: within(min), high: within(max), ..*rule };
            let line = BentLine { slope: slopes[channel], scale: scales[channel], shift: shifts[channel] };
            AfterSum { bias: biases[channel], line, rule }
        };
        Some(self.quantizer.rules().iter().enumerate().map(one).collect())
    }
}

/// What follows the sums of one channel.
#[derive(Copy, Clone)]
pub(super) struct AfterSum {
    pub bias: f32,
    pub line: BentLine,
    /// Of the quantizer, within the bounds.
    pub rule: Rule<f32>,
}

impl AfterSum {
    /// The level of a sum, as floats are rounded.
    #[inline(always)]
    pub fn level(&self, sum: f32) -> u32 {
        self.rule.level(self.line.at(sum + self.bias))
    }
}

/// A line that may have another slope where its argument is negative.
#[derive(Copy, Clone, PartialEq)]
pub(super) struct BentLine {
    pub slope: f32,
    pub scale: f32,
    pub shift: f32,
}

impl BentLine {
    /// What gives its argument, but for the sign of 0.
    pub const IDENTITY: Self = Self { slope: 1.0, scale: 1.0, shift: 0.0 };

    #[inline(always)]
    pub fn at(self, x: f32) -> f32 {
        let x = if x < 0.0 { x * self.slope } else { x };
        x * self.scale + self.shift
    }

    /// How many times as far apart as their arguments its values may be.
    pub fn steepness(self) -> f32 {
        self.scale.abs() * self.slope.abs().max(1.0)
    }
}
