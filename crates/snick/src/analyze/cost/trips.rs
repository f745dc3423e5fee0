//! The trip counts of bodies.

use snick_ir::ops::control::port_map::Cut;
use snick_ir::ops::control::subgraph::SubGraphKind;
use snick_ir::{Graph, NodeId, Op};
use snick_shape::SymExpr;

use super::ledger::{Ledger, described};
use crate::analyze::symbols::BirthKind;

/// How often the bodies of a layer run: the number of iterations of a loop. For an If, this is 1, because
/// both branches are counted.
pub(super) fn of(graph: &Graph, id: NodeId, ledger: &mut Ledger) -> SymExpr {
    let Op::SubGraph(op) = graph.node(id).op() else { return 1.into() };
    let known = match op.kind {
        SubGraphKind::If => {
            ledger.notes.push(format!("both bodies of {} are counted", described(graph, id)));
            return 1.into();
        }
        SubGraphKind::Loop => declared(graph, id, ledger),
        SubGraphKind::TensorIterator => op.maps.first().and_then(|map| {
            let (port, cut) = map.inputs.iter().find_map(|link| Some((link.external?, link.cut?)))?;
            parts(graph, id, port, cut, ledger)
        }),
    };
    known.unwrap_or_else(|| ledger.unknown(Some(graph.node(id)), BirthKind::Data, "its iterations"))
}

/// The maximum trip count of a Loop, ignoring its condition.
fn declared(graph: &Graph, id: NodeId, ledger: &mut Ledger) -> Option<SymExpr> {
    let value = graph.node(id).input(0)?;
    let trips = ledger.element(graph, graph.fact(value)?)?;
    let is_count = ledger.symbols.interval(&trips).lo() >= 0;
    // A huge number means that only the condition ends the loop.
    let ends = trips.as_const().is_none_or(|trips| trips < i64::from(i32::MAX));
    (is_count && ends).then_some(trips)
}

/// The number of slices into which a sliced input of a loop is divided, one for each iteration.
fn parts(graph: &Graph, id: NodeId, port: usize, cut: Cut, ledger: &mut Ledger) -> Option<SymExpr> {
    let value = graph.node(id).input(port)?;
    let dims = ledger.dims(graph, graph.fact(value)?)?;
    let axis = snick_ir::normalize_axis(cut.axis, dims.len()).ok()?;
    let size = &dims[axis];
    let place = |at: i64| match at {
        0.. => Some(SymExpr::from(at)),
        _ => ledger.symbols.add(size, &at.checked_add(1)?.into()),
    };
    let (start, end) = (place(cut.start)?, place(cut.end)?);
    let length = match cut.stride {
        1.. => ledger.symbols.sub(&end, &start)?,
        _ => ledger.symbols.sub(&start, &end)?,
    };
    ledger.symbols.floor_div(&length, &cut.stride.checked_abs()?.into())
}
