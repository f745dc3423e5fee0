//! NonMaxSuppression-1, -3, -4, -5 and -9: the best boxes that do not cover each other. Version 3 adds the type of
//! the output, 5 the scores, their number and a soft threshold; up to version 4 all inputs are needed.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// Boxes `[batch, boxes, 4]` and scores `[batch, classes, boxes]`; how many a class at most, how much they may
/// overlap, how good they must be, how soft the limit is. A row of the output is batch, class, box.
#[derive(Clone, PartialEq, Debug)]
pub struct NonMaxSuppression {
    /// Whether a box is centre and size, not two corners.
    pub center: bool,
    /// Whether the best come first over all classes.
    pub sort_result_descending: bool,
    /// The type of indices; version 1 has no choice.
    pub output_type: Option<ElementType>,
    /// Whether scores and count are outputs too.
    pub scores: bool,
}

const ENCODINGS: &[(&str, bool)] = &[("corner", false), ("center", true)];

impl OpDef for NonMaxSuppression {
    const NAMES: &'static [OpName] = &[OpName::openvino("NonMaxSuppression", &[1, 3, 4, 5, 9])];
    const ARITY: Arity = Arity::between(2, 6);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let output_type = match raw.since {
            1 => None,
            _ => Some(raw.attrs.element_type("output_type")?.unwrap_or(ElementType::I64)),
        };
        if let Some(et) = output_type.filter(|et| !matches!(et, ElementType::I32 | ElementType::I64)) {
            return Err(OpError::element_type("`output_type`", et, "i32 or i64"));
        }
        Ok(Self {
            center: raw.attrs.choice("box_encoding", ENCODINGS)?.unwrap_or(false),
            sort_result_descending: raw.attrs.bool("sort_result_descending")?.unwrap_or(true),
            output_type,
            scores: raw.since >= 5,
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs = Attrs::new()
            .with("box_encoding", ENCODINGS[usize::from(self.center)].0)
            .with("sort_result_descending", self.sort_result_descending);
        match self.output_type {
            Some(output_type) => attrs.with("output_type", output_type),
            None => attrs,
        }
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "3", |rank| rank == 3)?;
        cx.expect_rank(1, "3", |rank| rank == 3)?;
        if cx.len() > 2 {
            cx.expect_integer(2)?;
        }
        for i in 2..cx.len() {
            let vector = self.scores;
            cx.expect_rank(i, "0", |rank| rank == 0 || (vector && rank == 1))?;
        }
        let (mut batch, mut classes, mut boxes) = (Interval::DIM, Interval::DIM, Interval::DIM);
        let clash = |cx: &Infer| cx.shapes_clash("select boxes by scores", cx.shape(0), cx.shape(1));
        if let Some([batches, count, sides]) = cx.shape(0).dims() {
            (batch, boxes) = (cx.interval(batches), cx.interval(count));
            if !cx.interval(sides).contains(4) {
                return Err(OpError::mismatch("the numbers of a box", cx.interval(sides), 4));
            }
        }
        if let Some([batches, kinds, count]) = cx.shape(1).dims() {
            batch = batch.meet(cx.interval(batches)).ok_or_else(|| clash(cx))?;
            boxes = boxes.meet(cx.interval(count)).ok_or_else(|| clash(cx))?;
            classes = cx.interval(kinds);
        }
        let most = match cx.optional(2) {
            Some(fact) => match fact.elements().as_deref() {
                Some([most]) => cx.interval(most).hi().max(0),
                _ => i64::MAX,
            },
            None => 0,
        };
        let rows = boxes.hi().min(most).checked_mul(classes.hi()).and_then(|n| n.checked_mul(batch.hi()));
        let bounded = boxes.has_upper() || (0..i64::MAX).contains(&most);
        let bounded = (bounded && batch.has_upper() && classes.has_upper()) || most == 0;
        let hi = rows.filter(|_| bounded).unwrap_or(if most == 0 { 0 } else { i64::MAX });
        let rows = cx.unknown(Interval::new(0, hi).unwrap_or(Interval::DIM));
        let dims: SmallVec<[SymExpr; 4]> = smallvec![rows, 3.into()];
        let shape = Shape::ranked(dims);
        let index = self.output_type.unwrap_or(ElementType::I64);
        let mut facts: Facts = smallvec![Fact::new(index, shape.clone())];
        if self.scores {
            facts.push(Fact::new(ElementType::F32, shape));
            facts.push(Fact::new(index, Shape::ranked([SymExpr::from(1)])));
        }
        Ok(facts)
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [boxes, scores, limits @ ..] = inputs else { return Ok(Vec::new()) };
        let (&[batches, count, 4], &[score_batches, classes, score_count]) = (boxes.dims(), scores.dims())
        else {
            return Err(OpError::clash(
                "boxes and scores",
                format!("{:?}", boxes.dims()),
                format!("{:?}", scores.dims()),
            ));
        };
        if batches != score_batches || count != score_count {
            return Err(OpError::clash(
                "boxes and scores",
                format!("{count} boxes"),
                format!("{score_count} scores"),
            ));
        }
        let limit = |i: usize| -> Result<f32, OpError> {
            let values = limits.get(i).map(Tensor::to_f32_vec).transpose()?;
            Ok(values.and_then(|v| v.first().copied()).unwrap_or(0.0))
        };
        let most = match limits.first() {
            Some(most) => most.to_i64_vec()?.first().map_or(0, |&n| usize::try_from(n).unwrap_or(0)),
            None => 0,
        };
        let rule = Rule { most: most.min(count), overlap: limit(1)?, least: limit(2)?, sigma: limit(3)? };
        let boxes: Vec<Corners> =
            boxes.to_f32_vec()?.chunks_exact(4).map(|sides| Corners::new(sides, self.center)).collect();
        let scores = scores.to_f32_vec()?;
        let mut found: Vec<(f32, [i64; 3])> = Vec::new();
        for (row, scores) in scores.chunks_exact(count.max(1)).take(batches * classes).enumerate() {
            let (batch, class) = (row / classes, row % classes);
            let boxes = boxes.get(batch * count..(batch + 1) * count).unwrap_or_default();
            let picked = rule.pick(boxes, scores);
            found.extend(picked.iter().map(|&(i, score)| (score, [batch as i64, class as i64, i as i64])));
        }
        if self.sort_result_descending {
            found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        let index = self.output_type.unwrap_or(ElementType::I64);
        let rows: Vec<i64> = found.iter().flat_map(|(_, row)| *row).collect();
        let mut outputs = vec![Tensor::from_vec(&[found.len(), 3], rows)?.cast(index)?];
        if self.scores {
            let scores =
                found.iter().flat_map(|&(s, [batch, class, _])| [batch as f32, class as f32, s]).collect();
            outputs.push(Tensor::from_vec::<f32>(&[found.len(), 3], scores)?);
            outputs.push(Tensor::from_vec(&[1], vec![found.len() as i64])?.cast(index)?);
        }
        Ok(outputs)
    }
}

/// A box by its corners.
#[derive(Copy, Clone)]
struct Corners([f32; 4]);

impl Corners {
    fn new(sides: &[f32], center: bool) -> Self {
        let &[a, b, c, d] = sides else { return Self([0.0; 4]) };
        match center {
            true => Self([b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0]),
            false => Self([a.min(c), b.min(d), a.max(c), b.max(d)]),
        }
    }

