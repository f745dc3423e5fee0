//! Convolutions of levels with integer filters: sums of products of bytes, which are exact.

use super::after_sums::AfterSums;
use super::images::Channels;
use super::planes::{Cuts, Grid, Planes};
use super::quantized_depthwise::Depthwise;
use super::quantized_filters::{QuantizedFilters, dense};
use super::to_levels::{Padding, Rescaling, ToLevels};
use crate::buffer::Buffer;
use crate::kernels::gemm::{PackedLhs, PackedRhs, product};
use crate::kernels::quantizer::{CHANNELS, Quantizer};
use crate::kernels::vectors::{Quad, has_byte_products};
use crate::kernels::window::{Window, WindowAxis};
use crate::{ElementType, Tensor, TensorError};

/// Longer filters could overflow 32 bits.
const LONGEST: usize = 1 << 15;

/// Fewer windows leave most of a panel empty.
const FEW_WINDOWS: usize = 8;

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
                let padding = (padding_error > 0.0).then_some(Padding { error: padding_error, grid });
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
            self.image(Channels::contiguous(image, self.input, self.places), out, windows)?;
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
