//! Keeps large low-bit weights packed. Matrix multiplications and row lookups (Gather) unpack only the parts
//! that they need.
//!
//! Exporters write such weights together with layers that unpack them: a `Convert`, optionally a `Subtract`
//! of zero points, a `Multiply` by scales, and optionally a `Reshape` and a `Convert`. Folded weights would
//! take four to eight times the memory of the file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, NodeId, Op};
use snick_tensor::ElementType;
use snick_tensor::kernels::{BinaryOp, PackedWeights};

use super::constant_values::ConstantValues;
use crate::half_precision::HalfPrecision;
use crate::plan::{Plan, StepKind};

/// Minimum number of elements. Smaller weights are unpacked once, because they stay in the cache.
const LARGE: usize = 1 << 16;

/// Replaces matrix multiplications and row lookups that have large packed weights. Removes the layers that
/// unpack these weights, if they have no other readers.
pub(super) fn keep_packed(plan: &mut Plan, graph: &Graph, half_precision: &HalfPrecision) {
    let mut found: HashMap<NodeId, Option<Unpacked>> = HashMap::new();
    let mut products = Vec::new();
    let unpacking =
        Unpacking { graph, half_precision, constants: ConstantValues::new(plan, graph, half_precision) };
    for (at, step) in plan.steps.iter().enumerate() {
        let is_quantized = matches!(step.kind, StepKind::Quantized(_));
        let Some(port) = port_of_weights(graph, step.node).filter(|_| !is_quantized) else { continue };
        let Some(weights) = graph.node(step.node).input(port) else { continue };
        let known = found.entry(weights.node).or_insert_with(|| unpacking.packed(weights.node));
        if let Some(unpacked) = known {
            products.push((at, port, unpacked.weights.clone()));
        }
    }
    for (at, port, weights) in products {
        let step = &mut plan.steps[at];
        step.kind = StepKind::Packed(weights);
        step.operands = Box::new([step.operands[1 - port]]);
    }
    let unpacking: HashSet<NodeId> = found.into_values().flatten().flat_map(|found| found.layers).collect();
    if !unpacking.is_empty() {
        plan.remove_unread(&unpacking);
    }
}

/// The input port of a layer at which packed weights are supported: the transposed matrix `[N, K]` of a
/// MatMul, or the table of a row lookup.
fn port_of_weights(graph: &Graph, node: NodeId) -> Option<usize> {
    let has_known_type = |port| {
        let fact = graph.fact(graph.node(node).input(port)?)?;
        matches!(fact.element_type, ElementType::F32 | ElementType::F16 | ElementType::BF16).then_some(())
    };
    match graph.node(node).op() {
        Op::MatMul(op) if op.transpose_b && !op.transpose_a => {
            has_known_type(0)?;
            let rank = graph.fact(graph.node(node).input(0)?)?.shape.rank()?;
            (rank >= 2).then_some(1)
        }
        Op::Gather(op) if op.batch_dims == 0 => {
            has_known_type(0)?;
            let axis = graph.fact(graph.node(node).input(2)?)?.ints()?;
            (*axis == [0]).then_some(0)
        }
        _ => None,
    }
}

/// Packed weights, and the layers that unpack them.
struct Unpacked {
    weights: Arc<PackedWeights>,
    layers: Vec<NodeId>,
}

/// Finds packed weights and the layers that unpack them.
struct Unpacking<'a> {
    graph: &'a Graph,
    half_precision: &'a HalfPrecision,
    constants: ConstantValues<'a>,
}

