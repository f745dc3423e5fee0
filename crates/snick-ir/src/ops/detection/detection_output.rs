//! DetectionOutput-1 and -8: boxes decoded from priors, the best of each class kept. Version 1 says the number of
//! classes; version 8 takes it from the shapes.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{
    check_dims, common_dim, common_float, dim, expect_float, expect_rank, expect_size, padded,
};
use super::detections::{Decoder, Found, Scores, select};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Box offsets `[N, priors * classes * 4]`, class scores `[N, priors * classes]`, priors `[1 or N, 1 or 2, ..]`, the
/// second row being variances; and maybe object scores and offsets of a first stage. A row of the output
/// `[1, 1, rows, 7]` is image, class, score and box; the first row not used has image -1, and zeros follow.
#[derive(Clone, PartialEq, Debug)]
pub struct DetectionOutput {
    /// Whether the attributes say how many classes there are.
    counted: bool,
    pub(super) settings: Settings,
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

/// Whether offsets are of centre and size, not of corners.
pub(super) const CODES: &[(&str, bool)] =
    &[("caffe.PriorBoxParameter.CORNER", false), ("caffe.PriorBoxParameter.CENTER_SIZE", true)];

impl OpDef for DetectionOutput {
    const NAMES: &'static [OpName] = &[OpName::openvino("DetectionOutput", &[1, 8])];
    const ARITY: Arity = Arity::between(3, 5);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let counted = raw.since < 8;
        raw.attrs.choice("code_type", CODES)?;
        let settings = Settings::parse(&raw.attrs, TABLE.get(usize::from(!counted)..).unwrap_or(TABLE))?;
        if counted && settings.int("num_classes", 0) <= 0 {
            return Err(OpError::out_of_range("`num_classes`", settings.int("num_classes", 0), "1 or more"));
        }
        Ok(Self { counted, settings })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }
}

impl InferOp for DetectionOutput {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        check_inputs(cx.len())?;
        let element_type = common_float(cx, (0..cx.len()).filter(|&port| port != 2))?;
        // Models in f16 keep their priors in f32.
        expect_float(cx, 2)?;
        for port in 0..cx.len() {
            expect_rank(cx, port, if port == 2 { 3 } else { 2 })?;
        }
        let ports: &[(usize, usize)] = match cx.len() {
            3 => &[(0, 0), (1, 0)],
            _ => &[(0, 0), (1, 0), (3, 0), (4, 0)],
        };
        let batch = common_dim(cx, ports)?;
        if let Some(images) = dim(cx, 2, 0) {
            let (images, batch) = (cx.interval(&images), cx.interval(&batch));
            if !images.contains(1) && images.meet(batch).is_none() {
                return Err(OpError::mismatch("the images of the priors", images, format!("1 or {batch}")));
            }
        }
        expect_size(cx, 2, 1, if self.variances() { 2 } else { 1 })?;
        let (priors, classes) = self.counts(cx)?;
        let boxes = match (self.keep(), self.settings.int("top_k", -1)) {
            (keep, _) if keep > 0 => keep.into(),
            (-1, top) if top > 0 => cx.mul(&classes, &top.into()),
            _ => cx.mul(&priors, &classes),
        };
        let rows = cx.mul(&batch, &boxes);
        let dims: SmallVec<[SymExpr; 4]> = smallvec![1.into(), 1.into(), rows, 7.into()];
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for DetectionOutput {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        check_inputs(inputs.len())?;
        let [offsets, scores, priors, first_stage @ ..] = inputs else { return Ok(Vec::new()) };
        let Sizes { images, columns, prior_images, prior_columns, count, classes } =
            self.sizes(scores, priors)?;
        let located = if self.shares_location() { 1 } else { classes };
        let offset_dims = [images, count.saturating_mul(located).saturating_mul(4)];
        check_dims("the offsets", offsets, &offset_dims)?;
        check_dims("the priors", priors, &[prior_images, 1 + usize::from(self.variances()), prior_columns])?;
        if let [objects, first] = first_stage {
            check_dims("the object scores", objects, &[images, count * 2])?;
            check_dims("the first offsets", first, &offset_dims)?;
        }
        let decreased = self.settings.bool("decrease_label_id", false);
        if decreased && self.settings.int("background_label_id", 0) != 0 {
            return Err(OpError::unsupported("`decrease_label_id` where the background is not class 0"));
        }
        let mut values = Vec::with_capacity(inputs.len());
        for input in inputs {
            values.push(input.to_f32_vec()?);
        }
        let part = |port: usize, image: usize, size: usize| -> &[f32] {
            let values = values.get(port).map_or(&[][..], Vec::as_slice);
            values.get(image * size..(image + 1) * size).unwrap_or_default()
        };
        let mut rows: Vec<f32> = Vec::new();
        for image in 0..images {
            let prior_size = prior_columns * (1 + usize::from(self.variances()));
            let priors = part(2, if prior_images == 1 { 0 } else { image }, prior_size);
            let stages = [4, 0].map(|port| part(port, image, offset_dims[1]));
            let decoder = Decoder::new(self, priors, count, located, stages);
            let scores = Scores {
                values: part(1, image, columns),
                objects: part(3, image, count * 2),
                classes,
                priors: decoder.used(),
            };
            for Found { class, score, corners, .. } in select(self, &decoder, &scores) {
                let label = class as i64 - i64::from(decreased);
                let corners = if self.settings.bool("clip_after_nms", false) {
                    corners.clipped(1.0, 1.0)
                } else {
                    corners
                };
                rows.extend([image as f32, label as f32, score]);
                rows.extend(corners.sides());
            }
        }
        let all = self.most_rows(count, classes).and_then(|each| each.checked_mul(images));
        let all = all.ok_or_else(|| OpError::unsupported("an output of that many rows"))?;
        if rows.len() / 7 < all {
            rows.push(-1.0);
        }
        rows.truncate(all * 7);
        Ok(vec![padded(&[1, 1, all, 7], rows)?.cast(offsets.element_type())?])
    }
}

