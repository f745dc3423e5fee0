//! Finds the values that are quantized: outputs of FakeQuantizes, and of layers that only move such outputs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use snick_ir::ops::elementwise::auto_broadcast::AutoBroadcast;
use snick_ir::{Graph, NodeId, Op, Value};
use snick_tensor::kernels::{QuantizedMaxPool, Quantizer};

use crate::half_precision::HalfPrecision;
use crate::optimize::constant_values::ConstantValues;
use crate::plan::{Plan, Step, StepKind};
use crate::quantized_step::moved_inputs;

/// The quantized values of a plan.
pub(super) struct QuantizedValues<'a> {
    pub(super) graph: &'a Graph,
    pub(super) half_precision: &'a HalfPrecision,
    pub(super) constants: ConstantValues<'a>,
    /// The number of readers of each slot.
    readers: Vec<usize>,
    /// The quantizers that a [`Quantizer`] can represent.
    quantizers: HashMap<Value, Arc<Quantizer>>,
    /// The values that MatMuls multiply with others, and that are therefore quantized as matrices.
    multiplied: HashSet<Value>,
}

impl<'a> QuantizedValues<'a> {
    pub(super) fn new(plan: &'a Plan, graph: &'a Graph, half_precision: &'a HalfPrecision) -> Self {
        let factor = |step: &Step| match graph.node(step.node).op() {
            Op::MatMul(_) => graph.node(step.node).input(0),
            _ => None,
        };
        let mut values = Self {
            graph,
            half_precision,
            constants: ConstantValues::new(plan, graph, half_precision),
            readers: plan.readers(),
            quantizers: HashMap::new(),
            multiplied: plan.steps.iter().filter_map(factor).collect(),
        };
        for step in &plan.steps {
            let value = Value { node: step.node, port: 0 };
            if let Some(quantizer) = values.quantizer(step).or_else(|| values.quantizer_of_pool(step)) {
                values.quantizers.insert(value, quantizer);
            } else if !matches!(values.op(step.node), Op::MaxPool(_)) {
                for port in 0..step.outs as u32 {
                    let value = Value { port, ..value };
                    if let Some(quantizer) = values.quantizer_of_moved(value) {
                        values.quantizers.insert(value, Arc::new(quantizer));
                    }
                }
            }
        }
        values
    }

    /// The quantizer of a value; `None` if it is not quantized.
    pub(super) fn get(&self, value: Value) -> Option<&Arc<Quantizer>> {
        self.quantizers.get(&value)
    }

    /// The number of readers of a slot.
    pub(super) fn readers(&self, slot: usize) -> usize {
        self.readers.get(slot).copied().unwrap_or(0)
    }

    pub(super) fn op(&self, node: NodeId) -> &'a Op {
        self.graph.node(node).op()
    }

    /// The dims of a batch of images. `None` unless the value is computed in `f32`, all dims are known, and
    /// the number of elements does not overflow.
    pub(super) fn image(&self, value: Value) -> Option<[usize; 4]> {
        let dims = self.graph.fact(value)?.shape.as_static().filter(|_| self.is_float(value))?;
        dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim))?;
        <[usize; 4]>::try_from(dims.as_slice()).ok()
    }

    /// The number of channels of a value that is quantized as images. `None` if it is quantized as a matrix.
    fn channels(&self, value: Value) -> Option<usize> {
        let [_, channels, ..] = self.image(value).filter(|_| !self.multiplied.contains(&value))?;
        Some(channels)
    }

    /// Whether a value is computed in `f32`.
    fn is_float(&self, value: Value) -> bool {
        let fact = self.graph.fact(value);
        fact.is_some_and(|fact| self.half_precision.computes_in_f32(fact.element_type))
    }

    /// The quantizer of a FakeQuantize.
    fn quantizer(&self, step: &Step) -> Option<Arc<Quantizer>> {
        let (Op::FakeQuantize(op), StepKind::Op) = (self.op(step.node), &step.kind) else { return None };
        let node = self.graph.node(step.node);
        let (input, output) = (node.input(0)?, node.output(0)?);
        let [before, after] = [input, output].map(|value| self.graph.fact(value)?.shape.rank());
        let is_constant = self.constants.value(input, &mut Vec::new()).is_some();
        let keeps_rank = before.is_some() && before == after && op.broadcast == AutoBroadcast::Numpy;
        if !keeps_rank || is_constant || !self.is_float(output) {
            return None;
        }
        let ranges = self.constants.ranges(step.node, &mut Vec::new())?;
        let (ranges, levels) = (ranges.each_ref(), usize::try_from(op.levels).ok()?);
        let quantizer = match self.channels(output) {
            Some(channels) => Quantizer::new(ranges, levels, channels)?,
            None => Quantizer::of_elements(ranges, levels)?,
        };
        Some(Arc::new(quantizer))
    }

    /// The quantizer of a value that consists of elements of quantized values.
    fn quantizer_of_moved(&self, value: Value) -> Option<Quantizer> {
        let node = self.graph.node(value.node);
        let mut moved = moved_inputs(node.op(), node.inputs().len()).map(|port| node.input(port));
        let first = self.quantizers.get(&moved.next()??)?;
        let is_alike = |input: Option<Value>| self.quantizers.get(&input?).map(|of| of.has_values_of(first));
        let are_alike = moved.all(|input| is_alike(input) == Some(true)) && first.has_values_of(first);
        (are_alike && self.is_float(value)).then(|| first.of_rounded(self.channels(value)))?
    }

    /// The pool of a MaxPool whose indices are not used.
    pub(super) fn pool(&self, step: &Step) -> Option<QuantizedMaxPool> {
        let (Op::MaxPool(op), StepKind::Op) = (self.op(step.node), &step.kind) else { return None };
        if (step.first + 1..step.first + step.outs).any(|slot| self.readers(slot) > 0) {
            return None;
        }
        let [_, _, height, width] = self.image(self.graph.node(step.node).input(0)?)?;
        let kernel: Vec<usize> =
            op.window.kernel.iter().map(|&size| size.try_into().ok()).collect::<Option<_>>()?;
        let (window, counts) = op.window.windows(&op.dilations).concrete(&[height, width], &kernel).ok()?;
        QuantizedMaxPool::new([height, width], &kernel, &window, &counts)
    }

    /// The quantizer of the input of a MaxPool, which also applies to its output.
    fn quantizer_of_pool(&self, step: &Step) -> Option<Arc<Quantizer>> {
        self.pool(step)?;
        let (_, quantizer) = self.input(step.node, 0)?;
        (quantizer.channels().is_some() && quantizer.is_increasing()).then(|| quantizer.clone())
    }

    /// An input and its quantizer; `None` if it is not quantized.
    pub(super) fn input(&self, node: NodeId, port: usize) -> Option<(Value, &Arc<Quantizer>)> {
        let input = self.graph.node(node).input(port)?;
        Some((input, self.quantizers.get(&input)?))
    }
}
