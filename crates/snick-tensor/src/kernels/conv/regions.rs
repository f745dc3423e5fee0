//! Regions of windows over which the same elements of a filter are inside of the image: nothing is multiplied with the
//! padding. Filters with large dilations mostly lie on it.

use std::ops::Range;

use super::images::Channels;
use super::planes::Grid;
use crate::kernels::broadcast::copy_run;
use crate::kernels::gemm::{
    Lines, MAX_PANEL_COLUMNS, PackedLhs, PackedRhs, StoreTile, TilePosition, panel_columns, product,
};
use crate::kernels::vectors::Instructions;
use crate::kernels::vectors::Isa;
use crate::kernels::window::WindowAxis;

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

    /// The convolution of one image, whose channels are packed, with the filters of each group, whose columns are in the
    /// order of their elements, all channels of one after the other.
    #[inline(never)]
    pub fn convolve(&self, image: Channels<f32>, filters: &[PackedLhs<f32>], out: &mut [f32]) {
        let (result, depth) = (out.len() / filters.len(), image.count / filters.len());
        for (g, (left, out)) in filters.iter().zip(out.chunks_exact_mut(result)).enumerate() {
            let image = image.part(g * depth..(g + 1) * depth);
            for lines in &self.lines {
                for columns in &self.columns {
                    self.region(left, image, [lines, columns], out);
                }
            }
        }
    }

    /// The windows of one region.
    fn region(
        &self,
        left: &PackedLhs<f32>,
        image: Channels<f32>,
        [lines, columns]: [&Interval; 2],
        out: &mut [f32],
    ) {
        let [_, height, width] = &self.grid.axes;
        // Windows that only see the padding are zeros, too: a product without terms.
        let mut starts = Vec::new();
        for y in lines.taps.clone() {
            let line = height.inside(lines.windows.start, y).unwrap_or(0);
            for x in columns.taps.clone() {
                let column = width.inside(columns.windows.start, x).unwrap_or(0);
                starts.extend(image.each().map(|channel| channel.first + line * width.size + column));
            }
        }
        let len = columns.windows.len();
        let places = Lines { len, starts: (0..lines.windows.len()).map(|line| line * width.size).collect() };
        let right = PackedRhs::of_lines(Isa::best(), image.data, starts, places);
        let left = left.of_columns(lines.taps.clone().map(|y| {
            let line = y * width.kernel;
            (line + columns.taps.start) * image.count..(line + columns.taps.end) * image.count
        }));
        let row_len = self.grid.out[2];
        let first = lines.windows.start * row_len + columns.windows.start;
        let columns = right.columns();
        product(&left, &right, out, self.grid.windows(), &PlaceLines { columns, len, first, row_len });
    }
}

/// Writes the columns of a product to lines of an image.
struct PlaceLines {
    columns: usize,
    /// The columns of a line.
    len: usize,
    /// Where the first line begins.
    first: usize,
    /// The distance of lines.
    row_len: usize,
}

impl StoreTile<f32> for PlaceLines {
    type Out = f32;
    const ROWS: usize = 1;
    const HAS_COLUMNS: bool = false;

    #[inline(always)]
    fn store<I: Instructions>(&self, image: &mut [f32], at: TilePosition, rows: &[[f32; MAX_PANEL_COLUMNS]]) {
        let mut next = at.column;
        while next < self.columns.min(at.column + at.width) {
            let (line, column) = (next / self.len, next % self.len);
            let piece = (self.len - column).min(at.column + at.width - next);
            let to = self.first + line * self.row_len + column;
            copy_run(&mut image[to..][..piece], &rows[0][next - at.column..][..piece]);
            next += piece;
        }
    }
}
