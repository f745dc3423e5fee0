//! The content of a picture: the boxes and arrows of a graph, without their positions.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use snick_ir::ops::slice::notation;
use snick_ir::{Graph, NodeId, NodeRef, Op, OpTraits, Output, Value};
use snick_pass::primitives_by_layer;

use crate::repeats::{ends, repeats};

/// Maximum number of known elements of a constant to show.
const MOST_ELEMENTS: usize = 8;

/// Which part of a graph to draw.
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
    each_repeat: bool,
    failed: HashSet<String>,
}

impl PictureOptions {
    /// Draws the whole graph, with each repeating block drawn once.
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws each scope at this depth as a single box. In a name, a scope ends at a `/` or `.`.
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self { depth: Some(depth), ..self }
    }

    /// Only draws layers that are connected to a layer by at most `steps` edges.
    #[must_use]
    pub fn around(self, layer: impl Into<String>, steps: usize) -> Self {
        Self { around: Some((layer.into(), steps)), ..self }
    }

    /// Draws every repeating block. By default, only the first block is drawn, with the number of repeats.
    /// Pictures around a layer always contain every block.
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
    /// A slice-like layer.
    Slice,
    /// Any other layer.
    Layer,
    /// Several layers of a scope; see [`PictureOptions::depth`].
    Scope,
    /// A layer whose inference failed.
    Failed,
}

/// A box of the picture, which represents one layer or several.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SceneBox {
    /// What the box represents.
    pub kind: BoxKind,
    /// The number of equal layers that the box represents, usually 1.
    pub repeats: usize,
    /// The operation type, or the number of layers.
    pub title: String,
    /// The name of the layer or of the scope.
    pub name: String,
    /// The constants that the layer reads. For a slice-like layer, also its primitives.
    pub details: Vec<String>,
    /// The values of this box that other boxes read.
    pub outputs: Vec<SceneOutput>,
}

