//! Convolutions of levels with integer filters: sums of products of bytes, which are exact.

use super::images::Channels;
use super::planes::{Cuts, Grid, Planes};
use super::quantized_depthwise::Depthwise;
use crate::buffer::Buffer;
use crate::kernels::fake_quantize::{Rule, nearest};
use crate::kernels::gemm::{
    MOST_COLUMNS, Matrix, PackedLhs, PackedRhs, PlaceTile, TileAt, part_of_terms, product, write_row,
};
use crate::kernels::quantizer::{CHANNELS, Quantizer};
use crate::kernels::vectors::{Isa, Quad, has_byte_products};
use crate::kernels::window::{Window, WindowAxis};
use crate::{ElementType, Tensor, TensorError};

/// Longer filters could overflow 32 bits.
const LONGEST: usize = 1 << 15;

/// Fewer windows leave most of a panel empty.
const FEW_WINDOWS: usize = 8;

/// Filters `(code - zero) * scale`, where codes are bytes. `[O, C, height, width]`, or `[C, 1, 1, height, width]` for one
/// filter a channel; zeros and scales have one element for all, or one a filter on their first axis.
#[derive(Copy, Clone, Debug)]
pub struct QuantizedFilters<'a> {
    /// Integers of 8 bits.
    pub codes: &'a Tensor,
    /// 0 if there are none.
    pub zeros: Option<&'a Tensor>,
    /// Of `f32`.
    pub scales: &'a Tensor,
}

/// A convolution of the levels of a [`Quantizer`] with [`QuantizedFilters`], with what follows it.
///
/// The levels of the result are those that [`convolution`](super::convolution) of floats gives. Its sums are rounded at
/// every step; the exact ones decide which level is meant, unless they are as near to the middle between two as the
/// rounding errors may be: there, the sum is computed of floats, in the same order.
pub struct QuantizedConvolution {
    filters: Filters,
    cuts: Cuts,
    /// The level of 0 in each channel of the input.
    padding: Vec<u8>,
    /// Dims of one image of the input, and of the output.
    input: [usize; 3],
    output: [usize; 3],
    places: [Option<usize>; 3],
}

enum Filters {
    /// The rows of a product.
    Dense(PackedLhs<Quad>, Box<Rescaling>),
    Depthwise(Depthwise),
}

/// What follows the sums of a [`QuantizedConvolution`].
#[derive(Copy, Clone, Debug)]
pub struct AfterSums<'a> {
    /// Is added: one element for all channels, or one a channel.
    pub bias: Option<&'a Tensor>,
    /// Bounds of the results before they are quantized.
    pub clamp: Option<[f32; 2]>,
    /// Gives the levels of the results.
    pub quantizer: &'a Quantizer,
}

impl AfterSums<'_> {
    /// The bias of each of so many channels.
    fn biases(&self, outputs: usize) -> Option<Vec<f32>> {
        let Some(bias) = self.bias else { return Some(vec![0.0; outputs]) };
        bias.expect(ElementType::F32).ok()?;
        bias.broadcast_to(&[1, outputs, 1, 1]).ok()?.to_f32_vec().ok()
    }

    /// The rules of the quantizer, within the bounds.
    fn rules(&self) -> Vec<Rule<f32>> {
        let [min, max] = self.clamp.unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
        let bounded = |rule: &Rule<f32>| {
            let within = |bound: f32| bound.max(rule.low).min(rule.high);
            Rule { low: within(min), high: within(max), ..*rule }
        };
        self.quantizer.rules().iter().map(bounded).collect()
    }
}

impl QuantizedConvolution {
    /// Whether this machine has instructions that make it fast.
    pub fn is_fast() -> bool {
        has_byte_products()
    }

