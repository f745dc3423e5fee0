//! The content of a picture: the boxes and arrows of a graph, without their positions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use snick_ir::ops::slice::notation;
use snick_ir::text::Escaped;
use snick_ir::{Category, Graph, NodeId, Op, Output, Value};
use snick_pass::{absent_primitive, is_slice_like, primitives_by_layer};

use crate::repeats::ends;
use crate::scopes::{Item, Scope, constants, scopes};

/// Maximum number of known elements of a constant in a tooltip.
const MOST_ELEMENTS: usize = 8;

/// A box shows the largest constant that its layer contains, if it has more elements than this.
const FEW_ELEMENTS: usize = 64;

/// A scope of at most this many layers lists their operations; another one as many of the most frequent.
const FEW_LAYERS: usize = 3;

/// Maximum number of outputs that a box lists.
const MOST_OUTPUTS: usize = 4;

/// Which part of a graph to draw.
///
/// ```
/// use snick::PictureOptions;
///
/// let options = PictureOptions::new().depth(2).around("encoder/add", 3);
/// # let _ = options;
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PictureOptions {
    depth: Option<usize>,
    around: Option<(String, usize)>,
    each_repeat: bool,
    failed: HashSet<String>,
}

impl PictureOptions {
    /// Draws the first view of a report: scopes are opened as long as that gives few boxes, and of repeating
    /// blocks, only the first is opened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws each scope at this depth as a single box, and opens the scopes around it. In a name, a scope ends
    /// at a `/` or `.`.
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self { depth: Some(depth), ..self }
    }

    /// Only draws layers that are connected to a layer by at most `steps` edges.
    #[must_use]
    pub fn around(self, layer: impl Into<String>, steps: usize) -> Self {
        Self { around: Some((layer.into(), steps)), ..self }
    }

    /// Draws every layer, or every block down to the depth if one is set. By default, the repeating blocks after
    /// the first are one box.
    #[must_use]
    pub fn each_repeat(self, each_repeat: bool) -> Self {
        Self { each_repeat, ..self }
    }

    /// Marks the layers with these names as failed in inference.
    #[must_use]
    pub fn failed(self, layers: impl IntoIterator<Item = String>) -> Self {
        Self { failed: layers.into_iter().collect(), ..self }
    }

    /// Whether the inference of a layer with this name failed.
    pub fn is_failed(&self, layer: &str) -> bool {
        self.failed.contains(layer)
    }
}

/// What a box represents.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BoxKind {
    /// An input of the graph.
    Input,
    /// An output of the graph.
    Output,
    /// Any other layer.
    Layer,
    /// Several layers of a scope; see [`PictureOptions::depth`].
    Scope,
    /// A layer whose inference failed.
    Failed,
}

/// A box of the picture, which represents one layer or several. Control characters in its texts are escaped.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SceneBox {
    /// What the box represents.
    pub kind: BoxKind,
    /// Whether the box represents several layers.
    pub is_scope: bool,
    /// The number of layers of each category, without inputs and outputs.
    pub shares: Vec<(Category, usize)>,
    /// The operation type, or the number of layers.
    pub title: String,
    /// The name of the layer or of the scope.
    pub name: String,
    /// The largest constant that the layer contains. For a slice-like layer, also its primitives. For a scope,
    /// its most frequent operations.
    pub details: Vec<String>,
    /// The constants that the layer reads, with the elements of short ones.
    pub constants: Vec<String>,
    /// The first outputs of the layer, or of the layers of the scope that other layers read.
    pub outputs: Vec<SceneOutput>,
}

/// A value that a layer computes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SceneOutput {
    /// Element type and shape.
    pub text: String,
    /// Whether every size has an upper bound.
    pub is_bounded: bool,
}

/// A connection between two boxes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub struct SceneArrow {
    /// The index of the producing box.
    pub from: usize,
    /// The index of the reading box.
    pub to: usize,
}

/// Boxes and arrows of a graph and its bodies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Scene {
    /// The name of the graph.
    pub title: String,
    /// The boxes in execution order. An arrow points to a later box, unless the graph has a cycle.
    pub boxes: Vec<SceneBox>,
    /// The arrows, sorted and without duplicates.
    pub arrows: Vec<SceneArrow>,
    /// The graphs inside layers.
    pub bodies: Vec<Scene>,
}

