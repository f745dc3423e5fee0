//! Edits of connections: removes and inserts layers.

use std::collections::HashSet;

use snick_ir::text::Escaped;
use snick_ir::{Graph, Node, NodeId, Op, OpError, OpTraits, Value};

use super::names::taken;
use super::{Editor, LayerNames, find_layer, find_value};
use crate::Error;

impl Editor {
    /// Removes a layer with one input and one output. The readers of the output then read the input, which
    /// gets the tensor names of the output. A layer without readers, such as an unused input, is removed
    /// whatever its inputs.
    ///
    /// # Errors
    /// [`Error::Edit`] if there is no such layer, if it has several inputs or outputs, or if the model does
    /// not infer without it. An output of the model cannot be removed: see [`Editor::set_outputs`].
    pub fn remove(&mut self, layer: &str) -> Result<(), Error> {
        self.attempt(format!("remove `{}`", Escaped(layer)), |graph| {
            let id = find_layer(graph, layer)?;
            remove(graph, id).map_err(|error| graph.located(id, error).into())
        })
    }

    /// Inserts a layer behind a value. The readers of the value then read the first output of the new layer.
    /// If the value is an output of the model, its tensor names move to the new value. Returns the name of
    /// the new layer: `name`, or a new name if `name` is `None`.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = Negative-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// use snick::{Attrs, Op};
    ///
    /// let mut model = snick::parse(text)?;
    /// let name = model.edit(|e| {
    ///     let clamp = Op::by_name("Clamp", Attrs::new().with("min", 0.0).with("max", 6.0))?;
    ///     e.insert_after("a", None, clamp)
    /// })?;
    /// assert_eq!(name, "a/Clamp");
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Edit`] if there is no such value, if a layer with this name exists, or if the model does not
    /// infer.
    pub fn insert_after(
        &mut self,
        value: &str,
        name: Option<&str>,
        op: impl Into<Op>,
    ) -> Result<String, Error> {
        let op = op.into();
        let edit = format!("insert {} after `{}`", op.type_name(), Escaped(value));
        self.attempt(edit, |graph| {
            let value = find_value(graph, value)?;
            insert_after(graph, value, name, op)
        })
    }

    /// Lets the readers of the value `from` read the value `to`. Layers that `to` itself depends on keep
    /// reading `from`. Layers that are no longer needed are removed, except inputs.
    ///
    /// # Errors
    /// [`Error::Edit`] if there is no such value, or if the model does not infer.
    pub fn redirect(&mut self, from: &str, to: &str) -> Result<(), Error> {
        self.attempt(format!("redirect `{}` to `{}`", Escaped(from), Escaped(to)), |graph| {
            let (from, to) = (find_value(graph, from)?, find_value(graph, to)?);
            redirect(graph, from, to);
            remove_unneeded(graph, from.node);
            Ok(())
        })
    }
}

fn remove(graph: &mut Graph, id: NodeId) -> Result<(), OpError> {
    let node = graph.node(id);
    if matches!(node.op(), Op::Result(_)) {
        return Err(OpError::mismatch("the layer", "an output of the model", "a layer inside it"));
    }
    if graph.used_outputs(id).is_empty() {
        let inputs: Vec<NodeId> = node.inputs().map(|value| value.node).collect();
        graph.remove(id);
        inputs.into_iter().for_each(|input| remove_unneeded(graph, input));
        return Ok(());
    }
    let inputs: Vec<Value> = node.inputs().collect();
    let [input] = inputs[..] else {
        return Err(OpError::Arity { expected: "one, which takes its place".into(), got: inputs.len() });
    };
    if node.outs().len() > 1 {
        return Err(OpError::mismatch("the number of outputs", node.outs().len(), 1));
    }
    graph.replace_outputs(id, &[Some(input)]);
    graph.remove(id);
    Ok(())
}

/// Inserts a layer behind a value, and returns the name of the layer.
///
/// # Errors
/// [`Error::Invalid`] if a layer with this name exists.
pub(super) fn insert_after(
    graph: &mut Graph,
    value: Value,
    name: Option<&str>,
    op: Op,
) -> Result<String, Error> {
    let name = match name {
        Some(name) => match graph.find(name) {
            Some(other) => return Err(graph.located(value.node, taken(graph, name, other)).into()),
            None => name.to_string(),
        },
        None => {
            let wanted = format!("{}/{}", graph.node(value.node).name(), op.type_name());
            LayerNames::of(graph, graph.ids()).unique(&wanted)
        }
    };
    let readers = graph.uses(value);
    let is_output = readers.iter().any(|&(reader, _)| matches!(graph.node(reader).op(), Op::Result(_)));
    let is_input = matches!(graph.node(value.node).op(), Op::Parameter(_));
    let new = graph.add(Node::new(name.clone(), op));
    graph.ensure_outputs(new, 1);
    let inserted = Value { node: new, port: 0 };
    graph.replace_uses(value, inserted);
    graph.connect_new(value, new, 0)?;
    // Users know an output of the model by these names. Inputs keep theirs for the same reason.
    if is_output && !is_input {
        let names = graph.output(value).map(|out| out.names().to_vec()).unwrap_or_default();
        graph.set_tensor_names(value, Vec::new());
        graph.set_tensor_names(inserted, names);
    }
    Ok(name)
}

fn redirect(graph: &mut Graph, from: Value, to: Value) {
    let mut needed = HashSet::new();
    let mut todo = vec![to.node];
    while let Some(id) = todo.pop() {
        if needed.insert(id) {
            todo.extend(graph.node(id).inputs().map(|input| input.node));
        }
    }
    for (reader, port) in graph.uses(from) {
        if !needed.contains(&reader) {
            // Cannot fail: both layers exist, and `to` is not the output of a Result.
            let _ = graph.connect(to, reader, port);
        }
    }
}

/// Removes a layer if it has no readers, and then the layers that only it needed, but no inputs of the model
/// and no layers with effects.
fn remove_unneeded(graph: &mut Graph, id: NodeId) {
    graph.remove_unread(id, |op| !op.has(OpTraits::ROOT));
}
