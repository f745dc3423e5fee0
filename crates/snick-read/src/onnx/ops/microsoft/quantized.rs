//! Operators on quantized values. They are converted to layers that dequantize, compute in floats, and
//! quantize again.

use std::sync::Arc;

use snick_ir::{Attrs, Op, OpError, Value, ops};
use snick_tensor::kernels::ReduceOp;
use snick_tensor::{ElementType, Tensor};

use super::fused::channels_first_of;
use crate::onnx::builder::{NodeBuilder, Result};
use crate::onnx::ops::linear::scaled;
use crate::onnx::ops::normalization::softmax_of;
use crate::onnx::ops::quantize::{
    Code, dequantize, dynamically, product_of_integers, quantize, quantized_convolution,
};
use crate::onnx::ops::reduction::reduce_value;
use crate::onnx::ops::window::{average_pool_of, global_mean};
use crate::onnx::ops::{ImportEntry, one};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("DequantizeLinear", &[1], dequantize).attrs("axis"),
    one("DynamicQuantizeMatMul", &[1], |b| {
        let (x, y) = (b.input(0)?, b.input(1)?);
        let (x, code) = dynamically(b, x)?;
        let zeros = [code.zero_point, b.optional(3)];
        let scales = [code.scale, b.input(2)?];
        let product = scaled_product(b, [x, y], zeros, scales)?;
        with_bias(b, product, 4)
    }),
    one("GatherBlockQuantized", &[1], gather_of_blocks).attrs("bits block_size gather_axis quantize_axis"),
    one("MatMulIntegerToFloat", &[1], product_to_real),
    one("MatMulNBits", &[1], product_of_few_bits).attrs("K N accuracy_level bits block_size"),
    one("QGemm", &[1], quantized_gemm).attrs("alpha transA transB"),
    one("QLinearAdd", &[1], |b| pairwise(b, ops::Add::default())),
    one("QLinearAveragePool", &[1], |b| pool(b, average_pool_of))
        .attrs("auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides"),
    one("QLinearConv", &[1], |b| {
        if !b.flag_attr("channels_last", false)? {
            return quantized_convolution(b);
        }
        let x = b.input(0)?;
        channels_first_of(b, x, |b, x| {
            b.inputs[0] = Some(x);
            quantized_convolution(b)
        })
    })
    .attrs("auto_pad channels_last dilations group pads strides")
    .ignores("kernel_shape"),
    one("QLinearConcat", &[1], concat).attrs("axis"),
    one("QLinearGlobalAveragePool", &[1], |b| pool(b, global_mean)).attrs("channels_last"),
    one("QLinearLeakyRelu", &[1], |b| {
        single(b, |b, x| {
            let alpha = b.float_attr("alpha", 0.01)?;
            let slope = b.scalar_like(x, alpha)?;
            b.add_op(ops::PRelu, &[x, slope])
        })
    })
    .attrs("alpha"),
    one("QLinearMul", &[1], |b| pairwise(b, ops::Multiply::default())),
    one("QLinearReduceMean", &[1], |b| {
        single(b, |b, x| {
            let keeps = b.flag_attr("keepdims", true)?;
            reduce_value(b, ReduceOp::Mean, x, keeps)
        })
    })
    .attrs("axes keepdims"),
    one("QLinearSigmoid", &[1], |b| single(b, |b, x| b.sigmoid(x))),
    one("QLinearSoftmax", &[1], |b| {
        // The attribute `opset` selects the operator set whose definition of Softmax applies.
        b.since = b.required_int("opset")?;
        single(b, |b, x| softmax_of(b, x, false))
    })
    .attrs("axis opset"),
    one("QuantizeLinear", &[1], quantize).attrs("axis"),
];

/// A pool that is computed in floats, with channels first or last.
fn pool(b: &mut NodeBuilder, compute: fn(&mut NodeBuilder, Value) -> Result) -> Result {
    let last = b.flag_attr("channels_last", false)?;
    single(b, |b, x| if last { channels_first_of(b, x, compute) } else { compute(b, x) })
}

fn with_bias(b: &mut NodeBuilder, y: Value, input: usize) -> Result {
    match b.optional(input) {
        Some(bias) => b.add(y, bias),
        None => Ok(y),
    }
}

/// Computes a function of one quantized value. Inputs: `x`, its scale and zero point, and the scale and zero
/// point of the result.
fn single(b: &mut NodeBuilder, compute: impl Fn(&mut NodeBuilder, Value) -> Result) -> Result {
    let x = b.input(0)?;
    let target = b.element_type(x)?;
    let real = Code::read(b, 1, 2)?.decode(b, x)?;
    let real = compute(b, real)?;
    Code::read(b, 3, 4)?.encode(b, real, target)
}

