//! States are values that each iteration passes to the next. This module finds facts that hold in every
//! iteration.
//!
//! A state has an initial value, and each iteration computes the next one. Every dim and every known element
//! is treated separately. At first we assume that each keeps its initial value, and infer the body. A dim or
//! element that changes becomes a free symbol within the hull of its initial and next value. We then infer
//! the body again, and drop interval bounds that do not hold, until all assumptions hold. Each round drops at
//! least one bound, so this terminates. Finally we solve each free symbol `p`, which the body maps to `f(p)`:
//!
//! - If `f(p) - p` is the same number `d` in every iteration, the value in iteration `i` is `initial + i * d`.
//! - Otherwise the value is either the initial one or some `f(p)`, so it lies within the hull of the initial
//!   value and all `f(p)`.

use snick_shape::{Birth, Interval, Origin, Shape, SymExpr, SymbolId, Symbols};
use snick_tensor::ElementType;

use super::kind::SubGraphKind;
use super::symbol_map::{SymbolMap, join};
use crate::{Fact, Infer};

/// One state.
pub(super) struct State {
    /// The index of the Parameter of the body that receives the state.
    pub(super) parameter: usize,
    /// The index of the Result of the body that provides the next value.
    pub(super) result: usize,
    /// The initial value, in the symbols of the body.
    initial: Fact,
    element_type: ElementType,
    /// The assumption about the size of each axis; `None` if the rank changes.
    dims: Option<Vec<Slot>>,
    /// The assumption about each element, if the elements are known.
    elements: Option<Vec<Slot>>,
    /// Whether the state is assumed to keep its known initial value. Only for values without tracked
    /// elements: large tensors and floating-point tensors.
    keeps_constant: bool,
    /// Whether sizes are tracked as expressions in the iteration number, rather than only as intervals.
    counts_sizes: bool,
}

/// An assumption about a dim or an element.
#[derive(Clone)]
enum Slot {
    /// The value stays the initial one in every iteration.
    Stays,
    /// Any value within the interval of this symbol.
    Free(SymbolId),
    /// The value grows by a constant in each iteration. `before` and `after` are the values before and after
    /// an iteration.
    Grows { before: SymExpr, after: SymExpr },
    /// Any value within the interval of this expression.
    Within(SymExpr),
}

impl State {
    /// A state that is assumed to keep its initial value.
    ///
    /// For a TensorIterator, sizes that change between iterations are inferred as intervals, not as
    /// expressions in the iteration number. If the sizes are static, the OpenVINO runtime uses the sizes of
    /// the first iteration in every iteration; the intervals include these.
    pub(super) fn new(kind: SubGraphKind, parameter: usize, result: usize, initial: Fact) -> Self {
        let dims = initial.shape.dims().map(|dims| vec![Slot::Stays; dims.len()]);
        let elements = initial.elements().map(|elements| vec![Slot::Stays; elements.len()]);
        let keeps_constant = elements.is_none() && initial.known.is_some();
        let element_type = initial.element_type;
        let counts_sizes = kind != SubGraphKind::TensorIterator;
        Self { parameter, result, initial, element_type, dims, elements, keeps_constant, counts_sizes }
    }

    /// The initial value, in the symbols of the body.
    pub(super) fn initial(&self) -> &Fact {
        &self.initial
    }

    /// The fact assumed at the start of every iteration.
    pub(super) fn fact(&self) -> Fact {
        let shape = match (self.initial.shape.dims(), &self.dims) {
            (Some(dims), Some(slots)) => {
                Shape::ranked(dims.iter().zip(slots).map(|(dim, slot)| slot.value(dim)).collect::<Vec<_>>())
            }
            _ => Shape::unranked(),
        };
        let fact = Fact::new(self.element_type, shape);
        match (self.initial.elements(), &self.elements) {
            (Some(elements), Some(slots)) if slots.iter().any(|slot| !matches!(slot, Slot::Stays)) => fact
                .with_elements(Some(
                    elements.iter().zip(slots).map(|(e, slot)| slot.value(e)).collect::<Vec<_>>(),
                )),
            (Some(_), Some(_)) => Fact { known: self.initial.known.clone(), ..fact },
            _ if self.keeps_constant => Fact { known: self.initial.known.clone(), ..fact },
            _ => fact,
        }
    }

