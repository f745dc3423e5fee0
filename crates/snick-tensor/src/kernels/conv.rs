//! Convolution over one to three spatial axes: OpenVINO's `Convolution-1` and
//! `GroupConvolution-1`.

use crate::kernels::dispatch::{widen_real, with_real};
use crate::kernels::gemm::{Gemm, Matrix};
use crate::kernels::window::{Window, WindowAxis};
use crate::layout::checked_len;
use crate::tensor::{filled, stored_bytes};
use crate::{Dims, Tensor, TensorError};

/// Elements of unrolled input held at a time.
const UNROLLED: usize = 1 << 20;

/// `input` `[N, C, spatial..]` by `filters` `[O, C, kernel..]`: `[N, O, windows..]`.
///
/// Integers are computed in `f64` and converted back.
///
/// # Errors
/// [`TensorError::TypeMismatch`], [`TensorError::ShapeMismatch`], [`TensorError::Argument`].
pub fn convolution(input: &Tensor, filters: &Tensor, window: &Window) -> Result<Tensor, TensorError> {
    group_convolution(input, &filters.unsqueeze(0)?, window)
}

/// `input` `[N, G * C, spatial..]` by `filters` `[G, O, C, kernel..]`: `[N, G * O, windows..]`.
///
/// # Errors
/// As [`convolution`].
pub fn group_convolution(input: &Tensor, filters: &Tensor, window: &Window) -> Result<Tensor, TensorError> {
    const NAME: &str = "Convolution";
    let refuse = || TensorError::mismatch(NAME, input.dims(), filters.dims());
    let ([batch, channels, spatial @ ..], [groups, outputs, depth, kernel @ ..]) =
        (input.dims(), filters.dims())
    else {
        return Err(refuse());
    };
    if groups.checked_mul(*depth) != Some(*channels) || spatial.len() != kernel.len() {
        return Err(refuse());
    }
    let windows = window.output_dims(NAME, spatial, kernel)?;
    let mut dims = Dims::from_slice(&[*batch, groups.checked_mul(*outputs).ok_or_else(refuse)?]);
    dims.extend_from_slice(&windows);
    stored_bytes(input.element_type(), &dims)?;
    let et = input.element_type();
    // With nothing to add up there are only zeros; from here on every product of dims fits.
    if input.is_empty() || filters.is_empty() || dims.contains(&0) {
        return Tensor::zeros(et, &dims);
    }
    let [input, filters] = widen_real([input, filters])?;
    let axes = WindowAxis::three(&window.axes(NAME, spatial, kernel)?);
    let mut out = [1; 3];
    out[3 - windows.len()..].copy_from_slice(&windows);
    let plan = Plan { depth: *depth, outputs: *outputs, axes, out };
    with_real!(NAME, input.element_type(), T => {
        let (x, w) = (input.units::<T>(), filters.units::<T>());
        let mut values = filled(checked_len(&dims).unwrap_or(0), T::default())?;
        let sizes = [plan.depth * plan.area(), plan.outputs * plan.taps() * plan.depth, plan.outputs * plan.windows()];
        if sizes.iter().all(|&size| size > 0) {
            let images = x.chunks_exact(sizes[0]).zip(values.chunks_exact_mut(sizes[2]));
            for ((image, out), w) in images.zip(w.chunks_exact(sizes[1]).cycle()) {
                plan.run::<T>(image, w, out)?;
            }
        }
        Tensor::from_vec(&dims, values)
    })?
    .cast(et)
}

/// The convolution of the channels of one group of one image.
struct Plan {
    /// Input channels.
    depth: usize,
    /// Output channels.
    outputs: usize,
    axes: [WindowAxis; 3],
    /// Windows an axis.
    out: [usize; 3],
}

impl Plan {
    fn area(&self) -> usize {
        self.axes.iter().map(|a| a.size).product()
    }

    fn taps(&self) -> usize {
        self.axes.iter().map(|a| a.kernel).product()
    }

    fn windows(&self) -> usize {
        self.out.iter().product()
    }

    fn run<T: Real>(&self, image: &[T], filters: &[T], out: &mut [T]) -> Result<(), TensorError> {
        let plain = self.axes.iter().all(|a| a.kernel == 1 && a.stride == 1 && a.before == 0 && a.after == 0);
        if plain {
            let a = Matrix::packed(filters, self.outputs, self.depth);
            return T::gemm(&a, &Matrix::packed(image, self.depth, self.area()), out, self.windows());
        }
        if self.depth == 1 {
            self.depthwise(image, filters, out);
            return Ok(());
        }
        self.unrolled(image, filters, out)
    }

    /// One input channel: each tap is added where it lies, row by row.
    fn depthwise<T: Real>(&self, image: &[T], filters: &[T], out: &mut [T]) {
        for (taps, out) in filters.chunks_exact(self.taps()).zip(out.chunks_exact_mut(self.windows())) {
            for (line, row) in out.chunks_exact_mut(self.out[2]).enumerate() {
                for (tap, &weight) in taps.iter().enumerate() {
                    if let Some((start, inside)) = self.line(line, tap) {
                        let stretch = &image[start..];
                        let steps = stretch.iter().step_by(self.axes[2].stride);
                        for (to, &x) in row[inside].iter_mut().zip(steps) {
                            *to = *to + weight * x;
                        }
                    }
                }
            }
        }
    }

