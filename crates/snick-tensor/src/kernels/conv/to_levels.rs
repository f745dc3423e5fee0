//! From the sums of products of bytes to the levels of results.

use super::after_sums::{AfterSum, AfterSums, BentLine};
use super::borders::Borders;
use super::quantized_filters::{IntegerFilters, by_tap};
use crate::kernels::fake_quantize::{Rule, nearest};
use crate::kernels::gemm::{MOST_COLUMNS, PackedRhs, PlaceTile, TileAt, part_of_terms, write_row};
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::Quad;

/// From the sums of dense filters to levels.
pub(super) struct Rescaling {
    /// By filter; as many as are a multiple of four.
    scalings: Vec<Scaling>,
    /// For results in doubt: the filters, also as `[outputs, taps, depth / 4]`, and what follows their sums.
    filters: IntegerFilters,
    pub by_tap: Vec<[i8; CHANNELS]>,
    depth: usize,
    taps: usize,
    after: Vec<AfterSum>,
    input: Rule<f32>,
    /// If what is around images has another value than 0.
    borders: Option<Borders>,
    /// By filter and class of borders, the offset in place of that of its scaling.
    border_offsets: Vec<f32>,
    /// Whether lines are the identity, and there are no borders.
    is_plain: bool,
}

/// From the sums of a filter to their levels: a line of `sum * factor + offset`, within bounds and rounded.
#[derive(Copy, Clone, Default)]
struct Scaling {
    factor: f32,
    offset: f32,
    /// What is negative is multiplied by the first, the rest by the second.
    slopes: [f32; 2],
    shift: f32,
    low: f32,
    high: f32,
    /// Results at most this far from a level have it for sure.
    reliable: f32,
}

/// Sums of floats are not further from the exact ones than this, as a multiple of the error of one rounding, of the square
/// root of their length, and of the largest partial sums that are to be expected. Rounding errors are independent: their
/// sums are a tenth of it or less.
const DOUBT: f32 = 0.5;

/// The same for the level of a result of up to 255, and for the largest numbers that it is the sum of.
const LEVEL_DOUBT: f32 = 512.0 * f32::EPSILON;
const PART_DOUBT: f32 = f32::EPSILON;

