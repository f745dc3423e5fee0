//! The arithmetic work of a layer, as its op declares it: multiply-accumulates and element-wise operations.

use snick_ir::{Graph, NodeId, OpCost};
use snick_shape::SymExpr;

use super::Amount;
use super::ledger::Ledger;

/// The work of a layer.
#[derive(Default)]
pub(super) struct Operations {
    pub macs: Amount,
    pub flops: Amount,
}

/// The work of a layer, without bodies.
pub(super) fn of(graph: &Graph, id: NodeId, ledger: &mut Ledger) -> Operations {
    let mut work = Operations::default();
    match graph.cost(id) {
        Some(OpCost::None) => {}
        Some(OpCost::Elementwise(sizes)) => {
            let elements = ledger.product_of(graph, &sizes);
            work.flops = ledger.amount(elements);
        }
        Some(OpCost::MultiplyAdds(terms)) => {
            for sizes in terms {
                let macs = ledger.product_of(graph, &sizes);
                let flops = ledger.product([&macs, &SymExpr::from(2)]);
                ledger.add(&mut work.macs, &ledger.amount(macs));
                ledger.add(&mut work.flops, &ledger.amount(flops));
            }
        }
        None if graph.node(id).op().is_opaque() => {}
        // One operation for each element of the output.
        None => {
            if let Some(out) = graph.node(id).outs().first() {
                let elements = ledger.elements(graph, id, &out.fact);
                work.flops = ledger.amount(elements);
            }
        }
    }
    work
}
