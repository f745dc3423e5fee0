//! Convolutions of quantised codes with integer filters, which sum int8 products exactly.

use super::quantized_dense::QuantizedDense;
use super::quantized_depthwise::QuantizedDepthwise;
use super::quantized_epilogue::QuantizedEpilogue;
use super::quantized_filters::QuantizedFilters;
use super::{ConvAlgorithm, ConvShape, Elements};
use crate::buffer::Buffer;
use crate::kernels::elementwise::{FusedElementwise, Stage};
use crate::kernels::gemm::Epilogue;
use crate::kernels::quantizer::{CHANNELS, Quantizer};
use crate::kernels::sharing;
use crate::kernels::vectors::{I8x4Dot, has_int8_dot};
use crate::kernels::window::{Window, WindowGrid};
use crate::{ElementType, Tensor, TensorError};

/// The maximum number of products of an `i8` and a `u8` in a sum, so that no sum overflows 32 bits.
pub(in crate::kernels) const MAX_CODES_SUM: usize = 1 << 15;

/// A convolution of the codes of a [`Quantizer`] with [`QuantizedFilters`], either followed by a
/// [`QuantizedEpilogue`] or with values as its results.
///
/// Values are rounded only after their exact sum. An epilogue gives the codes that
/// [`convolution`](super::convolution) of floats would give, although float sums round at each step. Each
/// code follows from the exact sum, unless the sum is so close to the middle between two codes that rounding
/// errors could matter. Such a sum is recomputed in floats, in the summation order of `convolution`.
pub struct QuantizedConvolution {
    kernel: Kernel,
    /// The numbers of groups of four channels, of rows and of columns in an input image.
    input: [usize; 3],
    /// The same for an output image, whose channels are not grouped if the results are values.
    output: [usize; 3],
}

enum Kernel {
    /// One kernel per group; results are codes.
    Codes(Box<[QuantizedDense]>),
    /// One kernel per group; results are values.
    Values(Box<[QuantizedDense]>),
    /// One filter per channel; results are codes.
    Depthwise(Box<QuantizedDepthwise>),
}

impl QuantizedConvolution {
    /// Whether this machine has the int8 dot-product instructions. Without them, [`Self::new`] returns
    /// `None`.
    pub fn is_fast() -> bool {
        has_int8_dot()
    }

    /// A convolution of images with spatial dims `spatial` and the codes of the quantizer `input`. Without an
    /// epilogue, the results are values, which only some algorithms support. `None` if the filters do not
    /// match the channels, no algorithm supports the sizes, the algorithm does not support the ranges, or
    /// [`Self::is_fast`] is false.
    pub fn new(
        filters: QuantizedFilters,
        input: &Quantizer,
        spatial: [usize; 2],
        window: &Window,
        epilogue: Option<&QuantizedEpilogue>,
    ) -> Option<Self> {
        let ([groups, outputs, depth], kernel) = match *filters.codes.dims() {
            [outputs, depth, height, width] => ([1, outputs, depth], [height, width]),
            [groups, outputs, depth, height, width] => ([groups, outputs, depth], [height, width]),
            _ => return None,
        };
        let (channels, results) = (input.channels()?, groups * outputs);
        let is_valid = groups * depth == channels
            && epilogue.is_none_or(|epilogue| epilogue.quantizer.channels() == Some(results));
        if !Self::is_fast() || !is_valid || filters.codes.is_empty() || spatial.contains(&0) {
            return None;
        }
        let windows = window.output_dims(&spatial, &kernel).ok()?;
        let grid = WindowGrid::new(&window.axes(&spatial, &kernel).ok()?, &windows);
        let shape = ConvShape { grid, groups, outputs, depth };
        let algorithm = ConvAlgorithm::select(&shape, Elements::Codes)?;
        let integers = filters.integers()?;
        let kernel = match (algorithm, epilogue) {
            (ConvAlgorithm::QuantizedDepthwise, epilogue) => {
                Kernel::Depthwise(Box::new(QuantizedDepthwise::new(&shape, integers, input, epilogue?)?))
            }
            (_, None) => Kernel::Values(QuantizedDense::by_group(&shape, &integers, input, None)?),
            _ => Kernel::Codes(QuantizedDense::by_group(&shape, &integers, input, epilogue)?),
        };
        let results = if epilogue.is_some() { results.div_ceil(CHANNELS) } else { results };
        let input = [channels.div_ceil(CHANNELS), spatial[0], spatial[1]];
        let output = [results, *windows.first()?, *windows.get(1)?];
        Some(Self { kernel, input, output })
    }

