//! A tile times a panel, in registers.

use super::left::Tile;
use super::right::Panel;
use super::{Factor, MOST_COLUMNS, PackedLhs, PackedRhs, PlaceTile, TileAt, panel_columns, tile_rows};
use crate::kernels::vectors::{Instructions, Isa, Vector, Vectorised};

/// A block of rows of a product.
pub(super) struct Tiles<'a, 'b, T, P: PlaceTile<T>> {
    pub left: &'a PackedLhs<T>,
    pub right: &'a PackedRhs<'b, T>,
    /// The first row of `out`, which is the first of a tile.
    pub first: usize,
    /// The memory of the rows.
    pub out: &'a mut [P::Out],
    pub row_len: usize,
    pub place: &'a P,
}

impl<T: Factor, P: PlaceTile<T>> Vectorised for Tiles<'_, '_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        // As high as `tile_rows` says.
        match I::ISA {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => self.walk::<I, 12>(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => self.walk::<I, 6>(),
            Isa::Base => self.walk::<I, 4>(),
        }
    }
}

impl<T: Factor, P: PlaceTile<T>> Tiles<'_, '_, T, P> {
    /// As many panels at a time as stay in the cache, tile by tile.
    #[inline(always)]
    fn walk<I: Instructions, const ROWS: usize>(self) {
        let width = 2 * T::Vector::<I>::LANES;
        debug_assert!(tile_rows(I::ISA) == ROWS && panel_columns::<T>(I::ISA) == width);
        let Self { left, right, first, out, row_len, place } = self;
        let mut sums = [[T::default(); MOST_COLUMNS]; ROWS];
        let panels = right.columns().div_ceil(width);
        let at_once = (CACHED / (width * left.depth() * size_of::<T>()).max(1)).max(1);
        for group in (0..panels).step_by(at_once) {
            for (i, out) in out.chunks_mut(ROWS / P::ROWS * row_len).enumerate() {
                let row = first + i * ROWS;
                let rows = ROWS.min(left.rows() - row);
                for p in group..panels.min(group + at_once) {
                    let (tile, panel) = (left.tile::<ROWS>(row), right.panel(p, left.depth()));
                    // The smallest compiled height that holds the rows, and half the width if that holds the columns.
                    let is_narrow = 2 * (right.columns() - p * width) <= width;
                    match rows {
                        0..=1 => multiply::<I, T, 1, ROWS, 2>(tile, panel, &mut sums),
                        2 => multiply::<I, T, 2, ROWS, 2>(tile, panel, &mut sums),
                        3..=4 => multiply::<I, T, 4, ROWS, 2>(tile, panel, &mut sums),
                        5..=6 if ROWS >= 6 => multiply::<I, T, 6, ROWS, 2>(tile, panel, &mut sums),
                        7..=8 if ROWS >= 8 => multiply::<I, T, 8, ROWS, 2>(tile, panel, &mut sums),
                        _ if is_narrow => multiply::<I, T, ROWS, ROWS, 1>(tile, panel, &mut sums),
                        _ => multiply::<I, T, ROWS, ROWS, 2>(tile, panel, &mut sums),
                    }
                    place.place(out, row_len, TileAt { row, column: p * width, width }, &sums[..rows]);
                }
            }
        }
    }
}

/// The size of the panels that are used together, in bytes: they stay in the cache.
const CACHED: usize = 1 << 20;

/// The first `SOME` rows of a tile times the first `WIDTH` vectors of a panel.
#[inline(always)]
fn multiply<I: Instructions, T: Factor, const SOME: usize, const ROWS: usize, const WIDTH: usize>(
    tile: Tile<T, ROWS>,
    panel: Panel<T>,
    sums: &mut [[T; MOST_COLUMNS]; ROWS],
) {
    let lanes = T::Vector::<I>::LANES;
    let mut total = [[T::Vector::<I>::splat(T::default()); WIDTH]; SOME];
    match panel {
        Panel::Packed(packed) => {
            let lines = packed.chunks_exact(2 * lanes);
            accumulate::<I, T, SOME, ROWS, WIDTH>(tile, lines, &mut total);
        }
        Panel::Direct { data, starts, shift } => {
            let Some(data) = data.get(shift..) else { return };
            // A panel is read directly only if all of it is within the data.
            let line = |&start: &usize| data.get(start..start + 2 * lanes);
            accumulate::<I, T, SOME, ROWS, WIDTH>(tile, starts.iter().map_while(line), &mut total);
        }
    }
    for (sums, total) in sums.iter_mut().zip(total) {
        for (v, vector) in total.into_iter().enumerate() {
            vector.store(&mut sums[v * lanes..]);
        }
    }
}

/// Adds the products of each column of a tile with a line of a panel.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn accumulate<'a, I: Instructions, T: Factor, const SOME: usize, const ROWS: usize, const WIDTH: usize>(
    tile: Tile<T, ROWS>,
    mut lines: impl Iterator<Item = &'a [T]>,
    total: &mut [[T::Vector<I>; WIDTH]; SOME],
) {
    let lanes = T::Vector::<I>::LANES;
    // A local variable, which stays in registers.
    let mut sums = [[T::Vector::<I>::splat(T::default()); WIDTH]; SOME];
    for run in tile.runs {
        for (column, line) in tile.columns[run.clone()].iter().zip(&mut lines) {
            let (low, high) = line.split_at(lanes);
            let line = [T::Vector::<I>::load(low), T::Vector::<I>::load(high)];
            for r in 0..SOME {
                let factor = T::Vector::<I>::splat(column[r]);
                for v in 0..WIDTH {
                    sums[r][v] = factor.multiply_add(line[v], sums[r][v]);
                }
            }
        }
        if tile.has_partial_sums {
            for r in 0..SOME {
                for v in 0..WIDTH {
                    total[r][v] = total[r][v].plus(sums[r][v]);
                    sums[r][v] = T::Vector::<I>::splat(T::default());
                }
            }
        }
    }
    if !tile.has_partial_sums {
        *total = sums;
    }
}