/// Computes a binary op on quantized values. Inputs: `x` and `y`, each with its scale and zero point, and the
/// scale and zero point of the result.
fn pairwise(b: &mut NodeBuilder, op: impl Into<Op>) -> Result {
    let (x, y) = (b.input(0)?, b.input(3)?);
    let target = b.element_type(x)?;
    let x = Code::read(b, 1, 2)?.decode(b, x)?;
    let y = Code::read(b, 4, 5)?.decode(b, y)?;
    let real = b.add_op(op, &[x, y])?;
    Code::read(b, 6, 7)?.encode(b, real, target)
}

/// Concatenates quantized values. Inputs: the scale and zero point of the result, then each value with its
/// scale and zero point.
fn concat(b: &mut NodeBuilder) -> Result {
    let axis = b.required_int("axis")?;
    let target = b.input(1)?;
    let target = b.element_type(target)?;
    let mut parts = Vec::new();
    for i in (2..b.inputs.len()).step_by(3) {
        let x = b.input(i)?;
        parts.push(Code::read(b, i + 1, i + 2)?.decode(b, x)?);
    }
    let real = b.concat(axis, &parts)?;
    Code::read(b, 0, 1)?.encode(b, real, target)
}

/// Adds a quantized Gemm. If the node has no scale for the result, the result is not quantized.
fn quantized_gemm(b: &mut NodeBuilder) -> Result {
    let (x, y, bias) = (b.input(0)?, b.input(3)?, b.optional(6));
    let target = b.element_type(x)?;
    let x = Code::read(b, 1, 2)?.decode(b, x)?;
    let scale = Code::read(b, 4, 5)?;
    let (transpose_a, transpose_b) = (b.flag_attr("transA", false)?, b.flag_attr("transB", false)?);
    // With `transB`, the columns of the result are the rows of `y`. A vector with one number for each column
    // then needs a second axis to broadcast to `y`.
    let lay = |b: &mut NodeBuilder, value: Value| {
        if transpose_b && b.rank(value)? == 1 { b.unsqueeze(value, &[-1]) } else { Ok(value) }
    };
    let zero_point = match scale.zero_point {
        Some(zero_point) => Some(lay(b, zero_point)?),
        None => None,
    };
    let y = Code { scale: lay(b, scale.scale)?, zero_point }.decode(b, y)?;
    let product = b.add_op(ops::MatMul { transpose_a, transpose_b }, &[x, y])?;
    let alpha = b.float_attr("alpha", 1.0)?;
    let mut product = scaled(b, product, alpha)?;
    if let Some(bias) = bias {
        // The scale of the bias is the product of `alpha` and the scales of both factors.
        let scales = [b.input(1)?, b.input(4)?];
        let unit = b.ir_op("Multiply", Attrs::new(), &scales)?;
        let bias = Code { scale: unit, zero_point: None }.decode(b, bias)?;
        product = b.add(product, bias)?;
    }
    match b.optional(7) {
        Some(_) => Code::read(b, 7, 8)?.encode(b, product, target),
        None => Ok(product),
    }
}

fn product_to_real(b: &mut NodeBuilder) -> Result {
    let factors = [b.input(0)?, b.input(1)?];
    let (zeros, scales) = ([b.optional(4), b.optional(5)], [b.input(2)?, b.input(3)?]);
    let product = scaled_product(b, factors, zeros, scales)?;
    with_bias(b, product, 6)
}

/// The product of integer matrices, dequantized.
pub(super) fn scaled_product(
    b: &mut NodeBuilder,
    factors: [Value; 2],
    zeros: [Option<Value>; 2],
    scales: [Value; 2],
) -> Result {
    let product = product_of_integers(b, factors, zeros)?;
    let real = b.element_type(scales[0])?;
    let scale = b.ir_op("Multiply", Attrs::new(), &scales)?;
    let product = b.convert(product, real)?;
    b.multiply(product, scale)
}

/// Unpacks a constant of bytes to integers of 2, 4 or 8 bits. The lowest bits of a byte come first.
fn unpacked(b: &mut NodeBuilder, bytes: Value, bits: i64, dims: &[usize]) -> Result {
    let element_type = match bits {
        2 => ElementType::U2,
        4 => ElementType::U4,
        8 => ElementType::U8,
        _ => return Err(b.attrs.bad("bits", "2, 4 or 8")),
    };
    let tensor = match b.constant_value(bytes) {
        Some(tensor) if tensor.element_type() == ElementType::U8 => tensor.contiguous(),
        _ => return Err(OpError::unsupported("weights other than a constant of bytes")),
    };
    let tensor = Tensor::new(element_type, dims, tensor.storage().clone())?;
    let packed = b.constant(Arc::new(tensor))?;
    b.convert(packed, ElementType::U8)
}

