//! What a `slice` primitive without operands selects, as rules that move it need it.

use smallvec::SmallVec;
use snick_ir::ops::slice::primitive::{Axis, Slice};
use snick_ir::rewrite::Patch;
use snick_ir::{Op, OpError, Value};
use snick_shape::{AxisSlice, SymExpr};

/// Dims of a value of known rank.
pub(crate) type Dims = SmallVec<[SymExpr; 4]>;

/// Static slices by axis, ascending; axes not listed are whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Selection {
    axes: SmallVec<[(usize, AxisSlice); 2]>,
}

impl Selection {
    /// What a slice without operands selects; `None` for everything else.
    pub(crate) fn of(op: &Op) -> Option<Self> {
        let Op::Slice(slice) = op else { return None };
        let axes = slice.axes.iter().map(|axis| Some((axis.axis, Axis::as_static(axis)?)));
        Some(Self { axes: axes.collect::<Option<_>>()? })
    }

    /// Slices by axis, which must ascend.
    pub(crate) fn new(axes: impl IntoIterator<Item = (usize, AxisSlice)>) -> Self {
        Self { axes: axes.into_iter().collect() }
    }

    /// The sliced axes, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, AxisSlice)> + '_ {
        self.axes.iter().copied()
    }

    /// The slice of one axis; `None` where that is whole.
    pub(crate) fn on(&self, axis: usize) -> Option<AxisSlice> {
        self.iter().find(|&(at, _)| at == axis).map(|(_, slice)| slice)
    }

    /// The same selection with another slice of one axis.
    pub(crate) fn with(&self, axis: usize, slice: AxisSlice) -> Self {
        let mut axes: SmallVec<[(usize, AxisSlice); 2]> = self.iter().filter(|&(at, _)| at != axis).collect();
        axes.push((axis, slice));
        axes.sort_by_key(|&(at, _)| at);
        Self { axes }
    }

    /// The same selection with one axis whole.
    pub(crate) fn without(&self, axis: usize) -> Self {
        Self { axes: self.iter().filter(|&(at, _)| at != axis).collect() }
    }

    /// Adds the slice of `data`: `data` itself where everything is selected.
    pub(crate) fn apply(&self, patch: &mut Patch, data: Value) -> Result<Value, OpError> {
        let dims = patch.dims(data)?.unwrap_or_default();
        let is_whole = |axis: usize, slice: AxisSlice| {
            dims.get(axis).and_then(SymExpr::as_const).is_some_and(|dim| slice.is_whole(dim))
        };
        let rest: SmallVec<[(usize, AxisSlice); 2]> =
            self.iter().filter(|&(axis, slice)| !is_whole(axis, slice)).collect();
        if rest.is_empty() { Ok(data) } else { patch.add(Slice::fixed(rest), &[data]) }
    }

    /// Whether fewer elements are selected than there are, whatever the sizes of open dims.
    pub(crate) fn shrinks(&self, patch: &Patch, dims: &[SymExpr]) -> bool {
        let symbols = patch.graph().symbols();
        self.iter()
            .any(|(axis, slice)| dims.get(axis).is_some_and(|dim| slice.len < symbols.interval(dim).lo()))
    }

    /// The selection on an operand that broadcasts, by numpy's rule, to the dims `whole` that are sliced: its axes of
    /// size 1 that stretch stay. `None` where it is not known whether an axis stretches.
    pub(crate) fn before_broadcast(&self, operand: &[SymExpr], whole: &[SymExpr]) -> Option<Self> {
        let missing = whole.len().checked_sub(operand.len())?;
        let mut axes = SmallVec::new();
        for (axis, slice) in self.iter() {
            let Some(at) = axis.checked_sub(missing) else { continue };
            if operand.get(at)? == whole.get(axis)? {
                axes.push((at, slice));
            } else if operand[at].as_const() != Some(1) {
                return None;
            }
        }
        Some(Self { axes })
    }
}
