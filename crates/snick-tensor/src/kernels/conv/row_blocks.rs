//! Depthwise filters over an image where it lies: several rows of windows at once, so that what is read of a row of the
//! image is multiplied for all of them.
//!
//! A block is as wide as a vector. Columns beside the image are masked, rows above and below are left out, and nothing is
//! copied.

use super::images::Channels;
use super::planes::Grid;
use crate::TensorError;
use crate::kernels::gemm::OnPiece;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Isa, Lanes, Vector, Vectorised, widest};
use crate::kernels::window::WindowAxis;

/// Rows of windows in a block.
const ROWS: usize = 4;

/// A part of fewer multiplications is not worth a thread.
const SHARED: usize = 1 << 17;

/// Filters of one channel that slide over rows of an image without gaps.
pub(super) struct RowBlocks {
    rows: WindowAxis,
    columns: WindowAxis,
    /// The number of windows on both axes.
    out: [usize; 2],
}

impl RowBlocks {
    /// `None` if there are more axes than two, no kernel is made for filters and strides like these, or for this machine.
    pub fn new(grid: &Grid, image: &Channels<f32>) -> Option<Self> {
        let [depth, rows, columns] = grid.axes;
        let is_flat = depth.size == 1 && depth.kernel == 1 && depth.before == 0;
        let has_kernel = matches!((rows.kernel, rows.stride), (3 | 5, 1 | 2) | (7, 1));
        let is_square = rows.kernel == columns.kernel && rows.stride == columns.stride;
        let is_dense = rows.dilation == 1 && columns.dilation == 1 && image.steps[2] == 1;
        let [_, out @ ..] = grid.out;
        let fits = is_flat && has_kernel && is_square && is_dense && out[0] >= ROWS;
        (fits && Isa::best() != Isa::Base).then_some(RowBlocks { rows, columns, out })
    }

    /// Applies the filters `rows`, grouped by channel, to one image, and writes the windows to `out`. The products of each
    /// are summed in their order. `then` follows for each filter.
    pub fn convolve(
        &self,
        image: Channels<f32>,
        rows: &[f32],
        out: &mut [f32],
        then: Option<OnPiece<f32>>,
    ) -> Result<(), TensorError> {
        let taps = self.rows.kernel * self.columns.kernel;
        // Filters of one channel.
        let filters = rows.len() / (taps * image.count);
        let each = self.out[0] * self.out[1] * filters;
        let at_once = sharing::part(image.count, SHARED / taps.saturating_mul(each).max(1));
        let part = |(i, out): (usize, &mut [f32])| {
            let first = i * at_once;
            let image = image.part(first..first + out.len() / each);
            let filters = &rows[first * filters * taps..][..image.count * filters * taps];
            widest(Part { of: self, image, filters, out, then: then.map(|then| then.part(first * each)) });
        };
        if at_once < image.count {
            sharing::for_each(out.chunks_mut(at_once * each).enumerate(), part);
        } else {
            part((0, out));
        }
        Ok(())
    }
}

/// Some of the channels.
struct Part<'a> {
    of: &'a RowBlocks,
    image: Channels<'a, f32>,
    /// The filters of these channels.
    filters: &'a [f32],
    out: &'a mut [f32],
    then: Option<OnPiece<'a, f32>>,
}

impl Vectorised for Part<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        // Without masks the code would be long, and slow.
        if I::ISA == Isa::Base {
            return;
        }
        match (self.of.rows.kernel, self.of.rows.stride) {
            (3, 1) => self.filters::<I, 3, 1>(),
            (3, _) => self.filters::<I, 3, 2>(),
            (5, 1) => self.filters::<I, 5, 1>(),
            (5, _) => self.filters::<I, 5, 2>(),
            _ => self.filters::<I, 7, 1>(),
        }
    }
}

impl Part<'_> {
    /// All filters, of `KERNEL` rows and columns.
    #[inline(always)]
    fn filters<I: Instructions, const KERNEL: usize, const STRIDE: usize>(self) {
        let Self { of, image, filters, out, then } = self;
        let (filters, windows) =
            (filters.as_chunks::<KERNEL>().0.as_chunks::<KERNEL>().0, of.out[0] * of.out[1]);
        let of_each = filters.len() / image.count;
        let starts = (0..of.out[1]).step_by(I::F32::LANES);
        let strips: Vec<Strip<I::Mask, KERNEL>> = starts.map(|first| Strip::new::<I>(of, first)).collect();
        for (i, (filter, out)) in filters.iter().zip(out.chunks_exact_mut(windows)).enumerate() {
            let channel = image.part(i / of_each..i / of_each + 1);
            for strip in &strips {
                Blocks::<I::Mask, KERNEL, STRIDE> { of, channel, filter, strip }.run::<I>(out);
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
    reads: [Lanes<M, KERNEL>; 2],
}

impl<M, const KERNEL: usize> Strip<M, KERNEL> {
    fn new<I: Instructions<Mask = M>>(of: &RowBlocks, first: usize) -> Self {
        let after =
            |lanes: usize| std::array::from_fn(|column| of.columns.input(first, column) + lanes as isize);
        let reads = [0, I::F32::LANES].map(|lanes| Lanes::new::<I>(after(lanes), of.columns.size));
        Strip { first, reads }
    }
}

/// A filter over a strip.
struct Blocks<'a, M, const KERNEL: usize, const STRIDE: usize> {
    of: &'a RowBlocks,
    channel: Channels<'a, f32>,
    filter: &'a [[f32; KERNEL]; KERNEL],
    strip: &'a Strip<M, KERNEL>,
}

impl<M, const KERNEL: usize, const STRIDE: usize> Blocks<'_, M, KERNEL, STRIDE> {
    /// Computes all blocks.
    #[inline(always)]
    fn run<I: Instructions<Mask = M>>(&self, out: &mut [f32]) {
        let rows = self.of.out[0];
        for row in (0..rows).step_by(ROWS) {
            // The last block may begin with rows that the one before has, too.
            self.block::<I>(row.min(rows - ROWS), out);
        }
    }

    /// Computes the block whose first row of windows is `row`.
    #[inline(always)]
    fn block<I: Instructions<Mask = M>>(&self, row: usize, out: &mut [f32]) {
        let mut sums = [I::F32::splat(0.0); ROWS];
        macro_rules! add_rows {
            ($($at:literal)*) => {$(
                if $at < (ROWS - 1) * STRIDE + KERNEL {
                    self.add_row::<I, $at>(row, &mut sums);
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

    /// Adds the products with row `AT` of those that a block reads.
    #[inline(always)]
    fn add_row<I: Instructions<Mask = M>, const AT: usize>(&self, row: usize, sums: &mut [I::F32; ROWS]) {
        let Some(y) = self.of.rows.inside(row, AT) else { return };
        let line = self.channel.line(0, y);
        let line = line.data.get(line.at..).unwrap_or_default();
        let [low, high] = &self.strip.reads;
        let mut values = I::load_lanes(low, line);
        if STRIDE == 2 {
            let high = I::load_lanes(high, line);
            for column in 0..KERNEL {
                values[column] = I::first_of_pairs(values[column], high[column]);
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
