//! The loops of a tiled product, and its micro-kernel: a tile times a panel with all sums in registers.

use std::ops::Range;

use super::left::{DepthBlock, Tile};
use super::output::Output;
use super::{
    Factor, MAX_PANEL_COLUMNS, PackedLhs, PackedRhs, StoreTile, TilePosition, panel_columns, tile_rows,
};
use crate::buffer::Buffer;
use crate::kernels::vectors::{Aligned, Instructions, Isa, Vector, Vectorised, prefetch};

/// A block of rows and columns of a product.
pub(super) struct Tiles<'a, 'b, T, P: StoreTile<T>> {
    pub left: &'a PackedLhs<T>,
    pub right: &'a PackedRhs<'b, T>,
    /// The first row, a multiple of the rows of a tile.
    pub row: usize,
    pub panels: Range<usize>,
    /// Elements in a row of the output.
    pub row_len: usize,
    pub store: &'a P,
}

impl<T, P: StoreTile<T>> Clone for Tiles<'_, '_, T, P> {
    fn clone(&self) -> Self {
        Tiles { panels: self.panels.clone(), ..*self }
    }
}

impl<T: Factor, P: StoreTile<T>> Vectorised for (Tiles<'_, '_, T, P>, Output<'_, P::Out>) {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let (tiles, out) = self;
        // The tile heights of `tile_rows`.
        match I::ISA {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => tiles.walk::<I, 12>(out),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => tiles.walk::<I, 6>(out),
            Isa::Baseline if T::HAS_BASELINE => tiles.walk::<I, 4>(out),
            Isa::Baseline => (),
        }
    }
}

impl<T: Factor, P: StoreTile<T>> Tiles<'_, '_, T, P> {
    /// Loops 1 to 4 of [`gemm`](super): groups of panels, blocks of the depth, tiles, panels.
    #[inline(always)]
    fn walk<I: Instructions, const ROWS: usize>(self, mut out: Output<P::Out>) {
        let width = 2 * T::Vector::<I>::LANES;
        debug_assert!(tile_rows(I::ISA) == ROWS && panel_columns::<T>(I::ISA) == width);
        let Self { left, right, row: first_row, panels, row_len, store } = self;
        let (blocks, first) = (left.depth_blocks(), panels.start * width);
        let longest = blocks.iter().map(|block| block.terms.len()).max().unwrap_or(0);
        let at_once = (GROUP_BYTES / (width * longest * size_of::<T>()).max(1)).clamp(1, panels.len());
        let tile_len = ROWS / P::ROWS;
        let tiles = out.rows(row_len).div_ceil(tile_len);
        let mut scratch = Buffer::scratch(right.scratch_len(at_once, longest));
        // The partial sums of all tiles and all panels of a group.
        let partial = if blocks.len() > 1 { tiles * at_once * ROWS * MAX_PANEL_COLUMNS } else { 0 };
        let mut partial = Buffer::scratch(partial);
        let partial = partial.as_chunks_mut().0.as_chunks_mut::<ROWS>().0;
        let mut complete = Aligned([[T::default(); MAX_PANEL_COLUMNS]; ROWS]);
        for group in panels.clone().step_by(at_once) {
            let group = group..panels.end.min(group + at_once);
            for (b, block) in blocks.iter().enumerate() {
                let group_panels =
                    right.panels::<I>(group.clone(), block.terms.clone(), left.depth(), &mut scratch);
                let is_last = b + 1 == blocks.len();
                // Panels in scratch memory are still in the cache. Packed panels were not read recently and
                // come from memory.
                let has_next_panels = right.is_packed() && !(is_last && group.end == panels.end);
                let to_next_panel = || match is_last {
                    true => group_panels.step * group.len() - block.terms.start * width,
                    false => block.terms.len() * width,
                };
                for i in 0..tiles {
                    let row = first_row + i * ROWS;
                    let rows = ROWS.min(left.rows() - row);
                    let out_rows = rows.div_ceil(P::ROWS);
                    let mut out = out.rows_mut::<ROWS>(i * tile_len..i * tile_len + out_rows, row_len);
                    let out = &mut out[..out_rows];
                    let position =
                        |i, column, width| TilePosition { row: row + i * P::ROWS, column, width, first };
                    let tile = left.tile::<ROWS>(row, block);
                    for (j, p) in group.clone().enumerate() {
                        let panel = group_panels.panel(j);
                        let ahead = if has_next_panels {
                            let next = panel.as_ptr().wrapping_add(to_next_panel());
                            Prefetch::new(next, size_of_val(panel), i..tiles, block)
                        } else {
                            let size = ROWS * size_of::<T>() * block.terms.len();
                            Prefetch::new(tile.next_tile(), size, j..group.len(), block)
                        };
                        let sums = partial.get_mut(i * at_once + j).unwrap_or(&mut complete);
                        let columns = right.columns() - p * width;
                        multiply::<I, T, P, ROWS>(tile, panel, ahead, [rows, columns], sums);
                        if is_last {
                            for (i, (out, sums)) in
                                out.iter_mut().zip(sums[..rows].chunks(P::ROWS)).enumerate()
                            {
                                store.store::<I>(out, position(i, p * width, width), sums);
                            }
                        }
                    }
                    if let Some(epilogue) = store.epilogue().filter(|_| is_last) {
                        for (i, out) in out.iter_mut().enumerate() {
                            let at = position(i, group.start * width, group.len() * width);
                            epilogue.apply_to_columns(out, row_len, at);
                        }
                    }
                }
            }
        }
    }
}

