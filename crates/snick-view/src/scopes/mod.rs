//! The scopes that a picture draws as one box, or opens.
//!
//! Each scope is a run of layers in one execution order, so a graph in which any scopes are closed has no
//! cycle. The scopes come from the names of layers (`paths.rs`); where names give too few, from the places at
//! which a single value connects what comes before and after (`sections.rs`).

mod paths;
mod sections;

use std::collections::{HashMap, HashSet};

use snick_ir::{Graph, NodeId, Op, OpTraits};

use crate::execution::execution_order;
use crate::repeats::{Structure, repeats};

/// Maximum number of boxes of the first view.
const MOST_BOXES: usize = 90;

/// A layer, or a scope of layers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A layer.
    Layer(NodeId),
    /// A scope.
    Scope(Scope),
}

/// Layers that follow each other in an execution order and that a picture can draw as one box.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Scope {
    /// The common start of the names, or the names of the first and the last part.
    pub name: String,
    /// The number of blocks of equal structure, for a group of blocks; otherwise 0.
    pub repeats: usize,
    /// Whether the name is the common start of the names of the layers.
    pub is_named: bool,
    /// Whether the first view shows the parts instead of one box.
    pub is_open: bool,
    /// The number of layers, without constants.
    pub size: usize,
    /// The parts in execution order; at least two.
    pub items: Vec<Item>,
}

/// The layers of a graph by scope, in execution order. Constants, and layers that depend only on constants, are
/// left out; they are part of the layers that read them. A group of repeating blocks consists of the first
/// block, and of a scope with the other blocks.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
/// #     %\"h.0/a\" = ReLU-1(%x)\n  %\"h.0/b\" = Tanh-1(%\"h.0/a\")\n  %\"h.1/a\" = ReLU-1(%\"h.0/b\")\n  \
/// #     %\"h.1/b\" = Tanh-1(%\"h.1/a\")\n  %y = Result-1(%\"h.1/b\")\n}\n";
/// let graph = snick::text::parse(text, None)?;
/// let items = snick_view::scopes(&graph);
/// let snick_view::Item::Scope(blocks) = &items[1] else { panic!("{items:?}") };
/// assert_eq!((items.len(), blocks.name.as_str(), blocks.repeats, blocks.size), (3, "h.0 … h.1", 2, 4));
/// # Ok::<(), snick::text::ParseError>(())
/// ```
pub fn scopes(graph: &Graph) -> Vec<Item> {
    let constant = constants(graph);
    let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
    let layers: Vec<NodeId> = order.into_iter().filter(|id| !constant.contains(id)).collect();
    let at: HashMap<NodeId, usize> = layers.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    let sources: Vec<Vec<usize>> = layers.iter().map(|&id| sources(graph, id, &at)).collect();
    let paths = paths::with_hosts(graph, &layers, &sources);
    let order = execution_order(&paths, &sources);
    let mut items = tree(order.into_iter().map(|node| (layers[node], paths[node].as_slice())));
    let structure = Structure::new(graph);
    group(graph, &mut items, &repeat_of_each_scope(graph, &structure));
    sections::divide(graph, &mut items, Some(&structure));
    open_first(&mut items);
    items
}

/// The layers that a layer reads, as the values of `at`, without duplicates.
fn sources(graph: &Graph, id: NodeId, at: &HashMap<NodeId, usize>) -> Vec<usize> {
    let mut seen = HashSet::new();
    let inputs = graph.inputs(id).into_iter().flatten();
    inputs.filter_map(|value| at.get(&value.node).copied()).filter(|&source| seen.insert(source)).collect()
}

/// The constants, and the layers that depend on constants only. Layers with bodies or states, random numbers
/// and outputs are left out, because they are worth a box.
pub(crate) fn constants(graph: &Graph) -> HashSet<NodeId> {
    const SHOWN: OpTraits =
        OpTraits::HAS_BODIES.union(OpTraits::STATEFUL).union(OpTraits::RANDOM).union(OpTraits::ROOT);
    let mut constant = HashSet::new();
    for id in graph.order().unwrap_or_else(|_| graph.ids().collect()) {
        let op = graph.node(id).op();
        let inputs = graph.inputs(id);
        let mut read = inputs.iter().flatten().peekable();
        let is_computed = read.peek().is_some() && !op.traits().intersects(SHOWN);
        if matches!(op, Op::Const(_)) || (is_computed && read.all(|value| constant.contains(&value.node))) {
            constant.insert(id);
        }
    }
    constant
}

/// Scopes in which each run of layers with a common scope is one scope. A scope with a single part is left out.
fn tree<'p>(layers: impl Iterator<Item = (NodeId, &'p [&'p str])>) -> Vec<Item> {
    let mut open: Vec<(&str, Vec<Item>)> = Vec::new();
    let mut root = Vec::new();
    let close = |open: &mut Vec<(&str, Vec<Item>)>, root: &mut Vec<Item>| {
        let Some((name, items)) = open.pop() else { return };
        let outside = open.last_mut().map_or(root, |(_, items)| items);
        match items.len() {
            0 | 1 => outside.extend(items),
            _ => outside.push(Item::Scope(Scope { is_named: true, ..Scope::new(name.to_owned(), items) })),
        }
    };
    for (id, path) in layers {
        let depth = open.iter().zip(path).take_while(|((name, _), scope)| name == *scope).count();
        while open.len() > depth {
            close(&mut open, &mut root);
        }
        open.extend(path[depth..].iter().map(|&scope| (scope, Vec::new())));
        open.last_mut().map_or(&mut root, |(_, items)| items).push(Item::Layer(id));
    }
    while !open.is_empty() {
        close(&mut open, &mut root);
    }
    root
}

