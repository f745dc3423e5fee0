//! The fuel of a run: a limit on the number of elements that it computes.

use snick_ir::{Graph, NodeId, OpError};
use snick_tensor::Tensor;

use crate::facts::SymbolBindings;

/// The remaining fuel of a run, including bodies; `None` means no limit.
pub(crate) struct Fuel(Option<usize>);

impl Fuel {
    pub(crate) fn new(limit: Option<usize>) -> Self {
        Self(limit)
    }

    /// Fails if the outputs of a layer are known to need more than the remaining fuel.
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

    /// Consumes the fuel for values that were computed.
    pub(crate) fn burn(&mut self, values: &[Tensor]) -> Result<(), OpError> {
        let Some(left) = &mut self.0 else { return Ok(()) };
        *left = refuse_above(*left, values.iter().map(Tensor::len))?;
        Ok(())
    }
}

/// The fuel that remains after computing these elements. An empty output counts as one element, because a
/// loop over empty outputs takes time, too.
fn refuse_above(left: usize, elements: impl Iterator<Item = usize>) -> Result<usize, OpError> {
    let elements = elements.fold(0usize, |sum, count| sum.saturating_add(count.max(1)));
    left.checked_sub(elements).ok_or(OpError::OutOfFuel { elements, left })
}
