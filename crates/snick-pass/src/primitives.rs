//! Maps slice-like layers to the primitives that replaced them.

use std::collections::HashMap;

use snick_ir::{Dialect, Fact, Graph, NodeId, Op};

use crate::is_slice_like;

/// The primitives of a lowered graph, by the name of the layer that each of them replaced. Excludes bodies. A
/// primitive has the name of the replaced layer, optionally followed by `/` or `.` and a suffix.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  %axis = Const-1 i64[] <0>\n  \
/// #     %half = Split-1(%x, %axis) {num_splits: 2} : (_, _)\n  %y = Result-1(%half)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// snick::infer(&mut graph);
/// assert!(snick_pass::lower_slices(&mut graph).errors.is_empty());
/// assert_eq!(snick_pass::primitives_by_layer(&graph)["half"].len(), 1);
/// # Ok::<(), snick::text::ParseError>(())
/// ```
pub fn primitives_by_layer(lowered: &Graph) -> HashMap<&str, Vec<NodeId>> {
    let mut found: HashMap<&str, Vec<NodeId>> = HashMap::new();
    for id in lowered.ids() {
        let node = lowered.node(id);
        if matches!(node.op(), Op::Slice(_)) && node.op().dialect() == Dialect::Snick {
            let ends = node.name().match_indices(['/', '.']).map(|(at, _)| at);
            let names = ends.map(|end| &node.name()[..end]).chain([node.name()]);
            names.for_each(|name| found.entry(name).or_default().push(id));
        }
    }
    found
}

/// The reason why a slice-like layer has no primitive in the lowered graph.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  %axis = Const-1 i64[] <0>\n  \
/// #     %all = Split-1(%x, %axis) {num_splits: 1}\n  %y = Result-1(%all)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// snick::infer(&mut graph);
/// let mut lowered = graph.clone();
/// assert!(snick_pass::lower_slices(&mut lowered).errors.is_empty());
/// let split = graph.find("all").unwrap();
/// assert_eq!(snick_pass::absent_primitive(&graph, split, &lowered), "removed: selects everything");
/// # Ok::<(), snick::text::ParseError>(())
/// ```
pub fn absent_primitive(graph: &Graph, id: NodeId, lowered: &Graph) -> &'static str {
    let node = graph.node(id);
    if lowered.find(node.name()).is_some_and(|same| is_slice_like(lowered.node(same).op())) {
        return "not lowered: `snick canon` says why";
    }
    let shape = |fact: Option<&Fact>| fact.map(|fact| fact.shape().clone());
    let is_same = shape(node.input(0).and_then(|value| graph.fact(value)))
        == shape(node.outs().first().map(|out| &out.fact));
    let is_used = (0..node.outs().len())
        .filter_map(|port| node.output(port))
        .any(|value| !graph.uses(value).is_empty());
    match (is_used, is_same, node.op()) {
        (true, true, _) => "removed: selects everything",
        (true, false, Op::StridedSlice(_)) => "a reshape: selects everything",
        _ => "removed: unused",
    }
}
