//! Slice-8: `data[start:stop:step]` on listed axes.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::axis_range::{AxisRange, Index, common_count, entries_of, entry_count, facts_of, select};
use super::dynamic_axes::DynamicAxesSlice;
use super::lowering::lower_ranges;
use super::primitive::select_elements;
use crate::rewrite::{Patch, RewriteResult};
use crate::{
    Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode, normalize_axis,
};

/// OpenVINO Slice-8. Inputs: data, start, stop, step, and maybe axes; without axes the first ones are sliced. The
/// indices are vectors of one length and of any integer type each.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice8;

const INDEX_NAMES: [&str; 4] = ["start", "stop", "step", "axes"];

/// What is known of which axes are sliced.
pub(super) enum Ranges {
    /// These.
    Known(Vec<AxisRange>),
    /// Not which ones, but maybe how many.
    Unknown(Option<usize>),
}

/// The ranges that data, start, stop, step and maybe axes mean.
pub(super) fn ranges(inputs: &[&Fact]) -> Result<Ranges, OpError> {
    let mut counts: SmallVec<[(usize, &str); 4]> = SmallVec::new();
    for (fact, name) in inputs[1..].iter().zip(INDEX_NAMES) {
        counts.extend(entry_count(fact, name)?.map(|count| (count, name)));
    }
    let count = common_count(&counts)?;
    let Some(rank) = inputs[0].shape.rank() else { return Ok(Ranges::Unknown(count)) };
    if rank == 0 {
        return Err(OpError::rank("the data", 0, "1 or more"));
    }
    if let Some(count) = count.filter(|&count| count > rank) {
        return Err(OpError::out_of_range(
            "the number of sliced axes",
            count as i64,
            format!("at most {rank}"),
        ));
    }
    // On whichever axis: a step of 0 is wrong on all.
    for (at, step) in entries_of(inputs[3]).iter().flatten().enumerate() {
        if step.as_const() == Some(0) {
            return Err(OpError::out_of_range(format!("step[{at}]"), 0, "any step but 0"));
        }
    }
    let axes: SmallVec<[usize; 4]> = match (inputs.get(4), count) {
        (None, Some(count)) => (0..count).collect(),
        (Some(axes), Some(_)) => match known_axes(axes) {
            Some(axes) => named_axes(&axes, rank)?,
            None => return Ok(Ranges::Unknown(count)),
        },
        (_, None) => return Ok(Ranges::Unknown(None)),
    };
    let known: SmallVec<[Option<Vec<SymExpr>>; 3]> = inputs[1..4].iter().map(|f| entries_of(f)).collect();
    let entry =
        |i: usize, at: usize| Index::entry(i + 1, at, known[i].as_deref(), inputs[i + 1].element_type);
    let ranges = axes.into_iter().enumerate().map(|(at, axis)| AxisRange {
        axis,
        start: entry(0, at),
        stop: entry(1, at),
        step: entry(2, at),
        single: false,
    });
    Ok(Ranges::Known(ranges.collect()))
}

impl Slice8 {
    /// The ranges, where axes are known.
    pub(super) fn known_ranges(&self, inputs: &[&Fact]) -> Option<Vec<AxisRange>> {
        match ranges(inputs).ok()? {
            Ranges::Known(ranges) => Some(ranges),
            Ranges::Unknown(_) => None,
        }
    }
}

impl OpDef for Slice8 {
    const NAMES: &'static [OpName] = &[OpName::openvino("Slice", &[8])];
    const ARITY: Arity = Arity::between(4, 5);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS).union(OpTraits::SLICE_LIKE);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }

    fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
        let facts = cx.input_facts()?;
        let Some(rank) = facts[0].shape.rank() else {
            return Ok(RewriteResult::Declined("the rank of the data is unknown".into()));
        };
        let facts: SmallVec<[&Fact; 5]> = facts.iter().collect();
        match ranges(&facts)? {
            Ranges::Known(ranges) => {
                let data = cx.input(0)?;
                let sliced = lower_ranges(cx, data, &ranges)?;
                Ok(RewriteResult::one(sliced))
            }
            Ranges::Unknown(count) => DynamicAxesSlice { rank, count, inputs: &facts }.lower(cx),
        }
    }
}

impl InferOp for Slice8 {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        let ranges = ranges(cx.inputs())?;
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let mut dims: SmallVec<[SymExpr; 4]> = dims.iter().cloned().collect();
        match ranges {
            Ranges::Unknown(count) => {
                let inputs: SmallVec<[Fact; 5]> = cx.inputs().iter().map(|&fact| fact.clone()).collect();
                let inputs: SmallVec<[&Fact; 5]> = inputs.iter().collect();
                let open = DynamicAxesSlice { rank: dims.len(), count, inputs: &inputs };
                Ok(smallvec![Fact::new(element_type, Shape::ranked(open.infer(cx, &dims)))])
            }
            Ranges::Known(ranges) => {
                for range in &ranges {
                    dims[range.axis] = cx.range_length(range, &dims[range.axis]);
                }
                let slices = static_slices(cx.input(0), &ranges);
                let elements = slices.and_then(|slices| select_elements(cx.input(0), &slices));
                Ok(smallvec![Fact::new(element_type, Shape::ranked(dims)).with_elements(elements)])
            }
        }
    }
}

impl EvalOp for Slice8 {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let facts = facts_of(inputs);
        match ranges(&facts.iter().collect::<SmallVec<[&Fact; 5]>>())? {
            Ranges::Known(ranges) => Ok(vec![select(&inputs[0], &ranges)?]),
            Ranges::Unknown(_) => {
                Err(OpError::NoValue { what: "`axes`".into(), why: "it is not integer".into() })
            }
        }
    }
}

/// The axes counted from the first. An error names the entry that is wrong.
fn named_axes(axes: &[i64], rank: usize) -> Result<SmallVec<[usize; 4]>, OpError> {
    let mut named: SmallVec<[usize; 4]> = SmallVec::new();
    for (at, &axis) in axes.iter().enumerate() {
        let entry = || format!("axes[{at}]");
        let normal = normalize_axis(axis, rank).map_err(|_| {
            OpError::out_of_range(entry(), axis, format!("-{rank}..{} for rank {rank}", rank as i64 - 1))
        })?;
        if named.contains(&normal) {
            return Err(OpError::out_of_range(entry(), axis, "no axis twice"));
        }
        named.push(normal);
    }
    Ok(named)
}

fn known_axes(axes: &Fact) -> Option<SmallVec<[i64; 4]>> {
    entries_of(axes)?.iter().map(SymExpr::as_const).collect()
}

/// The ranges as slices, if all of them are known in numbers.
pub(super) fn static_slices(
    data: &Fact,
    ranges: &[AxisRange],
) -> Option<SmallVec<[(usize, snick_shape::AxisSlice); 4]>> {
    let dims = data.shape.as_static()?;
    ranges.iter().map(|range| Some((range.axis, range.resolve(dims[range.axis] as i64)?.ok()?))).collect()
}
