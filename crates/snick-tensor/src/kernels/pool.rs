//! The maximum or the mean of each window: OpenVINO's `MaxPool-1/8/14` and `AvgPool-1/14`.

mod of_levels;
mod planes;

use smallvec::SmallVec;

use self::planes::Planes;

use crate::buffer::{Buffer, filled};
use crate::kernels::dispatch::{widen, widen_real, with_number, with_real};
use crate::kernels::extremum::exceeds;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::kernels::window::{Window, WindowAxis};
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, Tensor, TensorError};

pub use of_levels::QuantizedMaxPool;

/// The maximum of each window of `input` `[N, C, spatial..]`, `NaN` if any element is; padding is ignored.
///
/// `outputs` is the number of windows on each axis, which the caller rounds.
///
/// # Errors
/// [`TensorError::ShapeMismatch`], [`TensorError::Argument`], [`TensorError::UnsupportedType`].
pub fn max_pool(
    input: &Tensor,
    kernel: &[usize],
    window: &Window,
    outputs: &[usize],
) -> Result<Tensor, TensorError> {
    let walk = Walk::new(input, kernel, window, outputs)?;
    let [wide] = widen([input])?;
    if wide.element_type() == ElementType::F32
        && walk.has_small_windows()
        && let Some(values) = walk.greatest(&wide.units::<f32>())?
    {
        // Windows without elements and windows of infinities are distinguished below. A fold, unlike `any`, compares in
        // vectors.
        if !values.iter().fold(false, |any, &x| any | (x == f32::NEG_INFINITY)) {
            return Tensor::from_buffer(ElementType::F32, &walk.dims, values)?.cast(input.element_type());
        }
    }
    Ok(max_pool_indices(input, kernel, window, outputs, 0)?.0)
}

/// As [`max_pool`], with the position of each maximum: an `i64` index into the input flattened from `axis` on. The
/// first of equal elements is used.
///
/// # Errors
/// As [`max_pool`], and [`TensorError::AxisOutOfRange`].
pub fn max_pool_indices(
    input: &Tensor,
    kernel: &[usize],
    window: &Window,
    outputs: &[usize],
    axis: usize,
) -> Result<(Tensor, Tensor), TensorError> {
    input.layout().check_axis(axis)?;
    let walk = Walk::new(input, kernel, window, outputs)?;
    stored_bytes(ElementType::I64, &walk.dims)?;
    let flat = checked_len(&input.dims()[axis..]).unwrap_or(0).max(1);
    let et = input.element_type();
    let [wide] = widen([input])?;
    let (values, indices) = with_number!(wide.element_type(), T => {
        let x = wide.units::<T>();
        let mut values = filled(walk.len(), T::MIN)?;
        let mut indices = filled(walk.len(), 0i64)?;
        walk.each(&mut |to, first, inside, _| {
            let mut best: Option<(usize, T)> = None;
            indices[to] = (first % flat) as i64;
            inside.each(|i| {
                let value = x[first + i];
                if best.is_none_or(|(_, known)| exceeds(value, known)) {
                    best = Some((first + i, value));
                }
            });
            if let Some((at, value)) = best {
                values[to] = value;
                indices[to] = (at % flat) as i64;
            }
        });
        Ok((Tensor::from_vec(&walk.dims, values)?, Tensor::from_vec(&walk.dims, indices)?))
    })?;
    Ok((values.cast(et)?, indices))
}

