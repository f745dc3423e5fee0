//! The symbols in the shapes of a model: their origins, and the reasons why they exist.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Serialize;
use snick_ir::{Fact, Graph, Loc, NO_EXPRESSION, NodeId, NodeRef, Op, ValuePart};
use snick_shape::{Birth, Interval, SymExpr, SymbolId};

use super::serial;

/// The reason why a symbol exists.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BirthKind {
    /// An input or a variable declares a dynamic dim.
    Input,
    /// The size or element depends on data that is only known at run time.
    Data,
    /// The symbol is one of two sizes, or equals both.
    Merged,
    /// The symbol depends on other symbols, but snick cannot express it in terms of them.
    GivenUp,
}

impl BirthKind {
    /// `input`, `data`, `merged` or `given_up`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Data => "data",
            Self::Merged => "merged",
            Self::GivenUp => "given_up",
        }
    }
}

/// A symbol: its name, interval and origin. Displayed as one line of a legend.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
/// #             %at = NonZero-3(%x) {output_type: i64}\n  %y = Result-1(%at)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let symbols = model.symbols();
/// assert_eq!(symbols[0].name, "N");
/// assert_eq!(symbols[1].to_string(), "s1: NonZero at (4:3), axis 1: one for each element that is not 0");
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Symbol {
    /// The name of the symbol in shapes. It is unique across the model and its bodies.
    pub name: String,
    /// The interval that contains all possible values of the symbol.
    #[serde(serialize_with = "serial::interval")]
    pub interval: Interval,
    /// The reason why the symbol exists.
    pub kind: BirthKind,
    /// The layer where it originates.
    pub layer: String,
    /// The operation type of that layer.
    pub op: String,
    /// The location of that layer in the file.
    #[serde(serialize_with = "serial::loc", skip_serializing_if = "serial::is_nowhere")]
    pub loc: Loc,
    /// The output port, numbered as in the file, whose shape or value contains the symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// The axis of the output; `None` for an element of a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<usize>,
    /// The reason why the symbol is not known more precisely; `None` if an input declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Symbol {
    /// The name and origin of the symbol, such as `s1: NonZero at (4:3), axis 1`.
    pub fn birth_place(&self) -> String {
        if self.op.is_empty() {
            return self.name.clone();
        }
        let loc = if self.loc.line > 0 { format!(" ({})", self.loc) } else { String::new() };
        let axis = self.axis.map(|axis| format!(", axis {axis}")).unwrap_or_default();
        format!("{}: {} {}{loc}{axis}", self.name, self.op, self.layer)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.birth_place())?;
        match &self.reason {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

impl crate::Model {
    /// All symbols in the shapes of the model and its bodies, in order of first occurrence, each followed by
    /// the symbols that its `reason` mentions. Call [`Model::infer`](crate::Model::infer) first.
    pub fn symbols(&self) -> Vec<Symbol> {
        let mut found = Found::default();
        found.add_graph(self.graph(), None);
        found.symbols
    }

    /// All symbols that occur in a text about the model, and the symbols that their reasons mention. Call
    /// [`Model::infer`](crate::Model::infer) first.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
    /// #             %at = NonZero-3(%x) {output_type: i64}\n  %y = Result-1(%at)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let symbols = model.symbols_in("about 8*s1 bytes");
    /// assert_eq!(symbols.iter().map(|symbol| symbol.name.as_str()).collect::<Vec<_>>(), ["s1"]);
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn symbols_in(&self, text: &str) -> Vec<Symbol> {
        let mut found = Found::default();
        found.add_mentioned(self.graph(), None, &words(text).collect());
        found.symbols
    }
}

/// Splits a text into words; a symbol is always a single word.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The symbols collected so far.
#[derive(Default)]
struct Found {
    symbols: Vec<Symbol>,
    names: HashSet<String>,
}

/// A graph and, if it is a body, the scope of the graph that contains it.
struct Scope<'s> {
    births: Births<'s>,
    /// The symbols of the graph by label.
    labels: HashMap<String, SymbolId>,
    outer: Option<&'s Scope<'s>>,
}

impl<'s> Scope<'s> {
    fn new(graph: &'s Graph, outer: Option<&'s Scope<'s>>) -> Self {
        let symbols = graph.symbols();
        let labels = symbols.ids().map(|id| (symbols.label(id).into_owned(), id)).collect();
        Self { births: Births::new(graph), labels, outer }
    }
}

impl Found {
    fn add_graph(&mut self, graph: &Graph, outer: Option<&Scope>) {
        let scope = Scope::new(graph, outer);
        let mut seen = HashSet::new();
        for id in graph.ids() {
            let node = graph.node(id);
            let dims = node.outs().iter().filter_map(|out| out.fact.shape.dims()).flatten();
            for symbol in dims.flat_map(SymExpr::symbols) {
                if seen.insert(symbol) {
                    self.add(symbol, &scope);
                }
            }
            for (_, body) in node.op().bodies() {
                self.add_graph(body, Some(&scope));
            }
        }
    }

    fn add_mentioned(&mut self, graph: &Graph, outer: Option<&Scope>, words: &HashSet<&str>) {
        let scope = Scope::new(graph, outer);
        for symbol in graph.symbols().ids() {
            if words.contains(graph.symbols().label(symbol).trim_matches('`')) {
                self.add(symbol, &scope);
            }
        }
        for (_, body) in graph.ids().flat_map(|id| graph.node(id).op().bodies()) {
            self.add_mentioned(body, Some(&scope), words);
        }
    }

    /// Adds a symbol of a graph, and the symbols that its reason mentions. If the symbol originates outside a
    /// body, the outer graph describes it.
    fn add(&mut self, symbol: SymbolId, scope: &Scope) {
        let name = scope.births.graph.symbols().label(symbol).into_owned();
        if self.names.contains(&name) {
            return;
        }
        match scope.outer.and_then(|outer| Some((outer, outer.labels.get(&name)?))) {
            Some((outer, symbol)) => self.add(*symbol, outer),
            None => {
                let symbol = scope.births.describe(symbol);
                let reason = symbol.reason.clone().unwrap_or_default();
                self.symbols.push(symbol);
                self.names.insert(name);
                for mentioned in words(&reason).filter_map(|word| scope.labels.get(word)) {
                    self.add(*mentioned, scope);
                }
            }
        }
    }
}

/// The origins of the symbols of a graph.
pub(crate) struct Births<'g> {
    graph: &'g Graph,
    nodes: HashMap<u32, NodeId>,
    /// For each symbol that is the size of an output axis where it originates, the output and the axis.
    sizes: HashMap<SymbolId, (usize, usize)>,
}

