//! From exact sums of products of integers to levels, and which of them floats may give another level.

use super::after_sums::{AfterSum, BentLine};
use super::borders::Borders;
use super::quantized_filters::{CodeRule, IntegerFilters};
use crate::kernels::fake_quantize::Rule;
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::{I8x4Dot, Instructions, Vector};

/// From the sums of a filter to their levels: a line of `sum * factor + offset`, within bounds and rounded.
#[derive(Copy, Clone)]
pub(super) struct Scaling {
    pub factor: f32,
    pub offset: f32,
    /// What is negative is multiplied by the first, the rest by the second.
    pub slopes: [f32; 2],
    pub shift: f32,
    pub low: f32,
    pub high: f32,
    /// A result at a distance from a level has it for sure if the square of the distance plus this is negative.
    pub doubt: f32,
}

/// What stands for no filter: nothing is in doubt.
impl Default for Scaling {
    fn default() -> Self {
        Scaling { factor: 0.0, offset: 0.0, slopes: [1.0; 2], shift: 0.0, low: 0.0, high: 0.0, doubt: -1.0 }
    }
}

/// Sums of floats are not further from the exact ones than this, as a multiple of the error of one rounding, of the square
/// root of their length, and of the largest partial sums that are to be expected. Rounding errors are independent: their
/// sums are a tenth of it or less.
const DOUBT: f32 = 0.5;

/// The same for the level of a result of up to 255, and for the largest numbers that it is the sum of.
const LEVEL_DOUBT: f32 = 512.0 * f32::EPSILON;
const PART_DOUBT: f32 = f32::EPSILON;

/// Results without bounds may be as large: the integers nearest to them have less than 32 bits.
const LARGEST: f32 = (1 << 30) as f32;

/// The rescaling of the sums in a vector: a [`Scaling`] in vectors.
pub(super) struct VectorScaling<V> {
    pub factor: V,
    pub offset: V,
    pub slopes: [V; 2],
    pub shift: V,
    pub low: V,
    pub high: V,
    pub doubt: V,
}

impl<V: Vector<f32>> VectorScaling<V> {
    /// The same for all lanes.
    #[inline(always)]
    pub fn splat(of: &Scaling) -> Self {
        VectorScaling {
            factor: V::splat(of.factor),
            offset: V::splat(of.offset),
            slopes: [V::splat(of.slopes[0]), V::splat(of.slopes[1])],
            shift: V::splat(of.shift),
            low: V::splat(of.low),
            high: V::splat(of.high),
            doubt: V::splat(of.doubt),
        }
    }

    /// The levels of sums, once they are brought to 0 to 255, and numbers that are negative for those not in doubt. `IS_PLAIN`
    /// scalings have neither a line nor other bounds.
    #[inline(always)]
    pub fn levels<I: Instructions<F32 = V>, const IS_PLAIN: bool>(
        &self,
        sums: I::I8x4Dots,
    ) -> (I::I8x4Dots, V) {
        let mut results = I::dots_to_f32(sums).multiply_add(self.factor, self.offset);
        if IS_PLAIN {
            // Many are negative: none of them shall be in doubt.
            [_, results] = I::min_max(results, V::splat(0.0));
        } else {
            let [negative, others] = I::min_max(results, V::splat(0.0));
            let [below, above] = self.slopes;
            results = others.multiply_add(above, negative.multiply_add(below, self.shift));
            let [_, results_from_low] = I::min_max(results, self.low);
            [results, _] = I::min_max(results_from_low, self.high);
        }
        let distances = I::round_residual(results);
        (I::round_to_i32(results), distances.multiply_add(distances, self.doubt))
    }
}

/// Whether a result is in doubt, given what [`VectorScaling::levels`] says of it: those beyond all levels are not.
pub(super) fn is_in_doubt(level: I8x4Dot, doubt: f32) -> bool {
    doubt.is_sign_positive() && (0..=255).contains(&level.sum())
}

/// Whether the bounds of a quantizer are its first and its last level of 256.
fn has_all_levels(rule: &Rule<f32>) -> bool {
    let [low, high] = [rule.low, rule.high].map(|bound| bound.mul_add(rule.scale, rule.shift));
    low.round() == 0.0 && high.round() == 255.0
}

/// The rescaling of all filters.
pub(super) struct Scalings {
    /// By filter; as many as are a multiple of four.
    pub each: Vec<Scaling>,
    /// By filter and class of borders, the offset in place of that of its scaling.
    pub border_offsets: Vec<f32>,
    /// Whether nothing but all levels follows the biases.
    pub is_plain: bool,
}