    /// Drops assumptions that one iteration contradicts. `assumed` is the fact of the state before the
    /// iteration, `next` the fact after it. Returns whether any assumption was dropped.
    pub(super) fn drop_contradicted(&mut self, assumed: &Fact, next: &Fact, symbols: &mut Symbols) -> bool {
        let mut changed = false;
        if self.element_type != next.element_type && self.element_type != ElementType::Dynamic {
            self.element_type = ElementType::Dynamic;
            changed = true;
        }
        match (&mut self.dims, assumed.shape.dims(), next.shape.dims()) {
            (Some(slots), Some(before), Some(after)) if before.len() == after.len() => {
                changed |= widen(slots, before, after, Interval::DIM, symbols);
            }
            (dims @ Some(_), _, _) => {
                *dims = None;
                changed = true;
            }
            (None, _, _) => {}
        }
        let range = self.element_range();
        match (&mut self.elements, assumed.elements(), next.elements()) {
            (Some(slots), Some(before), Some(after))
                if before.len() == after.len() && self.dims.is_some() =>
            {
                changed |= widen(slots, &before, &after, range, symbols);
            }
            (elements @ Some(_), _, _) => {
                *elements = None;
                changed = true;
            }
            (None, _, _) => {}
        }
        if self.keeps_constant && assumed.known != next.known {
            self.keeps_constant = false;
            changed = true;
        }
        changed
    }

    /// The range of values of the element type.
    fn element_range(&self) -> Interval {
        let range = self.element_type.integer_range().and_then(|(lo, hi)| Interval::new(lo, hi));
        range.unwrap_or(Interval::ANY)
    }

    /// Drops all assumptions.
    pub(super) fn forget(&mut self) {
        (self.element_type, self.dims, self.elements) = (ElementType::Dynamic, None, None);
        self.keeps_constant = false;
    }

    /// Solves for the free symbols, given the fact `next` that the body computes in iteration `iteration`.
    pub(super) fn solve(
        &mut self,
        next: &Fact,
        iteration: &SymExpr,
        symbol_map: &SymbolMap,
        symbols: &mut Symbols,
    ) {
        let range = self.element_range();
        let mut solve = |slots: &mut Option<Vec<Slot>>, initial: &[SymExpr], after: &[SymExpr], within| {
            for ((slot, initial), after) in slots.iter_mut().flatten().zip(initial).zip(after) {
                if let Slot::Free(symbol) = *slot {
                    let step = Step { symbol, initial, after, within };
                    *slot = step.solve(iteration, symbol_map, symbols);
                }
            }
        };
        let (initial, after) = (self.initial.shape.dims(), next.shape.dims());
        solve(&mut self.dims, initial.unwrap_or_default(), after.unwrap_or_default(), Interval::DIM);
        let (initial, after) = (self.initial.elements(), next.elements());
        let (initial, after) = (initial.unwrap_or_default(), after.unwrap_or_default());
        solve(&mut self.elements, &initial, &after, range);
        if !self.counts_sizes {
            for slot in self.dims.iter_mut().flatten() {
                if let Slot::Grows { before, .. } = slot {
                    let within = symbols.interval(before);
                    *slot = Slot::Within(born(symbols, within, Birth::Merged(MANY_ITERATIONS.into())));
                }
            }
        }
    }

    /// The fact of the state after the last iteration, in the symbols of the body. `last` is the inferred
    /// fact of the Result.
    pub(super) fn after(&self, last: &Fact) -> Fact {
        let known = |slots: &Option<Vec<Slot>>, initial: &[SymExpr], last: &[SymExpr]| match slots {
            Some(slots) if slots.len() == last.len() && initial.len() == last.len() => {
                let found = slots.iter().zip(initial).zip(last);
                found.map(|((slot, initial), last)| slot.after(initial, last)).collect()
            }
            _ => last.to_vec(),
        };
        let Some(dims) = last.shape.dims() else { return last.clone() };
        let dims = known(&self.dims, self.initial.shape.dims().unwrap_or_default(), dims);
        let fact = Fact { shape: Shape::ranked(dims), ..last.clone() };
        match last.elements() {
            Some(elements) if last.as_tensor().is_none() => {
                let initial = self.initial.elements().unwrap_or_default();
                fact.with_elements(Some(known(&self.elements, &initial, &elements)))
            }
            _ => fact,
        }
    }

