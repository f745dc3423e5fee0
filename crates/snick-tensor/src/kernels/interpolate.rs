//! Resampling along axes: OpenVINO's `Interpolate-4` and `Interpolate-11`.
//!
//! All modes are separable: along one axis, each output element is a weighted sum of a few input elements,
//! its taps. Nearest mode is a gather.
//!
//! **Loop nest**, outer to inner: interpolated axes; slabs (all axes before the interpolated one); output
//! elements of that axis; taps; elements after that axis.
//!
//! **Threads.** All threads share the taps of an axis. Each computes some slabs.

use crate::buffer::Buffer;
use crate::kernels::dispatch::{widen, with_real};
use crate::kernels::gather::gather;
use crate::kernels::gemm::Gemm;
use crate::kernels::interpolation::{Interpolate, InterpolateMode};
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{Dims, Element, ElementType, Tensor, TensorError};

/// Resizes `axes` to `sizes`. `scales` determine the coordinates and may differ from the ratio of output to
/// input size: OpenVINO uses the given scales. Padding attributes are the responsibility of the caller.
///
/// Empty tensors accept any scale. On an axis with scale 1, or with equal input and output sizes, output
/// coordinates are input coordinates in every coordinate mode. Integers are computed in `f32` and rounded to
/// nearest even; `linear` truncates them in tensors of rank 5 or more.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`], [`TensorError::Argument`] if entries are missing, an input axis is empty
/// or a scale is not positive, [`TensorError::UnsupportedType`] for booleans and strings (nearest takes any
/// type).
pub fn interpolate(
    input: &Tensor,
    axes: &[usize],
    sizes: &[usize],
    scales: &[f32],
    how: &Interpolate,
) -> Result<Tensor, TensorError> {
    if axes.len() != sizes.len() || axes.len() != scales.len() {
        return Err(TensorError::argument("expected a size and a scale for every axis"));
    }
    let mut dims = Dims::from_slice(input.dims());
    for (&axis, &size) in axes.iter().zip(sizes) {
        input.layout().check_axis(axis)?;
        dims[axis] = size;
    }
    if dims.contains(&0) {
        return Tensor::zeros(input.element_type(), &dims);
    }
    for (&axis, &scale) in axes.iter().zip(scales) {
        if input.dims()[axis] == 0 || !(scale.is_finite() && scale > 0.0) {
            return Err(TensorError::argument("an axis is empty, or a scale is not positive"));
        }
    }
    stored_bytes(input.element_type(), &dims)?;
    let et = input.element_type();
    let nearest = how.mode == InterpolateMode::Nearest;
    let mut resized = match nearest {
        true => input.clone(),
        false if et.is_integer() => input.cast(ElementType::F32)?,
        false => {
            let [wide] = widen([input])?;
            wide
        }
    };
    // With fewer than five axes, the OpenVINO runtime treats `linear` as `linear_onnx`, which has no filter.
    let mode = match how.mode {
        InterpolateMode::Linear if input.rank() < 5 => InterpolateMode::LinearOnnx,
        mode => mode,
    };
    let how = &Interpolate { mode, ..*how };
    let pillow = matches!(how.mode, InterpolateMode::BilinearPillow | InterpolateMode::BicubicPillow);
    let mut lines: Vec<_> = axes.iter().zip(sizes).zip(scales).collect();
    // Pillow resizes the last axis first and rounds to integers in between. Nearest mode uses the same order
    // for growing images: gathering along the last axis is slowest, and the image is smallest at the start.
    if pillow || nearest && scales.iter().any(|&scale| scale > 1.0) {
        lines.reverse();
    }
    for ((&axis, &output), &scale) in lines {
        let line = Line { input: resized.dims()[axis], output, scale };
        resized = if nearest {
            let picks = (0..output).map(|x| line.nearest(x, how)).collect();
            gather(&resized, &Tensor::from_vec(&[output], picks)?, axis, 0)?
        } else {
            resample(&resized, axis, &line, how)?
        };
        if pillow {
            resized = stored(resized, et, f32::round_ties_even)?;
        }
    }
    if !nearest {
        // `Linear` remains only for rank 5 and more, where integers are truncated.
        let round = if how.mode == InterpolateMode::Linear { f32::trunc } else { f32::round_ties_even };
        resized = stored(resized, et, round)?;
    }
    resized.cast(et)
}

