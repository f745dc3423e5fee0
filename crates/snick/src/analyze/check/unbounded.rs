//! Output sizes without an upper bound, and the input sizes that would bound them.

use std::collections::{BTreeMap, BTreeSet};

use snick_ir::{Code, Graph, NodeId, NodeRef, Op};
use snick_shape::{SymExpr, SymbolId};

use super::finding::Findings;
use super::layers::described;
use super::subject::Subject;
use super::{CheckCode, Example, Family};
use crate::Model;
use crate::analyze::symbols::Births;
use crate::analyze::why::suggest::Suggester;

pub(super) static FAMILY: Family = Family { codes: &[&UNBOUNDED_DIM], find, reads_values: true };

static UNBOUNDED_DIM: CheckCode = CheckCode {
    code: Code::UnboundedDim,
    meaning: "An output has a dim without an upper bound. If bounds on input dims help, snick names a small \
              set of them that it has tested.",
    reason: "Memory cannot be planned in advance, and devices that need static or bounded shapes (NPU, some \
             GPU plug-ins) reject the model.",
    remedy: "give the dim of the input an upper bound: `model.reshape({\"x\": [Dimension(1, 1024), 3]})`",
    example: Example::Text("  %x = Parameter-1 {element_type: f32, shape: \"?,3\"}\n  %y = Result-1(%x)\n"),
    on_demand: false,
};

/// An axis of an output of the model.
type OutputAxis = (NodeId, usize);

/// Maximum number of input sizes to consider in the search for a minimal set.
const MAX_SIZES: usize = 16;

fn find(subject: &Subject, findings: &mut Findings) {
    let graph = subject.graph;
    let mut open = open_axes(graph);
    open.retain(|(result, _), _| !subject.is_behind_failure(graph.node(*result)));
    if open.is_empty() || !subject.has_all_edges() || !subject.has_all_weights() {
        return;
    }
    let births = Births::new(graph);
    let fixed = subject.fixed_sizes().parameters();
    let mut search =
        Search { subject, births: &births, open: &open, suggester: Suggester::new(subject.model) };
    let Causes { sizes, shape, left } = search.causes(&open);
    let bounded: BTreeMap<OutputAxis, SymExpr> = open
        .iter()
        .filter(|(axis, _)| !left.contains(axis))
        .map(|(axis, dim)| (*axis, dim.clone()))
        .collect();
    let help = shape.and_then(|shape| suggestion(&shape, &bounded));
    let axes_of = axes_by_size(&bounded, &search.suggester);
    for symbol in sizes {
        let Some((node, axis)) = place_of(graph, &births, symbol) else { continue };
        if let Some(axes) = axes_of.get(&symbol).filter(|_| !fixed.contains(&(node.id(), axis))) {
            add_size(graph, (node, axis), axes, help.as_ref(), findings);
        }
    }
    let mut blamed = BTreeMap::new();
    for (result, axis) in left {
        let symbol = open.get(&(result, axis)).and_then(|dim| cause(graph, &births, dim));
        let born = symbol.and_then(|symbol| Some((graph.node(births.node(symbol)?), symbol)));
        if let Some((node, symbol)) = born {
            blamed.entry(node.id()).or_insert((symbol, Vec::new())).1.push((result, axis));
        }
    }
    for (id, (symbol, axes)) in blamed {
        let node = graph.node(id);
        let is_followed = subject.has_failed(node) || matches!(node.op(), Op::Opaque(_));
        if !is_followed {
            add_birth(graph, node, births.reason(symbol), &axes, findings);
        }
    }
}

/// The output dims without an upper bound.
fn open_axes(graph: &Graph) -> BTreeMap<OutputAxis, SymExpr> {
    let mut open = BTreeMap::new();
    for id in graph.results() {
        let dims = graph.node(id).outs().first().and_then(|out| out.fact.shape().dims());
        for (axis, dim) in dims.into_iter().flatten().enumerate() {
            if !graph.symbols().interval(dim).has_upper() {
                open.insert((id, axis), dim.clone());
            }
        }
    }
    open
}

/// The reasons why output sizes have no upper bound.
struct Causes {
    /// A minimal set of input sizes that need a bound.
    sizes: BTreeSet<SymbolId>,
    /// Input shapes with bounds on these sizes, and the model inferred with these shapes.
    shape: Option<(String, Model)>,
    /// The output axes that stay unbounded even if these sizes are bounded.
    left: BTreeSet<OutputAxis>,
}

