//! The fuel of a run: a limit of the elements that it computes.

use snick_ir::{Graph, NodeId, OpError};
use snick_tensor::Tensor;

use crate::facts::SymbolBindings;

/// What is left of the fuel of a run, bodies included; `None` for no limit.
pub(crate) struct Fuel(Option<usize>);

impl Fuel {
    pub(crate) fn new(limit: Option<usize>) -> Self {
        Self(limit)
    }

    /// Refuses a layer of whose outputs it is known that they need more than is left.
    pub(crate) fn check(
        &self,
        graph: &Graph,
        node: NodeId,
        bindings: &SymbolBindings,
    ) -> Result<(), OpError> {
        let Some(left) = self.0 else { return Ok(()) };
        let outs = graph.node(node).outs().iter();
        let elements = outs.map(|out| bindings.elements(graph, &out.fact).unwrap_or(1));
        refuse_above(left, elements).map(drop)
    }

    /// Takes what a layer has computed.
    pub(crate) fn burn(&mut self, values: &[Tensor]) -> Result<(), OpError> {
        let Some(left) = &mut self.0 else { return Ok(()) };
        *left = refuse_above(*left, values.iter().map(Tensor::len))?;
        Ok(())
    }
}

/// What is left. An output without elements counts as one: a loop over such takes time, too.
fn refuse_above(left: usize, elements: impl Iterator<Item = usize>) -> Result<usize, OpError> {
    let elements = elements.fold(0usize, |sum, count| sum.saturating_add(count.max(1)));
    left.checked_sub(elements).ok_or(OpError::OutOfFuel { elements, left })
}
