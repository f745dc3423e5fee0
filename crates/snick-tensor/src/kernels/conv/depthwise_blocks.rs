//! Depthwise filters over an image where it lies: several rows of windows at once, so that what is read of a row of the
//! image is multiplied for all of them.
//!
//! A block is as wide as a vector. Columns beside the image are masked, rows above and below are left out, and nothing is
//! copied.

use super::images::Channels;
use super::planes::Grid;
use crate::kernels::gemm::Epilogue;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Isa, LaneMasks, Vector, Vectorised, dispatch_best};
use crate::kernels::window::WindowAxis;

/// Rows of windows in a block.
const ROWS: usize = 4;

/// A part of fewer multiplications is not worth a thread.
const SHARED: usize = 1 << 17;

/// Filters of one channel that slide over rows of an image without gaps.
pub(super) struct DepthwiseBlocks {
    rows: WindowAxis,
    columns: WindowAxis,
    /// The number of windows on both axes.
    out: [usize; 2],
}

impl DepthwiseBlocks {
    /// `None` if there are more axes than two, no kernel is made for filters and strides like these, or for this machine.
    pub fn new(grid: &Grid, image: &Channels<f32>) -> Option<Self> {
        let [depth, rows, columns] = grid.axes;
        let is_flat = depth.size == 1 && depth.kernel == 1 && depth.before == 0;
        let has_kernel = matches!((rows.kernel, rows.stride), (3 | 5, 1 | 2) | (7, 1));
        let is_square = rows.kernel == columns.kernel && rows.stride == columns.stride;
        let is_dense = rows.dilation == 1 && columns.dilation == 1 && image.steps[2] == 1;
        let [_, out @ ..] = grid.out;
        let fits = is_flat && has_kernel && is_square && is_dense && out[0] >= ROWS;
        (fits && Isa::best() != Isa::Baseline).then_some(DepthwiseBlocks { rows, columns, out })
    }

    /// Applies the filters, grouped by channel, to one image, and writes the windows to `out`. The products of each are
    /// summed in their order. `then` follows for each filter.
    pub fn convolve(
        &self,
        image: Channels<f32>,
        filters: &[f32],
        out: &mut [f32],
        then: Option<Epilogue<f32>>,
    ) {
        let filters_len = filters.len() / image.count;
        let windows_len = out.len() / image.count;
        let size = self.out[0].saturating_mul(self.out[1]).saturating_mul(filters_len);
        sharing::in_parts(out, windows_len, SHARED / size.max(1), |first, out| {
            let image = image.part(first..first + out.len() / windows_len);
            let filters = &filters[first * filters_len..][..image.count * filters_len];
            let then = then.map(|then| then.part(first * windows_len));
            dispatch_best(SomeChannels { of: self, image, filters, out, then });
        });
    }
}

/// Some of the channels.
struct SomeChannels<'a> {
    of: &'a DepthwiseBlocks,
    image: Channels<'a, f32>,
    /// The filters of these channels.
    filters: &'a [f32],
    out: &'a mut [f32],
    then: Option<Epilogue<'a, f32>>,
}

impl Vectorised for SomeChannels<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        // `DepthwiseBlocks::new` declines the base, which has no masks: its code would be long, and slow.
        if I::ISA == Isa::Baseline {
            return;
        }
        match (self.of.rows.kernel, self.of.rows.stride) {
            (3, 1) => self.apply::<I, 3, 1>(),
            (3, _) => self.apply::<I, 3, 2>(),
            (5, 1) => self.apply::<I, 5, 1>(),
            (5, _) => self.apply::<I, 5, 2>(),
            _ => self.apply::<I, 7, 1>(),
        }
    }
}

