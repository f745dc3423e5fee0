//! The length of a slice whose axis and bounds share symbols, evaluated for all values of the symbols.

use smallvec::SmallVec;

use super::bound::SliceBound;
use super::hull::length_interval;
use crate::interval::Interval;
use crate::sym_expr::{SymExpr, SymbolId};
use crate::symbols::Symbols;

/// The maximum number of combinations of values.
const MAX_POINTS: usize = 1024;

/// The smallest interval that contains the length for all values of the symbols in `dim` and the bounds.
/// `None` if interval arithmetic is already exact, or if there are too many values.
pub(super) fn enumerated(
    symbols: &Symbols,
    dim: &SymExpr,
    bounds: [&SliceBound; 2],
    step: i64,
) -> Option<Interval> {
    let exprs = bounds.map(|bound| match bound {
        SliceBound::At(expr) => Some(expr),
        SliceBound::Masked | SliceBound::Unknown => None,
    });
    // The interval of a symbol is sufficient if the symbol occurs nowhere else.
    let is_alone = |i: usize, expr: &SymExpr| {
        let elsewhere = |id| dim.mentions(id) || exprs[1 - i].is_some_and(|other| other.mentions(id));
        expr.as_symbol().is_some_and(|id| !elsewhere(id))
    };
    let depends = |i: usize| exprs[i].filter(|expr| expr.as_const().is_none() && !is_alone(i, expr));
    let dependent = [depends(0), depends(1)];
    if dependent == [None, None] {
        return None;
    }
    let points = Points::new(symbols, dependent.into_iter().flatten().chain([dim]))?;
    let mut hull: Option<Interval> = None;
    for point in points {
        let value = |id: SymbolId| point.iter().find(|(symbol, _)| *symbol == id).map(|(_, value)| *value);
        let size = symbols.eval(dim, &value)?;
        if size < 0 {
            continue; // no dim is negative, so the symbols never take these values
        }
        let mut at = [None, None];
        for (i, at) in at.iter_mut().enumerate() {
            *at = match (bounds[i], dependent[i]) {
                (SliceBound::Masked, _) => None,
                (SliceBound::Unknown, _) => Some(Interval::ANY),
                (SliceBound::At(_), Some(expr)) => Some(Interval::exact(symbols.eval(expr, &value)?)),
                (SliceBound::At(expr), None) => Some(symbols.interval(expr)),
            };
        }
        let length = length_interval(Interval::exact(size), at[0], at[1], step);
        hull = Some(hull.map_or(length, |hull| hull.hull(length)));
    }
    hull
}

/// Every combination of values of some symbols.
struct Points {
    symbols: SmallVec<[(SymbolId, Interval); 4]>,
    next: Option<SmallVec<[(SymbolId, i64); 4]>>,
}

impl Points {
    /// The combinations of values of the symbols in `exprs`; `None` if there are too many.
    fn new<'a>(symbols: &Symbols, exprs: impl Iterator<Item = &'a SymExpr>) -> Option<Self> {
        let mut ids: Vec<SymbolId> = exprs.flat_map(SymExpr::symbols).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut count = 1usize;
        let mut within = SmallVec::new();
        for id in ids {
            let interval = symbols.symbol_interval(id);
            let width = interval.hi().checked_sub(interval.lo())?.checked_add(1)?;
            count = count.checked_mul(usize::try_from(width).ok()?).filter(|count| *count <= MAX_POINTS)?;
            within.push((id, interval));
        }
        let first = within.iter().map(|(id, interval): &(SymbolId, Interval)| (*id, interval.lo())).collect();
        Some(Self { symbols: within, next: Some(first) })
    }
}

impl Iterator for Points {
    type Item = SmallVec<[(SymbolId, i64); 4]>;

    fn next(&mut self) -> Option<Self::Item> {
        let point = self.next.take()?;
        let mut after = point.clone();
        for ((_, value), (_, interval)) in after.iter_mut().zip(&self.symbols) {
            if *value < interval.hi() {
                *value += 1;
                self.next = Some(after);
                break;
            }
            *value = interval.lo();
        }
        Some(point)
    }
}
