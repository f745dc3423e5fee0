//! Legalizes a graph for an operator set, and refuses what the set lacks. Both follow the table of operators: a
//! layer can be written if its nodes, written on trial, are in the table.

use snick_ir::{Fact, Graph, Located, NodeId, Op, OpError, Value, onnx_opsets};
use snick_pass::legalize::{Target, for_target};
use snick_tensor::ElementType::{self, BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32};

use super::names::Names;
use super::node_types::{NodeLack, has_type};
use super::prepare::prepare;
use super::table;
use super::writer::Writer;
use crate::layer::Layer;
use crate::legalized::Refusals;
use crate::older_target::{Lack, OlderTarget};

/// Rewrites a graph until the operator set can express all layers.
///
/// # Errors
/// [`OpError::NeedsRelease`] for a layer of `original` that cannot be rewritten.
pub(super) fn legalize(original: &Graph, opset: i64) -> Result<(Graph, Refusals), Box<Located>> {
    let target = Target {
        // The layers of a body are legalized on their own.
        can_write: &|graph, id| {
            matches!(graph.node(id).op(), Op::SubGraph(_)) || gap(graph, id, opset).is_none()
        },
        computes_in: &|graph, id| computes_in(graph, id, opset),
        reads_definitions: false,
        has_type: &|element_type| has_type(opset, element_type),
    };
    let mut graph = original.clone();
    let refusals = Refusals::legalize(&mut graph, &target, "ONNX")?;
    let name = format!("ONNX opset {opset}");
    let mut graph = prepare(graph).map_err(|mut error| {
        if let OpError::CannotWrite { what, .. } = error.error {
            error.error = OpError::NeedsRelease { what, target: name.clone(), since: None, reason: None };
        }
        error
    })?;
    // The bounds of lowered slices are computed with operations that the operator set may lack.
    for_target(&mut graph, &target);
    let unranked = unranked(&graph);
    let lacks = |graph: &Graph, id: NodeId| {
        if unranked.iter().any(|name| name == graph.node(id).name()) && is_end(graph.node(id).op()) {
            return Some(Lack { what: "inputs and outputs of unknown rank".into(), since: None });
        }
        let what = refusals.explained(graph, id, gap(graph, id, opset)?.what);
        let mut newer = onnx_opsets::known().filter(|&newer| newer > opset);
        let since = newer.find(|&newer| gap(graph, id, newer).is_none());
        Some(Lack { what, since: since.map(|since| format!("opset {since}")) })
    };
    OlderTarget { original, target: name, missed: &refusals.declined, lacks: &lacks }.check(&graph)?;
    Ok((graph, refusals))
}

fn is_end(op: &Op) -> bool {
    matches!(op, Op::Parameter(_) | Op::Result(_))
}

/// The inputs and outputs of unknown rank. ONNX requires a shape, but its runtimes do not, so they are only refused if
/// the user asks for an operator set.
fn unranked(graph: &Graph) -> Vec<String> {
    let ends = graph.parameters().map(|id| (id, graph.fact(Value { node: id, port: 0 })));
    let results = graph.results().map(|id| (id, graph.node(id).input(0).and_then(|value| graph.fact(value))));
    let is_unranked = |fact: Option<&Fact>| fact.is_none_or(|fact| fact.shape().rank().is_none());
    let ends = ends.chain(results).filter(|(_, fact)| is_unranked(*fact));
    ends.map(|(id, _)| graph.node(id).name().to_string()).collect()
}

/// Why the operator set cannot express a layer.
fn gap(graph: &Graph, id: NodeId, opset: i64) -> Option<NodeLack> {
    if Layer::new(graph, id).is_ok_and(|layer| table::is_evaluated(&layer)) {
        return None;
    }
    let mut writer = Writer::new("", Names::of_layer(graph, id), Refusals::default(), Some(opset));
    let error = super::write(graph, id, &mut writer).err()?;
    let what = match error {
        OpError::Unsupported { what } => what,
        other => other.to_string(),
    };
    Some(writer.checked.lack.unwrap_or(NodeLack { what, element_type: None }))
}

/// The wider type in which to compute a layer.
fn computes_in(graph: &Graph, id: NodeId, opset: i64) -> Option<ElementType> {
    let layer = Layer::new(graph, id).ok()?;
    let row = table::row(layer.node.op())?;
    if let Some(wide) = row.gap(&layer, super::types::COMMON) {
        return wide;
    }
    let op = layer.node.op();
    if matches!(op, Op::SubGraph(_)) {
        return None;
    }
    let (narrow, known) = gap(graph, id, opset)?.element_type?;
    let own = layer.node.outs().first()?.fact.element_type();
    let wide: &[ElementType] = match narrow {
        F16 | BF16 => &[F32],
        // Conversions of the types that a layer moves are undone.
        ElementType::Boolean if row.moves() && own == narrow => &[I32],
        I8 | U8 | I16 | U16 if own == narrow => match op {
            Op::MaxPool(_) => &[I32, F32],
            _ => &[I32],
        },
        I32 if own == narrow && matches!(op, Op::MaxPool(_)) => &[F64],
        U32 if own == narrow => &[I64],
        _ => &[],
    };
    wide.iter().copied().find(|wide| known.contains(wide))
}
