//! One integer filter a channel over levels. Filters slide over four channels and sixteen columns at a time: four elements
//! of a filter that are side by side are multiplied and summed by one instruction.

use std::ops::Range;

use super::after_sums::{AfterSum, AfterSums};
use super::planes::{Grid, MOST_ZEROS};
use super::quantized_filters::IntegerFilters;
use super::scaling::{Scaling, Scalings, VectorScaling, is_in_doubt};
use crate::buffer::Buffer;
use crate::kernels::fake_quantize::Rule;
use crate::kernels::quantizer::{CHANNELS, Quantizer};
use crate::kernels::sharing;
use crate::kernels::vectors::{Aligned, I8x4Dot, Instructions, Vector, Vectorised, dispatch_int8_dot};
use crate::kernels::window::WindowAxis;

/// Lanes of a vector: four channels of four windows.
const LANES: usize = 16;

/// Windows that are computed together.
const WINDOWS: usize = 16;

/// Elements that may be read from the first one of a step on: with a stride of 2, two vectors and two more.
const BEYOND: usize = 2 * LANES + 2;

/// Fewer multiplications are not distributed to threads.
const SHARED: usize = 1 << 18;

/// Groups of four channels per task of a thread.
const AT_ONCE: usize = 4;

/// A number for each lane, which begin with a cache line.
type Lanes<T> = Aligned<[T; LANES]>;

/// Filters of all channels.
pub(super) struct QuantizedDepthwise {
    axes: [WindowAxis; 2],
    /// The number of windows on both axes.
    out: [usize; 2],
    /// Columns of the padded image.
    line: usize,
    /// By four channels and step, the four integers of each channel.
    filters: Vec<Lanes<I8x4Dot>>,
    /// Where each step begins in the padded image, for the first window.
    steps: Vec<usize>,
    /// By four channels.
    scalings: Vec<ScalingLanes>,
    /// Whether nothing but bounds follows the biases.
    is_plain: bool,
    /// The level of 0 in the channels of each group.
    padding: Vec<I8x4Dot>,
    /// For results in doubt: the filters, and where each of their elements lies in the padded image.
    integers: IntegerFilters,
    taps: Vec<usize>,
    rules: Vec<Rule<f32>>,
    after: Vec<AfterSum>,
}

/// The rescaling of four channels, by lane.
struct ScalingLanes {
    factors: Lanes<f32>,
    offsets: Lanes<f32>,
    below: Lanes<f32>,
    above: Lanes<f32>,
    shifts: Lanes<f32>,
    lows: Lanes<f32>,
    highs: Lanes<f32>,
    doubts: Lanes<f32>,
}

impl ScalingLanes {
    fn new(of: &[Scaling]) -> Self {
        let each =
            |part: fn(&Scaling) -> f32| Aligned(std::array::from_fn(|lane| part(&of[lane % CHANNELS])));
        ScalingLanes {
            factors: each(|of| of.factor),
            offsets: each(|of| of.offset),
            below: each(|of| of.slopes[0]),
            above: each(|of| of.slopes[1]),
            shifts: each(|of| of.shift),
            lows: each(|of| of.low),
            highs: each(|of| of.high),
            doubts: each(|of| of.doubt),
        }
    }

    #[inline(always)]
    fn vectors<V: Vector<f32>>(&self) -> VectorScaling<V> {
        VectorScaling {
            factor: V::load(&self.factors[..]),
            offset: V::load(&self.offsets[..]),
            slopes: [V::load(&self.below[..]), V::load(&self.above[..])],
            shift: V::load(&self.shifts[..]),
            low: V::load(&self.lows[..]),
            high: V::load(&self.highs[..]),
            doubt: V::load(&self.doubts[..]),
        }
    }
}

