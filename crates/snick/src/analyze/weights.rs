//! Weights, that is, constants that layers multiply by or look up, and their compression.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Serialize;
use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, NodeId, Op};
use snick_tensor::ElementType;

use super::serial;

/// How many weights share a scale.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Grouping {
    /// There is no scale: the stored values are the weights.
    None,
    /// All weights share one scale.
    Tensor,
    /// Each channel has its own scale.
    Channel,
    /// Each group of this many weights has its own scale.
    Group(usize),
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "-"),
            Self::Tensor => write!(f, "tensor"),
            Self::Channel => write!(f, "channel"),
            Self::Group(size) => write!(f, "group of {size}"),
        }
    }
}

/// The storage type and compression of weights, by which weights are counted.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct WeightKind {
    /// The storage type.
    #[serde(rename = "type", serialize_with = "serial::text")]
    pub element_type: ElementType,
    /// How many weights share a scale.
    #[serde(rename = "scale", serialize_with = "serial::text")]
    pub grouping: Grouping,
}

/// All weights of one kind.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub struct WeightsOf {
    /// The layers that use these weights, in order.
    pub layers: Vec<String>,
    /// The number of weights.
    pub count: usize,
    /// The bytes of these weights, including scales and zero points.
    pub bytes: usize,
}

impl WeightsOf {
    /// Bits per weight, including scales and zero points; 0 if there are no weights.
    pub fn bits(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => 8.0 * self.bytes as f64 / count as f64,
        }
    }
}

/// Counts the weights of matrix multiplications, convolutions, recurrent layers and embedding tables by kind,
/// including bodies. A constant that several layers read is counted for the first of them.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %w = Const-1 i8[4,2] <1, 2, 3, 4, 5, 6, 7, 8>\n  %s = Const-1 f32[1,2] <0.5, 0.25>\n  \
/// #             %c = Convert-1(%w) {destination_type: f32}\n  %m = Multiply-1(%c, %s) {auto_broadcast: numpy}\n  \
/// #             %p = MatMul-1(%x, %m) {transpose_a: false, transpose_b: false}\n  %y = Result-1(%p)\n}\n";
/// let model = snick::parse(text)?;
/// for (kind, weights) in snick::weights(model.graph()) {
///     println!("{} {} {}", kind.element_type, kind.grouping, weights.bits()); // i8 channel 16
/// }
/// # Ok::<(), snick::Error>(())
/// ```
pub fn weights(graph: &Graph) -> BTreeMap<WeightKind, WeightsOf> {
    let mut kinds = BTreeMap::new();
    add(graph, &mut kinds);
    kinds
}

fn add(graph: &Graph, kinds: &mut BTreeMap<WeightKind, WeightsOf>) {
    let mut seen = HashSet::new();
    for id in graph.ids() {
        let node = graph.node(id);
        for &port in node.op().weights() {
            let Some(value) = node.input(port) else { continue };
            let constants = decompressed(graph, value.node);
            let Some((main, kind)) = kind(graph, &constants) else { continue };
            if !seen.insert(main) {
                continue;
            }
            let of_kind: &mut WeightsOf = kinds.entry(kind).or_default();
            of_kind.layers.push(node.name().to_string());
            of_kind.count = of_kind.count.saturating_add(elements(graph, main));
            let bytes = constants.iter().fold(0usize, |sum, &id| sum.saturating_add(bytes(graph, id)));
            of_kind.bytes = of_kind.bytes.saturating_add(bytes);
        }
        node.op().bodies().for_each(|(_, body)| add(body, kinds));
    }
}

