//! A tile times a panel, in registers.

use super::right::Panel;
use super::{Gemm, Left, Right, panel_columns, tile_rows};
use crate::kernels::vectors::{Instructions, Isa, Vectorised};

/// After so many terms a partial sum is put aside: long sums of floats lose less in two steps.
const PARTIAL: usize = 1024;

/// Some rows of a product.
pub(super) struct Tiles<'a, 'b, T, P> {
    pub left: &'a Left<T>,
    pub right: &'a Right<'b, T>,
    /// The row that `out` begins with: the first of a tile.
    pub first: usize,
    /// As many rows as are computed.
    pub out: &'a mut [T],
    pub row_len: usize,
    pub place: &'a P,
}

impl<T: Gemm, P: Fn(&mut [T], usize, usize, &[T])> Vectorised for Tiles<'_, '_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        // As high as `tile_rows` says, and two vectors of so many lanes wide.
        match (I::ISA, size_of::<T>()) {
            #[cfg(target_arch = "x86_64")]
            (Isa::Avx512, 4) => self.walk::<I, 12, 16>(),
            #[cfg(target_arch = "x86_64")]
            (Isa::Avx512, _) => self.walk::<I, 12, 8>(),
            #[cfg(target_arch = "x86_64")]
            (Isa::Avx2, 4) => self.walk::<I, 6, 8>(),
            #[cfg(target_arch = "x86_64")]
            (Isa::Avx2, _) => self.walk::<I, 6, 4>(),
            (Isa::Base, 4) => self.walk::<I, 4, 4>(),
            (Isa::Base, _) => self.walk::<I, 4, 2>(),
        }
    }
}

impl<T: Gemm, P: Fn(&mut [T], usize, usize, &[T])> Tiles<'_, '_, T, P> {
    /// Tile by tile, each over all panels: the panels together are mostly the smaller matrix.
    #[inline(always)]
    fn walk<I: Instructions, const ROWS: usize, const LANES: usize>(self) {
        debug_assert!(tile_rows(I::ISA) == ROWS && panel_columns::<T>(I::ISA) == 2 * LANES);
        let Self { left, right, first, out, row_len, place } = self;
        for (i, out) in out.chunks_mut(ROWS * row_len).enumerate() {
            let row = first + i * ROWS;
            let tile = left.tile::<ROWS>(row);
            let rows = ROWS.min(left.rows() - row);
            for p in 0..right.columns().div_ceil(2 * LANES) {
                let panel = right.panel(p, left.depth());
                let mut sums = [[[T::default(); LANES]; 2]; ROWS];
                // The least height that is compiled and holds the rows there are.
                match rows {
                    0..=1 => multiply::<I, T, 1, ROWS, LANES>(tile, panel, &mut sums),
                    2 => multiply::<I, T, 2, ROWS, LANES>(tile, panel, &mut sums),
                    3..=4 => multiply::<I, T, 4, ROWS, LANES>(tile, panel, &mut sums),
                    5..=6 if ROWS >= 6 => multiply::<I, T, 6, ROWS, LANES>(tile, panel, &mut sums),
                    7..=8 if ROWS >= 8 => multiply::<I, T, 8, ROWS, LANES>(tile, panel, &mut sums),
                    _ => multiply::<I, T, ROWS, ROWS, LANES>(tile, panel, &mut sums),
                }
                for (r, (out, sums)) in out.chunks_mut(row_len).zip(&sums).take(rows).enumerate() {
                    place(out, row + r, p * 2 * LANES, sums.as_flattened());
                }
            }
        }
    }
}

/// One row of a panel.
type Line<T, const LANES: usize> = [[T; LANES]; 2];

/// Adds the first `SOME` rows of a tile times a panel to `sums`.
#[inline(always)]
fn multiply<I: Instructions, T: Gemm, const SOME: usize, const ROWS: usize, const LANES: usize>(
    tile: &[[T; ROWS]],
    panel: Panel<T>,
    sums: &mut [Line<T, LANES>; ROWS],
) {
    match panel {
        Panel::Packed(packed) => {
            let lines = packed.as_chunks::<LANES>().0.as_chunks::<2>().0;
            for (tile, lines) in tile.chunks(PARTIAL).zip(lines.chunks(PARTIAL)) {
                accumulate::<I, T, SOME, ROWS, LANES>(tile, lines.iter(), sums);
            }
        }
        Panel::Direct { data, starts, shift } => {
            let Some(data) = data.get(shift..) else { return };
            for (tile, starts) in tile.chunks(PARTIAL).zip(starts.chunks(PARTIAL)) {
                // A panel is direct only where all of it lies in the data.
                let line = |&start: &usize| data.get(start..)?.as_chunks::<LANES>().0.first_chunk::<2>();
                accumulate::<I, T, SOME, ROWS, LANES>(tile, starts.iter().map_while(line), sums);
            }
        }
    }
}

/// The sums are counted by index: iterators over them are unrolled too late for the sums to stay in registers.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn accumulate<'a, I: Instructions, T: Gemm, const SOME: usize, const ROWS: usize, const LANES: usize>(
    tile: &[[T; ROWS]],
    lines: impl Iterator<Item = &'a Line<T, LANES>>,
    sums: &mut [Line<T, LANES>; ROWS],
) {
    let mut partial = [[[T::default(); LANES]; 2]; SOME];
    for (column, line) in tile.iter().zip(lines) {
        for r in 0..SOME {
            for v in 0..2 {
                for l in 0..LANES {
                    partial[r][v][l] = column[r].multiply_add::<I>(line[v][l], partial[r][v][l]);
                }
            }
        }
    }
    for r in 0..SOME {
        for v in 0..2 {
            for l in 0..LANES {
                sums[r][v][l] = sums[r][v][l] + partial[r][v][l];
            }
        }
    }
}
