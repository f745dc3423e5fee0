//! Convolution of quantised codes by implicit GEMM with int8 dot products (VNNI), as in oneDNN.
//!
//! **Loop nest**, outer to inner: image; the loops of [`gemm`](crate::kernels::gemm): panel of windows, tile
//! of filters, term. Once the sums of a tile are complete, they are requantised and written as one row of
//! codes for four filters, or scaled and written as one row of values for each filter.
//!
//! **Layout.** Images are `[channel / 4, height, width]`; an element holds the codes of four channels. They
//! are split into [`phase_planes`](super::phase_planes), padded with the code nearest to 0. Filters are
//! `[output, channel / 4, tap]`, packed as the left operand of a product.
//!
//! **Threads.** All threads share each product. Ambiguous results are collected and recomputed in floats at
//! the end.

use std::sync::{Mutex, PoisonError};

use super::ConvShape;
use super::float_fallback::FloatFallback;
use super::image_view::ImageView;
use super::padding_correction::PaddingCorrection;
use super::phase_planes::{PhasePlanes, PlaneLayout};
use super::quantized_epilogue::{ChannelEpilogue, QuantizedEpilogue};
use super::quantized_filters::{IntegerFilters, by_tap, packed_by_tap};
use super::requantization::{
    Columns, GATED, GENERAL, LINEAR, RequantizationForm, Requantizations, set_bits, values_of,
};
use crate::TensorError;
use crate::kernels::gemm::{
    Epilogue, MAX_PANEL_COLUMNS, PackedLhs, PackedRhs, StoreTile, TilePosition, product, write_row,
};
use crate::kernels::quantizer::{CHANNELS, Quantizer};
use crate::kernels::vectors::{Aligned, I8x4Dot, Instructions, Vector};

/// Filters over all channels.
pub(super) struct QuantizedDense {
    filters: PackedLhs<I8x4Dot>,
    requantizations: Requantizations,
    /// Set if the padding code does not represent 0.
    correction: Option<PaddingCorrection>,
    /// Set if the results are codes.
    fallback: Option<FloatFallback>,
    layout: PlaneLayout,
    /// The code nearest to 0, four times.
    padding: I8x4Dot,
    /// Groups of four channels, rows and columns of the image.
    input: [usize; 3],
}

impl QuantizedDense {
    /// One kernel for each group of filters. Without an epilogue, the results are values. `None` if channels
    /// have different ranges, if values would not be [precise](IntegerFilters::are_precise), or if
    /// [`PaddingCorrection::new`], [`Requantizations::new`] or [`QuantizedEpilogue::channels`] is `None`.
    pub fn by_group(
        shape: &ConvShape,
        integers: &IntegerFilters,
        input: &Quantizer,
        epilogue: Option<&QuantizedEpilogue>,
    ) -> Option<Box<[Self]>> {
        let epilogues = match epilogue {
            Some(epilogue) => epilogue.channels()?,
            None if integers.are_precise() => vec![ChannelEpilogue::NONE; integers.rules.len()],
            None => return None,
        };
        let groups = integers.groups(shape.outputs).zip(epilogues.chunks(shape.outputs));
        groups.map(|(integers, of)| Self::new(shape, integers, input, of, epilogue.is_some())).collect()
    }

    /// The kernel of one group of filters.
    fn new(
        shape: &ConvShape,
        integers: IntegerFilters,
        input: &Quantizer,
        epilogues: &[ChannelEpilogue],
        returns_codes: bool,
    ) -> Option<Self> {
        let (grid, taps) = (shape.grid, shape.grid.taps());
        let (rule, padding) = (input.uniform()?, *input.nearest_to_zero().first()?);
        let groups = shape.depth.div_ceil(CHANNELS);
        let value = rule.value((padding.0 & 0xff) as f32);
        let correction = match grid.is_padded() && value != 0.0 {
            true => Some(PaddingCorrection::new(grid, value)?),
            false => None,
        };
        let by_tap = by_tap(&integers.codes, shape.filter_len(), taps);
        let filters = packed_by_tap(&by_tap, shape.outputs, groups, taps);
        let requantizations =
            Requantizations::new(&integers, |_| (rule, 0.0), correction.as_ref(), epilogues)?;
        let fallback = returns_codes.then(|| FloatFallback {
            filters: integers,
            by_tap,
            depth: shape.depth,
            taps,
            input: rule,
            epilogues: epilogues.to_vec(),
        });
        let [_, height, width] = grid.axes.map(|axis| axis.size);
        let (layout, input) = (PlaneLayout::new(&grid), [groups, height, width]);
        Some(Self { filters, requantizations, correction, fallback, layout, padding, input })
    }