    /// The convolution of images of levels of `input` whose spatial sizes are `spatial`. `None` where sums could
    /// overflow, or padding is no level, or the filters have another form, or there are few windows.
    pub fn new(
        filters: QuantizedFilters,
        input: &Quantizer,
        spatial: [usize; 2],
        window: &Window,
        after: AfterSums,
    ) -> Option<Self> {
        let (outputs, depth, kernel) = match *filters.codes.dims() {
            [outputs, depth, height, width] => (outputs, depth, [height, width]),
            [outputs, 1, 1, height, width] => (outputs, 1, [height, width]),
            _ => return None,
        };
        let is_depthwise = filters.codes.rank() == 5;
        let (channels, taps) = (input.channels(), kernel[0] * kernel[1]);
        // Sums over one channel and several taps have another order.
        let fits =
            if is_depthwise { outputs == channels } else { depth == channels && (depth > 1 || taps == 1) };
        let is_short = (1..=LONGEST).contains(&(depth * taps));
        if !fits || !is_short || outputs == 0 || after.quantizer.channels() != outputs {
            return None;
        }
        let windows = window.output_dims(&spatial, &kernel).ok()?;
        let axes = window.axes(&spatial, &kernel).ok()?;
        let places = WindowAxis::places(&axes, &windows);
        let (axes, out) = WindowAxis::three(&axes, &windows);
        let grid = Grid { axes, out };
        if grid.windows() <= FEW_WINDOWS || spatial.contains(&0) {
            return None;
        }
        let cuts = Cuts::new(&grid)?;
        let is_padded = axes.iter().any(|axis| axis.before > 0 || axis.after > 0);
        let padding = match is_padded {
            true => input.zero_levels()?,
            false => vec![0; channels.next_multiple_of(CHANNELS)],
        };
        let (codes, scales) = (filters.integers()?, filters.by_filter(filters.scales)?);
        // Subnormal factors would be lost.
        if !scales.iter().all(|scale| scale.is_normal() || *scale == 0.0) {
            return None;
        }
        let filters = match is_depthwise {
            true => {
                let weights = codes.chunks_exact(taps).zip(&scales);
                let weights: Vec<f32> = weights
                    .flat_map(|(filter, &scale)| filter.iter().map(move |&code| f32::from(code) * scale))
                    .collect();
                let (biases, rules) = (after.biases(outputs)?, after.rules());
                Filters::Depthwise(Depthwise::new(&weights, taps, input.rules(), &biases, &rules))
            }
            false => {
                let rescaling = Rescaling::new(&codes, scales, taps, input.uniform()?, after)?;
                Filters::Dense(dense(&codes, outputs, depth, taps), Box::new(rescaling))
            }
        };
        let input = [channels.div_ceil(CHANNELS), spatial[0], spatial[1]];
        let output = [outputs.div_ceil(CHANNELS), *windows.first()?, *windows.get(1)?];
        Some(Self { filters, cuts, padding, input, output, places })
    }

    /// The images of levels of images of levels.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn run(&self, images: &Tensor) -> Result<Tensor, TensorError> {
        let refuse =
            || TensorError::mismatch("cannot convolve {} as levels of {}", images.dims(), &self.input);
        let [batch, rest @ ..] = images.dims() else { return Err(refuse()) };
        if *rest != self.input {
            return Err(refuse());
        }
        let [groups, height, width] = self.output;
        let windows = height * width;
        let quads: &[Quad] = bytemuck::cast_slice(images.as_slice::<u32>()?);
        let mut out = Buffer::any(batch * groups * windows)?;
        let images = quads.chunks_exact(self.input.iter().product());
        for (image, out) in images.zip(out.chunks_exact_mut(groups * windows)) {
            self.image(self.channels(image), out, windows)?;
        }
        Tensor::from_buffer(ElementType::U32, &[*batch, groups, height, width], out)
    }

    /// The channels of an image, four in each.
    fn channels<'a>(&self, data: &'a [Quad]) -> Channels<'a, Quad> {
        let [count, height, width] = self.input;
        let strides = [width as isize, 1];
        let steps = self.places.map(|axis| axis.and_then(|axis| strides.get(axis).copied()).unwrap_or(0));
        Channels { data, first: 0, count, step: (height * width) as isize, steps }
    }

    /// What is around the channels of a group of four.
    fn padding(&self, group: usize) -> Quad {
        let bytes = self.padding[group * CHANNELS..].first_chunk().copied();
        Quad(u32::from_le_bytes(bytes.unwrap_or_default()))
    }

    fn image(&self, image: Channels<Quad>, out: &mut [Quad], windows: usize) -> Result<(), TensorError> {
        match &self.filters {
            Filters::Depthwise(filters) => {
                filters.slide(&self.cuts, image, |group| self.padding(group), out.chunks_exact_mut(windows))
            }
            Filters::Dense(left, rescaling) => {
                // All input channels have one range, and the same padding.
                let planes = Planes::new(&self.cuts, image, self.padding(0))?;
                let starts = planes.starts(0..image.count);
                let right = &PackedRhs::of_lines(left.isa(), planes.data(), starts, self.cuts.windows());
                product(left, right, out, windows, &ToLevels { rescaling, right });
                Ok(())
            }
        }
    }
}

