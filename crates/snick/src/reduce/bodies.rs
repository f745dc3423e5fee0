//! Edits of ops with bodies: replacing the model with a body, and shrinking bodies.

use std::sync::Arc;

use snick_ir::ops::control::port_map::PortMap;
use snick_ir::ops::control::subgraph::{SubGraph, SubGraphKind};
use snick_ir::ops::source::constant::Constant;
use snick_ir::{Fact, Graph, NodeId, Op, Value};
use snick_tensor::{ElementType, Tensor};

use super::edit::{Edit, applied, is_computed, is_read, parameter_for};
use super::{attributes, layers, shapes};

/// Replaces the model with one of its bodies. The Parameters of the body get their inferred shapes.
pub(super) fn hoists(graph: &Graph) -> Vec<Vec<Edit>> {
    let bodies = graph.ids().flat_map(|id| graph.node(id).op().bodies());
    let model = |(_, body): (&str, &Graph)| {
        let mut model = body.clone();
        for id in body.parameters() {
            let shape = parameter_for(body, Value { node: id, port: 0 }).shape;
            // Cannot fail: `id` is a Parameter of the body, so it is also one of the copy.
            let _ = model.set_parameter_shape(id, shape);
        }
        vec![Edit::Become(Box::new(model))]
    };
    bodies.map(model).collect()
}

/// Edits that make one change in one body, or remove one back edge.
pub(super) fn cuts(graph: &Graph) -> Vec<Vec<Edit>> {
    let mut edits = Vec::new();
    for id in graph.ids() {
        let Op::SubGraph(op) = graph.node(id).op() else { continue };
        for (at, body) in op.bodies.iter().enumerate() {
            for edit in body_edits(op, at) {
                edits.extend(applied(body, &edit).and_then(|body| with_body(graph, id, op, at, body)));
            }
            for edge in 0..op.maps.get(at).map_or(0, |map| map.back_edges.len()) {
                let mut op = SubGraph::clone(op);
                op.maps[at].back_edges.remove(edge);
                edits.extend(without_unused_ports(graph, id, op));
            }
        }
    }
    edits
}

/// The edits of a body that keep the Parameters and Results that the op needs.
fn body_edits(op: &SubGraph, at: usize) -> Vec<Vec<Edit>> {
    let (Some(body), Some(map)) = (op.bodies.get(at), op.maps.get(at)) else { return Vec::new() };
    let mut edits = Vec::new();
    for (number, result) in body.results().enumerate() {
        let mut links = map.outputs.iter().filter(|link| link.internal == number);
        if links.all(|link| link.purpose.is_none()) {
            edits.push(vec![Edit::Drop(result)]);
        }
    }
    edits.extend(body.parameters().filter(|&id| !is_read(body, id)).map(|id| vec![Edit::Drop(id)]));
    edits.extend(layers::bypasses(body));
    edits.extend(zeros(body));
    edits.extend(layers::merges(body));
    edits.extend(cuts(body));
    // Parameters of a body have the shapes of the values that the op passes in.
    let is_shape = |edit: &Edit| matches!(edit, Edit::Shape(..));
    edits.extend(shapes::single_sizes(body).into_iter().filter(|edits| !edits.iter().any(is_shape)));
    edits.extend(attributes::defaults(body));
    edits
}

/// Replaces each single-output layer with a constant of zeros.
fn zeros(body: &Graph) -> Vec<Vec<Edit>> {
    let edit = |id: NodeId| {
        let [out] = body.node(id).outs() else { return None };
        let op = Box::new(Op::from(Constant::new(Arc::new(zero(&out.fact, body)?))));
        Some(vec![Edit::Ports { node: id, op, inputs: Vec::new(), outputs: vec![0] }])
    };
    body.ids().filter(|&id| is_computed(body.node(id).op())).filter_map(edit).collect()
}

/// A constant of zeros with the smallest nonempty shape that the fact allows.
fn zero(fact: &Fact, graph: &Graph) -> Option<Tensor> {
    /// Maximum number of elements: a larger constant would not make the model easier to read.
    const MAX_ELEMENTS: usize = 64;
    let size = |dim| usize::try_from(graph.symbols().interval(dim).lo().max(1)).ok();
    let dims: Vec<usize> = fact.shape.dims().unwrap_or_default().iter().map(size).collect::<Option<_>>()?;
    let count = dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim))?;
    let element_type = match fact.element_type {
        ElementType::Dynamic => ElementType::F32,
        known => known,
    };
    (count <= MAX_ELEMENTS).then(|| Tensor::zeros(element_type, &dims).ok())?
}

