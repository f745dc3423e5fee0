//! Computes convolutions and matrix multiplications of quantized values and quantized weights in integer
//! arithmetic.
//!
//! A quantized model has a FakeQuantize before every convolution and matrix multiplication, and integer
//! weights that subsequent layers scale. The index of a FakeQuantize level, called its code, fits in a byte.
//! Products of codes and integer weights are summed exactly. If the layers after a convolution, up to the
//! next FakeQuantize, have a supported form, they are applied to the sums before the result is stored as
//! codes. Otherwise, sums are stored as values.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use snick_ir::ops::elementwise::auto_broadcast::AutoBroadcast;
use snick_ir::{Fact, Graph, NodeId, Op, Value};
use snick_tensor::Tensor;
use snick_tensor::kernels::{
    BinaryOp, ElementFunction, QuantizedConvolution, QuantizedEpilogue, QuantizedMatMul, QuantizedMaxPool,
    Quantizer, UnaryOp,
};

use super::constant_values::ConstantValues;
use super::quantized_weights::QuantizedWeights;
use crate::half_precision::HalfPrecision;
use crate::plan::{Operand, Plan, Step, StepKind};
use crate::quantized_step::{QuantizedStep, moved_inputs};

/// Minimum number of multiplications for which computing on codes is worthwhile.
const FEW_PRODUCTS: usize = 1 << 16;

/// Replaces the convolutions that can be computed on codes, and the FakeQuantizes before and after them.
pub(super) fn fuse_int8(plan: &mut Plan, graph: &Graph, half_precision: &HalfPrecision) {
    let has_any = plan.steps.iter().any(|step| matches!(graph.node(step.node).op(), Op::FakeQuantize(_)));
    if !has_any || !QuantizedConvolution::is_fast() {
        return;
    }
    let mut found = Search::new(plan, graph, half_precision).all();
    if found.is_empty() {
        return;
    }
    // For each value that is computed as codes, the slot of these codes.
    let slots: HashMap<Value, usize> = found.quantizers.keys().copied().zip(plan.slots..).collect();
    plan.slots += slots.len();
    let numbered =
        |(value, quantizer): (&Value, &Arc<Quantizer>)| (slots[value], (*value, quantizer.clone()));
    plan.codes = found.quantizers.iter().map(numbered).collect();
    let read = |slot| Operand::Slot { slot, last: false };
    let read_all = |inputs: &[Value]| inputs.iter().map(|input| read(slots[input])).collect();
    let mut steps = Vec::with_capacity(plan.steps.len() + slots.len());
    for step in std::mem::take(&mut plan.steps) {
        let node = step.node;
        let new = |kind, operands, first| {
            let kind = StepKind::Quantized(kind);
            Step { node, kind, operands, first, outs: 1, is_checked: false }
        };
        if let Some(Computed { kind, inputs, .. }) = found.values.remove(&node) {
            steps.push(new(kind, read_all(&inputs), step.first));
            continue;
        }
        let outputs = (step.first..).zip(0..).take(step.outs);
        let outputs = outputs.map(|(slot, port)| (slot, Value { node, port }));
        let encoded: Vec<_> = outputs.filter(|(_, value)| slots.contains_key(value)).collect();
        // The outputs of other steps are still computed as values, if they are read.
        let is_replaced = match encoded.first().and_then(|(_, value)| found.computed.get(value)) {
            Some(computed) => !computed.kind.moves_channels(),
            None => matches!(graph.node(node).op(), Op::FakeQuantize(_)),
        };
        let data = step.operands.first().copied().into_iter().collect();
        if !is_replaced || encoded.is_empty() {
            steps.push(step);
        }
        for (slot, value) in encoded {
            let (codes, quantizer) = (slots[&value], found.quantizers[&value].clone());
            let step_of_codes = match found.computed.remove(&value) {
                Some(Computed { kind, pool: None, inputs }) => new(kind, read_all(&inputs), codes),
                Some(Computed { kind, pool: Some(pool), inputs }) => {
                    let convolved = plan.slots;
                    plan.slots += 1;
                    steps.push(new(kind, read_all(&inputs), convolved));
                    new(QuantizedStep::MaxPool(Box::new(pool)), Box::new([read(convolved)]), codes)
                }
                None => {
                    let from = if is_replaced { Box::clone(&data) } else { Box::new([read(slot)]) };
                    new(QuantizedStep::Quantize(quantizer.clone()), from, codes)
                }
            };
            steps.push(step_of_codes);
            if is_replaced {
                steps.push(new(QuantizedStep::Dequantize(quantizer), Box::new([read(codes)]), slot));
            }
        }
    }
    plan.steps = steps;
    found.replaced.extend(found.quantizers.keys().map(|value| value.node));
    plan.remove_unread(&found.replaced);
}

