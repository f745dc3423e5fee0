//! Searches a plan for the layers that can be computed on codes.

use std::sync::Arc;

use snick_ir::ops::elementwise::auto_broadcast::AutoBroadcast;
use snick_ir::ops::elementwise::prelu::PRelu;
use snick_ir::{Fact, Graph, NodeId, Op, Value};
use snick_tensor::Tensor;
use snick_tensor::kernels::{
    BinaryOp, ElementFunction, QuantizedConvolution, QuantizedEpilogue, QuantizedMatMul, QuantizedMaxPool,
    Quantizer, UnaryOp,
};

use super::quantized_values::QuantizedValues;
use super::quantized_weights::QuantizedWeights;
use super::{Computed, Found};
use crate::half_precision::HalfPrecision;
use crate::plan::{Plan, Step, StepKind};
use crate::quantized_step::{QuantizedStep, moved_inputs};

/// Minimum number of multiplications for which computing on codes is worthwhile.
const FEW_PRODUCTS: usize = 1 << 16;

/// A convolution and the layers after it, up to and including a FakeQuantize.
struct Following {
    after: QuantizedEpilogue,
    /// A fused MaxPool. In channels where a greater code represents a smaller value, it selects the minimum
    /// code.
    pool: Option<QuantizedMaxPool>,
    /// The convolution and the layers after it, excluding the FakeQuantize.
    layers: Vec<NodeId>,
    last: NodeId,
}

