//! A tile times a panel, in registers.

use std::ops::Range;

use super::left::{Span, Tile};
use super::output::Output;
use super::{
    Factor, MAX_PANEL_COLUMNS, PackedLhs, PackedRhs, StoreTile, TilePosition, panel_columns, tile_rows,
};
use crate::buffer::Buffer;
use crate::kernels::vectors::{Aligned, Instructions, Isa, Vector, Vectorised, prefetch};

/// Some rows and columns of a product.
pub(super) struct Tiles<'a, 'b, T, P: StoreTile<T>> {
    pub left: &'a PackedLhs<T>,
    pub right: &'a PackedRhs<'b, T>,
    /// The first row, which is the first of a tile.
    pub row: usize,
    pub panels: Range<usize>,
    /// Elements of a whole row of the output.
    pub row_len: usize,
    pub place: &'a P,
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
        // As high as `tile_rows` says.
        match I::ISA {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => tiles.walk::<I, 12>(out),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => tiles.walk::<I, 6>(out),
            Isa::Baseline if T::HAS_BASE => tiles.walk::<I, 4>(out),
            Isa::Baseline => (),
        }
    }
}

impl<T: Factor, P: StoreTile<T>> Tiles<'_, '_, T, P> {
    /// As many panels at a time as stay in the cache, and of these as many terms as a tile in the nearest cache has.
    #[inline(always)]
    fn walk<I: Instructions, const ROWS: usize>(self, mut out: Output<P::Out>) {
        let width = 2 * T::Vector::<I>::LANES;
        debug_assert!(tile_rows(I::ISA) == ROWS && panel_columns::<T>(I::ISA) == width);
        let Self { left, right, row: first_row, panels, row_len, place } = self;
        let spans = left.spans();
        let longest = spans.iter().map(|span| span.terms.len()).max().unwrap_or(0);
        let at_once = (CACHED / (width * longest * size_of::<T>()).max(1)).clamp(1, panels.len());
        let tile_len = ROWS / P::ROWS;
        let tiles = out.rows(row_len).div_ceil(tile_len);
        let mut room = Buffer::scratch(right.room(at_once, longest));
        // Sums that lack terms, of all tiles with the panels of a group.
        let begun = if spans.len() > 1 { tiles * at_once * ROWS * MAX_PANEL_COLUMNS } else { 0 };
        let mut begun = Buffer::scratch(begun);
        let begun = begun.as_chunks_mut().0.as_chunks_mut::<ROWS>().0;
        let mut whole = Aligned([[T::default(); MAX_PANEL_COLUMNS]; ROWS]);
        for group in panels.clone().step_by(at_once) {
            let group = group..panels.end.min(group + at_once);
            for (s, span) in spans.iter().enumerate() {
                let lines = right.panels::<I>(group.clone(), span.terms.clone(), left.depth(), &mut room);
                let is_last = s + 1 == spans.len();
                for i in 0..tiles {
                    let row = first_row + i * ROWS;
                    let rows = ROWS.min(left.rows() - row);
                    let out_rows = rows.div_ceil(P::ROWS);
                    let mut out = out.some::<ROWS>(i * tile_len..i * tile_len + out_rows, row_len);
                    let out = &mut out[..out_rows];
                    let first = panels.start * width;
                    let tile = left.tile::<ROWS>(row, span);
                    for (j, p) in group.clone().enumerate() {
                        let panel = lines.panel(j);
                        // What is packed was not there a moment ago; what is copied was.
                        let is_read_again = right.is_packed() && !(is_last && group.end == panels.end);
                        let ahead = match is_read_again {
                            true if is_last => {
                                let next = lines.step * group.len() - span.terms.start * width;
                                Ahead::new(
                                    panel.as_ptr().wrapping_add(next),
                                    size_of_val(panel),
                                    i..tiles,
                                    span,
                                )
                            }
                            true => {
                                let next = panel.as_ptr().wrapping_add(panel.len());
                                Ahead::new(next, size_of_val(panel), i..tiles, span)
                            }
                            false => {
                                let size = ROWS * size_of::<T>() * span.terms.len();
                                Ahead::new(tile.after(), size, j..group.len(), span)
                            }
                        };
                        let sums = begun.get_mut(i * at_once + j).unwrap_or(&mut whole);
                        let columns = right.columns() - p * width;
                        multiply::<I, T, P, ROWS>(tile, panel, ahead, [rows, columns], sums);
                        if is_last {
                            for (i, (out, sums)) in
                                out.iter_mut().zip(sums[..rows].chunks(P::ROWS)).enumerate()
                            {
                                let at =
                                    TilePosition { row: row + i * P::ROWS, column: p * width, width, first };
                                place.store::<I>(out, at, sums);
                            }
                        }
                    }
                    if is_last {
                        let (column, width) = (group.start * width, group.len() * width);
                        for (i, out) in out.iter_mut().enumerate() {
                            let row = row + i * P::ROWS;
                            place.finish(out, row_len, TilePosition { row, column, width, first });
                        }
                    }
                }
            }
        }
    }
}

