//! Finds layers and values by name, and renames them.

use std::collections::HashSet;
use std::sync::Arc;

use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId, Op, OpError, Value, did_you_mean};

use super::{Editor, failed};
use crate::Error;

impl Editor {
    /// Renames an input, an output, a layer or a tensor. If a layer has the name `old`, the layer is renamed,
    /// and so are tensors of this name that it computes or, if it is a Result, returns. Otherwise the tensor
    /// of this name is renamed.
    ///
    /// # Errors
    /// [`Error::Edit`] if nothing has the name `old`, if `new` is empty, or if `new` is already the name of
    /// another layer or tensor.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<(), Error> {
        let mut changed = self.model.clone();
        rename(changed.graph_mut(), old, new)
            .map_err(|error| failed(format!("rename `{}` to `{}`", Escaped(old), Escaped(new)), error))?;
        changed.rename_optional_input(old, new);
        // Names do not affect inference.
        self.model = changed;
        Ok(())
    }
}

fn rename(graph: &mut Graph, old: &str, new: &str) -> Result<(), Error> {
    let id = graph.find(old);
    let values = match id {
        Some(id) if matches!(graph.node(id).op(), Op::Result(_)) => graph.node(id).inputs().collect(),
        Some(id) => (0..graph.node(id).outs().len()).filter_map(|port| graph.node(id).output(port)).collect(),
        None => vec![find_value(graph, old)?],
    };
    let is_named =
        |value: &Value| graph.output(*value).is_some_and(|out| out.names().iter().any(|n| n == old));
    let values: Vec<Value> = values.into_iter().filter(is_named).collect();
    let Some(at) = id.or_else(|| values.first().map(|value| value.node)) else {
        return Err(no_such_value(graph, old)); // `old` has the form LAYER:PORT
    };
    if new == old {
        return Ok(());
    }
    if new.is_empty() {
        return Err(graph.located(at, OpError::mismatch("the new name", "empty", "a name")).into());
    }
    let layer = id.and_then(|_| graph.find(new));
    let tensor = graph.find_tensor(new).filter(|tensor| !values.is_empty() && !values.contains(tensor));
    if let Some(other) = layer.or(tensor.map(|tensor| tensor.node)) {
        return Err(graph.located(at, taken(graph, new, other)).into());
    }
    if let Some(id) = id {
        graph.rename(id, new);
    }
    values.into_iter().for_each(|value| graph.rename_tensor(value, old, new));
    Ok(())
}

/// The error for a name that belongs to another layer.
pub(super) fn taken(graph: &Graph, name: &str, other: NodeId) -> OpError {
    let other = graph.node(other);
    let place = other.loc().text().map(|loc| format!(" at {loc}")).unwrap_or_default();
    let owner = format!("`{}` ({}){place}", Escaped(other.name()), other.op().type_name());
    OpError::conflict("the name {} already belongs to layer {}", format!("`{}`", Escaped(name)), owner)
}

/// The value that a name refers to; for a Result, the value that it returns.
///
/// # Errors
/// [`Error::NoOutput`], with a suggestion.
pub(crate) fn find_value(graph: &Graph, name: &str) -> Result<Value, Error> {
    returned(graph, graph.find_value(name)).ok_or_else(|| no_such_value(graph, name))
}

/// [`find_value`] for several names. A value with several of these names is returned once, with the first.
///
/// # Errors
/// Same as [`find_value`].
pub(crate) fn find_values<'n>(graph: &Graph, names: &[&'n str]) -> Result<Vec<(&'n str, Value)>, Error> {
    let mut values: Vec<(&str, Value)> = Vec::new();
    let mut seen = HashSet::new();
    for (&name, value) in names.iter().zip(graph.find_values(names)) {
        let value = returned(graph, value).ok_or_else(|| no_such_value(graph, name))?;
        if seen.insert(value) {
            values.push((name, value));
        }
    }
    Ok(values)
}

/// The value, or the value that it returns if it belongs to a Result.
fn returned(graph: &Graph, value: Option<Value>) -> Option<Value> {
    let node = graph.node(value?.node);
    if matches!(node.op(), Op::Result(_)) { node.input(0) } else { value }
}

/// The layer with this name, or the layer that computes the tensor with this name.
///
/// # Errors
/// [`Error::NoOutput`], with a suggestion.
pub(crate) fn find_layer(graph: &Graph, name: &str) -> Result<NodeId, Error> {
    let of_tensor = || graph.find_tensor(name).map(|value| value.node);
    graph.find(name).or_else(of_tensor).ok_or_else(|| no_such_value(graph, name))
}

/// The error for a name that no layer or tensor has.
fn no_such_value(graph: &Graph, name: &str) -> Error {
    let layers = graph.ids().map(|id| graph.node(id).name());
    let tensors = graph.ids().flat_map(|id| graph.node(id).outs()).flat_map(|out| out.names());
    let nearest = did_you_mean(name, layers.chain(tensors.map(String::as_str)));
    let ports = match name.rsplit_once(':').and_then(|(layer, _)| graph.find(layer)) {
        Some(id) => {
            format!("; `{}` has {} outputs", Escaped(graph.node(id).name()), graph.node(id).outs().len())
        }
        None => nearest,
    };
    Error::NoOutput { message: format!("no layer or tensor named `{}`{ports}", Escaped(name)) }
}

/// The names of some layers, to choose other names for new layers.
pub(crate) struct LayerNames(HashSet<Arc<str>>);

impl LayerNames {
    pub(crate) fn of(graph: &Graph, layers: impl Iterator<Item = NodeId>) -> Self {
        Self(layers.map(|id| graph.node(id).shared_name()).collect())
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// A name for a new layer: `wanted`, or `wanted` with a number if it is taken.
    pub(crate) fn unique(&mut self, wanted: &str) -> String {
        let numbered = (1..).map(|number| format!("{wanted}_{number}"));
        let mut names = std::iter::once(wanted.to_string()).chain(numbered);
        let name = names.find(|name| !self.contains(name)).unwrap_or_default();
        self.0.insert(name.as_str().into());
        name
    }
}
