//! ROIPooling-2, PSROIPooling-1, ROIAlign-3 and -9, ROIAlignRotated-15: a small map of each region of interest.
//! Version 9 of ROIAlign adds `aligned_mode`.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// A map `[N, C, H, W]` and regions `[rois, ..]` to `[rois, C, pooled height, pooled width]`.
#[derive(Clone, PartialEq, Debug)]
pub struct RoiPool {
    row: usize,
    settings: Settings,
}

const NAMES: [OpName; 4] = [
    OpName::openvino("ROIPooling", &[1, 2]),
    OpName::openvino("PSROIPooling", &[1]),
    OpName::openvino("ROIAlign", &[3, 9]),
    OpName::openvino("ROIAlignRotated", &[15]),
];

/// Numbers of a region, attributes.
const ROWS: [(i64, Table); 4] = [(5, POOLING), (5, POSITIONS), (4, ALIGN), (5, ROTATED)];

const POOLING: Table = &[
    ("output_size", Kind::Ints),
    ("output_roi", Kind::Ints),
    ("pooled_h", Kind::Int),
    ("pooled_w", Kind::Int),
    ("spatial_scale", Kind::Float),
    ("method", Kind::Text),
];

const POSITIONS: Table = &[
    ("output_dim", Kind::Int),
    ("group_size", Kind::Int),
    ("spatial_scale", Kind::Float),
    ("mode", Kind::Text),
    ("spatial_bins_x", Kind::Int),
    ("spatial_bins_y", Kind::Int),
];

const ALIGN: Table = &[
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

impl OpDef for RoiPool {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::between(2, 3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let row = raw.row(&NAMES);
        Ok(Self { row, settings: Settings::parse(&raw.attrs, ROWS[row].1)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[self.row]
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let inputs = if self.row < 2 { 2 } else { 3 };
        if cx.len() != inputs {
            return Err(OpError::Arity { expected: inputs.to_string(), got: cx.len() });
        }
        let element_type = cx.common_type(0..2)?;
        cx.expect_rank(0, "4", |rank| rank == 4)?;
        cx.expect_rank(1, "2", |rank| rank == 2)?;
        let mut regions = None;
        if let Some([count, numbers]) = cx.shape(1).dims() {
            let (wanted, interval) = (ROWS[self.row].0, cx.interval(numbers));
            if !interval.contains(wanted) {
                return Err(OpError::mismatch("the numbers of a region", interval, wanted));
            }
            regions = Some(count.clone());
        }
        if inputs == 3 {
            cx.expect_integer(2)?;
            cx.expect_rank(2, "1", |rank| rank == 1)?;
            if let Some([count]) = cx.shape(2).dims() {
                regions = match regions {
                    Some(regions) => {
                        let both = cx.merge(&regions, count);
                        Some(
                            both.ok_or_else(|| cx.shapes_clash("pool by regions", cx.shape(1), cx.shape(2)))?,
                        )
                    }
                    None => Some(count.clone()),
                };
            }
        }
        let regions = regions.unwrap_or_else(|| cx.unknown(Interval::DIM));
        let channels = cx.shape(0).dims().and_then(|dims| dims.get(1)).cloned();
        let (channels, [height, width]) = match self.row {
            1 => {
                let group = self.settings.int("group_size", 0);
                let depth = self.settings.int("output_dim", 0);
                if let Some(channels) = &channels {
                    self.check_positions(cx.interval(channels), group, depth)?;
                }
                (Some(SymExpr::from(depth)), [group, group])
            }
            _ => (channels, self.pooled()),
        };
        if let Some(size) = [height, width].into_iter().find(|&size| size < 0) {
            return Err(OpError::out_of_range("the pooled size", size, "0 or more"));
        }
        let channels = channels.unwrap_or_else(|| cx.unknown(Interval::DIM));
        let dims: SmallVec<[SymExpr; 4]> = smallvec![regions, channels, height.into(), width.into()];
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }

    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported(format!("running {}", self.name().name)))
    }
}

impl RoiPool {
    /// Height and width of the output.
    fn pooled(&self) -> [i64; 2] {
        let sizes = ["output_roi", "output_size"].map(|name| self.settings.ints(name));
        match sizes.iter().find(|sizes| sizes.len() == 2 && sizes.iter().any(|&n| n > 0)).map(Vec::as_slice) {
            Some(&[height, width]) => [height, width],
            _ => [self.settings.int("pooled_h", 0), self.settings.int("pooled_w", 0)],
        }
    }

    /// The channels that pooling by positions divides into its groups.
    fn check_positions(&self, channels: Interval, group: i64, depth: i64) -> Result<(), OpError> {
        if group < 0 || depth < 0 {
            return Err(OpError::out_of_range("`group_size` or `output_dim`", group.min(depth), "0 or more"));
        }
        let average = self.settings.text("mode").eq_ignore_ascii_case("average");
        let bins = match average {
            true => group.checked_mul(group),
            false => {
                self.settings.int("spatial_bins_x", 1).checked_mul(self.settings.int("spatial_bins_y", 1))
            }
        };
        let wanted = bins.and_then(|bins| bins.checked_mul(depth));
        match wanted {
            Some(wanted) if !channels.contains(wanted) => {
                Err(OpError::mismatch("the number of channels", channels, wanted))
            }
            _ => Ok(()),
        }
    }
}
