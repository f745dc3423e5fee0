//! Changes to single nodes.

use std::sync::Arc;

use snick_shape::ShapeSpec;

use super::{Declared, Graph, MAX_PORTS, NodeId, Output, Value};
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
