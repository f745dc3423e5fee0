//! DetectionOutput-1 and -8: boxes decoded from priors, the best of each class kept. Version 1 says the number of
//! classes; version 8 takes it from the shapes.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// Box offsets `[N, priors * classes * 4]`, class scores, priors; and maybe both of a second stage. A row of the
/// output `[1, 1, rows, 7]` is image, class, score and box.
#[derive(Clone, PartialEq, Debug)]
pub struct DetectionOutput {
    settings: Settings,
}

const TABLE: Table = &[
    ("num_classes", Kind::Int),
    ("background_label_id", Kind::Int),
    ("top_k", Kind::Int),
    ("variance_encoded_in_target", Kind::Bool),
    ("keep_top_k", Kind::Ints),
    ("code_type", Kind::Text),
    ("share_location", Kind::Bool),
    ("nms_threshold", Kind::Float),
    ("confidence_threshold", Kind::Float),
    ("clip_after_nms", Kind::Bool),
    ("clip_before_nms", Kind::Bool),
    ("decrease_label_id", Kind::Bool),
    ("normalized", Kind::Bool),
    ("input_height", Kind::Int),
    ("input_width", Kind::Int),
    ("objectness_score", Kind::Float),
];

impl OpDef for DetectionOutput {
    const NAMES: &'static [OpName] = &[OpName::openvino("DetectionOutput", &[1, 8])];
    const ARITY: Arity = Arity::between(3, 5);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { settings: Settings::parse(&raw.attrs, TABLE)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if cx.len() == 4 {
            return Err(OpError::Arity { expected: "3 or 5".into(), got: 4 });
        }
        let element_type = cx.common_type(0..cx.len())?;
        cx.expect_rank(0, "2", |rank| rank == 2)?;
        cx.expect_rank(1, "2", |rank| rank == 2)?;
        cx.expect_rank(2, "3", |rank| rank == 3)?;
        for i in 3..cx.len() {
            cx.expect_rank(i, "2", |rank| rank == 2)?;
        }
        let dim = |i: usize, axis: usize| cx.shape(i).dims().and_then(|dims| dims.get(axis)).cloned();
        let batches = [dim(0, 0), dim(1, 0), (cx.len() > 3).then(|| dim(3, 0)).flatten()];
        let (scores, priors) = (dim(1, 1), dim(2, 2));
        let mut batch: Option<SymExpr> = None;
        for next in batches.into_iter().flatten() {
            batch = Some(match batch {
                Some(batch) => {
                    let both = cx.merge(&batch, &next);
                    both.ok_or_else(|| cx.shapes_clash("decode by images", cx.shape(0), cx.shape(1)))?
                }
                None => next,
            });
        }
        let batch = batch.unwrap_or_else(|| cx.unknown(Interval::DIM));
        let width = if self.settings.bool("normalized", false) { 4 } else { 5 };
        let keep = self.settings.ints("keep_top_k").first().copied().unwrap_or(-1);
        let best = self.settings.int("top_k", -1);
        let rows = if keep > 0 {
            keep.into()
        } else {
            let boxes = priors.map(|dim| cx.floor_div(&dim, &width.into()));
            let classes = match (self.settings.int("num_classes", 0), scores, &boxes) {
                (n, _, _) if n > 0 => n.into(),
                (_, Some(scores), Some(boxes)) if cx.interval(boxes).lo() > 0 => cx.floor_div(&scores, boxes),
                _ => cx.unknown(Interval::DIM),
            };
            let boxes = if best > 0 { Some(best.into()) } else { boxes };
            let boxes = boxes.unwrap_or_else(|| cx.unknown(Interval::DIM));
            cx.mul(&boxes, &classes)
        };
        let rows = cx.mul(&batch, &rows);
        let dims: SmallVec<[SymExpr; 4]> = smallvec![1.into(), 1.into(), rows, 7.into()];
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }

    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported("running DetectionOutput"))
    }
}
