//! Slice-8 whose axes, or how many they are, only the run knows: each axis of the data is sliced by the entry that
//! names it, whichever that is, and is whole where none does.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, SymExpr};

use super::arithmetic::{from_end, index_scalar};
use super::axis_range::{AxisRange, Index, entries_of};
use super::dyn_axis_slice::{DynAxisSlice, Number};
use super::lowering::{clamped, slice_of};
use super::scalar::Scalar;
use crate::rewrite::{Patch, RewriteResult};
use crate::{Attrs, Fact, Infer, OpError, Value};

/// More pairs of an entry and an axis than this are not written out as graph ops.
const MAX_PAIRS: usize = 1024;

/// `start:stop:step` of an axis that no entry names.
const WHOLE: [i64; 3] = [0, i64::MAX, 1];

/// The entries of such a Slice-8.
pub(super) struct DynamicAxesSlice<'a> {
    /// Rank of the data; at least 1.
    pub(super) rank: usize,
    /// Number of entries, if it is known.
    pub(super) count: Option<usize>,
    /// Facts of the inputs: data, start, stop, step and maybe axes.
    pub(super) inputs: &'a [&'a Fact],
}

impl DynamicAxesSlice<'_> {
    /// Input `i`, entry `at`.
    fn entry(&self, i: usize, at: usize) -> Index {
        Index::entry(i, at, entries_of(self.inputs[i]).as_deref(), self.inputs[i].element_type)
    }

    /// Entry `at`, were it to slice `axis`.
    fn range(&self, at: usize, axis: usize) -> AxisRange {
        let [start, stop, step] = [1, 2, 3].map(|i| self.entry(i, at));
        AxisRange { axis, start, stop, step, single: false }
    }

    /// The sizes of the output: of each axis the hull of what every entry that may name it makes of it.
    pub(super) fn infer(&self, cx: &mut Infer, dims: &[SymExpr]) -> SmallVec<[SymExpr; 4]> {
        let mut sliced = SmallVec::new();
        for (axis, dim) in dims.iter().enumerate() {
            let Some(count) = self.count else {
                sliced.push(cut(cx, dim));
                continue;
            };
            let lengths = match self.entries_naming(cx, count, axis) {
                Naming::Only(at) => smallvec![cx.range_length(&self.range(at, axis), dim)],
                Naming::Some(entries) => {
                    let lengths = entries.iter().map(|&at| cx.range_length(&self.range(at, axis), dim));
                    let mut lengths: SmallVec<[SymExpr; 4]> = lengths.collect();
                    if count < self.rank {
                        lengths.push(dim.clone());
                    }
                    lengths
                }
            };
            sliced.push(one_of(cx, &lengths).unwrap_or_else(|| cut(cx, dim)));
        }
        sliced
    }

    /// Which entries may name an axis.
    fn entries_naming(&self, cx: &mut Infer, count: usize, axis: usize) -> Naming {
        let names = [axis as i64, axis as i64 - self.rank as i64];
        let mut entries = SmallVec::new();
        for at in 0..count {
            let Some(named) = self.entry_axis(at) else {
                entries.push(at);
                continue;
            };
            match named.as_const() {
                Some(named) if names.contains(&named) => return Naming::Only(at),
                Some(_) => {}
                None => {
                    let range = cx.interval(&named);
                    entries.extend(names.iter().any(|&name| range.contains(name)).then_some(at));
                }
            }
        }
        Naming::Some(entries)
    }

    fn entry_axis(&self, at: usize) -> Option<SymExpr> {
        entries_of(self.inputs.get(4)?)?.get(at).cloned()
    }

    /// The primitive on every axis. What OpenVINO refuses when it runs is refused here, too, by a start outside its
    /// interval: an axis out of range or named twice, more entries than axes, lists of different lengths.
    pub(super) fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
        let entries = self.count.unwrap_or(self.rank);
        if entries.saturating_mul(self.rank) > MAX_PAIRS {
            return Ok(RewriteResult::Declined(format!(
                "which of {} axes are sliced is known only at run time",
                self.rank
            )));
        }
        let data = cx.input(0)?;
        let dims = cx.fact(data)?.shape.dims().map(<[SymExpr]>::to_vec).unwrap_or_default();
        let columns = self.columns(cx, entries)?;
        let mut named = Scalar::Number(0);
        let mut axes: SmallVec<[(usize, Option<DynAxisSlice>); 4]> = SmallVec::new();
        for (axis, dim) in dims.iter().enumerate() {
            let mut bounds = WHOLE.map(Scalar::Number);
            let mut hit = Scalar::Number(0);
            for at in 0..entries {
                let here = columns.names(cx, at, axis)?;
                hit = here.select(cx, Scalar::Number(1), hit)?;
                for (bound, column) in bounds.iter_mut().zip(&columns.bounds) {
                    *bound = here.select(cx, column[at], *bound)?;
                }
            }
            named = named.add(cx, hit)?;
            let [start, stop, step] = bounds.map(Index::Computed);
            let range = AxisRange { axis, start, stop, step, single: false };
            let len = cx.output_dim(0, axis)?;
            axes.push((axis, clamped(cx, data, dim, &range, len)?));
        }
        // 0 if every entry names an axis of its own, and the lists are of one length.
        let mut wrong = Scalar::Number(0);
        for &other in columns.other_counts.iter().chain([&named]) {
            let (above, below) = (other.sub(cx, columns.count)?, columns.count.sub(cx, other)?);
            let apart = above.max(cx, below)?;
            wrong = wrong.add(cx, apart)?;
        }
        if wrong != Scalar::Number(0)
            && let Some((axis, cut)) = axes.first_mut()
        {
            let checked = match cut.take() {
                Some(cut) => cut,
                None => whole(cx, data, *axis)?,
            };
            *cut = Some(guarded(cx, checked, wrong)?);
        }
        let axes = axes.into_iter().filter_map(|(axis, cut)| Some(cut?.on_axis(axis))).collect();
        slice_of(cx, data, axes).map(RewriteResult::one)
    }

    /// The entries as scalars. Where their number is unknown, the lists are filled up with entries that name no axis
    /// and cut nothing.
    fn columns(&self, cx: &mut Patch, entries: usize) -> Result<Columns, OpError> {
        let rank = Scalar::Number(self.rank as i64);
        let mut columns = Columns::default();
        let mut counts: SmallVec<[Scalar; 4]> = SmallVec::new();
        for input in 1..self.inputs.len() {
            let known_count = self.inputs[input].shape.dims().and_then(|d| d.first()?.as_const());
            let count = match known_count {
                Some(count) => Scalar::Number(count),
                None => {
                    let list = cx.input(input)?;
                    Scalar::dim(cx, list, 0)?
                }
            };
            counts.push(count);
            let mut column: SmallVec<[Scalar; 4]> = SmallVec::new();
            match self.count {
                Some(_) => {
                    for at in 0..entries {
                        column.push(index_scalar(cx, &self.entry(input, at))?);
                    }
                }
                None => {
                    let fill = WHOLE.get(input - 1).copied().unwrap_or(i64::MIN);
                    let list = Scalar::entries(cx, input, self.inputs[input].element_type)?;
                    let fill = cx.ints(&vec![fill; self.rank])?;
                    let filled = cx.make("Concat", Attrs::new().with("axis", "0"), &[list, fill])?;
                    for at in 0..entries {
                        column.push(Scalar::pick(cx, filled, at)?);
                    }
                }
            }
            match columns.bounds.len() {
                ..3 => columns.bounds.push(column),
                _ => {
                    let mut names = SmallVec::new();
                    for axis in column {
                        names.push(from_end(cx, axis, rank)?);
                    }
                    columns.axes = Some(names);
                }
            }
        }
        let known = counts.iter().position(|count| matches!(count, Scalar::Number(_)));
        columns.count = counts.swap_remove(known.unwrap_or(0));
        columns.other_counts = counts;
        columns.other_counts.retain(|count| *count != columns.count);
        Ok(columns)
    }
}

