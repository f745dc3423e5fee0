//! Images where they lie: slices, transposes and reversed axes are read as they are.

use std::ops::Range;

use bytemuck::Pod;

use crate::kernels::broadcast::{Run, Strided};
use crate::kernels::window::WindowAxis;

/// Some channels of an image.
#[derive(Copy, Clone)]
pub(super) struct Channels<'a, T> {
    pub data: &'a [T],
    /// Where the first channel begins.
    pub first: usize,
    pub count: usize,
    /// From one channel to the next.
    pub step: isize,
    /// From one element to the next on each of three axes.
    pub steps: [isize; 3],
}

impl<'a, T: Pod> Channels<'a, T> {
    /// All channels of image 0 of `[N, C, spatial..]`, not empty, its axes taken as three.
    pub fn of(images: &'a Strided<T>, places: [Option<usize>; 3]) -> Self {
        let layout = &images.layout;
        let steps = places.map(|axis| axis.map_or(0, |axis| layout.strides[axis + 2]));
        let (count, step) = (layout.dims[1], layout.strides[1]);
        Channels { data: &images.data, first: layout.start, count, step, steps }
    }

    /// The same channels of what lies `offset` elements further.
    #[inline]
    pub fn moved(self, offset: isize) -> Self {
        Channels { first: self.first.wrapping_add_signed(offset), ..self }
    }

    /// Some of the channels.
    #[inline]
    pub fn part(self, channels: Range<usize>) -> Self {
        let count = channels.len();
        Channels { count, ..self.moved(channels.start as isize * self.step) }
    }

    /// One channel after the other.
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

    /// Whether the elements of a channel follow each other, line after line.
    pub fn are_packed(&self, axes: &[WindowAxis; 3]) -> bool {
        let mut next = 1;
        axes.iter().zip(self.steps).rev().all(|(axis, step)| {
            let fits = axis.size == 1 || step == next;
            next *= axis.size as isize;
            fits
        })
    }

    /// All elements, if they follow each other channel after channel.
    pub fn as_slice(&self, axes: &[WindowAxis; 3]) -> Option<&'a [T]> {
        let area: usize = axes.iter().map(|axis| axis.size).product();
        let follow = self.are_packed(axes) && (self.count == 1 || self.step == area as isize);
        follow.then(|| &self.data[self.first..self.first + self.count * area])
    }
}
