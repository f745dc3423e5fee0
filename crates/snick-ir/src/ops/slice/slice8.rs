//! Slice-8: `data[start:stop:step]` on listed axes.

use std::borrow::Borrow;

use snick_shape::{Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor};

use super::axis_range::{AxisRange, known_elements, select};
use super::dynamic_axes::DynamicAxesSlice;
use super::index_inputs::{IndexEntry, IndexInputs, facts_of};
use crate::infer::axes_of;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, IntOrValue, IntegerRole, OpError, normalize_axis};

op! {
    /// Slices `data[start:stop:step]` on the listed axes. Inputs: data, start, stop, step and, optionally,
    /// axes, by default the first ones. The indices are integer vectors of equal length.
    #[op(
        "Slice", since = [8], inputs = Arity::between(4, 5),
        category = Slice, traits = [PURE, MOVES_ELEMENTS, SLICE_LIKE, VIEW, STRIDED]
    )]
    pub struct Slice8;
}

/// The axes and ranges of a Slice-8.
#[derive(Clone, Debug)]
pub enum SliceRanges {
    /// Known axes with these ranges.
    Known(Vec<AxisRange>),
    /// The axes are known only at run time.
    DynamicAxes(Box<DynamicAxesSlice>),
    /// The rank of the data is unknown.
    Unranked,
}

impl SliceRanges {
    /// Decodes the inputs: data, start, stop, step and, optionally, axes.
    ///
    /// # Errors
    /// If the entries are inconsistent with each other or with the data, or a step is 0.
    pub fn of<F: Borrow<Fact>>(inputs: &[F]) -> Result<Self, OpError> {
        let indices = IndexInputs::new(inputs, &["start", "stop", "step", "axes"])?;
        let count = indices.count;
        let Some(rank) = inputs[0].borrow().shape.rank() else { return Ok(Self::Unranked) };
        if rank == 0 {
            return Err(OpError::rank("the data", 0, "1 or more"));
        }
        if let Some(count) = count.filter(|&count| count > rank) {
            let expected = format!("at most {rank}");
            return Err(OpError::out_of_range("the number of sliced axes", count as i64, expected));
        }
        // A step of 0 is an error even if its axis is unknown.
        for (at, step) in indices.elements(3).enumerate() {
            if step.as_int() == Some(0) {
                return Err(OpError::out_of_range(format!("step[{at}]"), 0, "any step but 0"));
            }
        }
        let axes: Option<SmallVector<usize, 4>> = match (count, indices.input_count() > 4) {
            (Some(count), false) => Some((0..count).collect()),
            (Some(count), true) => named_axes(indices.elements(4), count, rank)?,
            (None, _) => None,
        };
        let Some(axes) = axes else {
            return Ok(Self::DynamicAxes(Box::new(DynamicAxesSlice { rank, indices })));
        };
        let range = |(entry, axis)| AxisRange::of_entry(&indices, entry, axis);
        Ok(Self::Known(axes.into_iter().enumerate().map(range).collect()))
    }
}

impl InferOp for Slice8 {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        cx.demand_role(3, || IntegerRole::Positive);
        cx.demand_axes(4);
        let mut dims: SmallVector<SymExpr, 4> = cx.shape(0).dims().unwrap_or_default().into();
        let mut elements = None;
        match SliceRanges::of(cx.inputs())? {
            SliceRanges::Unranked => return Ok(Facts::from(Fact::new(element_type, Shape::unranked()))),
            SliceRanges::DynamicAxes(dynamic) => dims = dynamic.infer(cx, &dims),
            SliceRanges::Known(ranges) => {
                for range in &ranges {
                    dims[range.axis] = cx.range_length(range, &dims[range.axis]);
                }
                elements = known_elements(cx.input(0), &ranges);
            }
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims)).with_elements(elements)))
    }
}

impl EvalOp for Slice8 {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        match SliceRanges::of(&facts_of(inputs))? {
            SliceRanges::Known(ranges) => Ok(vec![select(&inputs[0], &ranges)?]),
            _ => Err(OpError::NoValue { what: "`axes`".into(), why: "it is not an integer vector".into() }),
        }
    }
}

/// The `count` axes, normalised; `None` if any is unknown.
fn named_axes(
    axes: impl Iterator<Item = IntOrValue<IndexEntry>>,
    count: usize,
    rank: usize,
) -> Result<Option<SmallVector<usize, 4>>, OpError> {
    let axes: Option<SmallVector<i64, 4>> = axes.map(|axis| axis.as_int()).collect();
    let Some(axes) = axes.filter(|axes| axes.len() == count) else { return Ok(None) };
    let mut named: SmallVector<usize, 4> = SmallVector::new();
    for (at, &axis) in axes.iter().enumerate() {
        let entry = || format!("axes[{at}]");
        let normal =
            normalize_axis(axis, rank).map_err(|_| OpError::out_of_range(entry(), axis, axes_of(rank)))?;
        if named.contains(&normal) {
            return Err(OpError::out_of_range(entry(), axis, "no axis twice"));
        }
        named.push(normal);
    }
    Ok(Some(named))
}
