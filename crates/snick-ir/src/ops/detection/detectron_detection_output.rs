//! ExperimentalDetectronDetectionOutput-6: regions refined for each class, and the best detections of an image.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::checks::{check_dims, common_dim, common_float, expect_rank, expect_size, padded};
use super::corners::{Corners, best_first, nms};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Regions `[rois, 4]`, offsets `[rois, 4 * classes]`, scores `[rois, classes]` and the image's sizes `[1, 3]`, which
/// nothing depends on, to boxes, classes and scores of `max_detections_per_image` rows; rows not used are zeros.
#[derive(Clone, PartialEq, Debug)]
pub struct DetectronDetectionOutput {
    settings: Settings,
}

const TABLE: Table = &[
    ("score_threshold", Kind::Float),
    ("nms_threshold", Kind::Float),
    ("max_delta_log_wh", Kind::Float),
    ("num_classes", Kind::Int),
    ("post_nms_count", Kind::Int),
    ("max_detections_per_image", Kind::Int),
    ("class_agnostic_box_regression", Kind::Bool),
    ("deltas_weights", Kind::Floats),
];

/// Corners are pixels that belong to the box.
const UNIT: f32 = 1.0;

impl OpDef for DetectronDetectionOutput {
    const NAMES: &'static [OpName] =
        &[OpName::openvino("ExperimentalDetectronDetectionOutput", &[6]).was_extension()];
    const ARITY: Arity = Arity::exactly(4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { settings: Settings::parse(&raw.attrs, TABLE)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }
}

impl InferOp for DetectronDetectionOutput {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..4)?;
        (0..4).try_for_each(|port| expect_rank(cx, port, 2))?;
        let classes = self.settings.int("num_classes", 0);
        expect_size(cx, 0, 1, 4)?;
        expect_size(cx, 1, 1, classes.saturating_mul(4))?;
        expect_size(cx, 2, 1, classes)?;
        expect_size(cx, 3, 0, 1)?;
        expect_size(cx, 3, 1, 3)?;
        common_dim(cx, &[(0, 0), (1, 0), (2, 0)])?;
        let rows = SymExpr::from(self.rows()? as i64);
        let boxes: SmallVec<[SymExpr; 4]> = smallvec![rows.clone(), 4.into()];
        let rows = Shape::ranked([rows]);
        Ok(smallvec![
            Fact::new(element_type, Shape::ranked(boxes)),
            Fact::new(ElementType::I32, rows.clone()),
            Fact::new(element_type, rows),
        ])
    }
}

impl EvalOp for DetectronDetectionOutput {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [regions, offsets, scores, _] = inputs else { return Ok(Vec::new()) };
        let &[count, classes] = scores.dims() else {
            return Err(OpError::rank("the scores", scores.rank(), "2"));
        };
        check_dims("the regions", regions, &[count, 4])?;
        check_dims("the offsets", offsets, &[count, classes.saturating_mul(4)])?;
        let limits = [self.settings.int("post_nms_count", 0), self.settings.int("num_classes", 0)];
        if usize::try_from(limits[1]) != Ok(classes) {
            return Err(OpError::mismatch("the number of classes", classes, limits[1]));
        }
        let most = if limits[0] == -1 { usize::MAX } else { usize::try_from(limits[0]).unwrap_or(0) };
        let rows = self.rows()?;
        let regions = Corners::all(&regions.to_f32_vec()?);
        let (offsets, scores) = (offsets.to_f32_vec()?, scores.to_f32_vec()?);
        let mut found: Vec<Detection> = Vec::new();
        // Class 0 is the background.
        for class in 1..classes {
            let class_of = |region: usize| region * classes + class;
            let refined: Vec<Detection> = regions
                .iter()
                .enumerate()
                .map(|(region, corners)| {
                    let by = offsets.as_chunks::<4>().0.get(class_of(region)).copied().unwrap_or_default();
                    let score = scores.get(class_of(region)).copied().unwrap_or(0.0);
                    self.refined(corners, by, score, class, region)
                })
                .collect();
            found.extend(self.best(refined, most));
        }
        if found.len() > rows {
            found.sort_by(|a, b| best_first(a.score, b.score).then(a.region.cmp(&b.region)));
            found.truncate(rows);
        }
        let et = inputs[0].element_type();
        let boxes = found.iter().flat_map(|detection| detection.corners.sides()).collect();
        let classes = found.iter().map(|detection| detection.class as i32).collect();
        let scores = found.iter().map(|detection| detection.score).collect();
        Ok(vec![
            padded::<f32>(&[rows, 4], boxes)?.cast(et)?,
            padded::<i32>(&[rows], classes)?,
            padded::<f32>(&[rows], scores)?.cast(et)?,
        ])
    }
}

/// A region as a box of a class.
#[derive(Copy, Clone, Default)]
struct Detection {
    class: usize,
    region: usize,
    score: f32,
    corners: Corners,
}

impl DetectronDetectionOutput {
    /// Rows of the outputs.
    fn rows(&self) -> Result<usize, OpError> {
        let rows = self.settings.int("max_detections_per_image", 0);
        usize::try_from(rows)
            .map_err(|_| OpError::out_of_range("`max_detections_per_image`", rows, "0 or more"))
    }

    fn refined(&self, corners: &Corners, by: [f32; 4], score: f32, class: usize, region: usize) -> Detection {
        let [width, height] = corners.size(0.0);
        if width <= 0.0 || height <= 0.0 {
            return Detection { class, region, ..Detection::default() };
        }
        let weights = self.settings.floats("deltas_weights");
        let mut by = by;
        for (offset, weight) in by.iter_mut().zip(weights) {
            *offset /= weight as f32;
        }
        let limit = self.settings.float("max_delta_log_wh", 0.0) as f32;
        let corners = corners.refined(by, UNIT, limit).inclusive(UNIT);
        Detection { class, region, score, corners: corners.clipped(f32::INFINITY, f32::INFINITY) }
    }

    /// Of the boxes of one class those good enough that do not cover each other, the best first.
    fn best(&self, mut boxes: Vec<Detection>, most: usize) -> Vec<Detection> {
        let least = self.settings.float("score_threshold", 0.0) as f32;
        boxes.retain(|detection| detection.score > least);
        boxes.sort_by(|a, b| best_first(a.score, b.score));
        let corners: Vec<Corners> = boxes.iter().map(|detection| detection.corners).collect();
        let threshold = self.settings.float("nms_threshold", 0.0) as f32;
        let kept = nms(&corners, UNIT, threshold, most);
        kept.into_iter().filter_map(|i| boxes.get(i).copied()).collect()
    }
}
