//! A graph as lists that are indexed by layer, in execution order.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use snick_ir::ops::SubGraph;
use snick_ir::ops::control::port_map::PortMap;
use snick_ir::{Graph, Located, NodeRef, Op};

use super::layer::{hash_of, local};
use super::port_map::labels;

/// An output of a layer that another layer reads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Source {
    pub layer: usize,
    pub port: u32,
}

/// An input of a layer that reads another layer's output.
#[derive(Copy, Clone, Debug)]
pub(super) struct Reader {
    /// The output that is read.
    pub port: u32,
    pub layer: usize,
    /// The input that reads it.
    pub input: usize,
}

/// A model or a body.
pub(super) struct Scope<'g> {
    pub graph: &'g Graph,
    pub layers: Vec<NodeRef<'g>>,
    /// The source of each input, by layer and input port.
    pub sources: Vec<Vec<Option<Source>>>,
    /// The readers of each layer.
    pub readers: Vec<Vec<Reader>>,
    /// The hash of each layer without its surroundings: see [`local`].
    pub locals: Vec<u64>,
    /// The bodies of each layer that has any.
    pub bodies: HashMap<usize, Vec<Body<'g>>>,
    /// The Parameters in the order of the file.
    pub parameters: Vec<usize>,
    /// The Results in the order of the file.
    pub results: Vec<usize>,
}

impl<'g> Scope<'g> {
    /// Creates the lists for a graph. If `has_weights` is false, the bytes of constants are ignored.
    ///
    /// # Errors
    /// The graph has a cycle.
    pub fn new(graph: &'g Graph, has_weights: bool) -> Result<Self, Located> {
        let order = graph.order()?;
        let mut number = vec![0; graph.bound()];
        order.iter().enumerate().for_each(|(at, id)| number[id.index()] = at);
        let layers: Vec<NodeRef<'g>> = order.iter().map(|&id| graph.node(id)).collect();
        let mut readers = vec![Vec::new(); layers.len()];
        let mut sources = Vec::with_capacity(layers.len());
        for (layer, &id) in order.iter().enumerate() {
            let inputs = graph.inputs(id).into_iter().map(|value| {
                value.map(|value| Source { layer: number[value.node.index()], port: value.port })
            });
            let inputs: Vec<Option<Source>> = inputs.collect();
            for (input, source) in inputs.iter().enumerate() {
                if let Some(source) = source {
                    readers[source.layer].push(Reader { port: source.port, layer, input });
                }
            }
            sources.push(inputs);
        }
        let mut bodies = HashMap::new();
        for (at, layer) in layers.iter().enumerate() {
            if let Op::SubGraph(op) = layer.op() {
                bodies.insert(at, Body::all(op, has_weights)?);
            }
        }
        let locals = layers.iter().enumerate().map(|(at, &layer)| {
            let bodies = bodies.get(&at).into_iter().flatten();
            let summaries: Vec<u64> = bodies.map(Body::summary).collect();
            local(layer, &summaries, has_weights)
        });
        let locals = locals.collect();
        let parameters = graph.parameters().map(|id| number[id.index()]).collect();
        let results = graph.results().map(|id| number[id.index()]).collect();
        Ok(Self { graph, layers, sources, readers, locals, bodies, parameters, results })
    }

    /// Number of layers, excluding layers of bodies.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// The tensor names of a Parameter, or of the value that a Result returns.
    pub fn tensor_names(&self, end: usize) -> &'g [String] {
        let node = self.layers[end];
        let value = if matches!(node.op(), Op::Result(_)) { node.input(0) } else { node.output(0) };
        value.and_then(|value| self.graph.output(value)).map(|out| out.names()).unwrap_or_default()
    }

    /// For each layer, hashes the layer and everything that it is computed from. A Parameter is represented
    /// by its label; the hash of a Parameter without a label differs from all others.
    pub fn up(&self, labels: &[Option<u64>]) -> Vec<u64> {
        let mut up = vec![0; self.len()];
        let mut ends = vec![None; self.len()];
        for (&end, &label) in self.parameters.iter().zip(labels) {
            ends[end] = Some(label.unwrap_or_else(|| hash_of((self.layers[end].name(), end))));
        }
        for layer in 0..self.len() {
            let mut hasher = DefaultHasher::new();
            (self.locals[layer], ends[layer]).hash(&mut hasher);
            for source in &self.sources[layer] {
                source.map(|source| (up[source.layer], source.port)).hash(&mut hasher);
            }
            up[layer] = hasher.finish();
        }
        up
    }
}

/// A body of a layer.
pub(super) struct Body<'g> {
    /// `body`, `then_body` or `else_body`.
    pub role: &'static str,
    pub scope: Scope<'g>,
    pub map: &'g PortMap,
    /// A hash of the connections of each Parameter.
    pub parameters: Vec<u64>,
    /// A hash of the connections of each Result.
    pub results: Vec<u64>,
}

impl<'g> Body<'g> {
    /// The bodies of an op.
    ///
    /// # Errors
    /// A body has a cycle.
    fn all(op: &'g SubGraph, has_weights: bool) -> Result<Vec<Self>, Located> {
        let parts = op.roles().iter().zip(&op.bodies).zip(&op.maps);
        let body = |((&role, body), map): ((&&'static str, &'g Graph), &'g PortMap)| {
            let scope = Scope::new(body, has_weights)?;
            let (parameters, results) = labels(map, scope.parameters.len(), scope.results.len());
            Ok(Self { role, scope, map, parameters, results })
        };
        parts.map(body).collect()
    }

    /// Hashes the computation in the body, regardless of the names and order of its layers.
    fn summary(&self) -> u64 {
        let labels: Vec<Option<u64>> = self.parameters.iter().copied().map(Some).collect();
        let up = self.scope.up(&labels);
        let all = up.iter().fold(0u64, |sum, own| sum.wrapping_add(hash_of(own)));
        let ends = self.scope.results.iter().zip(&self.results);
        let mut ends: Vec<(u64, u64)> = ends.map(|(&end, &label)| (label, up[end])).collect();
        ends.sort_unstable();
        hash_of((all, ends))
    }
}
