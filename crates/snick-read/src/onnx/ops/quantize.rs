//! Quantization.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::exact::{Parts, Summed, exact_parts};
use super::normalization::along_channels;
use super::window::convolved;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("ConvInteger", &[10], convolution_of_integers)
        .attrs("auto_pad dilations group pads strides")
        .ignores("kernel_shape"),
    one("DequantizeLinear", &[10, 13, 19, 21, 23, 24, 25], dequantize).attrs("axis block_size output_dtype"),
    many("DynamicQuantizeLinear", &[11], |b| {
        let x = b.input(0)?;
        let (y, Code { scale, zero_point }) = dynamically(b, x)?;
        Ok([Some(y), Some(scale), zero_point].into_iter().flatten().collect())
    }),
    one("MatMulInteger", &[10], |b| {
        let (x, y) = (b.input(0)?, b.input(1)?);
        let zeros = [b.optional(2), b.optional(3)];
        let product = product_of_integers(b, [x, y], zeros)?;
        b.convert(product, ElementType::I32)
    }),
    one("QLinearConv", &[10], quantized_convolution)
        .attrs("auto_pad dilations group pads strides")
        .ignores("kernel_shape"),
    one("QLinearMatMul", &[10, 21], quantized_product),
    one("QuantizeLinear", &[10, 13, 19, 21, 23, 24, 25], quantize)
        .attrs("axis block_size output_dtype precision saturate"),
];

/// The parameters of a quantization. An integer `x` represents the number `(x - zero_point) * scale`.
#[derive(Copy, Clone)]
pub(super) struct Code {
    /// The scale: a scalar, a vector along the axis, or one number for each block of elements.
    pub(super) scale: Value,
    /// The zero point, with the same shape as `scale`.
    pub(super) zero_point: Option<Value>,
}

impl Code {
    /// Reads scale and zero point from these two inputs of the node.
    pub(super) fn read(b: &NodeBuilder, scale: usize, zero_point: usize) -> Result<Self, OpError> {
        Ok(Self { scale: b.input(scale)?, zero_point: b.optional(zero_point) })
    }

    /// Reshapes or repeats scale and zero point so that they broadcast to `x`, according to the attributes of
    /// the node.
    fn laid(self, b: &mut NodeBuilder, x: Value) -> Result<Self, OpError> {
        let zero_point = match self.zero_point {
            Some(zero_point) => Some(along_axis(b, zero_point, x)?),
            None => None,
        };
        Ok(Self { scale: along_axis(b, self.scale, x)?, zero_point })
    }

    /// Dequantizes `x` to the type of the scale.
    pub(super) fn decode(self, b: &mut NodeBuilder, x: Value) -> Result {
        let real = b.element_type(self.scale)?;
        let mut y = b.convert(x, real)?;
        if let Some(zero_point) = self.zero_point {
            let zero_point = b.convert(zero_point, real)?;
            y = b.subtract(y, zero_point)?;
        }
        b.multiply(y, self.scale)
    }

    /// Quantizes `x`: divides, rounds half to even, and saturates.
    pub(super) fn encode(self, b: &mut NodeBuilder, x: Value, target: ElementType) -> Result {
        let real = b.element_type(self.scale)?;
        let x = b.convert(x, real)?;
        let mut y = b.divide(x, self.scale)?;
        if target.is_float() {
            // For floats, the zero point is always 0. Adding 0 turns negative zeros into positive zeros.
            y = b.add(y, 0.0)?;
            return saturated(b, y, target);
        }
        let range = target.integer_range().filter(|_| target.bit_width().is_some_and(|width| width <= 16));
        let (low, high) = range.ok_or_else(|| OpError::unsupported(format!("quantizing to {target}")))?;
        y = b.ir_op("Round", Attrs::new().with("mode", "half_to_even"), &[y])?;
        // Adding the zero point could overflow a small float type, so it is added in f32.
        y = b.convert(y, ElementType::F32)?;
        if let Some(zero_point) = self.zero_point {
            let zero_point = b.convert(zero_point, ElementType::F32)?;
            y = b.add(y, zero_point)?;
        }
        y = b.clamp(y, low as f64, high as f64)?;
        b.convert(y, target)
    }
}

/// Converts to a small float type, with saturation.
pub(super) fn saturated(b: &mut NodeBuilder, x: Value, target: ElementType) -> Result {
    let greatest = match target {
        ElementType::F8E4M3 => 448.0,
        ElementType::F8E5M2 => 57344.0,
        ElementType::F4E2M1 => 6.0,
        other => return Err(OpError::unsupported(format!("quantizing to {other}"))),
    };
    let mut x = x;
    if target == ElementType::F4E2M1 {
        // F4E2M1 has no NaN; the standard converts NaN to negative zero.
        let wrong = b.ir_op("IsNaN", Attrs::new(), &[x])?;
        x = b.select(wrong, -0.0, x)?;
    }
    // Comparisons with NaN are false, so NaN stays NaN.
    let (high, low) = (b.scalar_like(x, greatest)?, b.scalar_like(x, -greatest)?);
    let (above, below) = (b.greater(x, high)?, b.less(x, low)?);
    let kept = b.select(above, high, x)?;
    let kept = b.select(below, low, kept)?;
    b.convert(kept, target)
}