    /// Convolves one image to codes.
    pub fn codes(&self, data: &[I8x4Dot], out: &mut [I8x4Dot]) -> Result<(), TensorError> {
        self.with_windows(data, |right| {
            let columns = right.columns();
            let requantize = RequantizeTile { of: self, columns, ambiguous: Mutex::default() };
            product(&self.filters, right, out, columns, &requantize);
            let ambiguous = requantize.ambiguous.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Some(fallback) = &self.fallback {
                fallback.replace(&ambiguous, right, self.correction.as_ref(), out);
            }
        })
    }

    /// Convolves one image to values.
    pub fn values(
        &self,
        data: &[I8x4Dot],
        out: &mut [f32],
        epilogue: Option<Epilogue<f32>>,
    ) -> Result<(), TensorError> {
        self.with_windows(data, |right| {
            product(&self.filters, right, out, right.columns(), &ScaleTile { of: self, epilogue });
        })
    }

    /// Calls `multiply` with the windows of an image, one per column.
    fn with_windows(
        &self,
        data: &[I8x4Dot],
        multiply: impl FnOnce(&PackedRhs<I8x4Dot>),
    ) -> Result<(), TensorError> {
        let [channels, height, width] = self.input;
        let (channel_stride, strides) = ((height * width) as isize, [0, width as isize, 1]);
        let image = ImageView { data, start: 0, image_stride: 0, channels, channel_stride, strides };
        let planes = PhasePlanes::new(&self.layout, image, self.padding)?;
        let starts = planes.tap_starts(0..channels);
        multiply(&PackedRhs::of_lines(self.filters.isa(), planes.data(), starts, self.layout.windows()));
        Ok(())
    }

    /// The windows of a panel that overlap the padding, and their classes.
    #[inline(always)]
    fn padded_windows(&self, first: usize) -> &[(usize, usize)] {
        let padding = self.correction.as_ref();
        padding.map(|padding| padding.among(first..first + MAX_PANEL_COLUMNS)).unwrap_or_default()
    }

    /// A filter's offsets in the windows of a panel.
    #[inline(always)]
    fn offsets(&self, filter: usize, first: usize) -> Columns<f32> {
        let mut offsets = [self.requantizations.filters[filter].offset; MAX_PANEL_COLUMNS];
        let count = self.correction.as_ref().map_or(0, PaddingCorrection::classes);
        // The last rows of a tile may have no filter.
        let of_filter = filter * count..(filter + 1) * count;
        let by_class = self.requantizations.padding_offsets.get(of_filter).unwrap_or_default();
        for &(window, class) in self.padded_windows(first) {
            offsets[window - first] = by_class.get(class).copied().unwrap_or_default();
        }
        offsets
    }
}

/// Writes the sums of a filter as a row of values.
struct ScaleTile<'a> {
    of: &'a QuantizedDense,
    epilogue: Option<Epilogue<'a, f32>>,
}

impl StoreTile<I8x4Dot> for ScaleTile<'_> {
    type Out = f32;
    const ROWS: usize = 1;

    #[inline(always)]
    fn store<I: Instructions>(&self, out: &mut [f32], at: TilePosition, rows: &[Columns<I8x4Dot>]) {
        let factors = [self.of.requantizations.filters[at.row].factor; MAX_PANEL_COLUMNS];
        let offsets = self.of.offsets(at.row, at.column);
        let values = values_of::<I>(&rows[0], [&factors, &offsets]);
        write_row(out, at.column - at.first, &values[..at.width]);
    }

    fn epilogue(&self) -> Option<Epilogue<'_, f32>> {
        self.epilogue
    }
}