impl Rescaling {
    pub fn new(
        filters: IntegerFilters,
        [depth, taps]: [usize; 2],
        input: Rule<f32>,
        borders: Option<Borders>,
        after: &AfterSums,
    ) -> Option<Self> {
        let (outputs, length) = (filters.rules.len(), depth * taps);
        let after = after.channels()?;
        let is_plain = borders.is_none() && after.iter().all(|after| after.line == BentLine::IDENTITY);
        let mut scalings = Vec::with_capacity(outputs.next_multiple_of(CHANNELS));
        let mut border_offsets = Vec::new();
        let largest = input.value(0.0).abs().max(input.value(255.0).abs());
        for (row, (filter, AfterSum { bias, line, rule })) in
            filters.codes.chunks_exact(length).zip(&after).enumerate()
        {
            let scale = filters.rules[row].scale;
            let sum: i64 = filter.iter().map(|&code| i64::from(code)).sum();
            let squares: i64 = filter.iter().map(|&code| i64::from(code) * i64::from(code)).sum();
            let level = |x: f64| x * f64::from(rule.scale) + f64::from(rule.shift);
            let to_level = f64::from(line.scale) * f64::from(rule.scale);
            let result = f64::from(input.output_low) * f64::from(scale) * sum as f64 + f64::from(*bias);
            let factor = (f64::from(input.step) * f64::from(scale) * to_level) as f32;
            let offset_of = |result: f64| if is_plain { level(result) } else { result * to_level } as f32;
            let offset = offset_of(result);
            let shift = if is_plain { 0.0 } else { level(line.shift.into()) as f32 };
            let mut largest_offset = offset.abs();
            if let Some(borders) = &borders {
                for outside in &borders.taps {
                    let codes =
                        filter.chunks_exact(taps).flat_map(|channel| outside.iter().map(|&tap| channel[tap]));
                    let sum: i64 = codes.map(i64::from).sum();
                    let offset = offset_of(result - f64::from(borders.value) * f64::from(scale) * sum as f64);
                    largest_offset = largest_offset.max(offset.abs());
                    border_offsets.push(offset);
                }
            }
            // A negative scale exchanges what is negative and what is not.
            let slopes = if line.scale < 0.0 { [1.0, line.slope] } else { [line.slope, 1.0] };
            if ![factor, largest_offset, shift, line.slope, line.scale]
                .iter()
                .all(|number| number.is_finite())
            {
                return None;
            }
            // Results beyond the range are not near the middle between levels.
            let range = rule.low.abs().max(rule.high.abs()) + line.shift.abs();
            let partial = largest * scale.abs() * (squares as f32).sqrt() + bias.abs();
            let largest_sum = line.steepness() * partial + range;
            let rounded = DOUBT * f32::EPSILON / 2.0 * (length as f32).sqrt() * largest_sum * rule.scale;
            // What is 0 only nearly.
            let of_zero = filters.rules[row].remainder() * largest * length as f32;
            let left_out = of_zero * scale.abs() * line.steepness() * rule.scale;
            let parts = line.slope.abs().max(1.0) * largest_offset + shift.abs() + rule.shift.abs();
            let roundings = if is_plain { 1.0 } else { 2.0 };
            let level_doubt = roundings * (LEVEL_DOUBT + PART_DOUBT * parts);
            let reliable = (0.5 - level_doubt - rounded - left_out).max(0.0);
            let [low, high] = [rule.low, rule.high].map(|bound| level(bound.into()) as f32);
            scalings.push(Scaling { factor, offset, slopes, shift, low, high, reliable });
        }
        scalings.resize(outputs.next_multiple_of(CHANNELS), Scaling::default());
        let by_tap = by_tap(&filters.codes, length, taps);
        Some(Self { scalings, filters, by_tap, depth, taps, after, input, borders, border_offsets, is_plain })
    }

    /// What is added to the sums of a filter in some windows, from `first` on.
    #[inline(always)]
    fn offsets(&self, row: usize, first: usize) -> [f32; MOST_COLUMNS] {
        let mut offsets = [self.scalings[row].offset; MOST_COLUMNS];
        if let Some(borders) = &self.borders {
            let count = borders.taps.len();
            // The last rows of a tile may be those of no filter.
            let of_row = self.border_offsets.get(row * count..(row + 1) * count).unwrap_or_default();
            for (window, class) in borders.among(first..first + MOST_COLUMNS) {
                offsets[window - first] = of_row.get(class).copied().unwrap_or_default();
            }
        }
        offsets
    }

    /// The level of a result, computed of floats.
    #[inline(always)]
    fn level_of_floats(&self, right: &PackedRhs<Quad>, row: usize, column: usize) -> u32 {
        let Self { filters, depth, taps, input, .. } = self;
        let groups = depth.div_ceil(CHANNELS);
        let filter = &self.by_tap[row * groups * taps..][..groups * taps];
        let partial = if *taps == 1 { part_of_terms(*depth) / CHANNELS } else { usize::MAX };
        let (mut total, mut sum) = (0f32, 0f32);
        for (tap, filter) in filter.chunks_exact(groups).enumerate() {
            // Zeros change no sum.
            if self.borders.as_ref().is_some_and(|borders| borders.is_outside(column, tap)) {
                continue;
            }
            for (group, codes) in filter.iter().enumerate() {
                let quad = right.at(group * taps + tap, column).unwrap_or_default();
                let values = quad.0.to_le_bytes().map(|level| input.value(f32::from(level)));
                let weights = codes.map(|code| filters.weight(row, code));
                for k in 0..CHANNELS.min(depth - group * CHANNELS) {
                    sum = weights[k].mul_add(values[k], sum);
                }
                if (group + 1) % partial == 0 {
                    (total, sum) = (total + sum, 0.0);
                }
            }
        }
        self.after[row].level(total + sum)
    }
}

