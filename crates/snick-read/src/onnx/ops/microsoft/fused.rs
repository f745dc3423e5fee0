//! Fused operators: matrix multiplications and convolutions with activations or sums, and sums with
//! normalisations.

use snick_ir::{Attrs, OpError, Value, ops};
use snick_tensor::ElementType;

use crate::onnx::builder::{NodeBuilder, Result};
use crate::onnx::ops::grid_sample::grid_sample;
use crate::onnx::ops::linear::{gemm, scaled};
use crate::onnx::ops::movement::{gather_nd, pad, trilu};
use crate::onnx::ops::normalization::{layer_norm, rms_norm};
use crate::onnx::ops::parametric::ramp;
use crate::onnx::ops::selection::unique;
use crate::onnx::ops::window::{convolved, max_pool};
use crate::onnx::ops::{ImportEntry, many, one};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("BiasAdd", &[1], |b| {
        let inputs = b.all()?;
        sum(b, &inputs)
    }),
    one("BiasGelu", &[1], |b| gelu(b, "ERF")),
    one("BiasSplitGelu", &[1], bias_split_gelu),
    one("CDist", &[1], distances).attrs("metric"),
    many("EmbedLayerNormalization", &[1], embed_layer_normalization).attrs("epsilon"),
    one("ExpandDims", &[1], |b| {
        let (x, axis) = (b.input(0)?, b.input(1)?);
        b.add_op(ops::Unsqueeze, &[x, axis])
    }),
    one("FastGelu", &[1], |b| gelu(b, "TANH")),
    one("FusedConv", &[1], fused_convolution)
        .attrs("activation activation_params auto_pad dilations group pads strides")
        .ignores("kernel_shape"),
    one("FusedGemm", &[1], |b| {
        let y = gemm(b)?;
        let parameters = [b.attrs.float("activation_alpha")?, b.attrs.float("activation_beta")?];
        activated(b, y, parameters)
    })
    .attrs("activation activation_alpha activation_beta alpha beta transA transB"),
    one("FusedMatMul", &[1], fused_product).attrs("alpha transA transB"),
    one("Gelu", &[1], |b| gelu(b, "ERF")),
    one("GatherND", &[1], gather_nd),
    one("GridSample", &[1], grid_sample).attrs("align_corners mode padding_mode"),
    one("GroupNorm", &[1], group_norm).attrs("activation channels_last epsilon groups"),
    one("Inverse", &[1], |b| {
        let x = b.input(0)?;
        b.ir_op("Inverse", Attrs::new().with("adjoint", false), &[x])
    }),
    one("NhwcMaxPool", &[1], |b| {
        let x = b.input(0)?;
        channels_first_of(b, x, |b, x| {
            b.inputs = vec![Some(x)];
            let values = max_pool(b)?;
            values.first().copied().ok_or(OpError::NotConnected { port: 0 })
        })
    })
    .attrs("auto_pad ceil_mode dilations kernel_shape pads strides"),
    one("Pad", &[1], |b| {
        // This operator is equal to Pad in operator set 11 and later.
        b.since = 11;
        pad(b)
    })
    .attrs("mode"),
    one("QuickGelu", &[1], |b| {
        let (x, alpha) = (b.input(0)?, b.float_attr("alpha", 1.702)?);
        let alpha = b.scalar_like(x, alpha)?;
        b.add_op(ops::Swish, &[x, alpha])
    })
    .attrs("alpha"),
    many("SkipLayerNormalization", &[1], |b| skip_normalization(b, false)).attrs("epsilon"),
    many("SkipSimplifiedLayerNormalization", &[1], |b| skip_normalization(b, true)).attrs("epsilon"),
    one("TransposeMatMul", &[1], fused_product).attrs("alpha transA transB"),
    one("Trilu", &[1], trilu).attrs("upper"),
    many("Unique", &[1], |b| {
        let values = unique(b)?;
        Ok([0, 2, 3].iter().filter_map(|&i| values.get(i).copied()).collect())
    }),
];

