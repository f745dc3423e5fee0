//! Results of filters over levels, computed of floats: those of which the exact sums do not tell the level.

use super::after_sums::AfterSum;
use super::borders::Borders;
use super::quantized_filters::{CodeRule, IntegerFilters, by_tap};
use crate::kernels::fake_quantize::Rule;
use crate::kernels::gemm::{PackedRhs, depth_block};
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::{Aligned, I8x4Dot, Instructions, Isa, Vectorised, dispatch_int8_dot};

/// Results that are computed together: their sums are long, and each term waits for the one before.
const TOGETHER: usize = 16;

/// Filters over levels and what follows their sums.
pub(super) struct FloatSums {
    filters: IntegerFilters,
    /// The filters `[outputs, taps, depth / 4]`.
    pub by_tap: Vec<[i8; CHANNELS]>,
    depth: usize,
    taps: usize,
    /// Of the levels.
    input: Rule<f32>,
    after: Vec<AfterSum>,
    /// If what is around images has another value than 0.
    pub borders: Option<Borders>,
}

impl FloatSums {
    pub fn new(
        filters: IntegerFilters,
        [depth, taps]: [usize; 2],
        input: Rule<f32>,
        after: Vec<AfterSum>,
        borders: Option<Borders>,
    ) -> Self {
        let by_tap = by_tap(&filters.codes, depth * taps, taps);
        FloatSums { filters, by_tap, depth, taps, input, after, borders }
    }

    /// Replaces the levels of some results, each a filter and a window. `out` has the levels of four filters in a row of
    /// `windows`.
    pub fn replace(
        &self,
        results: &[[usize; 2]],
        right: &PackedRhs<I8x4Dot>,
        out: &mut [I8x4Dot],
        windows: usize,
    ) {
        for some in results.chunks(TOGETHER) {
            let at = std::array::from_fn(|i| some.get(i).copied().unwrap_or(some[0]));
            let levels = dispatch_int8_dot(Sum { of: self, right, at });
            for (&[filter, window], level) in some.iter().zip(levels) {
                let shift = 8 * (filter % CHANNELS);
                if let Some(I8x4Dot(quad)) = out.get_mut(filter / CHANNELS * windows + window) {
                    *quad = *quad & !(0xff << shift) | level << shift;
                }
            }
        }
    }
}

/// A number for each of the results.
type Each<T> = [T; TOGETHER];

/// The levels of results.
struct Sum<'a> {
    of: &'a FloatSums,
    right: &'a PackedRhs<'a, I8x4Dot>,
    /// The filter and the window of each.
    at: Each<[usize; 2]>,
}

impl Vectorised for Sum<'_> {
    type Output = Each<u32>;

    #[inline(always)]
    fn run<I: Instructions>(self) -> Each<u32> {
        // `QuantizedConvolution::new` declines such machines: the code would be long, and slow.
        if I::ISA == Isa::Baseline {
            return Each::default();
        }
        let Self { of, right, at } = self;
        let FloatSums { depth, taps, input, .. } = of;
        let groups = depth.div_ceil(CHANNELS);
        let partial = if *taps == 1 { depth_block(*depth) / CHANNELS } else { usize::MAX };
        let columns = at.map(|[_, window]| right.column(window));
        let filters = at.map(|[filter, _]| &of.by_tap[filter * taps * groups..][..taps * groups]);
        let of_each = |part: fn(CodeRule) -> f32| at.map(|[filter, _]| part(of.filters.rules[filter]));
        let (zeros, scales) = (of_each(|rule| rule.zero), of_each(|rule| rule.scale));
        let lows = of_each(|rule| rule.low);
        let (mut total, mut sum): (Aligned<Each<f32>>, Aligned<Each<f32>>) = Default::default();
        for tap in 0..*taps {
            let is_outside = |[_, window]: [usize; 2]| {
                of.borders.as_ref().is_some_and(|borders| borders.is_outside(window, tap))
            };
            let is_outside = at.map(is_outside);
            for group in 0..groups {
                let row = right.row(group * taps + tap);
                let quads = columns.map(|column| row.get(column).copied().unwrap_or_default().0);
                let codes = filters
                    .map(|filter| u32::from_le_bytes(filter[tap * groups + group].map(i8::cast_unsigned)));
                for k in 0..CHANNELS {
                    // Zeros change no sum: beside the image, and beyond the last channel.
                    let is_beyond = group * CHANNELS + k >= *depth;
                    for i in 0..TOGETHER {
                        let value = input.value(((quads[i] >> (8 * k)) & 0xff) as f32);
                        let value = if is_outside[i] || is_beyond { 0.0 } else { value };
                        let code = (codes[i] << (24 - 8 * k)).cast_signed() >> 24;
                        let rule = CodeRule { zero: zeros[i], scale: scales[i], low: lows[i] };
                        sum[i] = rule.weight(code as f32).mul_add(value, sum[i]);
                    }
                }
                if (group + 1) % partial == 0 {
                    for i in 0..TOGETHER {
                        total[i] += sum[i];
                    }
                    sum = Default::default();
                }
            }
        }
        std::array::from_fn(|i| of.after[at[i][0]].level(total[i] + sum[i]))
    }
}
