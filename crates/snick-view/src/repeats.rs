//! Repeating blocks: sibling scopes whose layers are equal except for their names, weights and symbols.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use snick_ir::{Graph, NodeId, Op};

/// Scopes nested deeper than this are not distinguished.
pub(crate) const DEEPEST: usize = 12;

/// The repeating blocks of a graph: for each group, the names of its scopes in execution order, at least two.
/// In a name, a scope ends at a `/` or `.`.
pub(crate) fn repeats(graph: &Graph, structure: &Structure) -> Vec<Vec<String>> {
    let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
    let mut scopes: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for &id in order.iter().filter(|&&id| !matches!(graph.node(id).op(), Op::Const(_))) {
        let name = graph.node(id).name();
        for end in ends(name).take(DEEPEST) {
            scopes.entry(&name[..end]).or_default().push(id);
        }
    }
    scopes.retain(|_, layers| layers.len() > 1);
    let places: HashMap<NodeId, usize> = order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    let mut alike: BTreeMap<(usize, &str, u64), Vec<&str>> = BTreeMap::new();
    for (scope, layers) in &scopes {
        let parent = ends(scope).last().map_or("", |end| &scope[..end]);
        let depth = ends(scope).count();
        alike.entry((depth, parent, structure.hash(graph, layers))).or_default().push(scope);
    }
    let mut found = Vec::new();
    for (_, mut names) in alike.into_iter().filter(|(_, names)| names.len() > 1) {
        names.sort_by_key(|name| places[&scopes[name][0]]);
        // Hashes may collide, accidentally or intentionally, so the numbers of layers may differ.
        let count = scopes[names[0]].len();
        if names.iter().all(|name| scopes[name].len() == count) {
            found.push(names.into_iter().map(str::to_owned).collect());
        }
    }
    found
}

/// The positions in a name at which scopes end.
pub(crate) fn ends(name: &str) -> impl Iterator<Item = usize> {
    name.match_indices(['/', '.']).map(|(at, _)| at).filter(|&at| at > 0)
}

/// What layers of equal structure have in common.
pub(crate) struct Structure {
    /// The hash of each layer without its connections.
    hashes: HashMap<NodeId, u64>,
}

impl Structure {
    pub fn new(graph: &Graph) -> Self {
        Self { hashes: graph.ids().map(|id| (id, hash_of_layer(graph, id))).collect() }
    }

    /// Hashes layers and their connections. All values from outside count as equal.
    pub fn hash(&self, graph: &Graph, layers: &[NodeId]) -> u64 {
        let places: HashMap<NodeId, usize> = layers.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let mut hasher = DefaultHasher::new();
        for &id in layers {
            self.hashes.get(&id).hash(&mut hasher);
            for value in graph.inputs(id) {
                let inside = value.and_then(|value| Some((*places.get(&value.node)?, value.port)));
                inside.hash(&mut hasher);
                let constant = value.filter(|value| matches!(graph.node(value.node).op(), Op::Const(_)));
                constant.and_then(|value| self.hashes.get(&value.node)).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Hashes the operation of a layer, its attributes, and the element types and sizes of its outputs; ignores
/// symbols.
fn hash_of_layer(graph: &Graph, id: NodeId) -> u64 {
    let node = graph.node(id);
    let mut hasher = DefaultHasher::new();
    (node.op().type_name(), node.version().to_string()).hash(&mut hasher);
    // Weights are ignored, because they differ from block to block.
    if !matches!(node.op(), Op::Const(_)) {
        for (name, value) in node.op().attrs().iter() {
            (name, value.to_string()).hash(&mut hasher);
        }
    }
    for out in node.outs() {
        out.fact.element_type().name().hash(&mut hasher);
        let dims = out.fact.shape().dims();
        dims.map(|dims| dims.iter().map(|dim| dim.as_const()).collect::<Vec<_>>()).hash(&mut hasher);
    }
    hasher.finish()
}
