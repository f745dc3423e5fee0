//! Sizes at which faults may show that show nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use snick_ir::{AttrValue, Graph, Known, Value};
use snick_shape::{Interval, SymExpr, SymbolId};

use super::region::Region;

/// A dynamic size takes all values from its minimum up to its minimum plus at least this number.
pub(super) const SMALL: i64 = 3;

/// Constants with more elements are regarded as weights. Smaller constants may be thresholds.
pub(super) const MAX_THRESHOLDS: usize = 64;

/// At most this many expressions and constants of the layers are compared.
const MAX_EXPRESSIONS: usize = 24;
const MAX_CONSTANTS: usize = 24;

/// The largest sizes of each symbol, and the sizes for which a dim, or an element that is known as an expression,
/// equals a constant of the layers, and one beside them. A fault in a comparison or a bound shows there, and
/// possibly nowhere else.
pub(super) fn critical_sizes(
    graph: &Graph,
    region: &Region,
    intervals: &BTreeMap<SymbolId, Interval>,
) -> BTreeMap<SymbolId, BTreeSet<i64>> {
    let (mut expressions, mut constants) = (Vec::new(), BTreeSet::new());
    let outs = region
        .nodes
        .iter()
        .flat_map(|&id| (0..).zip(graph.node(id).outs()).map(move |(port, _)| Value { node: id, port }));
    for value in region.leaves.iter().copied().chain(outs) {
        let Some(fact) = graph.fact(value) else { continue };
        let elements = match &fact.known {
            Some(Known::Elements(elements)) => &elements[..],
            Some(Known::Tensor(tensor)) if tensor.len() <= MAX_THRESHOLDS => {
                constants.extend(tensor.to_i64_vec().unwrap_or_default());
                &[]
            }
            _ => &[],
        };
        for expression in fact.shape.dims().unwrap_or_default().iter().chain(elements) {
            match expression.as_const() {
                Some(constant) => _ = constants.insert(constant),
                None if expressions.contains(expression) => {}
                None => expressions.push(expression.clone()),
            }
        }
    }
    for &id in &region.nodes {
        for (_, attribute) in graph.node(id).op().attrs().iter() {
            match attribute {
                AttrValue::Int(number) => _ = constants.insert(*number),
                AttrValue::Ints(numbers) => constants.extend(numbers.iter().copied()),
                _ => {}
            }
        }
    }
    let mut critical = BTreeMap::new();
    for (&symbol, interval) in intervals {
        let sizes: &mut BTreeSet<i64> = critical.entry(symbol).or_default();
        sizes.extend([interval.hi().saturating_sub(1), interval.hi()]);
        let own = SymExpr::from(symbol);
        let others =
            expressions.iter().filter(|expression| expression.symbols() == [symbol] && **expression != own);
        for expression in [&own].into_iter().chain(others).take(MAX_EXPRESSIONS) {
            for &constant in constants.iter().filter(|constant| **constant > SMALL).take(MAX_CONSTANTS) {
                let Ok(at) = graph.symbols().solve_interval(expression, constant, own.clone()) else {
                    continue;
                };
                for size in [at.lo(), at.hi()] {
                    sizes.extend(
                        (size.saturating_sub(1)..=size.saturating_add(1))
                            .filter(|size| interval.contains(*size)),
                    );
                }
            }
        }
    }
    critical
}