    /// The fact of the state after the loop: `after`, or `initial` if there are no iterations. Both facts are
    /// expressed in symbols of the outer graph.
    pub(super) fn or_initial(&self, after: &Fact, initial: &Fact, cx: &mut Infer) -> Fact {
        let either = join(after, initial, cx);
        // These expressions hold for any number of iterations, including zero.
        let known = |slots: &Option<Vec<Slot>>, after: &[SymExpr], either: &[SymExpr]| match slots {
            Some(slots) if slots.len() == after.len() && after.len() == either.len() => {
                let found = slots.iter().zip(after).zip(either);
                let choose = |((slot, after), either): ((&Slot, &SymExpr), &SymExpr)| match slot {
                    Slot::Stays | Slot::Grows { .. } => after.clone(),
                    Slot::Free(_) | Slot::Within(_) => either.clone(),
                };
                found.map(choose).collect()
            }
            _ => either.to_vec(),
        };
        let (Some(dims), Some(joined)) = (after.shape.dims(), either.shape.dims()) else { return either };
        let shape = Shape::ranked(known(&self.dims, dims, joined));
        let fact = Fact { shape, ..either.clone() };
        match (after.elements(), either.elements()) {
            (Some(after), Some(either)) => fact.with_elements(Some(known(&self.elements, &after, &either))),
            _ => fact,
        }
    }
}

impl Slot {
    fn value(&self, initial: &SymExpr) -> SymExpr {
        match self {
            Self::Stays => initial.clone(),
            Self::Free(symbol) => SymExpr::from(*symbol),
            Self::Grows { before, .. } => before.clone(),
            Self::Within(expr) => expr.clone(),
        }
    }

    fn after(&self, initial: &SymExpr, last: &SymExpr) -> SymExpr {
        match self {
            Self::Stays => initial.clone(),
            Self::Grows { after, .. } => after.clone(),
            Self::Free(_) | Self::Within(_) => last.clone(),
        }
    }
}

/// Drops assumptions in `slots` that the values after an iteration contradict. Returns whether any was
/// dropped.
fn widen(
    slots: &mut [Slot],
    before: &[SymExpr],
    after: &[SymExpr],
    within: Interval,
    symbols: &mut Symbols,
) -> bool {
    let mut changed = false;
    for ((slot, before), after) in slots.iter_mut().zip(before).zip(after) {
        let (was, is) = (symbols.interval(before), symbols.interval(after));
        let wider = match slot {
            Slot::Stays if before != after => was.hull(is).meet(within).unwrap_or(within),
            Slot::Free(_) if was != within && !was.covers(&is) => {
                let lo = if is.lo() < was.lo() { within.lo() } else { was.lo() };
                let hi = if is.hi() > was.hi() { within.hi() } else { was.hi() };
                Interval::new(lo, hi).unwrap_or(within)
            }
            _ => continue,
        };
        // An interval with a single value would not create a symbol.
        let wider = if wider.is_exact().is_some() { within } else { wider };
        if let Some(symbol) = born(symbols, wider, Birth::either(before, after)).as_symbol() {
            *slot = Slot::Free(symbol);
            changed = true;
        }
    }
    changed
}

/// A free symbol and its value after an iteration.
struct Step<'s> {
    symbol: SymbolId,
    initial: &'s SymExpr,
    after: &'s SymExpr,
    within: Interval,
}

impl Step<'_> {
    fn solve(&self, iteration: &SymExpr, symbol_map: &SymbolMap, symbols: &mut Symbols) -> Slot {
        let grows = || {
            let each = symbols.sub(self.after, &self.symbol.into())?;
            let before = symbols.add(self.initial, &symbols.mul(iteration, &each)?)?;
            let after = symbols.add(&before, &each)?;
            let fits = [&before, &after].iter().all(|expr| self.within.covers(&symbols.interval(expr)));
            (symbol_map.is_invariant(&each) && fits).then_some(Slot::Grows { before, after })
        };
        if let Some(grows) = grows() {
            return grows;
        }
        let hull = symbols.interval(self.initial).hull(symbols.interval(self.after));
        let within = hull.meet(self.within).unwrap_or(self.within);
        Slot::Within(born(symbols, within, Birth::either(self.initial, self.after)))
    }
}

/// Explains why only the interval of a size is known.
const MANY_ITERATIONS: &str = "it differs between iterations, whose number is not known";

/// Creates a symbol in the body.
fn born(symbols: &mut Symbols, within: Interval, birth: Birth) -> SymExpr {
    symbols.fresh_born(within, Origin::default(), || birth)
}
