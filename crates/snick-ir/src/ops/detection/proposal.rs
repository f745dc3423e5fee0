//! Proposal-1 and -4: the best boxes an image, decoded from anchors. Version 4 has a second output, their scores.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// Class scores `[N, 2 * anchors, H, W]`, box offsets `[N, 4 * anchors, H, W]` and the size of the image to
/// `post_nms_topn` rows of image and box for each of the N.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// Whether there is a second output.
    pub scores: bool,
    settings: Settings,
}

const TABLE: Table = &[
    ("base_size", Kind::Int),
    ("pre_nms_topn", Kind::Int),
    ("post_nms_topn", Kind::Int),
    ("nms_thresh", Kind::Float),
    ("feat_stride", Kind::Int),
    ("min_size", Kind::Int),
    ("ratio", Kind::Floats),
    ("scale", Kind::Floats),
    ("clip_before_nms", Kind::Bool),
    ("clip_after_nms", Kind::Bool),
    ("normalize", Kind::Bool),
    ("box_size_scale", Kind::Float),
    ("box_coordinate_scale", Kind::Float),
    ("framework", Kind::Text),
];

impl OpDef for Proposal {
    const NAMES: &'static [OpName] = &[OpName::openvino("Proposal", &[1, 4])];
    const ARITY: Arity = Arity::exactly(3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { scores: raw.since >= 4, settings: Settings::parse(&raw.attrs, TABLE)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..3)?;
        cx.expect_rank(0, "4", |rank| rank == 4)?;
        cx.expect_rank(1, "4", |rank| rank == 4)?;
        cx.expect_rank(2, "1", |rank| rank == 1)?;
        if let Some([size]) = cx.shape(2).dims() {
            let interval = cx.interval(size);
            if !interval.contains(3) && !interval.contains(4) {
                return Err(OpError::mismatch("the size of input 2", interval, "3 or 4"));
            }
        }
        let first = |i: usize| cx.shape(i).dims().and_then(|dims| dims.first()).cloned();
        let batch = match (first(0), first(1)) {
            (Some(a), Some(b)) => {
                let both = cx.merge(&a, &b);
                both.ok_or_else(|| cx.shapes_clash("decode by images", cx.shape(0), cx.shape(1)))?
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => cx.unknown(Interval::DIM),
        };
        let most = self.settings.int("post_nms_topn", 0);
        if most < 0 {
            return Err(OpError::out_of_range("`post_nms_topn`", most, "0 or more"));
        }
        let rows = cx.mul(&batch, &most.into());
        let dims: SmallVec<[SymExpr; 4]> = smallvec![rows.clone(), 5.into()];
        let mut facts: Facts = smallvec![Fact::new(element_type, Shape::ranked(dims))];
        if self.scores {
            facts.push(Fact::new(element_type, Shape::ranked([rows])));
        }
        Ok(facts)
    }

    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported("running Proposal"))
    }
}