/// Filters of so many elements `[outputs, depth, taps]` as `[outputs, taps, depth / 4]`, with zeros for the last channels.
fn by_tap(codes: &[i8], length: usize, taps: usize) -> Vec<[i8; CHANNELS]> {
    let groups = (length / taps).div_ceil(CHANNELS);
    let mut all = Vec::with_capacity(codes.len() / length * taps * groups);
    for filter in codes.chunks_exact(length) {
        for tap in 0..taps {
            let code = |channel: usize| filter.get(channel * taps + tap).copied().unwrap_or(0);
            all.extend((0..groups).map(|group| std::array::from_fn(|k| code(group * CHANNELS + k))));
        }
    }
    all
}

/// Filters `[outputs, depth, taps]` as the left side of a product: four channels in an element, then by tap.
fn dense(codes: &[i8], outputs: usize, depth: usize, taps: usize) -> PackedLhs<Quad> {
    let groups = depth.div_ceil(CHANNELS);
    let mut rows = Vec::with_capacity(outputs * groups * taps);
    for filter in by_tap(codes, depth * taps, taps).chunks_exact(groups * taps) {
        let quad = |codes: [i8; CHANNELS]| Quad(u32::from_le_bytes(codes.map(i8::cast_unsigned)));
        rows.extend(
            (0..groups).flat_map(|group| (0..taps).map(move |tap| quad(filter[tap * groups + group]))),
        );
    }
    // Tiles of AVX2 are no multiple of four rows high.
    let isa = if has_byte_products() { Isa::best() } else { Isa::Base };
    PackedLhs::pack(isa, &Matrix::packed(&rows, outputs, groups * taps)).in_one_step()
}

impl QuantizedFilters<'_> {
    /// Codes less their zeros, if these are bytes.
    fn integers(&self) -> Option<Vec<i8>> {
        if !matches!(self.codes.element_type(), ElementType::I8 | ElementType::U8) {
            return None;
        }
        let codes = self.codes.to_i64_vec().ok()?;
        let zeros = match self.zeros {
            Some(zeros) => self.by_filter(zeros)?,
            None => vec![0.0; self.codes.dims()[0]],
        };
        let length = codes.len().checked_div(zeros.len())?;
        if length == 0 || zeros.iter().any(|zero| zero.fract() != 0.0 || zero.abs() > 255.0) {
            return None;
        }
        let filters = codes.chunks_exact(length).zip(&zeros);
        let all = filters.flat_map(|(filter, &zero)| filter.iter().map(move |code| code - zero as i64));
        all.map(|code| i8::try_from(code).ok()).collect()
    }

    /// An element for each filter.
    fn by_filter(&self, tensor: &Tensor) -> Option<Vec<f32>> {
        let outputs = *self.codes.dims().first()?;
        let values = tensor.cast(ElementType::F32).ok()?.to_f32_vec().ok()?;
        match *values {
            [one] => Some(vec![one; outputs]),
            _ => (tensor.dims().first() == Some(&outputs) && values.len() == outputs).then_some(values),
        }
    }
}

