//! Matches the layers of a model with the layers that a plug-in executed.

use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};
use snick_ir::{NodeRef, Op};

use super::{LayerRef, LayerTime, layer_times};
use crate::Model;

/// A model together with the execution graph that a plug-in wrote for it: see [`execution_of`].
#[derive(Clone, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Execution {
    /// The layers that the plug-in ran, in execution order.
    pub layers: Vec<ExecutedLayer>,
    /// Layers of the model, excluding constants, that no executed layer refers to: the plug-in folded, fused
    /// or dropped them.
    pub absent: Vec<LayerRef>,
    /// Inputs and outputs of the model that the execution graph does not refer to. If there are any, the
    /// execution graph belongs to another model.
    pub missing_ends: Vec<LayerRef>,
}

/// A layer of an execution graph, with the layers of the model that it computes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ExecutedLayer {
    /// The executed layer.
    pub time: LayerTime,
    /// The layers of the model that the executed layer computes; empty if the plug-in created the layer
    /// itself.
    pub sources: Vec<LayerRef>,
}

impl Execution {
    /// Whether the execution graph was made from the model: it refers to all inputs and outputs of the model.
    pub fn is_of_the_model(&self) -> bool {
        self.missing_ends.is_empty()
    }

    /// The total time of all layers in microseconds.
    pub fn microseconds(&self) -> u64 {
        self.layers.iter().filter_map(|layer| layer.time.microseconds).fold(0, u64::saturating_add)
    }
}

/// Serialized in the format of `diff --format json`.
impl Serialize for Execution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'e> {
            is_of_the_model: bool,
            microseconds: u64,
            layers: &'e [ExecutedLayer],
            absent: &'e [LayerRef],
            missing_ends: &'e [LayerRef],
        }
        let Self { layers, absent, missing_ends } = self;
        let (is_of_the_model, microseconds) = (self.is_of_the_model(), self.microseconds());
        Answer { is_of_the_model, microseconds, layers, absent, missing_ends }.serialize(serializer)
    }
}

impl Serialize for ExecutedLayer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'l> {
            layer: &'l str,
            op: &'l str,
            primitive: &'l str,
            #[serde(skip_serializing_if = "Option::is_none")]
            microseconds: Option<u64>,
            sources: &'l [LayerRef],
        }
        let Self { time: LayerTime { layer, op, primitive, microseconds, .. }, sources } = self;
        Answer { layer, op, primitive, microseconds: *microseconds, sources }.serialize(serializer)
    }
}

/// Matches a model with its execution graph by the layer names that the plug-in records. `None` unless
/// `executed` is an execution graph and `model` is not.
///
/// ```
/// let model = snick::parse(
///     "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
///      %sum = Add-1(%x, %x)\n  %relu = ReLU-1(%sum)\n  %y = Result-1(%relu)\n}\n",
/// )?;
/// let layer = |id, name: &str, from: &str| {
///     format!("<layer id=\"{id}\" name=\"{name}\" type=\"Any\"><data execTimeMcs=\"17\" originalLayersNames=\"{from}\"/></layer>")
/// };
/// let layers = [layer(0, "x", "x"), layer(1, "sum", "sum,relu"), layer(2, "y", "y")].concat();
/// let text = format!("<net name=\"n\" version=\"11\"><layers>{layers}</layers></net>");
/// let ran = snick::load_bytes(snick::Format::OpenVino, text, None, &snick::LoadOptions::new())?;
/// let execution = snick::execution_of(&model, &ran).expect("an execution graph");
/// assert!(execution.is_of_the_model() && execution.absent.is_empty());
/// assert_eq!(execution.layers[1].sources.len(), 2);
/// # Ok::<(), snick::Error>(())
/// ```
pub fn execution_of(model: &Model, executed: &Model) -> Option<Execution> {
    let times = layer_times(executed.graph());
    if times.is_empty() || !layer_times(model.graph()).is_empty() {
        return None;
    }
    let graph = model.graph();
    // If layers share a name, the name refers to the first.
    let nodes = graph.ids().rev().map(|id| graph.node(id));
    let by_name: HashMap<&str, NodeRef> = nodes.map(|node| (node.name(), node)).collect();
    let mut named = HashSet::new();
    let mut execution = Execution::default();
    for time in times {
        let sources = time.sources.iter().filter_map(|name| by_name.get(name.as_str()));
        let sources =
            sources.inspect(|node| _ = named.insert(node.id())).map(|node| (*node).into()).collect();
        execution.layers.push(ExecutedLayer { time, sources });
    }
    for id in graph.ids().filter(|id| !named.contains(id)) {
        let node = graph.node(id);
        match node.op() {
            Op::Const(_) => {}
            Op::Parameter(_) | Op::Result(_) => execution.missing_ends.push(node.into()),
            _ => execution.absent.push(node.into()),
        }
    }
    Some(execution)
}