struct Search<'s, 'm> {
    subject: &'s Subject<'m>,
    births: &'s Births<'m>,
    open: &'s BTreeMap<OutputAxis, SymExpr>,
    suggester: Suggester<'m>,
}

impl Search<'_, '_> {
    fn causes(&mut self, open: &BTreeMap<OutputAxis, SymExpr>) -> Causes {
        let graph = self.subject.graph;
        let unbounded = |symbol: &SymbolId| !graph.symbols().interval(&(*symbol).into()).has_upper();
        let is_size = |symbol: &SymbolId| place_of(graph, self.births, *symbol).is_some();
        let symbols: BTreeSet<SymbolId> =
            open.values().flat_map(SymExpr::symbols).filter(|symbol| unbounded(symbol)).collect();
        let (needed, inner): (BTreeSet<SymbolId>, BTreeSet<SymbolId>) =
            symbols.into_iter().partition(is_size);
        let roots = inner.iter().flat_map(|&symbol| self.suggester.input_sizes(&symbol.into()));
        let helpful: BTreeSet<SymbolId> =
            roots.filter(|symbol| unbounded(symbol) && !needed.contains(symbol)).collect();
        let all = || open.keys().copied().collect::<BTreeSet<_>>();
        let (shape, left) = match self.tried(&needed) {
            Some((shape, left)) => (Some(shape), left),
            None => {
                let is_inner = |dim: &SymExpr| dim.symbols().iter().any(|symbol| inner.contains(symbol));
                (None, open.iter().filter(|(_, dim)| is_inner(dim)).map(|(axis, _)| *axis).collect())
            }
        };
        let left = if needed.is_empty() { all() } else { left };
        if left.is_empty() || helpful.is_empty() {
            return Causes { sizes: needed, shape, left };
        }
        let every = needed.union(&helpful).copied().collect();
        match self.tried(&every) {
            Some((shape, rest)) if rest.len() < left.len() => self.least(needed, helpful, shape, rest),
            _ => Causes { sizes: needed, shape, left },
        }
    }

    /// Reduces the `helpful` sizes to a minimal set that still leaves exactly the axes of `left` unbounded.
    /// First tries the `needed` sizes plus a single helpful one. If no single one suffices, removes helpful
    /// sizes greedily.
    fn least(
        &mut self,
        needed: BTreeSet<SymbolId>,
        helpful: BTreeSet<SymbolId>,
        shape: (String, Model),
        left: BTreeSet<OutputAxis>,
    ) -> Causes {
        let mut best = (needed.union(&helpful).copied().collect::<BTreeSet<_>>(), shape);
        let candidates: Vec<SymbolId> = helpful.into_iter().take(MAX_SIZES).collect();
        for &symbol in &candidates {
            let sizes: BTreeSet<SymbolId> = needed.iter().copied().chain([symbol]).collect();
            if sizes.len() < best.0.len()
                && let Some((shape, rest)) = self.tried(&sizes)
                && rest == left
            {
                return Causes { sizes, shape: Some(shape), left };
            }
        }
        for symbol in candidates {
            let mut sizes = best.0.clone();
            sizes.remove(&symbol);
            if let Some((shape, rest)) = self.tried(&sizes)
                && rest == left
            {
                best = (sizes, shape);
            }
        }
        Causes { sizes: best.0, shape: Some(best.1), left }
    }

    /// The input shapes and the model with bounds on these sizes, and the axes that are still unbounded.
    fn tried(&mut self, sizes: &BTreeSet<SymbolId>) -> Option<((String, Model), BTreeSet<OutputAxis>)> {
        if sizes.is_empty() {
            return None;
        }
        let (shape, model) = self.suggester.bounded(sizes, self.subject.errors.len())?;
        let left = open_axes(model.graph()).into_keys().filter(|axis| self.open.contains_key(axis)).collect();
        Some(((shape, model), left))
    }
}

/// The model input and the axis whose size is this symbol; `None` if the symbol does not originate in an
/// input.
fn place_of<'g>(graph: &'g Graph, births: &Births<'g>, symbol: SymbolId) -> Option<(NodeRef<'g>, usize)> {
    let node = graph.node(births.node(symbol)?);
    let dims = node.outs().first()?.fact.shape().dims()?;
    let axis = dims.iter().position(|dim| dim.mentions(symbol))?;
    matches!(node.op(), Op::Parameter(_)).then_some((node, axis))
}

