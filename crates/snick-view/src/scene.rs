//! What a picture shows of a graph: boxes and arrows, without places.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use snick_ir::{Graph, NodeId, NodeRef, Op, OpTraits, Output, Value};

/// The most known elements of a constant that are shown.
const MOST_ELEMENTS: usize = 8;

/// What of a graph is drawn.
///
/// ```
/// use snick_view::PictureOptions;
///
/// let options = PictureOptions::new().depth(2).around("encoder/add", 3);
/// # let _ = options;
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PictureOptions {
    depth: Option<usize>,
    around: Option<(String, usize)>,
    failed: HashSet<String>,
}

impl PictureOptions {
    /// Every layer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Layers in deeper scopes than this become one box a scope. The scopes of a name end with `/` or `.`.
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self { depth: Some(depth), ..self }
    }

    /// Only what is at most so many steps from a layer.
    #[must_use]
    pub fn around(self, layer: impl Into<String>, steps: usize) -> Self {
        Self { around: Some((layer.into(), steps)), ..self }
    }

    /// The names of layers that inference could not accept.
    #[must_use]
    pub fn failed(self, layers: impl IntoIterator<Item = String>) -> Self {
        Self { failed: layers.into_iter().collect(), ..self }
    }
}

/// What a box stands for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// An input of the graph.
    Input,
    /// An output of the graph.
    Output,
    /// A slice-like layer.
    Slice,
    /// Any other layer.
    Layer,
    /// Several layers of a scope.
    Scope,
    /// A layer that inference could not accept.
    Failed,
}

/// A layer, or several of them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SceneBox {
    /// What it stands for.
    pub kind: Kind,
    /// The operation type, or the number of layers.
    pub title: String,
    /// The name of the layer or of the scope.
    pub name: String,
    /// The constants that it reads.
    pub details: Vec<String>,
    /// What leaves it.
    pub outputs: Vec<SceneOutput>,
}

/// A value that leaves a box.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SceneOutput {
    /// Element type and shape.
    pub text: String,
    /// Whether every size has an upper bound.
    pub is_bounded: bool,
}

/// Something that one box reads of another.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub struct SceneArrow {
    /// The index of the box that it leaves.
    pub from: usize,
    /// The index of the box that reads.
    pub to: usize,
}

/// Boxes and arrows of a graph, and of the bodies inside.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Scene {
    /// What it shows.
    pub title: String,
    /// In an order in which most arrows lead forwards.
    pub boxes: Vec<SceneBox>,
    /// Without duplicates, ordered.
    pub arrows: Vec<SceneArrow>,
    /// The graphs inside layers.
    pub bodies: Vec<Scene>,
}

impl Scene {
    /// The scene of a graph.
    pub fn new(graph: &Graph, options: &PictureOptions) -> Self {
        let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
        let near = options.around.as_ref().map(|(layer, steps)| neighbourhood(graph, &order, layer, *steps));
        let mut scene = Self { title: graph.name.clone(), ..Self::default() };
        let mut places: HashMap<NodeId, usize> = HashMap::new();
        let mut scopes: BTreeMap<&str, usize> = BTreeMap::new();
        let mut counts: Vec<usize> = Vec::new();
        for &id in &order {
            let node = graph.node(id);
            if is_constant(node) || near.as_ref().is_some_and(|near| !near.contains(&id)) {
                continue;
            }
            let scope = options.depth.and_then(|depth| scope(node.name(), depth));
            let known = scope.and_then(|scope| scopes.get(scope).copied());
            let place = known.unwrap_or_else(|| {
                scene.boxes.push(layer(graph, id, options));
                counts.push(0);
                counts.len() - 1
            });
            if let Some(scope) = scope {
                scopes.insert(scope, place);
            }
            counts[place] += 1;
            places.insert(id, place);
            for (role, body) in node.op().bodies() {
                let mut inner = Self::new(body, &PictureOptions { around: None, ..options.clone() });
                inner.title = format!("{role} of {} {}", node.op().type_name(), node.name());
                scene.bodies.push(inner);
            }
        }
        for (scope, &place) in scopes.iter().filter(|(_, place)| counts[**place] > 1) {
            let folded = &mut scene.boxes[place];
            *folded = SceneBox {
                kind: if folded.kind == Kind::Failed { Kind::Failed } else { Kind::Scope },
                title: format!("{} layers", counts[place]),
                name: (*scope).to_owned(),
                details: Vec::new(),
                outputs: Vec::new(),
            };
        }
        scene.connect(graph, &order, &places);
        scene
    }

