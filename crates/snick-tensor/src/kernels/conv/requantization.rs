//! Requantisation: converts exact integer sums to the codes of results.
//!
//! **Source.** Jacob et al., "Quantization and Training of Neural Networks for Efficient
//! Integer-Arithmetic-Only Inference", 2018, but with a factor in `f32`.
//!
//! The codes should match a convolution of floats, whose sums are rounded at each step. A scaled sum is
//! ambiguous if these rounding errors could move it past the middle between two codes. Ambiguous results are
//! recomputed in floats.

use super::padding_correction::PaddingCorrection;
use super::quantized_epilogue::ChannelEpilogue;
use super::quantized_filters::{CodeRule, IntegerFilters};
use crate::kernels::fake_quantize::Rule;
use crate::kernels::gemm::MAX_PANEL_COLUMNS;
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::{Aligned, I8x4Dot, Instructions, Vector};

/// The steps that the requantisation of a layer consists of, as a const parameter of kernels.
pub(super) type RequantizationForm = u8;
/// A factor and an offset.
pub(super) const LINEAR: RequantizationForm = 0;
/// A factor and an offset, a gate, and a shift.
pub(super) const GATED: RequantizationForm = 1;
/// All steps.
pub(super) const GENERAL: RequantizationForm = 2;

/// The requantisation of the sums of a filter. A sum is scaled to `x = sum * factor + offset`. An HSwish
/// multiplies it by `gate[0] * x + gate[1]`, clamped to 0..=1. The product is multiplied by the slope of its
/// sign, shifted, clamped and rounded. `T` is a number, or one number per lane of a vector.
#[derive(Copy, Clone)]
pub(super) struct Requantization<T> {
    pub factor: T,
    pub offset: T,
    pub gate: [T; 2],
    /// The factors of negative values, and of all others.
    pub slopes: [T; 2],
    pub shift: T,
    pub low: T,
    pub high: T,
    /// `-d * d`, where results at a distance of less than `d` from an integer have an unambiguous code.
    pub doubt: T,
}

impl Requantization<f32> {
    /// Used to pad the filters to a multiple of four. Its results are never ambiguous.
    const NO_FILTER: Self = Requantization {
        factor: 0.0,
        offset: 0.0,
        gate: [0.0, 1.0],
        slopes: [1.0; 2],
        shift: 0.0,
        low: 0.0,
        high: 0.0,
        doubt: -1.0,
    };
}

impl<T> Requantization<T> {
    #[inline(always)]
    pub fn map<U>(&self, f: impl Fn(&T) -> U) -> Requantization<U> {
        Requantization {
            factor: f(&self.factor),
            offset: f(&self.offset),
            gate: [f(&self.gate[0]), f(&self.gate[1])],
            slopes: [f(&self.slopes[0]), f(&self.slopes[1])],
            shift: f(&self.shift),
            low: f(&self.low),
            high: f(&self.high),
            doubt: f(&self.doubt),
        }
    }
}

impl<V: Vector<f32>> Requantization<V> {
    /// Returns the codes of sums before they are clamped to 0..=255. The second vector is negative in the
    /// lanes of unambiguous codes. Unless `FORM` is [`GENERAL`], the bounds must be the first and last code,
    /// and the steps that it does not name must have no effect.
    #[inline(always)]
    pub fn codes<I: Instructions<F32 = V>, const FORM: RequantizationForm>(
        &self,
        sums: I::I8x4Dots,
    ) -> (I::I8x4Dots, V) {
        let zero = V::splat(0.0);
        let mut results = I::dots_to_f32(sums).multiply_add(self.factor, self.offset);
        if FORM != LINEAR {
            let [_, gate] = I::min_max(results.multiply_add(self.gate[0], self.gate[1]), zero);
            let [gate, _] = I::min_max(gate, V::splat(1.0));
            results = results.multiply_add(gate, if FORM == GATED { self.shift } else { zero });
        }
        if FORM == GENERAL {
            let [negative, others] = I::min_max(results, zero);
            let [below, above] = self.slopes;
            results = others.multiply_add(above, negative.multiply_add(below, self.shift));
            let [_, results_from_low] = I::min_max(results, self.low);
            [results, _] = I::min_max(results_from_low, self.high);
        } else {
            // Negative results are frequent and all have code 0.
            [_, results] = I::min_max(results, zero);
        }
        let distances = I::round_residual(results);
        (I::round_to_i32(results), distances.multiply_add(distances, self.doubt))
    }
}