    fn area(&self) -> f32 {
        let [top, left, bottom, right] = self.0;
        (bottom - top) * (right - left)
    }

    /// The part of both that is shared.
    fn overlap(&self, other: &Self) -> f32 {
        let (areas, ([t, l, b, r], [u, m, c, s])) = ((self.area(), other.area()), (self.0, other.0));
        if areas.0 <= 0.0 || areas.1 <= 0.0 {
            return 0.0;
        }
        let shared = (b.min(c) - t.max(u)).max(0.0) * (r.min(s) - l.max(m)).max(0.0);
        shared / (areas.0 + areas.1 - shared)
    }
}

/// What a box must be to stay.
struct Rule {
    most: usize,
    overlap: f32,
    least: f32,
    sigma: f32,
}

/// A box that may still be selected, and the selected ones that it was compared with.
struct Candidate {
    box_index: usize,
    score: f32,
    compared: usize,
}

impl Rule {
    /// The boxes of one class that stay, with their scores, the best first.
    fn pick(&self, boxes: &[Corners], scores: &[f32]) -> Vec<(usize, f32)> {
        let scale = if self.sigma > 0.0 { -0.5 / self.sigma } else { 0.0 };
        let good = scores.iter().enumerate().filter(|(_, score)| **score > self.least);
        let mut rest: Vec<Candidate> =
            good.map(|(box_index, &score)| Candidate { box_index, score, compared: 0 }).collect();
        // The best at the end; of equal ones the first.
        let order =
            |a: &Candidate, b: &Candidate| a.score.total_cmp(&b.score).then(b.box_index.cmp(&a.box_index));
        rest.sort_by(order);
        let mut picked: Vec<(usize, f32)> = Vec::new();
        while picked.len() < self.most
            && let Some(mut next) = rest.pop()
        {
            let before = next.score;
            let mut covered = false;
            for &(other, _) in picked.iter().skip(next.compared).rev() {
                let (Some(a), Some(b)) = (boxes.get(next.box_index), boxes.get(other)) else { continue };
                let overlap = a.overlap(b);
                covered = overlap >= self.overlap;
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
                picked.push((next.box_index, next.score));
                continue;
            }
            let at = rest.partition_point(|other| order(other, &next).is_lt());
            rest.insert(at, next);
        }
        picked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_boxes_go() {
        let boxes = vec![0., 0., 1., 1., 0., 0.1, 1., 1.1, 0., 10., 1., 11.];
        let boxes = Tensor::from_vec(&[1, 3, 4], boxes).map(|t: Tensor| t).unwrap();
        let boxes = boxes.cast(ElementType::F32).unwrap();
        let scores = Tensor::from_vec(&[1, 1, 3], vec![0.9f32, 0.75, 0.6]).unwrap();
        let op = NonMaxSuppression {
            center: false,
            sort_result_descending: true,
            output_type: None,
            scores: true,
        };
        let limits = [Tensor::scalar(3i64), Tensor::scalar(0.5f32), Tensor::scalar(0f32)];
        let inputs = [vec![boxes, scores], limits.to_vec()].concat();
        let out = op.eval(&inputs).unwrap();
        assert_eq!(out[0].to_i64_vec().unwrap(), [0, 0, 0, 0, 0, 2]);
        assert_eq!(out[2].to_i64_vec().unwrap(), [2]);
    }
}
