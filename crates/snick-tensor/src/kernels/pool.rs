//! Maximum and average pooling: OpenVINO's `MaxPool-1/8/14` and `AvgPool-1/14`.
//!
//! [`is_separable`] chooses between two algorithms.

mod quantized;
mod separable;

use self::separable::{Maximum, Reduction, Separable, Sum};
use crate::buffer::{Buffer, filled};
use crate::kernels::dispatch::{widen, widen_real, with_number, with_real};
use crate::kernels::extremum::exceeds;
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::kernels::window::{Window, WindowAxis, WindowGrid};
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, Tensor, TensorError};

pub use quantized::QuantizedMaxPool;

/// Whether windows are reduced down the columns, then along the rows: `height + width` steps instead of
/// `height * width`. Otherwise each window is reduced alone, which works for all element types and finds the
/// positions of maxima.
fn is_separable(grid: &WindowGrid) -> bool {
    /// The maximum kernel size. Every tap on each axis is visited, even in the padding, so the limit bounds the
    /// work for kernels far larger than their input.
    const MAX_KERNEL: usize = 256;
    /// The maximum ratio of windows, and of intermediate results, to input elements. With large padding, there
    /// are more windows than elements, and an out-of-memory error should occur before a long computation.
    const MAX_EXPANSION: usize = 4;

    let [depth, ..] = grid.axes;
    let [planes, height, width] = grid.out;
    let most = height.saturating_mul(width).saturating_mul(planes.max(depth.size));
    grid.axes.iter().all(|axis| axis.kernel <= MAX_KERNEL)
        && most <= grid.area().saturating_mul(MAX_EXPANSION)
}

/// The maximum of each window of `input` `[N, C, spatial..]`; `NaN` if any element is `NaN`. Padding is
/// ignored.
///
/// `outputs` is the number of windows on each axis. The caller computes it, because it depends on the
/// rounding type of the operation.
///
/// # Errors
/// [`TensorError::ShapeMismatch`], [`TensorError::Argument`], [`TensorError::UnsupportedType`].
pub fn max_pool(
    input: &Tensor,
    kernel: &[usize],
    window: &Window,
    outputs: &[usize],
) -> Result<Tensor, TensorError> {
    let pool = Pooling::new(input, kernel, window, outputs)?;
    let [wide] = widen([input])?;
    if pool.is_separable(&wide) {
        let values = pool.separable(&wide.units(), Maximum)?;
        // A window without elements should give the lowest finite number, but is -infinity here. Only
        // the search for positions can tell such a window from a window full of -infinity. The compiler vectorises a
        // fold, but not `any`.
        if !values.iter().fold(false, |any, &x| any | (x == f32::NEG_INFINITY)) {
            return Tensor::from_buffer(ElementType::F32, &pool.dims, values)?.cast(input.element_type());
        }
    }
    Ok(max_pool_indices(input, kernel, window, outputs, 0)?.0)
}

/// As [`max_pool`], with the position of each maximum: an `i64` index into the input, flattened from `axis`
/// on. Among equal elements, the first wins.
///
/// # Errors
/// Same as [`max_pool`], and [`TensorError::AxisOutOfRange`].
pub fn max_pool_indices(
    input: &Tensor,
    kernel: &[usize],
    window: &Window,
    outputs: &[usize],
    axis: usize,
) -> Result<(Tensor, Tensor), TensorError> {
    input.layout().check_axis(axis)?;
    let pool = Pooling::new(input, kernel, window, outputs)?;
    stored_bytes(ElementType::I64, &pool.dims)?;
    let flat = checked_len(&input.dims()[axis..]).unwrap_or(0).max(1);
    let et = input.element_type();
    let [wide] = widen([input])?;
    let (values, indices) = with_number!(wide.element_type(), T => {
        let x = wide.units::<T>();
        let mut values = filled(pool.len(), T::MIN)?;
        let mut indices = filled(pool.len(), 0i64)?;
        pool.for_each_window(&mut |to, channel, inside| {
            let mut best: Option<(usize, T)> = None;
            indices[to] = (channel % flat) as i64;
            inside.each(|i| {
                let value = x[channel + i];
                if best.is_none_or(|(_, known)| exceeds(value, known)) {
                    best = Some((channel + i, value));
                }
            });
            if let Some((at, value)) = best {
                values[to] = value;
                indices[to] = (at % flat) as i64;
            }
        });
        Ok((Tensor::from_vec(&pool.dims, values)?, Tensor::from_vec(&pool.dims, indices)?))
    })?;
    Ok((values.cast(et)?, indices))
}

