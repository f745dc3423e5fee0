//! The layers of a network, by their ids in the file.

use snick_ir::{NodeId, PortIds};

use super::port_set::PortSet;

/// Layers in ascending order of their ids. Ids usually are consecutive numbers from 0 on, so the id of a
/// layer nearly always equals its index.
#[derive(Default)]
pub(super) struct LayerIds(pub(super) Vec<LayerId>);

pub(super) struct LayerId {
    pub(super) id: u64,
    pub(super) node: NodeId,
    /// The ids of the input ports. The graph itself stores only unusual ids.
    pub(super) inputs: PortIds,
    /// The number of input ports. If the file does not list them, it is limited to `MAX_INPUTS`.
    pub(super) input_count: usize,
    pub(super) outputs: PortIds,
    /// The inputs that already have a producer.
    pub(super) connected: PortSet,
    /// Whether an error about a second producer of an input has already been reported.
    pub(super) is_doubled: bool,
}

impl LayerIds {
    pub(super) fn index(&self, id: u64) -> Option<usize> {
        let guess = usize::try_from(id).ok().filter(|&i| self.0.get(i).is_some_and(|layer| layer.id == id));
        guess.or_else(|| self.0.binary_search_by_key(&id, |layer| layer.id).ok())
    }
}
