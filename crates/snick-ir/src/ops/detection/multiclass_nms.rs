//! MulticlassNms-8 and -9: the best boxes of each class that do not cover each other. Version 9 adds boxes of
//! their own for each class.

use snick_tensor::{ElementType, Tensor};

use super::checks::{check_dims, common_dim, expect_index_type, expect_rank, expect_single, expect_size};
use super::class_rows::{ORDERS, SelectedBox, SortBy, candidates, facts, limit, outputs, parse, unit};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Boxes `[N, boxes, 4]` and scores `[N, classes, boxes]`, or boxes `[classes, all boxes, 4]`, scores
/// `[classes, all boxes]` and the number of boxes of each image, to rows of class, score and box, the index of each
/// box, and the number of rows of each image.
#[derive(Clone, PartialEq, Debug)]
pub struct MulticlassNms {
    /// The type of indices and counts.
    pub output_type: ElementType,
    settings: Settings,
}

/// Its own attributes.
const TABLE: Table = &[("iou_threshold", Kind::Float), ("nms_eta", Kind::Float)];

impl OpDef for MulticlassNms {
    const NAMES: &'static [OpName] = &[OpName::openvino("MulticlassNms", &[8, 9])];
    const ARITY: Arity = Arity::between(2, 3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let (settings, output_type) = parse(&raw.attrs, TABLE)?;
        if !(0.0..=1.0).contains(&settings.float("nms_eta", 1.0)) {
            return Err(raw.attrs.bad("nms_eta", "a number from 0 to 1"));
        }
        Ok(Self { output_type, settings })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs().with("output_type", self.output_type)
    }
}

impl InferOp for MulticlassNms {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_single(cx, 0)?;
        expect_single(cx, 1)?;
        cx.common_type(0..2);
        let own_boxes = cx.len() == 3;
        expect_rank(cx, 0, 3)?;
        expect_rank(cx, 1, if own_boxes { 2 } else { 3 })?;
        expect_size(cx, 0, 2, 4)?;
        let first = common_dim(cx, &[(0, 0), (1, 0)])?;
        let boxes = common_dim(cx, &[(0, 1), (1, if own_boxes { 1 } else { 2 })])?;
        let (images, classes) = if own_boxes {
            if cx.element_type(2) != ElementType::Dynamic {
                expect_index_type("roisnum", cx.element_type(2))?;
            }
            expect_rank(cx, 2, 1)?;
            (common_dim(cx, &[(2, 0)])?, first)
        } else {
            (first, common_dim(cx, &[(1, 1)])?)
        };
        Ok(facts(cx, &self.settings, self.output_type, images, &classes, &boxes))
    }
}

impl EvalOp for MulticlassNms {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [boxes, scores, ..] = inputs else { return Ok(Vec::new()) };
        let images = match inputs.get(2) {
            None => shared_boxes(boxes, scores)?,
            Some(counts) => own_boxes(boxes, scores, &counts.to_i64_vec()?)?,
        };
        let values = (boxes.to_f32_vec()?, scores.to_f32_vec()?);
        let sides = values.0.as_chunks::<4>().0;
        let background = limit(&self.settings, "background_class");
        let mut rows: Vec<SelectedBox> = Vec::new();
        for (image, classes) in images.iter().enumerate() {
            let mut of_image: Vec<SelectedBox> = Vec::new();
            for (class, run) in classes.iter().enumerate().filter(|&(class, _)| class != background) {
                let range = |first: usize| first..first + run.count;
                let sides = sides.get(range(run.boxes)).unwrap_or_default();
                let scores = values.1.get(range(run.scores)).unwrap_or_default();
                of_image.extend(self.nms(sides, scores).into_iter().map(|(place, score)| SelectedBox {
                    image,
                    class,
                    index: (run.index + place) * run.index_step + run.index_shift,
                    place,
                    score,
                    sides: sides.get(place).copied().unwrap_or_default(),
                }));
            }
            of_image.sort_by(SelectedBox::by_score);
            of_image.truncate(limit(&self.settings, "keep_top_k"));
            if self.settings.choice("sort_result_type", ORDERS) == Some(SortBy::Class) {
                of_image.sort_by(SelectedBox::by_class);
            }
            rows.extend(of_image);
        }
        outputs(&self.settings, rows, images.len(), self.output_type, boxes.element_type())
    }
}

