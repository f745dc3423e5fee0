//! ROIPooling-2: the maximum of each bin of a region, or one bilinear sample of it. Opset 1 has it too.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{common_dim, common_float, expect_rank, expect_size, padded, room};
use super::sampling::{Between, Maps, Plane};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// A map `[N, C, H, W]` and regions `[rois, 5]`, each an image and corners x, y, x, y, to
/// `[rois, C, pooled height, pooled width]`.
#[derive(Clone, PartialEq, Debug)]
pub struct RoiPooling {
    settings: Settings,
}

const TABLE: Table = &[
    ("output_size", Kind::Ints),
    ("output_roi", Kind::Ints),
    ("pooled_h", Kind::Int),
    ("pooled_w", Kind::Int),
    ("spatial_scale", Kind::Float),
    ("method", Kind::Text),
];

/// Whether a bin is one bilinear sample.
const METHODS: &[(&str, bool)] = &[("max", false), ("bilinear", true)];

impl OpDef for RoiPooling {
    const NAMES: &'static [OpName] = &[OpName::openvino("ROIPooling", &[1, 2])];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        raw.attrs.choice("method", METHODS)?;
        Ok(Self { settings: Settings::parse(&raw.attrs, TABLE)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }
}

impl InferOp for RoiPooling {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..2)?;
        expect_rank(cx, 0, 4)?;
        expect_rank(cx, 1, 2)?;
        expect_size(cx, 1, 1, 5)?;
        let regions = common_dim(cx, &[(1, 0)])?;
        let channels = common_dim(cx, &[(0, 1)])?;
        let [height, width] = self.pooled()?.map(|size| SymExpr::from(size as i64));
        self.scale()?;
        let dims: SmallVec<[SymExpr; 4]> = smallvec![regions, channels, height, width];
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for RoiPooling {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, regions] = inputs else { return Ok(Vec::new()) };
        let maps = Maps::new(data)?;
        let &[count, 5] = regions.dims() else {
            return Err(OpError::mismatch("the regions", format!("{:?}", regions.dims()), "[rois, 5]"));
        };
        let pooled = self.pooled()?;
        let scale = self.scale()?;
        let bilinear = self.settings.choice("method", METHODS).unwrap_or(false);
        let [_, channels, height, width] = maps.dims();
        let dims = [count, channels, pooled[0], pooled[1]];
        let mut out = room(&dims)?;
        for region in regions.to_f32_vec()?.as_chunks::<5>().0 {
            let &[image, x0, y0, x1, y1] = region;
            // The first region of image -1 ends the list: it and what follows are off.
            if image as i64 == -1 {
                break;
            }
            let image = maps.image(image as i64)?;
            // What is read along an axis is the same for all channels.
            let axes = [([y0, y1], pooled[0], height), ([x0, x1], pooled[1], width)];
            let [rows, columns] = axes.map(|(ends, bins, size)| -> Vec<Places> {
                let of = |i| match bilinear {
                    true => Places::Sample(Between::new(sample_place(ends, i, bins, size), size)),
                    false => Places::Bin(bin(ends.map(|v| v * scale), i, bins, size)),
                };
                (0..bins).map(of).collect()
            });
            for channel in 0..channels {
                let plane = maps.plane(image, channel);
                for y in &rows {
                    out.extend(columns.iter().map(|x| pooled_at(plane, y, x)));
                }
            }
        }
        Ok(vec![padded(&dims, out)?.cast(data.element_type())?])
    }
}

impl RoiPooling {
    /// Height and width of the output: of the attributes that say them, the last in [`TABLE`] counts.
    fn pooled(&self) -> Result<[usize; 2], OpError> {
        let sizes = ["output_roi", "output_size"].map(|name| self.settings.ints(name));
        let [height, width] = match sizes.iter().find(|sizes| !sizes.is_empty()).map(Vec::as_slice) {
            None => [0, 0],
            Some(&[height, width]) => [height, width],
            Some(sizes) => return Err(OpError::mismatch("`output_roi`", format!("{sizes:?}"), "two sizes")),
        };
        let [height, width] = [("pooled_h", height), ("pooled_w", width)]
            .map(|(name, otherwise)| self.settings.int(name, otherwise));
        let size = |size: i64| match usize::try_from(size) {
            Ok(size) if size > 0 => Ok(size),
            _ => Err(OpError::out_of_range("the pooled size", size, "1 or more")),
        };
        Ok([size(height)?, size(width)?])
    }

    fn scale(&self) -> Result<f32, OpError> {
        let scale = self.settings.float("spatial_scale", 0.0);
        if scale > 0.0 {
            return Ok(scale as f32);
        }
        Err(OpError::mismatch("`spatial_scale`", scale, "a positive number"))
    }
}

/// What an element of the result is read from along one axis.
enum Places {
    /// A sample; nothing outside the map.
    Sample(Option<Between>),
    /// The greatest of some places.
    Bin(Range<usize>),
}

/// The element that is read from some rows and columns, both in one way.
fn pooled_at(plane: Plane, y: &Places, x: &Places) -> f32 {
    match (y, x) {
        (Places::Bin(rows), Places::Bin(columns)) => greatest(plane, rows, columns),
        (Places::Sample(Some(y)), Places::Sample(Some(x))) => plane.mixed(y, x),
        _ => 0.0,
    }
}

/// The places of a bin along one axis: the region's first and last place divided by `bins`, cut to the map.
fn bin(ends: [f32; 2], index: usize, bins: usize, size: usize) -> Range<usize> {
    // Places of f32 beyond 2^53 have no neighbours: the bound keeps the products below exact.
    let [first, last] = ends.map(|end| (end.round() as i64).clamp(-(1 << 40), 1 << 40));
    let (bins, index) = (bins as i128, index as i128);
    let length = i128::from((last - first + 1).max(1));
    let on_map = |place: i128| (place + i128::from(first)).clamp(0, size as i128) as usize;
    on_map(index * length / bins)..on_map(((index + 1) * length + bins - 1) / bins)
}

/// The greatest element of some rows and columns; 0 where there is none.
fn greatest(plane: Plane, rows: &Range<usize>, columns: &Range<usize>) -> f32 {
    if rows.is_empty() || columns.is_empty() {
        return 0.0;
    }
    let row = |y| plane.row(y).get(columns.clone()).unwrap_or_default();
    rows.clone().flat_map(row).copied().fold(f32::MIN, f32::max)
}

/// Where on an axis of `size` places the sample of a bin lies, for ends in parts of the axis.
fn sample_place(ends: [f32; 2], index: usize, bins: usize, size: usize) -> f32 {
    let ([first, last], end) = (ends, size as f32 - 1.0);
    match bins {
        1 => 0.5 * (first + last) * end,
        // Exactly the end, whatever rounding says: beyond it there is nothing.
        _ if index + 1 == bins => last * end,
        _ => index as f32 * ((last - first) * end / (bins as f32 - 1.0)) + first * end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_share_places_and_stay_on_the_map() {
        assert_eq!(bin([0.0, 4.0], 0, 2, 5), 0..3);
        assert_eq!(bin([0.0, 4.0], 1, 2, 5), 2..5);
        assert_eq!(bin([3.0, 1.0], 0, 1, 5), 3..4);
        assert!(bin([-9.0, -8.0], 0, 1, 5).is_empty());
        assert_eq!(bin([f32::NEG_INFINITY, f32::INFINITY], 0, 1, 5), 0..5);
    }
}