/// The mean of each window. With `exclude_pad`, it covers only input elements. Otherwise padding counts as
/// zeros, except positions beyond the padding that `ceil` rounding adds to the last window. The mean of no
/// elements is `NaN`; integer means are rounded to nearest even.
///
/// # Errors
/// Same as [`max_pool`].
pub fn avg_pool(
    input: &Tensor,
    kernel: &[usize],
    window: &Window,
    outputs: &[usize],
    exclude_pad: bool,
) -> Result<Tensor, TensorError> {
    let pool = Pooling::new(input, kernel, window, outputs)?;
    let et = input.element_type();
    let [wide] = widen_real([input])?;
    if pool.is_separable(&wide) {
        let mut values = pool.separable(&wide.units(), Sum)?;
        let [lines, columns] = &pool.counts(exclude_pad);
        dispatch_best(DivideSums { values: &mut values, lines, columns });
        return Tensor::from_buffer(ElementType::F32, &pool.dims, values)?.cast(et);
    }
    with_real!(wide.element_type(), T => {
        let x = wide.units::<T>();
        let mut values = filled(pool.len(), T::default())?;
        pool.for_each_window(&mut |to, channel, inside| {
            let mut sum: T = 0.0;
            inside.each(|i| sum += x[channel + i]);
            let count = if exclude_pad { inside.count() } else { inside.padded };
            let mean = sum / count as T;
            values[to] = if et.is_integer() { mean.round_ties_even() } else { mean };
        });
        Tensor::from_vec(&pool.dims, values)
    })?
    .cast(et)
}

/// Divides the sum of each window by the number of its elements, the product of two of [`Pooling::counts`].
struct DivideSums<'a> {
    values: &'a mut [f32],
    lines: &'a [f32],
    columns: &'a [f32],
}

impl Vectorised for DivideSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let lines = self.values.chunks_exact_mut(self.columns.len().max(1));
        for (values, line) in lines.zip(self.lines.iter().cycle()) {
            values.iter_mut().zip(self.columns).for_each(|(value, column)| *value /= line * column);
        }
    }
}

/// All windows over the channels of all images.
struct Pooling {
    /// The dims of the result.
    dims: Dims,
    grid: WindowGrid,
    /// Channels of all images.
    channels: usize,
}

/// The elements of a window that are inside a channel.
struct ElementsInside {
    /// On each axis: the position of the first element, the distance between elements, and their number.
    axes: [(usize, usize, usize); 3],
    /// The size of each axis of the channel.
    sizes: [usize; 3],
    /// The number of elements including padding.
    padded: usize,
}

impl ElementsInside {
    fn new(grid: &WindowGrid, window: usize) -> Self {
        let mut padded: usize = 1;
        let mut inside = [(0, 1, 0); 3];
        let outputs = WindowGrid::unflatten(window, grid.out);
        for ((axis, output), inside) in grid.axes.iter().zip(outputs).zip(&mut inside) {
            let taps = axis.taps_inside(output);
            *inside = (axis.inside(output, taps.start).unwrap_or(0), axis.dilation, taps.len());
            padded = padded.saturating_mul(axis.padded_taps(output));
        }
        ElementsInside { axes: inside, sizes: grid.axes.map(|axis| axis.size), padded }
    }

    fn count(&self) -> usize {
        checked_len(&self.axes.map(|(.., count)| count)).unwrap_or(usize::MAX)
    }

    /// Calls `visit` with the index of each element in its channel, in order.
    fn each(&self, mut visit: impl FnMut(usize)) {
        let [z, y, x] = self.axes;
        for d in 0..z.2 {
            for h in 0..y.2 {
                let row = ((z.0 + d * z.1) * self.sizes[1] + y.0 + h * y.1) * self.sizes[2];
                for w in 0..x.2 {
                    visit(row + x.0 + w * x.1);
                }
            }
        }
    }
}

impl Pooling {
    fn new(
        input: &Tensor,
        kernel: &[usize],
        window: &Window,
        outputs: &[usize],
    ) -> Result<Self, TensorError> {
        let [batch, channels, spatial @ ..] = input.dims() else {
            return Err(TensorError::mismatch("cannot pool {} to {}", input.dims(), outputs));
        };
        if outputs.len() != spatial.len() {
            return Err(TensorError::mismatch("cannot pool spatial axes {} to {}", spatial, outputs));
        }
        let axes = window.axes(spatial, kernel)?;
        let mut dims = Dims::from_slice(&[*batch, *channels]);
        dims.extend_from_slice(outputs);
        stored_bytes(input.element_type(), &dims)?;
        // Windows that start beyond the padding are an error; positions in other windows do not overflow.
        let starts_inside = |(axis, &count): (&WindowAxis, &usize)| {
            let last = (count as i128 - 1) * axis.stride as i128 - axis.before as i128;
            count == 0 || last < axis.size as i128 + axis.after.max(0) as i128
        };
        if !axes.iter().zip(outputs).all(starts_inside) {
            return Err(TensorError::argument(
                "the output has more windows than start inside the padded input",
            ));
        }
        let channels = checked_len(&dims[..2]).unwrap_or(0);
        Ok(Pooling { dims, grid: WindowGrid::new(&axes, outputs), channels })
    }

