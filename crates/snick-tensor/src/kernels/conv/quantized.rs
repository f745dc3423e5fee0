//! Convolutions of levels with integer filters: sums of products of bytes, which are exact.

use super::after_sums::{AfterSum, AfterSums, Line};
use super::images::Channels;
use super::planes::{Cuts, Grid, Planes};
use super::quantized_depthwise::Depthwise;
use crate::buffer::Buffer;
use crate::kernels::fake_quantize::{Rule, nearest};
use crate::kernels::gemm::{
    Lines, MOST_COLUMNS, Matrix, PackedLhs, PackedRhs, PlaceTile, TileAt, part_of_terms, product, write_row,
};
use crate::kernels::quantizer::{CHANNELS, NEAR, Quantizer};
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
        after: &AfterSums,
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
        let (padding, padding_error) = match is_padded {
            true => input.zero_levels()?,
            false => (vec![0; channels.next_multiple_of(CHANNELS)], 0.0),
        };
        let integers = filters.integers()?;
        let filters = match is_depthwise {
            // Floats of levels are what is summed.
            true if padding_error > 0.0 => return None,
            true => {
                let filters = (0..outputs).zip(integers.codes.chunks_exact(taps));
                let weights: Vec<f32> = filters
                    .flat_map(|(row, filter)| filter.iter().map(move |&code| (row, code)))
                    .map(|(row, code)| integers.weight(row, code))
                    .collect();
                Filters::Depthwise(Depthwise::new(&weights, taps, input.rules(), &after.channels()?))
            }
            false => {
                let outside = (padding_error > 0.0).then(|| Outside::new(&cuts, spatial, places));
                let padding = Padding { error: padding_error, outside };
                let rescaling = Rescaling::new(integers, [depth, taps], input.uniform()?, padding, after)?;
                let left = dense(&rescaling.by_tap, outputs, depth.div_ceil(CHANNELS), taps);
                Filters::Dense(left, Box::new(rescaling))
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
            self.image(channels(self.input, self.places, image), out, windows)?;
        }
        Tensor::from_buffer(ElementType::U32, &[*batch, groups, height, width], out)
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

/// The channels of an image, four in each.
fn channels(
    [count, height, width]: [usize; 3],
    places: [Option<usize>; 3],
    data: &[Quad],
) -> Channels<'_, Quad> {
    let strides = [width as isize, 1];
    let steps = places.map(|axis| axis.and_then(|axis| strides.get(axis).copied()).unwrap_or(0));
    Channels { data, first: 0, count, step: (height * width) as isize, steps }
}

/// What is around images whose channels have one range.
struct Padding {
    /// How far from 0 the value of its level is.
    error: f32,
    /// Where zeros are meant, if levels have another value.
    outside: Option<Outside>,
}

/// Says which elements of windows are padding.
struct Outside {
    /// The planes of a channel: 0 outside of the image.
    planes: Vec<Quad>,
    /// By tap.
    starts: Vec<usize>,
    windows: Lines,
}

impl Outside {
    fn new(cuts: &Cuts, spatial: [usize; 2], places: [Option<usize>; 3]) -> Self {
        let image = vec![Quad(1); spatial.iter().product()];
        let mut planes = vec![Quad(0); cuts.len];
        cuts.cut(&channels([1, spatial[0], spatial[1]], places, &image), Quad(0), &mut planes);
        Self { planes, starts: cuts.starts(), windows: cuts.windows() }
    }

