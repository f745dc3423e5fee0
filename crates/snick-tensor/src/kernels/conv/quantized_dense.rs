//! Integer filters of all channels over levels: the rows of a product of bytes.

use super::after_sums::AfterSums;
use super::borders::Borders;
use super::images::Channels;
use super::planes::{Cuts, Grid, Planes};
use super::quantized_filters::{IntegerFilters, dense};
use super::to_levels::{Rescaling, ToLevels};
use crate::TensorError;
use crate::kernels::gemm::{PackedLhs, PackedRhs, product};
use crate::kernels::quantizer::{CHANNELS, Quantizer};
use crate::kernels::vectors::I8x4Dot;

/// Filters of all channels.
pub(super) struct QuantizedDense {
    left: PackedLhs<I8x4Dot>,
    rescaling: Rescaling,
    cuts: Cuts,
    /// The level nearest to 0, of four channels.
    padding: I8x4Dot,
    /// Groups of four channels, and their distance.
    channels: [usize; 2],
    /// Steps along the axes.
    steps: [isize; 3],
}

impl QuantizedDense {
    /// `None` for channels of several ranges, and for windows that planes or borders do not serve.
    pub fn new(
        integers: IntegerFilters,
        grid: Grid,
        input: &Quantizer,
        padding: I8x4Dot,
        after: &AfterSums,
    ) -> Option<Self> {
        let (cuts, rule) = (Cuts::new(&grid)?, input.uniform()?);
        let (outputs, depth, taps) = (integers.rules.len(), input.channels(), grid.taps());
        let groups = depth.div_ceil(CHANNELS);
        let value = rule.value((padding.0 & 0xff) as f32);
        let borders = match grid.is_padded() && value != 0.0 {
            true => Some(Borders::new(grid, value)?),
            false => None,
        };
        let rescaling = Rescaling::new(integers, [depth, taps], rule, borders, after)?;
        let left = dense(&rescaling.floats.by_tap, outputs, groups, taps);
        let [_, height, width] = grid.axes.map(|axis| axis.size);
        let steps = [0, width as isize, 1];
        Some(Self { left, rescaling, cuts, padding, channels: [groups, height * width], steps })
    }

    /// The levels of all windows of an image of levels, four channels at a time.
    pub fn run(&self, data: &[I8x4Dot], out: &mut [I8x4Dot]) -> Result<(), TensorError> {
        let [count, step] = self.channels;
        let image = Channels { data, first: 0, count, step: step as isize, steps: self.steps };
        let planes = Planes::new(&self.cuts, image, self.padding)?;
        let starts = planes.starts(0..count);
        let right = &PackedRhs::of_lines(self.left.isa(), planes.data(), starts, self.cuts.windows());
        let to_levels = ToLevels::new(&self.rescaling, right.columns());
        product(&self.left, right, out, right.columns(), &to_levels);
        to_levels.resolve(right, out);
        Ok(())
    }
}