/// Rounds `f32` values and clamps them to the range of an integer type.
fn stored(values: Tensor, et: ElementType, round: fn(f32) -> f32) -> Result<Tensor, TensorError> {
    let Some((lo, hi)) = et.integer_range() else { return Ok(values) };
    let store = |x: f32| round(x).clamp(lo as f32, hi as f32);
    Tensor::from_vec(values.dims(), values.to_f32_vec()?.into_iter().map(store).collect())
}

/// The parameters of one axis.
struct Line {
    input: usize,
    output: usize,
    scale: f32,
}

/// Input elements and their weights.
type Taps = Vec<(usize, f32)>;

impl Line {
    fn source(&self, x: usize, how: &Interpolate) -> f32 {
        how.coordinates.source(x, self.scale, self.input, self.output)
    }

    fn clamp(&self, index: i64) -> usize {
        // Not negative and below `input`, so the cast is exact.
        index.clamp(0, self.input as i64 - 1) as usize
    }

    fn nearest(&self, x: usize, how: &Interpolate) -> i64 {
        self.clamp(how.nearest.round(self.source(x, how), self.scale) as i64) as i64
    }

    fn taps(&self, x: usize, how: &Interpolate) -> Taps {
        let a = how.cube_coeff as f32;
        match how.mode {
            InterpolateMode::Nearest => vec![(self.nearest(x, how) as usize, 1.0)],
            InterpolateMode::LinearOnnx => {
                let at = self.source(x, how).clamp(0.0, (self.input - 1) as f32);
                let low = self.clamp(at as i64);
                let part = at - low as f32;
                vec![(low, 1.0 - part), (self.clamp(low as i64 + 1), part)]
            }
            InterpolateMode::Cubic => {
                let at = self.source(x, how);
                let first = at.floor() as i64 - 1;
                let part = at - at.floor();
                (0..4).map(|i| (self.clamp(first + i), cubic(part + 1.0 - i as f32, a))).collect()
            }
            InterpolateMode::Linear => self.triangle(x, how),
            InterpolateMode::BilinearPillow => self.pillow(x, 1.0, |d| (1.0 - d.abs()).max(0.0)),
            // Pillow always uses this slope; `cube_coeff` is ignored.
            InterpolateMode::BicubicPillow => self.pillow(x, 2.0, |d| cubic(d, -0.5)),
        }
    }

    fn triangle(&self, x: usize, how: &Interpolate) -> Taps {
        let narrow = if how.antialias { self.scale } else { 1.0 };
        let reach = if self.scale > 1.0 { 2 } else { (2.0 / narrow).ceil() as i64 };
        let at = self.source(x, how);
        let middle = at.round() as i64;
        let low = middle.saturating_sub(reach).max(0);
        let high = middle.saturating_add(reach).min(self.input as i64 - 1);
        let weigh = |i: i64| (self.clamp(i), narrow * (1.0 - (narrow * (at - i as f32)).abs()).max(0.0));
        normalized((low..=high).map(weigh).filter(|tap| tap.1 != 0.0).collect())
    }

    /// Widens the filter to the number of input elements per output element.
    fn pillow(&self, x: usize, support: f32, filter: impl Fn(f32) -> f32) -> Taps {
        let scale = self.output as f32 / self.input as f32;
        let stretch = (1.0 / scale).max(1.0);
        let center = (x as f32 + 0.5) / scale;
        let low = ((center - support * stretch + 0.5) as i64).max(0);
        let high = ((center + support * stretch + 0.5) as i64).min(self.input as i64);
        let weigh = |i: i64| (self.clamp(i), filter((i as f32 - center + 0.5) / stretch));
        normalized((low..high).map(weigh).collect())
    }
}

/// Scales weights so that they sum to 1. Weights that sum to 0 stay unchanged.
fn normalized(mut taps: Taps) -> Taps {
    let sum: f32 = taps.iter().map(|tap| tap.1).sum();
    if sum != 0.0 {
        taps.iter_mut().for_each(|tap| tap.1 /= sum);
    }
    taps
}