/// What is known of who slices an axis.
enum Naming {
    /// This entry.
    Only(usize),
    /// One of these, or none.
    Some(SmallVec<[usize; 4]>),
}

/// The entries as scalars of the graph.
struct Columns {
    /// Start, stop and step of every entry.
    bounds: SmallVec<[SmallVec<[Scalar; 4]>; 3]>,
    /// The axis of every entry, counted from the first; without, entry k is of axis k.
    axes: Option<SmallVec<[Scalar; 4]>>,
    /// How many entries there are.
    count: Scalar,
    /// How many the other lists say.
    other_counts: SmallVec<[Scalar; 4]>,
}

impl Default for Columns {
    fn default() -> Self {
        let none = Scalar::Number(0);
        Self { bounds: SmallVec::new(), axes: None, count: none, other_counts: SmallVec::new() }
    }
}

impl Columns {
    /// Whether entry `at` names `axis`.
    fn names(&self, cx: &mut Patch, at: usize, axis: usize) -> Result<Scalar, OpError> {
        match &self.axes {
            Some(axes) => axes[at].equals(cx, Scalar::Number(axis as i64)),
            // Of filled-up lists, too: those entries cut nothing.
            None if at != axis => Ok(Scalar::Number(0)),
            None => Scalar::Number(at as i64).less(cx, self.count),
        }
    }
}

/// A dim of any size up to this one.
fn cut(cx: &mut Infer, dim: &SymExpr) -> SymExpr {
    let within = Interval::new(0, cx.interval(dim).hi()).unwrap_or(Interval::DIM);
    cx.unknown(within)
}

/// The length that is one of these; `None` if there are none.
fn one_of(cx: &mut Infer, lengths: &[SymExpr]) -> Option<SymExpr> {
    let (first, rest) = lengths.split_first()?;
    if rest.iter().all(|length| length == first) {
        return Some(first.clone());
    }
    let start = cx.interval(first);
    let hull = rest.iter().fold(start, |hull, length| hull.hull(cx.interval(length)));
    Some(cx.unknown(hull))
}

/// All of an axis.
fn whole(cx: &mut Patch, data: Value, axis: usize) -> Result<DynAxisSlice, OpError> {
    let dim = cx.output_dim(0, axis)?;
    let sizes = cx.graph().symbols().interval(&dim);
    let len = match dim.as_const() {
        Some(size) => Number::Known(size),
        None => Number::of(Scalar::dim(cx, data, axis)?, sizes),
    };
    Ok(DynAxisSlice { start: Number::Known(0), len, step: Number::Known(1) })
}

/// The same slice, but that its start is below 0 and below its interval, and so fails, where `wrong` is not 0.
fn guarded(cx: &mut Patch, cut: DynAxisSlice, wrong: Scalar) -> Result<DynAxisSlice, OpError> {
    let within = match cut.start {
        Number::Known(start) => Interval::exact(start),
        Number::Read(_, within) => within,
    };
    let fails = Scalar::Number(0).less(cx, wrong)?;
    let outside = Scalar::Number(within.lo().saturating_sub(1).min(-1));
    let start = fails.select(cx, outside, cut.start.scalar())?;
    // A slice known to be empty would not look at its start.
    let len = match cut.len {
        Number::Known(0) => Number::Read(cx.int(0)?, Interval::exact(0)),
        len => len,
    };
    Ok(DynAxisSlice { start: Number::of(start, within), len, ..cut })
}