pub(super) fn dequantize(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let code = Code::read(b, 1, 2)?.laid(b, x)?;
    let y = code.decode(b, x)?;
    match b.type_attr("output_dtype")? {
        Some(element_type) => b.convert(y, element_type),
        None => Ok(y),
    }
}

pub(super) fn quantize(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let target = match (b.optional(2), b.type_attr("output_dtype")?) {
        (Some(zero_point), _) => b.element_type(zero_point)?,
        (None, Some(element_type)) => element_type,
        (None, None) => ElementType::U8,
    };
    if !b.flag_attr("saturate", true)? && target.is_float() {
        return Err(OpError::unsupported("a conversion that does not saturate"));
    }
    let mut code = Code::read(b, 1, 2)?.laid(b, x)?;
    if let Some(precision) = b.type_attr("precision")? {
        code.scale = b.convert(code.scale, precision)?;
    }
    code.encode(b, x, target)
}

/// Makes a parameter broadcast to `x`. The parameter has one number for all elements, one for each index of
/// the axis, or one for each block along the axis.
fn along_axis(b: &mut NodeBuilder, parameter: Value, x: Value) -> Result {
    let axis = b.int_attr("axis", 1)?;
    match (b.int_attr("block_size", 0)?, b.rank(parameter)?) {
        (0, 0) => Ok(parameter),
        (0, 1) if b.dims(parameter).is_some_and(|d| d == [1]) => b.to_scalar(parameter),
        (0, 1) => {
            let rank = b.rank(x)?;
            let axis = b.axis(axis, rank)?;
            let mut sizes = vec![1; rank];
            sizes[axis] = -1;
            b.reshape(parameter, &sizes)
        }
        (0, rank) => Err(OpError::rank("a parameter", rank, "0 or 1")),
        (block, _) => {
            let (size, block) = (b.size_of(x, axis)?, b.int(block)?);
            let places = b.count_to(size)?;
            let blocks = b.divide(places, block)?;
            b.gather(parameter, blocks, axis)
        }
    }
}

/// Quantizes to u8. The range is chosen so that it contains 0 and all values.
pub(super) fn dynamically(b: &mut NodeBuilder, x: Value) -> Result<(Value, Code), OpError> {
    let real = b.element_type(x)?;
    // Flattens first, because the rank may be unknown.
    let flat = b.reshape(x, &[-1])?;
    let zero = b.scalar(real, 0.0)?;
    let (low, high) = (b.reduce_min(flat, &[0], false)?, b.reduce_max(flat, &[0], false)?);
    let (low, high) = (b.minimum(low, zero)?, b.maximum(high, zero)?);
    let width = b.subtract(high, low)?;
    let scale = b.divide(width, 255.0)?;
    // If all values are zero, the scale would be 0, so it is replaced by 1.
    let empty = b.equal(scale, zero)?;
    let scale = b.select(empty, 1.0, scale)?;
    let below = b.negative(low)?;
    let zero_point = Code { scale, zero_point: None }.encode(b, below, ElementType::U8)?;
    let code = Code { scale, zero_point: Some(zero_point) };
    Ok((code.encode(b, x, ElementType::U8)?, code))
}

/// Subtracts the zero point from integers, in an element type that can represent every result.
fn centred(b: &mut NodeBuilder, x: Value, zero_point: Option<Value>, target: ElementType) -> Result {
    let x = b.convert(x, target)?;
    let Some(zero_point) = zero_point else { return Ok(x) };
    let zero_point = b.convert(zero_point, target)?;
    b.subtract(x, zero_point)
}

/// Turns a vector with one number for each row of a matrix into a column, so that it broadcasts to the
/// matrix. Values of other ranks need no change.
fn along_rows(b: &mut NodeBuilder, parameter: Value) -> Result {
    if b.rank(parameter)? == 1 { b.unsqueeze(parameter, &[-1]) } else { Ok(parameter) }
}

/// The exact product of integer matrices. With constant weights, it is computed in f32, which is fast on all
/// hardware. Otherwise, it is computed in i32.
pub(super) fn product_of_integers(
    b: &mut NodeBuilder,
    factors: [Value; 2],
    zeros: [Option<Value>; 2],
) -> Result {
    let zero_of_rows = match zeros[0] {
        Some(zero) => Some(along_rows(b, zero)?),
        None => None,
    };
    let parts = exact_parts(b, factors[0], factors[1], zeros[1], Summed::Rows);
    let target = if parts.is_some() { ElementType::F32 } else { ElementType::I32 };
    let x = centred(b, factors[0], zero_of_rows, target)?;
    let y = centred(b, factors[1], zeros[1], target)?;
    summed_in_parts(b, [x, y], [-1, -2], parts, |b, x, y| b.matmul(x, y))
}

