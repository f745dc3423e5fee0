//! Recomputes ambiguous results of [`QuantizedDense`](super::quantized_dense::QuantizedDense) in floats, in
//! the summation order of [`convolution`](super::convolution).

use super::padding_correction::PaddingCorrection;
use super::quantized_epilogue::ChannelEpilogue;
use super::quantized_filters::{CodeRule, IntegerFilters};
use crate::kernels::fake_quantize::Rule;
use crate::kernels::gemm::{PackedRhs, depth_block};
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::sharing;
use crate::kernels::vectors::{Aligned, I8x4Dot, Instructions, Isa, Vectorised, dispatch_int8_dot};

/// The number of results computed together. Each addition depends on the previous addition to the same sum,
/// so independent sums are interleaved to hide the latency.
const BLOCK: usize = 16;

/// The data needed to recompute results in floats.
pub(super) struct FloatFallback {
    pub filters: IntegerFilters,
    /// The filters `[output, tap, channel / 4]`.
    pub by_tap: Vec<[i8; CHANNELS]>,
    pub depth: usize,
    pub taps: usize,
    /// The rule of the codes of the input.
    pub input: Rule<f32>,
    pub epilogues: Vec<ChannelEpilogue>,
}

impl FloatFallback {
    /// Replaces the codes of some results, each given by filter and window. `out` holds the codes of four
    /// filters for each window, which are the columns of `right`. `padding` is set if the padding code does not
    /// represent 0.
    pub fn replace(
        &self,
        results: &[[usize; 2]],
        right: &PackedRhs<I8x4Dot>,
        padding: Option<&PaddingCorrection>,
        out: &mut [I8x4Dot],
    ) {
        let mut codes: Vec<Each<u32>> = vec![Each::default(); results.len().div_ceil(BLOCK)];
        let products = BLOCK * self.taps * self.depth;
        sharing::in_parts(&mut codes, 1, sharing::PRODUCTS / products.max(1), |first, codes| {
            for (block, codes) in results[first * BLOCK..].chunks(BLOCK).zip(codes) {
                let at = std::array::from_fn(|i| block.get(i).copied().unwrap_or(block[0]));
                *codes = dispatch_int8_dot(Sums { of: self, right, padding, at });
            }
        });
        for (&[filter, window], code) in results.iter().zip(codes.as_flattened()) {
            let shift = 8 * (filter % CHANNELS);
            if let Some(I8x4Dot(quad)) = out.get_mut(filter / CHANNELS * right.columns() + window) {
                *quad = *quad & !(0xff << shift) | code << shift;
            }
        }
    }
}

/// A value for each result of a block.
type Each<T> = [T; BLOCK];

/// Computes the codes of a block of results.
struct Sums<'a> {
    of: &'a FloatFallback,
    right: &'a PackedRhs<'a, I8x4Dot>,
    padding: Option<&'a PaddingCorrection>,
    /// The filter and window of each result.
    at: Each<[usize; 2]>,
}

impl Vectorised for Sums<'_> {
    type Output = Each<u32>;

    #[inline(always)]
    fn run<I: Instructions>(self) -> Each<u32> {
        // See `QuantizedConvolution::is_fast`: the baseline kernel would be long and slow.
        if I::ISA == Isa::Baseline {
            return Each::default();
        }
        let Self { of, right, padding, at } = self;
        let FloatFallback { depth, taps, input, .. } = of;
        let groups = depth.div_ceil(CHANNELS);
        // 1x1 kernels are summed by blocks, as in `PackedLhs::pack`.
        let part = if *taps == 1 { depth_block(*depth) / CHANNELS } else { usize::MAX };
        let columns = at.map(|[_, window]| right.column(window));
        let filters = at.map(|[filter, _]| &of.by_tap[filter * taps * groups..][..taps * groups]);
        let rules = at.map(|[filter, _]| of.filters.rules[filter]);
        let [zeros, scales, lows] =
            [rules.map(|rule| rule.zero), rules.map(|rule| rule.scale), rules.map(|rule| rule.low)];
        let (mut total, mut sum): (Aligned<Each<f32>>, Aligned<Each<f32>>) = Default::default();
        for tap in 0..*taps {
            let is_padding =
                at.map(|[_, window]| padding.is_some_and(|padding| padding.is_padding(window, tap)));
            for group in 0..groups {
                let row = right.row(group * taps + tap);
                let quads = columns.map(|column| row.get(column).copied().unwrap_or_default().0);
                let codes = filters
                    .map(|filter| u32::from_le_bytes(filter[tap * groups + group].map(i8::cast_unsigned)));
                for k in 0..CHANNELS {
                    let is_beyond = group * CHANNELS + k >= *depth;
                    for i in 0..BLOCK {
                        let value = input.value(((quads[i] >> (8 * k)) & 0xff) as f32);
                        let value = if is_padding[i] || is_beyond { 0.0 } else { value };
                        let code = (codes[i] << (24 - 8 * k)).cast_signed() >> 24;
                        let rule = CodeRule { zero: zeros[i], scale: scales[i], low: lows[i] };
                        sum[i] = rule.weight(code as f32).mul_add(value, sum[i]);
                    }
                }
                if (group + 1) % part == 0 {
                    for i in 0..BLOCK {
                        total[i] += sum[i];
                    }
                    sum = Default::default();
                }
            }
        }
        std::array::from_fn(|i| of.epilogues[at[i][0]].code(total[i] + sum[i]))
    }
}
