//! Regions of windows over which the same elements of a filter are inside of the image: nothing is multiplied with the
//! padding. Filters with large dilations mostly lie on it.

use std::ops::Range;

use super::images::Channels;
use super::placement::Placement;
use super::planes::Grid;
use crate::TensorError;
use crate::buffer::Buffer;
use crate::kernels::gemm::{Gemm, PackedLhs, PackedRhs, panel_columns};
use crate::kernels::vectors::Isa;
use crate::kernels::window::WindowAxis;

/// Elements that may be read beyond the last one, so that a panel may start anywhere.
const SLACK: usize = 32;

/// Consecutive windows on one axis, and the elements of a filter that are inside of the image in all of them.
struct Interval {
    windows: Range<usize>,
    taps: Range<usize>,
}

impl Interval {
    /// All intervals of an axis, in order.
    fn all(axis: &WindowAxis, out: usize) -> Vec<Self> {
        let mut intervals: Vec<Self> = Vec::new();
        for window in 0..out {
            let before = |end: isize| {
                let room = usize::try_from(end - axis.input(window, 0)).unwrap_or(0);
                room.div_ceil(axis.dilation).min(axis.kernel)
            };
            let taps = before(0)..before(axis.size as isize);
            match intervals.last_mut() {
                Some(last) if last.taps == taps => last.windows.end = window + 1,
                _ => intervals.push(Interval { windows: window..window + 1, taps }),
            }
        }
        intervals
    }
}

/// The regions of an image of two spatial axes: each interval of lines with each of columns.
pub(super) struct Regions {
    grid: Grid,
    lines: Vec<Interval>,
    columns: Vec<Interval>,
}

impl Regions {
    /// `None` if regions save less than a quarter of the products, or windows are not next to each other.
    pub fn new(grid: Grid) -> Option<Self> {
        let [depth, height, width] = &grid.axes;
        let is_flat = grid.out[0] == 1 && depth.kernel == 1 && depth.inside(0, 0).is_some();
        if !is_flat || height.stride != 1 || width.stride != 1 || grid.taps() == 1 {
            return None;
        }
        let lines = Interval::all(height, grid.out[1]);
        let columns = Interval::all(width, grid.out[2]);
        // Products are computed a panel at a time.
        let panel = panel_columns::<f32>(Isa::best());
        let products = |windows: usize, taps: usize| windows.div_ceil(panel).saturating_mul(taps);
        let each = lines.iter().flat_map(|y| columns.iter().map(move |x| (y, x)));
        let sizes = each.map(|(y, x)| (y.windows.len() * x.windows.len(), y.taps.len() * x.taps.len()));
        let some = sizes.fold(0usize, |sum, (windows, taps)| sum.saturating_add(products(windows, taps)));
        let all = products(grid.windows(), grid.taps());
        (some <= all - all / 4).then_some(Regions { grid, lines, columns })
    }

    /// The convolution of one image with the filters of each group, whose columns are in the order of their elements,
    /// all channels of one after the other.
    #[inline(never)]
    pub fn convolve<T: Gemm>(
        &self,
        image: Channels<T>,
        filters: &[PackedLhs<T>],
        out: &mut [T],
    ) -> Result<(), TensorError> {
        let result = out.len() / filters.len();
        for columns in &self.columns {
            let planes = self.planes(image, columns)?;
            for (g, (left, out)) in filters.iter().zip(out.chunks_exact_mut(result)).enumerate() {
                let depth = image.count / filters.len();
                for lines in &self.lines {
                    self.region(left, &planes, g * depth..(g + 1) * depth, [lines, columns], out);
                }
            }
        }
        Ok(())
    }

    /// What each element of a filter reads in the columns of an interval: `[channel, tap, line, column]`.
    fn planes<T: Gemm>(&self, image: Channels<T>, columns: &Interval) -> Result<Buffer<T>, TensorError> {
        let [_, height, width] = &self.grid.axes;
        let (len, taps) = (columns.windows.len(), columns.taps.clone());
        let plane = height.size.checked_mul(len);
        let all = plane.and_then(|plane| plane.checked_mul(taps.len())?.checked_mul(image.count));
        let all = all.and_then(|all| all.checked_add(SLACK)).unwrap_or(usize::MAX);
        let mut planes = Buffer::any(all)?;
        let slack = planes.len() - SLACK;
        planes[slack..].fill(T::default());
        let mut rows = planes.chunks_exact_mut(len);
        for channel in image.each() {
            for tap in taps.clone() {
                let first = width.inside(columns.windows.start, tap).unwrap_or(0);
                for (y, row) in (0..height.size).zip(&mut rows) {
                    channel.line(0, y).every(1, first).copy_to(row);
                }
            }
        }
        Ok(planes)
    }

    /// The windows of one region.
    fn region<T: Gemm>(
        &self,
        left: &PackedLhs<T>,
        planes: &[T],
        channels: Range<usize>,
        [lines, columns]: [&Interval; 2],
        out: &mut [T],
    ) {
        let [_, height, width] = &self.grid.axes;
        let (windows, row_len, len) = (self.grid.windows(), self.grid.out[2], columns.windows.len());
        // Windows that only see the padding are zeros, too: a product without terms.
        let mut starts = Vec::new();
        for y in lines.taps.clone() {
            let line = height.inside(lines.windows.start, y).unwrap_or(0);
            for x in 0..columns.taps.len() {
                let start = |channel: usize| ((channel * columns.taps.len() + x) * height.size + line) * len;
                starts.extend(channels.clone().map(start));
            }
        }
        let right = PackedRhs::of_runs(Isa::best(), planes, starts, lines.windows.len() * len);
        let placement = Placement {
            line: len,
            // Results behind the last line of the region are none.
            lines: usize::MAX,
            rows: lines.windows.len(),
            columns: len,
            row: row_len,
            first: lines.windows.start * row_len + columns.windows.start,
        };
        let left = left.of_columns(lines.taps.clone().map(|y| {
            let line = y * width.kernel;
            (line + columns.taps.start) * channels.len()..(line + columns.taps.end) * channels.len()
        }));
        placement.product(&left, &right, out, windows);
    }
}
