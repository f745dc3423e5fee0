//! MatrixNms-8: scores of boxes that are covered by better ones decay, all at once.

use snick_tensor::{ElementType, Tensor};

use super::checks::{check_dims, common_dim, expect_rank, expect_single, expect_size};
use super::class_rows::{SelectedBox, candidates, facts, limit, outputs, parse, unit};
use super::corners::Corners;
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Boxes `[N, boxes, 4]` and scores `[N, classes, boxes]` to rows of class, score and box, the index of each box
/// over all images, and the number of rows of each image.
#[derive(Clone, PartialEq, Debug)]
pub struct MatrixNms {
    /// The type of indices and counts.
    pub output_type: ElementType,
    settings: Settings,
}

/// Its own attributes.
const TABLE: Table =
    &[("decay_function", Kind::Text), ("gaussian_sigma", Kind::Float), ("post_threshold", Kind::Float)];

/// Whether scores decay by a bell curve.
const DECAYS: &[(&str, bool)] = &[("linear", false), ("gaussian", true)];

impl OpDef for MatrixNms {
    const NAMES: &'static [OpName] = &[OpName::openvino("MatrixNms", &[8])];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        raw.attrs.choice("decay_function", DECAYS)?;
        let (settings, output_type) = parse(&raw.attrs, TABLE)?;
        Ok(Self { output_type, settings })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs().with("output_type", self.output_type)
    }
}

impl InferOp for MatrixNms {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_single(cx, 0)?;
        expect_single(cx, 1)?;
        cx.common_type(0..2);
        expect_rank(cx, 0, 3)?;
        expect_rank(cx, 1, 3)?;
        expect_size(cx, 0, 2, 4)?;
        let images = common_dim(cx, &[(0, 0), (1, 0)])?;
        let boxes = common_dim(cx, &[(0, 1), (1, 2)])?;
        let classes = common_dim(cx, &[(1, 1)])?;
        Ok(facts(cx, &self.settings, self.output_type, images, &classes, &boxes))
    }
}

impl EvalOp for MatrixNms {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [boxes, scores] = inputs else { return Ok(Vec::new()) };
        let &[images, classes, count] = scores.dims() else {
            return Err(OpError::rank("the scores", scores.rank(), "3"));
        };
        check_dims("the boxes", boxes, &[images, count, 4])?;
        let corners = Corners::all(&boxes.to_f32_vec()?);
        let background = limit(&self.settings, "background_class");
        let mut rows: Vec<SelectedBox> = Vec::new();
        let scores = scores.to_f32_vec()?;
        let mut by_class = scores.chunks_exact(count.max(1));
        for image in 0..images {
            let first = image * count;
            let corners = corners.get(first..first + count).unwrap_or_default();
            let mut of_image = Vec::new();
            for (class, scores) in by_class.by_ref().take(classes).enumerate() {
                if class == background {
                    continue;
                }
                let decayed = self.decayed(corners, scores);
                of_image.extend(decayed.into_iter().map(|(place, score)| SelectedBox {
                    image,
                    class,
                    index: first + place,
                    place,
                    score,
                    sides: corners.get(place).map_or([0.0; 4], Corners::sides),
                }));
            }
            of_image.sort_by(SelectedBox::by_score);
            of_image.truncate(limit(&self.settings, "keep_top_k"));
            rows.extend(of_image);
        }
        outputs(&self.settings, rows, images, self.output_type, boxes.element_type())
    }
}

impl MatrixNms {
    /// The boxes of one class whose scores stay above the limit, with these scores.
    fn decayed(&self, corners: &[Corners], scores: &[f32]) -> Vec<(usize, f32)> {
        let good = candidates(&self.settings, scores, f32::gt);
        let unit = unit(&self.settings);
        let sigma = self.settings.float("gaussian_sigma", 2.0) as f32;
        let gaussian = self.settings.choice("decay_function", DECAYS).unwrap_or(false);
        let after = self.settings.float("post_threshold", 0.0) as f32;
        // How much each box is covered by a better one at most.
        let mut covered: Vec<f32> = Vec::with_capacity(good.len());
        let mut kept = Vec::new();
        for (i, &(place, score)) in good.iter().enumerate() {
            let (mut most, mut decay) = (0f32, 1f32);
            for (&(better, _), &hidden) in good.iter().take(i).zip(&covered) {
                let overlap = match (corners.get(place), corners.get(better)) {
                    (Some(a), Some(b)) => overlap(a, b, unit),
                    _ => 0.0,
                };
                most = most.max(overlap);
                decay = decay.min(match gaussian {
                    true => ((hidden * hidden - overlap * overlap) * sigma).exp(),
                    false => (1.0 - overlap) / (1.0 - hidden + 1e-10),
                });
            }
            covered.push(most);
            if decay * score > after {
                kept.push((place, decay * score));
            }
        }
        kept
    }
}

/// The shared area over the area of both together, where exchanged corners make an area of 0.
fn overlap(a: &Corners, b: &Corners, unit: f32) -> f32 {
    let area = |corners: &Corners| {
        let exchanged = corners.right < corners.left || corners.bottom < corners.top;
        if exchanged { 0.0 } else { corners.area(unit) }
    };
    match a.shared(b, unit) {
        Some([width, height]) => {
            let shared = width * height;
            shared / (area(a) + area(b) - shared)
        }
        None => 0.0,
    }
}
