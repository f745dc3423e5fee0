//! What the slice dialects have in common: `start:stop:step` ranges on axes, before clamping.
//!
//! A dialect op says which ranges it means ([`AxisRange`]); from there on inference, evaluation and lowering are the
//! same for all, and clamping is [`AxisSlice::resolve`] in numbers, [`length`] in expressions and `bounds.rs` in graph
//! ops.

use smallvec::SmallVec;
use snick_shape::{AxisSlice, Interval, Origin, SliceBound, SymExpr, Symbols, length};
use snick_tensor::{ElementType, Tensor};

use super::scalar::Scalar;
use crate::fact::MAX_ELEMENTS;
use crate::{Fact, OpError};

/// One entry of an index input, for one axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Index {
    /// Left out or masked.
    Masked,
    /// A number of the op itself.
    Fixed(i64),
    /// Element `at` of input `input`, as far as it is known.
    Entry {
        /// Which input.
        input: usize,
        /// Which element of it.
        at: usize,
        /// Its value, if known.
        known: Option<SymExpr>,
        /// Element type of the input.
        element_type: ElementType,
    },
    /// Computed by the graph under construction.
    Computed(Scalar),
}

/// `start:stop:step` on one axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AxisRange {
    pub(crate) axis: usize,
    pub(crate) start: Index,
    pub(crate) stop: Index,
    pub(crate) step: Index,
    /// Selects the one element at `start`, which must be there; `stop` and `step` do not matter.
    pub(crate) single: bool,
}

impl Index {
    /// Entry `at` of an index input.
    pub(super) fn entry(
        input: usize,
        at: usize,
        elements: Option<&[SymExpr]>,
        element_type: ElementType,
    ) -> Self {
        Self::Entry { input, at, known: elements.and_then(|e| e.get(at)).cloned(), element_type }
    }

    /// The number, if it is known as one.
    pub(super) fn as_const(&self) -> Option<i64> {
        match self {
            Self::Fixed(value) | Self::Computed(Scalar::Number(value)) => Some(*value),
            Self::Entry { known: Some(known), .. } => known.as_const(),
            _ => None,
        }
    }

    /// What the number can be.
    fn interval(&self, symbols: &Symbols) -> Interval {
        match self {
            Self::Fixed(value) | Self::Computed(Scalar::Number(value)) => Interval::exact(*value),
            Self::Entry { known: Some(known), .. } => symbols.interval(known),
            Self::Entry { known: None, element_type, .. } => {
                let range = element_type.integer_range().and_then(|(lo, hi)| Interval::new(lo, hi));
                range.unwrap_or(Interval::ANY)
            }
            Self::Masked | Self::Computed(Scalar::Value(_)) => Interval::ANY,
        }
    }

    /// As a bound of [`length`]. An unknown entry is a symbol of its element type's range where that says
    /// something an axis could feel.
    fn bound(&self, symbols: &mut Symbols, origin: Origin) -> SliceBound {
        match self {
            Self::Masked => SliceBound::Masked,
            Self::Fixed(value) | Self::Computed(Scalar::Number(value)) => {
                SliceBound::At(SymExpr::from(*value))
            }
            Self::Computed(Scalar::Value(_)) => SliceBound::Unknown,
            Self::Entry { known: Some(known), .. } => SliceBound::At(known.clone()),
            Self::Entry { known: None, element_type, .. } => {
                let range = element_type.integer_range().and_then(|(lo, hi)| Interval::new(lo, hi));
                match range {
                    Some(range) if range.lo() >= 0 || element_type.bit_width() < Some(32) => {
                        SliceBound::At(symbols.fresh(range, origin))
                    }
                    _ => SliceBound::Unknown,
                }
            }
        }
    }
}

impl AxisRange {
    /// What the range selects of an axis of `dim` elements, if it is known in numbers. `Some(Err)` is what the
    /// range can never select.
    pub(super) fn resolve(&self, dim: i64) -> Option<Result<AxisSlice, OpError>> {
        if self.single {
            return Some(self.resolve_single(self.start.as_const()?, dim));
        }
        let bound = |index: &Index| match index {
            Index::Masked => Some(None),
            index => index.as_const().map(Some),
        };
        let slice = AxisSlice::resolve(dim, bound(&self.start)?, bound(&self.stop)?, self.step.as_const()?);
        Some(slice.map_err(OpError::from))
    }

    fn resolve_single(&self, index: i64, dim: i64) -> Result<AxisSlice, OpError> {
        let start = if index < 0 { index.saturating_add(dim) } else { index };
        if (0..dim).contains(&start) {
            return Ok(AxisSlice { start, len: 1, step: 1 });
        }
        let entry = match &self.start {
            Index::Entry { at, .. } => format!("begin[{at}]"),
            _ => "begin".to_string(),
        };
        let (axis, why) = (self.axis, "shrink_axis_mask");
        Err(OpError::NoSuchIndex { entry, value: index, axis, size: dim, why })
    }

