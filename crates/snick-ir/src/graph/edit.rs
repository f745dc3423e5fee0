//! Changes to single nodes.

use std::collections::HashSet;
use std::sync::Arc;

use snick_shape::ShapeSpec;

use super::{Declared, Graph, MAX_PORTS, Node, NodeId, Output, Value};
use crate::{Op, OpError};

impl Graph {
    /// Redirects the readers of `old` to `new`. Does nothing unless the graph has both values.
    pub fn replace_uses(&mut self, old: Value, new: Value) {
        self.move_uses(old.node, |port| (port == old.port).then_some(new));
    }

    /// Renames a layer. Does nothing if the graph does not have it.
    pub fn rename(&mut self, id: NodeId, name: impl Into<Arc<str>>) {
        if let Some(node) = self.nodes.node_weight_mut(self.place(id)) {
            node.name = name.into();
        }
    }

    /// Replaces the tensor names of a value.
    pub fn set_tensor_names(&mut self, value: Value, names: Vec<String>) {
        if let Some(out) = self.output_mut(value) {
            out.names = names;
        }
    }

    /// Adds a tensor name to a value.
    pub fn add_tensor_name(&mut self, value: Value, name: String) {
        if let Some(out) = self.output_mut(value) {
            out.names.push(name);
        }
    }

    /// Renames a tensor of a value. OpenVINO IR lists the names of an output in its Result as well, so the
    /// name is also replaced there.
    pub fn rename_tensor(&mut self, value: Value, old: &str, new: &str) {
        let Some(out) = self.output_mut(value) else { return };
        let names = std::mem::take(&mut out.names).into_iter();
        let renamed = names.map(|name| if name == old { new.to_string() } else { name });
        let mut seen = HashSet::new();
        out.names = renamed.filter(|name| seen.insert(name.clone())).collect();
        for (reader, _) in self.uses(value) {
            let Some(node) = self.nodes.node_weight_mut(self.place(reader)) else { continue };
            let Some(details) = node.details.as_mut().filter(|_| matches!(node.op, Op::Result(_))) else {
                continue;
            };
            let attrs = details.info.iter_mut().flat_map(|info| &mut info.attrs);
            for (_, listed) in attrs.filter(|(name, _)| name == "output_names") {
                let names = listed.split(',').map(|name| if name == old { new } else { name });
                *listed = names.collect::<Vec<_>>().join(",");
            }
        }
    }

    /// Sets the type and shape that a file declares for a value: the only source of facts for unknown ops.
    pub fn declare(&mut self, value: Value, declared: Declared) {
        if let Some(out) = self.output_mut(value) {
            out.declared = Some(declared);
        }
    }

    /// Drops declared types and shapes, except for unknown ops, which have no other source of types and
    /// shapes.
    pub fn forget_declared(&mut self) {
        for node in self.nodes.node_weights_mut().filter(|node| !node.op.is_opaque()) {
            node.outs.iter_mut().for_each(|out| out.declared = None);
        }
    }

    /// Adds unknown outputs to a node until it has at least `count`. Does nothing if `count` exceeds 2^24;
    /// inference then reports layers that read the missing outputs.
    pub fn ensure_outputs(&mut self, id: NodeId, count: usize) {
        if let Some(node) = self.nodes.node_weight_mut(self.place(id))
            && count <= MAX_PORTS as usize
        {
            node.outs.resize_with(node.outs.len().max(count), Output::unknown);
        }
    }

    /// Sets the declared shape of a Parameter. Run inference afterwards.
    ///
    /// # Errors
    /// [`OpError::ForeignValue`] if the node does not exist; another error if it is not a Parameter.
    pub fn set_parameter_shape(&mut self, id: NodeId, shape: ShapeSpec) -> Result<(), OpError> {
        match self.nodes.node_weight_mut(self.place(id)).map(|node| &mut node.op) {
            Some(Op::Parameter(parameter)) => parameter.shape = shape,
            Some(op) => return Err(OpError::mismatch("the layer", op.type_name(), "a Parameter")),
            None => return Err(OpError::ForeignValue),
        }
        Ok(())
    }

    /// Replaces the op of a layer, which keeps its name, its inputs and the tensor names of the outputs that
    /// are read. Run inference afterwards, which adds the remaining outputs. What a file declares for outputs
    /// and port numbers no longer applies, except to an unknown op, which has no other source of shapes.
    pub fn set_op(&mut self, id: NodeId, op: Op) {
        let used = self.used_outputs(id).len();
        let Some(node) = self.nodes.node_weight_mut(self.place(id)) else { return };
        node.op = op;
        if node.op.is_opaque() {
            return;
        }
        node.outs.truncate(used.max(1));
        node.outs.iter_mut().for_each(|out| out.declared = None);
        if let Some(details) = &mut node.details {
            (details.input_ids, details.output_ids) = (None, None);
        }
    }

    /// Replaces all Results by `results` in this order, each with the value that it returns. Values of other
    /// graphs stay unconnected.
    pub fn set_results(&mut self, results: Vec<(Node, Value)>) {
        let old: HashSet<NodeId> = self.results().collect();
        self.remove_all(&old);
        // Free ids are reused in any order, and Results are listed by id.
        let mut ids: Vec<NodeId> = results.iter().map(|(node, _)| self.add(node.clone())).collect();
        ids.sort_unstable();
        for (id, (node, value)) in ids.into_iter().zip(results) {
            let place = self.place(id);
            self.nodes[place] = node;
            // Fails for values of other graphs, which inference reports.
            let _ = self.connect_new(value, id, 0);
        }
    }

    /// Removes a layer if it has no readers, then each of its producers that has lost its last reader, and so
    /// on. Layers for which `may_go` returns false stay.
    pub fn remove_unread(&mut self, id: NodeId, may_go: impl Fn(&Op) -> bool) {
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if !self.contains(id) || !self.used_outputs(id).is_empty() || !may_go(self.node(id).op()) {
                continue;
            }
            let inputs = self.inputs(id);
            self.remove(id);
            todo.extend(inputs.into_iter().flatten().map(|input| input.node));
        }
    }

    pub(super) fn output_mut(&mut self, value: Value) -> Option<&mut Output> {
        self.nodes.node_weight_mut(self.place(value.node))?.outs.get_mut(value.port as usize)
    }
}

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    #[test]
    fn more_outputs_than_a_node_can_have_are_refused() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n}\n";
        let mut graph = text::parse(text, None).unwrap();
        assert!(infer(&mut graph).is_empty());
        let id = graph.parameters().next().unwrap();
        graph.ensure_outputs(id, 1 << 62);
        assert_eq!(graph.node(id).outs().len(), 1);
        graph.ensure_outputs(id, 3);
        assert_eq!(graph.node(id).outs().len(), 3);
    }
}