/// From the sums of dense filters to levels.
struct Rescaling {
    /// By filter; as many as are a multiple of four.
    scalings: Vec<Scaling>,
    /// For results in doubt: the filters `[outputs, taps, depth / 4]`, and what they are multiplied with.
    codes: Vec<[i8; CHANNELS]>,
    scales: Vec<f32>,
    biases: Vec<f32>,
    rules: Vec<Rule<f32>>,
    taps: usize,
    input: Rule<f32>,
}

/// From the sums of a filter to their levels: `sum * factor + offset`, within bounds and rounded.
#[derive(Copy, Clone, Default)]
struct Scaling {
    factor: f32,
    offset: f32,
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
    fn new(codes: &[i8], scales: Vec<f32>, taps: usize, input: Rule<f32>, after: AfterSums) -> Option<Self> {
        let outputs = scales.len();
        let length = codes.len() / outputs;
        let (biases, rules) = (after.biases(outputs)?, after.rules());
        let mut scalings = Vec::with_capacity(outputs.next_multiple_of(CHANNELS));
        let largest = input.value(0.0).abs().max(input.value(255.0).abs());
        let filters = codes.chunks_exact(length).zip(scales.iter().zip(&biases).zip(&rules));
        for (filter, ((&scale, &bias), rule)) in filters {
            let sum: i64 = filter.iter().map(|&code| i64::from(code)).sum();
            let squares: i64 = filter.iter().map(|&code| i64::from(code) * i64::from(code)).sum();
            let level = |x: f64| x * f64::from(rule.scale) + f64::from(rule.shift);
            let result = f64::from(input.output_low) * f64::from(scale) * sum as f64 + f64::from(bias);
            let factor = f64::from(input.step) * f64::from(scale) * f64::from(rule.scale);
            let (factor, offset) = (factor as f32, level(result) as f32);
            if !(factor.is_finite() && offset.is_finite()) {
                return None;
            }
            // Results beyond the range are not near the middle between levels.
            let range = rule.low.abs().max(rule.high.abs()) + bias.abs();
            let partial = largest * scale.abs() * (squares as f32).sqrt() + range;
            let doubt = DOUBT * f32::EPSILON / 2.0 * (length as f32).sqrt() * partial * rule.scale;
            let level_doubt = LEVEL_DOUBT + PART_DOUBT * (offset.abs() + rule.shift.abs());
            let reliable = (0.5 - level_doubt - doubt).max(0.0);
            let [low, high] = [rule.low, rule.high].map(|bound| level(bound.into()) as f32);
            scalings.push(Scaling { factor, offset, low, high, reliable });
        }
        scalings.resize(outputs.next_multiple_of(CHANNELS), Scaling::default());
        let codes = by_tap(codes, length, taps);
        Some(Self { scalings, codes, scales, biases, rules, taps, input })
    }

    /// The level of a result, computed of floats.
    #[inline(always)]
    fn level_of_floats(&self, right: &PackedRhs<Quad>, row: usize, column: usize) -> u32 {
        let length = self.codes.len() / self.scales.len();
        let filter = &self.codes[row * length..][..length];
        let (groups, scale, input) = (length / self.taps, self.scales[row], self.input);
        let partial = if self.taps == 1 { part_of_terms(groups * CHANNELS) / CHANNELS } else { usize::MAX };
        let (mut total, mut sum) = (0f32, 0f32);
        for (tap, filter) in filter.chunks_exact(groups).enumerate() {
            for (group, codes) in filter.iter().enumerate() {
                let quad = right.at(group * self.taps + tap, column).unwrap_or_default();
                let values = quad.0.to_le_bytes().map(|level| input.value(f32::from(level)));
                let weights = codes.map(|code| f32::from(code) * scale);
                for k in 0..CHANNELS {
                    sum = weights[k].mul_add(values[k], sum);
                }
                if (group + 1) % partial == 0 {
                    (total, sum) = (total + sum, 0.0);
                }
            }
        }
        self.rules[row].level(total + sum + self.biases[row])
    }
}