/// Lanes of a vector, and vectors per panel row.
const LANES: usize = 16;
const VECTORS: usize = MAX_PANEL_COLUMNS / LANES;

/// Writes the sums of four filters as one row of codes.
struct RequantizeTile<'a> {
    of: &'a QuantizedDense,
    /// Columns of the product.
    columns: usize,
    /// Filter and window of each ambiguous result.
    ambiguous: Mutex<Vec<[usize; 2]>>,
}

impl StoreTile<I8x4Dot> for RequantizeTile<'_> {
    type Out = I8x4Dot;
    const ROWS: usize = CHANNELS;

    #[inline(always)]
    fn store<I: Instructions>(&self, out: &mut [I8x4Dot], at: TilePosition, rows: &[Columns<I8x4Dot>]) {
        match self.of.requantizations.form {
            _ if !self.of.padded_windows(at.column).is_empty() => self.four::<I, GENERAL>(out, at, rows),
            LINEAR => self.four::<I, LINEAR>(out, at, rows),
            GATED => self.four::<I, GATED>(out, at, rows),
            _ => self.four::<I, GENERAL>(out, at, rows),
        }
    }
}

impl RequantizeTile<'_> {
    /// Writes the codes of four filters; the last ones may be missing.
    #[inline(always)]
    fn four<I: Instructions, const FORM: RequantizationForm>(
        &self,
        out: &mut [I8x4Dot],
        at: TilePosition,
        rows: &[Columns<I8x4Dot>],
    ) {
        // See `QuantizedConvolution::is_fast`.
        if I::I8x4Dots::LANES != LANES {
            return;
        }
        let mut codes = [[I::I8x4Dots::splat(I8x4Dot(0)); CHANNELS]; VECTORS];
        let mut doubts = [[I::F32::splat(0.0); CHANNELS]; VECTORS];
        let mut largest = I::F32::splat(f32::MIN);
        for k in 0..CHANNELS {
            let sums = rows.get(k).unwrap_or(&[I8x4Dot(0); MAX_PANEL_COLUMNS]);
            let filter = &self.of.requantizations.filters[at.row + k];
            let offsets = (FORM == GENERAL).then(|| self.of.offsets(at.row + k, at.column));
            let mut filter = filter.map(|&number| I::F32::splat(number));
            for v in 0..VECTORS {
                if let Some(offsets) = &offsets {
                    filter.offset = I::F32::load(&offsets[v * LANES..]);
                }
                let sums = I::I8x4Dots::load(&sums[v * LANES..]);
                (codes[v][k], doubts[v][k]) = filter.codes::<I, FORM>(sums);
                [_, largest] = I::min_max(largest, doubts[v][k]);
            }
        }
        let mut quads = Aligned([I8x4Dot(0); MAX_PANEL_COLUMNS]);
        for v in 0..VECTORS {
            I::transpose_bytes(I::saturate_to_u8(codes[v])).store(&mut quads[v * LANES..]);
        }
        write_row(out, at.column - at.first, &quads[..at.width]);
        if I::positive_lanes(largest) != 0 {
            self.note(at, doubts.map(|vector| vector.map(|doubts| I::positive_lanes(doubts))));
        }
    }

    /// Records ambiguous results: the lanes of each vector and filter.
    #[inline(never)]
    fn note(&self, at: TilePosition, lanes: [[u32; CHANNELS]; VECTORS]) {
        let mut ambiguous = self.ambiguous.lock().unwrap_or_else(PoisonError::into_inner);
        for (v, lanes) in lanes.into_iter().enumerate() {
            for (row, lanes) in (at.row..).zip(lanes) {
                let results = set_bits(lanes).map(|lane| [row, at.column + v * LANES + lane]);
                ambiguous.extend(results.filter(|&[_, column]| column < self.columns));
            }
        }
    }
}
