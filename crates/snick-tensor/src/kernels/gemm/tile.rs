//! A tile times a panel, in registers.

use std::slice::Chunks;

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
                    // The smallest compiled height that holds the rows.
                    match rows {
                        0..=1 => multiply::<I, T, 1, ROWS>(tile, panel, &mut sums),
                        2 => multiply::<I, T, 2, ROWS>(tile, panel, &mut sums),
                        3..=4 => multiply::<I, T, 4, ROWS>(tile, panel, &mut sums),
                        5..=6 if ROWS >= 6 => multiply::<I, T, 6, ROWS>(tile, panel, &mut sums),
                        7..=8 if ROWS >= 8 => multiply::<I, T, 8, ROWS>(tile, panel, &mut sums),
                        _ => multiply::<I, T, ROWS, ROWS>(tile, panel, &mut sums),
                    }
                    place.place(out, row_len, TileAt { row, column: p * width, width }, &sums[..rows]);
                }
            }
        }
    }
}

/// The size of the panels that are used together, in bytes: they stay in the cache.
const CACHED: usize = 1 << 20;

/// The first `SOME` rows of a tile times a panel.
#[inline(always)]
fn multiply<I: Instructions, T: Factor, const SOME: usize, const ROWS: usize>(
    tile: Chunks<[T; ROWS]>,
    panel: Panel<T>,
    sums: &mut [[T; MOST_COLUMNS]; ROWS],
) {
    let lanes = T::Vector::<I>::LANES;
    let mut total = [[T::Vector::<I>::splat(T::default()); 2]; SOME];
    match panel {
        Panel::Packed(packed) => {
            let lines = packed.chunks_exact(2 * lanes);
            accumulate::<I, T, SOME, ROWS>(tile, lines, &mut total);
        }
        Panel::Direct { data, starts, shift } => {
            let Some(data) = data.get(shift..) else { return };
            // A panel is read directly only if all of it is within the data.
            let line = |&start: &usize| data.get(start..start + 2 * lanes);
            accumulate::<I, T, SOME, ROWS>(tile, starts.iter().map_while(line), &mut total);
        }
    }
    for (sums, [low, high]) in sums.iter_mut().zip(total) {
        low.store(sums);
        high.store(&mut sums[lanes..]);
    }
}

/// Adds the products of each column of a tile with a line of a panel.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn accumulate<'a, I: Instructions, T: Factor, const SOME: usize, const ROWS: usize>(
    tile: Chunks<[T; ROWS]>,
    mut lines: impl Iterator<Item = &'a [T]>,
    total: &mut [[T::Vector<I>; 2]; SOME],
) {
    let lanes = T::Vector::<I>::LANES;
    for tile in tile {
        // A local variable, which stays in registers.
        let mut sums = [[T::Vector::<I>::splat(T::default()); 2]; SOME];
        for (column, line) in tile.iter().zip(&mut lines) {
            let (low, high) = line.split_at(lanes);
            let line = [T::Vector::<I>::load(low), T::Vector::<I>::load(high)];
            for r in 0..SOME {
                let factor = T::Vector::<I>::splat(column[r]);
                for v in 0..2 {
                    sums[r][v] = factor.multiply_add(line[v], sums[r][v]);
                }
            }
        }
        for r in 0..SOME {
            for v in 0..2 {
                total[r][v] = total[r][v].plus(sums[r][v]);
            }
        }
    }
}
