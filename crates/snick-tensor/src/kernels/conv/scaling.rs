//! From exact sums of products of integers to levels, and which of them floats may give another level.

use super::after_sums::{AfterSum, BentLine};
use super::borders::Borders;
use super::quantized_filters::CodeRule;
use crate::kernels::fake_quantize::Rule;

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

/// A filter of integers over levels.
pub(super) struct FilterOfLevels<'a> {
    pub codes: &'a [i8],
    pub rule: CodeRule,
    /// Of the levels.
    pub input: Rule<f32>,
    pub after: AfterSum,
}

impl FilterOfLevels<'_> {
    /// Whether nothing but bounds follows the bias.
    pub fn is_plain(&self) -> bool {
        self.after.line == BentLine::IDENTITY
    }

    /// The rescaling of its sums, with a line if they are not plain. The offsets of windows beside the image are added to
    /// `beside`. `None` if it is no finite one.
    pub fn scaling(
        &self,
        is_plain: bool,
        borders: Option<&Borders>,
        beside: &mut Vec<f32>,
    ) -> Option<Scaling> {
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