impl QuantizedDepthwise {
    /// `None` for strides above 2, more axes than two, an image that is mostly padding, and padding that is no level.
    pub fn new(
        integers: IntegerFilters,
        grid: &Grid,
        input: &Quantizer,
        padding: Vec<I8x4Dot>,
        after: &AfterSums,
    ) -> Option<Self> {
        let [depth, rows, columns] = grid.axes;
        let [_, out @ ..] = grid.out;
        let is_flat = depth.size == 1 && depth.kernel == 1 && depth.before == 0;
        let levels = padding.iter().flat_map(|quad| quad.0.to_le_bytes());
        let has_zeros = input.rules().iter().zip(levels).all(|(rule, level)| rule.value(level.into()) == 0.0);
        let is_padded_by_levels = has_zeros || !grid.is_padded();
        if !(is_flat && is_padded_by_levels && columns.stride <= 2) {
            return None;
        }
        let reach = |axis: &WindowAxis, out: usize| {
            (out - 1).checked_mul(axis.stride)?.checked_add((axis.kernel - 1).checked_mul(axis.dilation)? + 1)
        };
        let line = reach(&columns, out[1])?;
        let len = reach(&rows, out[0])?.checked_mul(line)?;
        if len > MOST_ZEROS.saturating_mul(grid.area()) {
            return None;
        }
        let taps: Vec<usize> = (0..rows.kernel)
            .flat_map(|row| (0..columns.kernel).map(move |column| [row, column]))
            .map(|[row, column]| row * rows.dilation * line + column * columns.dilation)
            .collect();
        // With gaps between them, a step has one element.
        let at_once = if columns.dilation == 1 { CHANNELS } else { 1 };
        let in_row = |first: usize| first..columns.kernel.min(first + at_once);
        let steps: Vec<Range<usize>> = (0..rows.kernel)
            .flat_map(|row| (0..columns.kernel).step_by(at_once).map(move |first| (row, in_row(first))))
            .map(|(row, range)| row * columns.kernel + range.start..row * columns.kernel + range.end)
            .collect();
        let (count, codes) = (integers.rules.len(), &integers.codes);
        let step_of = |channel: usize, step: &Range<usize>| {
            let first = channel * taps.len();
            let codes = codes.get(first + step.start..first + step.end).unwrap_or_default();
            let byte = |i: usize| codes.get(i).copied().unwrap_or(0).cast_unsigned();
            I8x4Dot(u32::from_le_bytes(std::array::from_fn(byte)))
        };
        let filters = (0..count).step_by(CHANNELS).flat_map(|first| {
            steps
                .iter()
                .map(move |step| Aligned(std::array::from_fn(|lane| step_of(first + lane % CHANNELS, step))))
        });
        let filters = filters.collect();
        let steps = steps.into_iter().map(|step| taps[step.start]).collect();
        let (after, rules) = (after.channels()?, input.rules().to_vec());
        let all = Scalings::new(&integers, |channel| rules[channel], None, &after)?;
        let (is_plain, scalings) =
            (all.is_plain, all.each.chunks_exact(CHANNELS).map(ScalingLanes::new).collect());
        Some(Self {
            axes: [rows, columns],
            out,
            line,
            filters,
            steps,
            scalings,
            is_plain,
            padding,
            integers,
            taps,
            rules,
            after,
        })
    }

    /// The levels of all windows of an image of levels, four channels at a time.
    pub fn run(&self, image: &[I8x4Dot], out: &mut [I8x4Dot]) {
        let [area, windows] = [self.axes.map(|axis| axis.size), self.out].map(|sizes| sizes.iter().product());
        let groups = self.scalings.len();
        let size = out.len().saturating_mul(CHANNELS * self.taps.len());
        let at_once = if sharing::is_shared() && size >= SHARED { AT_ONCE } else { groups };
        let some = |(i, out): (usize, &mut [I8x4Dot])| {
            let mut padded = Buffer::scratch(self.padded_len());
            for (group, out) in (i * at_once..).zip(out.chunks_exact_mut(windows)) {
                self.pad(group, &image[group * area..][..area], &mut padded);
                dispatch_int8_dot(Slide { of: self, group, image: &padded, out });
            }
        };
        match at_once < groups {
            true => sharing::for_each(out.chunks_mut(at_once * windows).enumerate(), some),
            false => some((0, out)),
        }
    }

    /// Rows of the padded image.
    fn lines(&self) -> usize {
        let [rows, _] = self.axes;
        (self.out[0] - 1) * rows.stride + (rows.kernel - 1) * rows.dilation + 1
    }

    /// Elements of the padded image, and what may be read beyond it.
    fn padded_len(&self) -> usize {
        self.lines() * self.line + BEYOND
    }

    /// Copies four channels of an image to a padded one.
    fn pad(&self, group: usize, image: &[I8x4Dot], padded: &mut [I8x4Dot]) {
        let [rows, columns] = self.axes;
        let padding = self.padding[group];
        let (lines, beyond) = padded.split_at_mut(self.lines() * self.line);
        beyond.fill(I8x4Dot::default());
        let before = columns.before.clamp(0, self.line as isize).unsigned_abs();
        let first = columns.before.min(0).unsigned_abs();
        let len = columns.size.saturating_sub(first).min(self.line - before);
        for (i, line) in lines.chunks_exact_mut(self.line).enumerate() {
            let row = usize::try_from(i as isize - rows.before).ok().filter(|&row| row < rows.size);
            let Some(row) = row.filter(|_| len > 0) else {
                line.fill(padding);
                continue;
            };
            line[..before].fill(padding);
            line[before..before + len].copy_from_slice(&image[row * columns.size + first..][..len]);
            line[before + len..].fill(padding);
        }
    }

    /// The level of a result, computed of floats: of a window at `at` of a padded image.
    #[inline(never)]
    fn level_of_floats(&self, image: &[I8x4Dot], at: usize, channel: usize) -> u32 {
        let (rule, shift) = (self.rules[channel], 8 * (channel % CHANNELS));
        let codes = &self.integers.codes[channel * self.taps.len()..];
        let mut sum = 0f32;
        for (&tap, &code) in self.taps.iter().zip(codes) {
            let I8x4Dot(quad) = image.get(at + tap).copied().unwrap_or_default();
            let value = rule.value(((quad >> shift) & 0xff) as f32);
            sum = self.integers.weight(channel, code).mul_add(value, sum);
        }
        self.after[channel].level(sum)
    }
}