impl SomeChannels<'_> {
    /// Applies all filters, of `KERNEL` rows and columns.
    #[inline(always)]
    fn apply<I: Instructions, const KERNEL: usize, const STRIDE: usize>(self) {
        let Self { of, image, filters, out, then } = self;
        let (filters, windows) =
            (filters.as_chunks::<KERNEL>().0.as_chunks::<KERNEL>().0, of.out[0] * of.out[1]);
        let of_each = filters.len() / image.count;
        let starts = (0..of.out[1]).step_by(I::F32::LANES);
        let strips: Vec<Strip<I::Mask, KERNEL>> = starts.map(|first| Strip::new::<I>(of, first)).collect();
        for (i, (filter, out)) in filters.iter().zip(out.chunks_exact_mut(windows)).enumerate() {
            let channel = image.part(i / of_each..i / of_each + 1);
            for row in (0..of.out[0]).step_by(ROWS) {
                // The last blocks may begin with rows that those before have, too.
                let row = row.min(of.out[0] - ROWS);
                for strip in &strips {
                    FilterOnStrip::<I::Mask, KERNEL, STRIDE> { of, channel, filter, strip }
                        .block::<I>(row, out);
                }
            }
            if let Some(then) = then {
                then.apply(i * windows, out);
            }
        }
    }
}

/// Columns of windows, as many as a vector has lanes.
struct Strip<M, const KERNEL: usize> {
    /// The first.
    first: usize,
    /// What is read of a line for each column of the filter: the elements from the first window on, and, if windows are
    /// two apart, as many that follow.
    reads: [LaneMasks<M, KERNEL>; 2],
}

impl<M, const KERNEL: usize> Strip<M, KERNEL> {
    fn new<I: Instructions<Mask = M>>(of: &DepthwiseBlocks, first: usize) -> Self {
        let input = of.columns.input(first, 0);
        let reads =
            [0, I::F32::LANES as isize].map(|lanes| LaneMasks::new::<I>(input + lanes, of.columns.size));
        Strip { first, reads }
    }
}

/// A filter over a strip.
struct FilterOnStrip<'a, M, const KERNEL: usize, const STRIDE: usize> {
    of: &'a DepthwiseBlocks,
    channel: Channels<'a, f32>,
    filter: &'a [[f32; KERNEL]; KERNEL],
    strip: &'a Strip<M, KERNEL>,
}