impl Scene {
    /// Creates the scene of a graph.
    pub fn new(graph: &Graph, options: &PictureOptions) -> Self {
        let mut lowered = graph.clone();
        // A layer that cannot be lowered is drawn with the reason.
        drop(snick_pass::lower_slices(&mut lowered));
        Self::of(graph, &lowered, options)
    }

    /// Creates the scene of a graph. `lowered` is the same graph, in which slice-like layers are lowered.
    fn of(graph: &Graph, lowered: &Graph, options: &PictureOptions) -> Self {
        let mut scene = Self { title: escaped(&graph.name), ..Self::default() };
        let mut place_of: HashMap<NodeId, usize> = HashMap::new();
        let shown = shown(graph, options);
        let layers = Layers { graph, lowered, primitives: primitives_by_layer(lowered), options };
        let constant = constants(graph);
        for (at, item) in shown.iter().enumerate() {
            let inside = item.layers();
            place_of.extend(inside.iter().map(|&id| (id, at)));
            scene.boxes.push(match item {
                Item::Layer(id) => layers.layer(*id, &constant),
                Item::Scope(scope) => layers.scope(scope, &inside),
            });
            scene.bodies.extend(inside.into_iter().flat_map(|id| layers.bodies(id)));
        }
        let mut arrows = BTreeSet::new();
        for (&id, &to) in &place_of {
            let read = graph.inputs(id).into_iter().flatten();
            let from = read.filter_map(|value| place_of.get(&value.node).copied());
            arrows.extend(from.filter(|&from| from != to).map(|from| SceneArrow { from, to }));
        }
        scene.arrows = arrows.into_iter().collect();
        scene
    }
}

/// The layers and scopes that become boxes, in execution order.
fn shown(graph: &Graph, options: &PictureOptions) -> Vec<Item> {
    let items = scopes(graph);
    let Some((layer, steps)) = &options.around else {
        return items.into_iter().flat_map(|item| opened(item, options)).collect();
    };
    let near = neighbourhood(graph, layer, *steps);
    items.iter().flat_map(Item::layers).filter(|id| near.contains(id)).map(Item::Layer).collect()
}

/// The parts of an item that become boxes.
fn opened(item: Item, options: &PictureOptions) -> Vec<Item> {
    match item {
        Item::Scope(scope) if options.opens(&scope) => {
            // The blocks of a group after the first are closed.
            let is_closed = |at: usize| scope.repeats > 0 && at > 0 && !options.each_repeat;
            let parts = scope.items.into_iter().enumerate();
            parts
                .flat_map(|(at, part)| if is_closed(at) { vec![part] } else { opened(part, options) })
                .collect()
        }
        item => vec![item],
    }
}

impl PictureOptions {
    /// Whether the parts of a scope are drawn.
    fn opens(&self, scope: &Scope) -> bool {
        let Some(depth) = self.depth else { return scope.is_open || self.each_repeat };
        match scope.items.first() {
            // The blocks of a group are at the depth of the group.
            Some(Item::Scope(block)) if scope.repeats > 0 => ends(&block.name).count() < depth,
            _ if scope.is_named => ends(&scope.name).count() + 1 < depth,
            _ => true,
        }
    }
}

/// Creates boxes.
struct Layers<'g> {
    graph: &'g Graph,
    lowered: &'g Graph,
    primitives: HashMap<&'g str, Vec<NodeId>>,
    options: &'g PictureOptions,
}