impl Unpacking<'_> {
    /// The packed weights whose last unpacking layer is `last`.
    fn packed(&self, last: NodeId) -> Option<Unpacked> {
        let graph = self.graph;
        let mut layers = Vec::new();
        let mut at = last;
        // Follows the layers backwards, up to the Multiply that applies the scales.
        let (scaled, scales) = loop {
            layers.push(at);
            let node = graph.node(at);
            match node.op() {
                Op::Convert(op) if op.destination_type == ElementType::F32 => at = node.input(0)?.node,
                Op::Reshape(_) => at = node.input(0)?.node,
                Op::Arithmetic(op) if op.function == BinaryOp::Mul => {
                    break (node.input(0)?.node, node.input(1)?);
                }
                _ => return None,
            }
            if layers.len() > 4 {
                return None;
            }
        };
        layers.push(scaled);
        let (converted, zeros) = match graph.node(scaled).op() {
            Op::Arithmetic(op) if op.function == BinaryOp::Sub => {
                let converted = graph.node(scaled).input(0)?.node;
                layers.push(converted);
                (converted, Some(graph.node(scaled).input(1)?))
            }
            _ => (scaled, None),
        };
        let (Op::Convert(op), Some(source)) = (graph.node(converted).op(), graph.node(converted).input(0))
        else {
            return None;
        };
        let Op::Const(Constant::Here(codes)) = graph.node(source.node).op() else { return None };
        layers.push(source.node);
        let through = op.destination_type;
        if codes.len() < LARGE || !self.half_precision.computes_in_f32(through) {
            return None;
        }
        let scales = self.constants.value(scales, &mut layers)?;
        let zeros = match zeros {
            Some(zeros) => Some(self.constants.value(zeros, &mut layers)?),
            None => None,
        };
        let weights = PackedWeights::new(codes, zeros.as_ref(), &scales, through)?;
        let dims = graph.node(last).outs().first()?.fact.shape.as_static()?;
        (dims.as_slice() == weights.dims()).then(|| Unpacked { weights: Arc::new(weights), layers })
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::ops::MatMul;
    use snick_ir::{GraphBuilder, OpError, Value};
    use snick_tensor::{Storage, Tensor};

    use super::*;
    use crate::{Options, Session};

    /// 4-bit weights `[512, 512]`, with zero points and f16 scales for groups of 128, unpacked by five
    /// layers.
    fn weights(b: &mut GraphBuilder) -> Result<Value, OpError> {
        let noise = |len: usize| (0..len).map(|i| ((i * 40_503) >> 7) as u8).collect();
        let codes = Tensor::new(ElementType::U4, &[512, 4, 128], Storage::heap(noise(512 * 256)))?;
        let zeros = Tensor::new(ElementType::U4, &[512, 4, 1], Storage::heap(noise(512 * 2)))?;
        let scales: Vec<f32> = (0..512 * 4).map(|i| (i % 17) as f32 / 64.0).collect();
        let scales = Tensor::from_vec(&[512, 4, 1], scales)?.cast(ElementType::F16)?;
        let [codes, zeros] =
            [codes, zeros].map(|t| b.constant(t).and_then(|t| b.convert(t, ElementType::F16)));
        let shifted = b.subtract(codes?, zeros?)?;
        let scales = b.constant(scales)?;
        let scaled = b.multiply(shifted, scales)?;
        let matrix = b.reshape(scaled, &[512, 512])?;
        b.convert(matrix, ElementType::F32)
    }

    #[test]
    fn scales_may_be_computed() {
        let b = GraphBuilder::new("g");
        let x = b.parameter("x", ElementType::F32, "N,512").unwrap();
        let bytes = |len: usize| (0..len).map(|i| ((i * 40_503) >> 7) as u8 & 0x77).collect();
        let codes =
            Tensor::new(ElementType::F4E2M1, &[512, 32, 16], Storage::heap(bytes(512 * 256))).unwrap();
        let scales = Tensor::new(ElementType::F8E4M3, &[512, 32, 1], Storage::heap(bytes(512 * 32))).unwrap();
        let codes = b.constant(codes).and_then(|t| b.convert(t, ElementType::F16)).unwrap();
        let scales = b.constant(scales).and_then(|t| b.convert(t, ElementType::F32)).unwrap();
        let common = b.constant(Tensor::from_vec(&[1, 1, 1], vec![0.037f32]).unwrap()).unwrap();
        let scales = b.multiply(scales, common).and_then(|t| b.convert(t, ElementType::F16)).unwrap();
        let scaled = b.multiply(codes, scales).unwrap();
        let matrix = b.reshape(scaled, &[512, 512]).unwrap();
        let matrix = b.convert(matrix, ElementType::F32).unwrap();
        let product = b.op("p", MatMul { transpose_a: false, transpose_b: true }, &[x, matrix]).unwrap();
        b.result("y", product).unwrap();
        let graph = b.finish().unwrap();
        let session = Session::new(&graph).unwrap();
        assert!(session.plan.steps.iter().any(|step| matches!(step.kind, StepKind::Packed(_))));
        // The steps for the input, the matrix multiplication and the result.
        assert_eq!(session.plan.steps.len(), 3);
        let whole = Session::without_folding(&graph).unwrap();
        let x: Vec<f32> = (0..2 * 512).map(|i| (i % 29) as f32 / 7.0 - 2.0).collect();
        let inputs = [Tensor::from_vec(&[2, 512], x).unwrap()];
        let [got, expected] =
            [session, whole].map(|session| session.run(&inputs, Options::default()).complete().unwrap());
        assert_eq!(got, expected);
    }

    #[test]
    fn products_and_rows_of_packed_weights_are_those_of_unpacked_ones() {
        let mut b = GraphBuilder::new("g");
        let x = b.parameter("x", ElementType::F32, "N,512").unwrap();
        let ids = b.parameter("ids", ElementType::I64, "M").unwrap();
        let weights = weights(&mut b).unwrap();
        let product = b.op("p", MatMul { transpose_a: false, transpose_b: true }, &[x, weights]).unwrap();
        let rows = b.gather(weights, ids, 0).unwrap();
        b.result("y", product).unwrap();
        b.result("z", rows).unwrap();
        let graph = b.finish().unwrap();
        let session = Session::new(&graph).unwrap();
        let bytes: usize = session.plan.constants.iter().map(Tensor::size_in_bytes).sum();
        assert!(bytes < 1000, "{bytes}");
        assert!(
            session.plan.steps.iter().filter(|step| matches!(step.kind, StepKind::Packed(_))).count() == 2
        );
        let whole = Session::without_folding(&graph).unwrap();
        let ids = Tensor::from_slice(&[3i64, -1, 511, 512], &[4]).unwrap();
        for count in [1, 5, 70] {
            // These sums are exact in any order.
            let x: Vec<f32> = (0..count * 512).map(|i| (i % 29) as f32 / 8.0 - 2.0).collect();
            let inputs = [Tensor::from_vec(&[count, 512], x).unwrap(), ids.clone()];
            for threads in [1, 2] {
                let options = Options { check_facts: true, threads, ..Options::default() };
                let expected = whole.run(&inputs, options).complete().unwrap();
                assert_eq!(session.run(&inputs, options).complete().unwrap(), expected, "{count}");
            }
        }
    }
}
