//! DeformablePSROIPooling-1.

use snick_tensor::Tensor;

use super::checks::{expect_at_least, wrong_shape};
use super::position_sensitive::{Layout, RegionBins, Side};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, RawNode, leading};

/// Maximum number of samples per bin, to bound the work.
const MAX_SAMPLES: usize = 1 << 20;

op! {
    /// Position-sensitive pooling with offsets.
    ///
    /// Each bin of a region reads its own channel and is shifted by an offset. Inputs: a map
    /// `[N, output_dim * group_size^2, H, W]`; regions `[rois, 5]`, each `[image, x0, y0, x1, y1]`; and
    /// optionally offsets `[rois, 2 * parts, part_size, part_size]`, alternating x and y, as fractions of the
    /// region's size. Each part is a group of output channels. Output:
    /// `[rois, output_dim, group_size, group_size]`. The first region with image -1 ends the list of regions.
    #[op(
        "DeformablePSROIPooling", since = [1], inputs = Arity::between(2, 3),
        category = Reduction, traits = [PURE],
        check = Self::check_attrs
    )]
    pub struct DeformablePsRoiPooling {
        /// Number of output channels, at least 1.
        pub output_dim: usize = 0,
        /// Height and width of the output, at least 1.
        pub group_size: usize = 1,
        /// Scale from region coordinates to elements of the map.
        pub spatial_scale: f64 = 0.0,
        /// How bins are computed; only `bilinear_deformable` can be evaluated.
        pub mode: String = "bilinear_deformable".into(),
        /// Samples per bin along x.
        pub spatial_bins_x: usize = 1,
        /// Samples per bin along y.
        pub spatial_bins_y: usize = 1,
        /// Multiplier of the offsets.
        pub trans_std: f64 = 1.0,
        /// Height and width of the offsets.
        pub part_size: usize = 1,
    }
}

impl InferOp for DeformablePsRoiPooling {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.layout().infer(cx)
    }
}

impl EvalOp for DeformablePsRoiPooling {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([data, regions], offsets) = leading(inputs)?;
        if !self.mode.is_empty() && !self.mode.eq_ignore_ascii_case("bilinear_deformable") {
            return Err(OpError::unsupported(format!("mode \"{}\"", self.mode)));
        }
        self.check_samples()?;
        let layout = self.layout();
        let count = regions.dims().first().copied().unwrap_or(0);
        let offsets = offsets.first().map(|offsets| self.offsets(offsets, count)).transpose()?;
        let scale = self.spatial_scale as f32;
        // Positions refer to the centres of elements.
        let side = |[first, last]: [f32; 2]| {
            Side::not_empty(first.round() * scale - 0.5, (last.round() + 1.0) * scale - 0.5)
        };
        let channels = layout.channels([layout.group; 2])?;
        layout.pool(data, regions, channels, side, |bins, index, out| {
            bins.for_each(out, |depth, at| {
                let offset = offsets.as_ref().map(|offsets| offsets.of(index, depth, at));
                sampled(bins, depth, at, offset.unwrap_or_default())
            });
        })
    }
}

impl DeformablePsRoiPooling {
    fn check_attrs(&self, _: &RawNode) -> Result<(), OpError> {
        expect_at_least("output_dim", self.output_dim as i64, 1)?;
        expect_at_least("group_size", self.group_size as i64, 1)
    }

    /// Rejects attributes that ask for too many samples per bin.
    fn check_samples(&self) -> Result<(), OpError> {
        let samples = self.spatial_bins_y.saturating_mul(self.spatial_bins_x);
        if samples > MAX_SAMPLES {
            return Err(OpError::unsupported(format!("{samples} samples of a bin")));
        }
        Ok(())
    }

    fn layout(&self) -> Layout {
        let samples = [self.spatial_bins_y, self.spatial_bins_x];
        Layout { depth: self.output_dim, group: self.group_size, samples }
    }

    /// Checks and reads the offsets.
    fn offsets(&self, offsets: &Tensor, regions: usize) -> Result<Offsets, OpError> {
        let (depth, size) = (self.output_dim, self.part_size);
        match *offsets.dims() {
            [count, twice, height, width]
                if count == regions
                    && twice >= 2
                    && twice.is_multiple_of(2)
                    && depth.is_multiple_of(twice / 2)
                    && size >= 1
                    && height == size
                    && width == size =>
            {
                Ok(Offsets {
                    values: offsets.to_f32_vec()?,
                    scale: self.trans_std as f32,
                    parts: twice / 2,
                    part_size: size,
                    depth_per_part: depth / (twice / 2),
                    group: self.group_size,
                })
            }
            _ => {
                let expected = format!("[{regions},2 * parts,{size},{size}], with parts dividing {depth}");
                Err(wrong_shape("the offsets", offsets, expected))
            }
        }
    }
}

/// The mean of the samples in one bin, shifted by `offset` (y, x) as fractions of the region's size.
fn sampled(bins: &RegionBins, depth: usize, at: [usize; 2], offset: [f32; 2]) -> f32 {
    let plane = bins.own_plane(depth, at);
    let position = |axis: usize, index: usize| {
        let (side, size) = (bins.sides[axis], bins.size()[axis] as f32);
        let step = side.length / bins.layout.group as f32;
        let start = at[axis] as f32 * step + side.start + offset[axis] * side.length;
        let position = start + index as f32 * (step / bins.layout.samples[axis] as f32);
        (-0.5..=size - 0.5).contains(&position).then(|| position.clamp(0.0, (size - 1.0).max(0.0)))
    };
    let [rows, columns] = bins.layout.samples;
    let (mut sum, mut count) = (0.0, 0usize);
    for y in (0..rows).filter_map(|y| position(0, y)) {
        for x in (0..columns).filter_map(|x| position(1, x)) {
            sum += plane.sample(y, x).unwrap_or(0.0);
            count += 1;
        }
    }
    if count == 0 { 0.0 } else { sum / count as f32 }
}

/// The offsets of all bins.
struct Offsets {
    values: Vec<f32>,
    scale: f32,
    parts: usize,
    part_size: usize,
    /// Number of output channels per part.
    depth_per_part: usize,
    group: usize,
}

impl Offsets {
    /// The offset (y, x) of a bin.
    fn of(&self, region: usize, depth: usize, at: [usize; 2]) -> [f32; 2] {
        let part = region * self.parts + depth / self.depth_per_part;
        let [y, x] = at.map(|index| index * self.part_size / self.group);
        // The tensor stores x before y.
        [1, 0].map(|axis| {
            let row = (part * 2 + axis) * self.part_size + y;
            self.values.get(row * self.part_size + x).map_or(0.0, |value| value * self.scale)
        })
    }
}