    fn is_separable(&self, wide: &Tensor) -> bool {
        wide.element_type() == ElementType::F32 && is_separable(&self.grid)
    }

    fn len(&self) -> usize {
        self.channels.saturating_mul(self.grid.windows())
    }

    /// Reduces volumes: first each plane, then along the depth.
    fn separable<R>(&self, x: &[f32], reduction: R) -> Result<Buffer<f32>, TensorError>
    where
        R: Reduction<f32> + Copy + Sync,
    {
        let ([depth, rows, columns], [planes, height, width]) = (self.grid.axes, self.grid.out);
        let pool = |axes: [WindowAxis; 2], out: [usize; 2], count: usize, x: &[f32]| {
            let mut results = Buffer::any(checked_len(&[count, out[0], out[1]]).unwrap_or(usize::MAX))?;
            Separable { axes, out, planes: x, results: &mut results, reduction }.compute();
            Ok::<_, TensorError>(results)
        };
        let of_planes = pool([rows, columns], [height, width], self.channels * depth.size, x)?;
        if self.grid.is_flat() {
            return Ok(of_planes);
        }
        let plane = WindowAxis { size: height * width, ..WindowAxis::ABSENT };
        pool([depth, plane], [planes, height * width], self.channels, &of_planes)
    }

    /// The elements of the windows of a channel that count: for each line of windows, and in each line. All fit in an
    /// `f32`, like their products, because the kernel is small.
    fn counts(&self, exclude_pad: bool) -> [Vec<f32>; 2] {
        let [d, h, w] = [0, 1, 2].map(|i| {
            let axis = &self.grid.axes[i];
            let count = |o| if exclude_pad { axis.taps_inside(o).len() } else { axis.padded_taps(o) };
            (0..self.grid.out[i]).map(|o| count(o) as f32).collect::<Vec<_>>()
        });
        [d.iter().flat_map(|d| h.iter().map(move |h| d * h)).collect(), w]
    }