/// What the inputs of a run hold.
struct Sizes {
    images: usize,
    /// Scores of an image.
    columns: usize,
    /// Images that have priors of their own, or 1.
    prior_images: usize,
    /// Numbers of the priors of an image.
    prior_columns: usize,
    /// Priors of an image.
    count: usize,
    classes: usize,
}

/// Three inputs, or five.
fn check_inputs(count: usize) -> Result<(), OpError> {
    match count {
        3 | 5 => Ok(()),
        got => Err(OpError::Arity { expected: "3 or 5".into(), got }),
    }
}

impl DetectionOutput {
    /// Rows for what is found in an image, of so many priors; `None` if they cannot be counted.
    fn most_rows(&self, priors: usize, classes: usize) -> Option<usize> {
        match (self.keep(), self.settings.int("top_k", -1)) {
            (keep, _) if keep > 0 => usize::try_from(keep).ok(),
            (-1, top) if top > 0 => usize::try_from(top).ok()?.checked_mul(classes),
            _ => priors.checked_mul(classes),
        }
    }

    /// The sizes of a run, which fit together.
    fn sizes(&self, scores: &Tensor, priors: &Tensor) -> Result<Sizes, OpError> {
        let (&[images, columns], &[prior_images, _, prior_columns]) = (scores.dims(), priors.dims()) else {
            let ranks = format!("{} and {}", scores.rank(), priors.rank());
            return Err(OpError::mismatch("the ranks of scores and priors", ranks, "2 and 3"));
        };
        let width = self.prior_width() as usize;
        let count = prior_columns / width;
        if count == 0 || prior_columns % width != 0 || columns % count != 0 {
            let found = format!("{columns} scores for {prior_columns} numbers of priors");
            return Err(OpError::mismatch("the number of priors", found, format!("a multiple of {width}")));
        }
        let classes = columns / count;
        if self.counted && i64::try_from(classes) != Ok(self.settings.int("num_classes", 0)) {
            let wanted = self.settings.int("num_classes", 0);
            return Err(OpError::mismatch("the number of classes", classes, wanted));
        }
        if prior_images != 1 && prior_images != images {
            let wanted = format!("1 or {images}");
            return Err(OpError::mismatch("the images of the priors", prior_images, wanted));
        }
        Ok(Sizes { images, columns, prior_images, prior_columns, count, classes })
    }