/// Multiplies a tile and a panel, with the smallest compiled kernel that covers the first `rows` rows and
/// `columns` columns.
#[inline(always)]
fn multiply<I: Instructions, T: Factor, P: StoreTile<T>, const ROWS: usize>(
    tile: Tile<T, ROWS>,
    panel: &[T],
    ahead: Prefetch,
    [rows, columns]: [usize; 2],
    sums: &mut [[T; MAX_PANEL_COLUMNS]; ROWS],
) {
    macro_rules! sum {
        ($rows:expr, $width:literal, $one_more:literal) => {
            accumulate::<I, T, $rows, ROWS, $width, $one_more>(tile, panel, ahead, sums)
        };
    }
    let lanes = T::Vector::<I>::LANES;
    // A 7x7 image has 49 windows: one more than one and a half panels of AVX-512.
    let has_one_more = columns == lanes + 1 && lanes == 16;
    match rows {
        _ if !T::HAS_NARROW_KERNELS => sum!(ROWS, 2, false),
        0..=1 if P::ROWS == 1 => sum!(1, 2, false),
        2 if P::ROWS == 1 => sum!(2, 2, false),
        0..=4 => sum!(4, 2, false),
        5..=8 if ROWS >= 8 => sum!(8, 2, false),
        _ if columns <= lanes => sum!(ROWS, 1, false),
        _ if has_one_more => sum!(ROWS, 1, true),
        _ => sum!(ROWS, 2, false),
    }
}

/// The micro-kernel: adds the outer products of tile columns and panel rows, for the first `SOME` rows and
/// `WIDTH` vectors of columns. `ONE_MORE` also computes the column after the first vector, with one lane per
/// row.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn accumulate<
    I: Instructions,
    T: Factor,
    const SOME: usize,
    const ROWS: usize,
    const WIDTH: usize,
    const ONE_MORE: bool,
