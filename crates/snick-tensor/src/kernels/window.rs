//! Sliding windows over one to three spatial axes, for convolution, pooling and `col2im`.
//!
//! A window has `kernel` elements on each axis, called taps. Tap `t` of window `w` reads position
//! `w * stride + t * dilation - before` of the input, or padding where the input has no such position.

use std::ops::Range;

use crate::{Dims, SmallVector, TensorError};

/// The parameters of a sliding window, with one entry for each of one to three spatial axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// The distance between windows, at least 1.
    pub strides: Dims,
    /// The distance between elements of a window, at least 1.
    pub dilations: Dims,
    /// Padding before each axis; negative crops.
    pub pads_begin: SmallVector<isize, 6>,
    /// Padding after each axis; negative crops.
    pub pads_end: SmallVector<isize, 6>,
}

impl Window {
    /// Strides and dilations of 1, no padding.
    pub fn dense(spatial_rank: usize) -> Self {
        Window {
            strides: Dims::from_elem(1, spatial_rank),
            dilations: Dims::from_elem(1, spatial_rank),
            pads_begin: SmallVector::from_elem(0, spatial_rank),
            pads_end: SmallVector::from_elem(0, spatial_rank),
        }
    }

    /// The number of windows of `kernel` on each axis of `spatial` that fit completely.
    ///
    /// # Errors
    /// [`TensorError::Argument`] if entries are missing, a stride or dilation is 0, or no window fits.
    pub fn output_dims(&self, spatial: &[usize], kernel: &[usize]) -> Result<Dims, TensorError> {
        self.axes(spatial, kernel)?
            .iter()
            .map(|axis| {
                let dilated_kernel = (axis.kernel as i128 - 1) * axis.dilation as i128 + 1;
                let room = axis.size as i128 + axis.before as i128 + axis.after as i128 - dilated_kernel;
                match usize::try_from(room) {
                    Ok(room) => Ok(room / axis.stride + 1),
                    Err(_) => Err(TensorError::argument("the window exceeds the padded input")),
                }
            })
            .collect()
    }

    /// A [`WindowAxis`] for each axis.
    pub(crate) fn axes(
        &self,
        spatial: &[usize],
        kernel: &[usize],
    ) -> Result<SmallVector<WindowAxis, 3>, TensorError> {
        let rank = spatial.len();
        let lens = [
            kernel.len(),
            self.strides.len(),
            self.dilations.len(),
            self.pads_begin.len(),
            self.pads_end.len(),
        ];
        if !(1..=3).contains(&rank) || lens.iter().any(|&len| len != rank) {
            return Err(TensorError::argument(format!(
                "has {rank} spatial axes, expected one to three with an entry for each"
            )));
        }
        // No real model comes near this, and positions below it do not overflow.
        const LIMIT: usize = 1 << if usize::BITS < 64 { 28 } else { 40 };
        (0..rank)
            .map(|i| {
                let axis = WindowAxis {
                    size: spatial[i],
                    kernel: kernel[i],
                    stride: self.strides[i],
                    dilation: self.dilations[i],
                    before: self.pads_begin[i],
                    after: self.pads_end[i],
                };
                let sizes = [axis.kernel, axis.stride, axis.dilation];
                let pads = [axis.before, axis.after].map(isize::unsigned_abs);
                let fine = sizes.iter().all(|s| (1..LIMIT).contains(s)) && pads.iter().all(|&p| p < LIMIT);
                if fine {
                    Ok(axis)
                } else {
                    Err(TensorError::argument("a kernel size, stride, dilation or pad is out of range"))
                }
            })
            .collect()
    }
}

/// A window along one axis.
#[derive(Copy, Clone, Debug)]
pub(crate) struct WindowAxis {
    /// Elements of the input.
    pub size: usize,
    /// The number of taps.
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
    /// Padding before the input.
    pub before: isize,
    /// Padding after the input.
    pub after: isize,
}

impl WindowAxis {
    /// Replaces an axis when the input has fewer than three spatial axes.
    pub const ABSENT: WindowAxis =
        WindowAxis { size: 1, kernel: 1, stride: 1, dilation: 1, before: 0, after: 0 };

    /// The position that a tap reads; outside of the input it is padding.
    #[inline(always)]
    pub fn position(&self, output: usize, tap: usize) -> isize {
        (output * self.stride + tap * self.dilation) as isize - self.before
    }

    /// The position that a tap reads, or `None` for padding.
    #[inline(always)]
    pub fn inside(&self, output: usize, tap: usize) -> Option<usize> {
        usize::try_from(self.position(output, tap)).ok().filter(|&i| i < self.size)
    }

    /// The number of taps of a window before position `end`.
    fn taps_before(&self, output: usize, end: isize) -> usize {
        let room = usize::try_from(end - self.position(output, 0)).unwrap_or(0);
        room.div_ceil(self.dilation).min(self.kernel)
    }

    /// The taps of a window that read the input.
    pub fn taps_inside(&self, output: usize) -> Range<usize> {
        self.taps_before(output, 0)..self.taps_before(output, self.size as isize)
    }