    /// Calls `visit(output, start of the channel, elements)` for each window of each channel. Not generic, so
    /// that it is compiled once for all element types.
    fn for_each_window(&self, visit: &mut dyn FnMut(usize, usize, &ElementsInside)) {
        let (area, windows) = (self.grid.area(), self.grid.windows());
        if self.len() == 0 {
            return;
        }
        for window in 0..windows {
            let inside = ElementsInside::new(&self.grid, window);
            for channel in 0..self.channels {
                visit(channel * windows + window, channel * area, &inside);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SmallVector;

    fn ramp(dims: &[usize]) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(|x| x as f32).collect()).unwrap()
    }

    #[test]
    fn maxima_and_their_positions() {
        let window = Window { strides: SmallVector::from([2, 2]), ..Window::dense(2) };
        let (values, indices) = max_pool_indices(&ramp(&[1, 2, 4, 4]), &[2, 2], &window, &[2, 2], 2).unwrap();
        assert_eq!(values.to_f32_vec().unwrap(), [5.0, 7.0, 13.0, 15.0, 21.0, 23.0, 29.0, 31.0]);
        assert_eq!(indices.to_i64_vec().unwrap(), [5, 7, 13, 15, 5, 7, 13, 15]);
        let apart = Window { dilations: SmallVector::from([3]), ..Window::dense(1) };
        let down = ramp(&[1, 1, 5]).slice(2, 4, 5, -1).unwrap();
        assert_eq!(max_pool(&down, &[2], &apart, &[2]).unwrap().to_f32_vec().unwrap(), [4.0, 3.0]);
    }

    #[test]
    fn planes_and_then_windows_over_them_are_whole_windows() {
        let window = Window {
            strides: SmallVector::from([1, 2, 1]),
            dilations: SmallVector::from([1, 1, 2]),
            pads_begin: SmallVector::from([0, 1, 2]),
            pads_end: SmallVector::from([0, 1, 2]),
        };
        let numbers = (0..2 * 3 * 4 * 9 * 11).map(|i| (i * 7919 % 1009) as f32 - 500.0).collect();
        let x = Tensor::from_vec(&[2, 3, 4, 9, 11], numbers).unwrap();
        let kernel = [2, 3, 3];
        let outputs = window.output_dims(&x.dims()[2..], &kernel).unwrap();
        let pool = Pooling::new(&x, &kernel, &window, &outputs).unwrap();
        assert!(pool.is_separable(&x));
        let found = max_pool(&x, &kernel, &window, &outputs).unwrap();
        assert_eq!(found, max_pool_indices(&x, &kernel, &window, &outputs, 0).unwrap().0);
    }

    #[test]
    fn nan_is_the_maximum_of_its_windows() {
        let ones = || -> Vec<f32> {
            (0..24).map(|i| if [3, 10, 23].contains(&i) { f32::NAN } else { 1.0 }).collect()
        };
        let pool = |dims: &[usize]| {
            let (kernel, window) = ([1, 2], Window::dense(2));
            let x = Tensor::from_vec(dims, ones()).unwrap();
            let outputs = window.output_dims(&dims[2..], &kernel).unwrap();
            let indices =
                max_pool_indices(&x, &kernel, &window, &outputs, 0).unwrap().1.to_i64_vec().unwrap();
            let values = max_pool(&x, &kernel, &window, &outputs).unwrap().to_f32_vec().unwrap();
            for (value, at) in values.iter().zip(&indices) {
                assert_eq!(value.is_nan(), ones()[*at as usize].is_nan());
            }
            values.iter().filter(|value| value.is_nan()).count()
        };
        assert_eq!(pool(&[1, 1, 1, 24]), 5);

        assert_eq!(pool(&[2, 2, 1, 6]), 5);
    }

    #[test]
    fn lines_of_any_length_and_stride() {
        for (size, kernel, stride) in
            (1..40).flat_map(|size| [(2, 2), (3, 2), (1, 1), (2, 3)].map(|(k, s)| (size, k, s)))
        {
            let window = Window {
                strides: SmallVector::from([stride]),
                pads_begin: SmallVector::from([kernel as isize - 1]),
                ..Window::dense(1)
            };
            let numbers = (0..2 * size).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
            let x = Tensor::from_vec(&[1, 2, size], numbers).unwrap();
            let outputs = window.output_dims(&[size], &[kernel]).unwrap();
            let found = max_pool(&x, &[kernel], &window, &outputs).unwrap();
            let expected = max_pool_indices(&x, &[kernel], &window, &outputs, 0).unwrap().0;
            assert_eq!(found, expected, "{size} {kernel} {stride}");
        }
    }

    #[test]
    fn windows_side_by_side_in_any_number_of_rows() {
        for (kernel, stride) in [(1, 1), (2, 2), (1, 2), (2, 3), (3, 3), (3, 2)] {
            for [height, width] in [[1, 6], [7, 12], [12, 7], [50, 131]] {
                let window = Window { strides: SmallVector::from_elem(stride, 2), ..Window::dense(2) };
                let numbers = (0..2 * height * width).map(|i| (i * 7919 % 1009) as f32 - 500.0).collect();
                let x = Tensor::from_vec(&[1, 2, height, width], numbers).unwrap();
                let kernel = [kernel.min(height), kernel];
                let outputs = window.output_dims(&[height, width], &kernel).unwrap();
                let found = max_pool(&x, &kernel, &window, &outputs).unwrap();
                let expected = max_pool_indices(&x, &kernel, &window, &outputs, 0).unwrap().0;
                assert_eq!(found, expected, "{kernel:?} {stride} {height}x{width}");
            }
        }
    }

    #[test]
    fn padding_counts_or_not() {
        let window = Window {
            strides: SmallVector::from([2]),
            pads_begin: SmallVector::from([1]),
            pads_end: SmallVector::from([1]),
            ..Window::dense(1)
        };
        let x = ramp(&[1, 1, 4]);
        let of = |exclude| avg_pool(&x, &[3], &window, &[3], exclude).unwrap().to_f32_vec().unwrap();
        // Windows: [pad 0 1] [1 2 3] [3 pad beyond].
        assert_eq!(of(true), [0.5, 2.0, 3.0]);
        assert_eq!(of(false), [1.0 / 3.0, 2.0, 1.5]);
        let whole = x.cast(ElementType::I32).unwrap();
        let of = |exclude| avg_pool(&whole, &[3], &window, &[3], exclude).unwrap().to_i64_vec().unwrap();
        assert_eq!((of(true), of(false)), (vec![0, 2, 3], vec![0, 2, 2]));
        assert_eq!(max_pool(&x, &[3], &window, &[3]).unwrap().to_f32_vec().unwrap(), [1.0, 3.0, 3.0]);
    }
}
