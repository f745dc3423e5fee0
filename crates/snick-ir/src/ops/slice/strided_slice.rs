//! StridedSlice-1: `data[begin:end:stride]`, with masks for what numpy writes as `:`, `...`, `None` and `i`.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr, Symbols};
use snick_tensor::Tensor;

use super::axis_range::{AxisRange, Index, common_count, entries_of, entry_count, facts_of, select};
use super::lowering::lower_ranges;
use super::notation::range_text;
use super::primitive::select_elements;
use super::slice8::static_slices;
use crate::rewrite::{Patch, RewriteResult};
use crate::{
    Arity, AttrValue, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode,
};

/// OpenVINO StridedSlice-1. Inputs: data, begin, end, and maybe stride (1 everywhere if absent).
///
/// Bit i of a mask speaks of entry i of begin, end and stride. On one entry the masks take precedence in the order
/// ellipsis, new axis, shrink, begin and end. Axes behind the last entry are whole.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StridedSlice {
    /// The entry's begin is the first element in the stride's direction.
    pub begin_mask: Mask,
    /// The entry's end is behind the last element in the stride's direction.
    pub end_mask: Mask,
    /// The entry makes a new axis of size 1 and takes none of the input.
    pub new_axis_mask: Mask,
    /// The entry selects the one element at begin and drops the axis.
    pub shrink_axis_mask: Mask,
    /// The entry stands for all axes that no other entry takes.
    pub ellipsis_mask: Mask,
}

/// A list of 0 and 1. Missing bits are 0.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Mask {
    bits: u64,
    len: u8,
}

/// From its bits; those behind the 64th, which no entry has, are left out.
impl FromIterator<u8> for Mask {
    fn from_iter<I: IntoIterator<Item = u8>>(bits: I) -> Self {
        let set = |mask: Self, bit: u8| Self {
            bits: mask.bits | u64::from(bit != 0) << mask.len,
            len: mask.len + 1,
        };
        bits.into_iter().take(MAX_ENTRIES).fold(Self::default(), set)
    }
}

/// Entries of one StridedSlice: more than there can be axes.
const MAX_ENTRIES: usize = 64;

impl Mask {
    fn read(attrs: &Attrs, name: &'static str) -> Result<Self, OpError> {
        let values = attrs.ints(name)?.unwrap_or_default();
        if values.len() > MAX_ENTRIES || values.iter().any(|v| !(0..=1).contains(v)) {
            return Err(attrs.bad(name, "at most 64 of 0 and 1"));
        }
        let bits = values.iter().enumerate().fold(0, |bits, (i, &v)| bits | (v as u64) << i);
        Ok(Self { bits, len: values.len() as u8 })
    }

    /// Bit `i`.
    pub fn get(self, i: usize) -> bool {
        i < MAX_ENTRIES && self.bits >> i & 1 == 1
    }

    fn write(self) -> AttrValue<'static> {
        AttrValue::Ints((0..usize::from(self.len)).map(|i| i64::from(self.get(i))).collect())
    }
}

/// Where an axis of the output comes from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Out {
    /// A new axis of size 1.
    New,
    /// An axis of the input, whole or sliced.
    Axis(usize),
}

/// What the masks make of the entries.
struct SlicePlan {
    ranges: SmallVec<[AxisRange; 4]>,
    outs: SmallVec<[Out; 6]>,
}

