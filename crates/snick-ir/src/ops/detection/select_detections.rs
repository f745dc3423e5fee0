//! Selects the detections of one image for DetectionOutput: decodes boxes and keeps the best boxes of each
//! class.

use super::checks::limit;
use super::corners::{Corners, highest_first};
use super::greedy_nms::nms;
use snick_tensor::SmallVector;

attrs! {
    /// How DetectionOutput decodes and selects boxes.
    pub struct DetectionAttrs {
        /// The background class, which is never output; -1 for none.
        pub background_label_id: i64 = 0,
        /// The maximum number of candidates per class; -1 for all.
        pub top_k: i64 = -1,
        /// Whether deltas are already multiplied by the variances; otherwise a second row of the priors holds
        /// the variances.
        pub variance_encoded_in_target: bool = false,
        /// The maximum number of detections per image, as a list of one number; -1 for all.
        pub keep_top_k: SmallVector<i64, 4> = SmallVector::new(),
        /// How deltas encode boxes.
        pub code_type: BoxCode = BoxCode::Corner,
        /// Whether all classes share the same boxes.
        pub share_location: bool = true,
        /// A box is suppressed if its IoU with a box of higher score exceeds this.
        pub nms_threshold: f64 = 0.0,
        /// Boxes with this score or a lower one are dropped.
        pub confidence_threshold: f64 = 0.0,
        /// Whether to clip boxes to the image after suppression.
        pub clip_after_nms: bool = false,
        /// Whether to clip boxes to the image before suppression.
        pub clip_before_nms: bool = false,
        /// Whether to consider only the best class of each prior, and to output class numbers minus 1.
        pub decrease_label_id: bool = false,
        /// Whether a prior is a box in fractions of the image's size; otherwise it is an image index and a
        /// box in pixels.
        pub normalized: bool = false,
        /// Height of the image in pixels, for priors that are not normalized.
        pub input_height: i64 = 1,
        /// Width of the image in pixels, for priors that are not normalized.
        pub input_width: i64 = 1,
        /// Priors with a lower object score count as background.
        pub objectness_score: f64 = 0.0,
    }
}

/// How deltas encode boxes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BoxCode {
    /// Offsets of the corners.
    Corner,
    /// Offsets of the centre, and exponents of the size.
    CenterSize,
}

attr_words!(BoxCode {
    Corner = "caffe.PriorBoxParameter.CORNER",
    CenterSize = "caffe.PriorBoxParameter.CENTER_SIZE"
});

/// Decodes the boxes of one image.
pub struct Decoder<'a> {
    attrs: &'a DetectionAttrs,
    priors: Vec<Corners>,
    variances: &'a [[f32; 4]],
    /// Number of classes with their own boxes; 1 if all classes share the boxes.
    located: usize,
    /// The deltas of the optional first stage, and of the second stage.
    stages: [&'a [[f32; 4]]; 2],
}

impl<'a> Decoder<'a> {
    /// `priors` holds the boxes of one image, followed by their variances, if any.
    pub fn new(
        attrs: &'a DetectionAttrs,
        priors: &'a [f32],
        count: usize,
        located: usize,
        stages: [&'a [f32]; 2],
    ) -> Self {
        let width = attrs.prior_width();
        let (boxes, variances) = priors.split_at((count * width).min(priors.len()));
        // A prior with image -1 ends the list.
        let used = boxes.chunks_exact(width).take_while(|prior| width == 4 || prior.first() != Some(&-1.0));
        let corners =
            |prior: &[f32]| prior.last_chunk().map_or(Corners::default(), |&sides| Corners::from(sides));
        Self {
            attrs,
            priors: used.map(corners).collect(),
            variances: variances.as_chunks().0,
            located,
            stages: stages.map(|deltas| deltas.as_chunks().0),
        }
    }

    /// Number of priors before the terminator, the first prior with image -1.
    pub fn used(&self) -> usize {
        self.priors.len()
    }

    /// Decodes the box of a prior for a class.
    pub fn decode(&self, prior: usize, class: usize) -> Corners {
        let class = if self.located == 1 { 0 } else { class };
        let variance = self.variances.get(prior).copied().unwrap_or([1.0; 4]);
        let [first, second] = self.stages.map(|deltas| deltas.get(prior * self.located + class));
        let corners = self.priors.get(prior).copied().unwrap_or_default();
        [first, second].into_iter().flatten().fold(corners, |corners, deltas| {
            let decoded = self.decode_stage(corners, deltas, variance);
            if self.attrs.clip_before_nms { decoded.clipped(1.0, 1.0) } else { decoded }
        })
    }

    fn decode_stage(&self, mut prior: Corners, deltas: &[f32; 4], variance: [f32; 4]) -> Corners {
        if !self.attrs.normalized {
            prior = prior.divided(self.attrs.input_width as f32, self.attrs.input_height as f32);
        }
        let mut by = *deltas;
        by.iter_mut().zip(variance).for_each(|(delta, variance)| *delta *= variance);
        match self.attrs.code_type {
            BoxCode::CenterSize => prior.with_deltas(by, 0.0, f32::INFINITY),
            BoxCode::Corner => {
                let [left, top, right, bottom] = prior.coordinates();
                Corners::from([left + by[0], top + by[1], right + by[2], bottom + by[3]])
            }
        }
    }
}

/// The class scores of one image.
pub struct Scores<'a> {
    /// The scores, `[priors, classes]`.
    pub values: &'a [f32],
    /// The scores of the first stage, `[priors, 2]`, whose second column is the object score; empty if there
    /// is only one stage.
    pub objects: &'a [f32],
    /// Number of classes.
    pub classes: usize,
    /// Number of priors before the terminator, the first prior with image -1.
    pub priors: usize,
}

