//! A tile times a panel, in registers.

use std::ops::Range;

use super::left::Tile;
use super::right::Panel;
use super::{Factor, MOST_COLUMNS, PackedLhs, PackedRhs, PlaceTile, TileAt, panel_columns, tile_rows};
use crate::kernels::vectors::{Instructions, Isa, Vector, Vectorised, prefetch};

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
            let group = group..panels.min(group + at_once);
            let tiles = out.len().div_ceil(ROWS / P::ROWS * row_len);
            for (i, out) in out.chunks_mut(ROWS / P::ROWS * row_len).enumerate() {
                let row = first + i * ROWS;
                let rows = ROWS.min(left.rows() - row);
                let tile = left.tile::<ROWS>(row);
                for p in group.clone() {
                    let panel = right.panel(p, left.depth());
                    let ahead = match panel {
                        Panel::Packed(lines) if group.end < panels => {
                            Ahead::part(lines, group.len(), i..tiles, left.depth())
                        }
                        _ => Ahead::part(tile.columns, 1, p - group.start..group.len(), left.depth()),
                    };
                    // The smallest compiled height that holds the rows, and half the width if that holds the columns.
                    let is_narrow = 2 * (right.columns() - p * width) <= width;
                    match rows {
                        0..=1 => multiply::<I, T, 1, ROWS, 2>(tile, panel, ahead, &mut sums),
                        2 => multiply::<I, T, 2, ROWS, 2>(tile, panel, ahead, &mut sums),
                        3..=4 => multiply::<I, T, 4, ROWS, 2>(tile, panel, ahead, &mut sums),
                        5..=8 if ROWS >= 8 => multiply::<I, T, 8, ROWS, 2>(tile, panel, ahead, &mut sums),
                        _ if is_narrow => multiply::<I, T, ROWS, ROWS, 1>(tile, panel, ahead, &mut sums),
                        _ => multiply::<I, T, ROWS, ROWS, 2>(tile, panel, ahead, &mut sums),
                    }
                    place.place(out, row_len, TileAt { row, column: p * width, width }, &sums[..rows]);
                }
            }
        }
    }
}

/// The size of the panels that are used together, in bytes: they stay in the cache.
const CACHED: usize = 1 << 18;

/// The first `SOME` rows of a tile times the first `WIDTH` vectors of a panel.
#[inline(always)]
fn multiply<I: Instructions, T: Factor, const SOME: usize, const ROWS: usize, const WIDTH: usize>(
    tile: Tile<T, ROWS>,
    panel: Panel<T>,
    ahead: Ahead,
    sums: &mut [[T; MOST_COLUMNS]; ROWS],
) {
    let width = 2 * T::Vector::<I>::LANES;
    match panel {
        Panel::Packed(packed) => {
            accumulate::<I, T, SOME, ROWS, WIDTH>(tile, packed.chunks_exact(width), ahead, sums);
        }
        Panel::Direct { data, starts, shift } => {
            let Some(data) = data.get(shift..) else { return };
            // A panel is read directly only if all of it is within the data.
            let line = |&start: &usize| data.get(start..start + width);
            accumulate::<I, T, SOME, ROWS, WIDTH>(tile, starts.iter().map_while(line), ahead, sums);
        }
    }
}

/// Sums the products of each column of a tile with a line of a panel.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn accumulate<'a, I: Instructions, T: Factor, const SOME: usize, const ROWS: usize, const WIDTH: usize>(
    tile: Tile<T, ROWS>,
    mut lines: impl Iterator<Item = &'a [T]>,
    ahead: Ahead,
    total: &mut [[T; MOST_COLUMNS]; ROWS],
) {
    let lanes = T::Vector::<I>::LANES;
    let zero = T::Vector::<I>::splat(T::default());
    let mut next = ahead.at;
    if tile.runs.is_empty() {
        total[..SOME].fill([T::default(); MOST_COLUMNS]);
    }
    for (i, run) in tile.runs.iter().enumerate() {
        // Sums of several runs are in memory between them: the registers hold one.
        let mut sums = [[zero; WIDTH]; SOME];
        if i > 0 && !tile.has_partial_sums {
            for r in 0..SOME {
                for v in 0..WIDTH {
                    sums[r][v] = T::Vector::<I>::load(&total[r][v * lanes..]);
                }
            }
        }
        for (column, line) in tile.columns[run.clone()].iter().zip(&mut lines) {
            let (low, high) = line.split_at(lanes);
            let line = [T::Vector::<I>::load(low), T::Vector::<I>::load(high)];
            for r in 0..SOME {
                let factor = T::Vector::<I>::splat(column[r]);
                for v in 0..WIDTH {
                    sums[r][v] = factor.multiply_add(line[v], sums[r][v]);
                }
            }
            prefetch(next);
            next = next.wrapping_add(ahead.step);
        }
        for r in 0..SOME {
            for v in 0..WIDTH {
                let to = &mut total[r][v * lanes..];
                if i > 0 && tile.has_partial_sums {
                    sums[r][v] = sums[r][v].plus(T::Vector::<I>::load(to));
                }
                sums[r][v].store(to);
            }
        }
    }
}

/// Memory that later products read, fetched into the cache little by little: constants often lie beyond all caches.
#[derive(Copy, Clone)]
struct Ahead {
    at: *const u8,
    /// Bytes per term of a sum.
    step: usize,
}

impl Ahead {
    /// A part of what lies `distance` times the size of `now` behind it: the one of number `part.start` of `part.end`
    /// parts. `now` is used for `depth` terms.
    #[inline(always)]
    fn part<T>(now: &[T], distance: usize, part: Range<usize>, depth: usize) -> Self {
        let step = size_of_val(now).div_ceil(part.end.max(1) * depth.max(1));
        let at = now.as_ptr().wrapping_add(distance * now.len()).cast::<u8>();
        Ahead { at: at.wrapping_add(part.start * step * depth), step }
    }
}
