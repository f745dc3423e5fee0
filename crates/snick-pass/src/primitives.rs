//! Maps slice-like layers to the primitives that replaced them.

use std::collections::HashMap;

use snick_ir::{Dialect, Graph, NodeId, Op};

/// The primitives of a lowered graph, by the name of the layer that each replaced; excludes bodies. A
/// primitive has the name of the replaced layer, optionally followed by `/` or `.` and a suffix.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  %axis = Const-1 i64[] <0>\n  \
/// #     %half = Split-1(%x, %axis) {num_splits: 2} : (_, _)\n  %y = Result-1(%half)\n}\n";
/// let mut graph = snick_ir::text::parse(text, None)?;
/// snick_ir::infer(&mut graph);
/// assert!(snick_pass::lower_slices(&mut graph).errors.is_empty());
/// assert_eq!(snick_pass::primitives_by_layer(&graph)["half"].len(), 1);
/// # Ok::<(), snick_ir::text::ParseError>(())
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
