//! The layers of a graph by index and name.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use snick::{Graph, NodeId};

/// A graph within a model: for each body on the way to it, the index of the layer and the position of the body. The
/// path of the graph of the model is empty.
pub type GraphPath = Vec<(usize, usize)>;

/// The layers of a graph in file order.
pub struct Listing {
    ids: Vec<NodeId>,
    /// The index of each layer by [`NodeId::index`].
    indices: Vec<usize>,
    by_name: OnceLock<HashMap<Arc<str>, usize>>,
}

impl Listing {
    pub fn new(graph: &Graph) -> Self {
        let ids: Vec<NodeId> = graph.ids().collect();
        let mut indices = vec![usize::MAX; graph.bound()];
        for (index, id) in ids.iter().enumerate() {
            indices[id.index()] = index;
        }
        Self { ids, indices, by_name: OnceLock::new() }
    }

    /// The layer with this index.
    pub fn id(&self, index: usize) -> Option<NodeId> {
        self.ids.get(index).copied()
    }

    /// The index of a layer of the graph.
    pub fn index(&self, id: NodeId) -> usize {
        self.indices.get(id.index()).copied().unwrap_or(usize::MAX)
    }

    /// The index of the first layer with this name, or else of the layer with this tensor name.
    pub fn find(&self, graph: &Graph, name: &str) -> Option<usize> {
        let by_name = self.by_name.get_or_init(|| {
            let named = self.ids.iter().enumerate().rev();
            named.map(|(index, &id)| (graph.node(id).shared_name(), index)).collect()
        });
        let by_tensor = || graph.find_tensor(name).map(|value| self.index(value.node));
        by_name.get(name).copied().or_else(by_tensor)
    }

    /// The indices of the layers that read a layer, in file order.
    pub fn consumers(&self, graph: &Graph, id: NodeId) -> Vec<usize> {
        let values = (0..graph.node(id).outs().len()).filter_map(|port| graph.node(id).output(port));
        let readers = values.flat_map(|value| graph.uses(value).into_iter().map(|(reader, _)| reader));
        let mut indices: Vec<usize> = readers.map(|reader| self.index(reader)).collect();
        indices.sort_unstable();
        indices.dedup();
        indices
    }
}
