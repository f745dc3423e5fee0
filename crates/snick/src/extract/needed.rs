//! Finds the layers that a set of values depends on.

use std::collections::HashSet;

use snick_ir::{Graph, NodeId, Op, Value};

/// The layers and values that some values depend on.
pub(super) struct Needed {
    /// Whether a layer is needed, by its index.
    layers: Vec<bool>,
    /// The needed values, including those that end the search.
    pub(super) values: HashSet<Value>,
}

impl Needed {
    /// Follows the inputs of layers backwards from `roots`, but not beyond `ends`. A layer that assigns a
    /// variable is needed if a needed layer reads the variable.
    pub(super) fn by(graph: &Graph, roots: &[Value], ends: &HashSet<Value>) -> Self {
        let mut needed = Self { layers: vec![false; graph.bound()], values: HashSet::new() };
        let mut variables = HashSet::new();
        roots.iter().for_each(|&root| needed.add(graph, root, ends, &mut variables));
        let assigns: Vec<(NodeId, &str)> = graph
            .ids()
            .filter_map(|id| match graph.node(id).op() {
                Op::Assign(assign) => Some((id, assign.variable_id.as_str())),
                _ => None,
            })
            .collect();
        // The value that is assigned to a variable may depend on other variables.
        while let Some(&(id, _)) =
            assigns.iter().find(|(id, variable)| !needed.has(*id) && variables.contains(*variable))
        {
            needed.layers[id.index()] = true;
            graph.node(id).inputs().for_each(|input| needed.add(graph, input, ends, &mut variables));
        }
        needed
    }

    /// Whether a layer is needed.
    pub(super) fn has(&self, id: NodeId) -> bool {
        self.layers[id.index()]
    }

    /// The needed layers in order of their ids.
    pub(super) fn layers<'s>(&'s self, graph: &'s Graph) -> impl Iterator<Item = NodeId> + 's {
        graph.ids().filter(|&id| self.has(id))
    }

    fn add<'g>(
        &mut self,
        graph: &'g Graph,
        root: Value,
        ends: &HashSet<Value>,
        variables: &mut HashSet<&'g str>,
    ) {
        let mut todo = vec![root];
        while let Some(value) = todo.pop() {
            if !self.values.insert(value) || ends.contains(&value) {
                continue;
            }
            let node = graph.node(value.node);
            if std::mem::replace(&mut self.layers[value.node.index()], true) {
                continue;
            }
            if let Op::ReadValue(read) = node.op() {
                variables.insert(&read.variable_id);
            }
            todo.extend(node.inputs());
        }
    }
}
