//! MatrixNms-8.

use snick_tensor::Tensor;

use super::box_grid::BoxGrid;
use super::checks::{check_dims, common_dim, dims_of, expect_f32_or_half, expect_ranks, expect_size};
use super::class_nms::{ClassNms, SelectedBox};
use super::corners::Corners;
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Matrix non-maximum suppression, which lowers the score of a box according to its overlap with boxes of
    /// higher score.
    ///
    /// Inputs: boxes `[N, boxes, 4]` and scores `[N, classes, boxes]`. Outputs: rows `[rows, 6]` of class,
    /// score and box, the index of each box among the boxes of all images `[rows, 1]`, and the number of rows
    /// of each image `[N]`.
    #[op(
        "MatrixNms", since = [8], inputs = Arity::exactly(2), category = Other, traits = [PURE],
        check = |op, _| op.rows.check()
    )]
    pub struct MatrixNms {
        /// Attributes shared with MulticlassNms.
        pub rows: ClassNms = ClassNms::default(),
        /// How scores decay with overlap.
        pub decay_function: Decay = Decay::Linear,
        /// The strength of the Gaussian decay.
        pub gaussian_sigma: f64 = 2.0,
        /// Boxes whose decayed score is this or lower are dropped.
        pub post_threshold: f64 = 0.0,
    }
}

/// How the score of a box decays with overlap. Each box of higher score yields a factor, and the smallest
/// factor applies. In the formulas, `iou` is the IoU of the two boxes, and `covered` is the largest IoU of
/// the higher-scoring box with a box of even higher score.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Decay {
    /// The score is multiplied by `(1 - iou) / (1 - covered)`.
    Linear,
    /// The score is multiplied by `exp(gaussian_sigma * (covered^2 - iou^2))`.
    Gaussian,
}

attr_words!(Decay { Linear = "linear", Gaussian = "gaussian" });

impl InferOp for MatrixNms {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_f32_or_half(cx, 0)?;
        expect_f32_or_half(cx, 1)?;
        cx.common_type(0..2);
        expect_ranks(cx, &[3, 3])?;
        expect_size(cx, 0, 2, 4)?;
        let images = common_dim(cx, &[(0, 0), (1, 0)])?;
        let boxes = common_dim(cx, &[(0, 1), (1, 2)])?;
        let classes = common_dim(cx, &[(1, 1)])?;
        Ok(self.rows.infer(cx, images, &classes, &boxes))
    }
}

impl EvalOp for MatrixNms {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [boxes, scores] = exactly(inputs)?;
        let [images, classes, count] = dims_of("the scores", scores)?;
        check_dims("the boxes", boxes, &[images, count, 4])?;
        let corners = Corners::all(&boxes.to_f32_vec()?);
        let mut rows: Vec<SelectedBox> = Vec::new();
        let scores = scores.to_f32_vec()?;
        let mut by_class = scores.chunks_exact(count.max(1));
        for image in 0..images {
            let first = image * count;
            let corners = corners.get(first..first + count).unwrap_or_default();
            let mut of_image = Vec::new();
            for (class, scores) in by_class.by_ref().take(classes).enumerate() {
                if !self.rows.selects(class) {
                    continue;
                }
                let decayed = self.decayed(corners, scores);
                of_image.extend(decayed.into_iter().map(|(position, score)| SelectedBox {
                    image,
                    class,
                    index: first + position,
                    position,
                    score,
                    coordinates: corners.get(position).map_or([0.0; 4], Corners::coordinates),
                }));
            }
            rows.extend(self.rows.best_rows(of_image));
        }
        self.rows.outputs(rows, images, boxes)
    }
}

impl MatrixNms {
    /// Positions and decayed scores of the boxes of one class that exceed `post_threshold`.
    fn decayed(&self, corners: &[Corners], scores: &[f32]) -> Vec<(usize, f32)> {
        let good = self.rows.candidates(scores, f32::gt);
        let unit = self.rows.unit();
        let sigma = self.gaussian_sigma as f32;
        let corners = |position: usize| corners.get(position).copied().unwrap_or_default();
        let all: Vec<Corners> = good.iter().map(|&(position, _)| corners(position)).collect();
        // Boxes that are apart yield a factor of at least 1, unless sigma is negative.
        let is_usual = self.decay_function == Decay::Linear || sigma >= 0.0;
        let mut grid = if is_usual { BoxGrid::new(all.iter()) } else { BoxGrid::undivided() };
        // The largest overlap of each box with a box of higher score.
        let mut covered: Vec<f32> = Vec::with_capacity(good.len());
        let mut kept = Vec::new();
        for (&(position, score), own) in good.iter().zip(&all) {
            let (mut most, mut decay) = (0f32, 1f32);
            grid.any_near(own, 0.0, |better, other| {
                let Some(&hidden) = covered.get(better) else { return false };
                let overlap = overlap(own, other, unit);
                most = most.max(overlap);
                decay = decay.min(match self.decay_function {
                    Decay::Gaussian => ((hidden * hidden - overlap * overlap) * sigma).exp(),
                    Decay::Linear => (1.0 - overlap) / (1.0 - hidden + 1e-10),
                });
                false
            });
            grid.insert(own);
            covered.push(most);
            if decay * score > self.post_threshold as f32 {
                kept.push((position, decay * score));
            }
        }
        kept
    }
}

/// Intersection over union; the area of a box with swapped corners is 0.
fn overlap(a: &Corners, b: &Corners, unit: f32) -> f32 {
    let area = |corners: &Corners| {
        let exchanged = corners.right < corners.left || corners.bottom < corners.top;
        if exchanged { 0.0 } else { corners.area(unit) }
    };
    match a.intersection(b, unit) {
        Some([width, height]) => {
            let shared = width * height;
            shared / (area(a) + area(b) - shared)
        }
        None => 0.0,
    }
}