    /// For a line of windows and a tap: where in a channel the first input inside lies, and for
    /// which windows of the line the tap lies inside.
    fn line(&self, line: usize, tap: usize) -> Option<(usize, std::ops::Range<usize>)> {
        let [d, h, w] = &self.axes;
        let z = d.inside(line / self.out[1], tap / (h.kernel * w.kernel))?;
        let y = h.inside(line % self.out[1], tap / w.kernel % h.kernel)?;
        let inside = w.outputs_inside(tap % w.kernel, self.out[2]);
        let x = w.inside(inside.start, tap % w.kernel).filter(|_| !inside.is_empty())?;
        Some(((z * h.size + y) * w.size + x, inside))
    }

    /// Unrolls the input, some lines of windows at a time, to a matrix with a row for each tap of
    /// each channel.
    fn unrolled<T: Real>(&self, image: &[T], filters: &[T], out: &mut [T]) -> Result<(), TensorError> {
        let lines = self.out[0] * self.out[1];
        let rows = self.depth * self.taps();
        let width = self.out[2];
        let at_once = (UNROLLED / (rows * width).max(1)).clamp(1, lines.max(1));
        let mut matrix = filled(rows * at_once * width, T::default())?;
        for first in (0..lines).step_by(at_once) {
            let count = at_once.min(lines - first);
            let columns = count * width;
            let matrix = &mut matrix[..rows * columns];
            for (r, row) in matrix.chunks_exact_mut(columns).enumerate() {
                let channel = &image[r / self.taps() * self.area()..];
                for (i, part) in row.chunks_exact_mut(width).enumerate() {
                    part.fill(T::default());
                    if let Some((start, inside)) = self.line(first + i, r % self.taps()) {
                        let steps = channel[start..].iter().step_by(self.axes[2].stride);
                        part[inside].iter_mut().zip(steps).for_each(|(to, &x)| *to = x);
                    }
                }
            }
            let a = Matrix::packed(filters, self.outputs, rows);
            let b = Matrix::packed(matrix, rows, columns);
            T::gemm(&a, &b, &mut out[first * width..], self.windows())?;
        }
        Ok(())
    }
}

trait Real: Gemm + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {}
impl Real for f32 {}
impl Real for f64 {}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn t(dims: &[usize]) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(|x| (x % 7) as f32 - 2.0).collect()).unwrap()
    }

    /// The definition, index by index.
    fn naive(input: &Tensor, filters: &Tensor, window: &Window) -> Vec<f32> {
        let (xd, wd) = (input.dims(), filters.dims());
        let axes = WindowAxis::three(&window.axes("t", &xd[2..], &wd[3..]).unwrap());
        let windows = window.output_dims("t", &xd[2..], &wd[3..]).unwrap();
        let mut out = [1; 3];
        out[3 - windows.len()..].copy_from_slice(&windows);
        let (x, w) = (input.to_f32_vec().unwrap(), filters.to_f32_vec().unwrap());
        let (area, taps): (usize, usize) = (xd[2..].iter().product(), wd[3..].iter().product());
        let mut all = Vec::new();
        for n in 0..xd[0] {
            for g in 0..wd[0] {
                for o in 0..wd[1] {
                    for at in 0..out.iter().product() {
                        let mut sum = 0.0;
                        for c in 0..wd[2] {
                            for tap in 0..taps {
                                let [d, h, v] = axes;
                                let z = d.inside(at / (out[1] * out[2]), tap / (h.kernel * v.kernel));
                                let y = h.inside(at / out[2] % out[1], tap / v.kernel % h.kernel);
                                let u = v.inside(at % out[2], tap % v.kernel);
                                if let (Some(z), Some(y), Some(u)) = (z, y, u) {
                                    let channel = n * xd[1] + g * wd[2] + c;
                                    sum += x[channel * area + (z * h.size + y) * v.size + u]
                                        * w[((g * wd[1] + o) * wd[2] + c) * taps + tap];
                                }
                            }
                        }
                        all.push(sum);
                    }
                }
            }
        }
        all
    }

    #[test]
    fn every_path_agrees_with_the_definition() {
        let wide = Window {
            strides: smallvec![2, 1],
            dilations: smallvec![1, 2],
            pads_begin: smallvec![1, -1],
            pads_end: smallvec![2, 3],
        };
        let cases = [
            (t(&[2, 3, 5, 6]), t(&[1, 4, 3, 3, 2]), wide.clone()),
            (t(&[2, 4, 5, 6]), t(&[4, 2, 1, 3, 2]), wide.clone()),
            (t(&[2, 4, 5, 6]), t(&[2, 3, 2, 2, 2]), wide),
            (t(&[1, 3, 4]), t(&[1, 2, 3, 1]), Window::dense(1)),
            (t(&[1, 2, 3, 4, 5]), t(&[1, 2, 2, 2, 2, 3]), Window::dense(3)),
        ];
        for (input, filters, window) in cases {
            let found = group_convolution(&input, &filters, &window).unwrap();
            assert_eq!(found.to_f32_vec().unwrap(), naive(&input, &filters, &window));
        }
    }

    #[test]
    fn a_hand_made_edge_filter() {
        let image = Tensor::from_vec(&[1, 1, 4], vec![1.0f32, 4.0, 9.0, 16.0]).unwrap();
        let filter = Tensor::from_vec(&[1, 1, 2], vec![-1.0f32, 1.0]).unwrap();
        let found = convolution(&image, &filter, &Window::dense(1)).unwrap();
        assert_eq!(found.to_f32_vec().unwrap(), [3.0, 5.0, 7.0]);
        assert!(convolution(&image, &filter.unsqueeze(0).unwrap(), &Window::dense(1)).is_err());
    }
}
