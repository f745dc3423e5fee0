//! ROIAlign-3 and -9, ROIAlignRotated-15: bilinear samples of a feature map, pooled over the bins of each region.
//! Version 9 of ROIAlign says where places lie; a rotated region has a centre, sizes and an angle.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, common_float, expect_rank, expect_size, padded, room};
use super::sampling::{Bins, Maps, Region};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// A map `[N, C, H, W]`, regions `[rois, 4 or 5]` and the image of each to `[rois, C, pooled_h, pooled_w]`.
#[derive(Clone, PartialEq, Debug)]
pub struct RoiAlign {
    rotated: bool,
    settings: Settings,
}

const NAMES: [OpName; 2] =
    [OpName::openvino("ROIAlign", &[3, 9]), OpName::openvino("ROIAlignRotated", &[15])];

const UPRIGHT: Table = &[
    ("pooled_h", Kind::Int),
    ("pooled_w", Kind::Int),
    ("sampling_ratio", Kind::Int),
    ("spatial_scale", Kind::Float),
    ("mode", Kind::Text),
    ("aligned_mode", Kind::Text),
];

const ROTATED: Table = &[
    ("pooled_h", Kind::Int),
    ("pooled_w", Kind::Int),
    ("sampling_ratio", Kind::Int),
    ("spatial_scale", Kind::Float),
    ("clockwise_mode", Kind::Bool),
];

/// Whether the greatest sample counts.
const MODES: &[(&str, bool)] = &[("avg", false), ("max", true)];

/// What is added to corners before scaling and after, and whether small regions stay small.
type Alignment = (f32, f32, bool);
const ALIGNMENTS: &[(&str, Alignment)] = &[
    ("asymmetric", (0.0, 0.0, false)),
    ("half_pixel_for_nn", (0.0, -0.5, true)),
    ("half_pixel", (0.5, -0.5, true)),
];

impl OpDef for RoiAlign {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let rotated = raw.row(&NAMES) == 1;
        // Closed lists: a name outside of them is refused here.
        raw.attrs.choice("mode", MODES)?;
        raw.attrs.choice("aligned_mode", ALIGNMENTS)?;
        Ok(Self { rotated, settings: Settings::parse(&raw.attrs, if rotated { ROTATED } else { UPRIGHT })? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.rotated)]
    }
}

impl InferOp for RoiAlign {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..2)?;
        cx.expect_integer(2);
        expect_rank(cx, 0, 4)?;
        expect_rank(cx, 1, 2)?;
        expect_rank(cx, 2, 1)?;
        expect_size(cx, 1, 1, self.numbers() as i64)?;
        let regions = common_dim(cx, &[(1, 0), (2, 0)])?;
        let channels = common_dim(cx, &[(0, 1)])?;
        let [height, width] = self.pooled()?.map(|size| SymExpr::from(size as i64));
        let dims: SmallVec<[SymExpr; 4]> = smallvec![regions, channels, height, width];
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for RoiAlign {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, regions, images] = inputs else { return Ok(Vec::new()) };
        let maps = Maps::new(data)?;
        let images = images.to_i64_vec()?;
        check_dims("the regions", regions, &[images.len(), self.numbers()])?;
        let bins = Bins {
            counts: self.pooled()?,
            samples: usize::try_from(self.settings.int("sampling_ratio", 0)).unwrap_or(0),
            max: self.settings.choice("mode", MODES).unwrap_or(false),
        };
        let dims = [images.len(), maps.dims()[1], bins.counts[0], bins.counts[1]];
        let mut out = room(&dims)?;
        let numbers = regions.to_f32_vec()?;
        for (region, &image) in numbers.chunks_exact(self.numbers()).zip(&images) {
            // The first region of image -1 ends the list: it and what follows are off.
            if image == -1 && !self.rotated {
                break;
            }
            let image = maps.image(image)?;
            match *region {
                [x0, y0, x1, y1] => {
                    bins.pool(&maps, image, &self.upright([x0, y0, x1, y1]), |at| at, &mut out)?;
                }
                [x, y, width, height, angle] => {
                    let (region, turn) = self.turned([x, y, width, height, angle]);
                    bins.pool(&maps, image, &region, turn, &mut out)?;
                }
                _ => {}
            }
        }
        Ok(vec![padded(&dims, out)?.cast(data.element_type())?])
    }
}

impl RoiAlign {
    /// Numbers of a region.
    fn numbers(&self) -> usize {
        if self.rotated { 5 } else { 4 }
    }

    /// Height and width of the output.
    fn pooled(&self) -> Result<[usize; 2], OpError> {
        let size = |name: &'static str| {
            let size = self.settings.int(name, 0);
            usize::try_from(size).map_err(|_| OpError::out_of_range(format!("`{name}`"), size, "0 or more"))
        };
        Ok([size("pooled_h")?, size("pooled_w")?])
    }

    fn scale(&self) -> f32 {
        self.settings.float("spatial_scale", 0.0) as f32
    }

    /// A region by its corners x, y, x, y, on the map.
    fn upright(&self, corners: [f32; 4]) -> Region {
        let (before, after, exact) =
            self.settings.choice("aligned_mode", ALIGNMENTS).unwrap_or((0.0, 0.0, false));
        let [x0, y0, x1, y1] = corners.map(|corner| (corner + before) * self.scale() + after);
        let least = if exact { f32::NEG_INFINITY } else { 1.0 };
        Region { start: [y0, x0], size: [(y1 - y0).max(least), (x1 - x0).max(least)] }
    }

    /// A region by centre, sizes and angle in radians: as it lies around its centre, and the turn onto the map.
    fn turned(&self, region: [f32; 5]) -> (Region, impl Fn([f32; 2]) -> [f32; 2] + use<>) {
        let [x, y, width, height, angle] = region;
        let scale = self.scale();
        let (x, y) = (x * scale - 0.5, y * scale - 0.5);
        let (width, height) = (width * scale, height * scale);
        let angle = if self.settings.bool("clockwise_mode", false) { -angle } else { angle };
        let (sin, cos) = angle.sin_cos();
        let region = Region { start: [-height / 2.0, -width / 2.0], size: [height, width] };
        (region, move |[dy, dx]| [dy * cos - dx * sin + y, dy * sin + dx * cos + x])
    }
}
