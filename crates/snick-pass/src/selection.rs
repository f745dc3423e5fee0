//! What a `slice` primitive selects, as rules that move it need it.

use smallvec::SmallVec;
use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::Patch;
use snick_ir::{Op, OpError, Value};
use snick_shape::{AxisSlice, SymExpr};

/// Dims of a value of known rank.
pub(crate) type SymDims = SmallVec<[SymExpr; 4]>;

/// The slice of one axis.
pub(crate) trait Cut: Copy + PartialEq + Into<DynAxisSlice> {
    /// It in integers, if all its numbers are.
    fn as_static(&self) -> Option<AxisSlice> {
        (*self).into().as_static()
    }
}

impl Cut for AxisSlice {}

impl Cut for DynAxisSlice {}

/// Slices by axis, ascending; axes not listed are whole. Without further words all of them are static.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Selection<C = AxisSlice> {
    axes: SmallVec<[(usize, C); 2]>,
}

/// Selects everything.
impl<C> Default for Selection<C> {
    fn default() -> Self {
        Self { axes: SmallVec::new() }
    }
}

impl Selection {
    /// What a slice without operands selects; `None` for everything else.
    pub(crate) fn of(op: &Op) -> Option<Self> {
        let Op::Slice(slice) = op else { return None };
        Some(Self { axes: slice.as_static()? })
    }
}

impl Selection<DynAxisSlice> {
    /// What the slice that computes `value` selects; `None` for every other op.
    pub(crate) fn computing(patch: &Patch, value: Value) -> Result<Option<Self>, OpError> {
        let Op::Slice(slice) = patch.op_of(value) else { return Ok(None) };
        Ok(Some(Self { axes: slice.bind(&patch.inputs_of(value)?[1..])? }))
    }
}

impl<C: Cut> Selection<C> {
    /// Slices by axis, in any order, an axis at most once.
    pub(crate) fn new(axes: impl IntoIterator<Item = (usize, C)>) -> Self {
        let mut axes: SmallVec<[(usize, C); 2]> = axes.into_iter().collect();
        axes.sort_by_key(|&(axis, _)| axis);
        Self { axes }
    }

    /// The sliced axes, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &C)> + '_ {
        self.axes.iter().map(|(axis, cut)| (*axis, cut))
    }

    /// The slice of one axis; `None` where that is whole.
    pub(crate) fn on(&self, axis: usize) -> Option<&C> {
        self.iter().find(|&(at, _)| at == axis).map(|(_, cut)| cut)
    }

    /// The same selection with another slice of one axis.
    pub(crate) fn with(&self, axis: usize, cut: C) -> Self {
        let others = self.axes.iter().filter(|(at, _)| *at != axis).cloned();
        Self::new(others.chain([(axis, cut)]))
    }

    /// The same selection with one axis whole.
    pub(crate) fn without(&self, axis: usize) -> Self {
        Self { axes: self.axes.iter().filter(|(at, _)| *at != axis).cloned().collect() }
    }

    /// The same slices on other axes; those without one stay behind: first what moves, then what stays.
    pub(crate) fn moved(&self, to: impl Fn(usize) -> Option<usize>) -> (Self, Self) {
        let (moves, stays): (Vec<_>, Vec<_>) =
            self.axes.iter().cloned().partition(|&(axis, _)| to(axis).is_some());
        (Self::new(moves.into_iter().filter_map(|(axis, cut)| Some((to(axis)?, cut)))), Self::new(stays))
    }

    /// Whether everything is selected.
    pub(crate) fn is_whole(&self) -> bool {
        self.axes.is_empty()
    }

    /// Adds the slice of `data`: `data` itself where everything is selected.
    pub(crate) fn apply(&self, patch: &mut Patch, data: Value) -> Result<Value, OpError> {
        let dims = patch.dims(data)?.unwrap_or_default();
        let is_whole = |axis: usize, cut: &C| {
            let dim = dims.get(axis).and_then(SymExpr::as_const);
            Cut::as_static(cut).zip(dim).is_some_and(|(slice, dim)| slice.is_whole(dim))
        };
        let sliced = self.iter().filter(|&(axis, cut)| !is_whole(axis, cut));
        patch.slice(data, sliced.map(|(axis, &cut)| (axis, cut)))
    }

    /// Whether this, which the layer at hand selects of dims, is less than there is: in numbers, whatever the sizes of
    /// open dims; of sizes known only when the graph runs, at least for some.
    pub(crate) fn shrinks(&self, patch: &Patch, dims: &[SymExpr]) -> Result<bool, OpError> {
        let kept = patch.dims(patch.output(0))?.unwrap_or_default();
        let symbols = patch.graph().symbols();
        Ok(self.iter().any(|(axis, cut)| match (Cut::as_static(cut), dims.get(axis), kept.get(axis)) {
            (Some(slice), Some(dim), _) => slice.len < symbols.interval(dim).lo(),
            (None, Some(dim), Some(kept)) => dim != kept,
            _ => false,
        }))
    }

    /// The selection on an operand that broadcasts, by numpy's rule, to the dims `whole` that are sliced: its axes of
    /// size 1 that stretch stay. `None` where it is not known whether an axis stretches.
    pub(crate) fn before_broadcast(&self, operand: &[SymExpr], whole: &[SymExpr]) -> Option<Self> {
        let missing = whole.len().checked_sub(operand.len())?;
        let mut axes = SmallVec::new();
        for (axis, cut) in self.iter() {
            let Some(at) = axis.checked_sub(missing) else { continue };
            if operand.get(at)? == whole.get(axis)? {
                axes.push((at, cut.clone()));
            } else if operand[at].as_const() != Some(1) {
                return None;
            }
        }
        Some(Self { axes })
    }
}
