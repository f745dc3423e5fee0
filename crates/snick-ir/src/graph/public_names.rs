//! The names that users know inputs and outputs of a graph by.

use super::{Graph, NodeId, Output, Value};
use crate::Op;

impl Graph {
    /// The name that users know an input or output by: the first tensor name if there is one, that of the layer otherwise,
    /// or if it is a tensor name, too.
    pub fn public_name(&self, id: NodeId) -> &str {
        let node = self.node(id);
        let value = if matches!(node.op(), Op::Result(_)) { node.input(0) } else { node.output(0) };
        value.map_or(node.name(), |value| self.public_name_as(id, value))
    }

    /// [`Graph::public_name`] if this is the value of the input or output.
    fn public_name_as(&self, id: NodeId, value: Value) -> &str {
        let names = self.output(value).map(Output::names).unwrap_or_default();
        let layer = self.node(id).name();
        match names.first() {
            Some(first) if names.iter().all(|name| name != layer) => first,
            _ => layer,
        }
    }

    /// The inputs and outputs that `new` belongs to if it replaces `old`, with their names before.
    pub(super) fn public_names(&self, old: Value, new: Value) -> Vec<(NodeId, String)> {
        let is_end = |id: &NodeId| matches!(self.node(*id).op(), Op::Result(_) | Op::Parameter(_));
        let readers = self.uses(old).into_iter().map(|(reader, _)| reader);
        let ends = readers.chain([new.node]).filter(is_end);
        ends.map(|id| (id, self.public_name(id).to_string())).collect()
    }

    /// Gives inputs and outputs their names again, although `value`, which they are now, has others, too.
    pub(super) fn keep_public_names(&mut self, ends: Vec<(NodeId, String)>, value: Value) {
        for (id, name) in ends {
            if self.public_name_as(id, value) == name {
                continue;
            }
            if let Some(out) = self.output_mut(value).filter(|out| !out.names.contains(&name)) {
                out.names.push(name.clone());
            }
            self.rename(id, name);
        }
    }
}