impl Scalings {
    /// Of filters over levels by the rules of `input`, which gives one for each filter. `None` if a number is not finite.
    pub fn new(
        filters: &IntegerFilters,
        input: impl Fn(usize) -> Rule<f32>,
        borders: Option<&Borders>,
        after: &[AfterSum],
    ) -> Option<Self> {
        let count = filters.rules.len();
        let length = filters.codes.len().checked_div(count)?;
        let is_plain = |after: &AfterSum| after.line == BentLine::IDENTITY && has_all_levels(&after.rule);
        let is_plain = after.iter().all(is_plain);
        let mut border_offsets = Vec::new();
        let filter =
            |(i, codes)| FilterOfLevels { codes, rule: filters.rules[i], input: input(i), after: after[i] };
        let each = filters.codes.chunks_exact(length).enumerate().map(filter);
        let each = each.map(|filter| filter.scaling(is_plain, borders, &mut border_offsets));
        let mut each: Vec<Scaling> = each.collect::<Option<_>>()?;
        each.resize(count.next_multiple_of(CHANNELS), Scaling::default());
        Some(Scalings { each, border_offsets, is_plain })
    }
}

/// A filter of integers over levels.
struct FilterOfLevels<'a> {
    codes: &'a [i8],
    rule: CodeRule,
    /// Of the levels.
    input: Rule<f32>,
    after: AfterSum,
}

impl FilterOfLevels<'_> {
    /// The rescaling of its sums, with a line if they are not plain. The offsets of windows beside the image are added to
    /// `beside`. `None` if it is no finite one.
    fn scaling(&self, is_plain: bool, borders: Option<&Borders>, beside: &mut Vec<f32>) -> Option<Scaling> {
        let Self { codes, rule: CodeRule { scale, .. }, input, after: AfterSum { bias, line, rule } } = self;
        let sum: i64 = codes.iter().map(|&code| i64::from(code)).sum();
        let squares: i64 = codes.iter().map(|&code| i64::from(code) * i64::from(code)).sum();
        let level = |x: f64| x * f64::from(rule.scale) + f64::from(rule.shift);
        let to_level = f64::from(line.scale) * f64::from(rule.scale);
        let result = f64::from(input.output_low) * f64::from(*scale) * sum as f64 + f64::from(*bias);
        let factor = (f64::from(input.step) * f64::from(*scale) * to_level) as f32;
        let offset_of = |result: f64| if is_plain { level(result) } else { result * to_level } as f32;
        let offset = offset_of(result);
        let shift = if is_plain { 0.0 } else { level(line.shift.into()) as f32 };
        let mut largest_offset = offset.abs();
        for sum in borders.iter().flat_map(|borders| borders.sums_outside(codes)) {
            let value = borders.map_or(0.0, |borders| borders.value);
            let offset = offset_of(result - f64::from(value) * f64::from(*scale) * sum as f64);
            largest_offset = largest_offset.max(offset.abs());
            beside.push(offset);
        }
        // A negative scale exchanges what is negative and what is not.
        let slopes = if line.scale < 0.0 { [1.0, line.slope] } else { [line.slope, 1.0] };
        let parts = [factor, largest_offset, shift, line.slope, line.scale];
        let length = codes.len() as f32;
        let largest_result =
            (f32::from(i8::MIN).abs() * f32::from(u8::MAX) * length).mul_add(factor.abs(), largest_offset);
        let is_large = is_plain && largest_result > LARGEST;
        if is_large || !parts.iter().all(|number| number.is_finite()) {
            return None;
        }
        let largest = input.value(0.0).abs().max(input.value(255.0).abs());
        // Results beyond the range are not near the middle between levels.
        let range = rule.low.abs().max(rule.high.abs()) + line.shift.abs();
        let partial = largest * scale.abs() * (squares as f32).sqrt() + bias.abs();
        let largest_sum = line.steepness() * partial + range;
        let rounded = DOUBT * f32::EPSILON / 2.0 * length.sqrt() * largest_sum * rule.scale;
        // What is 0 only nearly.
        let of_zero = self.rule.remainder() * largest * length;
        let left_out = of_zero * scale.abs() * line.steepness() * rule.scale;
        let parts = line.slope.abs().max(1.0) * largest_offset + shift.abs() + rule.shift.abs();
        let roundings = if is_plain { 1.0 } else { 2.0 };
        let level_doubt = roundings * (LEVEL_DOUBT + PART_DOUBT * parts);
        let reliable = (0.5 - level_doubt - rounded - left_out).max(0.0);
        let [low, high] = [rule.low, rule.high].map(|bound| level(bound.into()) as f32);
        Some(Scaling { factor, offset, slopes, shift, low, high, doubt: -(reliable * reliable) })
    }
}