/// The cubic convolution kernel (Keys 1981) at distance `d`, with slope `a` at distance 1.
fn cubic(d: f32, a: f32) -> f32 {
    let d = d.abs();
    if d < 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else if d < 2.0 {
        ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    } else {
        0.0
    }
}

/// Interpolates one non-empty axis of an `f32` or `f64` tensor.
fn resample(input: &Tensor, axis: usize, line: &Line, how: &Interpolate) -> Result<Tensor, TensorError> {
    let mut dims = Dims::from_slice(input.dims());
    dims[axis] = line.output;
    // The intermediate result may be larger than the final one.
    stored_bytes(input.element_type(), &dims)?;
    with_real!(input.element_type(), T => {
        let values = input.units::<T>();
        let mut out = Buffer::any(checked_len(&dims).unwrap_or(0))?;
        if !out.is_empty() {
            let inner: usize = dims[axis + 1..].iter().product();
            let taps: Vec<Taps> = (0..line.output).map(|x| line.taps(x, how)).collect();
            let (from, to) = (line.input * inner, line.output * inner);
            sharing::in_parts(&mut out, to, sharing::ELEMENTS / to, |first, out| {
                dispatch_best(Resample { values: &values[first * from..], line: from, inner, taps: &taps, out });
            });
        }
        Tensor::from_buffer(T::TYPE, &dims, out)
    })
}

/// Interpolates one axis of several slabs.
struct Resample<'a, T> {
    values: &'a [T],
    /// The number of elements in a slab of the input.
    line: usize,
    inner: usize,
    taps: &'a [Taps],
    out: &'a mut [T],
}