/// One detection.
#[derive(Copy, Clone)]
pub struct Detection {
    /// The class of the detection.
    pub class: usize,
    /// The prior that the box was decoded from.
    pub prior: usize,
    /// The score of the detection.
    pub score: f32,
    /// The box of the detection.
    pub corners: Corners,
}

/// Score, prior and class of a box that has not been decoded.
type Candidate = (f32, usize, usize);

impl DetectionAttrs {
    /// The number of values per prior.
    pub fn prior_width(&self) -> usize {
        if self.normalized { 4 } else { 5 }
    }

    /// Rows of the priors input: boxes, and variances unless they are encoded in the deltas.
    pub fn prior_rows(&self) -> usize {
        if self.variance_encoded_in_target { 1 } else { 2 }
    }

    /// The maximum number of detections per image; -1 for all.
    pub fn keep(&self) -> i64 {
        self.keep_top_k.first().copied().unwrap_or(-1)
    }

    /// The detections of one image, grouped by class.
    pub(super) fn select(&self, decoder: &Decoder, scores: &Scores) -> Vec<Detection> {
        let mut by_class: Vec<Vec<Detection>> = vec![Vec::new(); scores.classes];
        let mut add = |mut candidates: Vec<Candidate>| {
            candidates.sort_by(|a, b| highest_first(a.0, b.0).then((a.2, a.1).cmp(&(b.2, b.1))));
            candidates.truncate(limit(self.top_k));
            for (score, prior, class) in candidates {
                if let Some(detections) = by_class.get_mut(class) {
                    let corners = decoder.decode(prior, class);
                    detections.push(Detection { class, prior, score, corners });
                }
            }
        };
        if self.decrease_label_id {
            add((0..scores.priors).filter_map(|prior| self.best_class(scores, prior)).collect());
        } else {
            let threshold = self.confidence_threshold as f32;
            for class in (0..scores.classes).filter(|&class| class as i64 != self.background_label_id) {
                let all = (0..scores.priors).map(|prior| (self.score(scores, prior, class), prior, class));
                add(all.filter(|&(score, ..)| score > threshold).collect());
            }
        }
        let kept = |candidates: Vec<Detection>| {
            nms(&candidates, |found| found.corners, 0.0, self.nms_threshold as f32, usize::MAX)
        };
        let mut kept: Vec<Detection> = by_class.into_iter().flat_map(kept).collect();
        if kept.len() > limit(self.keep()) {
            kept.sort_by(|a, b| highest_first(a.score, b.score).then(a.prior.cmp(&b.prior)));
            kept.truncate(limit(self.keep()));
            kept.sort_by_key(|found| found.class);
        }
        kept
    }

    /// The best class of a prior, other than the background (class 0), if its score reaches the threshold.
    fn best_class(&self, scores: &Scores, prior: usize) -> Option<Candidate> {
        let mut best = (-1.0, prior, 0);
        for class in 1..scores.classes {
            let score = self.score(scores, prior, class);
            if score >= self.confidence_threshold as f32 && score > best.0 {
                best = (score, prior, class);
            }
        }
        (best.2 > 0).then_some(best)
    }

    /// The score of a class. If the object score of the first stage is too low, the background has the score
    /// 1 and all other classes 0.
    fn score(&self, scores: &Scores, prior: usize, class: usize) -> f32 {
        let threshold = self.objectness_score as f32;
        if scores.objects.get(prior * 2 + 1).is_some_and(|&object| object < threshold) {
            return if class as i64 == self.background_label_id { 1.0 } else { 0.0 };
        }
        scores.values.get(prior * scores.classes + class).copied().unwrap_or(0.0)
    }
}
