//! A network or body that is being read, and the state shared by all networks of a document.

use std::collections::BTreeMap;

use snick_ir::ops::Entry;
use snick_ir::{Attrs, Graph, Loc, Located, Monitor, NodeId, OpError, Registry, Value};

use super::Weights;
use super::layer_ids::{LayerId, LayerIds};
use super::ordinals::Ordinals;
use super::truncated::Truncated;

/// State shared by all parts of a document.
pub(super) struct Context<'c> {
    pub(super) weights: &'c Weights,
    pub(super) source: &'c str,
    pub(super) ops: &'c Registry,
    /// The errors of layers and edges. Layers that could not be read stay opaque.
    pub(super) errors: Vec<Located>,
    /// Constants that extend beyond the end of the weights.
    pub(super) truncated: Truncated,
    /// Attributes that the op does not declare, by operation type and attribute name. Stores the number of
    /// layers with the attribute, and the location of the first of them.
    pub(super) undeclared: BTreeMap<(&'static str, String), (usize, Loc)>,
    /// The number of layers that belong to an execution graph.
    pub(super) recorded: usize,
    /// The number of layers read so far, including layers of bodies.
    pub(super) layers: usize,
    pub(super) monitor: &'c mut Monitor,
}

impl Context<'_> {
    /// Counts undeclared attributes of a layer. `attrs` contains the attributes that the op does not declare.
    pub(super) fn count_undeclared(&mut self, entry: &'static Entry, attrs: &Attrs, loc: Loc) {
        for (attr, _) in attrs.iter() {
            let place = self.undeclared.entry((entry.name.name, attr.to_string()));
            place.and_modify(|(count, _)| *count += 1).or_insert((1, loc));
        }
    }

    /// Reports progress after a layer, and returns whether to continue.
    pub(super) fn goes_on(&mut self, layer: &str) -> bool {
        self.layers += 1;
        self.monitor.read_layer(self.layers, layer)
    }

    /// Takes the errors that occurred while reading.
    pub(super) fn take_errors(&mut self) -> Vec<Located> {
        let mut errors = std::mem::take(&mut self.errors);
        errors.extend(std::mem::take(&mut self.truncated).into_error());
        errors
    }

    /// A note on each undeclared attribute.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.undeclared.iter().map(|((op, attr), (count, loc))| {
            let layers = if *count == 1 { "1 layer".to_string() } else { format!("{count} layers, first") };
            format!("{op} has no attribute `{attr}`: kept, but without effect ({layers} at {loc})")
        })
    }
}

/// The reason why an edge cannot be connected.
pub(super) struct BrokenEnd {
    /// The layer at the target of the edge, if it exists.
    pub(super) at: Option<NodeId>,
    pub(super) fault: String,
}

/// A network, with its layers by id.
pub(super) struct Net {
    pub(super) graph: Graph,
    pub(super) layers: LayerIds,
}

impl Net {
    /// The indices of the Parameters and Results of the network.
    pub(super) fn ordinals(&self) -> Ordinals<'_> {
        Ordinals::new(&self.graph, &self.layers)
    }

    /// Adds a location in the file to an error of a layer or of the network.
    pub(super) fn located(&self, layer: Option<NodeId>, error: OpError, loc: Loc) -> Located {
        let mut located = match layer {
            Some(node) => self.graph.located(node, error),
            None => Located::of_model(&*self.graph.source, &*self.graph.name, error),
        };
        located.loc = loc;
        located
    }

    pub(super) fn name(&self, layer: usize) -> &str {
        self.graph.node(self.layers.0[layer].node).name()
    }

    /// Resolves an edge, which is given by layer ids and port ids. Returns the value, the index of the target
    /// layer, and the index of its input.
    pub(super) fn ends(&self, from: (u64, u32), to: (u64, u32)) -> Result<(Value, usize, usize), BrokenEnd> {
        let (id, port) = from;
        let target = self.layers.index(to.0);
        let target = target
            .ok_or_else(|| BrokenEnd { at: None, fault: format!("edge: no layer has the id {}", to.0) })?;
        let broken = |fault| BrokenEnd { at: Some(self.layers.0[target].node), fault };
        let source = self.layers.index(id).ok_or_else(|| {
            let reader = self.name(target);
            broken(format!("edge to input port {} of layer `{reader}`: no layer has the id {id}", to.1))
        })?;
        let LayerId { node, outputs, .. } = &self.layers.0[source];
        let output = outputs.position(port, self.graph.node(*node).outs().len()).ok_or_else(|| {
            let (reader, layer) = (self.name(target), self.name(source));
            broken(format!("edge to layer `{reader}`: layer `{layer}` has no output port {port}"))
        })?;
        let value = Value { node: *node, port: output as u32 };
        let LayerId { inputs, input_count, .. } = &self.layers.0[target];
        let input = inputs.position(to.1, *input_count).ok_or_else(|| {
            let (writer, layer) = (self.name(source), self.name(target));
            broken(format!("edge from layer `{writer}`: layer `{layer}` has no input port {}", to.1))
        })?;
        Ok((value, target, input))
    }
}