impl<'g> Births<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Self {
        let nodes = graph.ids().filter_map(|id| Some((u32::try_from(id.index()).ok()?, id)));
        let nodes: HashMap<u32, NodeId> = nodes.collect();
        let mut sizes = HashMap::new();
        for id in graph.ids() {
            for (port, out) in graph.node(id).outs().iter().enumerate() {
                for (axis, dim) in out.fact.shape.dims().unwrap_or_default().iter().enumerate() {
                    let is_born =
                        |symbol: &SymbolId| nodes.get(&graph.symbols().origin(*symbol).node) == Some(&id);
                    if let Some(symbol) = dim.as_symbol().filter(is_born) {
                        sizes.entry(symbol).or_insert((port, axis));
                    }
                }
            }
        }
        Self { graph, nodes, sizes }
    }

    /// The layer where a symbol originates; `None` if the symbol originates in an outer graph.
    pub(super) fn node(&self, symbol: SymbolId) -> Option<NodeId> {
        let symbols = self.graph.symbols();
        let is_own = !symbols.is_outer(symbol);
        self.nodes.get(&symbols.origin(symbol).node).copied().filter(|_| is_own)
    }

    /// Why a symbol exists.
    pub(super) fn kind(&self, symbol: SymbolId) -> BirthKind {
        let is_input = |id: NodeId| matches!(self.graph.node(id).op(), Op::Parameter(_) | Op::ReadValue(_));
        match self.graph.symbols().birth(symbol) {
            Birth::Declared if self.node(symbol).is_none_or(is_input) => BirthKind::Input,
            Birth::Equal(_) | Birth::Broadcast(_) | Birth::Either(_) | Birth::Merged(_) => BirthKind::Merged,
            Birth::GivenUp(_) => BirthKind::GivenUp,
            Birth::Data(None)
                if self.node(symbol).is_some_and(|id| missing_data(self.graph, id).is_none()) =>
            {
                BirthKind::GivenUp
            }
            _ => BirthKind::Data,
        }
    }

    /// Why a symbol is not known more precisely; `None` if an input declares it.
    pub(super) fn reason(&self, symbol: SymbolId) -> Option<String> {
        if self.kind(symbol) == BirthKind::Input {
            return None;
        }
        if let Some(reason) = self.graph.symbols().reason(symbol) {
            return Some(reason);
        }
        let Some(id) = self.node(symbol) else { return Some("it comes from outside of the body".into()) };
        Some(missing_data(self.graph, id).unwrap_or_else(|| NO_EXPRESSION.to_string()))
    }

    /// The output axis whose size introduced a symbol.
    pub(super) fn size(&self, symbol: SymbolId) -> Option<ValuePart> {
        let id = self.node(symbol)?;
        let &(port, axis) = self.sizes.get(&symbol)?;
        Some(self.graph.node(id).output(port)?.axis(axis))
    }

    /// Everything known about a symbol.
    pub(crate) fn describe(&self, symbol: SymbolId) -> Symbol {
        let (graph, symbols) = (self.graph, self.graph.symbols());
        let node = self.node(symbol);
        let size = self.sizes.get(&symbol).map(|&(port, axis)| (port, Some(axis)));
        let place = size.or_else(|| part_of(graph, node?, symbol));
        let port = |id: NodeId| Some(graph.node(id).output_id(place?.0, graph.inputs(id).len()));
        let text = |of: fn(NodeRef) -> &str| node.map_or("", |id| of(graph.node(id))).to_string();
        Symbol {
            name: symbols.label(symbol).into_owned(),
            interval: symbols.interval(&symbol.into()),
            kind: self.kind(symbol),
            layer: text(|node| node.name()),
            op: text(|node| node.op().type_name()),
            loc: node.map_or_else(Loc::default, |id| graph.node(id).loc()),
            port: node.and_then(port),
            axis: place.and_then(|(_, axis)| axis),
            reason: self.reason(symbol),
        }
    }
}

