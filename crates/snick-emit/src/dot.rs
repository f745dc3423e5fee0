//! Graphviz: a picture of a graph. Constants are drawn as part of the layers that read them.

use std::fmt::Write as _;

use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId, NodeRef, Op, Output};

/// The graph in the language of `dot`; bodies are clusters.
pub fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    cluster(&mut out, graph, "n", 1);
    out.push_str("}\n");
    out
}

/// Nodes and wires, named `prefix` and their number in order.
fn cluster(out: &mut String, graph: &Graph, prefix: &str, depth: usize) {
    let pad = "  ".repeat(depth);
    let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
    let mut numbers = vec![0; graph.bound()];
    order.iter().enumerate().for_each(|(number, id)| numbers[id.index()] = number);
    let name = |id: NodeId| format!("{prefix}{}", numbers[id.index()]);
    for &id in order.iter().filter(|&&id| !is_constant(graph.node(id))) {
        let node = graph.node(id);
        let shape = match node.op() {
            Op::Parameter(_) | Op::Result(_) => ", style=rounded",
            _ => "",
        };
        let _ = writeln!(out, "{pad}{} [label={}{shape}];", name(id), quoted(&label(graph, id)));
        for (port, value) in graph.inputs(id).into_iter().enumerate() {
            let Some(value) = value.filter(|value| !is_constant(graph.node(value.node))) else { continue };
            let types = graph.output(value).map(|out| type_text(graph, out)).unwrap_or_default();
            let port = if port > 0 { format!("{port}: ") } else { String::new() };
            let label = quoted(&format!("{port}{types}"));
            let _ = writeln!(out, "{pad}{} -> {} [label={label}];", name(value.node), name(id));
        }
        for (role, body) in node.op().bodies() {
            let inner = format!("{}_{role}_", name(id));
            let _ = writeln!(out, "{pad}subgraph cluster_{inner} {{\n{pad}  label={};", quoted(role));
            cluster(out, body, &inner, depth + 1);
            let _ = writeln!(out, "{pad}}}");
        }
    }
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

/// The lines of a label, quoted.
fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| Escaped(line).to_string().replace('\\', "\\\\").replace('"', "\\\""));
    format!("\"{}\"", lines.collect::<Vec<_>>().join("\\n"))
}
