//! States: values that an iteration hands on to the next, and what holds for them in every iteration.
//!
//! A state begins as its initial value, and an iteration makes the next one of it. Every dim, and every known element,
//! is looked at on its own. First it is assumed to stay what it is initially, and the body is inferred. What turns out
//! to change is made a free symbol, first within the hull of the initial value and the next, and the body inferred
//! again; an end of the interval that does not hold is given up, until the assumptions hold. Each time at least one is
//! given up, so this ends. Then each free symbol `p`, of which the body makes `f(p)`, is solved:
//!
//! - `f(p) - p` is the same number `d` in every iteration: in iteration `i` it is `initial + i * d`;
//! - otherwise it is the initial value or some `f(p)`: within the hull of both.

use snick_shape::{Interval, Origin, Shape, SymExpr, SymbolId, Symbols};
use snick_tensor::ElementType;

use super::subgraph::SubGraphKind;
use super::symbol_map::{SymbolMap, join};
use crate::{Fact, Infer};

/// One state.
pub(super) struct State {
    /// The body's Parameter that takes it.
    pub(super) parameter: usize,
    /// The body's Result that makes the next one.
    pub(super) result: usize,
    /// The initial value, in the symbols of the body.
    initial: Fact,
    element_type: ElementType,
    /// By axis; `None` where not even the rank stays.
    dims: Option<Vec<Slot>>,
    /// By element, where they are followed.
    elements: Option<Vec<Slot>>,
    /// Whether a constant that is not followed element by element stays the same.
    keeps_constant: bool,
    /// Whether sizes are told by the number of the iteration, or only their range.
    counts_sizes: bool,
}

/// A dim or an element.
#[derive(Clone)]
enum Slot {
    /// As initially, in every iteration.
    Stays,
    /// Anything within the interval of a symbol, which stands for it.
    Free(SymbolId),
    /// The same more each iteration: before it, and after it.
    Grows { before: SymExpr, after: SymExpr },
    /// Anything within an interval.
    Within(SymExpr),
}

impl State {
    /// All stays as it is initially.
    ///
    /// Sizes of a TensorIterator's states are told by their range alone. Where they are static, the OpenVINO runtime
    /// executes all iterations with those of the first: what that gives lies within the range, too.
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

    /// What holds at the start of every iteration, as assumed so far.
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

    /// Gives up the assumptions that `next`, made of a value of which `assumed` holds, contradicts. Whether there
    /// were any.
    pub(super) fn give_up(&mut self, assumed: &Fact, next: &Fact, symbols: &mut Symbols) -> bool {
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

    /// What an element may be.
    fn element_range(&self) -> Interval {
        let range = self.element_type.integer_range().and_then(|(lo, hi)| Interval::new(lo, hi));
        range.unwrap_or(Interval::ANY)
    }

    /// Gives up everything.
    pub(super) fn forget(&mut self) {
        (self.element_type, self.dims, self.elements) = (ElementType::Dynamic, None, None);
        self.keeps_constant = false;
    }

    /// Solves what is free, by what the body makes of it. `iteration` is the number of the iteration.
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
                    *slot = Slot::Within(symbols.fresh(symbols.interval(before), Origin::default()));
                }
            }
        }
    }

    /// What leaves after the last iteration, of which `last` is inferred: in the symbols of the body.
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

    /// What holds for `after` where there may have been no iteration; both in the symbols outside of the body.
    pub(super) fn or_initial(&self, after: &Fact, initial: &Fact, cx: &mut Infer) -> Fact {
        let either = join(after, initial, cx);
        // What is known for any number of iterations is known for none.
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

/// Gives up what an iteration, after which a slot is another expression, shows not to hold. Whether there was any.
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
        // One value alone would be no symbol.
        let wider = if wider.is_exact().is_some() { within } else { wider };
        if let Some(symbol) = symbols.fresh(wider, Origin::default()).as_symbol() {
            *slot = Slot::Free(symbol);
            changed = true;
        }
    }
    changed
}

/// A free slot and what an iteration makes of it.
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
        Slot::Within(symbols.fresh(hull.meet(self.within).unwrap_or(self.within), Origin::default()))
    }
}
