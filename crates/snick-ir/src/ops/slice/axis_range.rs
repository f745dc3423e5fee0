//! `start:stop:step` ranges on axes before clamping, shared by all slice dialects.
//!
//! Each slice op decodes its inputs to [`AxisRange`]s, and inference, evaluation and legalization work on
//! these. For clamping, see [`AxisSlice::resolve`] for integers, [`length`] for expressions, and `bounds.rs`
//! for values of a graph.

use snick_shape::{AxisSlice, Interval, Origin, SliceBound, SymExpr, Symbols, length};
use snick_tensor::{SmallVector, Tensor};

use super::index_inputs::{IndexEntry, IndexInputs};
use super::primitive::select_elements;
use crate::{Fact, Infer, IntOrValue, OpError};

/// `start:stop:step` on one axis.
#[derive(Clone, PartialEq, Debug)]
pub struct AxisRange<V = IndexEntry> {
    /// The axis.
    pub axis: usize,
    /// The index of the entry in the index inputs that gives the range; 0 for ops without index inputs.
    pub entry: usize,
    /// The index of the first element; `None` for the first element in the direction of the step.
    pub start: Option<IntOrValue<V>>,
    /// The index of the end, exclusive; `None` to continue to the last element in the direction of the step.
    pub stop: Option<IntOrValue<V>>,
    /// The distance from one element to the next.
    pub step: IntOrValue<V>,
    /// Selects the single element at `start`, which must exist, and ignores `stop` and `step`.
    pub single: bool,
}

impl IntOrValue<IndexEntry> {
    /// Converts to a bound for [`length`]. An unknown entry becomes a symbol if its type is unsigned or
    /// narrower than i32: only then does the range of the type restrict the length.
    fn slice_bound(&self, symbols: &mut Symbols, origin: Origin) -> SliceBound {
        match (self.as_expr(), self.interval()) {
            (Some(expr), _) => SliceBound::At(expr),
            (None, range) if range.lo() > i64::from(i32::MIN) => SliceBound::At(symbols.fresh(range, origin)),
            _ => SliceBound::Unknown,
        }
    }
}

impl<V> AxisRange<V> {
    /// A range of integers; `None` for an omitted bound.
    pub fn ints(axis: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Self {
        let [start, stop] = [start, stop].map(|bound| bound.map(IntOrValue::Int));
        Self { axis, entry: 0, start, stop, step: IntOrValue::Int(step), single: false }
    }

    /// A single element.
    pub fn element(axis: usize, index: i64) -> Self {
        Self { single: true, ..Self::ints(axis, Some(index), None, 1) }
    }

    /// The slice of an axis with `dim` elements, if the range is known in integers. `Some(Err)` if every run
    /// with this range fails.
    pub fn resolve(&self, dim: i64) -> Option<Result<AxisSlice, OpError>> {
        let int = |bound: &Option<IntOrValue<V>>| bound.as_ref().map_or(Some(None), |b| b.as_int().map(Some));
        let (start, stop) = (int(&self.start)?, int(&self.stop));
        if self.single {
            return Some(self.resolve_single(start?, dim));
        }
        Some(AxisSlice::resolve(dim, start, stop?, self.step.as_int()?).map_err(OpError::from))
    }

    fn resolve_single(&self, index: i64, dim: i64) -> Result<AxisSlice, OpError> {
        let start = if index < 0 { index.saturating_add(dim) } else { index };
        if (0..dim).contains(&start) {
            return Ok(AxisSlice { start, len: 1, step: 1 });
        }
        let entry = format!("begin[{}]", self.entry);
        let (axis, why) = (self.axis, "it selects a single element");
        Err(OpError::NoSuchIndex { entry, value: index, axis, size: dim, why })
    }
}

impl AxisRange {
    /// The range on an axis given by entry `entry` of inputs 1 to 3, which are start, stop and step.
    pub fn of_entry(indices: &IndexInputs, entry: usize, axis: usize) -> Self {
        let [start, stop, step] = [1, 2, 3].map(|input| indices.entry(input, entry));
        Self { axis, entry, start: Some(start), stop: Some(stop), step, single: false }
    }

