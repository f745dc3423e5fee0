//! Depthwise convolution of quantised codes with int8 dot products (VNNI).
//!
//! **Loop nest**, outer to inner: group of four channels; row of windows; block of 16 windows; step; vector
//! of four windows. A step is up to four adjacent taps of a row: four adjacent elements are transposed into
//! the taps of four channels, so that one instruction multiplies and adds them all. The sums of a block stay
//! in registers until they are requantised.
//!
//! **Layout.** Images are `[channel / 4, height, width]`; an element holds the codes of four channels. The
//! padded image of a group is copied to scratch memory that stays in the cache.
//!
//! **Threads.** Each thread computes some groups.

use std::ops::Range;

use super::ConvShape;
use super::image_view::ImageView;
use super::phase_planes::PlaneLayout;
use super::quantized_epilogue::{ChannelEpilogue, QuantizedEpilogue};
use super::quantized_filters::IntegerFilters;
use super::requantization::{
    GATED, GENERAL, LINEAR, Requantization, RequantizationForm, Requantizations, set_bits,
};
use crate::buffer::Buffer;
use crate::kernels::fake_quantize::Rule;
use crate::kernels::quantizer::{CHANNELS, Quantizer};
use crate::kernels::sharing;
use crate::kernels::vectors::{Aligned, I8x4Dot, Instructions, Vector, Vectorised, dispatch_int8_dot};
use crate::kernels::window::{WindowAxis, WindowGrid};

/// Lanes of a vector: four windows of four channels.
const LANES: usize = 16;

/// Windows in a block.
const BLOCK: usize = 16;

/// Elements that a block reads from its first element on: with a stride of 2, two vectors and two elements.
const BLOCK_READS: usize = 2 * LANES + 2;

/// The largest value of a padding code that counts as 0, in steps of the quantizer. Tools choose the ends of
/// ranges so that 0 has a code. These ends are up to 255 steps from 0, and rounding changes them by up to half
/// an epsilon.
const NEARLY_ZERO: f32 = 512.0 * f32::EPSILON;

/// One value per lane, aligned to a cache line.
type Lanes<T> = Aligned<[T; LANES]>;

/// One filter per channel.
pub(super) struct QuantizedDepthwise {
    grid: WindowGrid,
    /// The padded image: the only phase plane for a stride of 1.
    layout: PlaneLayout,
    /// The weights of each channel, by group and step.
    filters: Vec<Lanes<I8x4Dot>>,
    /// The start of each step in the padded image, for the first window.
    steps: Vec<usize>,
    /// By group: the requantisation of each lane's channel.
    requantizations: Vec<Requantization<Lanes<f32>>>,
    /// See [`Requantization::codes`].
    form: RequantizationForm,
    /// The code nearest to 0 of each channel, by group.
    padding: Vec<I8x4Dot>,
    /// This field and the next three compute ambiguous results in floats: the filters, the place of each tap
    /// in the padded image, the rules of the codes, and the epilogue.
    integers: IntegerFilters,
    taps: Vec<usize>,
    rules: Vec<Rule<f32>>,
    epilogues: Vec<ChannelEpilogue>,
}

impl QuantizedDepthwise {
    /// Whether windows slide over two axes, with a column stride of at most 2.
    pub fn supports(grid: &WindowGrid) -> bool {
        grid.is_flat() && grid.axes[2].stride <= 2
    }

    /// The same windows, but with a stride of 1. The single phase plane of this grid is the padded image.
    pub fn dense_grid(grid: &WindowGrid) -> WindowGrid {
        let out = std::array::from_fn(|i| (grid.out[i] - 1) * grid.axes[i].stride + 1);
        WindowGrid { axes: grid.axes.map(|axis| WindowAxis { stride: 1, ..axis }), out, ..*grid }
    }

