//! The greatest levels of windows, four channels at a time.

use super::planes::{Four, Planes};
use super::taps;
use crate::buffer::Buffer;
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::dispatch_int8_dot;
use crate::kernels::window::{Window, WindowAxis};
use crate::{ElementType, Tensor, TensorError};

/// The limit of windows, as a multiple of the elements: each of more is looked at.
const MOST_WINDOWS: usize = 4;

/// A [`max_pool`](super::max_pool) of images of levels. Greater levels have greater values: the greatest level is that of the
/// greatest value, or of the least one in channels of which a pool gives the least levels.
#[derive(Clone, Debug)]
pub struct QuantizedMaxPool {
    axes: [WindowAxis; 2],
    out: [usize; 2],
    /// By four channels: the least levels are the greatest after an exclusive or with this. Empty if there are none.
    flips: Vec<u32>,
}

impl QuantizedMaxPool {
    /// The pool of images whose spatial sizes are `spatial`, with so many windows. `None` if a window has no element, or
    /// windows are far more than elements.
    pub fn new(spatial: [usize; 2], kernel: &[usize], window: &Window, windows: &[usize]) -> Option<Self> {
        let axes: [WindowAxis; 2] = window.axes(&spatial, kernel).ok()?.as_slice().try_into().ok()?;
        let out: [usize; 2] = windows.try_into().ok()?;
        let [elements, count] = [spatial, out].map(|[height, width]| height.checked_mul(width));
        if count? > MOST_WINDOWS.saturating_mul(elements?) {
            return None;
        }
        let has_elements = |(axis, out): (&WindowAxis, usize)| (0..out).all(|i| !taps(axis, i).0.is_empty());
        axes.iter().zip(out).all(has_elements).then_some(Self { axes, out, flips: Vec::new() })
    }

    /// The same with the least levels of some channels.
    #[must_use]
    pub fn with_least_of(mut self, is_least: &[bool]) -> Self {
        let flip = |k: usize, some: &[bool]| if some.get(k) == Some(&true) { u8::MAX } else { 0 };
        let flips = is_least.chunks(CHANNELS);
        let flips = flips.map(|some| u32::from_le_bytes(std::array::from_fn(|k| flip(k, some))));
        self.flips = if is_least.contains(&true) { flips.collect() } else { Vec::new() };
        self
    }

    /// The images of levels of images of levels.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn run(&self, images: &Tensor) -> Result<Tensor, TensorError> {
        let spatial = self.axes.map(|axis| axis.size);
        let &[batch, groups, height, width] = images.dims() else {
            return Err(TensorError::mismatch("cannot pool {} as levels of {}", images.dims(), &spatial));
        };
        if [height, width] != spatial || !(self.flips.is_empty() || self.flips.len() == groups) {
            return Err(TensorError::mismatch("cannot pool {} as levels of {}", images.dims(), &spatial));
        }
        let levels = images.as_slice::<u32>()?;
        let mut out: Buffer<u32> = Buffer::any(batch * groups * self.out.iter().product::<usize>())?;
        let flipped: Vec<u32>;
        let levels = if self.flips.is_empty() {
            levels
        } else {
            let areas = levels.chunks_exact((height * width).max(1)).zip(self.flips.iter().cycle());
            flipped = areas.flat_map(|(area, flip)| area.iter().map(move |four| four ^ flip)).collect();
            &flipped
        };
        let (planes, results) = (bytemuck::cast_slice(levels), bytemuck::cast_slice_mut(&mut out));
        let planes: Planes<Four> = Planes { axes: self.axes, out: self.out, planes, results };
        planes.share_out(|planes| dispatch_int8_dot(planes));
        let areas = out.chunks_exact_mut(self.out.iter().product::<usize>().max(1));
        for (area, flip) in areas.zip(self.flips.iter().cycle()) {
            area.iter_mut().for_each(|four| *four ^= flip);
        }
        Tensor::from_buffer(ElementType::U32, &[batch, groups, self.out[0], self.out[1]], out)
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::kernels::{BinaryOp, Quantizer, max_pool};

    #[test]
    fn the_greatest_levels_have_the_greatest_values() {
        // Of the pairs that a stride of 2 reads, some are at the end of a vector.
        for width in [41, 31, 33, 8] {
            check(width);
        }
    }

    #[test]
    fn windows_that_are_mostly_padding_are_declined() {
        let window = |pad| Window { pads_begin: smallvec![pad; 2], ..Window::dense(2) };
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
        let levels = quantizer.quantize(&values).unwrap();
        let values = quantizer.dequantize(&levels).unwrap();
        for (kernel, stride, dilation, pad) in
            [([2, 2], 2, 1, 0), ([3, 3], 2, 1, 1), ([3, 2], 1, 1, 0), ([2, 3], 3, 2, 1), ([1, 5], 2, 1, 3)]
        {
            let window = Window {
                strides: smallvec![stride; 2],
                dilations: smallvec![dilation; 2],
                pads_begin: smallvec![pad; 2],
                pads_end: smallvec![0; 2],
            };
            let windows = window.output_dims(&[9, width], &kernel).unwrap();
            let pool = QuantizedMaxPool::new([9, width], &kernel, &window, &windows);
            let Some(pool) = pool else {
                assert_eq!(pad, 3);
                continue;
            };
            let pooled = quantizer.dequantize(&pool.run(&levels).unwrap()).unwrap();
            let greatest = max_pool(&values, &kernel, &window, &windows).unwrap();
            assert_eq!(pooled, greatest);
            let is_least = [false, true, false, false, false, true];
            let pooled = quantizer.dequantize(&pool.with_least_of(&is_least).run(&levels).unwrap()).unwrap();
            let least = max_pool(&BinaryOp::Mul.apply(&values, &minus).unwrap(), &kernel, &window, &windows);
            let least = BinaryOp::Mul.apply(&least.unwrap(), &minus).unwrap();
            for (channel, is_least) in is_least.into_iter().enumerate() {
                let of = |tensor: &Tensor| tensor.slice(1, channel, 1, 1).unwrap().to_f32_vec().unwrap();
                assert_eq!(of(&pooled), of(if is_least { &least } else { &greatest }));
            }
        }
    }
}
