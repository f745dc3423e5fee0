//! Changes of single nodes.

use std::sync::Arc;

use snick_shape::ShapeSpec;

use super::{Declared, Graph, MAX_PORTS, NodeId, Output, Value};
use crate::{Op, OpError};

impl Graph {
    /// Makes every reader of `old` read `new`. Nothing happens if the graph does not have both.
    pub fn replace_uses(&mut self, old: Value, new: Value) {
        self.move_uses(old.node, |port| (port == old.port).then_some(new));
    }

    /// Renames a layer. Nothing happens if there is none of this id; so with all methods that change one.
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

    /// Gives a value one more tensor name.
    pub fn add_tensor_name(&mut self, value: Value, name: String) {
        if let Some(out) = self.output_mut(value) {
            out.names.push(name);
        }
    }

    /// Replaces what a file declares of a value; unknown ops have no other facts.
    pub fn declare(&mut self, value: Value, declared: Declared) {
        if let Some(out) = self.output_mut(value) {
            out.declared = Some(declared);
        }
    }

    /// Forgets what a file declares of the outputs of all layers but the unknown ones, of which nothing else is known.
    pub fn forget_declared(&mut self) {
        for node in self.nodes.node_weights_mut().filter(|node| !node.op.is_opaque()) {
            node.outs.iter_mut().for_each(|out| out.declared = None);
        }
    }

    /// Gives a node at least this many outputs. Nothing happens for more than a node can have, which is 2^24: whoever
    /// reads one finds that it is not there.
    pub fn ensure_outputs(&mut self, id: NodeId, count: usize) {
        if let Some(node) = self.nodes.node_weight_mut(self.place(id))
            && count <= MAX_PORTS as usize
        {
            node.outs.resize_with(node.outs.len().max(count), Output::unknown);
        }
    }

    /// Sets the declared shape of a Parameter. Infer afterwards.
    ///
    /// # Errors
    /// [`OpError::ForeignValue`] if there is no such node; an error if it is no Parameter.
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
