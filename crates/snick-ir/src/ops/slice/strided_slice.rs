//! StridedSlice-1: `data[begin:end:stride]`, with masks that express numpy's `:`, `...`, `None` and single
//! indices.
//!
//! [`StridedSlice::plan`] decodes the masks for all users: inference and evaluation below, legalization
//! (`snick-pass/src/legalize/to_slice/strided_slice.rs`), numpy notation (`notation.rs`) and the ONNX writer.

use std::borrow::Borrow;

use snick_shape::{Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor};

use super::axis_range::{AxisRange, known_elements, select};
use super::index_inputs::{IndexInputs, facts_of};
use super::mask::Mask;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, IntOrValue, IntegerRole, OpError, RawNode};

op! {
    /// Slices `data[begin:end:stride]`. Inputs: data, begin, end and, optionally, stride, which defaults to
    /// 1.
    ///
    /// Bit `i` of a mask applies to entry `i` of begin, end and stride. If several masks apply to an entry,
    /// the precedence is ellipsis, new axis, shrink, begin and end. Axes after the last entry are unchanged.
    #[op(
        "StridedSlice", since = [1], inputs = Arity::between(3, 4),
        category = Slice, traits = [PURE, MOVES_ELEMENTS, SLICE_LIKE, VIEW, STRIDED],
        check = StridedSlice::check_masks
    )]
    pub struct StridedSlice {
        /// Ignores `begin` of the entry: the slice starts at the first element in the direction of the
        /// stride.
        pub begin_mask: Mask = Mask::default(),
        /// Ignores `end` of the entry: the slice continues to the last element in the direction of the
        /// stride.
        pub end_mask: Mask = Mask::default(),
        /// The entry inserts an axis of size 1 and consumes no axis of the input.
        pub new_axis_mask: Mask = Mask::default(),
        /// The entry selects the single element at `begin` and drops the axis.
        pub shrink_axis_mask: Mask = Mask::default(),
        /// The entry covers all axes that no other entry consumes.
        pub ellipsis_mask: Mask = Mask::default(),
    }
}

/// The effect of one entry, that is, of the elements of begin, end and stride at one index.
#[derive(Clone, PartialEq, Debug)]
pub enum EntryPlan {
    /// Keeps this many axes unchanged.
    Whole(usize),
    /// Inserts an axis of size 1.
    NewAxis,
    /// Slices one axis, and drops it if the range is a single element.
    Range(AxisRange),
}

/// The decoded entries, in order. Axes after the last entry are unchanged.
#[derive(Clone, PartialEq, Debug)]
pub struct StridedSlicePlan(pub SmallVector<EntryPlan, 4>);

impl StridedSlice {
    /// Decodes the masks. Returns `None` if the number of entries is unknown, or if an ellipsis needs an
    /// unknown rank.
    ///
    /// # Errors
    /// If the entries are inconsistent with each other or with the data, or a stride in use is 0.
    pub fn plan<F: Borrow<Fact>>(&self, inputs: &[F]) -> Result<Option<StridedSlicePlan>, OpError> {
        let indices = IndexInputs::new(inputs, &["begin", "end", "stride"])?;
        let Some(count) = indices.count else { return Ok(None) };
        if count > Mask::MAX_LEN {
            return Err(OpError::out_of_range("the number of entries", count as i64, "at most 64"));
        }
        let is_ellipsis = |at: usize| self.ellipsis_mask.get(at);
        let is_new_axis = |at: usize| !is_ellipsis(at) && self.new_axis_mask.get(at);
        let taken = (0..count).filter(|&at| !is_ellipsis(at) && !is_new_axis(at)).count();
        let rank = inputs[0].borrow().shape.rank();
        if let Some(rank) = rank.filter(|&rank| taken > rank) {
            let expected = format!("at most {rank}, the rank of the data");
            return Err(OpError::out_of_range(
                "the number of entries that take an axis",
                taken as i64,
                expected,
            ));
        }
        let mut plan = SmallVector::new();
        let mut axis = 0;
        for entry in 0..count {
            if is_ellipsis(entry) {
                let Some(rank) = rank else { return Ok(None) };
                plan.push(EntryPlan::Whole(rank - taken));
                axis += rank - taken;
            } else if is_new_axis(entry) {
                plan.push(EntryPlan::NewAxis);
            } else {
                let single = self.shrink_axis_mask.get(entry);
                let bound =
                    |mask: Mask, input| (single || !mask.get(entry)).then(|| indices.entry(input, entry));
                let (start, stop) = (bound(self.begin_mask, 1), bound(self.end_mask, 2));
                let step =
                    if indices.input_count() > 3 { indices.entry(3, entry) } else { IntOrValue::Int(1) };
                let range = AxisRange { axis, entry, start, stop, step, single };
                range.check_step("stride")?;
                plan.push(EntryPlan::Range(range));
                axis += 1;
            }
        }
        Ok(Some(StridedSlicePlan(plan)))
    }