>(
    tile: Tile<T, ROWS>,
    panel: &[T],
    ahead: Prefetch,
    total: &mut [[T; MAX_PANEL_COLUMNS]; ROWS],
) {
    let lanes = T::Vector::<I>::LANES;
    let zero = T::Vector::<I>::splat(T::default());
    let (mut lines, mut next) = (panel.chunks_exact(2 * lanes), ahead.at);
    if tile.runs.is_empty() {
        total[..SOME].fill([T::default(); MAX_PANEL_COLUMNS]);
    }
    // Loading a vector at the last column would read beyond the tile.
    let mut last = [T::default(); MAX_PANEL_COLUMNS];
    if let (true, Some(column)) = (ONE_MORE, tile.columns.last()) {
        last[..ROWS].copy_from_slice(column);
    }
    for (i, run) in tile.runs.iter().enumerate() {
        // Registers hold the sums of the current run; between runs, sums are in memory.
        let continues = i > 0 || tile.continues;
        let mut sums = [[zero; WIDTH]; SOME];
        let mut one_more = zero;
        if continues && !tile.has_partial_sums {
            for r in 0..SOME {
                for v in 0..WIDTH {
                    sums[r][v] = T::Vector::<I>::load(&total[r][v * lanes..]);
                }
            }
            if ONE_MORE {
                one_more = T::Vector::<I>::load(&column(total, lanes));
            }
        }
        for (k, line) in run.clone().zip(&mut lines) {
            let column = &tile.columns[k];
            let (low, high) = line.split_at(lanes);
            let line = [T::Vector::<I>::load(low), T::Vector::<I>::load(high)];
            for r in 0..SOME {
                let factor = T::Vector::<I>::splat(column[r]);
                for v in 0..WIDTH {
                    sums[r][v] = factor.multiply_add(line[v], sums[r][v]);
                }
            }
            if ONE_MORE {
                let column = tile.columns[k..].as_flattened().get(..lanes).unwrap_or(&last);
                one_more =
                    T::Vector::<I>::load(column).multiply_add(T::Vector::<I>::splat(high[0]), one_more);
            }
            prefetch(next);
            next = next.wrapping_add(ahead.step);
        }
        for r in 0..SOME {
            for v in 0..WIDTH {
                let to = &mut total[r][v * lanes..];
                if continues && tile.has_partial_sums {
                    sums[r][v] = sums[r][v].plus(T::Vector::<I>::load(to));
                }
                sums[r][v].store(to);
            }
        }
        if ONE_MORE {
            if continues && tile.has_partial_sums {
                one_more = one_more.plus(T::Vector::<I>::load(&column(total, lanes)));
            }
            let mut each = [T::default(); MAX_PANEL_COLUMNS];
            one_more.store(&mut each);
            for r in 0..SOME {
                total[r][lanes] = each[r];
            }
        }
    }
}

/// One column of the sums.
#[inline(always)]
fn column<T: Factor, const ROWS: usize>(
    rows: &[[T; MAX_PANEL_COLUMNS]; ROWS],
    at: usize,
) -> [T; MAX_PANEL_COLUMNS] {
    let mut column = [T::default(); MAX_PANEL_COLUMNS];
    column.iter_mut().zip(rows).for_each(|(to, row)| *to = row[at]);
    column
}

/// The size of a depth block of a group of panels, in bytes. Every tile reads it, so it should stay in the L2
/// cache.
const GROUP_BYTES: usize = 1 << 18;

/// Prefetches an operand of a later product, a few bytes per term of the current one: constants are often
/// outside all caches.
#[derive(Copy, Clone)]
struct Prefetch {
    at: *const u8,
    /// Bytes per term of a sum.
    step: usize,
}

impl Prefetch {
    /// Splits `bytes` into `part.end` equal parts. Prefetches part number `part.start`, spread evenly over
    /// the terms of a block.
    #[inline(always)]
    fn new<T>(at: *const T, bytes: usize, part: Range<usize>, block: &DepthBlock) -> Self {
        let terms = block.terms.len();
        let step = bytes.div_ceil(part.end.max(1) * terms.max(1));
        Prefetch { at: at.cast::<u8>().wrapping_add(part.start * step * terms), step }
    }
}