/// Four channels of a padded image.
struct Slide<'a> {
    of: &'a QuantizedDepthwise,
    group: usize,
    image: &'a [I8x4Dot],
    out: &'a mut [I8x4Dot],
}

impl Vectorised for Slide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        // `QuantizedConvolution::new` declines machines that have no such vectors.
        if I::I8x4Dots::LANES != LANES {
            return;
        }
        // A filter of 3x3 elements has three steps, one a row.
        match (self.of.is_plain, self.of.steps.len()) {
            (true, 3) => self.apply::<I, true, 3>(),
            (true, _) => self.apply::<I, true, 0>(),
            (false, _) => self.apply::<I, false, 0>(),
        }
    }
}

impl Slide<'_> {
    /// `STEPS` is the number of steps, or 0 for any.
    #[inline(always)]
    fn apply<I: Instructions, const IS_PLAIN: bool, const STEPS: usize>(self) {
        let Self { of, group, image, out } = self;
        let [rows, columns] = of.axes;
        let count = if STEPS > 0 { STEPS } else { of.steps.len() };
        let (filter, steps) = (&of.filters[group * count..][..count], &of.steps[..count]);
        let starts = if columns.stride == 1 { [0, 1, 2, 3] } else { [0, 2, WINDOWS, WINDOWS + 2] };
        for y in 0..of.out[0] {
            for first in (0..of.out[1]).step_by(WINDOWS) {
                let at = y * rows.stride * of.line + first * columns.stride;
                let mut sums = [I::I8x4Dots::splat(I8x4Dot::default()); CHANNELS];
                for (weights, step) in filter.iter().zip(steps) {
                    let weights = I::I8x4Dots::load(&weights[..]);
                    let Some(line) = image.get(at + step..at + step + BEYOND) else { break };
                    for i in 0..CHANNELS {
                        let values = I::transpose_bytes(I::I8x4Dots::load(&line[starts[i]..]));
                        sums[i] = weights.multiply_add(values, sums[i]);
                    }
                }
                let resolve = |k: usize, lane: usize| {
                    let at = at + starts[k] + lane / CHANNELS * CHANNELS;
                    of.level_of_floats(image, at, group * CHANNELS + lane % CHANNELS)
                };
                let mut turned = levels::<I, IS_PLAIN>(&of.scalings[group], sums, resolve);
                if columns.stride == 2 {
                    turned = in_order(turned);
                }
                // What is beyond the row is overwritten by the next.
                let place = y * of.out[1] + first;
                match out.get_mut(place..place + WINDOWS) {
                    Some(out) => out.copy_from_slice(&turned[..]),
                    None => out[place..].iter_mut().zip(*turned).for_each(|(to, quad)| *to = quad),
                }
            }
        }
    }
}

/// The levels of sums of a group of four channels: of windows 0, 4, 8, and 12 in the first vector, of 1, 5, 9, and 13 in the
/// second and so on; with a stride of 2, of 0, 2, 4, and 6; 1, 3, 5, and 7; 8, 10, 12, and 14; 9, 11, 13, and 15. Those in doubt
/// are asked of `resolve`, by the number of the vector and the lane.
#[inline(always)]
fn levels<I: Instructions, const IS_PLAIN: bool>(
    scalings: &ScalingLanes,
    sums: [I::I8x4Dots; CHANNELS],
    resolve: impl Fn(usize, usize) -> u32,
) -> Lanes<I8x4Dot> {
    let scalings = scalings.vectors();
    let (mut levels, mut doubts) = (sums, [I::F32::splat(0.0); CHANNELS]);
    let mut greatest = I::F32::splat(f32::MIN);
    for k in 0..CHANNELS {
        (levels[k], doubts[k]) = scalings.levels::<I, IS_PLAIN>(sums[k]);
        [_, greatest] = I::min_max(greatest, doubts[k]);
    }
    let mut quads = Lanes::default();
    I::saturate_to_u8(levels).store(&mut quads[..]);
    if !I::all_negative(greatest) {
        for k in 0..CHANNELS {
            let (mut levels_of, mut doubts_of) = (Lanes::default(), Lanes::default());
            levels[k].store(&mut levels_of[..]);
            doubts[k].store(&mut doubts_of[..]);
            for i in (0..LANES).filter(|&i| is_in_doubt(levels_of[i], doubts_of[i])) {
                let (quad, shift) = (&mut quads[i / CHANNELS * CHANNELS + k].0, 8 * (i % CHANNELS));
                *quad = *quad & !(0xff << shift) | resolve(k, i) << shift;
            }
        }
    }
    quads
}

/// Windows of a stride of 2 in their order.
#[inline(always)]
fn in_order(quads: Lanes<I8x4Dot>) -> Lanes<I8x4Dot> {
    let pairs = bytemuck::cast::<_, [[I8x4Dot; 2]; LANES / 2]>(*quads);
    Aligned(bytemuck::cast::<[[I8x4Dot; 2]; LANES / 2], _>(std::array::from_fn(|i| {
        pairs[2 * (i % 4) + i / 4]
    })))
}