/// A value that one box computes and another box reads.
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
    /// The boxes, ordered so that most arrows point from an earlier box to a later one.
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
        // A layer that cannot be lowered is drawn without primitives.
        drop(snick_pass::lower_slices(&mut lowered));
        Self::of(graph, Some(&lowered), options)
    }

    /// Creates the scene of a graph. `lowered` is the same graph, in which slice-like layers are lowered.
    fn of(graph: &Graph, lowered: Option<&Graph>, options: &PictureOptions) -> Self {
        let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
        let near = options.around.as_ref().map(|(layer, steps)| neighbourhood(graph, &order, layer, *steps));
        let merged = Merged::new(graph, near.is_none() && !options.each_repeat);
        let primitives = lowered.map(primitives_by_layer).unwrap_or_default();
        let mut scene = Self { title: graph.name.clone(), ..Self::default() };
        let mut places: HashMap<NodeId, usize> = HashMap::new();
        let mut scopes: BTreeMap<&str, usize> = BTreeMap::new();
        let mut counts: Vec<usize> = Vec::new();
        let is_drawn = |id: NodeId| {
            !is_constant(graph.node(id))
                && near.as_ref().is_none_or(|near| near.contains(&id))
                && merged.is_first(id)
        };
        for &id in order.iter().filter(|&&id| is_drawn(id)) {
            let node = graph.node(id);
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
            let drawn = &mut scene.boxes[place];
            drawn.repeats = drawn.repeats.max(merged.count(id));
            if let (Some(lowered), Some(ids)) = (lowered, primitives.get(node.name())) {
                let text =
                    |id: &NodeId| format!("slice{}", notation(lowered, *id).unwrap_or_default().join(" "));
                drawn.details.extend(ids.iter().filter(|_| drawn.kind == BoxKind::Slice).map(text));
            }
            counts[place] += 1;
            places.insert(id, place);
            let same = lowered.and_then(|lowered| Some(lowered.node(lowered.find(node.name())?)));
            let mut lowered_bodies = same.into_iter().flat_map(|node| node.op().bodies());
            for (role, body) in node.op().bodies() {
                let lowered = lowered_bodies.next().map(|(_, body)| body);
                let mut inner = Self::of(body, lowered, &PictureOptions { around: None, ..options.clone() });
                inner.title = format!("{role} of {} {}", node.op().type_name(), node.name());
                scene.bodies.push(inner);
            }
        }
        for (scope, &place) in scopes.iter().filter(|(_, place)| counts[**place] > 1) {
            let folded = &mut scene.boxes[place];
            *folded = SceneBox {
                kind: if folded.kind == BoxKind::Failed { BoxKind::Failed } else { BoxKind::Scope },
                repeats: folded.repeats,
                title: format!("{} layers", counts[place]),
                name: match folded.repeats {
                    1 => (*scope).to_owned(),
                    count => format!("{scope} and {} like it", count - 1),
                },
                details: Vec::new(),
                outputs: Vec::new(),
            };
        }
        scene.connect(graph, &order, &places, &merged);
        scene
    }

    /// Adds the arrows, and the outputs of each box.
    fn connect(&mut self, graph: &Graph, order: &[NodeId], places: &HashMap<NodeId, usize>, merged: &Merged) {
        let mut shown: HashSet<Value> = HashSet::new();
        for &id in order {
            let Some(&to) = places.get(&merged.first(id)) else { continue };
            for value in graph.inputs(id).into_iter().flatten() {
                let first = merged.first(value.node);
                let Some(&from) = places.get(&first).filter(|from| **from != to) else { continue };
                // Skips an arrow from one merged block to the next, which would point back to the start of
                // the first block.
                if from > to && !(merged.is_first(id) && merged.is_first(value.node)) {
                    continue;
                }
                self.arrows.push(SceneArrow { from, to });
                if shown.insert(Value { node: first, ..value })
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

/// The layers that are connected to a layer by at most `steps` edges, in either direction. A shared constant
/// does not connect the layers that read it.
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

/// The first `depth` scopes of a name, if the name has that many.
fn scope(name: &str, depth: usize) -> Option<&str> {
    ends(name).take(depth).nth(depth.checked_sub(1)?).map(|end| &name[..end])
}

/// The layers of repeating blocks that are drawn as a layer of the first block.
#[derive(Default)]
struct Merged {
    /// For each layer of a later block, the corresponding layer of the first block.
    into: HashMap<NodeId, NodeId>,
    counts: HashMap<NodeId, usize>,
}

impl Merged {
    fn new(graph: &Graph, is_wanted: bool) -> Self {
        let mut merged = Self::default();
        for repeat in repeats(graph).into_iter().filter(|_| is_wanted) {
            let Some((first, others)) = repeat.layers.split_first() else { continue };
            for (&id, &first) in others.iter().flat_map(|block| block.iter().zip(first)) {
                // Outer blocks come before inner blocks. If a layer is in both, its entry for the outer block
                // is kept, because the first outer block contains the inner blocks.
                merged.into.entry(id).or_insert(first);
            }
        }
        let later: Vec<NodeId> = merged.into.keys().copied().collect();
        for id in later {
            *merged.counts.entry(merged.first(id)).or_insert(1) += 1;
        }
        merged
    }

    /// The layer whose box represents this layer in the picture.
    fn first(&self, mut id: NodeId) -> NodeId {
        // Each step leads to an earlier block, so this terminates.
        while let Some(&first) = self.into.get(&id) {
            id = first;
        }
        id
    }

    fn is_first(&self, id: NodeId) -> bool {
        !self.into.contains_key(&id)
    }

    /// The number of layers that the box of this layer represents.
    fn count(&self, id: NodeId) -> usize {
        self.counts.get(&id).copied().unwrap_or(1)
    }
}

fn is_constant(node: NodeRef) -> bool {
    matches!(node.op(), Op::Const(_))
}

/// The box for one layer, without its outputs.
fn layer(graph: &Graph, id: NodeId, options: &PictureOptions) -> SceneBox {
    let node = graph.node(id);
    let kind = match node.op() {
        _ if options.failed.contains(node.name()) => BoxKind::Failed,
        Op::Parameter(_) => BoxKind::Input,
        Op::Result(_) => BoxKind::Output,
        op if op.has(OpTraits::SLICE_LIKE) => BoxKind::Slice,
        _ => BoxKind::Layer,
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
        repeats: 1,
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