    /// Whether the results are codes instead of values.
    pub fn returns_codes(&self) -> bool {
        !matches!(self.kernel, Kernel::Values(_))
    }

    /// Convolves images of codes.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn run(&self, images: &Tensor) -> Result<Tensor, TensorError> {
        match &self.kernel {
            Kernel::Codes(groups) => {
                self.each_group(groups, images, ElementType::U32, |group, _, image, out| {
                    group.codes(image, out)
                })
            }
            Kernel::Depthwise(kernel) => {
                let all = std::slice::from_ref(&**kernel);
                self.each_group(all, images, ElementType::U32, |kernel, _, image, out| {
                    kernel.run(image, out);
                    Ok(())
                })
            }
            Kernel::Values(groups) => {
                self.each_group(groups, images, ElementType::F32, |group, _, image, out| {
                    group.values(image, out, None)
                })
            }
        }
    }

    /// [`Self::run`], followed by element-wise functions of the values. `None` if the results are codes, or if
    /// a separate pass over the result is as fast.
    ///
    /// # Errors
    /// Same as [`Self::run`].
    pub fn run_then(
        &self,
        images: &Tensor,
        stages: &[Stage<&Tensor>],
    ) -> Result<Option<Tensor>, TensorError> {
        let (Kernel::Values(groups), [channels, height, width]) = (&self.kernel, self.output) else {
            return Ok(None);
        };
        let dims = [images.dims().first().copied().unwrap_or(0), channels, height, width];
        let then = FusedElementwise::of_dims(&dims, stages);
        let windows = height * width;
        let gains = |then: &FusedElementwise| {
            windows >= ConvAlgorithm::FUSED_MIN_WINDOWS && then.has_rows_of(windows)
        };
        let Some(then) = then.filter(gains) else { return Ok(None) };
        let on_piece = |first: usize, values: &mut [f32]| then.on_piece(first, values);
        let values = self.each_group(groups, images, ElementType::F32, |group, first, image, out| {
            group.values(image, out, Some(Epilogue::new(&on_piece).part(first)))
        });
        values.map(Some)
    }

    /// Calls `convolve` for each group of channels of each image: with the kernel of the group, the position of
    /// its result in the output, its part of the image, and its result.
    fn each_group<K: Sync, T: bytemuck::Pod + Send + Sync>(
        &self,
        groups: &[K],
        images: &Tensor,
        element_type: ElementType,
        convolve: impl Fn(&K, usize, &[I8x4Dot], &mut [T]) -> Result<(), TensorError> + Send + Sync,
    ) -> Result<Tensor, TensorError> {
        let refuse = || {
            TensorError::mismatch("cannot convolve {} as quantised codes of {}", images.dims(), &self.input)
        };
        let [batch, rest @ ..] = images.dims() else { return Err(refuse()) };
        if *rest != self.input {
            return Err(refuse());
        }
        let [channels, height, width] = self.output;
        let results = channels * height * width;
        let images = images.contiguous();
        let codes: &[I8x4Dot] = bytemuck::cast_slice(images.as_slice::<u32>()?);
        let mut out = Buffer::any(batch * results)?;
        let images = codes.chunks_exact(self.input.iter().product::<usize>() / groups.len());
        let results = results / groups.len();
        let mut parts = images.zip(out.chunks_exact_mut(results)).enumerate();
        let on_part = |(i, (image, out)): (usize, (_, &mut [T]))| {
            convolve(&groups[i % groups.len()], i * results, image, out)
        };
        if groups.len() > 1 {
            sharing::try_for_each(parts, on_part)?;
        } else {
            parts.try_for_each(on_part)?;
        }
        Tensor::from_buffer(element_type, &[*batch, channels, height, width], out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Unpacking;
    use super::*;
    use crate::SmallVector;
    use crate::kernels::{BinaryOp, UnaryOp, fake_quantize, group_convolution};

    fn noise(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7919 + seed * 131) % 1013) as f32 / 300.0 - 1.5).collect()
    }

    /// Ranges with steps of powers of two, in which 0 has a code.
    const EXACT: [[f32; 2]; 3] = [[-1.0, 191.0 / 64.0], [0.0, 255.0 / 64.0], [-0.125, 247.0 / 64.0]];

    /// How filters are unpacked.
    #[derive(Copy, Clone, PartialEq)]
    enum Form {
        Scales,
        Zeros,
        Ranges,
    }

    /// Quantised filters and the tensors that unpack them.
    struct Weights {
        codes: Tensor,
        zeros: Tensor,
        scales: Tensor,
        ends: [Tensor; 4],
    }

    impl Weights {
        /// Scales are not powers of two, so float sums are rounded.
        fn new(dims: &[usize]) -> Self {
            let len: usize = dims.iter().product();
            let codes: Vec<i64> = (0..len as i64).map(|i| i * 37 % 96 - 48).collect();
            let by_filter = |of: fn(usize) -> f32| {
                let filters = dims.len() - 3;
                let count: usize = dims[..filters].iter().product();
                Tensor::from_vec(&[&dims[..filters], &[1; 3]].concat(), (0..count).map(of).collect()).unwrap()
            };
            Weights {
                codes: Tensor::from_vec(dims, codes).unwrap().cast(ElementType::I8).unwrap(),
                // Integers up to rounding errors.
                zeros: by_filter(|o| (o % 5) as f32 - 2.0 + [0.0, 7.6e-6, -9e-4][o % 3]),
                scales: by_filter(|o| 0.0077 + (o * 13 % 31) as f32 / 1000.0),
                // Codes beyond the first range are clamped to its ends; the second has no exact code for 0.
                ends: [
                    Tensor::scalar(-40.0f32),
                    Tensor::scalar(47.0f32),
                    by_filter(|o| -0.41 - (o * 13 % 31) as f32 / 100.0),
                    by_filter(|o| 0.41 + (o * 13 % 31) as f32 / 100.0 + 1e-6),
                ],
            }
        }

        fn filters(&self, form: Form) -> QuantizedFilters<'_> {
            let unpacking = match form {
                Form::Scales => Unpacking::Scale { zeros: None, scales: &self.scales },
                Form::Zeros => Unpacking::Scale { zeros: Some(&self.zeros), scales: &self.scales },
                Form::Ranges => Unpacking::Quantize { ranges: self.ends.each_ref(), levels: 255 },
            };
            QuantizedFilters { codes: &self.codes, unpacking }
        }

        fn floats(&self, form: Form) -> Tensor {
            let codes = self.codes.cast(ElementType::F32).unwrap();
            let scaled = |codes: &Tensor| BinaryOp::Mul.apply(codes, &self.scales).unwrap();
            match form {
                Form::Scales => scaled(&codes),
                Form::Zeros => scaled(&BinaryOp::Sub.apply(&codes, &self.zeros).unwrap()),
                Form::Ranges => fake_quantize(&codes, self.ends.each_ref(), 255).unwrap(),
            }
        }
    }

    /// Compares a convolution of codes with a convolution of floats.
    fn check(dims: [usize; 4], filters: &[usize], window: &Window, form: Form, ranges: &[[f32; 2]]) {
        let [_, channels, height, width] = dims;
        let (outputs, weights) = (filters[..filters.len() - 3].iter().product(), Weights::new(filters));
        let (filters, floats) = (weights.filters(form), weights.floats(form));
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
        let grouped = if weights.codes.rank() == 5 { floats } else { floats.unsqueeze(0).unwrap() };
        let quantized = fake_quantize(&x, [&low, &high, &low, &high], 256).unwrap();
        let sums = group_convolution(&quantized, &grouped, window).unwrap();
        let sums = BinaryOp::Add.apply(&sums, &bias).unwrap();
        if grouped.dims()[0] == 1 || grouped.dims()[2] > 1 {
            check_values(
                filters,
                &input,
                &x,
                window,
                &group_convolution(&quantized, &grouped, window).unwrap(),
            );
        }
        // Slopes above 1, below 1 and negative; positive, negative and zero scales.
        let each = |of: fn(usize) -> f32| {
            Tensor::from_vec(&[outputs, 1, 1], (0..outputs).map(of).collect()).unwrap()
        };
        let slope = each(|o| [0.1, 0.0, 1.7, -0.3][o % 4]);
        let scale = each(|o| [0.9, 1.3, -0.77, 0.0, 2.1][o % 5]);
        let shift = each(|o| (o % 7) as f32 * 0.3 - 1.0);
        let prelu = |of: &Tensor| BinaryOp::PRelu.apply(of, &slope).unwrap();
        let scaled =
            |of: &Tensor| BinaryOp::Add.apply(&BinaryOp::Mul.apply(of, &scale).unwrap(), &shift).unwrap();
        let curved = UnaryOp::HSwish.apply(&sums).unwrap();
        let clamp = |of: &Tensor| UnaryOp::Clamp { min: -3.0, max: 6.0 }.apply(of).unwrap();
        let codes = input.quantize(&x).unwrap();
        for range in [[-20.0f32, 35.0], [-2.5, 2.8]] {
            let [out_low, out_high] = range.map(Tensor::scalar);
            let out_ends = [&out_low, &out_high, &out_low, &out_high];
            let output = Arc::new(Quantizer::new(out_ends, 256, outputs).unwrap());
            let epilogue = QuantizedEpilogue {
                bias: Some(bias.clone()),
                clamp: Some([-3.0, 6.0]),
                ..QuantizedEpilogue::new(output.clone())
            };
            let (scale, shift) = (Some(scale.clone()), Some(shift.clone()));
            let with_scale = QuantizedEpilogue { scale, shift, ..epilogue.clone() };
            let with_slope = QuantizedEpilogue { slope: Some(slope.clone()), ..with_scale.clone() };
            let with_hswish = |of: &QuantizedEpilogue| QuantizedEpilogue { has_hswish: true, ..of.clone() };
            let epilogues = [
                (with_hswish(&epilogue), curved.clone()),
                (with_hswish(&with_scale), scaled(&curved)),
                (with_hswish(&with_slope), scaled(&prelu(&curved))),
                (with_slope, scaled(&prelu(&sums))),
                (with_scale, scaled(&sums)),
                (epilogue, sums.clone()),
            ];
            for (epilogue, results) in epilogues {
                let expected = fake_quantize(&clamp(&results), out_ends, 256).unwrap();
                let convolution =
                    QuantizedConvolution::new(filters, &input, [height, width], window, Some(&epilogue));
                let Some(convolution) = convolution else {
                    assert!(!QuantizedConvolution::is_fast());
                    continue;
                };
                let run = || output.dequantize(&convolution.run(&codes).unwrap()).unwrap();
                assert_eq!(run(), expected);
                #[cfg(feature = "threads")]
                {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
                    assert_eq!(pool.install(run), expected);
                }
            }
        }
    }

    /// Compares the values of a convolution of codes with a convolution of floats.
    fn check_values(
        filters: QuantizedFilters,
        input: &Quantizer,
        x: &Tensor,
        window: &Window,
        expected: &Tensor,
    ) {
        let (dims, codes) = (x.dims(), input.quantize(x).unwrap());
        let Some(convolution) = QuantizedConvolution::new(filters, input, [dims[2], dims[3]], window, None)
        else {
            return assert!(!QuantizedConvolution::is_fast() || !filters.integers().unwrap().are_precise());
        };
        let found = convolution.run(&codes).unwrap();
        assert_eq!(found.dims(), expected.dims());
        let [values, floats] = [&found, expected].map(|values| values.as_slice::<f32>().unwrap());
        let largest = floats.iter().fold(0f32, |largest, x| largest.max(x.abs()));
        let error = values.iter().zip(floats).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(error <= 1e-5 * largest, "{error} beside {largest}");
        let halved = [Stage::Right(BinaryOp::Mul, &Tensor::scalar(0.5f32))];
        let then = convolution.run_then(&codes, &halved).unwrap();
        let is_large = expected.dims()[2] * expected.dims()[3] >= ConvAlgorithm::FUSED_MIN_WINDOWS;
        assert_eq!(then, is_large.then(|| halved[0].apply(&found).unwrap()));
    }

    #[test]
    fn dense_filters_give_what_floats_give() {
        // In the third range, the code nearest to 0 is off by 0.0007 of a step; in the last two, no code is
        // near 0.
        let others = [[-63.9993 / 64.0, 191.0007 / 64.0], [-0.77, 1.9], [0.2, 2.1]];
        for ranges in [&EXACT[..1], &EXACT[1..2], &others[..1], &others[1..2], &others[2..]] {
            check([1, 8, 7, 7], &[13, 8, 1, 1], &Window::dense(2), Form::Scales, ranges);
            check([2, 3, 11, 9], &[5, 3, 3, 3], &padded(1, 2, 1), Form::Scales, ranges);
            check([1, 6, 12, 5], &[16, 6, 3, 1], &padded(1, 1, 1), Form::Zeros, ranges);
            check([1, 16, 40, 40], &[48, 16, 3, 3], &padded(1, 1, 1), Form::Zeros, ranges);
            check([1, 64, 40, 40], &[48, 64, 1, 1], &Window::dense(2), Form::Zeros, ranges);
            check([1, 16, 40, 40], &[48, 16, 3, 3], &padded(1, 1, 1), Form::Ranges, ranges);
            check([1, 64, 40, 40], &[48, 64, 1, 1], &Window::dense(2), Form::Ranges, ranges);
            check([2, 16, 11, 9], &[2, 12, 8, 3, 3], &padded(1, 2, 1), Form::Zeros, ranges);
            check([1, 128, 20, 20], &[32, 4, 4, 3, 3], &padded(1, 1, 1), Form::Scales, ranges);
        }
        // With this many results, some float sums round to a different code than the exact sums.
        check([1, 64, 64, 64], &[256, 64, 1, 1], &Window::dense(2), Form::Zeros, &EXACT[..1]);
    }

    #[test]
    fn filters_of_one_channel_give_what_floats_give() {
        for ranges in [&EXACT[..1], &EXACT] {
            check([1, 8, 7, 9], &[8, 1, 1, 3, 3], &padded(1, 1, 1), Form::Zeros, ranges);
            check([2, 6, 14, 11], &[6, 1, 1, 5, 5], &padded(2, 2, 1), Form::Scales, ranges);
            check([1, 3, 20, 20], &[3, 1, 1, 3, 3], &padded(2, 1, 2), Form::Scales, ranges);
            check([1, 5, 37, 35], &[5, 1, 1, 3, 3], &padded(1, 2, 1), Form::Zeros, ranges);
            check([1, 5, 37, 35], &[5, 1, 1, 7, 3], &padded(2, 2, 2), Form::Zeros, ranges);
            check([1, 4, 9, 70], &[4, 1, 1, 1, 9], &padded(-1, 1, 1), Form::Scales, ranges);
            check([1, 4, 9, 70], &[4, 1, 1, 2, 2], &padded(3, 2, 1), Form::Scales, ranges);
            check([1, 40, 50, 50], &[40, 1, 1, 3, 3], &padded(1, 1, 1), Form::Ranges, ranges);
            check([1, 40, 50, 50], &[40, 1, 1, 3, 3], &padded(0, 1, 1), Form::Scales, ranges);
        }
        // The padding has codes whose values are nearly 0: 5e-5 of a step.
        let nearly: [[f32; 2]; 3] = [1.31f64, 0.77, 1.9].map(|end| {
            let step = end / 127.0;
            [5e-5 - 128.0, 5e-5 + 127.0].map(|steps| (steps * step) as f32)
        });
        // With this many windows at a border, the difference from 0 changes some codes.
        check([40, 40, 12, 12], &[40, 1, 1, 3, 3], &padded(1, 1, 1), Form::Scales, &nearly);
        check([2, 6, 14, 11], &[6, 1, 1, 5, 5], &padded(2, 2, 1), Form::Scales, &nearly);
    }

    fn padded(pad: isize, stride: usize, dilation: usize) -> Window {
        Window {
            strides: SmallVector::from_elem(stride, 2),
            dilations: SmallVector::from_elem(dilation, 2),
            pads_begin: SmallVector::from_elem(pad, 2),
            pads_end: SmallVector::from_elem(pad, 2),
        }
    }

    /// Whether a convolution of an image of 4 channels and 9x9 elements, quantised to `low..high`, is
    /// supported.
    fn is_accepted(filters: &[usize], [low, high]: [&Tensor; 2], pad: isize) -> bool {
        let scales = Tensor::scalar(0.5f32);
        let codes = Tensor::from_vec(filters, vec![1i8; filters.iter().product()]).unwrap();
        let unpacking = Unpacking::Scale { zeros: None, scales: &scales };
        let input = Quantizer::new([low, high, low, high], 256, 4).unwrap();
        let epilogue = QuantizedEpilogue::new(Arc::new(input.clone()));
        let filters = QuantizedFilters { codes: &codes, unpacking };
        QuantizedConvolution::new(filters, &input, [9, 9], &padded(pad, 1, 1), Some(&epilogue)).is_some()
    }

    #[test]
    fn dense_filters_need_one_range_and_depthwise_filters_a_code_of_zero() {
        let [dense, depthwise] = [&[4, 4, 3, 3][..], &[4, 1, 1, 3, 3]];
        let [low, high] = [0.3f32, 7.1].map(Tensor::scalar);
        let highs = Tensor::from_vec(&[4, 1, 1], vec![1f32, 2.0, 3.0, 4.0]).unwrap();
        let is_fast = QuantizedConvolution::is_fast();
        assert_eq!([0, 1].map(|pad| is_accepted(dense, [&low, &high], pad)), [is_fast; 2]);
        assert!(!is_accepted(dense, [&low, &highs], 0));
        // Codes of two groups share an element.
        assert!(!is_accepted(&[2, 2, 2, 3, 3], [&low, &high], 0));
        assert_eq!([0, 1].map(|pad| is_accepted(depthwise, [&low, &highs], pad)), [is_fast, false]);
    }

    #[test]
    fn images_that_are_mostly_padding_and_padding_of_many_classes_are_declined() {
        let [low, high, low_with_0, high_with_0] = [0.3f32, 7.1, -1.0, 191.0 / 64.0].map(Tensor::scalar);
        let is_fast = QuantizedConvolution::is_fast();
        assert_eq!(is_accepted(&[4, 4, 7, 7], [&low, &high], 3), is_fast);
        assert!(!is_accepted(&[4, 4, 3, 3], [&low, &high], 100));
        assert!(!is_accepted(&[4, 4, 9, 9], [&low, &high], 8));
        let depthwise = |pad| is_accepted(&[4, 1, 1, 3, 3], [&low_with_0, &high_with_0], pad);
        assert_eq!([1, 100].map(depthwise), [is_fast, false]);
    }
}
