//! From exact sums of products of integers to levels, and which of them floats may give another level.

use super::after_sums::{AfterSum, BentLine};
use super::borders::Borders;
use super::quantized_filters::{CodeRule, IntegerFilters};
use crate::kernels::fake_quantize::{Rule, nearest};
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::Quad;

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

impl Scaling {
    /// The level of a sum in the lowest byte, and a number that is negative if it is not in doubt. `IS_PLAIN` scalings have
    /// no line.
    #[inline(always)]
    pub fn level<const IS_PLAIN: bool>(self, sum: Quad) -> (u32, f32) {
        let Self { factor, offset, slopes: [below, above], shift, low, high, doubt } = self;
        let result = (sum.sum() as f32).mul_add(factor, offset);
        let result = match IS_PLAIN {
            true => result,
            false => result.mul_add(if result < 0.0 { below } else { above }, shift),
        };
        let (level, distance) = nearest(result, low, high);
        (level, distance.mul_add(distance, doubt))
    }
}

/// The rescaling of all filters.
pub(super) struct Scalings {
    /// By filter; as many as are a multiple of four.
    pub each: Vec<Scaling>,
    /// By filter and class of borders, the offset in place of that of its scaling.
    pub border_offsets: Vec<f32>,
    /// Whether nothing but bounds follows the biases, and there are no borders.
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
        let is_plain = borders.is_none() && after.iter().all(|after| after.line == BentLine::IDENTITY);
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
        if !parts.iter().all(|number| number.is_finite()) {
            return None;
        }
        let length = codes.len() as f32;
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