/// The sums of a tile and a panel, of which so many rows and columns count.
#[inline(always)]
fn multiply<I: Instructions, T: Factor, P: StoreTile<T>, const ROWS: usize>(
    tile: Tile<T, ROWS>,
    panel: &[T],
    ahead: Ahead,
    [rows, columns]: [usize; 2],
    sums: &mut [[T; MAX_PANEL_COLUMNS]; ROWS],
) {
    macro_rules! sum {
        ($rows:expr, $width:literal, $one_more:literal) => {
            accumulate::<I, T, $rows, ROWS, $width, $one_more>(tile, panel, ahead, sums)
        };
    }
    let lanes = T::Vector::<I>::LANES;
    // Images of 7 x 7 have 49: one more than long vectors hold.
    let has_one_more = columns == lanes + 1 && lanes == 16;
    // The smallest compiled height of whole rows of the output that holds the rows, and half the width if that holds the
    // columns, or all but one.
    match rows {
        _ if !T::HAS_FEW => sum!(ROWS, 2, false),
        0..=1 if P::ROWS == 1 => sum!(1, 2, false),
        2 if P::ROWS == 1 => sum!(2, 2, false),
        0..=4 => sum!(4, 2, false),
        5..=8 if ROWS >= 8 => sum!(8, 2, false),
        _ if columns <= lanes => sum!(ROWS, 1, false),
        _ if has_one_more => sum!(ROWS, 1, true),
        _ => sum!(ROWS, 2, false),
    }
}

/// Sums the products of each column of a tile with a line of a panel, `WIDTH` vectors of it; and with `ONE_MORE` element,
/// for which the rows are the lanes.
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
    ahead: Ahead,
    total: &mut [[T; MAX_PANEL_COLUMNS]; ROWS],
) {
    let lanes = T::Vector::<I>::LANES;
    let zero = T::Vector::<I>::splat(T::default());
    let (mut lines, mut next) = (panel.chunks_exact(2 * lanes), ahead.at);
    if tile.runs.is_empty() {
        total[..SOME].fill([T::default(); MAX_PANEL_COLUMNS]);
    }
    // The last column is followed by nothing that a vector could read.
    let mut last = [T::default(); MAX_PANEL_COLUMNS];
    if let (true, Some(column)) = (ONE_MORE, tile.columns.last()) {
        last[..ROWS].copy_from_slice(column);
    }
    for (i, run) in tile.runs.iter().enumerate() {
        // Sums of several runs are in memory between them: the registers hold one.
        let is_begun = i > 0 || tile.is_begun;
        let mut sums = [[zero; WIDTH]; SOME];
        let mut one_more = zero;
        if is_begun && !tile.has_partial_sums {
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
                if is_begun && tile.has_partial_sums {
                    sums[r][v] = sums[r][v].plus(T::Vector::<I>::load(to));
                }
                sums[r][v].store(to);
            }
        }
        if ONE_MORE {
            if is_begun && tile.has_partial_sums {
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

/// A column of rows.
#[inline(always)]
fn column<T: Factor, const ROWS: usize>(
    rows: &[[T; MAX_PANEL_COLUMNS]; ROWS],
    at: usize,
) -> [T; MAX_PANEL_COLUMNS] {
    let mut column = [T::default(); MAX_PANEL_COLUMNS];
    column.iter_mut().zip(rows).for_each(|(to, row)| *to = row[at]);
    column
}

/// The size of the panels that are used together, in bytes: they stay in the cache.
const CACHED: usize = 1 << 18;

/// Memory that later products read, fetched into the cache little by little: constants often lie beyond all caches.
#[derive(Copy, Clone)]
struct Ahead {
    at: *const u8,
    /// Bytes per term of a sum.
    step: usize,
}

impl Ahead {
    /// The part of number `part.start` of `part.end` of so many bytes, while a span is multiplied.
    #[inline(always)]
    fn new<T>(at: *const T, bytes: usize, part: Range<usize>, span: &Span) -> Self {
        let terms = span.terms.len();
        let step = bytes.div_ceil(part.end.max(1) * terms.max(1));
        Ahead { at: at.cast::<u8>().wrapping_add(part.start * step * terms), step }
    }
}
