//! Pickles of models: the text form with the weights, and what the text form does not contain.
//!
//! The text form lists layers in topological order and has no locations. A pickle also contains the order, the
//! locations and the declared ports of the layers, so that indices, messages and findings stay the same.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use snick::Read;
use snick::text::{PrintOptions, Weights, packed_weights, print};
use snick::{
    ElementType, Fact, Format, Graph, Limits, LoadOptions, Loc, Located, Node, NodeId, OpError, Storage,
    TensorError, Value,
};
use snick_ir::Declared;

/// A model: its graph, its origin, its limits, and the declarations of its custom ops.
pub type Pickled = (GraphTuple, OriginTuple, LimitsTuple, Option<String>);

/// The text form, the weights, and the layers in the order of the text.
type GraphTuple = (String, Vec<u8>, Vec<Layer>);

/// The name of the file for messages, the files, notes, missing files of weights, optional inputs, and errors of the
/// reader.
type OriginTuple = (String, Vec<String>, Vec<String>, Vec<String>, Vec<String>, Vec<ErrorTuple>);

/// Source, line, column, layer, operation and message of an error.
type ErrorTuple = (String, u32, u32, String, String, String);

/// The number of layers, bytes and seconds.
type LimitsTuple = (Option<usize>, Option<usize>, Option<f64>);

/// What the text form does not contain about a layer: its index in the file, its line and column, the declarations of
/// its outputs, and the layers of its bodies.
#[derive(IntoPyObject, FromPyObject)]
pub struct Layer(usize, u32, u32, Vec<Option<DeclaredTuple>>, Vec<Vec<Layer>>);

/// An element type and dims, -1 if dynamic; `None` for a dynamic rank.
type DeclaredTuple = (String, Option<Vec<i64>>);

/// The content of a pickle.
pub fn pickled(model: &snick::Model, limits: Limits, ops: Option<String>) -> Pickled {
    let graph = model.graph();
    let text = print(graph, PrintOptions::new().types(false).weights(Weights::Packed));
    let files = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    // The model has a note for each missing file, before all other notes.
    let notes = model.notes().iter().skip(model.missing_weights().len()).cloned().collect();
    let origin = (
        graph.source.clone(),
        files(model.files()),
        notes,
        files(model.missing_weights()),
        model.optional_inputs().to_vec(),
        model.read_errors().iter().map(error_tuple).collect(),
    );
    let seconds = limits.time.map(|time| time.as_secs_f64());
    let limits = (limits.layers, limits.memory, seconds);
    ((text, packed_weights(graph).to_bytes(), layers(graph)), origin, limits, ops)
}

fn error_tuple(error: &Located) -> ErrorTuple {
    let Located { source, loc, layer, op, .. } = error;
    (source.clone(), loc.line, loc.column, layer.clone(), op.clone(), error.error.to_string())
}

/// The layers in the order of the text form.
fn layers(graph: &Graph) -> Vec<Layer> {
    let mut indices = vec![0; graph.bound()];
    for (index, id) in graph.ids().enumerate() {
        indices[id.index()] = index;
    }
    let declared = |declared: &Declared| {
        let dims = declared.dims.as_ref().map(|dims| dims.to_vec());
        (declared.element_type.name().to_string(), dims)
    };
    let layer = |id: NodeId| {
        let node = graph.node(id);
        let declared = node.outs().iter().map(|out| out.declared.as_ref().map(declared)).collect();
        let bodies = node.op().bodies().map(|(_, body)| layers(body)).collect();
        Layer(indices[id.index()], node.loc().line, node.loc().column, declared, bodies)
    };
    graph.order().unwrap_or_else(|_| graph.ids().collect()).into_iter().map(layer).collect()
}

/// The model in a pickle, its limits, and the declarations of its custom ops.
pub fn unpickled(pickled: Pickled) -> Result<(snick::Model, Limits, Option<String>), snick::Error> {
    let ((text, weights, layers), origin, (most_layers, memory, seconds), ops) = pickled;
    let mut limits = Limits::new();
    (limits.layers, limits.memory) = (most_layers, memory);
    limits.time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let mut options = LoadOptions::new();
    if let Some(ops) = &ops {
        options = options.ops(&snick::parse_ops(ops)?);
    }
    let (text, weights) = (Storage::heap(text.into_bytes()), Storage::heap(weights));
    let read = snick::load_storage(Format::Text, &text, Some(weights), &options)?;
    let graph = restored(read.into_graph(), &layers)?;
    Ok((of_origin(graph, origin), limits, ops))
}

fn of_origin(mut graph: Graph, origin: OriginTuple) -> snick::Model {
    let (source, files, notes, missing, optional_inputs, errors) = origin;
    graph.set_source(&source);
    let located = |(source, line, column, layer, op, message): ErrorTuple| {
        let mut error = Located::of_model(source, layer, OpError::from(TensorError::Argument(message)));
        (error.loc, error.op) = (Loc { line, column }, op);
        error
    };
    let errors = errors.into_iter().map(located).collect();
    let paths = |names: Vec<String>| names.into_iter().map(PathBuf::from).collect();
    let (missing, files) = (paths(missing), paths(files));
    Read { graph, errors, notes, missing, files, optional_inputs }.into()
}

/// The graph with its layers in the order of the file, with their locations and declarations.
fn restored(parsed: Graph, layers: &[Layer]) -> Result<Graph, Located> {
    let mut ids: Vec<(NodeId, Option<&Layer>)> = parsed.ids().zip(layers.iter().map(Some)).collect();
    // A layer that is not in the list comes last.
    ids.extend(parsed.ids().skip(layers.len()).map(|id| (id, None)));
    ids.sort_by_key(|(_, layer)| layer.map_or(usize::MAX, |layer| layer.0));
    let mut graph = Graph::new(parsed.name.clone());
    (graph.ir_version, graph.info) = (parsed.ir_version, parsed.info.clone());
    graph.reserve(parsed.len(), parsed.len());
    let mut new_ids = vec![None; parsed.bound()];
    for &(id, layer) in &ids {
        let node = restored_node(parsed.node(id).to_node(), layer)?;
        new_ids[id.index()] = Some(graph.add(node));
    }
    for (id, _) in ids {
        let Some(node) = new_ids[id.index()] else { continue };
        for (port, value) in (0..).zip(parsed.inputs(id)) {
            let source = value.and_then(|value| Some((new_ids[value.node.index()]?, value.port)));
            let Some((source, output)) = source else { continue };
            let connected = graph.connect_new(Value { node: source, port: output }, node, port);
            connected.map_err(|error| graph.located(node, error))?;
        }
    }
    Ok(graph)
}

fn restored_node(mut node: Node, layer: Option<&Layer>) -> Result<Node, Located> {
    for out in &mut node.outs {
        out.fact = Fact::unknown();
    }
    let Some(Layer(_, line, column, declared, bodies)) = layer else { return Ok(node) };
    node.loc = Loc { line: *line, column: *column };
    for (out, declared) in node.outs.iter_mut().zip(declared) {
        out.declared = declared.as_ref().and_then(|(element_type, dims)| {
            let element_type: ElementType = element_type.parse().ok()?;
            Some(Declared { element_type, dims: dims.as_ref().map(|dims| dims.iter().copied().collect()) })
        });
    }
    for (body, layers) in node.op.bodies_mut().iter_mut().zip(bodies) {
        *body = restored(std::mem::take(body), layers)?;
    }
    Ok(node)
}