/// The layers that can be computed on codes.
#[derive(Default)]
struct Found {
    /// The values that are computed as codes: outputs of FakeQuantizes, and of layers that move such outputs.
    quantizers: HashMap<Value, Arc<Quantizer>>,
    /// How codes are computed. The codes of a FakeQuantize without an entry are computed by quantizing its
    /// input; those of another layer, by quantizing its output.
    computed: HashMap<Value, Computed>,
    /// The layers whose outputs are values computed from codes.
    values: HashMap<NodeId, Computed>,
    /// Layers that quantized steps replace. They are still computed if they have other readers.
    replaced: HashSet<NodeId>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.computed.is_empty() && self.values.is_empty()
    }
}

struct Computed {
    kind: QuantizedStep,
    /// The MaxPool fused with the step, if any.
    pool: Option<QuantizedMaxPool>,
    /// The values whose codes the step reads.
    inputs: Vec<Value>,
}

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

struct Search<'a> {
    plan: &'a Plan,
    graph: &'a Graph,
    half_precision: &'a HalfPrecision,
    constants: ConstantValues<'a>,
    /// For each slot: the step that reads it, if there is exactly one.
    reader: Vec<Option<usize>>,
    /// The quantizers of the outputs of FakeQuantizes that a [`Quantizer`] can represent, and of layers that
    /// move such outputs.
    quantizers: HashMap<Value, Arc<Quantizer>>,
    /// The values that MatMuls multiply with others, and that are therefore quantized as matrices.
    multiplied: HashSet<Value>,
    /// The number of readers of each slot.
    counts: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(plan: &'a Plan, graph: &'a Graph, half_precision: &'a HalfPrecision) -> Self {
        let constants = ConstantValues::new(plan, graph, half_precision);
        let counts = plan.readers();
        let mut reader = vec![None; plan.slots];
        for (at, step) in plan.steps.iter().enumerate() {
            for slot in step.operands.iter().filter_map(|operand| operand.slot()) {
                reader[slot] = Some(at).filter(|_| counts[slot] == 1);
            }
        }
        let factor = |step: &Step| match graph.node(step.node).op() {
            Op::MatMul(_) => graph.node(step.node).input(0),
            _ => None,
        };
        let multiplied = plan.steps.iter().filter_map(factor).collect();
        let quantizers = HashMap::new();
        let mut search =
            Self { plan, graph, half_precision, constants, reader, quantizers, multiplied, counts };
        for step in &plan.steps {
            let value = Value { node: step.node, port: 0 };
            if let Some(quantizer) = search.quantizer(step).or_else(|| search.quantizer_of_pool(step)) {
                search.quantizers.insert(value, quantizer);
            } else if !matches!(search.op(step.node), Op::MaxPool(_)) {
                for port in 0..step.outs as u32 {
                    let value = Value { port, ..value };
                    if let Some(quantizer) = search.quantizer_of_moved(value) {
                        search.quantizers.insert(value, Arc::new(quantizer));
                    }
                }
            }
        }
        search
    }

    fn op(&self, node: NodeId) -> &'a Op {
        self.graph.node(node).op()
    }

    /// The dims of a batch of images. `None` unless the value is computed in `f32`, all dims are known, and
    /// the number of elements does not overflow.
    fn image(&self, value: Value) -> Option<[usize; 4]> {
        let fact = self.graph.fact(value)?;
        let is_float = self.half_precision.computes_in_f32(fact.element_type);
        let dims = fact.shape.as_static().filter(|_| is_float)?;
        dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim))?;
        <[usize; 4]>::try_from(dims.as_slice()).ok()
    }

    /// The number of channels of a value that is quantized as images, or 0 if it is quantized as a matrix.
    /// `None` if it is not computed in `f32`.
    fn channels(&self, value: Value) -> Option<usize> {
        let is_float = self.half_precision.computes_in_f32(self.graph.fact(value)?.element_type);
        let image = self.image(value).filter(|_| !self.multiplied.contains(&value));
        is_float.then_some(image.map_or(0, |[_, channels, ..]| channels))
    }

    /// The quantizer of a FakeQuantize.
    fn quantizer(&self, step: &Step) -> Option<Arc<Quantizer>> {
        let (Op::FakeQuantize(op), StepKind::Op) = (self.op(step.node), &step.kind) else { return None };
        let node = self.graph.node(step.node);
        let (input, output) = (node.input(0)?, node.output(0)?);
        let [before, after] = [input, output].map(|value| self.graph.fact(value)?.shape.rank());
        let is_constant = self.constants.value(input, &mut Vec::new()).is_some();
        if op.broadcast != AutoBroadcast::Numpy || before.is_none() || before != after || is_constant {
            return None;
        }
        let ranges = self.constants.ranges(step.node, &mut Vec::new())?;
        let (ranges, levels) = (ranges.each_ref(), usize::try_from(op.levels).ok()?);
        let quantizer = match self.channels(output)? {
            0 => Quantizer::of_elements(ranges, levels)?,
            channels => Quantizer::new(ranges, levels, channels)?,
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
        are_alike.then(|| first.of_rounded(self.channels(value)?))?
    }

    /// The pool of a MaxPool whose indices are not used.
    fn pool(&self, step: &Step) -> Option<QuantizedMaxPool> {
        let (Op::MaxPool(op), StepKind::Op) = (self.op(step.node), &step.kind) else { return None };
        let is_read = |slot: usize| self.counts.get(slot).is_some_and(|&count| count > 0);
        if (step.first + 1..step.first + step.outs).any(is_read) {
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
        let (_, quantizer) = self.quantized(step.node, 0)?;
        quantizer.is_increasing().then(|| quantizer.clone())
    }

    /// An input and its quantizer; `None` if it is not quantized.
    fn quantized(&self, node: NodeId, port: usize) -> Option<(Value, &Arc<Quantizer>)> {
        let input = self.graph.node(node).input(port)?;
        Some((input, self.quantizers.get(&input)?))
    }

    fn all(&self) -> Found {
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
        let sliding = match (self.op(step.node), &step.kind) {
            (Op::Convolution(op), StepKind::Op) => &op.sliding,
            (Op::GroupConvolution(op), StepKind::Op) => &op.sliding,
            _ => return None,
        };
        let node = self.graph.node(step.node);
        let (input, quantizer) = self.quantized(step.node, 0)?;
        let [_, _, height, width] = self.image(node.input(0)?)?;
        let results: usize = self.image(node.output(0)?)?.iter().product();
        let weights = QuantizedWeights::of(node.input(1)?, self.graph, &self.constants, self.half_precision)?;
        let [outputs, .., kernel_height, kernel_width] = *weights.codes.dims() else { return None };
        let length = weights.codes.len().checked_div(outputs)?;
        if results.saturating_mul(length) < FEW_PRODUCTS {
            return None;
        }
        let (spatial, kernel) = ([height, width], [kernel_height, kernel_width]);
        let (window, _) = sliding.windows().concrete(&spatial, &kernel).ok()?;
        let convolution = |after: Option<&QuantizedEpilogue>| {
            let of = QuantizedConvolution::new(weights.filters(), quantizer, spatial, &window, after);
            of.map(Box::new)
        };
        let to_codes = self.following(step, outputs).and_then(|following| {
            let convolution = convolution(Some(&following.after))?;
            Some((QuantizedStep::Convolve(convolution), following))
        });
        let inputs = vec![input];
        match to_codes {
            Some((kind, Following { after, pool, layers, last })) => {
                let last = Value { node: last, port: 0 };
                found.quantizers.insert(last, after.quantizer);
                found.computed.insert(last, Computed { kind, pool, inputs });
                found.replaced.extend(layers);
            }
            None => {
                let kind = QuantizedStep::ConvolveToValues(convolution(None)?);
                found.values.insert(step.node, Computed { kind, pool: None, inputs });
            }
        }
        found.quantizers.insert(input, quantizer.clone());
        found.replaced.extend(weights.layers);
        Some(())
    }

    /// Adds a product of codes and constant weights to `found`.
    fn product(&self, step: &Step, found: &mut Found) -> Option<()> {
        let (Op::MatMul(op), StepKind::Op) = (self.op(step.node), &step.kind) else { return None };
        let node = self.graph.node(step.node);
        let (input, quantizer) = self.quantized(step.node, 0).filter(|_| !op.transpose_a)?;
        let weights = QuantizedWeights::of(node.input(1)?, self.graph, &self.constants, self.half_precision)?;
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
        found.values.insert(step.node, Computed { kind, pool: None, inputs: vec![input] });
        found.quantizers.insert(input, quantizer.clone());
        found.replaced.extend(weights.layers);
        Some(())
    }

    /// Adds a MaxPool of quantized values to `found`.
    fn pooled(&self, step: &Step, found: &mut Found) -> Option<()> {
        let pool = self.pool(step)?;
        let (input, quantizer) = self.quantized(step.node, 0)?;
        let value = Value { node: step.node, port: 0 };
        let own = self.quantizers.get(&value)?;
        found.quantizers.insert(input, quantizer.clone());
        found.quantizers.insert(value, own.clone());
        let kind = QuantizedStep::MaxPool(Box::new(pool));
        found.computed.insert(value, Computed { kind, pool: None, inputs: vec![input] });
        Some(())
    }

    /// Adds a Concat or Split of the channels of quantized images to `found`, for those of its outputs that
    /// other steps read as codes.
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
        let [batch, channels, height, width] = self.image(*whole)?;
        let (mut groups, mut end) = (Vec::new(), 0);
        for &part in parts {
            let [part_batch, count, part_height, part_width] = self.image(part)?;
            let is_aligned = count.is_multiple_of(Quantizer::GROUP);
            if !is_aligned || [part_batch, part_height, part_width] != [batch, height, width] {
                return None;
            }
            groups.push(end / Quantizer::GROUP..(end + count) / Quantizer::GROUP);
            end += count;
        }
        let quantizers = inputs.iter().map(|input| Some((*input, self.quantizers.get(input)?.clone())));
        let quantizers: Vec<_> = quantizers.collect::<Option<_>>()?;
        if end != channels || quantizers.iter().any(|(_, quantizer)| quantizer.channels() == 0) {
            return None;
        }
        for (i, output) in outputs.iter().enumerate().filter(|(_, of)| found.quantizers.contains_key(of)) {
            let kind = match node.op() {
                Op::Concat(_) => QuantizedStep::Concat,
                _ => QuantizedStep::Part(groups[i].clone()),
            };
            found.computed.insert(*output, Computed { kind, pool: None, inputs: inputs.clone() });
        }
        found.quantizers.extend(quantizers);
        found.replaced.insert(step.node);
        Some(())
    }

    /// Matches the layers after a convolution: optionally a bias, a PReLU, a scale, a shift and a clamp, with
    /// at most one MaxPool at any position among them, and then a FakeQuantize. These layers must be the only
    /// readers of the values between them. `outputs` is the number of output channels.
    fn following(&self, convolution: &Step, outputs: usize) -> Option<Following> {
        let mut layers = vec![convolution.node];
        let (mut bias, mut slope, mut scale, mut shift, mut clamp) = (None, None, None, None, None);
        let mut pool = None;
        let mut slot = convolution.first;
        loop {
            let step = self.plan.steps.get(self.reader[slot]?)?;
            if !matches!(step.kind, StepKind::Op) {
                return None;
            }
            let is_data = step.operands.first()?.slot() == Some(slot);
            match self.op(step.node) {
                Op::FakeQuantize(_) => {
                    let quantizer = self.quantizers.get(&Value { node: step.node, port: 0 })?.clone();
                    let after = QuantizedEpilogue { bias, slope, scale, shift, clamp, quantizer };
                    return is_data.then_some(Following { after, pool, layers, last: step.node });
                }
                Op::MaxPool(_) if pool.is_none() => pool = Some(self.pool(step)?),
                // After a clamp, only a MaxPool or the FakeQuantize may follow.
                _ if clamp.is_some() => return None,
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
        let mut constant = self.constants.floats(step.node, port, &mut Vec::new())?;
        if matches!(self.op(step.node), Op::PRelu(_)) && constant.dims() == [outputs] {
            constant = constant.reshape(&[outputs, 1, 1]).ok()?;
        }
        constant.broadcast_to(&[1, outputs, 1, 1]).is_ok().then_some(constant)
    }

    /// The bounds to which a layer clamps.
    fn clamp(&self, node: NodeId) -> Option<[f32; 2]> {
        let inputs = self.graph.inputs(node).into_iter();
        let facts: Option<Vec<&Fact>> = inputs.map(|input| self.graph.fact(input?)).collect();
        match self.op(node).element_function(&facts?)? {
            ElementFunction::Unary(UnaryOp::Relu) => Some([0.0, f32::INFINITY]),
            ElementFunction::Unary(UnaryOp::Clamp { min, max }) => Some([min as f32, max as f32]),
            _ => None,
        }
    }

    /// Adds the sum of two quantized values to `found`, if the sum is quantized, too. Between them may be a
    /// ReLU or Clamp that does not change what the quantization returns.
    fn sum(&self, step: &Step, found: &mut Found) -> Option<()> {
        let Op::Arithmetic(op) = self.op(step.node) else { return None };
        let (StepKind::Op, BinaryOp::Add) = (&step.kind, op.function) else { return None };
        let [(a, left), (b, right)] = [self.quantized(step.node, 0)?, self.quantized(step.node, 1)?];
        let mut layers = vec![step.node];
        let mut last = self.plan.steps.get(self.reader[step.first]?)?;
        let clamp = self.clamp(last.node);
        if clamp.is_some() {
            layers.push(last.node);
            last = self.plan.steps.get(self.reader[last.first]?)?;
        }
        let last = last.node;
        let quantized = Value { node: last, port: 0 };
        let sum = self.quantizers.get(&quantized)?;
        if clamp.is_some_and(|bounds| !sum.is_within(bounds)) {
            return None;
        }
        let node = self.graph.node(step.node);
        let is_same_size = self.image(node.input(0)?)? == self.image(node.input(1)?)?;
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

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};
    use snick_tensor::ElementType;

    use super::*;
    use crate::fused_elementwise::FusedLayers;
    use crate::{Options, Session};

    /// Pseudo-random numbers that are the same whenever the test runs.
    fn noise(len: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7919 + 17) % 1013) as f32 / 200.0 - 2.5).collect()
    }

    fn quantize(name: &str, of: &str, [low, high]: [f64; 2]) -> String {
        format!(
            "  %{name}/low = Const-1 f32[] <{low:?}>\n  %{name}/high = Const-1 f32[] <{high:?}>\n  \
             %{name} = FakeQuantize-1(%{of}, %{name}/low, %{name}/high, %{name}/low, %{name}/high) \
             {{levels: 256, auto_broadcast: numpy}}\n"
        )
    }

    /// Weights of i8 that are multiplied by a scale per filter.
    fn weights(name: &str, dims: &[usize]) -> String {
        let list = |values: Vec<String>| values.join(", ");
        let len: usize = dims.iter().product();
        let codes = list((0..len).map(|i| (i * 37 % 96).to_string()).collect());
        let scales = list((0..dims[0]).map(|i| ["0.00317", "0.0209"][i % 2].to_string()).collect());
        let of = |dims: &[usize]| list(dims.iter().map(ToString::to_string).collect());
        let mut by_filter = vec![1; dims.len()];
        by_filter[0] = dims[0];
        format!(
            "  %{name}/codes = Const-1 i8[{}] <{codes}>\n  %{name}/floats = Convert-1(%{name}/codes) \
             {{destination_type: f32}}\n  %{name}/scales = Const-1 f32[{}] <{scales}>\n  \
             %{name} = Multiply-1(%{name}/floats, %{name}/scales) {{auto_broadcast: numpy}}\n",
            of(dims),
            of(&by_filter)
        )
    }

    fn convolve(name: &str, op: &str, inputs: &str, pad: usize) -> String {
        format!(
            "  %{name} = {op}({inputs}) {{strides: [1,1], pads_begin: [{pad},{pad}], pads_end: [{pad},{pad}], \
             auto_pad: explicit, dilations: [1,1]}}\n"
        )
    }

    fn graph(layers: &str) -> Graph {
        let head = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"1,8,24,24\"}\n";
        let head = if layers.contains("f16") { head.replace("f32", "f16") } else { head.into() };
        let mut graph = text::parse(&format!("{head}{layers}}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        graph
    }

    /// The number of quantized steps whose output is codes, and the number of quantized steps whose output is
    /// values. Checks that the plan without these steps has the same outputs, for any number of threads.
    fn on_codes(graph: &Graph) -> [usize; 2] {
        let x = Tensor::from_vec(&[1, 8, 24, 24], noise(8 * 24 * 24)).unwrap();
        let node = graph.parameters().next().unwrap();
        let parameter = graph.fact(Value { node, port: 0 }).unwrap();
        let x = x.cast(parameter.element_type).unwrap();
        let session = Session::new(graph).unwrap();
        let plain =
            Session::without_folding(graph).unwrap().run(std::slice::from_ref(&x), Options::default());
        // Values are rounded after an exact sum; the plan without codes rounds each step of the sum.
        let sums_are_values = session.plan.steps.iter().any(|step| match &step.kind {
            StepKind::Quantized(step) => step.is_contraction(),
            StepKind::Fused(FusedLayers { product: Some(product), .. }) => {
                matches!(&*product.kind, StepKind::Quantized(_))
            }
            _ => false,
        });
        for check_facts in [false, true] {
            for threads in [1, 2] {
                let options = Options { check_facts, threads, ..Options::default() };
                let found = session.run(std::slice::from_ref(&x), options);
                for (found, plain) in found.values.iter().zip(&plain.values) {
                    let [found, plain] =
                        [found, plain].map(|value| value.as_ref().unwrap().cast(ElementType::F32).unwrap());
                    let difference = BinaryOp::Sub.apply(&found, &plain).unwrap().to_f32_vec().unwrap();
                    let largest = difference.iter().fold(0f32, |most, difference| most.max(difference.abs()));
                    assert!(largest <= if sums_are_values { 1e-4 } else { 0.0 }, "{largest}");
                }
                assert_eq!(found.errors.len(), 0);
            }
        }
        let count = |returns_codes| {
            let is_one = |step: &&Step| matches!(&step.kind, StepKind::Quantized(q) if q.returns_codes() == returns_codes);
            session.plan.steps.iter().filter(is_one).count()
        };
        [true, false].map(count)
    }

    #[test]
    fn layers_between_convolutions_are_computed_on_codes() {
        let [unsigned, signed] = [[0.0, 255.0 / 64.0], [-2.0, 127.0 / 64.0]];
        let layers = [
            quantize("a", "x", signed),
            weights("w", &[16, 8, 3, 3]),
            convolve("c", "Convolution-1", "%a, %w", 1),
            "  %bias = Const-1 f32[1,1,1,1] <0.5>\n  %d = Add-1(%c, %bias) {auto_broadcast: numpy}\n".into(),
            "  %e = Clamp-1(%d) {min: 0.0, max: 3.0}\n".into(),
            quantize("f", "e", unsigned),
            weights("v", &[16, 1, 1, 3, 3]),
            convolve("g", "GroupConvolution-1", "%f, %v", 1),
            "  %h = ReLU-1(%g)\n".into(),
            quantize("i", "h", unsigned),
            "  %j = Add-1(%f, %i) {auto_broadcast: numpy}\n  %o = ReLU-1(%j)\n".into(),
            quantize("k", "o", [0.0, 255.0 / 32.0]),
            weights("u", &[24, 16, 1, 1]),
            convolve("l", "Convolution-1", "%k, %u", 0),
            quantize("m", "l", signed),
            "  %n = Sigmoid-1(%m)\n  %y = Result-1(%n)\n  %z = Result-1(%i)\n".into(),
        ];
        // There are five FakeQuantizes. The outputs of two of them are also needed as values.
        let expected = |steps| if QuantizedConvolution::is_fast() { steps } else { [0, 0] };
        let layers = layers.concat();
        assert_eq!(on_codes(&graph(&layers)), expected([5, 2]));
        // These bounds are closer than those of the FakeQuantize, so the sum is computed on values.
        let closer = layers.replace("ReLU-1(%j)", "Clamp-1(%j) {min: 0.0, max: 1.0}");
        assert_eq!(on_codes(&graph(&closer)), expected([5, 3]));
    }

    #[test]
    fn layers_may_move_quantized_values_before_a_convolution() {
        let range = [-2.0, 127.0 / 64.0];
        let layers = |other: [f64; 2]| {
            [
                quantize("a", "x", range),
                "  %axis = Const-1 i64[] <1>\n  %s = Split-1(%a, %axis) {num_splits: 2}\n".into(),
                "  %h = Sigmoid-1(%x)\n".into(),
                quantize("b", "h", other),
                "  %order = Const-1 i64[4] <0, 1, 3, 2>\n  %t = Transpose-1(%b, %order)\n".into(),
                "  %m = Concat-1(%s:1, %t, %s) {axis: 1}\n".into(),
                weights("w", &[24, 16, 3, 3]),
                convolve("c", "Convolution-1", "%m, %w", 1),
                "  %y = Result-1(%c)\n".into(),
            ]
            .concat()
        };
        let expected = |steps| if QuantizedConvolution::is_fast() { steps } else { [0, 0] };
        // The codes of the first FakeQuantize are split, those of the transposed values are computed from these,
        // and all are joined.
        assert_eq!(on_codes(&graph(&layers(range))), expected([5, 1]));
        // Three channels do not share an element, so the joined values are quantized.
        let uneven = layers(range)
            .replace("Split-1(%a, %axis) {num_splits: 2}", "VariadicSplit-1(%a, %axis, %lengths)")
            .replace("  %axis", "  %lengths = Const-1 i64[2] <3, 5>\n  %axis");
        assert_eq!(on_codes(&graph(&uneven)), expected([1, 1]));
        // The values have different levels.
        assert_eq!(on_codes(&graph(&layers([-2.0, 2.0]))), [0, 0]);
    }

    #[test]
    fn lines_after_sums_are_computed_on_codes() {
        let range = [-2.0, 127.0 / 64.0];
        let constant = |name: &str, dims: &[usize], value: &str| {
            let values = vec![value; dims.iter().product()].join(", ");
            format!("  %{name} = Const-1 f32{dims:?} <{values}>\n")
        };
        let layers = |slope: &[usize], last: &str| {
            [
                quantize("a", "x", range),
                weights("w", &[24, 8, 3, 3]),
                convolve("c", "Convolution-1", "%a, %w", 1),
                "  %bias = Const-1 f32[1,1,1,1] <0.5>\n  %d = Add-1(%c, %bias) {auto_broadcast: numpy}\n"
                    .into(),
                constant("slope", slope, "0.25") + "  %e = PReLU-1(%d, %slope)\n",
                constant("scale", &[24, 1, 1], "1.7"),
                "  %f = Multiply-1(%scale, %e) {auto_broadcast: numpy}\n".into(),
                constant("shift", &[], "0.3"),
                "  %g = Add-1(%f, %shift) {auto_broadcast: numpy}\n".into(),
                last.into(),
                quantize("h", "g", range),
                "  %n = Sigmoid-1(%h)\n  %y = Result-1(%n)\n".into(),
            ]
            .concat()
        };
        // The slope may be a single number or one number per channel. The last slope, with one number per
        // column, is not supported.
        let slopes: [(&[usize], _); 4] =
            [(&[], [2, 1]), (&[24], [2, 1]), (&[24, 1, 1], [2, 1]), (&[1, 24], [1, 0])];
        for (slope, steps) in slopes {
            let expected = if QuantizedConvolution::is_fast() { steps } else { [0, 0] };
            assert_eq!(on_codes(&graph(&layers(slope, ""))), expected, "{slope:?}");
        }
        // An inner value has a second reader.
        let read_twice = "  %o = Tanh-1(%f)\n  %z = Result-1(%o)\n";
        // The sums are values.
        let expected = if QuantizedConvolution::is_fast() { [1, 0] } else { [0, 0] };
        assert_eq!(on_codes(&graph(&layers(&[24], read_twice))), expected);
    }

    /// A MaxPool with a stride of 2.
    fn pool(name: &str, of: &str) -> String {
        format!(
            "  %{name} = MaxPool-8(%{of}) {{strides: [2,2], dilations: [1,1], pads_begin: [0,0], \
             pads_end: [1,1], kernel: [3,3], rounding_type: floor, auto_pad: explicit, index_element_type: i64, axis: 0}}\n"
        )
    }

    #[test]
    fn greatest_values_are_pooled_on_codes() {
        let range = [-2.0, 127.0 / 64.0];
        let factors = ["1.7", "-0.9"].repeat(12).join(", ");
        let layers = [
            quantize("a", "x", range),
            pool("b", "a"),
            weights("w", &[24, 8, 3, 3]),
            convolve("c", "Convolution-1", "%b, %w", 1),
            "  %d = ReLU-1(%c)\n".into(),
            pool("e", "d"),
            quantize("f", "e", range),
            weights("v", &[24, 24, 3, 3]),
            convolve("g", "Convolution-1", "%f, %v", 1),
            "  %slope = Const-1 f32[1] <0.25>\n  %h = PReLU-1(%g, %slope)\n".into(),
            pool("i", "h"),
            format!("  %factors = Const-1 f32[24,1,1] <{factors}>\n"),
            "  %j = Multiply-1(%i, %factors) {auto_broadcast: numpy}\n".into(),
            quantize("k", "j", range),
            pool("l", "k"),
            "  %n = Sigmoid-1(%l)\n  %y = Result-1(%n)\n".into(),
        ]
        .concat();
        // There are three FakeQuantizes and four pools. The output of the last pool is also needed as values.
        let expected = |steps| if QuantizedConvolution::is_fast() { steps } else { [0, 0] };
        assert_eq!(on_codes(&graph(&layers)), expected([7, 1]));
        // The indices of the maxima are used, so this pool is not replaced.
        let layers = layers + "  %z = Result-1(%b:1)\n";
        assert_eq!(on_codes(&graph(&layers)), expected([4, 1]));
    }

    /// The form that early tools wrote: both weights and data are quantized by a FakeQuantize and declared as
    /// f16, and most ranges have no level at 0.
    #[test]
    fn weights_may_be_quantized_by_a_range_and_declared_as_f16() {
        let range = [-1.99, 2.03];
        let codes = (0..24 * 8 * 9).map(|i| (i * 37 % 255).to_string()).collect::<Vec<_>>().join(", ");
        let ends = |sign: &str| (0..24).map(|i| format!("{sign}0.{}", 21 + i)).collect::<Vec<_>>().join(", ");
        let layers = [
            quantize("a", "x", range),
            format!(
                "  %codes = Const-1 u8[24,8,3,3] <{codes}>\n  %floats = Convert-1(%codes) {{destination_type: f32}}\n  \
                 %first = Const-1 f32[1] <0.0>\n  %last = Const-1 f32[1] <254.0>\n  \
                 %low = Const-1 f32[24,1,1,1] <{}>\n  %high = Const-1 f32[24,1,1,1] <{}>\n  \
                 %w = FakeQuantize-1(%floats, %first, %last, %low, %high) {{levels: 255, auto_broadcast: numpy}}\n",
                ends("-"),
                ends("")
            ),
            convolve("c", "Convolution-1", "%a, %w", 1),
            "  %slope = Const-1 f32[1] <0.25>\n  %d = PReLU-1(%c, %slope)\n".into(),
            quantize("h", "d", range),
            "  %y = Result-1(%h)\n".into(),
        ]
        .concat();
        let expected = if QuantizedConvolution::is_fast() { [2, 1] } else { [0, 0] };
        assert_eq!(on_codes(&graph(&layers)), expected);
        assert_eq!(on_codes(&graph(&layers.replace("f32", "f16"))), expected);
    }

    /// A MatMul of codes, and the layers after it. The second MatMul has weights that are not transposed, and
    /// reads the same codes.
    #[test]
    fn products_of_quantized_matrices_are_computed_on_codes() {
        let constant = |name: &str, values: &str| format!("  %{name} = Const-1 i64[2] <{values}>\n");
        let product = |name: &str, of: &str, by: &str, transpose: bool| {
            format!("  %{name} = MatMul-1(%{of}, %{by}) {{transpose_a: false, transpose_b: {transpose}}}\n")
        };
        let by_column = weights("v", &[48, 96]).replace("f32[48, 1]", "f32[1, 96]");
        let scales =
            |count: usize| (0..count).map(|i| ["0.00317", "0.0209"][i % 2]).collect::<Vec<_>>().join(", ");
        let layers = [
            constant("dims", "96, 48"),
            "  %rows = Reshape-1(%x, %dims) {special_zero: false}\n".into(),
            quantize("a", "rows", [-2.0, 127.0 / 64.0]),
            weights("w", &[96, 48]),
            product("c", "a", "w", true),
            "  %bias = Const-1 f32[1] <0.5>\n  %d = Add-1(%c, %bias) {auto_broadcast: numpy}\n".into(),
            by_column.replace(&scales(48), &scales(96)),
            product("e", "a", "v", false),
            "  %f = Sigmoid-1(%e)\n  %g = Multiply-1(%d, %f) {auto_broadcast: numpy}\n".into(),
            "  %y = Result-1(%g)\n".into(),
        ];
        let expected = if QuantizedConvolution::is_fast() { [1, 0] } else { [0, 0] };
        assert_eq!(on_codes(&graph(&layers.concat())), expected);
    }

    #[test]
    fn other_weights_and_ranges_are_left_alone() {
        let range = [-2.0, 127.0 / 64.0];
        let [first, last] = [quantize("a", "x", range), quantize("d", "c", range) + "  %y = Result-1(%d)\n"];
        let conv = |pad| convolve("c", "Convolution-1", "%a, %w", pad);
        // There are too few multiplications.
        let few = [first.clone(), weights("w", &[1, 8, 1, 1]), conv(0), last.clone()];
        assert_eq!(on_codes(&graph(&few.concat())), [0, 0]);
        // There is a scale per input channel.
        let by_channel = weights("w", &[8, 8, 3, 3]).replace("f32[8, 1, 1, 1]", "f32[8, 1, 1]");
        assert_eq!(on_codes(&graph(&[first, by_channel, conv(1), last.clone()].concat())), [0, 0]);
        // Each group has a single channel, and the range has no level at 0, so the padding has no code.
        let odd = quantize("a", "x", [-2.0, 2.0]);
        let filters = weights("w", &[8, 1, 1, 3, 3]);
        let grouped = conv(1).replace("Convolution", "GroupConvolution");
        assert_eq!(on_codes(&graph(&[odd, filters, grouped, last].concat())), [0, 0]);
    }
}