/// Writes results as levels, four rows of the product in one of the output.
pub(super) struct ToLevels<'a> {
    pub rescaling: &'a Rescaling,
    pub right: &'a PackedRhs<'a, Quad>,
}

impl PlaceTile<Quad> for ToLevels<'_> {
    type Out = Quad;
    const ROWS: usize = CHANNELS;

    #[inline(always)]
    fn place(&self, out: &mut [Quad], row_len: usize, at: TileAt, rows: &[[Quad; MOST_COLUMNS]]) {
        for (i, (four, out)) in rows.chunks(CHANNELS).zip(out.chunks_mut(row_len)).enumerate() {
            let row = at.row + i * CHANNELS;
            let (mut quads, mut doubts) = ([0; MOST_COLUMNS], [[0; MOST_COLUMNS]; CHANNELS]);
            for (k, (sums, doubts)) in four.iter().zip(&mut doubts).enumerate() {
                match self.rescaling.is_plain {
                    true => self.levels::<true>(row + k, at.column, sums, &mut quads, doubts),
                    false => self.levels::<false>(row + k, at.column, sums, &mut quads, doubts),
                }
            }
            let any =
                |doubts: &[u32; MOST_COLUMNS]| doubts.iter().fold(0, |all, doubt| all | doubt) >> 31 != 0;
            let [p, q, r, s] = &doubts;
            if any(&std::array::from_fn(|i| p[i] | q[i] | r[i] | s[i])) {
                for (k, doubts) in doubts.iter().enumerate().filter(|(_, doubts)| any(doubts)) {
                    self.resolve(row + k, at.column, doubts, &mut quads);
                }
            }
            write_row(out, at.column, &quads.map(Quad)[..at.width]);
        }
    }
}

impl ToLevels<'_> {
    /// Adds the levels of a row of the product to those of the other three. The highest bits of `doubts` are set where they
    /// are in doubt.
    #[inline(always)]
    fn levels<const IS_PLAIN: bool>(
        &self,
        row: usize,
        column: usize,
        sums: &[Quad; MOST_COLUMNS],
        quads: &mut [u32; MOST_COLUMNS],
        doubts: &mut [u32; MOST_COLUMNS],
    ) {
        let shift = 8 * (row % CHANNELS);
        let Scaling { factor, slopes: [below, above], shift: height, low, high, reliable, .. } =
            self.rescaling.scalings[row];
        let offsets = match IS_PLAIN {
            true => [self.rescaling.scalings[row].offset; MOST_COLUMNS],
            false => self.rescaling.offsets(row, column),
        };
        for i in 0..MOST_COLUMNS {
            let result = (sums[i].sum() as f32).mul_add(factor, offsets[i]);
            let result = match IS_PLAIN {
                true => result,
                false => result.mul_add(if result < 0.0 { below } else { above }, height),
            };
            let (level, distance) = nearest(result, low, high);
            quads[i] |= level << shift;
            // Of floats that are not negative, the larger one has the larger bits.
            doubts[i] = reliable.to_bits().wrapping_sub(distance.to_bits());
        }
    }

    /// Replaces the levels in doubt of a row, from `column` on.
    #[inline(always)]
    fn resolve(
        &self,
        row: usize,
        column: usize,
        doubts: &[u32; MOST_COLUMNS],
        quads: &mut [u32; MOST_COLUMNS],
    ) {
        let shift = 8 * (row % CHANNELS);
        let count = MOST_COLUMNS.min(self.right.columns() - column);
        for i in (0..count).filter(|&i| doubts[i] >> 31 != 0) {
            let level = self.rescaling.level_of_floats(self.right, row, column + i);
            quads[i] = quads[i] & !(0xff << shift) | level << shift;
        }
    }
}
