//! Convolutions of levels with integer filters: sums of products of bytes, which are exact.

use super::images::Channels;
use super::placement::Placement;
use super::planes::{Cuts, Grid, Planes};
use super::quantized_depthwise::Depthwise;
use crate::buffer::Buffer;
use crate::kernels::fake_quantize::Rule;
use crate::kernels::gemm::{
    MOST_COLUMNS, Matrix, PackedLhs, PackedRhs, PlaceTile, TileAt, product_of_tiles, write_row,
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
/// filter a channel; zeros and scales have one element for all, or one a filter.
#[derive(Copy, Clone, Debug)]
pub struct QuantizedFilters<'a> {
    /// Integers of 8 bits.
    pub codes: &'a Tensor,
    /// 0 if there are none.
    pub zeros: Option<&'a Tensor>,
    /// Of `f32`.
    pub scales: &'a Tensor,
}

/// A convolution of the levels of a [`Quantizer`] with [`QuantizedFilters`], with what follows it: a bias, bounds, and a
/// quantizer of the result.
pub struct QuantizedConvolution {
    filters: Filters,
    rescaling: Rescaling,
    cuts: Cuts,
    /// The level of 0 in each channel of the input.
    padding: Vec<u8>,
    /// Dims of one image of the input, and of the output.
    input: [usize; 3],
    output: [usize; 3],
    places: [Option<usize>; 3],
}

enum Filters {
    /// The rows of a product, and the instruction set that they are packed for.
    Dense(PackedLhs<Quad>),
    Depthwise(Depthwise),
}

/// From the sums of a filter to its results, by filter; as many as are a multiple of four.
pub(super) struct Rescaling {
    pub factors: Vec<f32>,
    pub offsets: Vec<f32>,
    /// The rules for levels; none if the results are floats.
    pub rules: Option<Vec<Rule<f32>>>,
}

/// What follows the sums of a [`QuantizedConvolution`].
#[derive(Copy, Clone, Debug, Default)]
pub struct AfterSums<'a> {
    /// Is added: one element for all channels, or one a channel.
    pub bias: Option<&'a Tensor>,
    /// Bounds of the results before they are quantized.
    pub clamp: Option<[f32; 2]>,
    /// Without it, results are floats, and there are no bounds.
    pub quantizer: Option<&'a Quantizer>,
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
        let length = depth * taps;
        let fits = if is_depthwise { outputs == channels } else { depth == channels };
        if !fits || outputs == 0 || length == 0 || length > LONGEST {
            return None;
        }
        let codes = filters.integers()?;
        let rescaling = Rescaling::new(&filters, &codes, input, is_depthwise, after)?;
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
        let groups = channels.div_ceil(CHANNELS);
        let filters = match is_depthwise {
            true => Filters::Depthwise(Depthwise::new(&codes, taps)),
            false => Filters::Dense(dense(&codes, outputs, depth, taps)),
        };
        let out_groups = if rescaling.rules.is_some() { outputs.div_ceil(CHANNELS) } else { outputs };
        let (input, output) =
            ([groups, spatial[0], spatial[1]], [out_groups, *windows.first()?, *windows.get(1)?]);
        Some(Self { filters, rescaling, cuts, padding, input, output, places })
    }

    /// The images of levels, or floats, of images of levels.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn run(&self, images: &Tensor) -> Result<Tensor, TensorError> {
        let [batch, rest @ ..] = images.dims() else {
            return Err(TensorError::mismatch(
                "cannot convolve {} as levels of {}",
                images.dims(),
                &self.input,
            ));
        };
        if *rest != self.input {
            return Err(TensorError::mismatch(
                "cannot convolve {} as levels of {}",
                images.dims(),
                &self.input,
            ));
        }
        let [groups, height, width] = self.output;
        let windows = height * width;
        let quads: &[Quad] = bytemuck::cast_slice(images.as_slice::<u32>()?);
        let dims = [*batch, groups, height, width];
        let images = quads.chunks_exact(self.input.iter().product());
        if self.rescaling.rules.is_some() {
            let mut out = Buffer::any(batch * groups * windows)?;
            for (image, out) in images.zip(out.chunks_exact_mut(groups * windows)) {
                self.levels(self.channels(image), out, windows)?;
            }
            return Tensor::from_buffer(ElementType::U32, &dims, out);
        }
        let mut out = Buffer::any(batch * groups * windows)?;
        for (image, out) in images.zip(out.chunks_exact_mut(groups * windows)) {
            self.floats(self.channels(image), out, windows)?;
        }
        Tensor::from_buffer(ElementType::F32, &dims, out)
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

    fn levels(&self, image: Channels<Quad>, out: &mut [Quad], windows: usize) -> Result<(), TensorError> {
        match &self.filters {
            Filters::Depthwise(filters) => filters.levels(
                &self.cuts,
                image,
                |group| self.padding(group),
                &self.rescaling,
                out.chunks_exact_mut(windows),
            ),
            Filters::Dense(left) => {
                let planes = self.planes(image)?;
                let (right, placement) = right(left, &planes);
                let is_direct = right.columns() == windows;
                let place = ToLevels { rescaling: &self.rescaling, placement, is_direct };
                product_of_tiles(left, &right, out, windows, &place);
                Ok(())
            }
        }
    }

    fn floats(&self, image: Channels<Quad>, out: &mut [f32], windows: usize) -> Result<(), TensorError> {
        match &self.filters {
            Filters::Depthwise(filters) => filters.floats(
                &self.cuts,
                image,
                |group| self.padding(group),
                &self.rescaling,
                out.chunks_mut(CHANNELS * windows),
            ),
            Filters::Dense(left) => {
                let planes = self.planes(image)?;
                let (right, placement) = right(left, &planes);
                let is_direct = right.columns() == windows;
                let place = ToFloats { rescaling: &self.rescaling, placement, is_direct };
                product_of_tiles(left, &right, out, windows, &place);
                Ok(())
            }
        }
    }

    /// The planes of an image. Of dense filters, all input channels have one range, and the same padding.
    fn planes<'a>(&'a self, image: Channels<'a, Quad>) -> Result<Planes<'a, Quad>, TensorError> {
        Planes::new(&self.cuts, image, self.padding(0))
    }
}