/// One row of a panel.
pub(in crate::kernels) type Columns<T> = [T; MAX_PANEL_COLUMNS];

/// The values of exact sums: each times its factor, plus its offset.
#[inline(always)]
pub(in crate::kernels) fn values_of<I: Instructions>(
    sums: &Columns<I8x4Dot>,
    [factors, offsets]: [&Columns<f32>; 2],
) -> Aligned<Columns<f32>> {
    let mut values = Aligned([0.0; MAX_PANEL_COLUMNS]);
    for at in (0..MAX_PANEL_COLUMNS).step_by(I::I8x4Dots::LANES) {
        let [factor, offset] = [factors, offsets].map(|numbers| I::F32::load(&numbers[at..]));
        let sum = I::dots_to_f32(I::I8x4Dots::load(&sums[at..]));
        sum.multiply_add(factor, offset).store(&mut values[at..]);
    }
    values
}

/// The bits that are set, from the lowest.
#[inline(always)]
pub(super) fn set_bits(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then_some(bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        lowest
    })
}

/// The distance between a float sum and the exact sum is assumed to be at most
/// `SUM_ERROR * u * sqrt(terms) * largest`, where `u` is the unit roundoff and `largest` the largest expected
/// partial sum. The square root models independent rounding errors. The largest observed distance is a fifth
/// of this bound.
const SUM_ERROR: f32 = 0.25;

/// The maximum rounding error of the requantisation itself, for a code of up to 255.
const CODE_ERROR: f32 = 512.0 * f32::EPSILON;

/// As [`CODE_ERROR`], but relative to the terms that are added to compute the code.
const PART_ERROR: f32 = f32::EPSILON;

/// The maximum magnitude of results that are converted to 32-bit integers without an upper clamp.
const MAX_UNCLAMPED: f32 = (1 << 30) as f32;

/// The requantisation of all filters.
pub(super) struct Requantizations {
    /// By filter, padded to a multiple of four.
    pub filters: Vec<Requantization<f32>>,
    /// By filter and class of a [`PaddingCorrection`]: the offset for windows with padding.
    pub padding_offsets: Vec<f32>,
    /// See [`Requantization::codes`].
    pub form: RequantizationForm,
}

impl Requantizations {
    /// `input` returns the rule of the codes that a filter reads, and the value of its padding, where that is
    /// taken for 0. `None` if [`Filter::requantization`] is `None` for any filter.
    pub fn new(
        filters: &IntegerFilters,
        input: impl Fn(usize) -> (Rule<f32>, f32),
        padding: Option<&PaddingCorrection>,
        epilogues: &[ChannelEpilogue],
    ) -> Option<Self> {
        let count = filters.rules.len();
        let length = filters.codes.len().checked_div(count)?;
        let form = epilogues.iter().map(form).max().unwrap_or(LINEAR);
        let mut padding_offsets = Vec::new();
        let codes = filters.codes.chunks_exact(length).enumerate();
        let filter = |(i, codes)| {
            let (input, padding_value) = input(i);
            let (rule, scaling, epilogue) = (filters.rules[i], filters.scaling(i, &input), epilogues[i]);
            let filter = Filter { codes, rule, scaling, input, padding_value, epilogue };
            filter.requantization(form, padding, &mut padding_offsets)
        };
        let mut filters: Vec<_> = codes.map(filter).collect::<Option<_>>()?;
        filters.resize(count.next_multiple_of(CHANNELS), Requantization::NO_FILTER);
        Some(Requantizations { filters, padding_offsets, form })
    }
}

/// The first form that has all steps of an epilogue.
fn form(epilogue: &ChannelEpilogue) -> RequantizationForm {
    match epilogue {
        ChannelEpilogue { rule, slope, .. } if !has_all_codes(rule) || *slope != 1.0 => GENERAL,
        ChannelEpilogue { has_hswish: true, .. } => GATED,
        _ => LINEAR,
    }
}

/// Whether the bounds of a quantizer are the first and last of 256 codes.
fn has_all_codes(rule: &Rule<f32>) -> bool {
    let [low, high] = [rule.low, rule.high].map(|bound| bound.mul_add(rule.scale, rule.shift));
    low.round() == 0.0 && high.round() == 255.0
}

/// An integer filter over codes.
struct Filter<'a> {
    codes: &'a [i8],
    rule: CodeRule,
    /// See [`IntegerFilters::scaling`].
    scaling: [f64; 2],
    /// The rule of the codes that it reads.
    input: Rule<f32>,
    padding_value: f32,
    epilogue: ChannelEpilogue,
}

