//! `start:stop:step` as the runtime's ops understand it, and of which slices it is written as it was.

use smallvec::SmallVec;
use snick_ir::ops::slice::bounds::{Bound, Bounds};
use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::ops::slice::scalar::Scalar;
use snick_ir::{Graph, Op, OpError, Value};
use snick_shape::{AxisSlice, Interval, SymExpr};

/// `start:stop:step` of one axis: negative numbers count from the end. A start or stop that is `None` leaves nothing
/// out in the direction of the step.
pub(super) struct SliceRange {
    pub(super) axis: usize,
    pub(super) start: Option<Scalar>,
    pub(super) stop: Option<Scalar>,
    pub(super) step: Scalar,
}

impl SliceRange {
    /// The range of a static slice. One that descends to the first element has no stop: -1 would be the last.
    pub(super) fn fixed(axis: usize, cut: &DynAxisSlice) -> Option<Self> {
        let slice = cut.as_static()?;
        let stop = slice.start.checked_add(slice.len.checked_mul(slice.step)?)?;
        Some(Self {
            axis,
            start: Some(Scalar::Number(slice.start)),
            stop: (stop >= 0).then_some(Scalar::Number(stop)),
            step: Scalar::Number(slice.step),
        })
    }

    /// The range that `bounds` clamp against the size of this very axis of `data`, if that is where start, length and
    /// step come from, and the runtime is right about it.
    pub(super) fn of_bounds(
        graph: &Graph,
        data: Value,
        axis: usize,
        cut: &DynAxisSlice,
    ) -> Result<Option<Self>, OpError> {
        let [start, len, step] = [cut.start, cut.len, cut.step].map(|number| number.scalar());
        let source = [len, start].into_iter().find_map(|number| match number {
            Scalar::Value(value) => Some(value.node),
            Scalar::Number(_) => None,
        });
        let Some(source) = source else { return Ok(None) };
        let Op::Bounds(bounds) = graph.node(source).op else { return Ok(None) };
        let is_output = |number, port| match number {
            Scalar::Value(value) => value == Value { node: source, port },
            Scalar::Number(number) => {
                known_scalar(graph, Value { node: source, port }) == Some(number.into())
            }
        };
        let [size, first, stop, stride] = fields(graph, source, bounds)?;
        // Of one element any step is right.
        let steps_alike = Some(folded(graph, step)) == stride || len.known() == Some(1);
        let size = match size {
            Some(Scalar::Number(size)) => Some(SymExpr::from(size)),
            Some(Scalar::Value(value)) => known_scalar(graph, value),
            None => None,
        };
        let dim = graph.fact(data).and_then(|fact| fact.shape.dims()?.get(axis));
        let (true, true, true, Some(step), Some(dim)) =
            (is_output(start, 0), is_output(len, 1), steps_alike, stride, dim)
        else {
            return Ok(None);
        };
        let range = Self { axis, start: first, stop, step };
        let sizes = graph.symbols().interval(dim);
        let is_right =
            size.as_ref() == Some(dim) && range.is_inferred_rightly(graph, sizes, interval(graph, len));
        Ok(is_right.then_some(range))
    }