/// The mean of each window. With `exclude_pad` over the elements inside; otherwise padding counts as zeros, but not
/// elements beyond the padding (of a last window with `ceil` rounding). The mean of no elements is `NaN`; that of
/// integers is rounded to nearest even.
///
/// # Errors
/// As [`max_pool`].
pub fn avg_pool(
    input: &Tensor,
    kernel: &[usize],
    window: &Window,
    outputs: &[usize],
    exclude_pad: bool,
) -> Result<Tensor, TensorError> {
    let walk = Walk::new(input, kernel, window, outputs)?;
    let et = input.element_type();
    let [wide] = widen_real([input])?;
    if wide.element_type() == ElementType::F32 && walk.has_small_windows() {
        let mut values = walk.sums(&wide.units::<f32>())?;
        let counts = walk.counts(exclude_pad);
        for values in values.chunks_exact_mut(counts.len().max(1)) {
            values.iter_mut().zip(&counts).for_each(|(sum, count)| *sum /= count);
        }
        return Tensor::from_buffer(ElementType::F32, &walk.dims, values)?.cast(et);
    }
    with_real!(wide.element_type(), T => {
        let x = wide.units::<T>();
        let mut values = filled(walk.len(), T::default())?;
        walk.each(&mut |to, first, inside, padded| {
            let mut sum: T = 0.0;
            inside.each(|i| sum += x[first + i]);
            let count = if exclude_pad { inside.count() } else { padded };
            let mean = sum / count as T;
            values[to] = if et.is_integer() { mean.round_ties_even() } else { mean };
        });
        Tensor::from_vec(&walk.dims, values)
    })?
    .cast(et)
}

/// The limit of what is computed between planes and windows, as a multiple of the input and the result.
const MOST_BETWEEN: usize = 4;

/// All the windows over an input.
struct Walk {
    /// The dims of the result.
    dims: Dims,
    axes: [WindowAxis; 3],
    out: [usize; 3],
    channels: usize,
}

/// The elements of one window within one channel.
struct Inside {
    /// First index, stride and count on each axis.
    runs: [(usize, usize, usize); 3],
    sizes: [usize; 3],
}

impl Inside {
    fn count(&self) -> usize {
        checked_len(&self.runs.map(|run| run.2)).unwrap_or(usize::MAX)
    }

