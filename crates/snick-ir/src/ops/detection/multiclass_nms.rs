//! MulticlassNms-8 and MulticlassNms-9.

use snick_shape::SymExpr;
use snick_tensor::{Listed, Tensor};

use super::box_grid::BoxGrid;
use super::checks::{check_dims, common_dim, dims_of, expect_f32_or_half, expect_ranks, expect_size};
use super::class_nms::{ClassNms, SelectedBox, SortBy};
use super::corners::Corners;
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, RawNode, leading};

op! {
    /// Greedy non-maximum suppression for each class.
    ///
    /// Inputs: boxes `[N, boxes, 4]` and scores `[N, classes, boxes]`, if all classes of an image share its
    /// boxes. Since opset 9, each class may have its own boxes instead: boxes `[classes, all boxes, 4]`,
    /// scores `[classes, all boxes]` and the number of boxes of each image `[N]`. Outputs: rows `[rows, 6]`
    /// of class, score and box, the index of each box `[rows, 1]`, and the number of rows of each image
    /// `[N]`.
    #[op(
        "MulticlassNms", since = [8, 9], inputs = Arity::between(2, 3), category = Other, traits = [PURE],
        check = Self::check_attrs
    )]
    pub struct MulticlassNms {
        /// Attributes shared with MatrixNms.
        pub rows: ClassNms = ClassNms::default(),
        /// A box is suppressed if its IoU with a box of higher score is at least this.
        pub iou_threshold: f64 = 0.0,
        /// Multiplier from 0 to 1 that lowers the threshold after each kept box, as long as the threshold is
        /// above 0.5.
        pub nms_eta: f64 = 1.0,
    }
}

impl InferOp for MulticlassNms {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let [images, classes, boxes] = sizes(cx)?;
        Ok(self.rows.infer(cx, images, &classes, &boxes))
    }
}

/// The numbers of images, classes and boxes.
pub(super) fn sizes(cx: &mut Infer) -> Result<[SymExpr; 3], OpError> {
    expect_f32_or_half(cx, 0)?;
    expect_f32_or_half(cx, 1)?;
    cx.common_type(0..2);
    let own_boxes = cx.len() == 3;
    expect_ranks(cx, &[3, if own_boxes { 2 } else { 3 }, 1])?;
    expect_size(cx, 0, 2, 4)?;
    let first = common_dim(cx, &[(0, 0), (1, 0)])?;
    let boxes = common_dim(cx, &[(0, 1), (1, if own_boxes { 1 } else { 2 })])?;
    if own_boxes {
        cx.expect_index(2)?;
        return Ok([common_dim(cx, &[(2, 0)])?, first, boxes]);
    }
    Ok([first, common_dim(cx, &[(1, 1)])?, boxes])
}

impl EvalOp for MulticlassNms {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([boxes, scores], counts) = leading(inputs)?;
        let images = match counts.first() {
            None => shared_boxes(boxes, scores)?,
            Some(counts) => own_boxes(boxes, scores, &counts.to_i64_vec()?)?,
        };
        let values = (boxes.to_f32_vec()?, scores.to_f32_vec()?);
        let coordinates = values.0.as_chunks::<4>().0;
        let mut rows: Vec<SelectedBox> = Vec::new();
        for (image, classes) in images.iter().enumerate() {
            let mut of_image: Vec<SelectedBox> = Vec::new();
            for (class, run) in classes.iter().enumerate().filter(|&(class, _)| self.rows.selects(class)) {
                let range = |first: usize| first..first + run.count;
                let coordinates = coordinates.get(range(run.boxes)).unwrap_or_default();
                let scores = values.1.get(range(run.scores)).unwrap_or_default();
                of_image.extend(self.nms(coordinates, scores).into_iter().map(|(position, score)| {
                    SelectedBox {
                        image,
                        class,
                        index: (run.index + position) * run.index_step + run.index_shift,
                        position,
                        score,
                        coordinates: coordinates.get(position).copied().unwrap_or_default(),
                    }
                }));
            }
            let mut of_image = self.rows.best_rows(of_image);
            if self.rows.sort_result_type == SortBy::Class {
                of_image.sort_by(SelectedBox::by_class);
            }
            rows.extend(of_image);
        }
        self.rows.outputs(rows, images.len(), boxes)
    }
}