    /// The number of taps of a window that read the input or its padding, but nothing beyond the padding.
    pub fn padded_taps(&self, output: usize) -> usize {
        let inside = self.taps_inside(output);
        let end = self.taps_before(output, self.size as isize + self.after).max(inside.end);
        end - self.taps_before(output, -self.before).min(inside.start)
    }

    /// The range of windows below `outputs` in which a tap reads the input, and the position that the tap
    /// reads in the first window of this range.
    pub fn outputs_inside(&self, tap: usize, outputs: usize) -> Option<(Range<usize>, usize)> {
        let first = self.position(0, tap);
        let low = if first >= 0 { 0 } else { first.unsigned_abs().div_ceil(self.stride) };
        let room = usize::try_from(self.size as isize - first).unwrap_or(0);
        let high = room.div_ceil(self.stride).min(outputs);
        let position = self.inside(low, tap).filter(|_| low < high)?;
        Some((low..high, position))
    }
}

/// All windows over an input, on exactly three axes.
///
/// Axes of size 1 under a kernel of size 1 are dropped and replaced by leading [`WindowAxis::ABSENT`] axes,
/// so that the last axis, along which kernels vectorise, is as long as possible.
#[derive(Copy, Clone, Debug)]
pub(crate) struct WindowGrid {
    pub axes: [WindowAxis; 3],
    /// The number of windows on each axis.
    pub out: [usize; 3],
    /// The spatial axis of the input that each of the three axes stands for; `None` for absent axes.
    pub spatial_axes: [Option<usize>; 3],
}

impl WindowGrid {
    pub fn new(axes: &[WindowAxis], out: &[usize]) -> Self {
        let is_single = |axis: &WindowAxis, out: usize| {
            axis.size == 1 && axis.kernel == 1 && axis.before == 0 && out == 1
        };
        let mut spatial_axes = [None; 3];
        let kept = (0..axes.len()).rev().filter(|&i| !is_single(&axes[i], out[i]));
        spatial_axes.iter_mut().rev().zip(kept).for_each(|(to, axis)| *to = Some(axis));
        WindowGrid {
            axes: spatial_axes.map(|axis| axis.map_or(WindowAxis::ABSENT, |axis| axes[axis])),
            out: spatial_axes.map(|axis| axis.map_or(1, |axis| out[axis])),
            spatial_axes,
        }
    }

    /// Elements of one channel of the input.
    pub fn area(&self) -> usize {
        self.axes.iter().fold(1, |area, axis| area.saturating_mul(axis.size))
    }

    /// Elements of a window.
    pub fn taps(&self) -> usize {
        self.axes.iter().fold(1, |taps, axis| taps.saturating_mul(axis.kernel))
    }

    pub fn windows(&self) -> usize {
        self.out.iter().fold(1, |windows, &out| windows.saturating_mul(out))
    }

    /// Whether windows may overlap padding.
    pub fn is_padded(&self) -> bool {
        self.axes.iter().any(|axis| axis.before > 0 || axis.after > 0)
    }

    /// Whether windows slide over only two axes.
    pub fn is_flat(&self) -> bool {
        self.spatial_axes[0].is_none()
    }

    /// The position of a window, or of a tap, on each axis.
    #[inline(always)]
    pub fn unflatten(index: usize, [_, rows, columns]: [usize; 3]) -> [usize; 3] {
        [index / (rows * columns), index / columns % rows, index % columns]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_and_outputs_inside_agree_with_each_index() {
        for (before, stride, dilation, kernel) in [(0, 1, 1, 3), (2, 2, 2, 3), (-1, 3, 1, 2), (5, 2, 3, 4)] {
            let axis = WindowAxis { size: 7, kernel, stride, dilation, before, after: 4 };
            for tap in 0..kernel {
                let expected: Vec<_> = (0..6).filter(|&o| axis.inside(o, tap).is_some()).collect();
                let found = axis.outputs_inside(tap, 6);
                assert_eq!(found.as_ref().map_or(vec![], |(outputs, _)| outputs.clone().collect()), expected);
                assert_eq!(
                    found.map(|(outputs, at)| (outputs.start, Some(at))),
                    expected.first().map(|&o| (o, axis.inside(o, tap)))
                );
            }
            for output in 0..6 {
                let expected: Vec<_> =
                    (0..kernel).filter(|&tap| axis.inside(output, tap).is_some()).collect();
                assert_eq!(axis.taps_inside(output).collect::<Vec<_>>(), expected);
                let is_padded = |&tap: &usize| (-before..7 + 4).contains(&axis.position(output, tap));
                assert_eq!(
                    axis.padded_taps(output),
                    (0..kernel).filter(is_padded).count().max(expected.len())
                );
            }
        }
    }

    #[test]
    fn too_large_windows_are_refused() {
        let window = Window::dense(1);
        assert_eq!(window.output_dims(&[5], &[3]).unwrap()[..], [3]);
        assert!(window.output_dims(&[2], &[3]).is_err());
        assert!(window.output_dims(&[2, 2], &[1]).is_err());
        let stuck = Window { strides: Dims::from_elem(0, 1), ..window };
        assert!(stuck.output_dims(&[5], &[3]).is_err());
    }
}
