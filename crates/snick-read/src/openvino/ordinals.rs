//! Indices of Parameters and Results, for port maps.

use std::collections::HashMap;

use snick_ir::{Graph, NodeId, OpError};

use super::layer_ids::LayerIds;

/// The index of each Parameter among all Parameters of a body, and of each Result among all its Results.
pub(super) struct Ordinals<'n> {
    layers: &'n LayerIds,
    numbers: HashMap<NodeId, usize>,
}

impl<'n> Ordinals<'n> {
    pub(super) fn new(graph: &Graph, layers: &'n LayerIds) -> Self {
        let numbered = |(number, node): (usize, NodeId)| (node, number);
        let parameters = graph.parameters().enumerate().map(numbered);
        let numbers = parameters.chain(graph.results().enumerate().map(numbered)).collect();
        Self { layers, numbers }
    }

    /// The index of the Parameter or Result with this layer id.
    pub(super) fn get(&self, id: u64) -> Result<usize, OpError> {
        let index = self.layers.index(id);
        let number = index.and_then(|index| self.numbers.get(&self.layers.0[index].node).copied());
        number.ok_or_else(|| {
            OpError::mismatch("the port map", format!("layer {id}"), "a Parameter or Result of the body")
        })
    }
}
