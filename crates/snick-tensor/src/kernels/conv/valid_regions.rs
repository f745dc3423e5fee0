//! Implicit GEMM without products with padding, for large dilations: with a dilation of 36 over a 32x32
//! image, most taps of a filter read padding.
//!
//! A region is a rectangle of windows in which the same rectangle of taps reads the image. Each region is one
//! product of some columns of the packed filters with runs of the image itself.
//!
//! **Loop nest**, outer to inner: image; group; region; the loops of [`gemm`](crate::kernels::gemm).
//!
//! **Layout.** Images are `[channel, height, width]` with contiguous channels; windows have stride 1.
//!
//! **Threads.** All threads share each product.

use std::ops::Range;

use super::ConvShape;
use super::image_view::ImageView;
use crate::kernels::broadcast::copy_run;
use crate::kernels::gemm::{
    Lines, MAX_PANEL_COLUMNS, PackedLhs, PackedRhs, StoreTile, TilePosition, panel_columns, product,
};
use crate::kernels::vectors::{Instructions, Isa};
use crate::kernels::window::{WindowAxis, WindowGrid};

/// Consecutive windows on one axis, and the taps that read the image in all of them.
struct Interval {
    windows: Range<usize>,
    taps: Range<usize>,
}

impl Interval {
    /// All intervals of an axis, in order.
    fn all(axis: &WindowAxis, out: usize) -> Vec<Self> {
        let mut intervals: Vec<Self> = Vec::new();
        for window in 0..out {
            let taps = axis.taps_inside(window);
            match intervals.last_mut() {
                Some(last) if last.taps == taps => last.windows.end = window + 1,
                _ => intervals.push(Interval { windows: window..window + 1, taps }),
            }
        }
        intervals
    }
}

/// The regions of an image with two spatial axes: each interval of rows combined with each interval of
/// columns.
pub(super) struct ValidRegions {
    grid: WindowGrid,
    rows: Vec<Interval>,
    columns: Vec<Interval>,
}

impl ValidRegions {
    pub fn new(grid: &WindowGrid) -> Self {
        let [_, height, width] = &grid.axes;
        let (rows, columns) = (Interval::all(height, grid.out[1]), Interval::all(width, grid.out[2]));
        ValidRegions { grid: *grid, rows, columns }
    }

    /// The number of products of a filter with one channel, and the number including padding. `None` if
    /// windows are not supported. Products are counted in whole panels.
    pub fn products(grid: &WindowGrid) -> Option<[usize; 2]> {
        let [_, height, width] = &grid.axes;
        if !grid.is_flat() || grid.taps() == 1 || height.stride != 1 || width.stride != 1 {
            return None;
        }
        let panel = panel_columns::<f32>(Isa::best());
        let products = |windows: usize, taps: usize| windows.div_ceil(panel).saturating_mul(taps);
        let Self { rows, columns, .. } = Self::new(grid);
        let regions = rows.iter().flat_map(|y| columns.iter().map(move |x| (y, x)));
        let sizes = regions.map(|(y, x)| (y.windows.len() * x.windows.len(), y.taps.len() * x.taps.len()));
        let inside = sizes.fold(0usize, |sum, (windows, taps)| sum.saturating_add(products(windows, taps)));
        Some([inside, products(grid.windows(), grid.taps())])
    }

    /// Convolves one image, whose channels must be contiguous, with the filters of each group.
    #[inline(never)]
    pub fn convolve(
        &self,
        shape: &ConvShape,
        image: ImageView<f32>,
        filters: &[PackedLhs<f32>],
        out: &mut [f32],
    ) {
        let results = out.len() / shape.groups;
        for (group, (left, out)) in filters.iter().zip(out.chunks_exact_mut(results)).enumerate() {
            let image = image.channel_range(group * shape.depth..(group + 1) * shape.depth);
            for rows in &self.rows {
                for columns in &self.columns {
                    self.region(left, image, [rows, columns], out);
                }
            }
        }
    }

    fn region(
        &self,
        left: &PackedLhs<f32>,
        image: ImageView<f32>,
        [rows, columns]: [&Interval; 2],
        out: &mut [f32],
    ) {
        let [_, height, width] = &self.grid.axes;
        // A region without taps is a product without terms, which writes zeros.
        let mut starts = Vec::new();
        for tap_y in rows.taps.clone() {
            let y = height.inside(rows.windows.start, tap_y).unwrap_or(0);
            for tap_x in columns.taps.clone() {
                let x = width.inside(columns.windows.start, tap_x).unwrap_or(0);
                let channels = (0..image.channels).map(|channel| image.channel(channel).start);
                starts.extend(channels.map(|start| start + y * width.size + x));
            }
        }
        let len = columns.windows.len();
        let lines = Lines { len, starts: (0..rows.windows.len()).map(|row| row * width.size).collect() };
        let right = PackedRhs::of_lines(Isa::best(), image.data, starts, lines);
        // The columns of the packed filters are ordered by tap, then by channel.
        let left = left.of_columns(rows.taps.clone().map(|tap_y| {
            let tap = tap_y * width.kernel;
            (tap + columns.taps.start) * image.channels..(tap + columns.taps.end) * image.channels
        }));
        let row_len = self.grid.out[2];
        let first = rows.windows.start * row_len + columns.windows.start;
        let place = PlaceRegion { columns: right.columns(), len, first, row_len };
        product(&left, &right, out, self.grid.windows(), &place);
    }
}

/// Writes the columns of a product to a region of the result.
struct PlaceRegion {
    columns: usize,
    /// Windows in a row of the region.
    len: usize,
    /// The first window.
    first: usize,
    /// Windows in a row of the result.
    row_len: usize,
}

impl StoreTile<f32> for PlaceRegion {
    type Out = f32;
    const ROWS: usize = 1;
    const HAS_COLUMNS: bool = false;

    #[inline(always)]
    fn store<I: Instructions>(&self, image: &mut [f32], at: TilePosition, rows: &[[f32; MAX_PANEL_COLUMNS]]) {
        let mut next = at.column;
        while next < self.columns.min(at.column + at.width) {
            let (row, column) = (next / self.len, next % self.len);
            let piece = (self.len - column).min(at.column + at.width - next);
            let to = self.first + row * self.row_len + column;
            copy_run(&mut image[to..][..piece], &rows[0][next - at.column..][..piece]);
            next += piece;
        }
    }
}