    /// How many elements the range selects of an axis, as a dim.
    pub(super) fn length(
        &self,
        symbols: &mut Symbols,
        dim: &SymExpr,
        mut origin: impl FnMut() -> Origin,
    ) -> SymExpr {
        if self.single {
            return SymExpr::from(1);
        }
        let start = self.start.bound(symbols, origin());
        let stop = self.stop.bound(symbols, origin());
        let origin = origin();
        if let Some(step) = self.step.as_const() {
            return length(symbols, dim, &start, &stop, Some(step), origin);
        }
        // Of the steps in one direction the least selects most, the largest least.
        let within = self.step.interval(symbols);
        let extremes = [within.lo(), -1, 1, within.hi()];
        let extremes = extremes.into_iter().filter(|&step| step != 0 && within.contains(step));
        let mut hull: Option<Interval> = None;
        for step in extremes {
            let length = length(symbols, dim, &start, &stop, Some(step), origin);
            let length = symbols.interval(&length);
            hull = Some(hull.map_or(length, |hull| hull.hull(length)));
        }
        match hull {
            Some(hull) if hull.is_exact().is_none() => symbols.fresh(hull, origin),
            Some(hull) => SymExpr::from(hull.lo()),
            None => length(symbols, dim, &start, &stop, None, origin),
        }
    }

    /// A step of 0 is an error wherever it is known, used or not at run time.
    pub(super) fn check_step(&self, name: &str) -> Result<(), OpError> {
        match (&self.step, self.step.as_const()) {
            (Index::Entry { at, .. }, Some(0)) if !self.single => {
                Err(OpError::out_of_range(format!("{name}[{at}]"), 0, "any step but 0"))
            }
            _ => Ok(()),
        }
    }
}

/// The entries of an index input, as far as they are known. Above what i64 holds an index means the end.
pub(super) fn entries_of(fact: &Fact) -> Option<Vec<SymExpr>> {
    match fact.as_tensor() {
        Some(tensor) if tensor.element_type() == ElementType::U64 && tensor.len() <= MAX_ELEMENTS => {
            Some(tensor.to_i64_vec().ok()?.into_iter().map(SymExpr::from).collect())
        }
        _ => fact.elements(),
    }
}

/// Number of entries of an index input: its one dim, if it is known. Anything but a vector is an error.
pub(super) fn entry_count(fact: &Fact, name: &str) -> Result<Option<usize>, OpError> {
    if fact.element_type != ElementType::Dynamic && !fact.element_type.is_integer() {
        return Err(OpError::element_type(format!("`{name}`"), fact.element_type, "an integer type"));
    }
    match fact.shape.dims() {
        None => Ok(None),
        Some([count]) => Ok(count.as_const().and_then(|n| usize::try_from(n).ok())),
        Some(dims) => Err(OpError::rank(format!("`{name}`"), dims.len(), "1")),
    }
}

/// Index inputs must have one length: the one that is known. Names them as `names`.
pub(super) fn common_count(counts: &[(usize, &str)]) -> Result<Option<usize>, OpError> {
    let Some(&(first, first_name)) = counts.first() else { return Ok(None) };
    match counts.iter().find(|(count, _)| *count != first) {
        Some((other, name)) => {
            let sentence = format!("`{first_name}` has {{}} entries, `{name}` has {{}}");
            Err(OpError::conflict(sentence, first, other))
        }
        None => Ok(Some(first)),
    }
}

/// Facts of concrete inputs: the ranges an op means when it runs are read the same way as when it infers.
pub(super) fn facts_of(inputs: &[Tensor]) -> SmallVec<[Fact; 5]> {
    let data = inputs.iter().take(1).map(|t| Fact::new(t.element_type(), t.dims().into()));
    let indices = inputs.iter().skip(1).map(|t| Fact::constant(std::sync::Arc::new(t.clone())));
    data.chain(indices).collect()
}

/// The elements that ranges select of concrete data: a view.
pub(super) fn select(data: &Tensor, ranges: &[AxisRange]) -> Result<Tensor, OpError> {
    let mut view = data.clone();
    for range in ranges {
        let dim = view.dims().get(range.axis).copied().unwrap_or(0);
        let unknown = || OpError::NoValue { what: "an index".into(), why: "it is not an integer".into() };
        let slice = range.resolve(dim as i64).ok_or_else(unknown)??;
        // Resolved within the axis, so all three fit.
        view = view.slice(range.axis, slice.start as usize, slice.len as usize, slice.step as isize)?;
    }
    Ok(view)
}

impl crate::Infer<'_> {
    /// [`AxisRange::length`], with unknowns born at this node.
    pub(super) fn range_length(&mut self, range: &AxisRange, dim: &SymExpr) -> SymExpr {
        let origins = [self.origin(), self.origin(), self.origin()];
        let mut origins = origins.into_iter();
        let last = self.origin();
        range.length(self.symbols(), dim, || origins.next().unwrap_or(last))
    }
}
