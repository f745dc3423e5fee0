//! Chooses the outputs of a model.

use snick_ir::ops::source::result::GraphResult;
use snick_ir::{Graph, Node, Op, Value};

use super::{Editor, find_value, unique_layer_name};
use crate::{Error, output_names};

impl Editor {
    /// Makes these values the outputs of the model, in this order. Outputs that the model already has keep
    /// their names; a new output is known by the given name. Layers that no output needs are removed, except
    /// inputs and layers that assign variables.
    ///
    /// # Errors
    /// [`Error::Edit`] if there is no such value.
    pub fn set_outputs<N: AsRef<str>>(&mut self, outputs: &[N]) -> Result<(), Error> {
        let names: Vec<&str> = outputs.iter().map(AsRef::as_ref).collect();
        self.attempt(format!("set the outputs to {}", names.join(", ")), |graph| {
            let mut values: Vec<(&str, Value)> = Vec::new();
            for name in names {
                let value = find_value(graph, name)?;
                if values.iter().all(|(_, known)| *known != value) {
                    values.push((name, value));
                }
            }
            let results =
                values.iter().map(|&(name, value)| (result_of(graph, name, value), value)).collect();
            graph.set_results(results);
            values.iter().for_each(|&(name, value)| name_value(graph, name, value));
            graph.remove_dead_nodes();
            Ok(())
        })
    }
}

/// A Result for a value: the Result that already returns the value, if there is one.
pub(crate) fn result_of(graph: &Graph, name: &str, value: Value) -> Node {
    let uses = graph.uses(value);
    let known = || {
        uses.iter()
            .map(|&(reader, _)| reader)
            .filter(|&reader| matches!(graph.node(reader).op(), Op::Result(_)))
    };
    match known().find(|&id| graph.node(id).name() == name).or_else(|| known().next()) {
        Some(id) => graph.node(id).to_node(),
        None => {
            let mut node =
                Node::new(unique_layer_name(graph, &format!("{name}/sink_port_0")), Op::from(GraphResult));
            node.outs.extend(
                graph
                    .output(value)
                    .map(|out| snick_ir::Output { fact: out.fact.clone(), ..snick_ir::Output::unknown() }),
            );
            node
        }
    }
}

/// Makes sure that an output is known by this name, which may be the name of its layer: adds it to the tensor
/// names of the value, unless it already names the value, its Result, or another tensor.
pub(crate) fn name_value(graph: &mut Graph, name: &str, value: Value) {
    let is_known = graph.find_tensor(name).is_some()
        || graph
            .results()
            .any(|id| graph.node(id).input(0) == Some(value) && output_names(graph, id).contains(&name));
    if !is_known {
        graph.add_tensor_name(value, name.to_string());
    }
}