pub(super) struct Search<'a> {
    plan: &'a Plan,
    graph: &'a Graph,
    quantized: QuantizedValues<'a>,
    /// For each slot: the step that reads it, if there is exactly one.
    reader: Vec<Option<usize>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(plan: &'a Plan, graph: &'a Graph, half_precision: &'a HalfPrecision) -> Self {
        let quantized = QuantizedValues::new(plan, graph, half_precision);
        let mut reader = vec![None; plan.slots];
        for (at, step) in plan.steps.iter().enumerate() {
            for slot in step.operands.iter().filter_map(|operand| operand.slot()) {
                reader[slot] = Some(at).filter(|_| quantized.readers(slot) == 1);
            }
        }
        Self { plan, graph, quantized, reader }
    }

    pub(super) fn all(&self) -> Found {
        let mut found = Found::default();
        for step in &self.plan.steps {
            self.convolution(step, &mut found);
            self.product(step, &mut found);
        }
        for step in &self.plan.steps {
            self.sum(step, &mut found);
        }
        // Visits layers from last to first: if a step reads the codes of a MaxPool, Concat or Split, the codes
        // of its inputs are needed as well. Any other MaxPool of quantized values is also faster on codes.
        for step in self.plan.steps.iter().rev() {
            let mut outputs = (0..step.outs as u32).map(|port| Value { node: step.node, port });
            if outputs.any(|output| found.quantizers.contains_key(&output)) {
                self.pooled(step, &mut found).or_else(|| self.moved_channels(step, &mut found));
            }
        }
        for step in &self.plan.steps {
            let input = self.graph.node(step.node).input(0);
            if input.is_some_and(|input| found.quantizers.contains_key(&input)) {
                self.pooled(step, &mut found);
            }
        }
        found
    }

    /// Adds a convolution to `found`, if it can be computed on codes.
    fn convolution(&self, step: &Step, found: &mut Found) -> Option<()> {
        let sliding = match (self.quantized.op(step.node), &step.kind) {
            (Op::Convolution(op), StepKind::Op) => &op.sliding,
            (Op::GroupConvolution(op), StepKind::Op) => &op.sliding,
            _ => return None,
        };
        let node = self.graph.node(step.node);
        let (input, quantizer) = self.quantized.input(step.node, 0)?;
        let [_, _, height, width] = self.quantized.image(node.input(0)?)?;
        let results: usize = self.quantized.image(node.output(0)?)?.iter().product();
        let weights = self.weights(node.input(1)?)?;
        let [filters @ .., depth, kernel_height, kernel_width] = weights.codes.dims() else { return None };
        let (outputs, length) = (filters.iter().product(), depth * kernel_height * kernel_width);
        if results.saturating_mul(length) < FEW_PRODUCTS {
            return None;
        }
        let (spatial, kernel) = ([height, width], [*kernel_height, *kernel_width]);
        let (window, _) = sliding.windows().concrete(&spatial, &kernel).ok()?;
        let convolution = |after: Option<&QuantizedEpilogue>| {
            let of = QuantizedConvolution::new(weights.filters(), quantizer, spatial, &window, after);
            of.map(Box::new)
        };
        let to_codes = self.following(step, outputs).and_then(|following| {
            let convolution = convolution(Some(&following.after))?;
            Some((convolution, following))
        });
        let inputs = vec![input];
        match to_codes {
            Some((convolution, Following { after, pool, layers, last })) => {
                let last = Value { node: last, port: 0 };
                let kind = QuantizedStep::Convolve(convolution);
                found.quantizers.insert(last, after.quantizer);
                found.computed.insert(last, Computed { kind, pool, inputs });
                found.replaced.extend(layers);
            }
            None => {
                let kind = QuantizedStep::Convolve(convolution(None)?);
                found.contractions.insert(step.node, Computed { kind, pool: None, inputs });
            }
        }
        found.quantizers.insert(input, quantizer.clone());
        found.replaced.extend(weights.layers);
        Some(())
    }

    /// The quantized weights from which a value is unpacked.
    fn weights(&self, value: Value) -> Option<QuantizedWeights> {
        let QuantizedValues { constants, half_precision, .. } = &self.quantized;
        QuantizedWeights::of(value, self.graph, constants, half_precision)
    }

    /// Adds a product of codes and constant weights to `found`.
    fn product(&self, step: &Step, found: &mut Found) -> Option<()> {
        let (Op::MatMul(op), StepKind::Op) = (self.quantized.op(step.node), &step.kind) else { return None };
        let node = self.graph.node(step.node);
        let (input, quantizer) = self.quantized.input(step.node, 0).filter(|_| !op.transpose_a)?;
        let weights = self.weights(node.input(1)?)?;
        let &[outputs, depth] = weights.codes.dims() else { return None };
        let depth = if op.transpose_b { depth } else { outputs };
        // An unknown number of rows counts as one.
        let results = self.graph.fact(node.output(0)?)?.shape.as_static();
        let results = results.map_or(weights.codes.len() / depth.max(1), |dims| dims.iter().product());
        if results.saturating_mul(depth) < FEW_PRODUCTS {
            return None;
        }
        let weights = if op.transpose_b { weights } else { weights.transposed()? };
        let product = Box::new(QuantizedMatMul::new(weights.filters(), quantizer)?);
        let kind = QuantizedStep::Multiply(product);
        found.contractions.insert(step.node, Computed { kind, pool: None, inputs: vec![input] });
        found.quantizers.insert(input, quantizer.clone());
        found.replaced.extend(weights.layers);
        Some(())
    }

    /// Adds a MaxPool of quantized values to `found`.
    fn pooled(&self, step: &Step, found: &mut Found) -> Option<()> {
        let pool = self.quantized.pool(step)?;
        let (input, quantizer) = self.quantized.input(step.node, 0)?;
        let value = Value { node: step.node, port: 0 };
        let own = self.quantized.get(value)?;
        found.quantizers.insert(input, quantizer.clone());
        found.quantizers.insert(value, own.clone());
        let kind = QuantizedStep::MaxPool(Box::new(pool));
        found.computed.insert(value, Computed { kind, pool: None, inputs: vec![input] });
        Some(())
    }

    /// Adds a Concat or Split along the channels of quantized images to `found`. Outputs that no other step
    /// reads as codes are left out.
    fn moved_channels(&self, step: &Step, found: &mut Found) -> Option<()> {
        let node = self.graph.node(step.node);
        let inputs = moved_inputs(node.op(), node.inputs().len()).map(|port| node.input(port));
        let inputs: Vec<Value> = inputs.collect::<Option<_>>()?;
        let outputs: Vec<Value> = (0..step.outs as u32).map(|port| Value { node: step.node, port }).collect();
        let (whole, parts) = match node.op() {
            Op::Concat(_) => (outputs.first()?, &inputs),
            Op::Split(_) | Op::VariadicSplit(_) => (inputs.first()?, &outputs),
            _ => return None,
        };
        let [batch, channels, height, width] = self.quantized.image(*whole)?;
        let (mut groups, mut end) = (Vec::new(), 0);
        for &part in parts {
            let [part_batch, count, part_height, part_width] = self.quantized.image(part)?;
            let is_aligned = count.is_multiple_of(Quantizer::GROUP);
            if !is_aligned || [part_batch, part_height, part_width] != [batch, height, width] {
                return None;
            }
            groups.push(end / Quantizer::GROUP..(end + count) / Quantizer::GROUP);
            end += count;
        }
        let is_image = |quantizer: &Arc<Quantizer>| quantizer.channels().is_some();
        let quantizer =
            |input: &Value| Some((*input, self.quantized.get(*input).filter(|of| is_image(of))?.clone()));
        let quantizers: Vec<_> = inputs.iter().map(quantizer).collect::<Option<_>>()?;
        let needed = |output: &Value| found.quantizers.get(output).is_some_and(is_image);
        let needed: Vec<(usize, Value)> =
            outputs.iter().copied().enumerate().filter(|(_, output)| needed(output)).collect();
        if end != channels || needed.is_empty() {
            return None;
        }
        for (i, output) in needed {
            let kind = match node.op() {
                Op::Concat(_) => QuantizedStep::Concat,
                _ => QuantizedStep::Slice(groups[i].clone()),
            };
            found.computed.insert(output, Computed { kind, pool: None, inputs: inputs.clone() });
        }
        found.quantizers.extend(quantizers);
        found.replaced.insert(step.node);
        Some(())
    }

    /// Matches the layers after a convolution: optionally a bias, a PReLU, a scale, a shift and a clamp, with
    /// at most one MaxPool at any position among them, or a bias, an HSwish and a clamp; and then a
    /// FakeQuantize. These layers must be the only readers of the values between them. `outputs` is the number
    /// of output channels.
    fn following(&self, convolution: &Step, outputs: usize) -> Option<Following> {
        let mut layers = vec![convolution.node];
        let (mut bias, mut slope, mut scale, mut shift, mut clamp) = (None, None, None, None, None);
        let mut has_hswish = false;
        let mut pool = None;
        let mut slot = convolution.first;
        loop {
            let step = self.plan.steps.get(self.reader[slot]?)?;
            if !matches!(step.kind, StepKind::Op) {
                return None;
            }
            let is_data = step.operands.first()?.slot() == Some(slot);
            match self.quantized.op(step.node) {
                Op::FakeQuantize(_) => {
                    let quantizer = self.quantized.get(Value { node: step.node, port: 0 })?.clone();
                    let after = QuantizedEpilogue { bias, has_hswish, slope, scale, shift, clamp, quantizer };
                    return is_data.then_some(Following { after, pool, layers, last: step.node });
                }
                Op::MaxPool(_) if pool.is_none() && !has_hswish => pool = Some(self.quantized.pool(step)?),
                // After a clamp, only a MaxPool or the FakeQuantize may follow.
                _ if clamp.is_some() => return None,
                Op::Arithmetic(_) | Op::PRelu(_) if has_hswish => return None,
                Op::Arithmetic(op) if shift.is_none() && op.broadcast == AutoBroadcast::Numpy => {
                    let is_first = [&bias, &slope, &scale].iter().all(|constant| constant.is_none());
                    let constant = match op.function {
                        BinaryOp::Add if is_first => &mut bias,
                        BinaryOp::Add => &mut shift,
                        BinaryOp::Mul if scale.is_none() => &mut scale,
                        _ => return None,
                    };
                    let value = self.by_channel(step, slot, outputs)?;
                    if op.function == BinaryOp::Mul {
                        pool =
                            pool.map(|pool: QuantizedMaxPool| minimum_where_negative(pool, &value, outputs));
                    }
                    *constant = Some(value);
                }
                Op::PRelu(_) if is_data && slope.is_none() && scale.is_none() && shift.is_none() => {
                    let value = self.by_channel(step, slot, outputs)?;
                    let is_increasing = |slope: &f32| *slope >= 0.0;
                    if pool.is_some() && !value.to_f32_vec().ok()?.iter().all(is_increasing) {
                        return None;
                    }
                    slope = Some(value);
                }
                _ if self.unary(step.node)? == UnaryOp::HSwish => {
                    if has_hswish || pool.is_some() || [&slope, &scale, &shift].iter().any(|of| of.is_some())
                    {
                        return None;
                    }
                    has_hswish = true;
                }
                _ => clamp = Some(self.clamp(step.node)?),
            }
            layers.push(step.node);
            slot = step.first;
        }
    }

    /// The other operand of a step that reads `slot`, if it is a constant that broadcasts to one number per
    /// channel. PReLU aligns a one-dimensional slope with the channels.
    fn by_channel(&self, step: &Step, slot: usize, outputs: usize) -> Option<Tensor> {
        let port = step.operands.iter().position(|operand| operand.slot() != Some(slot))?;
        let mut constant = self.quantized.constants.floats(step.node, port, &mut Vec::new())?;
        if matches!(self.quantized.op(step.node), Op::PRelu(_)) && constant.dims() == [outputs] {
            constant = PRelu::align(&constant, 4).ok()?;
        }
        constant.broadcast_to(&[1, outputs, 1, 1]).is_ok().then_some(constant)
    }

    /// The element-wise function of a layer with one input.
    fn unary(&self, node: NodeId) -> Option<UnaryOp> {
        let inputs = self.graph.inputs(node).into_iter();
        let facts: Option<Vec<&Fact>> = inputs.map(|input| self.graph.fact(input?)).collect();
        match self.quantized.op(node).element_function(&facts?)? {
            ElementFunction::Unary(op) => Some(op),
            ElementFunction::Binary(_) => None,
        }
    }

    /// The bounds to which a layer clamps.
    fn clamp(&self, node: NodeId) -> Option<[f32; 2]> {
        match self.unary(node)? {
            UnaryOp::Relu => Some([0.0, f32::INFINITY]),
            UnaryOp::Clamp { min, max } => Some([min as f32, max as f32]),
            _ => None,
        }
    }

    /// Adds the sum of two quantized values to `found`, if the sum is quantized, too. Between them may be a
    /// ReLU or Clamp that does not change what the quantization returns.
    fn sum(&self, step: &Step, found: &mut Found) -> Option<()> {
        let Op::Arithmetic(op) = self.quantized.op(step.node) else { return None };
        let (StepKind::Op, BinaryOp::Add) = (&step.kind, op.function) else { return None };
        let [(a, left), (b, right)] =
            [self.quantized.input(step.node, 0)?, self.quantized.input(step.node, 1)?];
        let mut layers = vec![step.node];
        let mut last = self.plan.steps.get(self.reader[step.first]?)?;
        let clamp = self.clamp(last.node);
        if clamp.is_some() {
            layers.push(last.node);
            last = self.plan.steps.get(self.reader[last.first]?)?;
        }
        let last = last.node;
        let quantized = Value { node: last, port: 0 };
        let sum = self.quantized.get(quantized)?;
        if clamp.is_some_and(|bounds| !sum.is_within(bounds)) {
            return None;
        }
        let node = self.graph.node(step.node);
        let is_same_size = self.quantized.image(node.input(0)?)? == self.quantized.image(node.input(1)?)?;
        let is_data = self.graph.node(last).input(0).map(|input| input.node) == layers.last().copied();
        let is_near = [a, b, quantized].iter().any(|value| found.quantizers.contains_key(value));
        if !(is_same_size && is_data && is_near && Quantizer::is_addable([left, right], sum)) {
            return None;
        }
        let kind = QuantizedStep::Add { parts: [left.clone(), right.clone()], sum: sum.clone() };
        for (value, quantizer) in [(a, left), (b, right), (quantized, sum)] {
            found.quantizers.insert(value, quantizer.clone());
        }
        found.computed.insert(quantized, Computed { kind, pool: None, inputs: vec![a, b] });
        found.replaced.extend(layers);
        Some(())
    }
}

/// Adapts a MaxPool that is moved after a multiplication by one factor per channel. A negative factor
/// reverses the order of the elements, so the pool selects the minimum in these channels.
fn minimum_where_negative(pool: QuantizedMaxPool, factors: &Tensor, channels: usize) -> QuantizedMaxPool {
    let factors = factors.broadcast_to(&[1, channels, 1, 1]).and_then(|factors| factors.to_f32_vec());
    let is_negative: Vec<bool> = factors.unwrap_or_default().iter().map(|&factor| factor < 0.0).collect();
    pool.with_minimum_in(&is_negative)
}