impl Filter<'_> {
    /// The requantisation of the filter's sums. Appends the offsets for windows with padding. `None` if a
    /// parameter is not finite, or if unclamped results may exceed [`MAX_UNCLAMPED`].
    fn requantization(
        &self,
        form: RequantizationForm,
        padding: Option<&PaddingCorrection>,
        padding_offsets: &mut Vec<f32>,
    ) -> Option<Requantization<f32>> {
        let Self {
            codes,
            rule: CodeRule { scale, .. },
            scaling: [factor, offset],
            input,
            padding_value,
            epilogue,
        } = self;
        let ChannelEpilogue { bias, has_hswish, slope, scale: after_scale, shift: after_shift, rule } =
            epilogue;
        let squares: i64 = codes.iter().map(|&code| i64::from(code) * i64::from(code)).sum();
        let code = |x: f64| x * f64::from(rule.scale) + f64::from(rule.shift);
        let to_code = f64::from(*after_scale) * f64::from(rule.scale);
        // A scale of 0 makes all results equal.
        let has_gate = *has_hswish && to_code != 0.0;
        let gate = if has_gate { [(1.0 / 6.0 / to_code) as f32, 0.5] } else { [0.0, 1.0] };
        let is_linear = form == LINEAR;
        let result = offset + f64::from(*bias);
        let factor = (factor * to_code) as f32;
        let end = code((*after_shift).into());
        let (end, shift) = if is_linear { (end, 0.0) } else { (0.0, end as f32) };
        let offset_of = |result: f64| (result * to_code + end) as f32;
        let offset = offset_of(result);
        let mut largest_offset = offset.abs();
        if let Some(padding) = padding {
            for sum in padding.sums_on_padding(codes) {
                let offset = offset_of(result - f64::from(padding.value) * f64::from(*scale) * sum as f64);
                largest_offset = largest_offset.max(offset.abs());
                padding_offsets.push(offset);
            }
        }
        // A negative scale flips the sign that selects the slope.
        let slopes = if *after_scale < 0.0 { [1.0, *slope] } else { [*slope, 1.0] };
        let length = codes.len() as f32;
        let largest_result =
            (f32::from(i8::MIN).abs() * f32::from(u8::MAX) * length).mul_add(factor.abs(), largest_offset);
        let is_too_large = form != GENERAL && largest_result + shift.abs() > MAX_UNCLAMPED;
        let parts = [factor, largest_offset, gate[0], shift, *slope, *after_scale];
        if is_too_large || !parts.iter().all(|number| number.is_finite()) {
            return None;
        }
        // The error of a float sum, in units of a code. `range` bounds the results that matter: results
        // outside the quantizer's range are clamped and never ambiguous.
        let largest = input.value(0.0).abs().max(input.value(255.0).abs());
        let range =
            rule.low.abs().max(rule.high.abs()).max(if *has_hswish { 3.0 } else { 0.0 }) + after_shift.abs();
        let partial = largest * scale.abs() * (squares as f32).sqrt() + bias.abs();
        let largest_sum = epilogue.steepness() * partial + range;
        let rounded = SUM_ERROR * f32::EPSILON / 2.0 * length.sqrt() * largest_sum * rule.scale;
        // The error of integer filters whose zero points are only approximately integers, and of padding.
        let padding_error = padding_value.abs() * f32::from(i8::MIN).abs();
        let remainder = (self.rule.remainder() * largest + padding_error) * length;
        let ignored = remainder * scale.abs() * epilogue.steepness() * rule.scale;
        let steepness = slope.abs().max(1.0) * epilogue.hswish_steepness();
        // The gate opens between -3 and 3.
        let largest_gated = if *has_hswish { 3.0 * to_code.abs() as f32 } else { 0.0 };
        let parts = steepness * (largest_offset + largest_gated) + shift.abs() + rule.shift.abs();
        let is_plain = is_linear && [*after_scale, *after_shift] == [1.0, 0.0];
        let roundings = if is_plain { 1.0 } else { 2.0 + epilogue.hswish_steepness() };
        let code_error = roundings * (CODE_ERROR + PART_ERROR * parts);
        let unambiguous = (0.5 - code_error - rounded - ignored).max(0.0);
        let [low, high] = [rule.low, rule.high].map(|bound| code(bound.into()) as f32);
        let doubt = -(unambiguous * unambiguous);
        Some(Requantization { factor, offset, gate, slopes, shift, low, high, doubt })
    }
}