/// Writes results as levels, four rows of the product in one of the output.
struct ToLevels<'a> {
    rescaling: &'a Rescaling,
    right: &'a PackedRhs<'a, Quad>,
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
                self.levels(row + k, sums, &mut quads, doubts);
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
    fn levels(
        &self,
        row: usize,
        sums: &[Quad; MOST_COLUMNS],
        quads: &mut [u32; MOST_COLUMNS],
        doubts: &mut [u32; MOST_COLUMNS],
    ) {
        let shift = 8 * (row % CHANNELS);
        let Scaling { factor, offset, low, high, reliable } = self.rescaling.scalings[row];
        for i in 0..MOST_COLUMNS {
            let (level, distance) = nearest((sums[i].sum() as f32).mul_add(factor, offset), low, high);
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

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::kernels::{BinaryOp, UnaryOp, fake_quantize, group_convolution};

    fn noise(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7919 + seed * 131) % 1013) as f32 / 300.0 - 1.5).collect()
    }

    /// A convolution of levels and what floats give. Scales are no powers of two: sums of floats are rounded.
    fn check(dims: [usize; 4], filters: &[usize], window: &Window, has_zeros: bool, is_by_channel: bool) {
        let [_, channels, height, width] = dims;
        let outputs = filters[0];
        let len: usize = filters.iter().product();
        let codes: Vec<i64> = (0..len as i64).map(|i| i * 37 % 96 - 48).collect();
        let codes = Tensor::from_vec(filters, codes).unwrap().cast(ElementType::I8).unwrap();
        let by_filter = |of: fn(usize) -> f32| {
            let mut dims = vec![1; filters.len()];
            dims[0] = outputs;
            Tensor::from_vec(&dims, (0..outputs).map(of).collect()).unwrap()
        };
        let scales = by_filter(|o| 0.0077 + (o * 13 % 31) as f32 / 1000.0);
        let zeros = by_filter(|o| (o % 5) as f32 - 2.0);
        let zeros = has_zeros.then_some(&zeros);
        let ends = |ends: fn(usize) -> f32| {
            let count = if is_by_channel { channels } else { 1 };
            Tensor::from_vec(&[count, 1, 1], (0..count).map(ends).collect()).unwrap()
        };
        // Steps of powers of two; 0 is a level.
        let low = ends(|c| [-64.0, 0.0, -8.0][c % 3] / 64.0);
        let high = ends(|c| [191.0, 255.0, 247.0][c % 3] / 64.0);
        let input = Quantizer::new([&low, &high, &low, &high], 256, channels).unwrap();
        let x = Tensor::from_vec(&dims, noise(dims.iter().product(), 1)).unwrap();
        let bias =
            Tensor::from_vec(&[1, outputs, 1, 1], (0..outputs).map(|o| (o % 9) as f32 / 4.0 - 1.0).collect())
                .unwrap();
        let floats = codes.cast(ElementType::F32).unwrap();
        let floats = zeros.map_or(Ok(floats.clone()), |zeros| BinaryOp::Sub.apply(&floats, zeros)).unwrap();
        let floats = BinaryOp::Mul.apply(&floats, &scales).unwrap();
        let grouped = if filters.len() == 5 { floats } else { floats.unsqueeze(0).unwrap() };
        let quantized = fake_quantize(&x, [&low, &high, &low, &high], 256).unwrap();
        let sums = group_convolution(&quantized, &grouped, window).unwrap();
        let sums = BinaryOp::Add.apply(&sums, &bias).unwrap();
        let clamped = UnaryOp::Clamp { min: -3.0, max: 6.0 }.apply(&sums).unwrap();
        let filters = QuantizedFilters { codes: &codes, zeros, scales: &scales };
        let levels = input.quantize(&x).unwrap();
        for range in [[-20.0f32, 35.0], [-2.5, 2.8]] {
            let [out_low, out_high] = range.map(Tensor::scalar);
            let out_ends = [&out_low, &out_high, &out_low, &out_high];
            let output = Quantizer::new(out_ends, 256, outputs).unwrap();
            let expected = fake_quantize(&clamped, out_ends, 256).unwrap();
            let after = AfterSums { bias: Some(&bias), clamp: Some([-3.0, 6.0]), quantizer: &output };
            let convolution =
                QuantizedConvolution::new(filters, &input, [height, width], window, after).unwrap();
            let run = || output.dequantize(&convolution.run(&levels).unwrap()).unwrap();
            assert_eq!(run(), expected);
            #[cfg(feature = "threads")]
            {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
                assert_eq!(pool.install(run), expected);
            }
        }
    }

    #[test]
    fn dense_filters_give_what_floats_give() {
        for has_zeros in [false, true] {
            check([1, 8, 7, 7], &[13, 8, 1, 1], &Window::dense(2), has_zeros, false);
            check([2, 3, 11, 9], &[5, 3, 3, 3], &padded(1, 2, 1), has_zeros, false);
            check([1, 6, 12, 5], &[16, 6, 3, 1], &padded(1, 1, 1), has_zeros, false);
            check([1, 64, 40, 40], &[48, 64, 1, 1], &Window::dense(2), has_zeros, false);
        }
        // Among so many, floats round some to another level than the exact sum has.
        check([1, 64, 64, 64], &[256, 64, 1, 1], &Window::dense(2), true, false);
    }

    #[test]
    fn filters_of_one_channel_give_what_floats_give() {
        for is_by_channel in [false, true] {
            check([1, 8, 7, 9], &[8, 1, 1, 3, 3], &padded(1, 1, 1), true, is_by_channel);
            check([2, 6, 14, 11], &[6, 1, 1, 5, 5], &padded(2, 2, 1), false, is_by_channel);
            check([1, 3, 20, 20], &[3, 1, 1, 3, 3], &padded(2, 1, 2), false, is_by_channel);
            check([1, 40, 50, 50], &[40, 1, 1, 3, 3], &padded(0, 1, 1), false, is_by_channel);
        }
    }

    fn padded(pad: isize, stride: usize, dilation: usize) -> Window {
        Window {
            strides: smallvec![stride; 2],
            dilations: smallvec![dilation; 2],
            pads_begin: smallvec![pad; 2],
            pads_end: smallvec![pad; 2],
        }
    }

    #[test]
    fn padding_that_is_no_level_and_ranges_by_channel_are_declined() {
        let codes = Tensor::from_vec(&[4, 4, 3, 3], vec![1i8; 144]).unwrap();
        let [scales, low, high] = [0.5f32, 0.3, 7.1].map(Tensor::scalar);
        let filters = QuantizedFilters { codes: &codes, zeros: None, scales: &scales };
        let input = Quantizer::new([&low, &high, &low, &high], 256, 4).unwrap();
        let after = AfterSums { bias: None, clamp: None, quantizer: &input };
        let new = |input: &Quantizer, window| {
            QuantizedConvolution::new(filters, input, [9, 9], &window, after).is_some()
        };
        assert!(new(&input, padded(0, 1, 1)));
        assert!(!new(&input, padded(1, 1, 1)));
        let highs = Tensor::from_vec(&[4, 1, 1], vec![1f32, 2.0, 3.0, 4.0]).unwrap();
        let by_channel = Quantizer::new([&low, &highs, &low, &highs], 256, 4).unwrap();
        assert!(!new(&by_channel, padded(0, 1, 1)));
    }
}
