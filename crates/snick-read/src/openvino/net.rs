//! A partially read network or body, and the state shared by all networks of a document.

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
    /// Errors of layers that stay opaque, and of edges.
    pub(super) errors: Vec<Located>,
    /// Constants beyond the end of the weights.
    pub(super) truncated: Truncated,
    /// Undeclared attributes by operation type and name: the number of layers with them, and the first
    /// location.
    pub(super) undeclared: BTreeMap<(&'static str, String), (usize, Loc)>,
    /// Layers of an execution graph.
    pub(super) recorded: usize,
    /// The number of layers so far, including bodies.
    pub(super) layers: usize,
    pub(super) monitor: &'c mut Monitor,
}

impl Context<'_> {
    /// Counts the attributes that the op of a layer does not declare.
    pub(super) fn count_undeclared(&mut self, entry: &'static Entry, attrs: &Attrs, loc: Loc) {
        for (attr, _) in attrs.iter() {
            let place = self.undeclared.entry((entry.name.name, attr.to_string()));
            place.and_modify(|(count, _)| *count += 1).or_insert((1, loc));
        }
    }

    /// Reports a layer, and returns whether to continue.
    pub(super) fn goes_on(&mut self, layer: &str) -> bool {
        self.layers += 1;
        self.monitor.read_layer(self.layers, layer)
    }

    /// The errors of reading.
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

/// Why an edge cannot be connected.
pub(super) struct BrokenEnd {
    /// The layer that it should lead to.
    pub(super) at: Option<NodeId>,
    pub(super) fault: String,
}

/// A network, with its layers by id.
pub(super) struct Net {
    pub(super) graph: Graph,
    pub(super) layers: LayerIds,
}

impl Net {
    /// The indices of Parameters and Results.
    pub(super) fn ordinals(&self) -> Ordinals<'_> {
        Ordinals::new(&self.graph, &self.layers)
    }

    /// Locates an error of a layer or the network in the file.
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

    /// Resolves an edge between layer and port ids to a value, and the index and input of the target layer.
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