    fn is_padding(&self, tap: usize, window: usize) -> bool {
        self.planes[self.starts[tap] + self.windows.at(window)] == Quad(0)
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

/// Filters `[outputs, taps, depth / 4]` as the left side of a product: four channels in an element, then by tap.
fn dense(by_tap: &[[i8; CHANNELS]], outputs: usize, groups: usize, taps: usize) -> PackedLhs<Quad> {
    let mut rows = Vec::with_capacity(by_tap.len());
    for filter in by_tap.chunks_exact(groups * taps) {
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
    /// The same with integer zeros that codes already lack. `None` if codes are no bytes then, or zeros no integers.
    fn integers(&self) -> Option<IntegerFilters> {
        if !matches!(self.codes.element_type(), ElementType::I8 | ElementType::U8) {
            return None;
        }
        let codes = self.codes.to_i64_vec().ok()?;
        let zeros = match self.zeros {
            Some(zeros) => self.by_filter(zeros)?,
            None => vec![0.0; self.codes.dims()[0]],
        };
        let length = codes.len().checked_div(zeros.len())?;
        let is_fine = |zero: f32| zero.abs() <= 255.0 && (zero - zero.round()).abs() <= NEAR;
        if length == 0 || !zeros.iter().all(|&zero| is_fine(zero)) {
            return None;
        }
        let filters = codes.chunks_exact(length).zip(&zeros);
        let all = filters.flat_map(|(filter, zero)| filter.iter().map(|code| code - zero.round() as i64));
        let codes = all.map(|code| i8::try_from(code).ok()).collect::<Option<_>>()?;
        let rests = zeros.iter().map(|zero| zero - zero.round()).collect();
        let scales = self.by_filter(self.scales)?;
        // Subnormal factors would be lost.
        let is_fine = |scale: &f32| scale.is_normal() || *scale == 0.0;
        scales.iter().all(is_fine).then_some(IntegerFilters { codes, rests, scales })
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

/// Filters of integers.
struct IntegerFilters {
    codes: Vec<i8>,
    /// By filter, how much the zero is more than an integer. Tools write zeros that are 0 but for rounding errors.
    rests: Vec<f32>,
    /// By filter.
    scales: Vec<f32>,
}

impl IntegerFilters {
    /// What a code of a filter stands for.
    #[inline(always)]
    fn weight(&self, filter: usize, code: i8) -> f32 {
        (f32::from(code) - self.rests[filter]) * self.scales[filter]
    }
}

/// From the sums of dense filters to levels.
struct Rescaling {
    /// By filter; as many as are a multiple of four.
    scalings: Vec<Scaling>,
    /// For results in doubt: the filters, also as `[outputs, taps, depth / 4]`, and what follows their sums.
    filters: IntegerFilters,
    by_tap: Vec<[i8; CHANNELS]>,
    depth: usize,
    taps: usize,
    after: Vec<AfterSum>,
    input: Rule<f32>,
    padding: Padding,
    /// Whether any scaling has another line than the identity.
    is_bent: bool,
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
    fn new(
        filters: IntegerFilters,
        [depth, taps]: [usize; 2],
        input: Rule<f32>,
        padding: Padding,
        after: &AfterSums,
    ) -> Option<Self> {
        let (outputs, length) = (filters.scales.len(), depth * taps);
        let after = after.channels()?;
        let is_bent = after.iter().any(|after| after.line != Line::IDENTITY);
        let mut scalings = Vec::with_capacity(outputs.next_multiple_of(CHANNELS));
        let largest = input.value(0.0).abs().max(input.value(255.0).abs());
        for (row, (filter, AfterSum { bias, line, rule })) in
            filters.codes.chunks_exact(length).zip(&after).enumerate()
        {
            let scale = filters.scales[row];
            let sum: i64 = filter.iter().map(|&code| i64::from(code)).sum();
            let squares: i64 = filter.iter().map(|&code| i64::from(code) * i64::from(code)).sum();
            let level = |x: f64| x * f64::from(rule.scale) + f64::from(rule.shift);
            let to_level = f64::from(line.scale) * f64::from(rule.scale);
            let result = f64::from(input.output_low) * f64::from(scale) * sum as f64 + f64::from(*bias);
            let factor = (f64::from(input.step) * f64::from(scale) * to_level) as f32;
            let (offset, shift) = match is_bent {
                true => ((result * to_level) as f32, level(line.shift.into()) as f32),
                false => (level(result) as f32, 0.0),
            };
            // A negative scale exchanges what is negative and what is not.
            let slopes = if line.scale < 0.0 { [1.0, line.slope] } else { [line.slope, 1.0] };
            if ![factor, offset, shift, line.slope, line.scale].iter().all(|number| number.is_finite()) {
                return None;
            }
            // Results beyond the range are not near the middle between levels.
            let range = rule.low.abs().max(rule.high.abs()) + line.shift.abs();
            let partial = largest * scale.abs() * (squares as f32).sqrt() + bias.abs();
            let largest_sum = line.steepness() * partial + range;
            let doubt = DOUBT * f32::EPSILON / 2.0 * (length as f32).sqrt() * largest_sum * rule.scale;
            // What is 0 only nearly.
            let all: i64 = filter.iter().map(|&code| i64::from(code).abs()).sum();
            let left_out = padding.error * all as f32 + filters.rests[row].abs() * largest * length as f32;
            let doubt = doubt + left_out * scale.abs() * line.steepness() * rule.scale;
            let parts = line.slope.abs().max(1.0) * offset.abs() + shift.abs() + rule.shift.abs();
            let roundings = if is_bent { 2.0 } else { 1.0 };
            let level_doubt = roundings * (LEVEL_DOUBT + PART_DOUBT * parts);
            let reliable = (0.5 - level_doubt - doubt).max(0.0);
            let [low, high] = [rule.low, rule.high].map(|bound| level(bound.into()) as f32);
            scalings.push(Scaling { factor, offset, slopes, shift, low, high, reliable });
        }
        scalings.resize(outputs.next_multiple_of(CHANNELS), Scaling::default());
        let by_tap = by_tap(&filters.codes, length, taps);
        Some(Self { scalings, filters, by_tap, depth, taps, after, input, padding, is_bent })
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
            let outside = self.padding.outside.as_ref();
            // Zeros change no sum.
            if outside.is_some_and(|outside| outside.is_padding(tap, column)) {
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
                match self.rescaling.is_bent {
                    true => self.levels::<true>(row + k, sums, &mut quads, doubts),
                    false => self.levels::<false>(row + k, sums, &mut quads, doubts),
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
    fn levels<const IS_BENT: bool>(
        &self,
        row: usize,
        sums: &[Quad; MOST_COLUMNS],
        quads: &mut [u32; MOST_COLUMNS],
        doubts: &mut [u32; MOST_COLUMNS],
    ) {
        let shift = 8 * (row % CHANNELS);
        let Scaling { factor, offset, slopes: [below, above], shift: height, low, high, reliable } =
            self.rescaling.scalings[row];
        for i in 0..MOST_COLUMNS {
            let result = (sums[i].sum() as f32).mul_add(factor, offset);
            let result = if IS_BENT {
                result.mul_add(if result < 0.0 { below } else { above }, height)
            } else {
                result
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use smallvec::smallvec;

    use super::*;
    use crate::kernels::{BinaryOp, UnaryOp, fake_quantize, group_convolution};

    fn noise(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7919 + seed * 131) % 1013) as f32 / 300.0 - 1.5).collect()
    }

    /// Steps of powers of two; 0 is a level.
    const EXACT: [[f32; 2]; 3] = [[-1.0, 191.0 / 64.0], [0.0, 255.0 / 64.0], [-0.125, 247.0 / 64.0]];

    /// A convolution of levels and what floats give. Scales are no powers of two: sums of floats are rounded.
    fn check(dims: [usize; 4], filters: &[usize], window: &Window, has_zeros: bool, ranges: &[[f32; 2]]) {
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
        // Integers, but for rounding errors.
        let zeros = by_filter(|o| (o % 5) as f32 - 2.0 + [0.0, 7.6e-6, -9e-4][o % 3]);
        let zeros = has_zeros.then_some(&zeros);
        let ends = |end: usize| {
            let ends: Vec<f32> = (0..channels).map(|c| ranges[c % ranges.len()][end]).collect();
            Tensor::from_vec(&[channels, 1, 1], ends).unwrap()
        };
        let [low, high] = [0, 1].map(ends);
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
        // Slopes above and below 1 and negative ones, scales of both signs and of 0.
        let each = |of: fn(usize) -> f32| {
            Tensor::from_vec(&[outputs, 1, 1], (0..outputs).map(of).collect()).unwrap()
        };
        let slope = each(|o| [0.1, 0.0, 1.7, -0.3][o % 4]);
        let scale = each(|o| [0.9, 1.3, -0.77, 0.0, 2.1][o % 5]);
        let shift = each(|o| (o % 7) as f32 * 0.3 - 1.0);
        let bent = BinaryOp::PRelu.apply(&sums, &slope).unwrap();
        let bent = BinaryOp::Mul.apply(&bent, &scale).unwrap();
        let bent = BinaryOp::Add.apply(&bent, &shift).unwrap();
        let clamp = |of: &Tensor| UnaryOp::Clamp { min: -3.0, max: 6.0 }.apply(of).unwrap();
        let filters = QuantizedFilters { codes: &codes, zeros, scales: &scales };
        let levels = input.quantize(&x).unwrap();
        for range in [[-20.0f32, 35.0], [-2.5, 2.8]] {
            let [out_low, out_high] = range.map(Tensor::scalar);
            let out_ends = [&out_low, &out_high, &out_low, &out_high];
            let output = Arc::new(Quantizer::new(out_ends, 256, outputs).unwrap());
            let after = AfterSums {
                bias: Some(bias.clone()),
                clamp: Some([-3.0, 6.0]),
                ..AfterSums::new(output.clone())
            };
            let with_line = AfterSums {
                slope: Some(slope.clone()),
                scale: Some(scale.clone()),
                shift: Some(shift.clone()),
                ..after.clone()
            };
            for (after, results) in [(after, clamp(&sums)), (with_line, clamp(&bent))] {
                let expected = fake_quantize(&results, out_ends, 256).unwrap();
                let convolution =
                    QuantizedConvolution::new(filters, &input, [height, width], window, &after).unwrap();
                let run = || output.dequantize(&convolution.run(&levels).unwrap()).unwrap();
                assert_eq!(run(), expected);
                #[cfg(feature = "threads")]
                {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
                    assert_eq!(pool.install(run), expected);
                }
            }
        }
    }

    #[test]
    fn dense_filters_give_what_floats_give() {
        // The level of 0 in the last range has a value that is 0.0007 of a step.
        for ranges in [&EXACT[..1], &EXACT[1..2], &[[-63.9993 / 64.0, 191.0007 / 64.0]]] {
            check([1, 8, 7, 7], &[13, 8, 1, 1], &Window::dense(2), false, ranges);
            check([2, 3, 11, 9], &[5, 3, 3, 3], &padded(1, 2, 1), false, ranges);
            check([1, 6, 12, 5], &[16, 6, 3, 1], &padded(1, 1, 1), true, ranges);
            check([1, 16, 40, 40], &[48, 16, 3, 3], &padded(1, 1, 1), true, ranges);
            check([1, 64, 40, 40], &[48, 64, 1, 1], &Window::dense(2), true, ranges);
        }
        // Among so many, floats round some to another level than the exact sum has.
        check([1, 64, 64, 64], &[256, 64, 1, 1], &Window::dense(2), true, &EXACT[..1]);
    }

    #[test]
    fn filters_of_one_channel_give_what_floats_give() {
        for ranges in [&EXACT[..1], &EXACT] {
            check([1, 8, 7, 9], &[8, 1, 1, 3, 3], &padded(1, 1, 1), true, ranges);
            check([2, 6, 14, 11], &[6, 1, 1, 5, 5], &padded(2, 2, 1), false, ranges);
            check([1, 3, 20, 20], &[3, 1, 1, 3, 3], &padded(2, 1, 2), false, ranges);
            check([1, 40, 50, 50], &[40, 1, 1, 3, 3], &padded(0, 1, 1), false, ranges);
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
        let after = AfterSums::new(Arc::new(input.clone()));
        let new = |input: &Quantizer, window| {
            QuantizedConvolution::new(filters, input, [9, 9], &window, &after).is_some()
        };
        assert!(new(&input, padded(0, 1, 1)));
        assert!(!new(&input, padded(1, 1, 1)));
        let highs = Tensor::from_vec(&[4, 1, 1], vec![1f32, 2.0, 3.0, 4.0]).unwrap();
        let by_channel = Quantizer::new([&low, &highs, &low, &highs], 256, 4).unwrap();
        assert!(!new(&by_channel, padded(0, 1, 1)));
    }
}
