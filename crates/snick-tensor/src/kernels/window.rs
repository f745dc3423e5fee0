//! A sliding window over the spatial axes, for convolution and pooling.

use smallvec::SmallVec;

use crate::{Dims, TensorError};

/// The parameters of a sliding window, with one entry for each of one to three spatial axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// The stride between windows, at least 1.
    pub strides: Dims,
    /// The stride between elements of a window, at least 1.
    pub dilations: Dims,
    /// Elements added before each axis; negative crops.
    pub pads_begin: SmallVec<[isize; 6]>,
    /// Elements added after each axis; negative crops.
    pub pads_end: SmallVec<[isize; 6]>,
}

impl Window {
    /// Steps of 1, no dilation, no padding.
    pub fn dense(spatial_rank: usize) -> Self {
        Window {
            strides: Dims::from_elem(1, spatial_rank),
            dilations: Dims::from_elem(1, spatial_rank),
            pads_begin: SmallVec::from_elem(0, spatial_rank),
            pads_end: SmallVec::from_elem(0, spatial_rank),
        }
    }

    /// The number of windows of `kernel` on each axis of `spatial`, the last one completely inside.
    ///
    /// # Errors
    /// [`TensorError::Argument`] if entries are missing, a step is 0, or a window does not fit.
    pub fn output_dims(&self, spatial: &[usize], kernel: &[usize]) -> Result<Dims, TensorError> {
        self.axes(spatial, kernel)?
            .iter()
            .map(|axis| {
                let reach = (axis.kernel as i128 - 1) * axis.dilation as i128 + 1;
                let room = axis.size as i128 + axis.before as i128 + axis.after as i128 - reach;
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
    ) -> Result<SmallVec<[WindowAxis; 3]>, TensorError> {
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
        // Above any realistic pad or stride. On an axis that a window fits on, sums of positions and pads do not overflow.
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
    pub size: usize,
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
    pub before: isize,
    pub after: isize,
}

impl WindowAxis {
    /// An absent axis: kernels always walk three.
    pub const ABSENT: WindowAxis =
        WindowAxis { size: 1, kernel: 1, stride: 1, dilation: 1, before: 0, after: 0 };

    /// Which axes the three are that are walked, the last one last: `None` first for those that are absent. One of one
    /// place counts as absent, so that lines are long.
    pub fn places(axes: &[WindowAxis], windows: &[usize]) -> [Option<usize>; 3] {
        let one_place = |(axis, &count): (&WindowAxis, &usize)| {
            axis.size == 1 && axis.kernel == 1 && axis.before == 0 && count == 1
        };
        let is_long: SmallVec<[bool; 3]> = axes.iter().zip(windows).map(|pair| !one_place(pair)).collect();
        let mut places = [None; 3];
        let longer = (0..is_long.len()).rev().filter(|&axis| is_long[axis]);
        places.iter_mut().rev().zip(longer).for_each(|(place, axis)| *place = Some(axis));
        places
    }

    /// The axes of [`WindowAxis::places`] and the windows on each.
    pub fn three(axes: &[WindowAxis], windows: &[usize]) -> ([WindowAxis; 3], [usize; 3]) {
        let places = Self::places(axes, windows);
        let axis = |place: Option<usize>| place.map_or(Self::ABSENT, |i| axes[i]);
        (places.map(axis), places.map(|place| place.map_or(1, |i| windows[i])))
    }

    /// Index in the input of element `tap` of window `output`; may be outside.
    pub fn input(&self, output: usize, tap: usize) -> isize {
        (output * self.stride + tap * self.dilation) as isize - self.before
    }

    /// [`WindowAxis::input`], if it is inside.
    pub fn inside(&self, output: usize, tap: usize) -> Option<usize> {
        usize::try_from(self.input(output, tap)).ok().filter(|&i| i < self.size)
    }

    /// The range of `outputs` whose element `tap` is inside.
    pub fn outputs_inside(&self, tap: usize, outputs: usize) -> std::ops::Range<usize> {
        let first = self.input(0, tap);
        let low = if first >= 0 { 0 } else { first.unsigned_abs().div_ceil(self.stride) };
        let room = self.size as isize - first;
        let high = if room <= 0 { 0 } else { room.unsigned_abs().div_ceil(self.stride) };
        let high = high.min(outputs);
        low.min(high)..high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_inside_agree_with_each_index() {
        for (before, stride, dilation, kernel) in [(0, 1, 1, 3), (2, 2, 2, 3), (-1, 3, 1, 2), (5, 2, 3, 4)] {
            let axis = WindowAxis { size: 7, kernel, stride, dilation, before, after: 4 };
            for tap in 0..kernel {
                let expected: Vec<_> = (0..6).filter(|&o| axis.inside(o, tap).is_some()).collect();
                assert_eq!(axis.outputs_inside(tap, 6).collect::<Vec<_>>(), expected);
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