/// The right side of the product with all filters, and where its results lie.
fn right<'a>(left: &PackedLhs<Quad>, planes: &'a Planes<Quad>) -> (PackedRhs<'a, Quad>, Placement) {
    let starts = planes.starts(0..left.depth() / planes.of.starts().len().max(1));
    (PackedRhs::of_runs(left.isa(), planes.data(), starts, planes.of.positions), planes.placement())
}

/// Filters `[outputs, depth, taps]` as the left side of a product: four channels in an element, then by tap.
fn dense(codes: &[i8], outputs: usize, depth: usize, taps: usize) -> PackedLhs<Quad> {
    let groups = depth.div_ceil(CHANNELS);
    let mut rows = Vec::with_capacity(outputs * groups * taps);
    for filter in codes.chunks_exact(depth * taps) {
        for group in 0..groups {
            for tap in 0..taps {
                let code = |k: usize| {
                    filter
                        .get((group * CHANNELS + k) * taps + tap)
                        .map_or(0, |code: &i8| code.cast_unsigned())
                };
                rows.push(Quad(u32::from_le_bytes(std::array::from_fn(code))));
            }
        }
    }
    // Tiles of AVX2 are no multiple of four rows high.
    let isa = if Isa::best() == Isa::Base || !has_byte_products() { Isa::Base } else { Isa::best() };
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
        let mut dims = [1; 5];
        dims[0] = *self.codes.dims().first()?;
        let tensor = tensor.cast(ElementType::F32).ok()?;
        tensor.broadcast_to(&dims[..self.codes.rank()]).ok()?.to_f32_vec().ok()
    }
}

impl Rescaling {
    fn new(
        filters: &QuantizedFilters,
        codes: &[i8],
        input: &Quantizer,
        is_depthwise: bool,
        after: AfterSums,
    ) -> Option<Self> {
        let scales = filters.by_filter(filters.scales)?;
        let outputs = scales.len();
        let bias = match after.bias {
            Some(bias) => {
                bias.expect(ElementType::F32).ok()?;
                bias.broadcast_to(&[1, outputs, 1, 1]).ok()?.to_f32_vec().ok()?
            }
            None => vec![0.0; outputs],
        };
        let (mut factors, mut offsets) = (Vec::new(), Vec::new());
        for (i, filter) in codes.chunks_exact(codes.len() / outputs).enumerate() {
            let rule = if is_depthwise { *input.rules().get(i)? } else { input.uniform()? };
            let sum: i64 = filter.iter().map(|&code| i64::from(code)).sum();
            let scale = f64::from(scales[i]);
            factors.push((f64::from(rule.step) * scale) as f32);
            offsets.push((f64::from(rule.output_low) * scale * sum as f64 + f64::from(bias[i])) as f32);
        }
        let rules = match after.quantizer {
            Some(quantizer) if quantizer.channels() == outputs => {
                let bounded = |rule: &Rule<f32>| {
                    let [min, max] = after.clamp.unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
                    let within = |bound: f32| bound.max(rule.low).min(rule.high);
                    Rule { low: within(min), high: within(max), ..*rule }
                };
                Some(quantizer.rules().iter().map(bounded).collect())
            }
            None if after.clamp.is_none() => None,
            _ => return None,
        };
        let padded = outputs.next_multiple_of(CHANNELS);
        factors.resize(padded, 0.0);
        offsets.resize(padded, 0.0);
        Some(Self { factors, offsets, rules })
    }
}

/// Writes results as levels, four rows of the product in one of the output.
struct ToLevels<'a> {
    rescaling: &'a Rescaling,
    placement: Placement,
    /// Whether positions are windows one after the other.
    is_direct: bool,
}

