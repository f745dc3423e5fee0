//! Depthwise convolution of `f32` that reads the image in place, for square undilated kernels of 3, 5 and 7.
//!
//! **Loop nest**, outer to inner: channel; filter of the channel; block of four rows of windows; strip of
//! columns, one vector wide; row of the image; column of the filter; row of the block. Each image row is
//! loaded once for all block rows that read it, and the sums of a block stay in registers.
//!
//! **Layout.** Images are strided views with contiguous rows, filters are `[channel, output, row, column]`.
//! Padding is never stored: columns outside the image are masked, rows outside are skipped.
//!
//! **Threads.** Each thread computes some channels.

use super::image_view::ImageView;
use crate::kernels::gemm::Epilogue;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Isa, LaneMasks, Vector, Vectorised, dispatch_best};
use crate::kernels::window::{WindowAxis, WindowGrid};

/// Rows of windows per block: with a 7x7 kernel, four `f32` sums and their operands fit in 16 registers.
const ROWS: usize = 4;

/// Whether this machine has a kernel for these windows. The baseline lacks masks, so its kernel would be long
/// and slow.
pub(super) fn is_supported(grid: &WindowGrid) -> bool {
    let [_, rows, columns] = grid.axes;
    let is_square = rows.kernel == columns.kernel && rows.stride == columns.stride;
    let is_dense = rows.dilation == 1 && columns.dilation == 1;
    let has_kernel = matches!((rows.kernel, rows.stride), (3 | 5, 1 | 2) | (7, 1));
    Isa::best() != Isa::Baseline
        && grid.is_flat()
        && has_kernel
        && is_square
        && is_dense
        && grid.out[1] >= ROWS
}

/// Convolves one image with the filters of each of its channels, and applies `then` to the result of each
/// filter. The products of a window are summed in the order of the filter elements.
pub(super) fn depthwise_direct(
    grid: &WindowGrid,
    image: ImageView<f32>,
    filters: &[f32],
    out: &mut [f32],
    then: Option<Epilogue<f32>>,
) {
    let (filters_len, results) = (filters.len() / image.channels, out.len() / image.channels);
    let products = grid.windows().saturating_mul(filters_len);
    sharing::in_parts(out, results, sharing::PRODUCTS / products.max(1), |first, out| {
        let image = image.channel_range(first..first + out.len() / results);
        let filters = &filters[first * filters_len..][..image.channels * filters_len];
        let then = then.map(|then| then.part(first * results));
        dispatch_best(SomeChannels { grid, image, filters, out, then });
    });
}

/// A range of channels.
struct SomeChannels<'a> {
    grid: &'a WindowGrid,
    image: ImageView<'a, f32>,
    /// The filters of these channels.
    filters: &'a [f32],
    out: &'a mut [f32],
    then: Option<Epilogue<'a, f32>>,
}

impl Vectorised for SomeChannels<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        // See `is_supported`.
        if I::ISA == Isa::Baseline {
            return;
        }
        match (self.grid.axes[1].kernel, self.grid.axes[1].stride) {
            (3, 1) => self.apply::<I, 3, 1>(),
            (3, _) => self.apply::<I, 3, 2>(),
            (5, 1) => self.apply::<I, 5, 1>(),
            (5, _) => self.apply::<I, 5, 2>(),
            _ => self.apply::<I, 7, 1>(),
        }
    }
}

impl SomeChannels<'_> {
    /// Applies all filters of `KERNEL` rows and columns.
    #[inline(always)]
    fn apply<I: Instructions, const KERNEL: usize, const STRIDE: usize>(self) {
        let Self { grid, image, filters, out, then } = self;
        let ([_, _, columns], [_, out_rows, out_columns]) = (&grid.axes, grid.out);
        let (filters, windows) =
            (filters.as_chunks::<KERNEL>().0.as_chunks::<KERNEL>().0, out_rows * out_columns);
        let of_channel = filters.len() / image.channels;
        let starts = (0..out_columns).step_by(I::F32::LANES);
        let strips: Vec<Strip<I::Mask, KERNEL>> =
            starts.map(|first| Strip::new::<I>(columns, first)).collect();
        for (i, (filter, out)) in filters.iter().zip(out.chunks_exact_mut(windows)).enumerate() {
            let channel = image.channel(i / of_channel);
            for row in (0..out_rows).step_by(ROWS) {
                // The last block overlaps the previous one.
                let row = row.min(out_rows - ROWS);
                for strip in &strips {
                    FilterOnStrip::<I::Mask, KERNEL, STRIDE> { grid, channel, filter, strip }
                        .block::<I>(row, out);
                }
            }
            if let Some(then) = then {
                then.apply(i * windows, out);
            }
        }
    }
}

