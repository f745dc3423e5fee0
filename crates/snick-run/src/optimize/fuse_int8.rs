//! Computes convolutions and matrix multiplications of quantized values and quantized weights in integer
//! arithmetic.
//!
//! A quantized model has a FakeQuantize before every convolution and matrix multiplication, and integer
//! weights that subsequent layers scale. The index of a FakeQuantize level, called its code, fits in a byte.
//! Products of codes and integer weights are summed exactly. If the layers after a convolution, up to the
//! next FakeQuantize, have a supported form, they are applied to the sums before the result is stored as
//! codes. Otherwise, sums are stored as values.

mod quantized_values;
mod quantized_weights;
mod search;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use snick_ir::{Graph, NodeId, Op, Value};
use snick_tensor::kernels::{QuantizedConvolution, QuantizedMaxPool, Quantizer};

use self::search::Search;
use crate::half_precision::HalfPrecision;
use crate::plan::{Operand, Plan, Step, StepKind};
use crate::quantized_step::QuantizedStep;

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
        if let Some(Computed { kind, inputs, .. }) = found.contractions.remove(&node) {
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
    /// How codes are computed. Without an entry, a FakeQuantize quantizes its input, and the output of any
    /// other layer is quantized after it.
    computed: HashMap<Value, Computed>,
    /// The convolutions and products that read codes and whose outputs are values.
    contractions: HashMap<NodeId, Computed>,
    /// Layers that quantized steps replace. They are still computed if they have other readers.
    replaced: HashSet<NodeId>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.computed.is_empty() && self.contractions.is_empty()
    }
}