/// Gathers rows of a table of 2-, 4- or 8-bit integers with one scale for each block of a row. The default
/// zero point is half the range.
fn gather_of_blocks(b: &mut NodeBuilder) -> Result {
    let (table, indices, scales) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let (bits, block) = (b.int_attr("bits", 4)?, b.int_attr("block_size", 128)?);
    let dims = b.dims(table).ok_or_else(|| OpError::unsupported("a table of unknown size"))?;
    let last = dims.len() as i64 - 1;
    let rows = b.int_attr("gather_axis", 0)? == 0 && [last, -1].contains(&b.int_attr("quantize_axis", 1)?);
    if !rows || last < 1 || b.element_type(table)? != ElementType::U8 {
        return Err(OpError::unsupported("a block axis other than the rows of a table of bytes"));
    }
    let per_byte = usize::try_from(8 / bits.max(1)).unwrap_or(1).max(1);
    let codes = |b: &mut NodeBuilder, value: Value, along: Option<i64>| {
        let mut dims = b.dims(value).unwrap_or_default();
        if let Some(last) = dims.last_mut() {
            *last = last.saturating_mul(per_byte);
        }
        let codes = unpacked(b, value, bits, &dims)?;
        let codes = match along {
            // Each row of zero points is padded to whole bytes.
            Some(blocks) => b.slice_range(codes, -1, 0, blocks)?,
            None => codes,
        };
        b.gather(codes, indices, 0)
    };
    let real = b.element_type(scales)?;
    let blocks = b.dims(scales).and_then(|dims| dims.last().copied());
    let blocks = blocks.ok_or_else(|| OpError::unsupported("scales of unknown size"))? as i64;
    let values = codes(b, table, None)?;
    let values = b.convert(values, real)?;
    let rank = b.rank(values)?;
    let mut form = vec![0; rank.saturating_sub(1)];
    form.extend([blocks, -1]);
    // Rows whose last block is shorter are not supported.
    if dims.last().map(|&last| last.saturating_mul(per_byte) as i64) != Some(blocks.saturating_mul(block)) {
        return Err(OpError::unsupported("blocks that do not fill the rows"));
    }
    let form = b.ints(&form)?;
    let values = b.reshape_copying(values, form)?;
    let zero_point = match b.optional(3) {
        Some(zero_point) => {
            let zero_point = codes(b, zero_point, Some(blocks))?;
            let zero_point = b.convert(zero_point, real)?;
            b.unsqueeze(zero_point, &[-1])?
        }
        None => half_range(b, real, bits)?,
    };
    let values = b.subtract(values, zero_point)?;
    let scales = b.gather(scales, indices, 0)?;
    let scales = b.unsqueeze(scales, &[-1])?;
    let values = b.multiply(values, scales)?;
    let mut form = vec![0; rank.saturating_sub(1)];
    form.push(-1);
    let form = b.ints(&form)?;
    b.reshape_copying(values, form)
}

/// Half the range of an integer with this number of bits, which is the default zero point.
fn half_range(b: &mut NodeBuilder, real: ElementType, bits: i64) -> Result {
    b.scalar(real, 2f64.powi(i32::try_from(bits).unwrap_or(1) - 1))
}

/// A matrix multiplication by weights `[N, blocks, bytes]` of 2, 4 or 8 bits. Each block has a scale and a
/// zero point. The default zero point is half the range.
fn product_of_few_bits(b: &mut NodeBuilder) -> Result {
    if b.optional(4).is_some() {
        return Err(OpError::unsupported("an index of groups"));
    }
    let size = |b: &NodeBuilder, name: &'static str| {
        let size = b.attrs.int(name)?.ok_or(OpError::MissingAttribute { name })?;
        usize::try_from(size)
            .ok()
            .filter(|&size| size > 0)
            .ok_or_else(|| b.attrs.bad(name, "a positive size"))
    };
    let (n, k, block) = (size(b, "N")?, size(b, "K")?, size(b, "block_size")?);
    let (bits, blocks) = (b.int_attr("bits", 4)?, k.div_ceil(block));
    b.attrs.int("accuracy_level")?;
    let (x, scales, packed) = (b.input(0)?, b.input(2)?, b.input(1)?);
    let real = b.element_type(x)?;
    let weights = unpacked(b, packed, bits, &[n, blocks, block])?;
    let weights = b.convert(weights, real)?;
    let form = [n as i64, blocks as i64, 1];
    let zero_point = match b.optional(3) {
        Some(zero_point) if b.element_type(zero_point)? == ElementType::U8 => {
            // Each row of zero points is padded to whole bytes.
            let per_byte = usize::try_from(8 / bits.max(1)).unwrap_or(1).max(1);
            let line = blocks.div_ceil(per_byte).saturating_mul(per_byte);
            let all = unpacked(b, zero_point, bits, &[n, line])?;
            let used = b.slice_range(all, 1, 0, blocks as i64)?;
            let used = b.convert(used, real)?;
            b.reshape(used, &form)?
        }
        Some(zero_point) => b.reshape(zero_point, &form)?,
        None => half_range(b, real, bits)?,
    };
    let weights = b.subtract(weights, zero_point)?;
    let scales = b.reshape(scales, &form)?;
    let weights = b.multiply(weights, scales)?;
    let weights = b.reshape(weights, &[n as i64, -1])?;
    let weights = b.slice_range(weights, 1, 0, k as i64)?;
    let y = b.matmul_transposed(x, weights)?;
    with_bias(b, y, 5)
}
