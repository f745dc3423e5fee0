//! The symbols of a model, with what they are made of, so that a viewer can give them values.

use std::collections::{BTreeSet, HashSet};

use snick_ir::json::Json;
use snick_ir::{Graph, Part};
use snick_shape::{Birth, SymExpr, SymbolId};

use super::layers::{Numbered, Numbers};
use super::{expr, integer};
use crate::analyze::symbols::Births;

/// Every symbol of sizes and known elements, and those that they are merged from.
pub(super) fn write(json: &mut Json, graph: &Graph, numbers: &Numbers) {
    let mut names: HashSet<String> = HashSet::new();
    for numbered in &numbers.graphs {
        let births = Births::new(numbered.graph);
        for symbol in occurring(numbered) {
            let symbols = numbered.graph.symbols();
            // A body calls an outer symbol as the outer graph does, which has described it.
            let is_outer = symbols.is_outer(symbol) && !std::ptr::eq(numbered.graph, graph);
            let found = births.describe(symbol);
            if is_outer || !names.insert(found.name.clone()) {
                continue;
            }
            json.line().object(|json| {
                json.key("name").escaped(&found.name);
                json.key("kind").string(found.kind.name());
                json.key("min");
                integer(json, found.interval.lo());
                if found.interval.has_upper() {
                    json.key("max");
                    integer(json, found.interval.hi());
                }
                if let Some(number) = numbers.named(&found.layer) {
                    json.key("layer").plain(number);
                }
                if let Some(axis) = found.axis {
                    json.key("axis").plain(axis);
                }
                if let Some(reason) = &found.reason {
                    json.key("reason").escaped(reason);
                }
                merged(json, numbered.graph, symbol);
            });
        }
    }
}

/// The expressions that a symbol is merged from, and how.
fn merged(json: &mut Json, graph: &Graph, symbol: SymbolId) {
    let (rule, of) = match graph.symbols().birth(symbol) {
        Birth::Equal(of) => ("equal", of),
        Birth::Broadcast(of) => ("broadcast", of),
        Birth::Either(of) => ("either", of),
        _ => return,
    };
    json.key("rule").string(rule);
    json.key("of").array(|json| of.iter().for_each(|part| expr(json, graph, part)));
}

/// The symbols of a graph that sizes and elements mention, and those that these are merged from.
fn occurring(numbered: &Numbered) -> BTreeSet<SymbolId> {
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