    /// The number of elements that the range selects on an axis.
    pub fn length(
        &self,
        symbols: &mut Symbols,
        dim: &SymExpr,
        mut origin: impl FnMut() -> Origin,
    ) -> SymExpr {
        if self.single {
            return SymExpr::from(1);
        }
        let mut bound = |bound: &Option<IntOrValue<IndexEntry>>| {
            let origin = origin();
            bound.as_ref().map_or(SliceBound::Masked, |bound| bound.slice_bound(symbols, origin))
        };
        let (start, stop) = (bound(&self.start), bound(&self.stop));
        let origin = origin();
        if let Some(step) = self.step.as_int() {
            return length(symbols, dim, &start, &stop, Some(step), origin);
        }
        // For steps of one sign, the smallest magnitude gives the longest slice and the largest magnitude the
        // shortest.
        let within = match self.step.as_expr() {
            Some(step) => symbols.interval(&step),
            None => self.step.interval(),
        };
        let extremes = [within.lo(), -1, 1, within.hi()];
        let extremes = extremes.into_iter().filter(|&step| step != 0 && within.contains(step));
        let mut hull: Option<Interval> = None;
        for step in extremes {
            let length = length(symbols, dim, &start, &stop, Some(step), origin);
            let length = symbols.interval(&length);
            hull = Some(hull.map_or(length, |hull| hull.hull(length)));
        }
        match hull {
            Some(hull) => symbols.fresh(hull, origin),
            None => length(symbols, dim, &start, &stop, None, origin),
        }
    }

    /// Rejects a step that is known to be 0, even if no run would select an element.
    pub(super) fn check_step(&self, name: &str) -> Result<(), OpError> {
        match self.step {
            IntOrValue::Int(0) if !self.single => {
                Err(OpError::out_of_range(format!("{name}[{}]", self.entry), 0, "any step but 0"))
            }
            _ => Ok(()),
        }
    }
}

/// The elements of concrete data that the ranges select, as a view.
pub(super) fn select<'r>(
    data: &Tensor,
    ranges: impl IntoIterator<Item = &'r AxisRange>,
) -> Result<Tensor, OpError> {
    let mut view = data.clone();
    for range in ranges {
        let dim = view.dims().get(range.axis).copied().unwrap_or(0);
        let unknown = || OpError::NoValue { what: "an index".into(), why: "it is not an integer".into() };
        let slice = range.resolve(dim as i64).ok_or_else(unknown)??;
        // The range was resolved within the axis, so start and length fit in usize, and the step fits in
        // isize if it is used.
        let step = if slice.len < 2 { 1 } else { slice.step as isize };
        view = view.slice(range.axis, slice.start as usize, slice.len as usize, step)?;
    }
    Ok(view)
}

/// The known elements of `data` that the ranges select, in row-major order; `None` if a range is not known in
/// integers.
pub(super) fn known_elements<'r>(
    data: &Fact,
    ranges: impl IntoIterator<Item = &'r AxisRange>,
) -> Option<Vec<SymExpr>> {
    // Return early: for most data, no elements are known.
    data.known.as_ref()?;
    let dims = data.shape.as_static()?;
    let slice = |range: &AxisRange| Some((range.axis, range.resolve(dims[range.axis] as i64)?.ok()?));
    let slices: Option<SmallVector<(usize, AxisSlice), 4>> = ranges.into_iter().map(slice).collect();
    select_elements(data, &slices?)
}

impl Infer<'_> {
    /// An unknown dim that is at most `dim`.
    pub(super) fn up_to(&mut self, dim: &SymExpr) -> SymExpr {
        let within = Interval::new(0, self.interval(dim).hi()).unwrap_or(Interval::DIM);
        self.unknown(within)
    }

    /// Like [`AxisRange::length`]; new symbols originate at this node.
    pub(super) fn range_length(&mut self, range: &AxisRange, dim: &SymExpr) -> SymExpr {
        let origins = [self.origin(), self.origin(), self.origin()];
        let mut origins = origins.into_iter();
        let last = self.origin();
        range.length(self.symbols(), dim, || origins.next().unwrap_or(last))
    }
}

#[cfg(test)]
mod tests {
    use snick_shape::Interval;

    use crate::{infer, text};

    /// The interval of a slice of `[1000]` whose start is known only by its type, and the number of symbols.
    fn from_unknown_start(element_type: &str) -> (Interval, usize) {
        let layers = format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"1000\"}}\n\
             %start = Parameter-1 {{element_type: {element_type}, shape: \"1\"}}\n\
             %stop = Const-1 i64[1] <1000>\n%step = Const-1 i64[1] <1>\n\
             %y = Slice-8(%x, %start, %stop, %step)"
        );
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let dims = graph.node(graph.ids().last().unwrap()).outs()[0].fact.shape.dims().unwrap();
        (graph.symbols().interval(&dims[0]), graph.symbols().len())
    }

    #[test]
    fn an_unknown_bound_of_a_narrow_type_lies_in_the_range_of_the_type() {
        let of = |lo, hi| Interval::new(lo, hi).unwrap();
        assert_eq!(from_unknown_start("u8").0, of(745, 1000));
        assert_eq!(from_unknown_start("i8").0, of(1, 1000));
        // The range of a wide type does not restrict the length, so the bound gets no symbol.
        assert_eq!(from_unknown_start("i32"), (of(0, 1000), 1));
        assert_eq!(from_unknown_start("i64"), (of(0, 1000), 1));
    }
}