/// Where the boxes of one class of one image lie.
struct Run {
    boxes: usize,
    scores: usize,
    count: usize,
    /// The index of the box at `place` is `(index + place) * index_step + index_shift`.
    index: usize,
    index_step: usize,
    index_shift: usize,
}

/// The runs of each image where all classes share the boxes of the image.
fn shared_boxes(boxes: &Tensor, scores: &Tensor) -> Result<Vec<Vec<Run>>, OpError> {
    let &[images, classes, count] = scores.dims() else {
        return Err(OpError::rank("the scores", scores.rank(), "3"));
    };
    check_dims("the boxes", boxes, &[images, count, 4])?;
    let classes = if scores.is_empty() { 0 } else { classes };
    let run = |image: usize, class: usize| Run {
        boxes: image * count,
        scores: (image * classes + class) * count,
        count,
        index: image * count,
        index_step: 1,
        index_shift: 0,
    };
    Ok((0..images).map(|image| (0..classes).map(|class| run(image, class)).collect()).collect())
}

/// The runs of each image where each class has boxes of its own, those of all images one after the other.
fn own_boxes(boxes: &Tensor, scores: &Tensor, counts: &[i64]) -> Result<Vec<Vec<Run>>, OpError> {
    let &[classes, all] = scores.dims() else {
        return Err(OpError::rank("the scores", scores.rank(), "2"));
    };
    check_dims("the boxes", boxes, &[classes, all, 4])?;
    let classes = if scores.is_empty() { 0 } else { classes };
    let mut first = 0usize;
    let mut images = Vec::with_capacity(counts.len());
    for &count in counts {
        let count = usize::try_from(count).unwrap_or(0);
        let end = first.checked_add(count).filter(|&end| end <= all);
        let end = end.ok_or_else(|| {
            OpError::mismatch("the boxes of all images", format!("{counts:?}"), format!("at most {all}"))
        })?;
        let run = |class: usize| Run {
            boxes: class * all + first,
            scores: class * all + first,
            count,
            index: first,
            index_step: classes,
            index_shift: class,
        };
        images.push((0..classes).map(run).collect());
        first = end;
    }
    Ok(images)
}

impl MulticlassNms {
    /// The boxes of one class that stay, with their scores, the best first.
    fn nms(&self, sides: &[[f32; 4]], scores: &[f32]) -> Vec<(usize, f32)> {
        let good = candidates(&self.settings, scores, f32::ge);
        let unit = unit(&self.settings);
        let eta = self.settings.float("nms_eta", 1.0) as f32;
        let mut threshold = self.settings.float("iou_threshold", 0.0) as f32;
        let mut kept: Vec<(usize, f32)> = Vec::new();
        for (place, score) in good {
            let covers = |&(other, _): &(usize, f32)| match (sides.get(place), sides.get(other)) {
                (Some(a), Some(b)) => overlap(a, b, unit) >= threshold,
                _ => false,
            };
            if kept.iter().any(covers) {
                continue;
            }
            kept.push((place, score));
            // The limit sinks with every box that stays, but not below a half.
            if eta < 1.0 && threshold > 0.5 {
                threshold *= eta;
            }
        }
        kept
    }
}

/// The shared area over the area of both together. Unlike [`super::corners::Corners::overlap`], boxes less than
/// one unit apart still overlap.
fn overlap(a: &[f32; 4], b: &[f32; 4], unit: f32) -> f32 {
    let area = |[x0, y0, x1, y1]: [f32; 4]| (x1 - x0 + unit) * (y1 - y0 + unit);
    let areas = [area(*a), area(*b)];
    if areas.iter().any(|&area| area <= 0.0) {
        return 0.0;
    }
    let ([x0, y0, x1, y1], [u0, v0, u1, v1]) = (*a, *b);
    let width = (x1.min(u1) - x0.max(u0) + unit).max(0.0);
    let height = (y1.min(v1) - y0.max(v0) + unit).max(0.0);
    let shared = width * height;
    shared / (areas[0] + areas[1] - shared)
}
