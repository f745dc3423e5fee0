//! Views of images: slices, transposes and reversed axes are read without a copy.

use std::ops::Range;

use bytemuck::Pod;

use crate::kernels::broadcast::{Run, Strided};
use crate::kernels::window::WindowAxis;

/// A range of channels of an image.
#[derive(Copy, Clone)]
pub(super) struct Channels<'a, T> {
    pub data: &'a [T],
    /// The start of the first channel.
    pub first: usize,
    pub count: usize,
    /// The stride of channels.
    pub step: isize,
    /// The strides of the three spatial axes.
    pub steps: [isize; 3],
}

impl<'a, T: Pod> Channels<'a, T> {
    /// All channels of image 0 of `[N, C, spatial..]`, not empty, extended to three spatial axes.
    pub fn of(images: &'a Strided<T>, places: [Option<usize>; 3]) -> Self {
        let layout = &images.layout;
        let steps = places.map(|axis| axis.map_or(0, |axis| layout.strides[axis + 2]));
        let (count, step) = (layout.dims[1], layout.strides[1]);
        Channels { data: &images.data, first: layout.start, count, step, steps }
    }

    /// The same channels, `offset` elements further.
    #[inline]
    pub fn moved(self, offset: isize) -> Self {
        Channels { first: self.first.wrapping_add_signed(offset), ..self }
    }

    /// A range of the channels.
    #[inline]
    pub fn part(self, channels: Range<usize>) -> Self {
        let count = channels.len();
        Channels { count, ..self.moved(channels.start as isize * self.step) }
    }

    /// Each channel.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..self.count).map(move |channel| self.part(channel..channel + 1))
    }

    /// Line `[z, y]` of the first channel.
    #[inline]
    pub fn line(&self, z: usize, y: usize) -> Run<'a, T> {
        let [depth, height, width] = self.steps;
        let at = self.first.wrapping_add_signed(z as isize * depth + y as isize * height);
        Run { data: self.data, at, step: width }
    }

    /// Whether the elements of a channel are contiguous.
    pub fn are_packed(&self, axes: &[WindowAxis; 3]) -> bool {
        let mut next = 1;
        axes.iter().zip(self.steps).rev().all(|(axis, step)| {
            let fits = axis.size == 1 || step == next;
            next *= axis.size as isize;
            fits
        })
    }

    /// All elements, if the channels are contiguous.
    pub fn as_slice(&self, axes: &[WindowAxis; 3]) -> Option<&'a [T]> {
        let area: usize = axes.iter().map(|axis| axis.size).product();
        let follow = self.are_packed(axes) && (self.count == 1 || self.step == area as isize);
        follow.then(|| &self.data[self.first..self.first + self.count * area])
    }
}