    /// Calls `visit` with the index of each in its channel, in order.
    fn each(&self, mut visit: impl FnMut(usize)) {
        let [z, y, x] = self.runs;
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

impl Walk {
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
        // Only windows that start before the padding ends; the bound keeps the index sums small.
        let starts_inside = |(axis, &count): (&WindowAxis, &usize)| {
            let last = (count as i128 - 1) * axis.stride as i128 - axis.before as i128;
            count == 0 || last < axis.size as i128 + axis.after.max(0) as i128
        };
        if !axes.iter().zip(outputs).all(starts_inside) {
            return Err(TensorError::argument(
                "the output has more windows than start inside the padded input",
            ));
        }
        let (axes, out) = WindowAxis::three(&axes, outputs);
        Ok(Walk { channels: checked_len(&dims[..2]).unwrap_or(0), dims, axes, out })
    }

    fn len(&self) -> usize {
        checked_len(&[self.channels, self.out[0], self.out[1], self.out[2]]).unwrap_or(0)
    }

    /// The greatest elements of all windows: those in each plane, and then of these. `None` if these are too many.
    fn greatest(&self, x: &[f32]) -> Result<Option<Buffer<f32>>, TensorError> {
        let ([depth, rows, columns], [planes, height, width]) = (self.axes, self.out);
        let pool = |axes: [WindowAxis; 2], out: [usize; 2], count: usize, planes: &[f32]| {
            let mut results = Buffer::any(checked_len(&[count, out[0], out[1]]).unwrap_or(usize::MAX))?;
            Planes { axes, out, planes, results: &mut results }.share_out(|planes| dispatch_best(planes));
            Ok::<_, TensorError>(results)
        };
        let between = checked_len(&[self.channels, depth.size, height, width]);
        if between.is_none_or(|len| len > MOST_BETWEEN * (x.len() + self.len())) {
            return Ok(None);
        }
        let in_planes = pool([rows, columns], [height, width], self.channels * depth.size, x)?;
        if depth.size == 1 && depth.kernel == 1 && depth.before == 0 {
            return Ok(Some(in_planes));
        }
        let along = WindowAxis { size: height * width, ..WindowAxis::ABSENT };
        pool([depth, along], [planes, height * width], self.channels, &in_planes).map(Some)
    }

    /// Whether visiting all taps of a window is cheap, inside or not.
    fn has_small_windows(&self) -> bool {
        self.axes.iter().all(|axis| axis.kernel <= 1 << 8)
    }

    /// The sums of the inner elements of all windows, tap by tap and a line of windows at a time.
    fn sums(&self, x: &[f32]) -> Result<Buffer<f32>, TensorError> {
        let mut sums = Buffer::any(self.len())?;
        let sizes = [self.axes.map(|axis| axis.size), self.out];
        let [area, windows] = sizes.map(|sizes| checked_len(&sizes).unwrap_or(0));
        sharing::in_parts(&mut sums, windows, sharing::ELEMENTS / area.max(1), |first, sums| {
            sums.fill(0.0);
            dispatch_best(Sums { walk: self, x: &x[first * area..], sums });
        });
        Ok(sums)
    }

    /// The divisor of each sum of a channel.
    fn counts(&self, exclude_pad: bool) -> Vec<f32> {
        let of = |i: usize| {
            let axis = &self.axes[i];
            (0..self.out[i]).map(move |o| match taps(axis, o) {
                (inside, _) if exclude_pad => inside.len(),
                (_, padded) => padded,
            })
        };
        let [d, h, w] = [0, 1, 2].map(|i| of(i).collect::<Vec<_>>());
        let lines = d.iter().flat_map(|d| h.iter().map(move |h| d.saturating_mul(*h)));
        lines.flat_map(|line| w.iter().map(move |w| line.saturating_mul(*w) as f32)).collect()
    }

    /// `visit(output, first element of the channel, elements inside, elements inside the padding)`. Compiled once for all
    /// types of elements.
    fn each(&self, visit: &mut dyn FnMut(usize, usize, &Inside, usize)) {
        let sizes = self.axes.map(|axis| axis.size);
        let area = checked_len(&sizes).unwrap_or(0);
        if self.len() == 0 {
            return;
        }
        let windows: usize = self.out.iter().product();
        for at in 0..windows {
            let place = [at / (self.out[1] * self.out[2]), at / self.out[2] % self.out[1], at % self.out[2]];
            let mut padded = 1;
            let mut runs = [(0, 1, 0); 3];
            for ((axis, &o), run) in self.axes.iter().zip(&place).zip(&mut runs) {
                let (taps, counted) = taps(axis, o);
                *run = (axis.inside(o, taps.start).unwrap_or(0), axis.dilation, taps.len());
                padded = counted.saturating_mul(padded);
            }
            let inside = Inside { runs, sizes };
            for channel in 0..self.channels {
                visit(channel * windows + at, channel * area, &inside, padded);
            }
        }
    }
}

/// The sums of windows, a line at a time.
struct Sums<'a> {
    walk: &'a Walk,
    x: &'a [f32],
    sums: &'a mut [f32],
}

impl Vectorised for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { walk, x, sums } = self;
        let [d, h, w] = &walk.axes;
        let [planes, rows, columns] = walk.out;
        let area = checked_len(&[d.size, h.size, w.size]).unwrap_or(0);
        if area == 0 || sums.is_empty() {
            return;
        }
        // The windows of a line that have each of its taps, and where the first of them has it.
        let across: SmallVec<[_; 4]> = (0..w.kernel)
            .filter_map(|tap| {
                let inside = w.outputs_inside(tap, columns);
                let first = w.inside(inside.start, tap)?;
                (!inside.is_empty()).then_some((inside, first))
            })
            .collect();
        let channels = x.chunks_exact(area).zip(sums.chunks_exact_mut(planes * rows * columns));
        for (channel, sums) in channels {
            let places = (0..planes).flat_map(|plane| (0..rows).map(move |row| [plane, row]));
            for ([plane, row], sums) in places.zip(sums.chunks_exact_mut(columns)) {
                for z in (0..d.kernel).filter_map(|tap| d.inside(plane, tap)) {
                    for y in (0..h.kernel).filter_map(|tap| h.inside(row, tap)) {
                        let from = &channel[(z * h.size + y) * w.size..][..w.size];
                        for (inside, first) in &across {
                            add(&mut sums[inside.clone()], &from[*first..], w.stride);
                        }
                    }
                }
            }
        }
    }
}

