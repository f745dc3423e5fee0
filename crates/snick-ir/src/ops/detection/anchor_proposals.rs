//! Box proposals from anchors: shared code of GenerateProposals and
//! ExperimentalDetectronGenerateProposalsSingleImage.

use snick_tensor::Tensor;

use super::checks::{check_dims, dims_of, wrong_shape};
use super::corners::Corners;
use super::greedy_nms::nms;
use super::partial_sort::keep_first;
use crate::OpError;

attrs! {
    /// Attributes shared by GenerateProposals and ExperimentalDetectronGenerateProposalsSingleImage.
    pub struct ProposalLimits {
        /// The minimum width and height of a box.
        pub min_size: f64 = 0.0,
        /// A box is suppressed if its IoU with a box of higher score exceeds this.
        pub nms_threshold: f64 = 0.0,
        /// The maximum number of boxes per image after suppression.
        pub post_nms_count: usize = 0,
        /// The maximum number of boxes per image before suppression.
        pub pre_nms_count: usize = 0,
    }
}

/// The maximum ratio of a side of a box to the same side of its anchor: 1000 / 16.
const MAX_GROWTH: f32 = 62.5;

/// Parameters of refinement and selection.
pub struct Selection<'a> {
    /// The attributes.
    pub limits: &'a ProposalLimits,
    /// Added to lengths: 1 if a box includes the pixels at its corners, else 0.
    pub unit: f32,
    /// Added to lengths when computing IoU.
    pub iou_unit: f32,
    /// Whether `min_size` is multiplied by the scale of the image.
    pub is_scaled: bool,
    /// Whether to drop boxes that are too small; otherwise their score becomes 0.
    pub drops_small: bool,
}

/// The proposed boxes of all images.
#[derive(Default)]
pub struct Proposed {
    /// Four coordinates per box.
    pub boxes: Vec<f32>,
    /// A score per box.
    pub scores: Vec<f32>,
    /// The number of boxes of each image.
    pub counts: Vec<i64>,
}

impl Selection<'_> {
    /// Proposes boxes from image sizes `[N, 3 or 4]`, anchors in the order `[H, W, A]`, deltas
    /// `[N, 4 * A, H, W]` and scores `[N, A, H, W]`.
    pub fn propose(
        &self,
        sizes: &Tensor,
        anchors: &Tensor,
        deltas: &Tensor,
        scores: &Tensor,
    ) -> Result<Proposed, OpError> {
        let [images, kinds, height, width] = dims_of("the scores", scores)?;
        let &[_, numbers @ 3..=4] = sizes.dims() else {
            return Err(wrong_shape("the image sizes", sizes, format!("[{images},3] or [{images},4]")));
        };
        check_dims("the image sizes", sizes, &[images, numbers])?;
        check_dims("the deltas", deltas, &[images, kinds.saturating_mul(4), height, width])?;
        let deltas = cell_by_cell(deltas, kinds)?;
        let scores = scores.permute(&[0, 2, 3, 1])?.to_f32_vec()?;
        let anchors = Corners::all(&anchors.to_f32_vec()?);
        let each = anchors.len().max(1);
        let mut proposed = Proposed::default();
        for (image, size) in sizes.to_f32_vec()?.chunks_exact(numbers).enumerate() {
            let deltas = deltas.as_chunks::<4>().0.iter().skip(image * each);
            let scores = scores.iter().skip(image * each);
            let candidates = anchors.iter().zip(deltas).zip(scores);
            let chosen = self.choose(size, candidates.map(|((anchor, by), score)| (anchor, *by, *score)));
            proposed.counts.push(chosen.len() as i64);
            for (corners, score) in chosen {
                proposed.boxes.extend(corners.coordinates());
                proposed.scores.push(score);
            }
        }
        Ok(proposed)
    }

    /// The boxes of one image with their scores, best first.
    fn choose<'c>(
        &self,
        size: &[f32],
        candidates: impl Iterator<Item = (&'c Corners, [f32; 4], f32)>,
    ) -> Vec<(Corners, f32)> {
        let (height, width, scales) = match *size {
            [height, width, scale] => (height, width, [scale, scale]),
            [height, width, y, x] => (height, width, [y, x]),
            _ => (0.0, 0.0, [0.0, 0.0]),
        };
        let unit = self.unit;
        let least = self.limits.min_size as f32;
        let least = if self.is_scaled { scales.map(|scale| least * scale) } else { [least, least] };
        let is_large = |corners: &Corners| {
            let [width, height] = corners.size(unit);
            least[0] <= height && least[1] <= width
        };
        let mut boxes: Vec<(Corners, f32)> = candidates
            .map(|(anchor, by, score)| {
                let refined = anchor.with_deltas(by, unit, MAX_GROWTH.ln()).inclusive(unit);
                let corners = refined.clipped(width - unit, height - unit);
                (corners, if self.drops_small || is_large(&corners) { score } else { 0.0 * score })
            })
            .collect();
        // Boxes that the next step drops because they are too small still count towards this limit.
        keep_first(&mut boxes, self.limits.pre_nms_count, |a, b| a.1 > b.1);
        if self.drops_small {
            boxes.retain(|(corners, _)| is_large(corners));
        }
        let threshold = self.limits.nms_threshold as f32;
        nms(&boxes, |(corners, _)| *corners, self.iou_unit, threshold, self.limits.post_nms_count)
    }
}

/// Transposes deltas `[N, 4 * kinds, H, W]` to `[N, H, W, kinds, 4]`.
pub fn cell_by_cell(deltas: &Tensor, kinds: usize) -> Result<Vec<f32>, OpError> {
    let [images, _, height, width] = dims_of("the deltas", deltas)?;
    let split = deltas.reshape(&[images, kinds, 4, height, width])?;
    Ok(split.permute(&[0, 3, 4, 1, 2])?.to_f32_vec()?)
}