/// Applies an operator that expects channels first to images whose channels are last. Adds a transposition
/// before and after it.
pub(super) fn channels_first_of(
    b: &mut NodeBuilder,
    x: Value,
    compute: impl FnOnce(&mut NodeBuilder, Value) -> Result,
) -> Result {
    let rank = b.rank(x)? as i64;
    let there: Vec<i64> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
    let back: Vec<i64> = [0].into_iter().chain(2..rank).chain([1]).collect();
    let x = b.transpose(x, &there)?;
    let y = compute(b, x)?;
    b.transpose(y, &back)
}

/// The distance between each row of the first matrix and each row of the second matrix.
fn distances(b: &mut NodeBuilder) -> Result {
    let (x, y) = (b.input(0)?, b.input(1)?);
    let (x, y) = (b.unsqueeze(x, &[1])?, b.unsqueeze(y, &[0])?);
    let squares = b.squared_difference(x, y)?;
    let sum = b.reduce_sum(squares, &[-1], false)?;
    match b.text_attr("metric", "sqeuclidean")? {
        "sqeuclidean" => Ok(sum),
        "euclidean" => b.sqrt(sum),
        _ => Err(b.attrs.bad("metric", "euclidean or sqeuclidean")),
    }
}

fn sum(b: &mut NodeBuilder, inputs: &[Value]) -> Result {
    let (first, rest) = inputs.split_first().ok_or(OpError::NotConnected { port: 0 })?;
    rest.iter().try_fold(*first, |sum, &next| b.add(sum, next))
}

/// The Gelu of the input, or of the sum of input and bias.
fn gelu(b: &mut NodeBuilder, mode: &'static str) -> Result {
    let inputs: Vec<Value> = [Some(b.input(0)?), b.optional(1)].into_iter().flatten().collect();
    let x = sum(b, &inputs)?;
    b.ir_op("Gelu", Attrs::new().with("approximation_mode", mode), &[x])
}

/// The first half of the last axis times the Gelu of the second half.
fn bias_split_gelu(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let x = sum(b, &inputs)?;
    let halves = b.split(x, -1, 2)?;
    let gate = b.ir_op("Gelu", Attrs::new().with("approximation_mode", "ERF"), &[halves[1]])?;
    b.multiply(halves[0], gate)
}

fn fused_product(b: &mut NodeBuilder) -> Result {
    let mut inputs = b.all()?;
    for (input, name) in inputs.iter_mut().zip(["transBatchA", "transBatchB"]) {
        if b.flag_attr(name, false)? {
            // Moves the first axis to the position after the batch axes.
            let rank = b.rank(*input)? as i64;
            let order: Vec<i64> = (1..rank - 1).chain([0, rank - 1]).collect();
            *input = b.transpose(*input, &order)?;
        }
    }
    let (transpose_a, transpose_b) = (b.flag_attr("transA", false)?, b.flag_attr("transB", false)?);
    let y = b.add_op(ops::MatMul { transpose_a, transpose_b }, &inputs)?;
    let alpha = b.float_attr("alpha", 1.0)?;
    scaled(b, y, alpha)
}

/// A convolution, followed by an optional sum and an activation.
fn fused_convolution(b: &mut NodeBuilder) -> Result {
    let (x, filters) = (b.input(0)?, b.input(1)?);
    let bias = b.optional(2);
    let mut y = convolved(b, x, filters, bias)?;
    if let Some(other) = b.optional(3) {
        y = b.add(y, other)?;
    }
    let parameters = b.attrs.floats("activation_params")?.unwrap_or_default();
    activated(b, y, [parameters.first().copied(), parameters.get(1).copied()])
}

