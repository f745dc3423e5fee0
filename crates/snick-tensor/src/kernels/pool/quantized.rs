//! Maximum pooling of quantised codes, four channels at a time: [`Separable`] over `u8x4` elements.

use super::is_separable;
use super::separable::{Maximum, Separable};
use crate::buffer::Buffer;
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::I8x4Dot;
use crate::kernels::window::{Window, WindowGrid};
use crate::{ElementType, Tensor, TensorError};

/// A [`max_pool`](super::max_pool) of images of quantised codes. Codes are ordered like their values, so the
/// maximum code represents the maximum value.
#[derive(Clone, Debug)]
pub struct QuantizedMaxPool {
    grid: WindowGrid,
    /// Height and width of the input and of the output.
    input: [usize; 2],
    output: [usize; 2],
    /// By group of four channels: an XOR with this reverses the order of codes in channels that need the
    /// minimum. Empty if there are no such channels.
    reversal: Vec<u32>,
}

impl QuantizedMaxPool {
    /// Pooling of images with spatial dims `spatial`, with `outputs` windows on each axis. `None` if the
    /// arguments are invalid, a window contains no element, or the algorithm for codes does not support the
    /// sizes.
    pub fn new(spatial: [usize; 2], kernel: &[usize], window: &Window, outputs: &[usize]) -> Option<Self> {
        let axes = window.axes(&spatial, kernel).ok()?;
        let output: [usize; 2] = outputs.try_into().ok()?;
        let grid = WindowGrid::new(&axes, &output);
        let is_supported = is_separable(&grid)
            && grid
                .axes
                .iter()
                .zip(grid.out)
                .all(|(axis, out)| (0..out).all(|i| !axis.taps_inside(i).is_empty()));
        is_supported.then_some(Self { grid, input: spatial, output, reversal: Vec::new() })
    }

    /// Takes the minimum instead of the maximum in the given channels.
    #[must_use]
    pub fn with_minimum_in(mut self, channels: &[bool]) -> Self {
        let byte = |k: usize, group: &[bool]| if group.get(k) == Some(&true) { u8::MAX } else { 0 };
        let groups = channels.chunks(CHANNELS);
        let masks = groups.map(|group| u32::from_le_bytes(std::array::from_fn(|k| byte(k, group))));
        self.reversal = if channels.contains(&true) { masks.collect() } else { Vec::new() };
        self
    }

    /// Pools images of quantised codes.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn run(&self, images: &Tensor) -> Result<Tensor, TensorError> {
        let refuse =
            || TensorError::mismatch("cannot pool {} as quantised codes of {}", images.dims(), &self.input);
        let &[batch, groups, height, width] = images.dims() else { return Err(refuse()) };
        if [height, width] != self.input || !(self.reversal.is_empty() || self.reversal.len() == groups) {
            return Err(refuse());
        }
        let images = images.contiguous();
        let mut codes = std::borrow::Cow::Borrowed(images.as_slice::<u32>()?);
        let mut out: Buffer<u32> = Buffer::any(batch * groups * self.grid.windows())?;
        let reverse = |codes: &mut [u32], area: usize| {
            for (channel, mask) in codes.chunks_exact_mut(area.max(1)).zip(self.reversal.iter().cycle()) {
                channel.iter_mut().for_each(|codes| *codes ^= mask);
            }
        };
        if !self.reversal.is_empty() {
            reverse(codes.to_mut(), self.grid.area());
        }
        let ([_, rows, columns], [_, out_height, out_width]) = (self.grid.axes, self.grid.out);
        let (planes, results) = (bytemuck::cast_slice(&codes), bytemuck::cast_slice_mut(&mut out));
        Separable::<I8x4Dot, _> {
            axes: [rows, columns],
            out: [out_height, out_width],
            planes,
            results,
            reduction: Maximum,
        }
        .compute();
        reverse(&mut out, self.grid.windows());
        Tensor::from_buffer(ElementType::U32, &[batch, groups, self.output[0], self.output[1]], out)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::SmallVector;
    use crate::kernels::{BinaryOp, Quantizer, max_pool};

    #[test]
    fn codes_are_pooled_like_their_values() {
        // With a stride of 2, a pair of elements may straddle two vectors.
        for width in [41, 31, 33, 8] {
            check(width);
        }
    }

    #[test]
    fn windows_that_are_mostly_padding_are_declined() {
        let window = |pad| Window { pads_begin: SmallVector::from_elem(pad, 2), ..Window::dense(2) };
        let is_accepted = |pad| {
            let windows = window(pad).output_dims(&[9, 9], &[2, 2]).unwrap();
            QuantizedMaxPool::new([9, 9], &[2, 2], &window(pad), &windows).is_some()
        };
        assert_eq!([1, 2, 100].map(is_accepted), [true, false, false]);
        let far = [1 << 40, 1 << 40];
        assert!(QuantizedMaxPool::new([9, 9], &[2, 2], &window(1), &far).is_none());
    }

    fn check(width: usize) {
        let dims = [2, 6, 9, width];
        let values: Vec<f32> =
            (0..dims.iter().product()).map(|i: usize| (i * 7919 % 1013) as f32 / 100.0 - 5.0).collect();
        let values = Tensor::from_vec(&dims, values).unwrap();
        let ends = [-4.0f32, 4.5].map(Tensor::scalar);
        let minus = Tensor::scalar(-1f32);
        let quantizer = Quantizer::new([&ends[0], &ends[1], &ends[0], &ends[1]], 256, 6).unwrap();
        let codes = quantizer.quantize(&values).unwrap();
        let values = quantizer.dequantize(&codes).unwrap();
        for (kernel, stride, dilation, pad) in
            [([2, 2], 2, 1, 0), ([3, 3], 2, 1, 1), ([3, 2], 1, 1, 0), ([2, 3], 3, 2, 1), ([1, 5], 2, 1, 3)]
        {
            let window = Window {
                strides: SmallVector::from_elem(stride, 2),
                dilations: SmallVector::from_elem(dilation, 2),
                pads_begin: SmallVector::from_elem(pad, 2),
                pads_end: SmallVector::from_elem(0, 2),
            };
            let windows = window.output_dims(&[9, width], &kernel).unwrap();
            let pool = QuantizedMaxPool::new([9, width], &kernel, &window, &windows);
            let Some(pool) = pool else {
                assert_eq!(pad, 3);
                continue;
            };
            let pooled = quantizer.dequantize(&pool.run(&codes).unwrap()).unwrap();
            let maxima = max_pool(&values, &kernel, &window, &windows).unwrap();
            assert_eq!(pooled, maxima);
            let is_minimum = [false, true, false, false, false, true];
            let pooled =
                quantizer.dequantize(&pool.with_minimum_in(&is_minimum).run(&codes).unwrap()).unwrap();
            let minima = max_pool(&BinaryOp::Mul.apply(&values, &minus).unwrap(), &kernel, &window, &windows);
            let minima = BinaryOp::Mul.apply(&minima.unwrap(), &minus).unwrap();
            for (channel, is_minimum) in is_minimum.into_iter().enumerate() {
                let of = |tensor: &Tensor| tensor.slice(1, channel, 1, 1).unwrap().to_f32_vec().unwrap();
                assert_eq!(of(&pooled), of(if is_minimum { &minima } else { &maxima }));
            }
        }
    }
}