    fn check_masks(&self, raw: &RawNode) -> Result<(), OpError> {
        let len = self.begin_mask.len();
        for (name, mask) in [
            ("end_mask", self.end_mask),
            ("new_axis_mask", self.new_axis_mask),
            ("shrink_axis_mask", self.shrink_axis_mask),
            ("ellipsis_mask", self.ellipsis_mask),
        ] {
            if !mask.is_empty() && mask.len() != len {
                let expected = format!("no bits, or as many as `begin_mask`: {len}");
                return Err(raw.attrs.bad(name, &expected));
            }
        }
        match self.ellipsis_mask.count_ones() {
            0 | 1 => Ok(()),
            _ => Err(raw.attrs.bad("ellipsis_mask", "at most one bit")),
        }
    }
}

impl StridedSlicePlan {
    /// The ranges, by ascending axis of the input.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = &AxisRange> {
        self.0.iter().filter_map(|entry| match entry {
            EntryPlan::Range(range) => Some(range),
            _ => None,
        })
    }

    /// The axes of the input that are dropped, ascending.
    pub fn dropped_axes(&self) -> Vec<i64> {
        self.ranges().filter(|range| range.single).map(|range| range.axis as i64).collect()
    }

    /// The new axes of the output, ascending.
    pub fn new_axes(&self) -> Vec<i64> {
        let mut next = 0;
        let mut axes = Vec::new();
        for entry in &self.0 {
            axes.extend(matches!(entry, EntryPlan::NewAxis).then_some(next));
            next += match entry {
                EntryPlan::Whole(count) => *count as i64,
                EntryPlan::NewAxis => 1,
                EntryPlan::Range(range) => i64::from(!range.single),
            };
        }
        axes
    }
}

impl InferOp for StridedSlice {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        cx.demand_role(3, || IntegerRole::Positive);
        let (Some(plan), Some(dims)) = (self.plan(cx.inputs())?, cx.shape(0).dims()) else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let mut dims: SmallVector<SymExpr, 4> = dims.into();
        for range in plan.ranges() {
            dims[range.axis] = cx.range_length(range, &dims[range.axis]);
        }
        for &axis in plan.dropped_axes().iter().rev() {
            dims.remove(axis as usize);
        }
        for axis in plan.new_axes() {
            dims.insert(axis as usize, SymExpr::from(1));
        }
        let elements = known_elements(cx.input(0), plan.ranges());
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims)).with_elements(elements)))
    }
}

impl EvalOp for StridedSlice {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let unknown =
            || OpError::NoValue { what: "the number of entries".into(), why: "no index input".into() };
        let plan = self.plan(&facts_of(inputs))?.ok_or_else(unknown)?;
        let mut view = select(&inputs[0], plan.ranges())?;
        for &axis in plan.dropped_axes().iter().rev() {
            view = view.squeeze(axis as usize)?;
        }
        for axis in plan.new_axes() {
            view = view.unsqueeze(axis as usize)?;
        }
        Ok(vec![view])
    }
}
