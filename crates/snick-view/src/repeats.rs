//! Repeating blocks: sibling scopes whose layers are equal except for their names, weights and symbols.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use snick_ir::{Graph, NodeId, Op};

/// Maximum depth of scopes that are compared.
const DEEPEST: usize = 12;

/// Scopes of equal structure that have the same parent scope, in execution order.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Repeat {
    /// The full names of the scopes; at least two.
    pub scopes: Vec<String>,
    /// The layers of each scope, excluding constants. Corresponding layers have the same index.
    pub layers: Vec<Vec<NodeId>>,
}

/// The repeating blocks of a graph, outer blocks first. In a name, a scope ends at a `/` or `.`.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
/// #     %\"h.0/a\" = ReLU-1(%x)\n  %\"h.0/b\" = Tanh-1(%\"h.0/a\")\n  %\"h.1/a\" = ReLU-1(%\"h.0/b\")\n  \
/// #     %\"h.1/b\" = Tanh-1(%\"h.1/a\")\n  %y = Result-1(%\"h.1/b\")\n}\n";
/// let graph = snick_ir::text::parse(text, None)?;
/// let repeats = snick_view::repeats(&graph);
/// assert_eq!(repeats[0].scopes, ["h.0", "h.1"]);
/// # Ok::<(), snick_ir::text::ParseError>(())
/// ```
pub fn repeats(graph: &Graph) -> Vec<Repeat> {
    let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
    let mut scopes: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for &id in order.iter().filter(|&&id| !matches!(graph.node(id).op(), Op::Const(_))) {
        let name = graph.node(id).name();
        for end in ends(name).take(DEEPEST) {
            scopes.entry(&name[..end]).or_default().push(id);
        }
    }
    scopes.retain(|_, layers| layers.len() > 1);
    let hashes: HashMap<NodeId, u64> = order.iter().map(|&id| (id, hash_of_layer(graph, id))).collect();
    let places: HashMap<NodeId, usize> = order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    let mut alike: BTreeMap<(usize, &str, u64), Vec<&str>> = BTreeMap::new();
    for (scope, layers) in &scopes {
        let parent = ends(scope).last().map_or("", |end| &scope[..end]);
        let depth = ends(scope).count();
        alike.entry((depth, parent, hash_of_scope(graph, layers, &hashes))).or_default().push(scope);
    }
    let mut found = Vec::new();
    for (_, mut names) in alike.into_iter().filter(|(_, names)| names.len() > 1) {
        names.sort_by_key(|name| places[&scopes[name][0]]);
        let layers: Vec<Vec<NodeId>> = names.iter().map(|name| scopes[name].clone()).collect();
        // Hashes may collide, accidentally or intentionally, so the numbers of layers may differ.
        let count = layers[0].len();
        if layers.iter().all(|layers| layers.len() == count) {
            found.push(Repeat { scopes: names.into_iter().map(str::to_owned).collect(), layers });
        }
    }
    found
}

/// The positions in a name at which scopes end.
pub(crate) fn ends(name: &str) -> impl Iterator<Item = usize> {
    name.match_indices(['/', '.']).map(|(at, _)| at).filter(|&at| at > 0)
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

/// Hashes the layers of a scope and their connections. All values from outside the scope count as equal.
fn hash_of_scope(graph: &Graph, layers: &[NodeId], hashes: &HashMap<NodeId, u64>) -> u64 {
    let places: HashMap<NodeId, usize> = layers.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    let mut hasher = DefaultHasher::new();
    for &id in layers {
        hashes.get(&id).hash(&mut hasher);
        for value in graph.inputs(id) {
            let inside = value.and_then(|value| Some((*places.get(&value.node)?, value.port)));
            inside.hash(&mut hasher);
            let constant = value.filter(|value| matches!(graph.node(value.node).op(), Op::Const(_)));
            constant.and_then(|value| hashes.get(&value.node)).hash(&mut hasher);
        }
    }
    hasher.finish()
}
