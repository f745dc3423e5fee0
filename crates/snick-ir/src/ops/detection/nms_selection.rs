//! Hard or soft non-maximum suppression for each class, shared by NonMaxSuppression and NMSRotated.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::overlap::Suppression;
use snick_tensor::{ElementType, Tensor};

use super::box_grid::BoxGrid;
use super::checks::{check_dims, common_dim, dims_of, expect_ranks, expect_size, rows_up_to};
use super::corners::{Corners, highest_first};
use super::rotated_box::RotatedBox;
use crate::{Fact, Facts, Infer, OpError};

/// Infers selected indices `[rows, 3]`, scores `[rows, 3]` and their count `[1]` from boxes
/// `[batch, boxes, numbers]`, scores `[batch, classes, boxes]` and the maximum number of rows per class in
/// input 2.
pub fn infer(cx: &mut Infer, numbers: i64, index: ElementType) -> Result<Facts, OpError> {
    expect_ranks(cx, &[3, 3])?;
    expect_size(cx, 0, 2, numbers)?;
    let batch = common_dim(cx, &[(0, 0), (1, 0)])?;
    let boxes = common_dim(cx, &[(0, 1), (1, 2)])?;
    let classes = common_dim(cx, &[(1, 1)])?;
    let most = match cx.optional(2).map(Fact::elements) {
        Some(Some(most)) => most.first().map_or(i64::MAX, |most| cx.interval(most).hi().max(0)),
        Some(None) => i64::MAX,
        None => 0,
    };
    let most = cx.interval(&boxes).min(Interval::new(0, most).unwrap_or(Interval::DIM));
    let bounds = [most, cx.interval(&classes), cx.interval(&batch)];
    let shape = Shape::ranked([rows_up_to(cx, &bounds), 3.into()]);
    Ok(Facts::from_iter([
        Fact::new(index, shape.clone()),
        Fact::new(ElementType::F32, shape),
        Fact::new(index, Shape::ranked([SymExpr::from(1)])),
    ]))
}

/// Boxes of one or all batches.
#[derive(Copy, Clone)]
pub struct Boxes<'a> {
    /// The boxes, or the smallest upright boxes around rotated ones.
    pub bounds: &'a [Corners],
    /// As many boxes, if they are rotated.
    pub rotated: Option<&'a [RotatedBox]>,
}

impl Boxes<'_> {
    fn slice(&self, range: Range<usize>) -> Self {
        fn part<T>(boxes: &[T], range: Range<usize>) -> &[T] {
            boxes.get(range).unwrap_or_default()
        }
        let rotated = self.rotated.map(|boxes| part(boxes, range.clone()));
        Self { bounds: part(self.bounds, range), rotated }
    }

    fn iou(&self, a: usize, b: usize) -> f32 {
        fn both<T>(boxes: &[T], a: usize, b: usize) -> Option<(&T, &T)> {
            Some((boxes.get(a)?, boxes.get(b)?))
        }
        match self.rotated {
            None => both(self.bounds, a, b).map_or(0.0, |(a, b)| a.iou(b, 0.0)),
            Some(boxes) => both(boxes, a, b).map_or(0.0, |(a, b)| a.iou(b)),
        }
    }
}

/// Selection parameters.
#[derive(Copy, Clone, Debug)]
pub struct NmsLimits {
    /// The maximum number of boxes per class.
    pub max_per_class: usize,
    /// Which IoU with a box of higher score suppresses a box.
    pub suppression: Suppression,
    /// Boxes with this score or a lower one are never selected.
    pub score_threshold: f32,
    /// How fast the scores of overlapping boxes decay (soft NMS); 0 for hard suppression.
    pub sigma: f32,
}

impl NmsLimits {
    /// Reads the limits from inputs 2 to 5, each a scalar or absent.
    pub fn new(limits: &[Tensor], or_equal: bool) -> Result<Self, OpError> {
        let number = |i: usize| -> Result<f32, OpError> {
            let values = limits.get(i).map(Tensor::to_f32_vec).transpose()?;
            Ok(values.and_then(|values| values.first().copied()).unwrap_or(0.0))
        };
        let most = limits.first().map(Tensor::to_i64_vec).transpose()?;
        let most = most.and_then(|most| most.first().copied()).unwrap_or(0);
        Ok(Self {
            max_per_class: usize::try_from(most).unwrap_or(0),
            suppression: Suppression { threshold: number(1)?, or_equal },
            score_threshold: number(2)?,
            sigma: number(3)?,
        })
    }