/// The boxes of one class and one image, which are contiguous in the inputs.
struct Run {
    boxes: usize,
    scores: usize,
    count: usize,
    /// The box at `position` of this run has the index `(index + position) * index_step + index_shift` in
    /// output 1.
    index: usize,
    index_step: usize,
    index_shift: usize,
}

/// For each image, the [`Run`] of each class, if all classes share the boxes of the image.
fn shared_boxes(boxes: &Tensor, scores: &Tensor) -> Result<Vec<Vec<Run>>, OpError> {
    let [images, classes, count] = dims_of("the scores", scores)?;
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

/// For each image, the [`Run`] of each class, if each class has its own boxes; `boxes` concatenates the boxes
/// of all images.
fn own_boxes(boxes: &Tensor, scores: &Tensor, counts: &[i64]) -> Result<Vec<Vec<Run>>, OpError> {
    let [classes, all] = dims_of("the scores", scores)?;
    check_dims("the boxes", boxes, &[classes, all, 4])?;
    let classes = if scores.is_empty() { 0 } else { classes };
    let mut first = 0usize;
    let mut images = Vec::with_capacity(counts.len());
    for &count in counts {
        let count = usize::try_from(count).unwrap_or(0);
        let end = first.checked_add(count).filter(|&end| end <= all);
        let end = end.ok_or_else(|| {
            OpError::mismatch(
                "the number of boxes of each image",
                Listed(counts),
                format!("at most {all} in all"),
            )
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
    fn check_attrs(&self, raw: &RawNode) -> Result<(), OpError> {
        self.rows.check()?;
        match (0.0..=1.0).contains(&self.nms_eta) {
            true => Ok(()),
            false => Err(raw.attrs.bad("nms_eta", "a number from 0 to 1")),
        }
    }

    /// Positions and scores of the kept boxes of one class, best first.
    fn nms(&self, boxes: &[[f32; 4]], scores: &[f32]) -> Vec<(usize, f32)> {
        let unit = self.rows.unit();
        let eta = self.nms_eta as f32;
        let mut threshold = self.iou_threshold as f32;
        let candidates = self.rows.candidates(scores, f32::ge);
        let corners = |position: usize| boxes.get(position).map(|&corners| Corners::from(corners));
        let all: Vec<Corners> = candidates.iter().filter_map(|&(position, _)| corners(position)).collect();
        // A threshold of 0 is reached by boxes that are apart.
        let mut grid = if threshold > 0.0 { BoxGrid::new(all.iter()) } else { BoxGrid::undivided() };
        let mut kept: Vec<(usize, f32)> = Vec::new();
        for (position, score) in candidates {
            let Some(own) = corners(position) else { continue };
            // Twice the distance at which boxes overlap, because that is rounded.
            if grid.any_near(&own, 2.0 * unit, |_, other| overlap(&own, other, unit) >= threshold) {
                continue;
            }
            grid.insert(&own);
            kept.push((position, score));
            // The threshold decreases with every kept box until it is at most 0.5.
            if eta < 1.0 && threshold > 0.5 {
                threshold *= eta;
            }
        }
        kept
    }
}

/// Intersection over union. Unlike in [`super::corners::Corners::iou`], boxes less than one unit apart
/// overlap.
fn overlap(a: &Corners, b: &Corners, unit: f32) -> f32 {
    let areas = [a.area(unit), b.area(unit)];
    let width = (a.right.min(b.right) - a.left.max(b.left) + unit).max(0.0);
    let height = (a.bottom.min(b.bottom) - a.top.max(b.top) + unit).max(0.0);
    let shared = width * height;
    let overlap = shared / (areas[0] + areas[1] - shared);
    if areas.iter().any(|&area| area <= 0.0) { 0.0 } else { overlap }
}
