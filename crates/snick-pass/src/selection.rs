//! The selection of a `slice` primitive, for rules that move slices.

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::Patch;
use snick_ir::{Op, OpError, Value};
use snick_shape::{AxisSlice, SymExpr};
use snick_tensor::SmallVector;

/// The slice of a single axis, static or dynamic.
pub(crate) trait AnySlice: Copy + PartialEq + Into<DynAxisSlice> {
    /// The slice, if it is static.
    fn as_static(&self) -> Option<AxisSlice> {
        (*self).into().as_static()
    }
}

impl AnySlice for AxisSlice {}

impl AnySlice for DynAxisSlice {}

/// The slice of each axis, by ascending axis. Axes that are not listed are not sliced. The slices are static
/// by default.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Selection<C = AxisSlice> {
    axes: SmallVector<(usize, C), 2>,
}

/// The selection of all elements.
impl<C> Default for Selection<C> {
    fn default() -> Self {
        Self { axes: SmallVector::new() }
    }
}

impl Selection {
    /// The selection of a static slice; `None` for any other op.
    pub(crate) fn of(op: &Op) -> Option<Self> {
        let Op::Slice(slice) = op else { return None };
        Some(Self { axes: slice.as_static()? })
    }
}

impl Selection<DynAxisSlice> {
    /// If the matched slice reads the output of an op that `pick` accepts, returns the selection of the
    /// slice, the sliced value, and the result of `pick`.
    pub(crate) fn of_computed<T>(
        patch: &Patch,
        pick: impl FnOnce(&Op) -> Option<T>,
    ) -> Result<Option<(Self, Value, T)>, OpError> {
        let Op::Slice(slice) = patch.node().op() else { return Ok(None) };
        let data = patch.input(0)?;
        // Calls `pick` before anything is copied, because many rules visit every slice.
        let Some(picked) = pick(patch.op_of(data)) else { return Ok(None) };
        Ok(Some((Self { axes: slice.bind(&patch.inputs_of(patch.output(0))?[1..])? }, data, picked)))
    }

    /// The selection of the slice that computes `value`; `None` if another op computes it.
    pub(crate) fn computing(patch: &Patch, value: Value) -> Result<Option<Self>, OpError> {
        let Op::Slice(slice) = patch.op_of(value) else { return Ok(None) };
        Ok(Some(Self { axes: slice.bind(&patch.inputs_of(value)?[1..])? }))
    }
}

impl<C: AnySlice> Selection<C> {
    /// Slices by axis, in any order, at most one per axis.
    pub(crate) fn new(axes: impl IntoIterator<Item = (usize, C)>) -> Self {
        Self::sorted(axes.into_iter().collect())
    }

    /// A separate function, so that it is compiled once and not for each iterator type.
    fn sorted(mut axes: SmallVector<(usize, C), 2>) -> Self {
        axes.sort_by_key(|&(axis, _)| axis);
        Self { axes }
    }

    /// The sliced axes, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &C)> + '_ {
        self.axes.iter().map(|(axis, slice)| (*axis, slice))
    }

    /// The slice of one axis; `None` if the axis is not sliced.
    pub(crate) fn on(&self, axis: usize) -> Option<&C> {
        self.iter().find(|&(at, _)| at == axis).map(|(_, slice)| slice)
    }

    /// The same selection with a different slice of one axis.
    pub(crate) fn with(&self, axis: usize, slice: C) -> Self {
        let others = self.axes.iter().filter(|(at, _)| *at != axis).cloned();
        Self::new(others.chain([(axis, slice)]))
    }

    /// The same selection without a slice of one axis.
    pub(crate) fn without(&self, axis: usize) -> Self {
        Self { axes: self.axes.iter().filter(|(at, _)| *at != axis).cloned().collect() }
    }

    /// Splits the selection into the slices of axes that `accepts` allows, and the slices of all other axes.
    pub(crate) fn split(&self, accepts: impl Fn(usize) -> bool) -> (Self, Self) {
        let (accepted, others) = self.axes.iter().copied().partition(|&(axis, _)| accepts(axis));
        (Self { axes: accepted }, Self { axes: others })
    }

    /// Whether all elements are selected.
    pub(crate) fn is_whole(&self) -> bool {
        self.axes.is_empty()
    }

    /// Adds a slice of `data`, or returns `data` if all elements are selected.
    pub(crate) fn apply(&self, patch: &mut Patch, data: Value) -> Result<Value, OpError> {
        let dims = patch.dims(data)?.unwrap_or_default();
        let is_whole = |axis: usize, slice: &C| {
            let dim = dims.get(axis).and_then(SymExpr::as_const);
            AnySlice::as_static(slice).zip(dim).is_some_and(|(slice, dim)| slice.is_whole(dim))
        };
        let sliced = self.iter().filter(|&(axis, slice)| !is_whole(axis, slice));
        patch.slice(data, sliced.map(|(axis, &slice)| (axis, slice)))
    }

    /// Whether the matched slice, with this selection, has fewer elements than `dims`. A static slice must
    /// have fewer elements for all sizes, a dynamic slice for some sizes.
    pub(crate) fn shrinks(&self, patch: &Patch, dims: &[SymExpr]) -> Result<bool, OpError> {
        let kept = patch.dims(patch.output(0))?.unwrap_or_default();
        Ok(self.iter().any(|(axis, slice)| {
            match (AnySlice::as_static(slice), dims.get(axis), kept.get(axis)) {
                (Some(slice), Some(dim), _) => slice.len < patch.interval(dim).lo(),
                (None, Some(dim), Some(kept)) => dim != kept,
                _ => false,
            }
        }))
    }
}
