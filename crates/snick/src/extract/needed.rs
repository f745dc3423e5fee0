//! Finds the layers that a set of values depends on.

use std::collections::{HashMap, HashSet};

use snick_ir::{Graph, NodeId, Op, Value};

/// The layers that some values depend on.
pub(super) struct Needed {
    /// Whether a layer is needed, by its index.
    layers: Vec<bool>,
    /// The cuts that were reached.
    pub(super) cuts: HashSet<Value>,
}

impl Needed {
    /// Follows the inputs of layers backwards from `roots`. A layer that assigns a variable is needed if a
    /// needed layer reads the variable.
    pub(super) fn by(graph: &Graph, roots: &[Value]) -> Self {
        Search::new(graph, &HashSet::new(), false).from(roots)
    }

    /// Like [`Needed::by`], and finds which of the `cuts` are needed.
    pub(super) fn with_cuts(graph: &Graph, roots: &[Value], cuts: &HashSet<Value>) -> Self {
        Search::new(graph, cuts, false).from(roots)
    }

    /// Like [`Needed::by`], but ends at the `cuts`.
    pub(super) fn up_to(graph: &Graph, roots: &[Value], cuts: &HashSet<Value>) -> Self {
        Search::new(graph, cuts, true).from(roots)
    }

    /// Whether a layer is needed.
    pub(super) fn has(&self, id: NodeId) -> bool {
        self.layers[id.index()]
    }

    /// The needed layers in order of their ids.
    pub(super) fn layers<'s>(&'s self, graph: &'s Graph) -> impl Iterator<Item = NodeId> + 's {
        graph.ids().filter(|&id| self.has(id))
    }
}

/// A search in progress.
struct Search<'g> {
    graph: &'g Graph,
    cuts: &'g HashSet<Value>,
    /// Whether the search ends at the cuts.
    is_cut_off: bool,
    needed: Needed,
    /// The layers that assign each variable, until a layer that reads the variable is found.
    assigns: HashMap<&'g str, Vec<NodeId>>,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph, cuts: &'g HashSet<Value>, is_cut_off: bool) -> Self {
        let needed = Needed { layers: vec![false; graph.bound()], cuts: HashSet::new() };
        let mut assigns: HashMap<&str, Vec<NodeId>> = HashMap::new();
        for id in graph.ids() {
            if let Op::Assign(assign) = graph.node(id).op() {
                assigns.entry(&assign.variable_id).or_default().push(id);
            }
        }
        Self { graph, cuts, is_cut_off, needed, assigns }
    }

    fn from(mut self, roots: &[Value]) -> Needed {
        let mut todo = roots.to_vec();
        while let Some(value) = todo.pop() {
            if self.cuts.contains(&value) {
                self.needed.cuts.insert(value);
                if self.is_cut_off {
                    continue;
                }
            }
            self.add(value.node, &mut todo);
        }
        self.needed
    }

    /// Adds a layer, and its inputs to `todo`.
    fn add(&mut self, id: NodeId, todo: &mut Vec<Value>) {
        if std::mem::replace(&mut self.needed.layers[id.index()], true) {
            return;
        }
        let node = self.graph.node(id);
        todo.extend(node.inputs());
        if let Op::ReadValue(read) = node.op() {
            for assign in self.assigns.remove(read.variable_id.as_str()).unwrap_or_default() {
                self.add(assign, todo);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_read_are_assigned() {
        let variable = |id: &str, read: &str, value: &str| {
            format!(
                "  %{read} = ReadValue-6(%zero) {{variable_id: \"{id}\", variable_type: f32, variable_shape: \"2\"}}\n  \
                 %put_{id} = Assign-6(%{value}) {{variable_id: \"{id}\"}}\n"
            )
        };
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"2\"}}\n  \
             %zero = Const-1 f32[2] <0, 0>\n{}  %relu = ReLU-1(%b)\n{}{}  %y = Result-1(%a)\n}}\n",
            variable("b", "b", "x"),
            variable("a", "a", "relu"),
            variable("c", "c", "x"),
        );
        let graph = snick_ir::text::parse(&text, None).unwrap();
        let root = graph.find_value("a").unwrap();
        let needed = Needed::by(&graph, &[root]);
        let mut names: Vec<&str> = needed.layers(&graph).map(|id| graph.node(id).name()).collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "b", "put_a", "put_b", "relu", "x", "zero"]);
        let cut = HashSet::from([graph.find_value("relu").unwrap()]);
        assert_eq!(Needed::up_to(&graph, &[root], &cut).layers(&graph).count(), 3);
        assert_eq!(Needed::with_cuts(&graph, &[root], &cut).cuts, cut);
    }
}