struct Computed {
    kind: QuantizedStep,
    /// The MaxPool fused with the step, if any.
    pool: Option<QuantizedMaxPool>,
    /// The values whose codes the step reads.
    inputs: Vec<Value>,
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};
    use snick_tensor::kernels::BinaryOp;
    use snick_tensor::{ElementType, Tensor};

    use super::*;
    use crate::fused_elementwise::{Contraction, FusedLayers};
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
        let filters = dims.len().div_ceil(4);
        let count = dims[..filters].iter().product();
        let scales = list((0..count).map(|i: usize| ["0.00317", "0.0209"][i % 2].to_string()).collect());
        let of = |dims: &[usize]| list(dims.iter().map(ToString::to_string).collect());
        format!(
            "  %{name}/codes = Const-1 i8[{}] <{codes}>\n  %{name}/floats = Convert-1(%{name}/codes) \
             {{destination_type: f32}}\n  %{name}/scales = Const-1 f32[{}] <{scales}>\n  \
             %{name} = Multiply-1(%{name}/floats, %{name}/scales) {{auto_broadcast: numpy}}\n",
            of(dims),
            of(&[&dims[..filters], &[1; 3][..dims.len() - filters]].concat())
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
                matches!(product.computation, Contraction::Quantized(_))
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
            weights("u", &[2, 12, 8, 1, 1]),
            convolve("l", "GroupConvolution-1", "%k, %u", 0),
            quantize("m", "l", signed),
            "  %n = Sigmoid-1(%m)\n  %y = Result-1(%n)\n  %z = Result-1(%i)\n".into(),
        ];
        // There are five FakeQuantizes. The outputs of two of them are also needed as values.
        let expected = |steps| if QuantizedConvolution::is_fast() { steps } else { [0, 0] };
        let layers = layers.concat();
        assert_eq!(on_codes(&graph(&layers)), expected([5, 2]));
        // The Clamp cuts off values that the FakeQuantize keeps, so the sum is not computed on codes.
        let closer = layers.replace("ReLU-1(%j)", "Clamp-1(%j) {min: 0.0, max: 1.0}");
        assert_eq!(on_codes(&graph(&closer)), expected([5, 3]));
    }

    #[test]
    fn an_hswish_after_a_bias_is_computed_on_codes() {
        let range = [-2.0, 127.0 / 64.0];
        let layers = |after: &str| {
            [
                quantize("a", "x", range),
                weights("w", &[16, 8, 3, 3]),
                convolve("c", "Convolution-1", "%a, %w", 1),
                "  %bias = Const-1 f32[1,1,1,1] <0.5>\n".into(),
                after.into(),
                quantize("f", "e", range),
                weights("v", &[16, 1, 1, 3, 3]),
                convolve("g", "GroupConvolution-1", "%f, %v", 1),
                "  %h = HSwish-4(%g)\n".into(),
                quantize("i", "h", range),
                "  %n = Sigmoid-1(%i)\n  %y = Result-1(%n)\n".into(),
            ]
            .concat()
        };
        let expected = if QuantizedConvolution::is_fast() { [3, 1] } else { [0, 0] };
        let biased = "  %d = Add-1(%c, %bias) {auto_broadcast: numpy}\n  %e = HSwish-4(%d)\n";
        assert_eq!(on_codes(&graph(&layers(biased))), expected);
        // After an HSwish, a bias is not supported: the sums are values, and layers after them are fused.
        let shifted = "  %d = HSwish-4(%c)\n  %e = Add-1(%d, %bias) {auto_broadcast: numpy}\n";
        assert_eq!(on_codes(&graph(&layers(shifted))), expected);
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
        // The first value is split on codes. The second one is transposed and then quantized. The Concat
        // joins their codes.
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

    /// A value that a MatMul multiplies has another layout than images, so the layers that want images read
    /// values.
    #[test]
    fn codes_of_a_matrix_are_not_read_as_an_image() {
        let layers = [
            quantize("a", "x", [-2.0, 127.0 / 64.0]),
            weights("w", &[48, 24]),
            "  %p = MatMul-1(%a, %w) {transpose_a: false, transpose_b: true}\n  %u = Result-1(%p)\n".into(),
            pool("m", "a"),
            "  %v = Result-1(%m)\n  %d = Concat-1(%a, %a) {axis: 1}\n".into(),
            weights("f", &[24, 16, 3, 3]),
            convolve("c", "Convolution-1", "%d, %f", 1),
            "  %s = Add-1(%a, %a) {auto_broadcast: numpy}\n".into(),
            quantize("t", "s", [-2.0, 127.0 / 64.0]),
            "  %y = Result-1(%c)\n  %z = Result-1(%t)\n".into(),
        ];
        let layers = layers.concat();
        let expected = |steps| if QuantizedConvolution::is_fast() { steps } else { [0, 0] };
        assert_eq!(on_codes(&graph(&layers)), expected([2, 3]));
        // A MatMul reads joined channels, of a matrix or of an image.
        let product =
            "  %q = MatMul-1(%d, %w) {transpose_a: false, transpose_b: true}\n  %o = Result-1(%q)\n";
        let layers = layers + product;
        assert_eq!(on_codes(&graph(&layers)), expected([2, 3]));
        let joined = [
            quantize("a", "x", [-2.0, 127.0 / 64.0]),
            "  %d = Concat-1(%a, %a) {axis: 1}\n".into(),
            weights("w", &[48, 24]),
            product.into(),
        ];
        assert_eq!(on_codes(&graph(&joined.concat())), expected([1, 1]));
    }

    /// A MatMul of codes, and the layers after it. The second MatMul has weights that are not transposed, and
    /// reads the same codes.
    #[test]
    fn products_of_quantized_matrices_are_computed_on_codes() {
        let constant = |name: &str, values: &str| format!("  %{name} = Const-1 i64[2] <{values}>\n");
        let product = |name: &str, of: &str, by: &str, transpose: bool| {
            format!("  %{name} = MatMul-1(%{of}, %{by}) {{transpose_a: false, transpose_b: {transpose}}}\n")
        };
        let scales =
            |count: usize| (0..count).map(|i| ["0.00317", "0.0209"][i % 2]).collect::<Vec<_>>().join(", ");
        let by_column = weights("v", &[48, 96]).replace("f32[48, 1]", "f32[1, 96]");
        let by_column = by_column.replace(&scales(48), &scales(96));
        let layers = [
            constant("dims", "96, 48"),
            "  %rows = Reshape-1(%x, %dims) {special_zero: false}\n".into(),
            quantize("a", "rows", [-2.0, 127.0 / 64.0]),
            weights("w", &[96, 48]),
            product("c", "a", "w", true),
            "  %bias = Const-1 f32[1] <0.5>\n  %d = Add-1(%c, %bias) {auto_broadcast: numpy}\n".into(),
            by_column.clone(),
            product("e", "a", "v", false),
            "  %f = Sigmoid-1(%e)\n  %g = Multiply-1(%d, %f) {auto_broadcast: numpy}\n".into(),
            "  %y = Result-1(%g)\n".into(),
        ];
        let expected = if QuantizedConvolution::is_fast() { [1, 0] } else { [0, 0] };
        let layers = layers.concat();
        assert_eq!(on_codes(&graph(&layers)), expected);
        // Weights so large that other products would keep them packed.
        let large = layers.replace(&weights("w", &[96, 48]), &weights("w", &[256, 256]));
        let large = large.replace(&by_column, &weights("v", &[256, 256])).replace("96, 48", "18, 256");
        assert_eq!(on_codes(&graph(&large.replace("transpose_b: false", "transpose_b: true"))), expected);
        assert_eq!(on_codes(&graph(&layers.replace("f32", "f16"))), expected);
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
