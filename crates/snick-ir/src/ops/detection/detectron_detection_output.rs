//! ExperimentalDetectronDetectionOutput-6.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::checks::{
    check_dims, common_dim, common_float, dims_of, expect_ranks, expect_size, limit, zero_padded,
};
use super::corners::{Corners, highest_first};
use super::greedy_nms::nms;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Refines regions for each class and selects the best detections of an image.
    ///
    /// Inputs: regions `[rois, 4]`, deltas `[rois, 4 * classes]`, scores `[rois, classes]`, where class 0 is
    /// the background, and the size of the image `[1, 3]`, which is ignored. Outputs: boxes
    /// `[max_detections_per_image, 4]`, and classes and scores `[max_detections_per_image]`. Unused rows are
    /// zero.
    #[op(
        "ExperimentalDetectronDetectionOutput", since = [6], inputs = Arity::exactly(4),
        category = Other, traits = [PURE],
        name = was_extension()
    )]
    pub struct DetectronDetectionOutput {
        /// Boxes with this score or a lower one are dropped.
        pub score_threshold: f64 = 0.0,
        /// A box is suppressed if its IoU with a box of higher score exceeds this.
        pub nms_threshold: f64 = 0.0,
        /// Upper limit for the width and height deltas, which are exponents.
        pub max_delta_log_wh: f64 = 0.0,
        /// The number of classes, including the background.
        pub num_classes: i64 = 0,
        /// The maximum number of boxes per class; -1 for all.
        pub post_nms_count: i64 = 0,
        /// Number of rows in the outputs.
        pub max_detections_per_image: usize = 0,
        /// Whether all classes share the same deltas; ignored.
        pub class_agnostic_box_regression: bool = false,
        /// Divisors of the four deltas.
        pub deltas_weights: Vec<f64> = Vec::new(),
    }
}

/// The number to add to lengths, because a box includes the pixels at its corners.
const UNIT: f32 = 1.0;

impl InferOp for DetectronDetectionOutput {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..4)?;
        expect_ranks(cx, &[2; 4])?;
        expect_size(cx, 0, 1, 4)?;
        expect_size(cx, 1, 1, self.num_classes.saturating_mul(4))?;
        expect_size(cx, 2, 1, self.num_classes)?;
        expect_size(cx, 3, 0, 1)?;
        expect_size(cx, 3, 1, 3)?;
        common_dim(cx, &[(0, 0), (1, 0), (2, 0)])?;
        let rows = SymExpr::from(self.max_detections_per_image as i64);
        let boxes = Shape::ranked([rows.clone(), 4.into()]);
        let rows = Shape::ranked([rows]);
        Ok(Facts::from([
            Fact::new(element_type, boxes),
            Fact::new(ElementType::I32, rows.clone()),
            Fact::new(element_type, rows),
        ]))
    }
}

impl EvalOp for DetectronDetectionOutput {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [regions, deltas, scores, _] = exactly(inputs)?;
        let [count, classes] = dims_of("the scores", scores)?;
        check_dims("the regions", regions, &[count, 4])?;
        check_dims("the deltas", deltas, &[count, classes.saturating_mul(4)])?;
        if usize::try_from(self.num_classes) != Ok(classes) {
            return Err(OpError::mismatch("the number of classes", classes, self.num_classes));
        }
        let (et, rows) = (regions.element_type(), self.max_detections_per_image);
        let regions = Corners::all(&regions.to_f32_vec()?);
        let (deltas, scores) = (deltas.to_f32_vec()?, scores.to_f32_vec()?);
        let mut found: Vec<Detection> = Vec::new();
        // Class 0 is the background.
        for class in 1..classes {
            let refined = regions.iter().enumerate().map(|(region, corners)| {
                let index = region * classes + class;
                let by = deltas.as_chunks::<4>().0.get(index).copied().unwrap_or_default();
                let score = scores.get(index).copied().unwrap_or(0.0);
                self.refined(corners, by, score, class, region)
            });
            found.extend(self.best(refined.collect()));
        }
        if found.len() > rows {
            found.sort_by(|a, b| highest_first(a.score, b.score).then(a.region.cmp(&b.region)));
            found.truncate(rows);
        }
        let boxes = found.iter().flat_map(|detection| detection.corners.coordinates()).collect();
        let classes = found.iter().map(|detection| detection.class as i32).collect();
        let scores = found.iter().map(|detection| detection.score).collect();
        Ok(vec![
            zero_padded::<f32>(&[rows, 4], boxes)?.cast(et)?,
            zero_padded::<i32>(&[rows], classes)?,
            zero_padded::<f32>(&[rows], scores)?.cast(et)?,
        ])
    }
}

/// A region refined for one class.
#[derive(Copy, Clone, Default)]
struct Detection {
    class: usize,
    region: usize,
    score: f32,
    corners: Corners,
}

impl DetectronDetectionOutput {
    fn refined(&self, corners: &Corners, by: [f32; 4], score: f32, class: usize, region: usize) -> Detection {
        let [width, height] = corners.size(0.0);
        if width <= 0.0 || height <= 0.0 {
            return Detection { class, region, ..Detection::default() };
        }
        let mut by = by;
        for (delta, &weight) in by.iter_mut().zip(&self.deltas_weights) {
            *delta /= weight as f32;
        }
        let corners = corners.with_deltas(by, UNIT, self.max_delta_log_wh as f32).inclusive(UNIT);
        Detection { class, region, score, corners: corners.clipped(f32::INFINITY, f32::INFINITY) }
    }

    /// The boxes of one class that pass the threshold and suppression, best first.
    fn best(&self, mut boxes: Vec<Detection>) -> Vec<Detection> {
        let threshold = self.score_threshold as f32;
        boxes.retain(|detection| detection.score > threshold);
        boxes.sort_by(|a, b| highest_first(a.score, b.score));
        let threshold = self.nms_threshold as f32;
        nms(&boxes, |detection| detection.corners, UNIT, threshold, limit(self.post_nms_count))
    }
}
