//! PSROIPooling-1.

use std::ops::Range;

use snick_tensor::Tensor;

use super::checks::{expect_at_least, expect_size};
use super::position_sensitive::{Layout, RegionBins, Side};
use super::sampling::Plane;
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, RawNode, exactly};

op! {
    /// Position-sensitive pooling: each bin of a region reads its own channels.
    ///
    /// Inputs: a map `[N, C, H, W]` and regions `[rois, 5]`, each `[image, x0, y0, x1, y1]`. Output:
    /// `[rois, output_dim, group_size, group_size]`. `C` is `output_dim * group_size^2`, or
    /// `output_dim * spatial_bins_x * spatial_bins_y` with bilinear samples. The first region with image -1
    /// ends the list of regions.
    #[op(
        "PSROIPooling", since = [1], inputs = Arity::exactly(2),
        category = Reduction, traits = [PURE], check = Self::check_attrs
    )]
    pub struct PsRoiPooling {
        /// Number of output channels.
        pub output_dim: usize = 0,
        /// Height and width of the output, at least 1.
        pub group_size: usize = 0,
        /// Scale from region coordinates to elements of the map.
        pub spatial_scale: f64 = 0.0,
        /// How bins are computed.
        pub mode: PsRoiMode,
        /// Bilinear samples per bin along x.
        pub spatial_bins_x: usize = 0,
        /// Bilinear samples per bin along y.
        pub spatial_bins_y: usize = 0,
    }
}

/// How bins are computed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum PsRoiMode {
    /// The mean of the elements in the bin.
    Average,
    /// The mean of bilinear samples, each from its own channel; the corners of regions are fractions of the
    /// map's size.
    Bilinear,
}

attr_words!(PsRoiMode { Average = "average", Bilinear = "bilinear" });

impl InferOp for PsRoiPooling {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_real(0)?;
        cx.expect_real(1)?;
        expect_size(cx, 1, 1, 5)?;
        let facts = self.layout().infer(cx)?;
        expect_size(cx, 0, 1, self.channels()?)?;
        Ok(facts)
    }
}

impl EvalOp for PsRoiPooling {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, regions] = exactly(inputs)?;
        let scale = self.spatial_scale as f32;
        let side = |[first, last]: [f32; 2]| match self.mode {
            PsRoiMode::Average => Side::not_empty(first.round() * scale, (last + 1.0).round() * scale),
            PsRoiMode::Bilinear => Side { start: first * scale, length: last * scale - first * scale },
        };
        self.layout().pool(data, regions, self.channels()?, side, |bins, _, out| match self.mode {
            PsRoiMode::Average => averages(bins, out),
            PsRoiMode::Bilinear => bins.for_each(out, |depth, at| bilinear(bins, depth, at)),
        })
    }
}

impl PsRoiPooling {
    fn check_attrs(&self, _: &RawNode) -> Result<(), OpError> {
        expect_at_least("group_size", self.group_size as i64, 1)?;
        if self.mode == PsRoiMode::Bilinear {
            expect_at_least("spatial_bins_x", self.spatial_bins_x as i64, 1)?;
            expect_at_least("spatial_bins_y", self.spatial_bins_y as i64, 1)?;
        }
        match self.spatial_scale > 0.0 {
            true => Ok(()),
            false => Err(OpError::mismatch("`spatial_scale`", self.spatial_scale, "a positive number")),
        }
    }

    fn layout(&self) -> Layout {
        let samples = [self.spatial_bins_y, self.spatial_bins_x];
        Layout { depth: self.output_dim, group: self.group_size, samples }
    }

    /// The number of channels that the map must have.
    fn channels(&self) -> Result<i64, OpError> {
        self.layout().channels(match self.mode {
            PsRoiMode::Average => [self.group_size; 2],
            PsRoiMode::Bilinear => [self.spatial_bins_y, self.spatial_bins_x],
        })
    }
}

/// Appends the means of all bins of a region.
fn averages(bins: &RegionBins, out: &mut Vec<f32>) {
    let group = bins.layout.group;
    let [rows, columns] = [0, 1].map(|axis: usize| -> Vec<Range<usize>> {
        let (side, size) = (bins.sides[axis], bins.size()[axis] as f32);
        let step = side.length / group as f32;
        let bin = |at: usize| {
            let first = (at as f32 * step + side.start).floor();
            let end = ((at + 1) as f32 * step + side.start).ceil();
            first.clamp(0.0, size) as usize..end.clamp(0.0, size) as usize
        };
        (0..group).map(bin).collect()
    });
    bins.for_each(out, |depth, at| mean(bins.own_plane(depth, at), &rows[at[0]], &columns[at[1]]));
}

/// The mean over the given rows and columns; 0 if there are no elements.
fn mean(plane: Plane, rows: &Range<usize>, columns: &Range<usize>) -> f32 {
    let count = rows.len() * columns.len();
    if count == 0 {
        return 0.0;
    }
    let row = |y| plane.row(y).get(columns.clone()).unwrap_or_default().iter().sum::<f32>();
    rows.clone().map(row).sum::<f32>() / count as f32
}

/// The mean of the bilinear samples in one bin.
fn bilinear(bins: &RegionBins, depth: usize, at: [usize; 2]) -> f32 {
    let Layout { depth: depths, group, samples } = bins.layout;
    let position = |axis: usize, index: usize| {
        let (side, count) = (bins.sides[axis], samples[axis]);
        let part = side.length / count as f32;
        let first = side.start + index as f32 * part;
        let last = side.start + (index + 1) as f32 * part;
        let end = bins.size()[axis] as f32 - 1.0;
        match group {
            1 => 0.5 * (first + last) * end,
            _ => at[axis] as f32 * ((last - first) * end / (group as f32 - 1.0)) + first * end,
        }
    };
    let [rows, columns] = samples;
    let mut sum = 0.0;
    for y in 0..rows {
        for x in 0..columns {
            let plane = bins.plane(depth + (y * columns + x) * depths);
            sum += plane.sample(position(0, y), position(1, x)).unwrap_or(0.0);
        }
    }
    sum / (rows * columns) as f32
}
