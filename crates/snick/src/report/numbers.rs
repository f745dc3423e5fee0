//! The ids of layers in the data of a report.

use std::collections::{HashMap, VecDeque};

use snick_ir::{Graph, NodeId};

use crate::LayerRef;

/// A graph with the report ids of its layers. The ids are unique across the model and its bodies.
pub(super) struct NumberedGraph<'g> {
    pub graph: &'g Graph,
    /// The layer that contains the graph as a body, and the role of the body.
    pub owner: Option<(usize, &'g str)>,
    /// The layers and bodies that contain the graph, as in [`LayerRef::body`].
    path: Option<String>,
    pub order: Vec<NodeId>,
    /// The id of each layer, indexed by the index of its node.
    numbers: Vec<usize>,
}

impl NumberedGraph<'_> {
    /// The id of a layer.
    pub fn of(&self, id: NodeId) -> usize {
        self.numbers.get(id.index()).copied().unwrap_or_default()
    }
}

/// The ids of all layers: first the layers of the model in execution order, then the layers of its bodies.
pub(super) struct Numbers<'g> {
    pub graphs: Vec<NumberedGraph<'g>>,
    /// The id of the first layer with each name, by graph.
    names: Vec<HashMap<&'g str, usize>>,
}

impl<'g> Numbers<'g> {
    pub fn new(graph: &'g Graph) -> Self {
        let mut all = Self { graphs: Vec::new(), names: Vec::new() };
        let (mut next, mut waiting) = (0, VecDeque::from([(graph, None, None)]));
        while let Some((graph, owner, path)) = waiting.pop_front() {
            let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
            let mut numbers = vec![0; graph.bound()];
            let mut names = HashMap::new();
            for &id in &order {
                let node = graph.node(id);
                numbers[id.index()] = next;
                names.entry(node.name()).or_insert(next);
                waiting.extend(node.op().bodies().map(|(role, body)| {
                    let prefix = path.as_ref().map(|path| format!("{path}/")).unwrap_or_default();
                    (body, Some((next, role)), Some(format!("{prefix}{}/{role}", node.name())))
                }));
                next += 1;
            }
            all.graphs.push(NumberedGraph { graph, owner, path, order, numbers });
            all.names.push(names);
        }
        all
    }

    /// The graph of the model itself.
    pub fn main(&self) -> &NumberedGraph<'g> {
        &self.graphs[0]
    }

    /// The first layer that has this name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.names.iter().find_map(|names| names.get(name)).copied()
    }

    /// The layer of a difference.
    pub fn of_layer(&self, layer: &LayerRef) -> Option<usize> {
        let at = self.graphs.iter().position(|graph| graph.path == layer.body)?;
        self.names[at].get(layer.name.as_str()).copied()
    }
}
