//! Split-1: equal parts of an axis.

use snick_shape::{AxisSlice, Interval, Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor};

use super::primitive::select_elements;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, exactly, normalize_axis};

op! {
    /// Splits an axis into equal parts. Inputs: data and axis, a scalar.
    #[op(
        "Split", since = [1], inputs = Arity::exactly(2),
        category = Slice, traits = [PURE, MOVES_ELEMENTS, SLICE_LIKE, VIEW, STRIDED],
        check = Split::check_count
    )]
    pub struct Split {
        /// Number of parts.
        pub num_splits: i64,
    }
}

/// Maximum number of outputs, more than any model has.
const MAX_SPLITS: i64 = 1 << 16;

const COUNTS: &str = "1 to 65536";

/// The axis input of Split and VariadicSplit, if known.
pub fn known_axis(axis: &Fact, rank: usize) -> Result<Option<usize>, OpError> {
    if axis.shape.as_static().is_some() && axis.shape.element_count() != Some(1) {
        return Err(OpError::mismatch("`axis`", "a tensor", "one number"));
    }
    match axis.ints().as_deref() {
        Some(&[axis]) => normalize_axis(axis, rank).map(Some),
        _ => Ok(None),
    }
}

impl Split {
    /// Size of each part of an axis; reports an error if the axis is not divisible.
    fn part(&self, cx: &mut Infer, dim: &SymExpr) -> SymExpr {
        let count = self.num_splits;
        // A dim that is always smaller than `count` is divisible only if it is 0, and all parts are then
        // empty.
        cx.exact_div(dim, &SymExpr::from(count)).unwrap_or_else(|| {
            let expected = format!("a multiple of {count}");
            cx.report(OpError::mismatch("the axis to split", cx.interval(dim), expected));
            cx.unknown(Interval::DIM)
        })
    }

    fn check_count(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.num_splits {
            1..=MAX_SPLITS => Ok(()),
            _ => Err(raw.attrs.bad("num_splits", COUNTS)),
        }
    }
}

impl InferOp for Split {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        // Check the count again, because the API can create a Split with any count.
        if !(1..=MAX_SPLITS).contains(&self.num_splits) {
            return Err(OpError::out_of_range("num_splits", self.num_splits, COUNTS));
        }
        cx.expect_integer(1);
        cx.demand_axes(1);
        cx.expect_rank(1, "0", |rank| rank == 0)?;
        let element_type = cx.element_type(0);
        let Some(dims) = cx.shape(0).dims() else {
            return Ok((0..self.num_splits).map(|_| Fact::new(element_type, Shape::unranked())).collect());
        };
        let Some(axis) = known_axis(cx.input(1), dims.len())? else {
            // The axis is unknown, so any dim may shrink.
            let shape = cx.any_smaller(dims);
            return Ok((0..self.num_splits).map(|_| Fact::new(element_type, shape.clone())).collect());
        };
        let mut parts = dims.to_vec();
        parts[axis] = self.part(cx, &dims[axis]);
        let part = parts[axis].as_const();
        let shape = Shape::ranked(parts);
        let fact = |k: i64| {
            let slice = part.and_then(|len| Some(AxisSlice { start: len.checked_mul(k)?, len, step: 1 }));
            let elements = slice.and_then(|slice| select_elements(cx.input(0), &[(axis, slice)]));
            Fact::new(element_type, shape.clone()).with_elements(elements)
        };
        Ok((0..self.num_splits).map(fact).collect())
    }
}

impl EvalOp for Split {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, axis] = exactly(inputs)?;
        let axis = eval_axis(axis, data.rank())?;
        let (size, count) = (data.dims()[axis], self.num_splits as usize);
        if !size.is_multiple_of(count) {
            let expected = format!("a multiple of {count}");
            return Err(OpError::mismatch("the axis to split", size, expected));
        }
        let len = size / count;
        (0..count).map(|k| Ok(data.slice(axis, k * len, len, 1)?)).collect()
    }
}

/// Reads the axis input in evaluation.
pub(super) fn eval_axis(axis: &Tensor, rank: usize) -> Result<usize, OpError> {
    match axis.to_i64_vec()?.as_slice() {
        &[axis] => normalize_axis(axis, rank),
        other => Err(OpError::mismatch("`axis`", format!("{} numbers", other.len()), "one")),
    }
}

impl Infer<'_> {
    /// A shape whose dims are at most `dims`, for splits on an unknown axis.
    pub(super) fn any_smaller(&mut self, dims: &[SymExpr]) -> Shape {
        Shape::ranked(dims.iter().map(|dim| self.up_to(dim)).collect::<SmallVector<SymExpr, 4>>())
    }
}

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    #[test]
    fn an_axis_that_may_be_empty_has_empty_parts() {
        let shape = |size: &str| {
            let text = format!(
                "snick 1\ngraph \"g\" {{\n%x = Parameter-1 {{element_type: f32, shape: \"{size}\"}}\n\
                 %a = Const-1 i64[] <0>\n%s:3 = Split-1(%x, %a) {{num_splits: 3}}\n%y = Result-1(%s:2)\n}}\n"
            );
            let mut graph = text::parse(&text, None).unwrap();
            let errors = infer(&mut graph);
            let result = graph.results().next().unwrap();
            let shape = &graph.node(result).outs()[0].fact.shape;
            (shape.display_intervals(graph.symbols()).to_string(), errors.len())
        };
        assert_eq!(shape("..1"), ("[0]".into(), 0));
        assert_eq!(shape("..5"), ("[..1]".into(), 0));
        assert_eq!(shape("1..2").1, 1);
        assert_eq!(shape("4").1, 1);
    }
}