/// Sums products over parts of an axis, and adds up the parts in i32.
fn summed_in_parts(
    b: &mut NodeBuilder,
    [x, y]: [Value; 2],
    axes: [i64; 2],
    parts: Option<Parts>,
    multiply: impl Fn(&mut NodeBuilder, Value, Value) -> Result,
) -> Result {
    let parts = parts.unwrap_or_default();
    if parts.len() < 2 {
        return multiply(b, x, y);
    }
    let mut sum = None;
    for (start, stop) in parts {
        let (x, y) = (b.slice_range(x, axes[0], start, stop)?, b.slice_range(y, axes[1], start, stop)?);
        let part = multiply(b, x, y)?;
        let part = b.convert(part, ElementType::I32)?;
        sum = Some(match sum {
            Some(sum) => b.add(sum, part)?,
            None => part,
        });
    }
    sum.ok_or(OpError::NotConnected { port: 0 })
}

fn quantized_product(b: &mut NodeBuilder) -> Result {
    let factors = [b.input(0)?, b.input(3)?];
    let zeros = [b.optional(2), b.optional(5)];
    let product = product_of_integers(b, factors, zeros)?;
    let rows = b.input(1)?;
    let scales = [along_rows(b, rows)?, b.input(4)?];
    let mut code = Code::read(b, 6, 7)?;
    code.scale = along_rows(b, code.scale)?;
    rescaled(b, product, scales, code)
}

/// Requantizes a sum of integer products, whose scale is the product of the two `scales`.
fn rescaled(b: &mut NodeBuilder, sum: Value, scales: [Value; 2], code: Code) -> Result {
    let real = b.element_type(scales[0])?;
    let scale = b.ir_op("Multiply", Attrs::new(), &scales)?;
    let sum = b.convert(sum, real)?;
    let sum = b.multiply(sum, scale)?;
    let target = match code.zero_point {
        Some(zero_point) => b.element_type(zero_point)?,
        None => ElementType::U8,
    };
    code.encode(b, sum, target)
}

/// Reshapes a vector with one element per filter so that it broadcasts along the first axis of the filters.
fn along_filters(b: &mut NodeBuilder, parameter: Value, filters: Value) -> Result {
    if b.rank(parameter)? == 0 {
        return Ok(parameter);
    }
    let mut sizes = vec![1; b.rank(filters)?];
    if let Some(first) = sizes.first_mut() {
        *first = -1;
    }
    b.reshape(parameter, &sizes)
}

fn convolution_of_integers(b: &mut NodeBuilder) -> Result {
    let zeros = [b.optional(2), b.optional(3)];
    let (x, filters) = (b.input(0)?, b.input(1)?);
    let sum = convolved_integers(b, [x, filters], zeros, None)?;
    b.convert(sum, ElementType::I32)
}

/// A convolution of integers. With constant filters, it is computed in f32. Otherwise, it is computed in f64,
/// in which all sums are exact.
fn convolved_integers(
    b: &mut NodeBuilder,
    [x, filters]: [Value; 2],
    zeros: [Option<Value>; 2],
    bias: Option<Value>,
) -> Result {
    // The filters of a group read only some of the channels, so a grouped convolution cannot be split by
    // channels.
    let groups = b.int_attr("group", 1)?;
    let parts = exact_parts(b, x, filters, zeros[1], Summed::Filters);
    let parts = parts.filter(|parts| groups == 1 || parts.len() < 2);
    let target = if parts.is_some() { ElementType::F32 } else { ElementType::F64 };
    let zero_of_filters = match zeros[1] {
        Some(zero) => Some(along_filters(b, zero, filters)?),
        None => None,
    };
    let zero_of_data = match zeros[0] {
        Some(zero) => Some(b.to_scalar(zero)?),
        None => None,
    };
    let rank = b.rank(filters)?;
    let x = centred(b, x, zero_of_data, target)?;
    let filters = centred(b, filters, zero_of_filters, target)?;
    let sum =
        summed_in_parts(b, [x, filters], [1, 1], parts, |b, x, filters| convolved(b, x, filters, None))?;
    let Some(bias) = bias else { return Ok(sum) };
    let (sum, bias) = (b.convert(sum, ElementType::I32)?, along_channels(b, bias, rank)?);
    b.add(sum, bias)
}

pub(super) fn quantized_convolution(b: &mut NodeBuilder) -> Result {
    let (x, filters) = (b.input(0)?, b.input(3)?);
    let (zeros, bias) = ([b.optional(2), b.optional(5)], b.optional(8));
    let sum = convolved_integers(b, [x, filters], zeros, bias)?;
    let rank = b.rank(filters)?;
    let (of_data, mut of_filters) = (b.input(1)?, b.input(4)?);
    if b.rank(of_filters)? == 1 {
        of_filters = along_channels(b, of_filters, rank)?;
    }
    let of_data = b.to_scalar(of_data)?;
    let mut code = Code::read(b, 6, 7)?;
    code.scale = b.to_scalar(code.scale)?;
    rescaled(b, sum, [of_data, of_filters], code)
}
