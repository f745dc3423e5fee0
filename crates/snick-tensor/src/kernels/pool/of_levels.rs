//! The greatest levels of windows, four channels at a time.

use super::taps;
use crate::buffer::Buffer;
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::{Instructions, Vectorised, widest};
use crate::kernels::window::{Window, WindowAxis};
use crate::{ElementType, Tensor, TensorError};

/// A [`max_pool`](super::max_pool) of images of levels. Greater levels have greater values: the greatest level is that of the
/// greatest value, or of the least one in channels of which a pool gives the least levels.
#[derive(Clone, Debug)]
pub struct QuantizedMaxPool {
    axes: [WindowAxis; 2],
    out: [usize; 2],
    /// By four channels: the least levels are the greatest after an exclusive or with this. Empty if there are none.
    flips: Vec<u32>,
}

/// The levels of four channels at one position.
type Four = [u8; CHANNELS];

impl QuantizedMaxPool {
    /// The pool of images whose spatial sizes are `spatial`, with so many windows. `None` if a window has no element.
    pub fn new(spatial: [usize; 2], kernel: &[usize], window: &Window, windows: &[usize]) -> Option<Self> {
        let axes: [WindowAxis; 2] = window.axes(&spatial, kernel).ok()?.as_slice().try_into().ok()?;
        let out: [usize; 2] = windows.try_into().ok()?;
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
        widest(Pool { of: self, levels, out: &mut out });
        Tensor::from_buffer(ElementType::U32, &[batch, groups, self.out[0], self.out[1]], out)
    }
}

/// A pool over all groups.
struct Pool<'a> {
    of: &'a QuantizedMaxPool,
    levels: &'a [u32],
    out: &'a mut [u32],
}

impl Vectorised for Pool<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { of, levels, out } = self;
        let area = of.axes.iter().map(|axis| axis.size).product();
        let windows = of.out.iter().product();
        if area == 0 || windows == 0 {
            return;
        }
        let mut flipped = Vec::new();
        let groups = levels.chunks_exact(area).zip(out.chunks_exact_mut(windows));
        let flips = of.flips.iter().cycle().copied().chain(std::iter::repeat(0));
        for ((image, out), flip) in groups.zip(flips) {
            if flip == 0 {
                of.pool::<I>(bytemuck::cast_slice(image), bytemuck::cast_slice_mut(out));
            } else {
                flipped.clear();
                flipped.extend(image.iter().map(|four| four ^ flip));
                of.pool::<I>(bytemuck::cast_slice(&flipped), bytemuck::cast_slice_mut(out));
                out.iter_mut().for_each(|four| *four ^= flip);
            }
        }
    }
}

impl QuantizedMaxPool {
    /// The greatest levels of one group.
    #[inline(always)]
    fn pool<I: Instructions>(&self, image: &[Four], out: &mut [Four]) {
        let ([rows, columns], width) = (self.axes, self.out[1]);
        // The greatest of each column of a row of windows, and every other of these.
        let mut line = vec![Four::default(); columns.size + 1];
        let mut every_other = vec![Four::default(); width];
        for (y, out) in out.chunks_exact_mut(width).enumerate() {
            line.fill(Four::default());
            for row in (0..rows.kernel).filter_map(|tap| rows.inside(y, tap)) {
                greatest(&mut line, &image[row * columns.size..][..columns.size]);
            }
            out.fill(Four::default());
            for tap in 0..columns.kernel {
                let inside = columns.outputs_inside(tap, width);
                let Some(first) = columns.inside(inside.start, tap) else { continue };
                let (from, to) = (&line[first..], &mut out[inside]);
                match columns.stride {
                    1 => greatest(to, from),
                    2 => {
                        I::first_of_each(from.as_chunks::<2>().0, &mut every_other);
                        greatest(to, &every_other);
                    }
                    stride => {
                        for (to, from) in to.iter_mut().zip(from.iter().step_by(stride)) {
                            greatest(std::slice::from_mut(to), std::slice::from_ref(from));
                        }
                    }
                }
            }
        }
    }
}

/// Replaces levels by those of `from` that are greater.
#[inline(always)]
fn greatest(levels: &mut [Four], from: &[Four]) {
    for (level, &other) in levels.as_flattened_mut().iter_mut().zip(from.as_flattened()) {
        *level = (*level).max(other);
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::kernels::{BinaryOp, Quantizer, max_pool};

    #[test]
    fn the_greatest_levels_have_the_greatest_values() {
        let dims = [2, 6, 9, 41];
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
            let windows = window.output_dims(&[9, 41], &kernel).unwrap();
            let pool = QuantizedMaxPool::new([9, 41], &kernel, &window, &windows);
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