    /// Adds the arrows, and to each box what leaves it.
    fn connect(&mut self, graph: &Graph, order: &[NodeId], places: &HashMap<NodeId, usize>) {
        let mut shown: HashSet<Value> = HashSet::new();
        for id in order {
            let Some(&to) = places.get(id) else { continue };
            for value in graph.inputs(*id).into_iter().flatten() {
                let Some(&from) = places.get(&value.node).filter(|from| **from != to) else { continue };
                self.arrows.push(SceneArrow { from, to });
                if shown.insert(value)
                    && let Some(out) = graph.output(value)
                {
                    self.boxes[from].outputs.push(output(graph, out));
                }
            }
        }
        self.arrows.sort_unstable();
        self.arrows.dedup();
    }
}

/// The layers at most `steps` from a layer, along arrows in either direction.
fn neighbourhood(graph: &Graph, order: &[NodeId], layer: &str, steps: usize) -> HashSet<NodeId> {
    let mut neighbours: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for &id in order {
        for value in graph.inputs(id).into_iter().flatten() {
            neighbours.entry(id).or_default().push(value.node);
            if !is_constant(graph.node(value.node)) {
                neighbours.entry(value.node).or_default().push(id);
            }
        }
    }
    let start = order.iter().copied().filter(|&id| graph.node(id).name() == layer);
    let mut waiting: VecDeque<(NodeId, usize)> = start.map(|id| (id, steps)).collect();
    let mut near: HashSet<NodeId> = waiting.iter().map(|(id, _)| *id).collect();
    while let Some((id, left)) = waiting.pop_front() {
        for &next in neighbours.get(&id).into_iter().flatten().filter(|_| left > 0) {
            if near.insert(next) {
                waiting.push_back((next, left - 1));
            }
        }
    }
    near
}

/// The first `depth` scopes of a name that has more.
fn scope(name: &str, depth: usize) -> Option<&str> {
    let ends = name.match_indices(['/', '.']).map(|(at, _)| at).filter(|&at| at > 0);
    ends.take(depth).nth(depth.checked_sub(1)?).map(|end| &name[..end])
}

fn is_constant(node: NodeRef) -> bool {
    matches!(node.op(), Op::Const(_))
}

/// The box of one layer, without outputs.
fn layer(graph: &Graph, id: NodeId, options: &PictureOptions) -> SceneBox {
    let node = graph.node(id);
    let kind = match node.op() {
        _ if options.failed.contains(node.name()) => Kind::Failed,
        Op::Parameter(_) => Kind::Input,
        Op::Result(_) => Kind::Output,
        op if op.has(OpTraits::SLICE_LIKE) => Kind::Slice,
        _ => Kind::Layer,
    };
    let constants = graph.inputs(id).into_iter().enumerate().filter_map(|(port, value)| {
        let value = value.filter(|value| is_constant(graph.node(value.node)))?;
        let out = graph.output(value)?;
        let known = out.fact.ints().filter(|elements| elements.len() <= MOST_ELEMENTS);
        let known = known.map(|elements| format!(" {elements:?}")).unwrap_or_default();
        Some(format!("{port}: {}{known}", output(graph, out).text))
    });
    SceneBox {
        kind,
        title: node.op().type_name().to_owned(),
        name: node.name().to_owned(),
        details: constants.collect(),
        outputs: Vec::new(),
    }
}

fn output(graph: &Graph, out: &Output) -> SceneOutput {
    let (shape, symbols) = (out.fact.shape(), graph.symbols());
    let is_bounded =
        shape.dims().is_some_and(|dims| dims.iter().all(|dim| symbols.interval(dim).has_upper()));
    SceneOutput { text: format!("{}{}", out.fact.element_type(), shape.display_labels(symbols)), is_bounded }
}