/// A strip of windows, one vector wide.
struct Strip<M, const KERNEL: usize> {
    /// The first column.
    first: usize,
    /// The elements of an image row that each filter column reads. With a stride of 2: the elements for the
    /// first half of the lanes, then for the second half.
    reads: [LaneMasks<M, KERNEL>; 2],
}

impl<M, const KERNEL: usize> Strip<M, KERNEL> {
    fn new<I: Instructions<Mask = M>>(columns: &WindowAxis, first: usize) -> Self {
        let position = columns.position(first, 0);
        let reads =
            [0, I::F32::LANES as isize].map(|lanes| LaneMasks::new::<I>(position + lanes, columns.size));
        Strip { first, reads }
    }
}

/// A filter applied to a strip.
struct FilterOnStrip<'a, M, const KERNEL: usize, const STRIDE: usize> {
    grid: &'a WindowGrid,
    channel: ImageView<'a, f32>,
    filter: &'a [[f32; KERNEL]; KERNEL],
    strip: &'a Strip<M, KERNEL>,
}

impl<M, const KERNEL: usize, const STRIDE: usize> FilterOnStrip<'_, M, KERNEL, STRIDE> {
    /// Computes the block whose first row of windows is `row`.
    #[inline(always)]
    fn block<I: Instructions<Mask = M>>(&self, row: usize, out: &mut [f32]) {
        let mut sums = [I::F32::splat(0.0); ROWS];
        let first = self.grid.axes[1].position(row, 0);
        macro_rules! add_rows {
            ($($at:literal)*) => {$(
                if $at < (ROWS - 1) * STRIDE + KERNEL {
                    self.add_row::<I, $at>(first, &mut sums);
                }
            )*};
        }
        add_rows!(0 1 2 3 4 5 6 7 8 9 10);
        let columns = self.grid.out[2];
        for (i, sums) in sums.iter().enumerate() {
            let at = (row + i) * columns;
            if let Some(out) = out.get_mut(at + self.strip.first..at + columns) {
                I::store_first(*sums, out);
            }
        }
    }

    /// Adds the products with row `AT` of the rows that the block reads. Rows outside the image add nothing.
    #[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
    #[inline(always)]
    fn add_row<I: Instructions<Mask = M>, const AT: usize>(&self, first: isize, sums: &mut [I::F32; ROWS]) {
        let y = first.wrapping_add_unsigned(AT).cast_unsigned();
        if y >= self.grid.axes[1].size {
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
                    let weight = I::F32::splat(self.filter[AT - i * STRIDE][column]);
                    sums[i] = weight.multiply_add(values[column], sums[i]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::im2col::tests::depthwise;
    use super::*;
    use crate::kernels::broadcast::Strided;
    use crate::kernels::window::Window;
    use crate::{Dims, Tensor};

    /// Values whose products and sums are rounded.
    fn values(len: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 2_741) % 4_093) as f32 / 1_000.0 - 1.7).collect()
    }

    /// Compares a square filter of size `kernel` with the definition.
    fn check(whole: &Tensor, [kernel, stride]: [usize; 2], pads: [[isize; 2]; 2]) {
        let [begin, end] = pads.map(|pads| pads.into_iter().collect());
        let strides = Dims::from_elem(stride, 2);
        let window = Window { strides, pads_begin: begin, pads_end: end, ..Window::dense(2) };
        let spatial = &whole.dims()[2..];
        let (axes, out) = match window.output_dims(spatial, &[kernel; 2]) {
            Ok(out) => (window.axes(spatial, &[kernel; 2]).unwrap(), out),
            Err(_) => return,
        };
        let (grid, x) = (WindowGrid::new(&axes, &out), Strided::<f32>::new(whole));
        let image = ImageView::new(&x, &grid);
        if !is_supported(&grid) {
            assert!(out[0] < ROWS || Isa::best() == Isa::Baseline);
            return;
        }
        for outputs in [1, 2] {
            let filters = values(image.channels * outputs * grid.taps());
            let mut found = vec![f32::NAN; image.channels * outputs * grid.windows()];
            depthwise_direct(&grid, image, &filters, &mut found, None);
            assert_eq!(found, depthwise(&grid, image, &filters), "{kernel} {stride} {pads:?} {spatial:?}");
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