impl<M, const KERNEL: usize, const STRIDE: usize> FilterOnStrip<'_, M, KERNEL, STRIDE> {
    /// Computes the block whose first row of windows is `row`.
    #[inline(always)]
    fn block<I: Instructions<Mask = M>>(&self, row: usize, out: &mut [f32]) {
        let mut sums = [I::F32::splat(0.0); ROWS];
        let first = self.of.rows.input(row, 0);
        macro_rules! add_rows {
            ($($at:literal)*) => {$(
                if $at < (ROWS - 1) * STRIDE + KERNEL {
                    self.add_row::<I, $at>(first, &mut sums);
                }
            )*};
        }
        add_rows!(0 1 2 3 4 5 6 7 8 9 10);
        let columns = self.of.out[1];
        for (i, sums) in sums.iter().enumerate() {
            let at = (row + i) * columns;
            if let Some(out) = out.get_mut(at + self.strip.first..at + columns) {
                I::store_first(*sums, out);
            }
        }
    }

    /// Adds the products with row `AT` of those that a block reads, the first of which may lie above the image.
    #[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
    #[inline(always)]
    fn add_row<I: Instructions<Mask = M>, const AT: usize>(&self, first: isize, sums: &mut [I::F32; ROWS]) {
        let y = first.wrapping_add_unsigned(AT).cast_unsigned();
        if y >= self.of.rows.size {
            return;
        }
        let line = self.channel.line(0, y);
        let line = line.data.get(line.at..).unwrap_or_default();
        let [low, high] = &self.strip.reads;
        let mut values = I::load_masked(low, line);
        if STRIDE == 2 {
            let high = I::load_masked(high, line);
            for column in 0..KERNEL {
                values[column] = I::even_lanes(values[column], high[column]);
            }
        }
        for column in 0..KERNEL {
            for i in 0..ROWS {
                if AT >= i * STRIDE && AT - i * STRIDE < KERNEL {
                    let factor = I::F32::splat(self.filter[AT - i * STRIDE][column]);
                    sums[i] = factor.multiply_add(values[column], sums[i]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::broadcast::Strided;
    use crate::kernels::window::Window;
    use crate::{Dims, Tensor};

    /// Numbers whose products and sums are rounded.
    fn values(len: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 2_741) % 4_093) as f32 / 1_000.0 - 1.7).collect()
    }

    /// One window after the other.
    fn naive(grid: &Grid, image: Channels<f32>, filters: &[f32]) -> Vec<f32> {
        let mut patch = vec![0.0; grid.taps()];
        let of_each = filters.len() / (grid.taps() * image.count);
        let mut all = Vec::new();
        for (i, filter) in filters.chunks_exact(grid.taps()).enumerate() {
            for window in 0..grid.windows() {
                grid.under(window, image.part(i / of_each..i / of_each + 1), &mut patch);
                all.push(filter.iter().zip(&patch).fold(0.0, |sum, (f, x)| f32::mul_add(*f, *x, sum)));
            }
        }
        all
    }

    /// Compares a filter of `kernel` elements square with the definition.
    fn check(whole: &Tensor, [kernel, stride]: [usize; 2], pads: [[isize; 2]; 2]) {
        let [begin, end] = pads.map(|pads| pads.into_iter().collect());
        let strides = Dims::from_elem(stride, 2);
        let window = Window { strides, pads_begin: begin, pads_end: end, ..Window::dense(2) };
        let spatial = &whole.dims()[2..];
        let (axes, out) = match window.output_dims(spatial, &[kernel; 2]) {
            Ok(out) => (window.axes(spatial, &[kernel; 2]).unwrap(), out),
            Err(_) => return,
        };
        let places = WindowAxis::places(&axes, &out);
        let (axes, out) = WindowAxis::three(&axes, &out);
        let (grid, x) = (Grid { axes, out }, Strided::<f32>::new(whole));
        let image = Channels::of(&x, places);
        let Some(blocks) = DepthwiseBlocks::new(&grid, &image) else {
            assert!(out[1] < ROWS || Isa::best() == Isa::Baseline);
            return;
        };
        for of_each in [1, 2] {
            let filters = values(image.count * of_each * grid.taps());
            let mut found = vec![f32::NAN; image.count * of_each * grid.windows()];
            blocks.convolve(image, &filters, &mut found, None);
            assert_eq!(found, naive(&grid, image, &filters), "{kernel} {stride} {pads:?} {spatial:?}");
        }
    }

    #[test]
    fn blocks_give_what_each_window_gives() {
        for spatial in [[4, 4], [7, 7], [9, 16], [14, 14], [11, 17], [5, 33], [21, 50], [1, 3]] {
            let [height, width] = spatial;
            let dims = [1, 3, height, width];
            let image = Tensor::from_vec(&dims, values(dims.iter().product())).unwrap();
            for kernel in [[3, 1], [3, 2], [5, 1], [5, 2], [7, 1]] {
                for pads in [
                    [[0, 0], [0, 0]],
                    [[1, 1], [1, 1]],
                    [[3, 2], [0, 4]],
                    [[-1, -2], [3, 1]],
                    [[9, 30], [8, 40]],
                ] {
                    check(&image, kernel, pads);
                }
            }
        }
    }

    #[test]
    fn rows_may_lie_apart_and_in_any_order() {
        let dims = [1, 6, 20, 30];
        let whole = Tensor::from_vec(&dims, values(dims.iter().product())).unwrap();
        let part = whole.slice(1, 5, 2, -2).unwrap().slice(2, 18, 9, -1).unwrap().slice(3, 4, 21, 1).unwrap();
        for kernel in [[3, 1], [3, 2], [5, 1], [5, 2], [7, 1]] {
            check(&part, kernel, [[1, 2], [2, 1]]);
        }
    }
}