impl StridedSlice {
    /// `None` where the rank, or the number of entries, is not known.
    fn plan(&self, inputs: &[&Fact]) -> Result<Option<SlicePlan>, OpError> {
        let mut counts: SmallVec<[(usize, &str); 3]> = SmallVec::new();
        for (fact, name) in inputs[1..].iter().zip(["begin", "end", "stride"]) {
            counts.extend(entry_count(fact, name)?.map(|count| (count, name)));
        }
        let (Some(count), Some(rank)) = (common_count(&counts)?, inputs[0].shape.rank()) else {
            return Ok(None);
        };
        if count > MAX_ENTRIES {
            return Err(OpError::out_of_range("the number of entries", count as i64, "at most 64"));
        }
        let is_ellipsis = |i: usize| self.ellipsis_mask.get(i);
        let is_new = |i: usize| !is_ellipsis(i) && self.new_axis_mask.get(i);
        let taken = (0..count).filter(|&i| !is_ellipsis(i) && !is_new(i)).count();
        if taken > rank {
            let expected = format!("at most {rank}, the rank of the data");
            return Err(OpError::out_of_range(
                "the number of entries that take an axis",
                taken as i64,
                expected,
            ));
        }
        let known: SmallVec<[Option<Vec<SymExpr>>; 3]> = inputs[1..].iter().map(|f| entries_of(f)).collect();
        let entry =
            |i: usize, at: usize| Index::entry(i + 1, at, known[i].as_deref(), inputs[i + 1].element_type);
        let mut plan = SlicePlan { ranges: SmallVec::new(), outs: SmallVec::new() };
        let mut axis = 0;
        for at in 0..count {
            if is_ellipsis(at) {
                let whole = rank - taken;
                plan.outs.extend((axis..axis + whole).map(Out::Axis));
                axis += whole;
                continue;
            }
            if is_new(at) {
                plan.outs.push(Out::New);
                continue;
            }
            let single = self.shrink_axis_mask.get(at);
            let masked =
                |mask: Mask, index: Index| if mask.get(at) && !single { Index::Masked } else { index };
            plan.ranges.push(AxisRange {
                axis,
                start: masked(self.begin_mask, entry(0, at)),
                stop: masked(self.end_mask, entry(1, at)),
                step: if inputs.len() > 3 { entry(2, at) } else { Index::Fixed(1) },
                single,
            });
            if !single {
                plan.outs.push(Out::Axis(axis));
            }
            axis += 1;
        }
        plan.outs.extend((axis..rank).map(Out::Axis));
        plan.ranges.iter().try_for_each(|range| range.check_step("stride"))?;
        Ok(Some(plan))
    }
}

impl StridedSlice {
    /// The entries as numpy writes them, one an axis that is taken or made.
    pub(super) fn entries(&self, inputs: &[&Fact], symbols: &Symbols) -> Option<Vec<String>> {
        let plan = self.plan(inputs).ok()??;
        let rank = inputs[0].shape.rank()?;
        let of_axis = |axis: usize| {
            let range = plan.ranges.iter().find(|range| range.axis == axis);
            range.map_or(":".to_string(), |range| range_text(range, symbols))
        };
        let mut next = 0;
        let mut entries = Vec::new();
        for out in &plan.outs {
            match *out {
                Out::New => entries.push("None".to_string()),
                Out::Axis(axis) => {
                    entries.extend((next..=axis).map(of_axis));
                    next = axis + 1;
                }
            }
        }
        entries.extend((next..rank).map(of_axis));
        Some(entries)
    }
}

impl SlicePlan {
    /// Sizes of the output from those of the sliced input.
    fn out_dims<T: Clone>(&self, sliced: &[T], one: T) -> Vec<T> {
        let dim = |out: &Out| match out {
            Out::New => one.clone(),
            Out::Axis(axis) => sliced[*axis].clone(),
        };
        self.outs.iter().map(dim).collect()
    }
}

