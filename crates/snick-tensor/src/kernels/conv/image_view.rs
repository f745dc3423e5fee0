//! Images as strided views: slices, transposes and reversed axes are read without a copy.

use std::ops::Range;

use bytemuck::Pod;

use crate::kernels::broadcast::{Run, Strided};
use crate::kernels::window::WindowGrid;

/// Some channels of images `[N, channel, depth, height, width]`, starting in the first image.
#[derive(Copy, Clone)]
pub(super) struct ImageView<'a, T> {
    pub data: &'a [T],
    /// The index of the first element.
    pub start: usize,
    pub image_stride: isize,
    pub channels: usize,
    pub channel_stride: isize,
    pub strides: [isize; 3],
}

impl<'a, T: Pod> ImageView<'a, T> {
    /// All channels of `[N, C, spatial..]`, which is not empty.
    pub fn new(images: &'a Strided<T>, grid: &WindowGrid) -> Self {
        let layout = &images.layout;
        ImageView {
            data: &images.data,
            start: layout.start,
            image_stride: layout.strides[0],
            channels: layout.dims[1],
            channel_stride: layout.strides[1],
            strides: grid.spatial_axes.map(|axis| axis.map_or(0, |axis| layout.strides[axis + 2])),
        }
    }

    /// The same view, moved by `offset` elements in memory.
    #[inline]
    pub fn moved(self, offset: isize) -> Self {
        ImageView { start: self.start.wrapping_add_signed(offset), ..self }
    }

    #[inline]
    pub fn image(self, n: usize) -> Self {
        self.moved(n as isize * self.image_stride)
    }

    #[inline]
    pub fn channel_range(self, range: Range<usize>) -> Self {
        ImageView { channels: range.len(), ..self.moved(range.start as isize * self.channel_stride) }
    }

    #[inline]
    pub fn channel(self, channel: usize) -> Self {
        self.channel_range(channel..channel + 1)
    }

    /// Line `[z, y]` of the first channel.
    #[inline]
    pub fn line(&self, z: usize, y: usize) -> Run<'a, T> {
        let [depth, height, width] = self.strides;
        let at = self.start.wrapping_add_signed(z as isize * depth + y as isize * height);
        Run { data: self.data, at, step: width }
    }

    /// Whether the elements of each channel are contiguous.
    pub fn has_packed_channels(&self, grid: &WindowGrid) -> bool {
        let mut packed = 1;
        grid.axes.iter().zip(self.strides).rev().all(|(axis, stride)| {
            let fits = axis.size == 1 || stride == packed;
            packed *= axis.size as isize;
            fits
        })
    }

    /// All elements, if they are contiguous.
    pub fn as_slice(&self, grid: &WindowGrid) -> Option<&'a [T]> {
        let area = grid.area();
        let is_packed =
            self.has_packed_channels(grid) && (self.channels == 1 || self.channel_stride == area as isize);
        is_packed.then(|| &self.data[self.start..self.start + self.channels * area])
    }
}