impl Layers<'_> {
    fn layer(&self, id: NodeId, constant: &HashSet<NodeId>) -> SceneBox {
        let Self { graph, .. } = *self;
        let node = graph.node(id);
        let kind = match node.op() {
            _ if self.options.is_failed(node.name()) => BoxKind::Failed,
            Op::Parameter(_) => BoxKind::Input,
            Op::Result(_) => BoxKind::Output,
            _ => BoxKind::Layer,
        };
        let weights =
            largest_constant(graph, id, constant).map(|out| format!("weights {}", text(graph, out)));
        let slice = (is_slice_like(node.op()) || matches!(node.op(), Op::Slice(_))).then(|| self.slice(id));
        let outputs = node.outs().iter().take(MOST_OUTPUTS).filter(|_| kind != BoxKind::Output);
        SceneBox {
            kind,
            is_scope: false,
            shares: shares(graph, &[id]),
            title: escaped(node.op().type_name()),
            name: escaped(node.name()),
            details: weights.into_iter().chain(slice).collect(),
            constants: read_constants(graph, id),
            outputs: outputs.map(|out| output(graph, out)).collect(),
        }
    }

    /// The primitives that replace a slice-like layer, or the reason why there are none.
    fn slice(&self, id: NodeId) -> String {
        let found = self.primitives.get(self.graph.node(id).name()).into_iter().flatten();
        let text =
            |&id: &NodeId| format!("slice{}", notation(self.lowered, id).unwrap_or_default().join(" "));
        let slices: Vec<String> = found.map(text).collect();
        match slices.is_empty() {
            true => absent_primitive(self.graph, id, self.lowered).to_owned(),
            false => escaped(&slices.join(" ")),
        }
    }

    fn scope(&self, scope: &Scope, layers: &[NodeId]) -> SceneBox {
        let has_failed = layers.iter().any(|&id| self.options.is_failed(self.graph.node(id).name()));
        let (title, details) = self.contents(scope, layers);
        SceneBox {
            kind: if has_failed { BoxKind::Failed } else { BoxKind::Scope },
            is_scope: true,
            shares: shares(self.graph, layers),
            title,
            name: escaped(&scope.name),
            details,
            constants: Vec::new(),
            outputs: self.leaving(layers),
        }
    }

    /// The title of a scope, and its most frequent operations. In a group of blocks, both count one block.
    fn contents(&self, scope: &Scope, layers: &[NodeId]) -> (String, Vec<String>) {
        let ops: Vec<String> =
            layers.iter().map(|&id| escaped(self.graph.node(id).op().type_name())).collect();
        match (scope.repeats, ops.as_slice()) {
            (repeats, [first, ..]) if repeats == ops.len() => {
                return (format!("{repeats} × {first}"), Vec::new());
            }
            (0, _) if ops.len() <= FEW_LAYERS => return (ops.join(", "), Vec::new()),
            _ => {}
        }
        let mut used: Vec<(&String, usize)> = Vec::new();
        let mut places: HashMap<&String, usize> = HashMap::new();
        for op in &ops {
            let place = *places.entry(op).or_insert(used.len());
            if place == used.len() {
                used.push((op, 0));
            }
            used[place].1 += 1;
        }
        used.sort_by_key(|&(_, count)| Reverse(count));
        let blocks = scope.repeats.max(1);
        let each = |count: usize| (count + blocks / 2) / blocks;
        let frequent = used.iter().take(FEW_LAYERS).map(|&(op, count)| format!("{} {op}", each(count)));
        let frequent = frequent.collect::<Vec<_>>().join(", ");
        let times = if scope.repeats > 0 { format!("{} × ", scope.repeats) } else { String::new() };
        (format!("{times}{} layers", each(ops.len())), vec![frequent])
    }

    /// The first outputs of layers that other layers read.
    fn leaving(&self, layers: &[NodeId]) -> Vec<SceneOutput> {
        let inside: HashSet<NodeId> = layers.iter().copied().collect();
        let outputs = layers.iter().flat_map(|&node| {
            let outs = self.graph.node(node).outs();
            (0u32..).zip(outs).map(move |(port, out)| (Value { node, port }, out))
        });
        let leaves = |value: Value| self.graph.uses(value).iter().any(|(reader, _)| !inside.contains(reader));
        let leaving = outputs.filter(|&(value, _)| leaves(value)).take(MOST_OUTPUTS);
        leaving.map(|(_, out)| output(self.graph, out)).collect()
    }

    /// The scenes of the bodies of a layer.
    fn bodies(&self, id: NodeId) -> Vec<Scene> {
        let node = self.graph.node(id);
        let same = self.lowered.find(node.name()).map(|same| self.lowered.node(same));
        let mut lowered = same.into_iter().flat_map(|node| node.op().bodies());
        let options = PictureOptions { around: None, ..self.options.clone() };
        let scene = |(role, body): (&str, &Graph)| {
            let lowered = lowered.next().map_or(body, |(_, body)| body);
            let title = escaped(&format!("{role} of {} {}", node.op().type_name(), node.name()));
            Scene { title, ..Scene::of(body, lowered, &options) }
        };
        node.op().bodies().map(scene).collect()
    }
}