    /// `None` if the image is padded with a code that does not represent 0, up to rounding errors, or if
    /// [`Requantizations::new`] or [`QuantizedEpilogue::channels`] is `None`.
    pub fn new(
        shape: &ConvShape,
        integers: IntegerFilters,
        input: &Quantizer,
        epilogue: &QuantizedEpilogue,
    ) -> Option<Self> {
        let [_, rows, columns] = shape.grid.axes;
        let (padding, rules) = (input.nearest_to_zero(), input.rules().to_vec());
        let codes = padding.iter().flat_map(|quad| quad.0.to_le_bytes());
        let value = |(rule, code): (&Rule<f32>, u8)| match shape.grid.is_padded() {
            true => rule.value(code.into()),
            false => 0.0,
        };
        let padding_values: Vec<f32> = rules.iter().zip(codes).map(value).collect();
        let is_nearly_zero = |(rule, value): (&Rule<f32>, &f32)| value.abs() <= rule.step.abs() * NEARLY_ZERO;
        if !rules.iter().zip(&padding_values).all(is_nearly_zero) {
            return None;
        }
        let layout = PlaneLayout::new(&Self::dense_grid(&shape.grid));
        let taps = layout.tap_starts();
        // Dilated taps are not adjacent.
        let step_len = if columns.dilation == 1 { CHANNELS } else { 1 };
        let steps: Vec<Range<usize>> = (0..rows.kernel)
            .map(|row| row * columns.kernel..(row + 1) * columns.kernel)
            .flat_map(|row| row.clone().step_by(step_len).map(move |tap| tap..row.end.min(tap + step_len)))
            .collect();
        let weights = |channel: usize, step: &Range<usize>| {
            let first = channel * taps.len();
            let codes = integers.codes.get(first + step.start..first + step.end).unwrap_or_default();
            let byte = |i: usize| codes.get(i).copied().unwrap_or(0).cast_unsigned();
            I8x4Dot(u32::from_le_bytes(std::array::from_fn(byte)))
        };
        let mut filters = Vec::new();
        for first in (0..shape.groups).step_by(CHANNELS) {
            let lanes = |step| Aligned(std::array::from_fn(|lane| weights(first + lane % CHANNELS, step)));
            filters.extend(steps.iter().map(lanes));
        }
        let steps = steps.into_iter().map(|step| taps[step.start]).collect();
        let epilogues = epilogue.channels()?;
        let all = Requantizations::new(
            &integers,
            |channel| (rules[channel], padding_values[channel]),
            None,
            &epilogues,
        )?;
        let requantizations = all.filters.as_chunks().0.iter().map(by_lane).collect();
        Some(Self {
            grid: shape.grid,
            layout,
            filters,
            steps,
            requantizations,
            form: all.form,
            padding,
            integers,
            taps,
            rules,
            epilogues,
        })
    }

    /// Convolves one image.
    pub fn run(&self, data: &[I8x4Dot], out: &mut [I8x4Dot]) {
        let (area, windows) = (self.grid.area(), self.grid.windows());
        let products = windows.saturating_mul(CHANNELS * self.taps.len());
        sharing::in_parts(out, windows, sharing::PRODUCTS / products.max(1), |first, out| {
            let mut padded = Buffer::scratch(self.layout.len + BLOCK_READS);
            padded[self.layout.len..].fill(I8x4Dot::default());
            for (group, out) in (first..).zip(out.chunks_exact_mut(windows)) {
                let strides = [0, self.grid.axes[2].size as isize, 1];
                let image = ImageView {
                    data,
                    start: group * area,
                    image_stride: 0,
                    channels: 1,
                    channel_stride: 0,
                    strides,
                };
                self.layout.split(&image, Some(self.padding[group]), &mut padded);
                dispatch_int8_dot(Group { of: self, group, image: &padded, out });
            }
        });
    }

    /// Computes the code of a result in floats, given the row and column of its window.
    #[inline(never)]
    fn code_of_floats(&self, image: &[I8x4Dot], window: [usize; 2], channel: usize) -> u32 {
        dispatch_int8_dot(FloatSum { of: self, image, window, channel })
    }
}

/// Computes the code of one result in floats.
struct FloatSum<'a> {
    of: &'a QuantizedDepthwise,
    image: &'a [I8x4Dot],
    window: [usize; 2],
    channel: usize,
}

impl Vectorised for FloatSum<'_> {
    type Output = u32;

    #[inline(always)]
    fn run<I: Instructions>(self) -> u32 {
        let Self { of, image, window: [y, x], channel } = self;
        let (rule, shift, [_, rows, columns]) = (of.rules[channel], 8 * (channel % CHANNELS), of.grid.axes);
        let start = y * rows.stride * of.layout.row_len() + x * columns.stride;
        let mut sum = 0f32;
        for row in rows.taps_inside(y) {
            for tap in columns.taps_inside(x).map(|column| row * columns.kernel + column) {
                let I8x4Dot(quad) = image.get(start + of.taps[tap]).copied().unwrap_or_default();
                let value = rule.value(((quad >> shift) & 0xff) as f32);
                let code = of.integers.codes[channel * of.taps.len() + tap];
                sum = of.integers.weight(channel, code).mul_add(value, sum);
            }
        }
        of.epilogues[channel].code(sum)
    }
}

/// The requantisation of four channels, by lane.
fn by_lane(channels: &[Requantization<f32>; CHANNELS]) -> Requantization<Lanes<f32>> {
    let lanes = |part: fn(&Requantization<f32>) -> f32| {
        Aligned(std::array::from_fn(|lane| part(&channels[lane % CHANNELS])))
    };
    Requantization {
        factor: lanes(|of| of.factor),
        offset: lanes(|of| of.offset),
        gate: [lanes(|of| of.gate[0]), lanes(|of| of.gate[1])],
        slopes: [lanes(|of| of.slopes[0]), lanes(|of| of.slopes[1])],
        shift: lanes(|of| of.shift),
        low: lanes(|of| of.low),
        high: lanes(|of| of.high),
        doubt: lanes(|of| of.doubt),
    }
}

/// Four channels and their padded image.
struct Group<'a> {
    of: &'a QuantizedDepthwise,
    group: usize,
    image: &'a [I8x4Dot],
    out: &'a mut [I8x4Dot],
}