/// The number of the group of repeating blocks of each scope that is in one.
fn repeat_of_each_scope(graph: &Graph, structure: &Structure) -> HashMap<String, usize> {
    let groups = repeats(graph, structure).into_iter().enumerate();
    groups.flat_map(|(at, scopes)| scopes.into_iter().map(move |scope| (scope, at))).collect()
}

/// Groups repeating blocks that follow each other.
fn group(graph: &Graph, items: &mut Vec<Item>, repeats: &HashMap<String, usize>) {
    let repeat_of = |item: &Item| match item {
        Item::Scope(scope) => repeats.get(&scope.name).copied(),
        Item::Layer(_) => None,
    };
    let mut grouped = Vec::with_capacity(items.len());
    let mut rest = std::mem::take(items).into_iter().peekable();
    while let Some(mut item) = rest.next() {
        let repeat = repeat_of(&item);
        item.group(graph, repeats);
        let mut blocks = vec![item];
        while let Some(mut next) = rest.next_if(|next| repeat.is_some() && repeat_of(next) == repeat) {
            next.group(graph, repeats);
            blocks.push(next);
        }
        match blocks.len() {
            0 | 1 => grouped.extend(blocks),
            _ => grouped.push(Item::Scope(Scope::of_blocks(graph, blocks))),
        }
    }
    *items = grouped;
}

/// Opens scopes level by level as long as that shows few boxes.
fn open_first(items: &mut [Item]) {
    for level in 0.. {
        if set_open(items, level, true) == 0 {
            return;
        }
        if shown(items) > MOST_BOXES {
            set_open(items, level, false);
            return;
        }
    }
}

/// Opens or closes the scopes with `level` scopes around them, unless one of these is closed. Returns their
/// number. Blocks that repeat the first block of a group stay closed.
fn set_open(items: &mut [Item], level: usize, is_open: bool) -> usize {
    let mut count = 0;
    for scope in items.iter_mut().filter_map(Item::as_scope_mut) {
        if level == 0 {
            scope.is_open = is_open;
            count += 1;
        } else if scope.is_open {
            let opened = if scope.repeats > 0 { &mut scope.items[..1] } else { &mut scope.items };
            count += set_open(opened, level - 1, is_open);
        }
    }
    count
}

/// The number of boxes.
fn shown(items: &[Item]) -> usize {
    let boxes = |item: &Item| match item {
        Item::Scope(scope) if scope.is_open => shown(&scope.items),
        _ => 1,
    };
    items.iter().map(boxes).sum()
}

/// The names of the first and the last of at least two parts.
fn span(graph: &Graph, parts: &[Item]) -> String {
    let name = |item: Option<&Item>| item.map_or("", |item| item.name(graph)).to_owned();
    format!("{} … {}", name(parts.first()), name(parts.last()))
}

impl Item {
    /// The name of the layer or scope.
    pub(crate) fn name<'i>(&'i self, graph: &'i Graph) -> &'i str {
        match self {
            Self::Layer(id) => graph.node(*id).name(),
            Self::Scope(scope) => &scope.name,
        }
    }

    /// The number of layers.
    fn size(&self) -> usize {
        match self {
            Self::Layer(_) => 1,
            Self::Scope(scope) => scope.size,
        }
    }

    fn as_scope_mut(&mut self) -> Option<&mut Scope> {
        match self {
            Self::Layer(_) => None,
            Self::Scope(scope) => Some(scope),
        }
    }

    /// Groups repeating blocks inside. A scope that consists of one group is replaced by it.
    fn group(&mut self, graph: &Graph, repeats: &HashMap<String, usize>) {
        let Self::Scope(scope) = self else { return };
        group(graph, &mut scope.items, repeats);
        if scope.items.len() == 1
            && let Some(only) = scope.items.pop()
        {
            *self = only;
        }
    }

    /// The layers in execution order.
    pub fn layers(&self) -> Vec<NodeId> {
        let mut found = Vec::with_capacity(self.size());
        self.add_layers(&mut found);
        found
    }

    fn add_layers(&self, found: &mut Vec<NodeId>) {
        match self {
            Self::Layer(id) => found.push(*id),
            Self::Scope(scope) => scope.items.iter().for_each(|item| item.add_layers(found)),
        }
    }
}

impl Scope {
    fn new(name: String, items: Vec<Item>) -> Self {
        Self {
            name,
            repeats: 0,
            is_named: false,
            is_open: false,
            size: items.iter().map(Item::size).sum(),
            items,
        }
    }

    /// Parts that follow each other.
    fn of_parts(graph: &Graph, parts: Vec<Item>) -> Self {
        Self::new(span(graph, &parts), parts)
    }

    /// A group of at least two blocks: the first block, and a scope with the others.
    fn of_blocks(graph: &Graph, mut blocks: Vec<Item>) -> Self {
        let name = span(graph, &blocks);
        let mut others = blocks.split_off(1);
        let count = others.len();
        if count > 1 {
            others = vec![Item::Scope(Self { repeats: count, ..Self::of_parts(graph, others) })];
        }
        blocks.extend(others);
        Self { repeats: count + 1, ..Self::new(name, blocks) }
    }
}