/// The output and axis of a layer whose size contains a symbol. If there is none, the output whose known
/// elements contain the symbol, without an axis.
fn part_of(graph: &Graph, id: NodeId, symbol: SymbolId) -> Option<(usize, Option<usize>)> {
    let outs = graph.node(id).outs();
    let facts = || outs.iter().map(|out| &out.fact).enumerate();
    let part = |expr: &SymExpr| expr.symbols().contains(&symbol);
    let dim =
        facts().find_map(|(port, fact)| Some((port, Some(fact.shape().dims()?.iter().position(part)?))));
    let has = |fact: &Fact| fact.elements().is_some_and(|elements| elements.iter().any(part));
    let element = || facts().find(|(_, fact)| has(fact)).map(|(port, _)| (port, None));
    dim.or_else(element)
}

/// Describes the data that a layer would need to infer its output: the rank of an input, or the elements of
/// an input of rank 0 or 1. `None` if all of these are known.
pub(super) fn missing_data(graph: &Graph, id: NodeId) -> Option<String> {
    let mut unread = None;
    for value in graph.inputs(id).into_iter().flatten() {
        let Some(fact) = graph.fact(value) else { continue };
        if fact.shape().rank().is_none() {
            return Some(format!("the rank of {} is not known", described(graph, value.node)));
        }
        let is_small = fact.shape().rank().is_some_and(|rank| rank <= 1);
        if is_small && fact.known().is_none() {
            unread = unread.or(Some(value.node));
        }
    }
    unread.map(|node| format!("the values of {} are known only in a run", described(graph, node)))
}

/// A layer with its type and location, such as ``NonZero `at` (4:3)``.
fn described(graph: &Graph, id: NodeId) -> String {
    let node = graph.node(id);
    match node.loc() {
        Loc { line: 0, .. } => format!("{} `{}`", node.op().type_name(), node.name()),
        loc => format!("{} `{}` ({loc})", node.op().type_name(), node.name()),
    }
}