impl Vectorised for Group<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        // See `QuantizedConvolution::is_fast`.
        if I::I8x4Dots::LANES != LANES {
            return;
        }
        // A 3x3 kernel has three steps, one per row.
        match (self.of.form, self.of.steps.len()) {
            (LINEAR, 3) => self.apply::<I, LINEAR, 3>(),
            (LINEAR, _) => self.apply::<I, LINEAR, 0>(),
            (GATED, 3) => self.apply::<I, GATED, 3>(),
            (GATED, _) => self.apply::<I, GATED, 0>(),
            _ => self.apply::<I, GENERAL, 0>(),
        }
    }
}

impl Group<'_> {
    /// `STEPS` is the number of steps, or 0 for any.
    #[inline(always)]
    fn apply<I: Instructions, const FORM: RequantizationForm, const STEPS: usize>(self) {
        let Self { of, group, image, out } = self;
        let ([_, rows, columns], [_, height, width]) = (of.grid.axes, of.grid.out);
        let row_len = of.layout.row_len();
        let count = if STEPS > 0 { STEPS } else { of.steps.len() };
        let (filter, steps) = (&of.filters[group * count..][..count], &of.steps[..count]);
        // The starts of a block's four vectors. Vector `k` holds windows `k + 4 * i`. With a stride of 2, the
        // first holds windows 0, 2, 4, 6, the second 1, 3, 5, 7, and so on: see `interleave`.
        let starts = if columns.stride == 1 { [0, 1, 2, 3] } else { [0, 2, BLOCK, BLOCK + 2] };
        for y in 0..height {
            for first in (0..width).step_by(BLOCK) {
                let at = y * rows.stride * row_len + first * columns.stride;
                let mut sums = [I::I8x4Dots::splat(I8x4Dot::default()); CHANNELS];
                for (weights, step) in filter.iter().zip(steps) {
                    let weights = I::I8x4Dots::load(&weights[..]);
                    let Some(line) = image.get(at + step..at + step + BLOCK_READS) else { break };
                    for i in 0..CHANNELS {
                        let values = I::transpose_bytes(I::I8x4Dots::load(&line[starts[i]..]));
                        sums[i] = weights.multiply_add(values, sums[i]);
                    }
                }
                let resolve = |k: usize, lane: usize| {
                    let column = first + (starts[k] + lane / CHANNELS * CHANNELS) / columns.stride;
                    of.code_of_floats(image, [y, column], group * CHANNELS + lane % CHANNELS)
                };
                let mut codes = requantize::<I, FORM>(&of.requantizations[group], sums, resolve);
                if columns.stride == 2 {
                    codes = interleave(codes);
                }
                // The next row overwrites codes beyond the end of this one.
                let window = y * width + first;
                match out.get_mut(window..window + BLOCK) {
                    Some(out) => out.copy_from_slice(&codes[..]),
                    None => out[window..].iter_mut().zip(*codes).for_each(|(to, code)| *to = code),
                }
            }
        }
    }
}

/// The codes of a block's sums: element `4 * i + k` holds lanes `4 * i` to `4 * i + 3` of vector `k`.
/// `resolve` computes an ambiguous code from its vector and lane.
#[inline(always)]
fn requantize<I: Instructions, const FORM: RequantizationForm>(
    requantization: &Requantization<Lanes<f32>>,
    sums: [I::I8x4Dots; CHANNELS],
    resolve: impl Fn(usize, usize) -> u32,
) -> Lanes<I8x4Dot> {
    let requantization = requantization.map(|lanes| I::F32::load(&lanes[..]));
    let (mut codes, mut doubts) = (sums, [I::F32::splat(0.0); CHANNELS]);
    let mut largest = I::F32::splat(f32::MIN);
    for k in 0..CHANNELS {
        (codes[k], doubts[k]) = requantization.codes::<I, FORM>(sums[k]);
        [_, largest] = I::min_max(largest, doubts[k]);
    }
    let mut quads = Lanes::default();
    I::saturate_to_u8(codes).store(&mut quads[..]);
    if I::positive_lanes(largest) != 0 {
        for k in 0..CHANNELS {
            for i in set_bits(I::positive_lanes(doubts[k])) {
                let (quad, shift) = (&mut quads[i / CHANNELS * CHANNELS + k].0, 8 * (i % CHANNELS));
                *quad = *quad & !(0xff << shift) | resolve(k, i) << shift;
            }
        }
    }
    quads
}

/// Reorders windows of stride 2 into sequence.
#[inline(always)]
fn interleave(quads: Lanes<I8x4Dot>) -> Lanes<I8x4Dot> {
    let pairs = bytemuck::cast::<_, [[I8x4Dot; 2]; LANES / 2]>(*quads);
    Aligned(bytemuck::cast::<[[I8x4Dot; 2]; LANES / 2], _>(std::array::from_fn(|i| {
        pairs[2 * (i % 4) + i / 4]
    })))
}
