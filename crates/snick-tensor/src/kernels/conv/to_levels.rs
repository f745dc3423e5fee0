//! From the sums of products of bytes to the levels of results.

use std::sync::{Mutex, PoisonError};

use super::after_sums::AfterSums;
use super::borders::Borders;
use super::float_sums::FloatSums;
use super::quantized_filters::IntegerFilters;
use super::scaling::{Scalings, VectorScaling, is_in_doubt};
use crate::kernels::fake_quantize::Rule;
use crate::kernels::gemm::{MAX_PANEL_COLUMNS, PackedRhs, StoreTile, TilePosition, write_row};
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::vectors::{Aligned, I8x4Dot, Instructions, Vector};

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

    /// The windows of a panel that reach beside the image, and their classes.
    #[inline(always)]
    fn beside(&self, first: usize) -> &[(usize, usize)] {
        let borders = self.floats.borders.as_ref();
        borders.map(|borders| borders.among(first..first + MAX_PANEL_COLUMNS)).unwrap_or_default()
    }

    /// What is added to the sums of a filter in the windows of a panel.
    #[inline(always)]
    fn offsets(&self, row: usize, first: usize) -> Columns<f32> {
        let mut offsets = [self.scalings.each[row].offset; MAX_PANEL_COLUMNS];
        let count = self.floats.borders.as_ref().map_or(0, Borders::classes);
        // The last rows of a tile may be those of no filter.
        let of_row = self.scalings.border_offsets.get(row * count..(row + 1) * count).unwrap_or_default();
        for &(window, class) in self.beside(first) {
            offsets[window - first] = of_row.get(class).copied().unwrap_or_default();
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

impl StoreTile<I8x4Dot> for ToLevels<'_> {
    type Out = I8x4Dot;
    const ROWS: usize = CHANNELS;

    #[inline(always)]
    fn store<I: Instructions>(&self, out: &mut [I8x4Dot], at: TilePosition, rows: &[Columns<I8x4Dot>]) {
        match self.rescaling.scalings.is_plain && self.rescaling.beside(at.column).is_empty() {
            true => self.four::<I, true>(out, at, rows),
            false => self.four::<I, false>(out, at, rows),
        }
    }
}

/// Lanes of a vector, and the vectors of a row.
const LANES: usize = 16;
const VECTORS: usize = MAX_PANEL_COLUMNS / LANES;

/// The columns of one row.
type Columns<T> = [T; MAX_PANEL_COLUMNS];

impl<'a> ToLevels<'a> {
    pub fn new(rescaling: &'a Rescaling, columns: usize) -> Self {
        ToLevels { rescaling, columns, doubts: Mutex::default() }
    }

    /// Computes the levels in doubt of floats.
    pub fn resolve(self, right: &PackedRhs<I8x4Dot>, out: &mut [I8x4Dot]) {
        let doubts = self.doubts.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.rescaling.floats.replace(&doubts, right, out, self.columns);
    }

    /// Writes four rows, of which the last ones may be missing.
    #[inline(always)]
    fn four<I: Instructions, const IS_PLAIN: bool>(
        &self,
        out: &mut [I8x4Dot],
        at: TilePosition,
        rows: &[Columns<I8x4Dot>],
    ) {
        // No machine runs it.
        if I::I8x4Dots::LANES != LANES {
            return;
        }
        let mut levels = [[I::I8x4Dots::splat(I8x4Dot(0)); CHANNELS]; VECTORS];
        let mut doubts = [[I::F32::splat(0.0); CHANNELS]; VECTORS];
        let mut greatest = I::F32::splat(f32::MIN);
        for k in 0..CHANNELS {
            let sums = rows.get(k).unwrap_or(&[I8x4Dot(0); MAX_PANEL_COLUMNS]);
            let scaling = &self.rescaling.scalings.each[at.row + k];
            let offsets = match IS_PLAIN {
                true => [scaling.offset; MAX_PANEL_COLUMNS],
                false => self.rescaling.offsets(at.row + k, at.column),
            };
            let scaling = VectorScaling::splat(scaling);
            for v in 0..VECTORS {
                let offset = I::F32::load(&offsets[v * LANES..]);
                let scaling = VectorScaling { offset, ..scaling };
                let sums = I::I8x4Dots::load(&sums[v * LANES..]);
                (levels[v][k], doubts[v][k]) = scaling.levels::<I, IS_PLAIN>(sums);
                [_, greatest] = I::min_max(greatest, doubts[v][k]);
            }
        }
        let mut quads = Aligned([I8x4Dot(0); MAX_PANEL_COLUMNS]);
        for v in 0..VECTORS {
            I::transpose_bytes(I::saturate_to_u8(levels[v])).store(&mut quads[v * LANES..]);
        }
        write_row(out, at.column - at.first, &quads[..at.width]);
        if !I::all_negative(greatest) {
            let mut noted = Aligned([([I8x4Dot(0); MAX_PANEL_COLUMNS], [0.0; MAX_PANEL_COLUMNS]); CHANNELS]);
            for k in 0..CHANNELS {
                for v in 0..VECTORS {
                    levels[v][k].store(&mut noted[k].0[v * LANES..]);
                    doubts[v][k].store(&mut noted[k].1[v * LANES..]);
                }
            }
            self.note(at.row, at.column, &noted);
        }
    }

    /// Notes the results in doubt of four rows, given their levels and what says which are in doubt.
    #[inline(never)]
    fn note(&self, row: usize, column: usize, rows: &[(Columns<I8x4Dot>, Columns<f32>); CHANNELS]) {
        let mut noted = self.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, (levels, doubts)) in (row..).zip(rows) {
            if doubts.iter().fold(u32::MAX, |all, doubt| all & doubt.to_bits()) >> 31 == 0 {
                let results = (column..self.columns).zip(levels.iter().zip(doubts));
                let in_doubt = results.filter(|&(_, (&level, &doubt))| is_in_doubt(level, doubt));
                noted.extend(in_doubt.map(|(column, _)| [row, column]));
            }
        }
    }
}
