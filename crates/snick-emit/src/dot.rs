//! Writes a picture of a graph for Graphviz. Constants are drawn inside the layers that read them. Sizes
//! without an upper bound are amber, slices green and labelled with their primitives, and layers with an
//! error red.

use std::fmt::Write as _;

use snick_ir::ops::slice::notation;
use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId, NodeRef, Op, OpTraits, Output};
use snick_pass::primitives_by_layer;

const SLICE: &str = ", style=filled, fillcolor=\"#e6f5e9\", color=\"#2e8b57\"";
const FAILED: &str = ", style=filled, fillcolor=\"#fde3e1\", color=\"#c9302c\"";
const UNKNOWN: &str = ", fontcolor=\"#a86200\"";

/// The inferred graph in Graphviz's DOT language; bodies become clusters. `failed` is called with the name of
/// a layer, and returns whether inference rejected the layer.
pub fn dot(graph: &Graph, failed: &dyn Fn(&str) -> bool) -> String {
    let mut out = String::from("digraph {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    let mut lowered = graph.clone();
    // If lowering fails, the picture shows no primitives.
    drop(snick_pass::lower_slices(&mut lowered));
    cluster(&mut out, [graph, &lowered], "n", 1, failed);
    out.push_str("}\n");
    out
}

/// Writes nodes and edges. Names of nodes are `prefix` plus an index. `lowered` is the same graph after
/// lowering.
fn cluster(
    out: &mut String,
    [graph, lowered]: [&Graph; 2],
    prefix: &str,
    depth: usize,
    failed: &dyn Fn(&str) -> bool,
) {
    let primitives = primitives_by_layer(lowered);
    let pad = "  ".repeat(depth);
    let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
    let mut numbers = vec![0; graph.bound()];
    order.iter().enumerate().for_each(|(number, id)| numbers[id.index()] = number);
    let name = |id: NodeId| format!("{prefix}{}", numbers[id.index()]);
    for &id in order.iter().filter(|&&id| !is_constant(graph.node(id))) {
        let node = graph.node(id);
        let mut label = label(graph, id);
        let style = match node.op() {
            _ if failed(node.name()) => FAILED,
            Op::Parameter(_) | Op::Result(_) => ", style=rounded",
            op if op.has(OpTraits::SLICE_LIKE) => {
                for &id in primitives.get(node.name()).into_iter().flatten() {
                    let _ = write!(label, "\nslice{}", notation(lowered, id).unwrap_or_default().join(" "));
                }
                SLICE
            }
            _ => "",
        };
        let _ = writeln!(out, "{pad}{} [label={}{style}];", name(id), quoted(&label));
        for (port, value) in graph.inputs(id).into_iter().enumerate() {
            let Some(value) = value.filter(|value| !is_constant(graph.node(value.node))) else { continue };
            let types = graph.output(value).map(|out| type_text(graph, out)).unwrap_or_default();
            let colour =
                if graph.output(value).is_some_and(|out| is_open(graph, out)) { UNKNOWN } else { "" };
            let port = if port > 0 { format!("{port}: ") } else { String::new() };
            let label = quoted(&format!("{port}{types}"));
            let _ = writeln!(out, "{pad}{} -> {} [label={label}{colour}];", name(value.node), name(id));
        }
        let same = lowered.find(node.name()).map(|id| lowered.node(id));
        let mut lowered_bodies = same.into_iter().flat_map(|node| node.op().bodies());
        for (role, body) in node.op().bodies() {
            let lowered = lowered_bodies.next().map_or(body, |(_, body)| body);
            let inner = format!("{}_{role}_", name(id));
            let _ = writeln!(out, "{pad}subgraph cluster_{inner} {{\n{pad}  label={};", quoted(role));
            cluster(out, [body, lowered], &inner, depth + 1, failed);
            let _ = writeln!(out, "{pad}}}");
        }
    }
}

/// Whether any size of an output has no upper bound.
fn is_open(graph: &Graph, out: &Output) -> bool {
    let dims = out.fact.shape.dims();
    dims.is_none_or(|dims| dims.iter().any(|dim| !graph.symbols().interval(dim).has_upper()))
}

fn is_constant(node: NodeRef) -> bool {
    matches!(node.op(), Op::Const(_))
}

/// Type and name of a layer, and the constants it reads.
fn label(graph: &Graph, id: NodeId) -> String {
    let node = graph.node(id);
    let mut label = format!("{}\n{}", node.op().type_name(), node.name());
    for (port, value) in graph.inputs(id).into_iter().enumerate() {
        let constant = value.filter(|value| is_constant(graph.node(value.node)));
        if let Some(out) = constant.and_then(|value| graph.output(value)) {
            let shown = out.fact.ints().filter(|ints| ints.len() <= 8).map(|ints| format!(" {ints:?}"));
            let _ = write!(label, "\n{port}: {}{}", type_text(graph, out), shown.unwrap_or_default());
        }
    }
    label
}

fn type_text(graph: &Graph, out: &Output) -> String {
    format!("{}{}", out.fact.element_type, out.fact.shape.display(graph.symbols()))
}

/// Escapes and quotes the lines of a label.
fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| Escaped(line).to_string().replace('\\', "\\\\").replace('"', "\\\""));
    format!("\"{}\"", lines.collect::<Vec<_>>().join("\\n"))
}