    /// Indices and scores of the selected boxes of one class, best first.
    fn pick(&self, scores: &[f32], boxes: Boxes) -> Vec<(usize, f32)> {
        let good = scores.iter().enumerate().filter(|(_, score)| **score > self.score_threshold);
        // A heap, because most candidates are never examined.
        let rest = good.map(|(index, &score)| Candidate { index, score, compared: 0 }).collect();
        if self.sigma > 0.0 { self.pick_soft(rest, boxes) } else { self.pick_hard(rest, boxes) }
    }

    fn pick_hard(&self, mut rest: BinaryHeap<Candidate>, boxes: Boxes) -> Vec<(usize, f32)> {
        let bounds = |candidate: &Candidate| boxes.bounds.get(candidate.index);
        let mut grid = match self.suppression.applies(0.0) {
            true => BoxGrid::undivided(),
            false => BoxGrid::new(rest.iter().filter_map(bounds)),
        };
        let mut picked: Vec<(usize, f32)> = Vec::new();
        while picked.len() < self.max_per_class
            && let Some(next) = rest.pop()
        {
            let Some(own) = boxes.bounds.get(next.index) else { continue };
            let is_suppressed = match boxes.rotated {
                None => grid.suppresses(own, 0.0, self.suppression),
                Some(_) => grid.any_near(own, 0.0, |other, _| {
                    let other = picked.get(other);
                    other.is_some_and(|&(other, _)| self.suppression.applies(boxes.iou(next.index, other)))
                }),
            };
            if !is_suppressed {
                grid.insert(own);
                picked.push((next.index, next.score));
            }
        }
        picked
    }

    /// The score of a candidate decays with its overlap with each selected box. It is selected if no higher
    /// score is left.
    fn pick_soft(&self, mut rest: BinaryHeap<Candidate>, boxes: Boxes) -> Vec<(usize, f32)> {
        let scale = -0.5 / self.sigma;
        let mut picked: Vec<(usize, f32)> = Vec::new();
        while picked.len() < self.max_per_class
            && let Some(mut next) = rest.pop()
        {
            let before = next.score;
            let mut suppressed = false;
            for &(other, _) in picked.iter().skip(next.compared).rev() {
                let iou = boxes.iou(next.index, other);
                suppressed = self.suppression.applies(iou);
                if suppressed {
                    break;
                }
                if iou != 0.0 {
                    next.score *= (scale * iou * iou).exp();
                }
                if next.score <= self.score_threshold {
                    break;
                }
            }
            next.compared = picked.len();
            if suppressed || next.score <= self.score_threshold {
                continue;
            }
            if next.score == before {
                picked.push((next.index, next.score));
                continue;
            }
            rest.push(next);
        }
        picked
    }

    /// Computes the outputs for scores `[batch, classes, boxes]`: rows of batch, class and box; rows of
    /// batch, class and score; and the number of rows. `all` has the boxes of all batches.
    pub fn select(
        &self,
        boxes: &Tensor,
        scores: &Tensor,
        all: Boxes,
        descending: bool,
        index: ElementType,
    ) -> Result<Vec<Tensor>, OpError> {
        let [batches, classes, count] = dims_of("the scores", scores)?;
        let numbers = boxes.dims().last().copied().unwrap_or(0);
        check_dims("the boxes", boxes, &[batches, count, numbers])?;
        let mut found: Vec<(f32, [i64; 3])> = Vec::new();
        let values = if self.max_per_class == 0 { Vec::new() } else { scores.to_f32_vec()? };
        for (row, scores) in values.chunks_exact(count.max(1)).enumerate() {
            let (batch, class) = (row / classes, row % classes);
            let first = batch * count;
            let picked = self.pick(scores, all.slice(first..first + count));
            found.extend(picked.iter().map(|&(i, score)| (score, [batch as i64, class as i64, i as i64])));
        }
        if descending {
            found.sort_by(|a, b| highest_first(a.0, b.0).then(a.1.cmp(&b.1)));
        }
        let rows: Vec<i64> = found.iter().flat_map(|(_, row)| *row).collect();
        let scores = found
            .iter()
            .flat_map(|&(score, [batch, class, _])| [batch as f32, class as f32, score])
            .collect();
        Ok(vec![
            Tensor::from_vec(&[found.len(), 3], rows)?.cast(index)?,
            Tensor::from_vec::<f32>(&[found.len(), 3], scores)?,
            Tensor::from_vec(&[1], vec![found.len() as i64])?.cast(index)?,
        ])
    }
}

/// A box that is not yet selected or suppressed.
struct Candidate {
    index: usize,
    score: f32,
    /// The number of selected boxes that the candidate has been compared with.
    compared: usize,
}

/// Orders candidates by score; of several candidates with the same score, the first box is the greatest.
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        highest_first(other.score, self.score).then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}
