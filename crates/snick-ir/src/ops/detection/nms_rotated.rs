//! NMSRotated-13: the best rotated boxes that do not cover each other.

use snick_tensor::{ElementType, Tensor};

use super::checks::{expect_float, expect_index_type, expect_size};
use super::rotated_box::RotatedBox;
use super::suppression::{Rule, selected};
use crate::{Arity, Attrs, EvalOp, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Boxes `[batch, boxes, 5]`, each a centre x, y, a width, a height and an angle in radians, and scores
/// `[batch, classes, boxes]`; how many a class at most, how much they may overlap, how good they must be. A row of
/// the first output is batch, class, box; of the second batch, class, score; the third counts rows.
#[derive(Clone, PartialEq, Debug)]
pub struct NmsRotated {
    /// Whether the best come first over all classes.
    pub sort_result_descending: bool,
    /// The type of indices.
    pub output_type: ElementType,
    /// Whether angles turn clockwise.
    pub clockwise: bool,
}

impl OpDef for NmsRotated {
    const NAMES: &'static [OpName] = &[OpName::openvino("NMSRotated", &[13])];
    const ARITY: Arity = Arity::exactly(5);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let output_type = raw.attrs.element_type("output_type")?.unwrap_or(ElementType::I64);
        expect_index_type("output_type", output_type)?;
        Ok(Self {
            sort_result_descending: raw.attrs.bool("sort_result_descending")?.unwrap_or(true),
            output_type,
            clockwise: raw.attrs.bool("clockwise")?.unwrap_or(true),
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new()
            .with("sort_result_descending", self.sort_result_descending)
            .with("output_type", self.output_type)
            .with("clockwise", self.clockwise)
    }
}

impl InferOp for NmsRotated {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        [0, 1, 3, 4].into_iter().try_for_each(|port| expect_float(cx, port))?;
        cx.expect_integer(2);
        for port in 2..5 {
            cx.expect_rank(port, "0 or 1", |rank| rank <= 1)?;
            expect_size(cx, port, 0, 1)?;
        }
        selected(cx, 5, self.output_type)
    }
}

impl EvalOp for NmsRotated {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [boxes, scores, limits @ ..] = inputs else { return Ok(Vec::new()) };
        let &[_, _, 5] = boxes.dims() else {
            return Err(OpError::mismatch("the boxes", format!("{:?}", boxes.dims()), "[batch, boxes, 5]"));
        };
        let turn = if self.clockwise { 1.0 } else { -1.0 };
        let values = boxes.to_f32_vec()?;
        let rotated: Vec<RotatedBox> =
            values.as_chunks().0.iter().map(|&numbers| RotatedBox::new(numbers, turn)).collect();
        let overlap = |a: usize, b: usize| match (rotated.get(a), rotated.get(b)) {
            (Some(a), Some(b)) => a.overlap(b),
            _ => 0.0,
        };
        let rule = Rule::new(limits, false)?;
        rule.select(boxes, scores, overlap, self.sort_result_descending, self.output_type)
    }
}
