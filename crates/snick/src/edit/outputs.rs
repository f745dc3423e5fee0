//! Chooses the outputs of a model.

use snick_ir::ops::source::result::GraphResult;
use snick_ir::{Fact, Graph, Node, Op, Output, Value};

use super::{Editor, find_value, unique_layer_name};
use crate::{Error, Model, output_names};

impl Editor {
    /// Makes these values the outputs of the model, in this order. Outputs that the model already has keep
    /// their names; a new output is known by the given name. Layers that no output needs are removed, except
    /// inputs and layers that assign variables.
    ///
    /// # Errors
    /// [`Error::Edit`] if there is no such value, or if no output is given.
    pub fn set_outputs<N: AsRef<str>>(&mut self, outputs: &[N]) -> Result<(), Error> {
        let names: Vec<&str> = outputs.iter().map(AsRef::as_ref).collect();
        self.attempt(format!("set the outputs to {}", names.join(", ")), |graph| {
            let mut values: Vec<(&str, Value)> = Vec::new();
            if names.is_empty() {
                return Err(Error::NoOutput { message: "a model has at least one output".into() });
            }
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

impl Model {
    /// Adds outputs that return inner values, under the given names, after the outputs that the model has:
    /// to look at inner values in a run. Values are given as for [`Model::extract`]. To change the outputs of
    /// a model for good, use [`Editor::set_outputs`], which also names the tensors.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %relu = ReLU-1(%x)\n  %n = Negative-1(%relu)\n  %y = Result-1(%n)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// model.add_outputs(&["relu"])?;
    /// assert_eq!(model.graph().results().count(), 2);
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoOutput`] if there is no such value; the model is unchanged.
    pub fn add_outputs<N: AsRef<str>>(&mut self, values: &[N]) -> Result<(), Error> {
        add_outputs(self.graph_mut(), values)
    }
}

/// Adds Results for inner values, under the given names, after those that the graph has.
///
/// # Errors
/// [`Error::NoOutput`] if there is no such value.
pub(crate) fn add_outputs<N: AsRef<str>>(graph: &mut Graph, names: &[N]) -> Result<(), Error> {
    let known = graph.results().filter_map(|id| Some((graph.node(id).to_node(), graph.node(id).input(0)?)));
    let mut results: Vec<(Node, Value)> = known.collect();
    for name in names.iter().map(AsRef::as_ref) {
        let value = find_value(graph, name)?;
        if results.iter().all(|(node, _)| *node.name != *name) {
            results.push((new_result(graph, name, value), value));
        }
    }
    graph.set_results(results);
    Ok(())
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
        None => new_result(graph, &unique_layer_name(graph, &format!("{name}/sink_port_0")), value),
    }
}

/// A Result with this name for a value.
fn new_result(graph: &Graph, name: &str, value: Value) -> Node {
    let mut node = Node::new(name, Op::from(GraphResult));
    let fact = graph.fact(value).cloned().unwrap_or_else(Fact::unknown);
    node.outs.push(Output { fact, ..Output::unknown() });
    node
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
