//! The detections of one image, for DetectionOutput: boxes decoded, and the best of each class kept.

use super::corners::{Corners, best_first, nms};
use super::detection_output::{CODES, DetectionOutput};

/// Decodes the boxes of one image.
pub struct Decoder<'a> {
    op: &'a DetectionOutput,
    priors: Vec<Corners>,
    variances: &'a [[f32; 4]],
    /// Classes that have boxes of their own.
    located: usize,
    /// The offsets of the first stage, if there is one, and those of the second.
    stages: [&'a [[f32; 4]]; 2],
}

impl<'a> Decoder<'a> {
    /// `priors` has the boxes of one image and behind them their variances, if any.
    pub fn new(
        op: &'a DetectionOutput,
        priors: &'a [f32],
        count: usize,
        located: usize,
        stages: [&'a [f32]; 2],
    ) -> Self {
        let width = op.prior_width() as usize;
        let (boxes, variances) = priors.split_at((count * width).min(priors.len()));
        // A prior of image -1 ends the list.
        let used = boxes.chunks_exact(width).take_while(|prior| width == 4 || prior.first() != Some(&-1.0));
        let corners =
            |prior: &[f32]| prior.last_chunk().map_or(Corners::default(), |&sides| Corners::from(sides));
        Self {
            op,
            priors: used.map(corners).collect(),
            variances: variances.as_chunks().0,
            located,
            stages: stages.map(|offsets| offsets.as_chunks().0),
        }
    }

    /// The number of priors that count.
    pub fn used(&self) -> usize {
        self.priors.len()
    }

    /// The box of a prior for a class.
    pub fn decode(&self, prior: usize, class: usize) -> Corners {
        let class = if self.located == 1 { 0 } else { class };
        let variance = self.variances.get(prior).copied().unwrap_or([1.0; 4]);
        let [first, second] = self.stages.map(|offsets| offsets.get(prior * self.located + class));
        let corners = self.priors.get(prior).copied().unwrap_or_default();
        [first, second].into_iter().flatten().fold(corners, |corners, offsets| {
            let decoded = self.decode_stage(corners, offsets, variance);
            if self.op.settings.bool("clip_before_nms", false) { decoded.clipped(1.0, 1.0) } else { decoded }
        })
    }

    fn decode_stage(&self, prior: Corners, offsets: &[f32; 4], variance: [f32; 4]) -> Corners {
        let settings = &self.op.settings;
        let mut prior = prior;
        if !settings.bool("normalized", false) {
            let width = settings.int("input_width", 1) as f32;
            let height = settings.int("input_height", 1) as f32;
            let [left, top, right, bottom] = prior.sides();
            prior = Corners::from([left / width, top / height, right / width, bottom / height]);
        }
        let mut by = *offsets;
        by.iter_mut().zip(variance).for_each(|(offset, variance)| *offset *= variance);
        if settings.choice("code_type", CODES).unwrap_or(false) {
            return prior.refined(by, 0.0, f32::INFINITY);
        }
        let [a, b, c, d] = by;
        let [left, top, right, bottom] = prior.sides();
        Corners::from([left + a, top + b, right + c, bottom + d])
    }
}

/// The class scores of one image.
pub struct Scores<'a> {
    /// `[priors, classes]`
    pub values: &'a [f32],
    /// `[priors, 2]`, the second being the score of an object; empty where there is one stage.
    pub objects: &'a [f32],
    /// Classes of a prior.
    pub classes: usize,
    /// Priors that count.
    pub priors: usize,
}

impl Scores<'_> {
    /// The score of a class; where the first stage saw no object, that of the background is 1.
    fn of(&self, op: &DetectionOutput, prior: usize, class: usize) -> f32 {
        let least = op.settings.float("objectness_score", 0.0) as f32;
        if self.objects.get(prior * 2 + 1).is_some_and(|&object| object < least) {
            return if class as i64 == op.settings.int("background_label_id", 0) { 1.0 } else { 0.0 };
        }
        self.values.get(prior * self.classes + class).copied().unwrap_or(0.0)
    }
}

/// One detection.
#[derive(Copy, Clone)]
pub struct Found {
    /// Its class.
    pub class: usize,
    /// The prior it comes from.
    pub prior: usize,
    /// Its score.
    pub score: f32,
    /// Its box.
    pub corners: Corners,
}

/// The detections of one image, class by class.
pub fn select(op: &DetectionOutput, decoder: &Decoder, scores: &Scores) -> Vec<Found> {
    let found = |prior: usize, class: usize, score: f32| Found {
        class,
        prior,
        score,
        corners: decoder.decode(prior, class),
    };
    let best = |candidates: &mut Vec<(f32, usize, usize)>| {
        candidates.sort_by(|a, b| best_first(a.0, b.0).then((a.2, a.1).cmp(&(b.2, b.1))));
        candidates.truncate(usize::try_from(op.settings.int("top_k", -1)).unwrap_or(usize::MAX));
    };
    let least = op.settings.float("confidence_threshold", 0.0) as f32;
    let mut of_class: Vec<Vec<Found>> = vec![Vec::new(); scores.classes];
    if op.settings.bool("decrease_label_id", false) {
        // Each prior counts for its likeliest class only, the background being class 0.
        let mut candidates: Vec<(f32, usize, usize)> = Vec::new();
        for prior in 0..scores.priors {
            let mut likeliest = (-1.0, prior, 0);
            for class in 1..scores.classes {
                let score = scores.of(op, prior, class);
                if score >= least && score > likeliest.0 {
                    likeliest = (score, prior, class);
                }
            }
            if likeliest.2 > 0 {
                candidates.push(likeliest);
            }
        }
        best(&mut candidates);
        for (score, prior, class) in candidates {
            if let Some(class_found) = of_class.get_mut(class) {
                class_found.push(found(prior, class, score));
            }
        }
    } else {
        for (class, class_found) in of_class.iter_mut().enumerate() {
            if class as i64 == op.settings.int("background_label_id", 0) {
                continue;
            }
            let all = (0..scores.priors).map(|prior| (scores.of(op, prior, class), prior, class));
            let mut candidates = all.filter(|&(score, ..)| score > least).collect();
            best(&mut candidates);
            class_found
                .extend(candidates.into_iter().map(|(score, prior, class)| found(prior, class, score)));
        }
    }
    let threshold = op.settings.float("nms_threshold", 0.0) as f32;
    let mut kept: Vec<Found> = Vec::new();
    for candidates in of_class {
        let corners: Vec<Corners> = candidates.iter().map(|found| found.corners).collect();
        let chosen = nms(&corners, 0.0, threshold, usize::MAX);
        kept.extend(chosen.into_iter().filter_map(|i| candidates.get(i)));
    }
    if let Ok(most) = usize::try_from(op.keep())
        && kept.len() > most
    {
        kept.sort_by(|a, b| best_first(a.score, b.score).then(a.prior.cmp(&b.prior)));
        kept.truncate(most);
        kept.sort_by_key(|found| found.class);
    }
    kept
}