/// Replaces one of the bodies of an op with `body`. In the port map, removes Parameters and Results that no
/// longer exist.
fn with_body(graph: &Graph, id: NodeId, op: &SubGraph, at: usize, body: Graph) -> Option<Vec<Edit>> {
    let mut op = op.clone();
    let old = std::mem::replace(op.bodies.get_mut(at)?, body);
    let body = op.bodies.get(at)?;
    let position = |ids: Vec<NodeId>, left: Vec<NodeId>| -> Vec<Option<usize>> {
        ids.iter().map(|id| left.iter().position(|other| other == id)).collect()
    };
    let parameters = position(old.parameters().collect(), body.parameters().collect());
    let results = position(old.results().collect(), body.results().collect());
    renumber(op.maps.get_mut(at)?, &parameters, &results)?;
    without_unused_ports(graph, id, op)
}

/// Updates the indices of Parameters and Results; `None` if the map contains an index that never existed.
fn renumber(map: &mut PortMap, parameters: &[Option<usize>], results: &[Option<usize>]) -> Option<()> {
    for (links, numbers) in [(&mut map.inputs, parameters), (&mut map.outputs, results)] {
        let mut left = Vec::with_capacity(links.len());
        for mut link in links.drain(..) {
            if let Some(number) = *numbers.get(link.internal)? {
                link.internal = number;
                left.push(link);
            }
        }
        *links = left;
    }
    let edges = map.back_edges.iter().map(|&(from, to)| Some((*results.get(from)?, *parameters.get(to)?)));
    let edges: Vec<_> = edges.collect::<Option<_>>()?;
    map.back_edges = edges.into_iter().filter_map(|(from, to)| Some((from?, to?))).collect();
    Some(())
}

/// Removes unused ports. Outputs that are no longer in the port map are removed, and their readers are
/// redirected to the first remaining output. Inputs that no body uses are removed, too. `None` if no output
/// remains.
fn without_unused_ports(graph: &Graph, id: NodeId, mut op: SubGraph) -> Option<Vec<Edit>> {
    let Op::SubGraph(old) = graph.node(id).op() else { return None };
    let has = |map: &PortMap, port| map.outputs.iter().any(|link| link.external == Some(port));
    let (left, lost): (Vec<usize>, Vec<usize>) =
        (0..old.outputs()).partition(|&port| op.maps.iter().all(|map| has(map, port)));
    let ports =
        |ports: &[usize]| ports.iter().map(|&port| u32::try_from(port)).collect::<Result<Vec<u32>, _>>().ok();
    let outputs = ports(&left)?;
    let mut edits = Vec::new();
    for port in ports(&lost)? {
        let old = Value { node: id, port };
        if !graph.uses(old).is_empty() {
            edits.push(Edit::Redirect(old, Value { node: id, port: *outputs.first()? }));
        }
    }
    let own = match op.kind {
        SubGraphKind::Loop => 2,
        SubGraphKind::If => 1,
        SubGraphKind::TensorIterator => 0,
    };
    let enters = |port| op.maps.iter().any(|map| map.inputs.iter().any(|link| link.external == Some(port)));
    let inputs: Vec<usize> = (0..graph.inputs(id).len()).filter(|&port| port < own || enters(port)).collect();
    let place = |ports: &[usize], port: Option<usize>| port.map(|port| ports.iter().position(|&p| p == port));
    for map in &mut op.maps {
        map.outputs.retain(|link| link.external.is_none_or(|port| left.contains(&port)));
        for (links, ports) in [(&mut map.inputs, &inputs), (&mut map.outputs, &left)] {
            links.iter_mut().for_each(|link| link.external = place(ports, link.external).flatten());
        }
    }
    let op = SubGraph::new(op.kind, op.bodies, op.maps).ok()?;
    edits.push(Edit::Ports { node: id, op: Box::new(Op::from(op)), inputs, outputs });
    Some(edits)
}
