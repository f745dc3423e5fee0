//! Non-maximum suppression of one class: what NonMaxSuppression and NMSRotated share.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use smallvec::SmallVec;
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::checks::{check_dims, common_dim, expect_rank, expect_size};
use super::corners::best_first;
use crate::{Fact, Facts, Infer, OpError};

/// Facts of the selected indices `[rows, 3]`, scores `[rows, 3]` and their count `[1]`, for boxes
/// `[batch, boxes, sides]`, scores `[batch, classes, boxes]` and the most rows a class in input 2.
pub fn selected(cx: &mut Infer, sides: i64, index: ElementType) -> Result<Facts, OpError> {
    expect_rank(cx, 0, 3)?;
    expect_rank(cx, 1, 3)?;
    expect_size(cx, 0, 2, sides)?;
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
    let rows = super::checks::rows_up_to(cx, &bounds);
    let dims: SmallVec<[SymExpr; 4]> = SmallVec::from_iter([rows, 3.into()]);
    let shape = Shape::ranked(dims);
    Ok(Facts::from_iter([
        Fact::new(index, shape.clone()),
        Fact::new(ElementType::F32, shape),
        Fact::new(index, Shape::ranked([SymExpr::from(1)])),
    ]))
}

/// What a box must be to stay.
#[derive(Copy, Clone, Debug)]
pub struct Rule {
    /// The most boxes of a class.
    pub most: usize,
    /// How much a better box may cover.
    pub overlap: f32,
    /// Whether a box that is covered exactly as much as the limit goes.
    pub strict: bool,
    /// Scores must be above this.
    pub least: f32,
    /// How far the scores of covered boxes sink, 0 for not at all.
    pub sigma: f32,
}

impl Rule {
    /// The rule that inputs 2 to 5 give, each a number or absent.
    pub fn new(limits: &[Tensor], strict: bool) -> Result<Self, OpError> {
        let number = |i: usize| -> Result<f32, OpError> {
            let values = limits.get(i).map(Tensor::to_f32_vec).transpose()?;
            Ok(values.and_then(|values| values.first().copied()).unwrap_or(0.0))
        };
        let most = limits.first().map(Tensor::to_i64_vec).transpose()?;
        let most = most.and_then(|most| most.first().copied()).unwrap_or(0);
        Ok(Self {
            most: usize::try_from(most).unwrap_or(0),
            overlap: number(1)?,
            strict,
            least: number(2)?,
            sigma: number(3)?,
        })
    }

    /// The boxes of one class that stay, with their scores, the best first.
    fn pick(&self, scores: &[f32], overlap: impl Fn(usize, usize) -> f32) -> Vec<(usize, f32)> {
        let scale = if self.sigma > 0.0 { -0.5 / self.sigma } else { 0.0 };
        let mut picked: Vec<(usize, f32)> = Vec::new();
        let good = scores.iter().enumerate().filter(|(_, score)| **score > self.least);
        // Most are never looked at: a heap puts in order only those that are.
        let mut rest: BinaryHeap<Candidate> =
            good.map(|(index, &score)| Candidate { index, score, compared: 0 }).collect();
        while picked.len() < self.most
            && let Some(mut next) = rest.pop()
        {
            let before = next.score;
            let mut covered = false;
            for &(other, _) in picked.iter().skip(next.compared).rev() {
                let overlap = overlap(next.index, other);
                covered = overlap > self.overlap || (self.strict && overlap == self.overlap);
                if covered {
                    break;
                }
                next.score *= (scale * overlap * overlap).exp();
                if next.score <= self.least {
                    break;
                }
            }
            next.compared = picked.len();
            if covered || next.score <= self.least {
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

    /// The outputs for scores `[batch, classes, boxes]`: batch, class and box of each row; batch, class and score;
    /// and the number of rows. `overlap` compares boxes counted over all batches.
    pub fn select(
        &self,
        boxes: &Tensor,
        scores: &Tensor,
        overlap: impl Fn(usize, usize) -> f32,
        descending: bool,
        index: ElementType,
    ) -> Result<Vec<Tensor>, OpError> {
        let &[batches, classes, count] = scores.dims() else {
            return Err(OpError::rank("the scores", scores.rank(), "3"));
        };
        let sides = boxes.dims().last().copied().unwrap_or(0);
        check_dims("the boxes", boxes, &[batches, count, sides])?;
        let mut found: Vec<(f32, [i64; 3])> = Vec::new();
        let values = if self.most == 0 { Vec::new() } else { scores.to_f32_vec()? };
        for (row, scores) in values.chunks_exact(count.max(1)).enumerate() {
            let (batch, class) = (row / classes, row % classes);
            let picked = self.pick(scores, |a, b| overlap(batch * count + a, batch * count + b));
            found.extend(picked.iter().map(|&(i, score)| (score, [batch as i64, class as i64, i as i64])));
        }
        if descending {
            found.sort_by(|a, b| best_first(a.0, b.0).then(a.1.cmp(&b.1)));
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

/// A box that may still be selected.
struct Candidate {
    index: usize,
    score: f32,
    /// How many of the selected ones it was compared with.
    compared: usize,
}

/// The best is the greatest; of equal ones the first.
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        best_first(other.score, self.score).then(other.index.cmp(&self.index))
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
