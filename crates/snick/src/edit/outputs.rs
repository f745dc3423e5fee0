//! Chooses the outputs of a model.

use std::collections::{HashMap, HashSet};

use snick_ir::ops::source::result::GraphResult;
use snick_ir::{Fact, Graph, Node, NodeId, Op, Output, Value};

use super::{Editor, LayerNames, find_value, find_values};
use crate::{Error, Model};

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
            if names.is_empty() {
                return Err(Error::NoOutput { message: "a model has at least one output".into() });
            }
            let values = find_values(graph, &names)?;
            let mut taken = LayerNames::of(graph, graph.ids());
            let result = |&(name, value): &(&str, Value)| (result_of(graph, name, value, &mut taken), value);
            let results = values.iter().map(result).collect();
            graph.set_results(results);
            name_values(graph, &values);
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
    let mut outputs: HashSet<String> = results.iter().map(|(node, _)| node.name.to_string()).collect();
    let names: Vec<&str> =
        names.iter().map(AsRef::as_ref).filter(|name| outputs.insert(name.to_string())).collect();
    for (name, value) in names.iter().zip(graph.find_values(&names)) {
        // A value may be requested under several names.
        let value = match value {
            Some(value) => value,
            None => find_value(graph, name)?,
        };
        results.push((new_result(graph, name, value), value));
    }
    graph.set_results(results);
    Ok(())
}

/// A Result for a value: the Result that already returns the value, if there is one.
pub(crate) fn result_of(graph: &Graph, name: &str, value: Value, taken: &mut LayerNames) -> Node {
    let uses = graph.uses(value);
    let known = || {
        uses.iter()
            .map(|&(reader, _)| reader)
            .filter(|&reader| matches!(graph.node(reader).op(), Op::Result(_)))
    };
    match known().find(|&id| graph.node(id).name() == name).or_else(|| known().next()) {
        Some(id) => graph.node(id).to_node(),
        None => new_result(graph, &taken.unique(&format!("{name}/sink_port_0")), value),
    }
}

/// A Result with this name for a value.
fn new_result(graph: &Graph, name: &str, value: Value) -> Node {
    let mut node = Node::new(name, Op::from(GraphResult));
    let fact = graph.fact(value).cloned().unwrap_or_else(Fact::unknown);
    node.outs.push(Output { fact, ..Output::unknown() });
    node
}

/// Makes sure that outputs are known by these names, which may be the names of their layers: adds each name to
/// the tensor names of the value, unless it already names the value, its Result, or another tensor.
pub(crate) fn name_values(graph: &mut Graph, names: &[(&str, Value)]) {
    let tensors = graph.ids().flat_map(|id| graph.node(id).outs()).flat_map(|out| out.names());
    let mut known: HashSet<String> = tensors.cloned().collect();
    let results = graph.results().filter_map(|id| Some((graph.node(id).input(0)?, id)));
    let results: HashMap<Value, NodeId> = results.collect();
    for &(name, value) in names {
        let is_output = results.get(&value).is_some_and(|&id| graph.node(id).name() == name);
        if !is_output && known.insert(name.to_string()) {
            graph.add_tensor_name(value, name.to_string());
        }
    }
}
