//! From the sums of products of bytes to the levels of results.

use std::sync::{Mutex, PoisonError};

use super::after_sums::AfterSums;
use super::borders::Borders;
use super::float_sums::FloatSums;
use super::quantized_filters::IntegerFilters;
use super::scaling::{Scaling, Scalings};
use crate::kernels::fake_quantize::Rule;
use crate::kernels::gemm::{MOST_COLUMNS, PackedRhs, PlaceTile, TileAt, write_row};
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::{Aligned, Instructions, Quad, are_negative};

/// From the sums of dense filters to levels.
pub(super) struct Rescaling {
    scalings: Scalings,
    /// For results in doubt.
    pub floats: FloatSums,
}

impl Rescaling {
    pub fn new(
        filters: IntegerFilters,
        size: [usize; 2],
        input: Rule<f32>,
        borders: Option<Borders>,
        after: &AfterSums,
    ) -> Option<Self> {
        let after = after.channels()?;
        let scalings = Scalings::new(&filters, |_| input, borders.as_ref(), &after)?;
        Some(Self { scalings, floats: FloatSums::new(filters, size, input, after, borders) })
    }

    /// What is added to the sums of a filter in some windows, from `first` on.
    #[inline(always)]
    fn offsets(&self, row: usize, first: usize) -> [f32; MOST_COLUMNS] {
        let mut offsets = [self.scalings.each[row].offset; MOST_COLUMNS];
        if let Some(borders) = &self.floats.borders {
            let count = borders.classes();
            // The last rows of a tile may be those of no filter.
            let of_row = self.scalings.border_offsets.get(row * count..(row + 1) * count).unwrap_or_default();
            for &(window, class) in borders.among(first..first + MOST_COLUMNS) {
                offsets[window - first] = of_row.get(class).copied().unwrap_or_default();
            }
        }
        offsets
    }
}

/// Writes results as levels, four rows of the product in one of the output.
pub(super) struct ToLevels<'a> {
    rescaling: &'a Rescaling,
    /// Columns of the product.
    columns: usize,
    /// The row and the column of each result whose level is in doubt.
    doubts: Mutex<Vec<[usize; 2]>>,
}

impl PlaceTile<Quad> for ToLevels<'_> {
    type Out = Quad;
    const ROWS: usize = CHANNELS;

    #[inline(always)]
    fn place<I: Instructions>(
        &self,
        out: &mut [Quad],
        row_len: usize,
        at: TileAt,
        rows: &[[Quad; MOST_COLUMNS]],
    ) {
        match self.rescaling.scalings.is_plain {
            true => self.tile::<I, true>(out, row_len, at, rows),
            false => self.tile::<I, false>(out, row_len, at, rows),
        }
    }
}

/// The columns of one row.
type Columns<T> = [T; MOST_COLUMNS];

impl<'a> ToLevels<'a> {
    pub fn new(rescaling: &'a Rescaling, columns: usize) -> Self {
        ToLevels { rescaling, columns, doubts: Mutex::default() }
    }

    /// Computes the levels in doubt of floats.
    pub fn resolve(self, right: &PackedRhs<Quad>, out: &mut [Quad]) {
        let doubts = self.doubts.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.rescaling.floats.replace(&doubts, right, out, self.columns);
    }

    /// Writes a tile.
    #[inline(always)]
    fn tile<I: Instructions, const IS_PLAIN: bool>(
        &self,
        out: &mut [Quad],
        row_len: usize,
        at: TileAt,
        rows: &[Columns<Quad>],
    ) {
        for (i, (four, out)) in rows.chunks(CHANNELS).zip(out.chunks_mut(row_len)).enumerate() {
            let row = at.row + i * CHANNELS;
            let mut quads = Aligned([0; MOST_COLUMNS]);
            let mut doubts = Aligned([[0.0; MOST_COLUMNS]; CHANNELS]);
            let mut all = [u32::MAX; MOST_COLUMNS];
            for k in 0..CHANNELS {
                let sums = four.get(k).unwrap_or(&[Quad(0); MOST_COLUMNS]);
                let levels = self.levels::<IS_PLAIN>(row + k, at.column, sums, &mut doubts[k]);
                for i in 0..MOST_COLUMNS {
                    quads[i] |= if k == 0 { levels[i] & 0xff } else { levels[i] << (8 * k) };
                    all[i] &= doubts[k][i].to_bits();
                }
            }
            write_row(out, at.column, &quads.map(Quad)[..at.width]);
            if !are_negative::<I>(&all.map(f32::from_bits)) {
                self.note(row, at.column, &doubts);
            }
        }
    }

    /// The levels of a row of the product, each in the lowest byte. Numbers in `doubts` are negative where there is none.
    #[inline(always)]
    fn levels<const IS_PLAIN: bool>(
        &self,
        row: usize,
        column: usize,
        sums: &Columns<Quad>,
        doubts: &mut Columns<f32>,
    ) -> Columns<u32> {
        let scaling = self.rescaling.scalings.each[row];
        let offsets = match IS_PLAIN {
            true => [scaling.offset; MOST_COLUMNS],
            false => self.rescaling.offsets(row, column),
        };
        let mut levels = [0; MOST_COLUMNS];
        for i in 0..MOST_COLUMNS {
            let scaling = Scaling { offset: offsets[i], ..scaling };
            (levels[i], doubts[i]) = scaling.level::<IS_PLAIN>(sums[i]);
        }
        levels
    }

    /// Notes the results in doubt of four rows.
    #[inline(never)]
    fn note(&self, row: usize, column: usize, doubts: &[Columns<f32>; CHANNELS]) {
        let mut noted = self.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, doubts) in (row..).zip(doubts) {
            if doubts.iter().fold(u32::MAX, |all, doubt| all & doubt.to_bits()) >> 31 == 0 {
                let in_doubt =
                    (column..self.columns).zip(doubts).filter(|(_, doubt)| doubt.is_sign_positive());
                noted.extend(in_doubt.map(|(column, _)| [row, column]));
            }
        }
    }
}