impl OpDef for StridedSlice {
    const NAMES: &'static [OpName] = &[OpName::openvino("StridedSlice", &[1])];
    const ARITY: Arity = Arity::between(3, 4);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS).union(OpTraits::SLICE_LIKE);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let mask = |name| Mask::read(&raw.attrs, name);
        let op = Self {
            begin_mask: mask("begin_mask")?,
            end_mask: mask("end_mask")?,
            new_axis_mask: mask("new_axis_mask")?,
            shrink_axis_mask: mask("shrink_axis_mask")?,
            ellipsis_mask: mask("ellipsis_mask")?,
        };
        let length = op.begin_mask.len;
        for (mask, name) in [
            (op.end_mask, "end_mask"),
            (op.new_axis_mask, "new_axis_mask"),
            (op.shrink_axis_mask, "shrink_axis_mask"),
            (op.ellipsis_mask, "ellipsis_mask"),
        ] {
            if mask.len != 0 && mask.len != length {
                let expected = format!("no bits, or as many as `begin_mask` has: {length}");
                return Err(raw.attrs.bad(name, &expected));
            }
        }
        if op.ellipsis_mask.bits.count_ones() > 1 {
            return Err(raw.attrs.bad("ellipsis_mask", "at most one bit"));
        }
        Ok(op)
    }

    fn attrs(&self) -> Attrs<'static> {
        let mut attrs = Attrs::new();
        attrs.push("begin_mask".into(), self.begin_mask.write());
        attrs.push("end_mask".into(), self.end_mask.write());
        attrs.push("new_axis_mask".into(), self.new_axis_mask.write());
        attrs.push("shrink_axis_mask".into(), self.shrink_axis_mask.write());
        attrs.push("ellipsis_mask".into(), self.ellipsis_mask.write());
        attrs
    }

    fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
        let facts = cx.input_facts()?;
        let Some(plan) = self.plan(&facts.iter().collect::<SmallVec<[&Fact; 5]>>())? else {
            let what = if facts[0].shape.rank().is_none() {
                "the rank of the data"
            } else {
                "the number of entries"
            };
            return Ok(RewriteResult::Declined(format!("{what} is unknown")));
        };
        let data = cx.input(0)?;
        let mut value = lower_ranges(cx, data, &plan.ranges)?;
        let dropped: Vec<i64> = plan.ranges.iter().filter(|r| r.single).map(|r| r.axis as i64).collect();
        if !dropped.is_empty() {
            let axes = cx.ints(&dropped)?;
            value = cx.make("Squeeze", Attrs::new(), &[value, axes])?;
        }
        let made = plan.outs.iter().enumerate().filter(|(_, out)| **out == Out::New);
        let made: Vec<i64> = made.map(|(at, _)| at as i64).collect();
        if !made.is_empty() {
            let axes = cx.ints(&made)?;
            value = cx.make("Unsqueeze", Attrs::new(), &[value, axes])?;
        }
        Ok(RewriteResult::one(value))
    }
}

impl InferOp for StridedSlice {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        let (Some(plan), Some(dims)) = (self.plan(cx.inputs())?, cx.shape(0).dims()) else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let mut dims: SmallVec<[SymExpr; 4]> = dims.iter().cloned().collect();
        for range in &plan.ranges {
            dims[range.axis] = cx.range_length(range, &dims[range.axis]);
        }
        let shape = Shape::ranked(plan.out_dims(&dims, SymExpr::from(1)));
        let slices = static_slices(cx.input(0), &plan.ranges);
        let elements = slices.and_then(|slices| select_elements(cx.input(0), &slices));
        Ok(smallvec![Fact::new(element_type, shape).with_elements(elements)])
    }
}

impl EvalOp for StridedSlice {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let facts = facts_of(inputs);
        let Some(plan) = self.plan(&facts.iter().collect::<SmallVec<[&Fact; 5]>>())? else {
            return Err(OpError::NoValue {
                what: "the number of entries".into(),
                why: "no index input".into(),
            });
        };
        let mut view = select(&inputs[0], &plan.ranges)?;
        // From behind, so that positions before stay what they are.
        for range in plan.ranges.iter().rev().filter(|range| range.single) {
            view = view.squeeze(range.axis)?;
        }
        for (at, _) in plan.outs.iter().enumerate().filter(|(_, out)| **out == Out::New) {
            view = view.unsqueeze(at)?;
        }
        Ok(vec![view])
    }
}