impl PlaceTile<Quad> for ToLevels<'_> {
    type Out = Quad;
    const ROWS: usize = CHANNELS;

    #[inline(always)]
    fn place(&self, out: &mut [Quad], row_len: usize, at: TileAt, rows: &[[Quad; MOST_COLUMNS]]) {
        let Rescaling { factors, offsets, rules: Some(rules) } = self.rescaling else { return };
        for (i, (four, out)) in rows.chunks(CHANNELS).zip(out.chunks_mut(row_len)).enumerate() {
            let mut quads = [Quad::default(); MOST_COLUMNS];
            for (k, sums) in four.iter().enumerate() {
                let row = at.row + i * CHANNELS + k;
                let (factor, offset, rule) = (factors[row], offsets[row], rules[row]);
                for (quad, sum) in quads.iter_mut().zip(sums) {
                    let result = (sum.sum() as f32).mul_add(factor, offset);
                    quad.0 |= rule.level(result) << (8 * k);
                }
            }
            match self.is_direct {
                true => write_row(out, at.column, &quads[..at.width]),
                false => self.placement.place(out, at.column, &quads[..at.width]),
            }
        }
    }
}

/// Writes results as floats.
struct ToFloats<'a> {
    rescaling: &'a Rescaling,
    placement: Placement,
    is_direct: bool,
}

impl PlaceTile<Quad> for ToFloats<'_> {
    type Out = f32;
    const ROWS: usize = 1;

    #[inline(always)]
    fn place(&self, out: &mut [f32], row_len: usize, at: TileAt, rows: &[[Quad; MOST_COLUMNS]]) {
        for (r, (sums, out)) in rows.iter().zip(out.chunks_mut(row_len)).enumerate() {
            let (factor, offset) = (self.rescaling.factors[at.row + r], self.rescaling.offsets[at.row + r]);
            let results = sums.map(|sum| (sum.sum() as f32).mul_add(factor, offset));
            match self.is_direct {
                true => write_row(out, at.column, &results[..at.width]),
                false => self.placement.place(out, at.column, &results[..at.width]),
            }
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

    /// A convolution of levels and what floats give: all products and sums are exact in both, for scales are powers of two.
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
        let scales = by_filter(|o| [0.25, 0.5, 0.125][o % 3]);
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
            Tensor::from_vec(&[1, outputs, 1, 1], (0..outputs).map(|o| o as f32 / 4.0 - 1.0).collect())
                .unwrap();
        let [out_low, out_high] = [-20.0f32, 35.0].map(Tensor::scalar);
        let out_ends = [&out_low, &out_high, &out_low, &out_high];
        let output = Quantizer::new(out_ends, 256, outputs).unwrap();

        let floats = codes.cast(ElementType::F32).unwrap();
        let floats = zeros.map_or(Ok(floats.clone()), |zeros| BinaryOp::Sub.apply(&floats, zeros)).unwrap();
        let floats = BinaryOp::Mul.apply(&floats, &scales).unwrap();
        let grouped = if filters.len() == 5 { floats } else { floats.unsqueeze(0).unwrap() };
        let quantized = fake_quantize(&x, [&low, &high, &low, &high], 256).unwrap();
        let sums = group_convolution(&quantized, &grouped, window).unwrap();
        let sums = BinaryOp::Add.apply(&sums, &bias).unwrap();
        let bounded = UnaryOp::Clamp { min: -3.0, max: 6.0 }.apply(&sums).unwrap();
        let bounded = fake_quantize(&bounded, out_ends, 256).unwrap();

        let filters = QuantizedFilters { codes: &codes, zeros, scales: &scales };
        let after = AfterSums { bias: Some(&bias), ..AfterSums::default() };
        let new = |after| QuantizedConvolution::new(filters, &input, [height, width], window, after).unwrap();
        let levels = input.quantize(&x).unwrap();
        let run = || {
            let found = new(after).run(&levels).unwrap();
            let after = AfterSums { clamp: Some([-3.0, 6.0]), quantizer: Some(&output), ..after };
            [found, output.dequantize(&new(after).run(&levels).unwrap()).unwrap()]
        };
        assert_eq!(run(), [sums.clone(), bounded.clone()]);
        #[cfg(feature = "threads")]
        {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            assert_eq!(pool.install(run), [sums, bounded]);
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
        let new = |input: &Quantizer, window| {
            QuantizedConvolution::new(filters, input, [9, 9], &window, AfterSums::default()).is_some()
        };
        assert!(new(&input, padded(0, 1, 1)));
        assert!(!new(&input, padded(1, 1, 1)));
        let highs = Tensor::from_vec(&[4, 1, 1], vec![1f32, 2.0, 3.0, 4.0]).unwrap();
        let input = Quantizer::new([&low, &highs, &low, &highs], 256, 4).unwrap();
        assert!(!new(&input, padded(0, 1, 1)));
    }
}