    /// Numbers of a prior: four corners, and before them an image where they are not normalized.
    pub(super) fn prior_width(&self) -> i64 {
        if self.settings.bool("normalized", false) { 4 } else { 5 }
    }

    /// Whether variances stand beside the priors.
    pub(super) fn variances(&self) -> bool {
        !self.settings.bool("variance_encoded_in_target", false)
    }

    /// Whether all classes have the same boxes.
    fn shares_location(&self) -> bool {
        self.settings.bool("share_location", true)
    }

    /// The most boxes of an image; -1 for all.
    pub(super) fn keep(&self) -> i64 {
        self.settings.ints("keep_top_k").first().copied().unwrap_or(-1)
    }

    /// The numbers of priors and classes, from whatever dims say them; all must agree.
    fn counts(&self, cx: &mut Infer) -> Result<(SymExpr, SymExpr), OpError> {
        let second_stage = cx.len() == 5;
        let mut priors = Common::default();
        priors.divide(cx, (2, 2), self.prior_width())?;
        if second_stage {
            priors.divide(cx, (3, 1), 2)?;
        }
        let located: &[usize] = if second_stage { &[0, 4] } else { &[0] };
        let classes = self.counted.then(|| self.settings.int("num_classes", 0));
        if let Some(classes) = classes {
            priors.divide(cx, (1, 1), classes)?;
        }
        if let Some(located_classes) = if self.shares_location() { Some(1) } else { classes } {
            for &port in located {
                priors.divide(cx, (port, 1), located_classes.saturating_mul(4))?;
            }
        }
        let priors = priors.get(cx);
        let classes = match (classes, priors.as_const()) {
            (Some(classes), _) => classes.into(),
            (None, Some(priors)) if priors > 0 => {
                let mut classes = Common::default();
                classes.divide(cx, (1, 1), priors)?;
                if !self.shares_location() {
                    for &port in located {
                        classes.divide(cx, (port, 1), priors.saturating_mul(4))?;
                    }
                }
                classes.get(cx)
            }
            (None, None) if cx.interval(&priors).lo() > 0 => match dim(cx, 1, 1) {
                Some(scores) => cx.floor_div(&scores, &priors),
                None => cx.unknown(Interval::DIM),
            },
            (None, _) => cx.unknown(Interval::DIM),
        };
        Ok((priors, classes))
    }
}

/// A number that several dims say, each a multiple of it.
#[derive(Default)]
struct Common(Option<SymExpr>);

impl Common {
    /// The number is a dim over `divisor`.
    fn divide(&mut self, cx: &mut Infer, (port, axis): (usize, usize), divisor: i64) -> Result<(), OpError> {
        let Some(dim) = dim(cx, port, axis) else { return Ok(()) };
        let wrong = |cx: &Infer, expected: String| {
            OpError::mismatch(format!("axis {axis} of input {port}"), cx.interval(&dim), expected)
        };
        if dim.as_const().is_some_and(|dim| divisor <= 0 || dim % divisor != 0) {
            return Err(wrong(cx, format!("a multiple of {divisor}")));
        }
        let number = cx.floor_div(&dim, &divisor.into());
        self.0 = Some(match self.0.take() {
            None => number,
            Some(other) => {
                let both = cx.merge(&other, &number);
                both.ok_or_else(|| wrong(cx, format!("{divisor} times {}", cx.interval(&other))))?
            }
        });
        Ok(())
    }

    fn get(self, cx: &mut Infer) -> SymExpr {
        self.0.unwrap_or_else(|| cx.unknown(Interval::DIM))
    }
}