/// Applies the activation that the attribute `activation` names.
fn activated(b: &mut NodeBuilder, y: Value, [alpha, beta]: [Option<f64>; 2]) -> Result {
    let missing = || OpError::MissingAttribute { name: "activation_params" };
    match b.text_attr("activation", "")? {
        "" => Ok(y),
        "Relu" => b.relu(y),
        "Sigmoid" => b.sigmoid(y),
        "Tanh" => b.tanh(y),
        "LeakyRelu" => {
            let slope = b.scalar_like(y, alpha.unwrap_or(0.01))?;
            b.add_op(ops::PRelu, &[y, slope])
        }
        "Clip" => {
            let (low, high) = (alpha.ok_or_else(missing)?, beta.ok_or_else(missing)?);
            b.clamp(y, low, high)
        }
        "HardSigmoid" => ramp(b, y, alpha.unwrap_or(0.2), beta.unwrap_or(0.5)),
        other => Err(OpError::unsupported(format!("activation `{other}`"))),
    }
}

/// Adds a group normalisation. By default, the channels are last. If the attribute `activation` is 1, Swish
/// is applied to the result.
fn group_norm(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (gamma, beta) = (b.input(1)?, b.input(2)?);
    let groups = b.required_int("groups")?;
    let attrs = Attrs::new().with("num_groups", groups).with("epsilon", b.float_attr("epsilon", 1e-5)?);
    let (last, element_type) = (b.flag_attr("channels_last", true)?, b.element_type(x)?);
    let (gamma, beta) = (b.convert(gamma, element_type)?, b.convert(beta, element_type)?);
    let mut y = if last { b.transpose(x, &[0, 3, 1, 2])? } else { x };
    y = b.ir_op("GroupNormalization", attrs, &[y, gamma, beta])?;
    if last {
        y = b.transpose(y, &[0, 2, 3, 1])?;
    }
    if b.flag_attr("activation", false)? { b.add_op(ops::Swish, &[y]) } else { Ok(y) }
}

/// Normalises the sum of the inputs. Returns the normalised sum, the mean, the inverse standard deviation,
/// and the sum itself. For the simplified operator, the mean and the deviation are not supported.
fn skip_normalization(b: &mut NodeBuilder, simplified: bool) -> Result<Vec<Value>> {
    let (scale, at) = (b.input(2)?, if simplified { 3 } else { 4 });
    let parts: Vec<Value> =
        [Some(b.input(0)?), Some(b.input(1)?), b.optional(at)].into_iter().flatten().collect();
    let sum = sum(b, &parts)?;
    let epsilon = b.float_attr("epsilon", if simplified { 1e-6 } else { 1e-12 })?;
    if simplified {
        if b.wants(1) || b.wants(2) {
            return Err(OpError::unsupported("an output of mean or deviation of the simplified operator"));
        }
        let y = rms_norm(b, sum, scale, &[-1], epsilon)?;
        return Ok(vec![y, sum, sum, sum]);
    }
    let bias = b.optional(3);
    let mut outputs = layer_norm(b, sum, scale, bias, &[-1], epsilon)?;
    outputs.resize(3, sum);
    outputs.push(sum);
    Ok(outputs)
}

/// The normalised sum of the embeddings of words, positions and segments.
fn embed_layer_normalization(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let (ids, words, places) = (b.input(0)?, b.input(2)?, b.input(3)?);
    let words = b.gather(words, ids, 0)?;
    let positions = match b.optional(8) {
        Some(positions) => positions,
        None => {
            let length = b.size_of(ids, 1)?;
            b.count_to(length)?
        }
    };
    let mut parts = vec![words, b.gather(places, positions, 0)?];
    if let (Some(segments), Some(table)) = (b.optional(1), b.optional(4)) {
        parts.push(b.gather(table, segments, 0)?);
    }
    let sum = sum(b, &parts)?;
    let (scale, bias, epsilon) = (b.input(5)?, b.input(6)?, b.float_attr("epsilon", 1e-12)?);
    let y = layer_norm(b, sum, scale, Some(bias), &[-1], epsilon)?[0];
    // The length of each sequence, which is the second output.
    let lengths = match b.optional(7) {
        Some(mask) => {
            let mask = b.convert(mask, ElementType::I32)?;
            b.reduce_sum(mask, &[1], false)?
        }
        None => {
            let (batch, zero) = (b.size_of(ids, 0)?, b.scalar(ElementType::I32, 0.0)?);
            b.broadcast_to(zero, batch)?
        }
    };
    Ok(vec![y, lengths, sum])
}
