//! NonMaxSuppression-1, -3, -4, -5 and -9: the best boxes that do not cover each other. Version 3 adds the type of
//! the output, 5 the scores, their number and a soft threshold; up to version 4 all inputs are needed.

use snick_tensor::{ElementType, Tensor};

use super::checks::{expect_index_type, expect_single, expect_size};
use super::corners::Corners;
use super::suppression::{Rule, selected};
use crate::{Arity, Attrs, EvalOp, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

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
        if let Some(et) = output_type {
            expect_index_type("output_type", et)?;
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
}

impl InferOp for NonMaxSuppression {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if !self.scores {
            Arity::between(2, 5).check(cx.len())?;
        }
        if self.scores {
            for port in [0, 1, 3, 4, 5].into_iter().filter(|&port| port < cx.len()) {
                expect_single(cx, port)?;
            }
        }
        for port in 2..cx.len() {
            // Later versions take a vector of one for a number.
            let vector = self.scores;
            cx.expect_rank(port, "0", |rank| rank == 0 || (vector && rank == 1))?;
            expect_size(cx, port, 0, 1)?;
        }
        let mut facts = selected(cx, 4, self.output_type.unwrap_or(ElementType::I64))?;
        if !self.scores {
            facts.truncate(1);
        }
        Ok(facts)
    }
}

impl EvalOp for NonMaxSuppression {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [boxes, scores, limits @ ..] = inputs else { return Ok(Vec::new()) };
        let &[_, _, 4] = boxes.dims() else {
            return Err(OpError::mismatch("the boxes", format!("{:?}", boxes.dims()), "[batch, boxes, 4]"));
        };
        let rule = Rule::new(limits, true)?;
        // Where nothing is selected no box is looked at.
        let values = if rule.most == 0 { Vec::new() } else { boxes.to_f32_vec()? };
        let corners: Vec<Corners> =
            values.as_chunks().0.iter().map(|&sides| ordered(sides, self.center)).collect();
        let overlap = |a: usize, b: usize| match (corners.get(a), corners.get(b)) {
            (Some(a), Some(b)) if a.area(0.0) > 0.0 && b.area(0.0) > 0.0 => a.overlap(b, 0.0),
            _ => 0.0,
        };
        let index = self.output_type.unwrap_or(ElementType::I64);
        let mut outputs = rule.select(boxes, scores, overlap, self.sort_result_descending, index)?;
        if !self.scores {
            outputs.truncate(1);
        }
        Ok(outputs)
    }
}

/// A box whose corners may be exchanged, or one by its centre and sizes.
fn ordered([a, b, c, d]: [f32; 4], center: bool) -> Corners {
    Corners::from(match center {
        true => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
        false => [a.min(c), b.min(d), a.max(c), b.max(d)],
    })
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