impl<T: Gemm + From<f32>> Vectorised for Resample<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { values, line, inner, taps, out } = self;
        for (slab, out) in values.chunks_exact(line).zip(out.chunks_exact_mut(taps.len() * inner)) {
            if inner == 1 {
                for (to, taps) in out.iter_mut().zip(taps) {
                    let products = taps.iter().map(|&(from, weight)| T::from(weight) * slab[from]);
                    *to = products.fold(T::default(), |sum, x| sum + x);
                }
                continue;
            }
            for (row, taps) in out.chunks_exact_mut(inner).zip(taps) {
                row.fill(T::default());
                for &(from, weight) in taps {
                    let weight = T::from(weight);
                    let source = &slab[from * inner..][..inner];
                    row.iter_mut().zip(source).for_each(|(to, &x)| *to = *to + weight * x);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::interpolation::{Coordinates, Nearest};

    const PLAIN: Interpolate = Interpolate {
        mode: InterpolateMode::Nearest,
        nearest: Nearest::RoundPreferFloor,
        coordinates: Coordinates::HalfPixel,
        antialias: false,
        cube_coeff: -0.75,
    };

    fn resize(values: &[f32], size: usize, how: Interpolate) -> Vec<f32> {
        resize_of_rank(2, values, size, how)
    }

    fn resize_of_rank(rank: usize, values: &[f32], size: usize, how: Interpolate) -> Vec<f32> {
        let mut dims = vec![1; rank];
        dims[rank - 1] = values.len();
        let t = Tensor::from_vec(&dims, values.to_vec()).unwrap();
        let scale = size as f32 / values.len() as f32;
        interpolate(&t, &[rank - 1], &[size], &[scale], &how).unwrap().to_f32_vec().unwrap()
    }

    #[test]
    fn nearest_by_each_rule() {
        // Asymmetric coordinates: enlarging 4 elements to 6 reads from 0, 2/3, 4/3 and so on.
        let of = |nearest, coordinates, size| {
            resize(&[0.0, 1.0, 2.0, 3.0], size, Interpolate { nearest, coordinates, ..PLAIN })
        };
        assert_eq!(of(Nearest::Floor, Coordinates::Asymmetric, 6), [0.0, 0.0, 1.0, 2.0, 2.0, 3.0]);
        assert_eq!(of(Nearest::Ceil, Coordinates::Asymmetric, 6), [0.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        // Half-pixel coordinates: shrinking 4 elements to 2 reads from 0.5 and 2.5.
        assert_eq!(of(Nearest::RoundPreferFloor, Coordinates::HalfPixel, 2), [0.0, 2.0]);
        assert_eq!(of(Nearest::RoundPreferCeil, Coordinates::HalfPixel, 2), [1.0, 3.0]);
        assert_eq!(of(Nearest::Simple, Coordinates::HalfPixel, 2), [1.0, 3.0]);
        assert_eq!(
            of(Nearest::Simple, Coordinates::TfHalfPixelForNn, 8),
            [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
        );
        assert_eq!(of(Nearest::Floor, Coordinates::AlignCorners, 2), [0.0, 3.0]);
        assert_eq!(of(Nearest::Floor, Coordinates::PytorchHalfPixel, 1), [0.0]);
        // 23 * (7 / 23) is below 7 in 32 bits, although 23 * 7 / 23 is not.
        let corners =
            Interpolate { nearest: Nearest::Floor, coordinates: Coordinates::AlignCorners, ..PLAIN };
        let found = resize(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 24, corners);
        assert_eq!(found.last(), Some(&6.0));
    }

    #[test]
    fn linear_between_neighbours() {
        let onnx = Interpolate { mode: InterpolateMode::LinearOnnx, ..PLAIN };
        assert_eq!(resize(&[0.0, 4.0], 4, onnx), [0.0, 1.0, 3.0, 4.0]);
        let corners = Interpolate { coordinates: Coordinates::AlignCorners, ..onnx };
        assert_eq!(resize(&[0.0, 4.0], 3, corners), [0.0, 2.0, 4.0]);
        let linear = Interpolate { mode: InterpolateMode::Linear, ..PLAIN };
        assert_eq!(resize(&[0.0, 4.0], 4, linear), [0.0, 1.0, 3.0, 4.0]);
        // Antialiasing while shrinking 4 elements to 2: the first result is at source coordinate 0.5, and an
        // element at distance d has weight 1 - d / 2.
        let soft = Interpolate { antialias: true, ..linear };
        let found = resize_of_rank(5, &[0.0, 0.0, 7.0, 0.0], 2, soft);
        assert!((found[0] - 7.0 * 0.25 / 1.75).abs() < 1e-6, "{found:?}");
        assert_eq!(resize(&[0.0, 0.0, 7.0, 0.0], 2, soft), [0.0, 3.5]);
        // Where the axis grows, the filter is narrower than the distance between elements.
        let found = resize_of_rank(5, &[1.0, 10.0, 100.0, 1000.0], 7, soft);
        assert_eq!(found, [1.0, 1.0, 10.0, 55.0, 100.0, 1000.0, 1000.0]);
        let corners = Interpolate { coordinates: Coordinates::AlignCorners, ..soft };
        assert_eq!(resize_of_rank(5, &[1.0, 2.0], 5, corners), [1.0, 1.0, 0.0, 2.0, 2.0]);
    }

    #[test]
    fn cubics() {
        let cubic =
            Interpolate { mode: InterpolateMode::Cubic, coordinates: Coordinates::Asymmetric, ..PLAIN };
        // Halfway between two elements, the weights for a = -0.75 are -0.09375, 0.59375, 0.59375, -0.09375.
        let found = resize(&[1.0, 2.0, 3.0, 5.0], 8, cubic);
        assert_eq!(found[2], 2.0);
        assert_eq!(found[3], 0.59375 * 5.0 - 0.09375 * 6.0);
        let pillow = Interpolate { mode: InterpolateMode::BilinearPillow, ..PLAIN };
        // Shrinking 3 elements to one stretches the triangle by three, so the weights are 2/3, 1 and 2/3.
        let found = resize(&[3.0, 6.0, 3.0], 1, pillow);
        let (edge, middle) = (2.0 / 3.0, 1.0);
        assert!((found[0] - (6.0 * edge + 6.0 * middle) / (2.0 * edge + middle)).abs() < 1e-6);
    }

    #[test]
    fn hostile_arguments_are_refused() {
        let t = Tensor::scalar(1.0f32).reshape(&[1]).unwrap();
        assert!(interpolate(&t, &[0], &[2], &[0.0], &PLAIN).is_err());
        assert!(interpolate(&t, &[0], &[usize::MAX], &[1.0], &PLAIN).is_err());
        assert!(interpolate(&t, &[0], &[2], &[], &PLAIN).is_err());
    }
}
