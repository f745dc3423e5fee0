//! Unused layers and inputs.

use std::collections::HashSet;

use snick_ir::{Code, Graph, NodeId, Op};

use super::finding::Findings;
use super::layers::used_layers;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family =
    Family { codes: &[&UNUSED_LAYER, &UNUSED_INPUT], find, reads_values: false };

static UNUSED_LAYER: CheckCode = CheckCode {
    code: Code::UnusedLayer,
    meaning: "No Result, Assign or other sink depends on a layer.",
    reason: "The layer wastes space in the file and time when the model is loaded. Often, an edit removed an \
             output by mistake.",
    remedy: "remove the layer, or add the missing Result; `snick canon` removes such layers",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  %lost = Exp-1(%x)\n  %a = ReLU-1(%x)\n  \
         %y = Result-1(%a)\n",
    ),
    on_demand: false,
};
use crate::analyze::counted;

static UNUSED_INPUT: CheckCode = CheckCode {
    code: Code::UnusedInput,
    meaning: "No layer reads an input of the model.",
    reason: "Applications must still supply it. Usually the exporter traced code that ignores an argument.",
    remedy: "remove the input from the model, or find out why no layer reads it",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  %mask = Parameter-1 {element_type: i64, shape: \"2\"}\n  \
         %y = Result-1(%x)\n",
    ),
    on_demand: false,
};

fn find(subject: &Subject, findings: &mut Findings) {
    if !subject.has_all_edges() {
        return;
    }
    for graph in subject.graphs() {
        let read: HashSet<NodeId> = graph
            .ids()
            .flat_map(|id| graph.inputs(id).into_iter().flatten())
            .map(|value| value.node)
            .collect();
        let used = used_layers(graph);
        let mut visits = MAX_VISITS;
        for id in graph.ids().filter(|id| !read.contains(id)) {
            let node = graph.node(id);
            let is_input = matches!(node.op(), Op::Parameter(_));
            if !is_input && !used.contains(&id) {
                let before = behind(graph, id, &used, &mut visits);
                let with = match before {
                    None | Some(0) => String::new(),
                    Some(count) => format!(", with {} that only it needs", counted(count, "layer")),
                };
                findings.add(&UNUSED_LAYER, node, format!("no output of the model depends on it{with}"));
            } else if is_input && std::ptr::eq(graph, subject.graph) {
                findings.add(&UNUSED_INPUT, node, format!("nothing reads the input `{}`", node.name()));
            }
        }
    }
}

/// Maximum number of layers to visit when counting the unused layers upstream of each unused layer. Without
/// this limit, the time is quadratic if many unused layers depend on the same layers.
const MAX_VISITS: usize = 1 << 20;

/// The number of unused layers, excluding Parameters, that a layer depends on; `None` once `visits` is used
/// up.
fn behind(graph: &Graph, id: NodeId, used: &HashSet<NodeId>, visits: &mut usize) -> Option<usize> {
    let mut seen = HashSet::from([id]);
    let mut todo = vec![id];
    while let Some(id) = todo.pop() {
        *visits = visits.checked_sub(1)?;
        let sources = graph.inputs(id).into_iter().flatten().map(|value| value.node);
        let is_unused = |id: &NodeId| !used.contains(id) && !matches!(graph.node(*id).op(), Op::Parameter(_));
        for source in sources.filter(is_unused) {
            if seen.insert(source) {
                todo.push(source);
            }
        }
    }
    Some(seen.len() - 1)
}