/// The layers that are connected to a layer by at most `steps` edges, in either direction. A shared constant
/// does not connect the layers that read it.
fn neighbourhood(graph: &Graph, layer: &str, steps: usize) -> HashSet<NodeId> {
    let mut neighbours: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for id in graph.ids() {
        for value in graph.inputs(id).into_iter().flatten() {
            neighbours.entry(id).or_default().push(value.node);
            if !matches!(graph.node(value.node).op(), Op::Const(_)) {
                neighbours.entry(value.node).or_default().push(id);
            }
        }
    }
    let start = graph.ids().filter(|&id| graph.node(id).name() == layer);
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

/// The largest constant among those that a layer reads directly or through layers that depend only on
/// constants, if it has more than a few elements.
fn largest_constant<'g>(graph: &'g Graph, id: NodeId, constant: &HashSet<NodeId>) -> Option<&'g Output> {
    let mut found = vec![id];
    let mut seen = HashSet::new();
    let (mut at, mut most, mut largest) = (0, FEW_ELEMENTS, None);
    while let Some(&reader) = found.get(at) {
        at += 1;
        for value in graph.inputs(reader).into_iter().flatten() {
            if !constant.contains(&value.node) || !seen.insert(value.node) {
                continue;
            }
            found.push(value.node);
            let node = graph.node(value.node);
            let Some(out) = node.outs().first().filter(|_| matches!(node.op(), Op::Const(_))) else {
                continue;
            };
            let dims = out.fact.shape().as_static();
            let elements = dims.map_or(0, |dims| dims.iter().fold(1, |all, &dim| dim.saturating_mul(all)));
            if elements > most {
                (most, largest) = (elements, Some(value.node));
            }
        }
    }
    graph.node(largest?).outs().first()
}

/// The number of layers of each category, without inputs and outputs.
fn shares(graph: &Graph, layers: &[NodeId]) -> Vec<(Category, usize)> {
    let mut counts = BTreeMap::new();
    let categories = layers.iter().map(|&id| graph.node(id).op().category());
    for category in categories.filter(|category| *category != Category::Source) {
        *counts.entry(category).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// The constants that a layer reads.
fn read_constants(graph: &Graph, id: NodeId) -> Vec<String> {
    let constants = graph.inputs(id).into_iter().enumerate().filter_map(|(port, value)| {
        let value = value.filter(|value| matches!(graph.node(value.node).op(), Op::Const(_)))?;
        let out = graph.output(value)?;
        let known = out.fact.ints().filter(|elements| elements.len() <= MOST_ELEMENTS);
        let known = known.map(|elements| format!(" {elements:?}")).unwrap_or_default();
        Some(format!("{port}: {}{known}", text(graph, out)))
    });
    constants.collect()
}

fn output(graph: &Graph, out: &Output) -> SceneOutput {
    let (shape, symbols) = (out.fact.shape(), graph.symbols());
    let is_bounded =
        shape.dims().is_some_and(|dims| dims.iter().all(|dim| symbols.interval(dim).has_upper()));
    SceneOutput { text: text(graph, out), is_bounded }
}

/// Element type and shape, such as `f32[N,3]`.
fn text(graph: &Graph, out: &Output) -> String {
    let dims = out.fact.shape().dims();
    let dims = dims.map(|dims| dims.iter().map(|dim| graph.symbols().display(dim).to_string()).collect());
    let dims: Vec<String> = dims.unwrap_or_else(|| vec!["...".to_owned()]);
    escaped(&format!("{}[{}]", out.fact.element_type(), dims.join(",")))
}

fn escaped(text: &str) -> String {
    Escaped(text).to_string()
}