/// The constants from which a value is decompressed; empty if the value depends on anything other than
/// constants, or on too many layers.
fn decompressed(graph: &Graph, value: NodeId) -> Vec<NodeId> {
    /// More layers than any decompression needs. A typical one has converted weights, a zero point, a scale,
    /// and a Reshape with its target shape.
    const MAX_LAYERS: usize = 16;
    let (mut constants, mut todo, mut seen) = (Vec::new(), vec![value], 0);
    while let Some(id) = todo.pop() {
        seen += 1;
        let node = graph.node(id);
        match node.op() {
            _ if seen > MAX_LAYERS => return Vec::new(),
            Op::Const(_) => constants.push(id),
            Op::Convert(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Unsqueeze(_) => {
                todo.extend(node.input(0).map(|input| input.node));
            }
            Op::Arithmetic(_) => todo.extend(node.inputs().map(|input| input.node)),
            _ => return Vec::new(),
        }
    }
    constants
}

/// The largest of the constants, and the kind of its weights. `None` if this constant has fewer than two
/// dims, or if it contains integers without a scale, such as indices.
fn kind(graph: &Graph, constants: &[NodeId]) -> Option<(NodeId, WeightKind)> {
    let main = *constants.iter().max_by_key(|&&id| elements(graph, id))?;
    let scale = constants.iter().filter(|&&id| id != main).max_by_key(|&&id| elements(graph, id));
    let element_type = constant(graph, main)?.element_type();
    if scale.is_none() && element_type.is_integer() || constant(graph, main)?.dims().len() < 2 {
        return None;
    }
    let grouping = match scale {
        None => Grouping::None,
        Some(&scale) => grouping(elements(graph, main), constant(graph, scale)?.dims()),
    };
    Some((main, WeightKind { element_type, grouping }))
}

/// How many weights share a scale, if the scales have the shape `scales`. If exactly one axis is longer than
/// 1, there is a scale for each channel; if several axes are, there is one for each group.
fn grouping(weights: usize, scales: &[usize]) -> Grouping {
    let count: usize = scales.iter().fold(1, |n: usize, &d| n.saturating_mul(d));
    match scales.iter().filter(|&&dim| dim > 1).count() {
        _ if count <= 1 => Grouping::Tensor,
        1 => Grouping::Channel,
        _ => Grouping::Group(weights / count),
    }
}

fn constant(graph: &Graph, id: NodeId) -> Option<&Constant> {
    match graph.node(id).op() {
        Op::Const(constant) => Some(constant),
        _ => None,
    }
}

fn elements(graph: &Graph, id: NodeId) -> usize {
    constant(graph, id).map_or(0, |constant| constant.dims().iter().fold(1, |n, &d| n.saturating_mul(d)))
}

fn bytes(graph: &Graph, id: NodeId) -> usize {
    let byte_len = |constant: &Constant| constant.element_type().byte_len(elements(graph, id));
    constant(graph, id).and_then(byte_len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_tell_groups() {
        for (weights, scales, expected) in [
            (64, &[][..], Grouping::Tensor),
            (64, &[1, 1], Grouping::Tensor),
            (64, &[8, 1], Grouping::Channel),
            (64, &[4, 1, 1, 1], Grouping::Channel),
            (64, &[4, 4, 1], Grouping::Group(4)),
        ] {
            assert_eq!(grouping(weights, scales), expected, "{scales:?}");
        }
    }

    #[test]
    fn weights_are_counted_once_with_their_scales() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
            %w = Const-1 i8[2,2,2] <1, 2, 3, 4, 5, 6, 7, 8>
            %s = Const-1 f32[2,2,1] <0.5, 0.25, 0.5, 0.25>
            %c = Convert-1(%w) {destination_type: f32}
            %m = Multiply-1(%c, %s) {auto_broadcast: numpy}
            %to = Const-1 i64[2] <2, 4>
            %r = Reshape-1(%m, %to) {special_zero: false}
            %p = MatMul-1(%x, %r) {transpose_a: false, transpose_b: true}
            %q = MatMul-1(%x, %r) {transpose_a: false, transpose_b: true}
            %v = Const-1 f32[2,1] <1.0, 2.0>
            %o = MatMul-1(%p, %v) {transpose_a: false, transpose_b: false}
            %y = Result-1(%o)
            %z = Result-1(%q)";
        let graph = snick_ir::text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        let kinds = weights(&graph);
        let grouped = WeightKind { element_type: ElementType::I8, grouping: Grouping::Group(2) };
        let plain = WeightKind { element_type: ElementType::F32, grouping: Grouping::None };
        let of = |layer: &str, count, bytes| WeightsOf { layers: vec![layer.into()], count, bytes };
        assert_eq!(kinds, BTreeMap::from([(grouped, of("p", 8, 8 + 16)), (plain, of("o", 2, 8))]));
        assert_eq!(kinds[&grouped].bits(), 24.0);
    }
}