/// Adds every `stride`-th element.
#[inline(always)]
fn add(sums: &mut [f32], from: &[f32], stride: usize) {
    match stride {
        1 => sums.iter_mut().zip(from).for_each(|(sum, &x)| *sum += x),
        // A stride that is known to the compiler is read in whole vectors.
        2 => {
            let (pairs, last) = from.as_chunks::<2>();
            let (paired, rest) = sums.split_at_mut(sums.len().min(pairs.len()));
            paired.iter_mut().zip(pairs).for_each(|(sum, &[x, _])| *sum += x);
            rest.iter_mut().zip(last).for_each(|(sum, &x)| *sum += x);
        }
        _ => sums.iter_mut().zip(from.iter().step_by(stride)).for_each(|(sum, &x)| *sum += x),
    }
}

/// The taps of window `output` inside the input, and the number of taps inside the padded input.
fn taps(axis: &WindowAxis, output: usize) -> (std::ops::Range<usize>, usize) {
    let first = axis.input(output, 0);
    // The number of taps before `end`.
    let before = |end: isize| match usize::try_from(end - first) {
        Ok(room) => room.div_ceil(axis.dilation).min(axis.kernel),
        Err(_) => 0,
    };
    let (low, high) = (before(0), before(axis.size as isize));
    let padded = before(axis.size as isize + axis.after).max(high) - before(-axis.before).min(low);
    (low..high, padded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn ramp(dims: &[usize]) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(|x| x as f32).collect()).unwrap()
    }

    #[test]
    fn maxima_and_their_positions() {
        let window = Window { strides: smallvec![2, 2], ..Window::dense(2) };
        let (values, indices) = max_pool_indices(&ramp(&[1, 2, 4, 4]), &[2, 2], &window, &[2, 2], 2).unwrap();
        assert_eq!(values.to_f32_vec().unwrap(), [5.0, 7.0, 13.0, 15.0, 21.0, 23.0, 29.0, 31.0]);
        assert_eq!(indices.to_i64_vec().unwrap(), [5, 7, 13, 15, 5, 7, 13, 15]);
        let apart = Window { dilations: smallvec![3], ..Window::dense(1) };
        let down = ramp(&[1, 1, 5]).slice(2, 4, 5, -1).unwrap();
        assert_eq!(max_pool(&down, &[2], &apart, &[2]).unwrap().to_f32_vec().unwrap(), [4.0, 3.0]);
    }

    #[test]
    fn planes_and_then_windows_over_them_are_whole_windows() {
        let window = Window {
            strides: smallvec![1, 2, 1],
            dilations: smallvec![1, 1, 2],
            pads_begin: smallvec![0, 1, 2],
            pads_end: smallvec![0, 1, 2],
        };
        let numbers = (0..2 * 3 * 4 * 9 * 11).map(|i| (i * 7919 % 1009) as f32 - 500.0).collect();
        let x = Tensor::from_vec(&[2, 3, 4, 9, 11], numbers).unwrap();
        let kernel = [2, 3, 3];
        let outputs = window.output_dims(&x.dims()[2..], &kernel).unwrap();
        let walk = Walk::new(&x, &kernel, &window, &outputs).unwrap();
        assert!(walk.greatest(&x.to_f32_vec().unwrap()).unwrap().is_some());
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
                strides: smallvec![stride],
                pads_begin: smallvec![kernel as isize - 1],
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
                let window = Window { strides: smallvec![stride; 2], ..Window::dense(2) };
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
            strides: smallvec![2],
            pads_begin: smallvec![1],
            pads_end: smallvec![1],
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