/// An unbounded symbol in the expression of a dim, preferably one that originates inside the model.
fn cause(graph: &Graph, births: &Births, dim: &SymExpr) -> Option<SymbolId> {
    let open =
        dim.symbols().into_iter().filter(|&symbol| !graph.symbols().interval(&symbol.into()).has_upper());
    open.min_by_key(|&symbol| (place_of(graph, births, symbol).is_some(), symbol))
}

/// For each symbol, the output axes whose expression contains it. For an input size that occurs in no such
/// expression, the output axes that depend on it.
fn axes_by_size(
    open: &BTreeMap<OutputAxis, SymExpr>,
    suggester: &Suggester,
) -> BTreeMap<SymbolId, Vec<OutputAxis>> {
    let mut direct: BTreeMap<SymbolId, Vec<OutputAxis>> = BTreeMap::new();
    let mut inner: BTreeMap<SymbolId, Vec<OutputAxis>> = BTreeMap::new();
    for (axis, dim) in open {
        for symbol in dim.symbols() {
            direct.entry(symbol).or_default().push(*axis);
        }
        for symbol in suggester.input_sizes(dim) {
            inner.entry(symbol).or_default().push(*axis);
        }
    }
    inner.extend(direct);
    inner
}

/// Adds a finding for an input size without an upper bound, which leaves output axes unbounded.
fn add_size(
    graph: &Graph,
    (node, axis): (NodeRef, usize),
    axes: &[OutputAxis],
    help: Option<&String>,
    findings: &mut Findings,
) {
    let (input, outputs) = (node.name(), outputs_text(graph, axes));
    let message =
        format!("axis {axis} of input `{input}` has no upper bound, so {outputs} {} none", have(axes));
    let finding = findings.add(&UNBOUNDED_DIM, node, message);
    if let Some(help) = help {
        finding.help.clone_from(help);
    }
}

/// Describes the tested input shapes and the resulting outputs; `None` if the shapes are too long to read.
fn suggestion((shape, model): &(String, Model), bounded: &BTreeMap<OutputAxis, SymExpr>) -> Option<String> {
    if shape.len() > MAX_SHAPE {
        return None;
    }
    let is_listed = |id: &NodeId| bounded.keys().any(|(result, _)| result == id);
    let given = model.graph().results().filter(is_listed).take(MAX_LISTED);
    let given: Vec<String> = given.map(|id| output_text(model.graph(), id)).collect();
    Some(format!("bound the inputs, for example: --shape \"{shape}\" results in {}", given.join(", ")))
}

/// Adds a finding for a layer whose output sizes stay unbounded even if all inputs are bounded.
fn add_birth(
    graph: &Graph,
    node: NodeRef,
    reason: Option<String>,
    axes: &[OutputAxis],
    findings: &mut Findings,
) {
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let what = outputs_text(graph, axes);
    let message = match node.op() {
        Op::ReadValue(_) => format!("the variable has no upper bound, so {what} {} none", have(axes)),
        _ => format!("{what} {} no upper bound for any sizes of the inputs{reason}", have(axes)),
    };
    let finding = findings.add(&UNBOUNDED_DIM, node, message);
    finding.help = format!("`snick why MODEL \"{}\"` shows where the size comes from", node.name());
    finding.origins.push(described(node));
}

fn have(axes: &[OutputAxis]) -> &'static str {
    if axes.len() == 1 { "has" } else { "have" }
}

/// Maximum length in bytes of suggested input shapes.
const MAX_SHAPE: usize = 1024;

/// Maximum number of outputs to list in a finding.
const MAX_LISTED: usize = 4;

/// A list such as ``axis 0 of output `y` and axis 1 of output `z` ``, cut off after [`MAX_LISTED`] entries.
fn outputs_text(graph: &Graph, axes: &[OutputAxis]) -> String {
    let text = |(id, axis): &OutputAxis| format!("axis {axis} of output `{}`", graph.node(*id).name());
    let mut texts: Vec<String> = axes.iter().take(MAX_LISTED).map(text).collect();
    if axes.len() > MAX_LISTED {
        texts.push(format!("{} more", axes.len() - MAX_LISTED));
    }
    let last = texts.pop().unwrap_or_default();
    if texts.is_empty() { last } else { format!("{} and {last}", texts.join(", ")) }
}

fn output_text(graph: &Graph, id: NodeId) -> String {
    let node = graph.node(id);
    let shape = node.outs().first().map(|out| out.fact.shape().display_labels(graph.symbols()).to_string());
    format!("{}{}", node.name(), shape.unwrap_or_default())
}
