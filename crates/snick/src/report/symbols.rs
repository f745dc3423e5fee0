//! The symbols of a model and their definitions, so that the viewer can evaluate them.

use std::collections::{BTreeSet, HashSet};

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use snick_ir::{Condition, EmptyAxes, Part};
use snick_shape::{Birth, SymExpr, SymbolId};

use super::numbers::{NumberedGraph, Numbers};
use super::{Expr, Text};
use crate::BirthKind;
use crate::analyze::symbols::Births;

#[derive(Serialize)]
struct Symbol {
    name: Text<String>,
    kind: BirthKind,
    min: Expr,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Expr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    axis: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Text<String>>,
    /// The rule by which this symbol is merged from other expressions.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    /// The expressions that the symbol is merged from.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<Vec<Expr>>,
}

/// All symbols in sizes and known elements, and the symbols that these are merged from.
pub(super) fn serialize<S: Serializer>(numbers: &Numbers, serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    let mut names: HashSet<String> = HashSet::new();
    for numbered in &numbers.graphs {
        let births = Births::new(numbered.graph);
        for symbol in occurring(numbered) {
            let symbols = numbered.graph.symbols();
            // In a body, a symbol from the outer graph has the same name as there. It was already written
            // with the outer graph.
            let is_outer = symbols.is_outer(symbol) && numbered.owner.is_some();
            let found = births.describe(symbol);
            if is_outer || !names.insert(found.name.clone()) {
                continue;
            }
            let merged = match symbols.birth(symbol) {
                Birth::Equal(of) => Some(("equal", of)),
                Birth::Broadcast(of) => Some(("broadcast", of)),
                Birth::Either(of) => Some(("either", of)),
                _ => None,
            };
            list.serialize_element(&Symbol {
                name: Text(found.name),
                kind: found.kind,
                min: Expr::integer(found.interval.lo()),
                max: found.interval.has_upper().then(|| Expr::integer(found.interval.hi())),
                layer: numbers.named(&found.layer),
                axis: found.axis,
                reason: found.reason.map(Text),
                rule: merged.map(|(rule, _)| rule),
                of: merged.map(|(_, of)| of.iter().map(|part| Expr::new(numbered.graph, part)).collect()),
            })?;
        }
    }
    list.end()
}

/// The pairs of input symbols that are equal in every run without empty inputs.
pub(super) fn equal<S: Serializer>(numbers: &Numbers, serializer: S) -> Result<S::Ok, S::Error> {
    let mut graph = numbers.main().graph.clone();
    let found = snick_ir::conditions(&mut graph, EmptyAxes::Ignored);
    let name = |expr: &SymExpr| Some(Text(graph.symbols().display(&expr.as_symbol()?.into()).to_string()));
    let pairs = found.conditions.iter().filter_map(|condition| match condition {
        Condition::Equal(a, b) => Some([name(a)?, name(b)?]),
        _ => None,
    });
    serializer.collect_seq(pairs)
}

/// The symbols in sizes and elements of a graph, and the symbols that these are merged from.
fn occurring(numbered: &NumberedGraph) -> BTreeSet<SymbolId> {
    let graph = numbered.graph;
    let outs = numbered.order.iter().flat_map(|&id| graph.node(id).outs());
    let mut waiting: Vec<SymbolId> = Vec::new();
    for out in outs {
        let parts = Part::all(&out.fact).filter_map(|part| part.of(&out.fact));
        waiting.extend(parts.flat_map(|part: SymExpr| part.symbols()));
    }
    let mut found = BTreeSet::new();
    while let Some(symbol) = waiting.pop() {
        if found.insert(symbol)
            && let Birth::Equal(of) | Birth::Broadcast(of) | Birth::Either(of) = graph.symbols().birth(symbol)
        {
            waiting.extend(of.iter().flat_map(SymExpr::symbols));
        }
    }
    found
}