    /// Whether the runtime's inference is sound for the range on an axis of a size in `sizes`, of which it selects
    /// `lens`. Tried out over all small ranges: it is where nothing is known of a bound; of known ones it looks at
    /// the least and the largest size only, so that `-1:3` of up to eight elements is empty to it, as it is of none
    /// and of eight.
    fn is_inferred_rightly(&self, graph: &Graph, sizes: Interval, lens: Interval) -> bool {
        let bounds = [self.start, self.stop];
        let unknown = |number: Option<Scalar>| number.is_some_and(|number| is_unknown(graph, number));
        let Scalar::Number(step) = self.step else {
            return bounds.iter().flatten().all(|&bound| bound.known().is_some() || unknown(Some(bound)));
        };
        if bounds.into_iter().any(unknown) {
            return true;
        }
        let known = |number: Option<Scalar>| number.map_or(Some(None), |number| number.known().map(Some));
        if let [Some(start), Some(stop)] = bounds.map(known) {
            let len = |size: i64| AxisSlice::clamp(size, start, stop, step).map_or(0, |(_, len)| len);
            let (of_least, of_largest) = (len(sizes.lo()), len(sizes.hi()));
            let is_endless = !sizes.has_upper() && of_largest > i64::from(i32::MAX);
            // Where the larger size has fewer it says nothing.
            return of_least > of_largest
                || (of_least <= lens.lo() && (is_endless || lens.hi() <= of_largest));
        }
        let within = |bound: Option<Scalar>| bound.map_or(Interval::ANY, |number| interval(graph, number));
        let (start, stop) = (within(self.start), within(self.stop));
        let far = |number: Option<Scalar>, end: i64| number.is_none_or(|number| number.known() == Some(end));
        match step > 0 {
            true => {
                let from_front = far(self.start, i64::MIN) || start.lo() >= 0;
                from_front || far(self.stop, i64::MAX) || stop.hi() < 0
            }
            false => far(self.stop, i64::MIN) || stop.lo() >= 0,
        }
    }

    /// The stop that leaves nothing out.
    pub(super) fn last(&self) -> Scalar {
        Scalar::Number(if self.step.known().is_some_and(|step| step < 0) { i64::MIN } else { i64::MAX })
    }

    /// The start that leaves nothing out.
    pub(super) fn first(&self) -> Scalar {
        Scalar::Number(if self.step.known().is_some_and(|step| step < 0) { i64::MAX } else { 0 })
    }

    /// Whether Slice-8 can say it: it has no masks, and what leaves nothing out depends on the sign of the step.
    pub(super) fn has_numbers(&self) -> bool {
        self.step.known().is_some() || (self.start.is_some() && self.stop.is_some())
    }

    /// Whether all its numbers are known.
    pub(super) fn is_known(&self) -> bool {
        self.numbers().all(|number| number.known().is_some())
    }

    /// Start, stop and step.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Scalar> {
        [self.start, self.stop, Some(self.step)].into_iter().flatten()
    }
}

/// Size, start, stop and step of `bounds`.
fn fields(graph: &Graph, node: snick_ir::NodeId, bounds: Bounds) -> Result<[Option<Scalar>; 4], OpError> {
    let operands: SmallVec<[Value; 4]> = graph.inputs(node).into_iter().flatten().collect();
    Ok(bounds.pair(&operands)?.map(|(field, operand)| match (field, operand) {
        (Bound::Static(number), _) => Some(Scalar::Number(number)),
        (_, operand) => operand.map(|value| folded(graph, Scalar::Value(value))),
    }))
}

/// The number, if inference knows it.
fn folded(graph: &Graph, number: Scalar) -> Scalar {
    match number {
        Scalar::Value(value) => {
            known_scalar(graph, value).and_then(|known| known.as_const()).map_or(number, Scalar::Number)
        }
        Scalar::Number(_) => number,
    }
}

/// Where it lies.
pub(super) fn interval(graph: &Graph, number: Scalar) -> Interval {
    match number {
        Scalar::Number(known) => Interval::exact(known),
        Scalar::Value(value) => {
            known_scalar(graph, value).map_or(Interval::ANY, |known| graph.symbols().interval(&known))
        }
    }
}

/// Whether nothing is known of it but its type.
pub(super) fn is_unknown(graph: &Graph, number: Scalar) -> bool {
    let within = interval(graph, number);
    within.lo() <= i64::from(i32::MIN) && within.hi() >= i64::from(i32::MAX)
}

fn known_scalar(graph: &Graph, value: Value) -> Option<SymExpr> {
    graph.fact(value)?.elements()?.into_iter().next()
}
