//! Integers that stand for real numbers.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use super::{Row, one};
use crate::onnx::builder::{Builder, Built};

pub(super) const ROWS: &[Row] = &[
    one("DequantizeLinear", &[10, 13, 19, 21, 23, 24, 25], dequantize),
    one("QuantizeLinear", &[10, 13, 19, 21, 23, 24, 25], quantize),
];

/// `(x - zero_point) * scale`.
fn dequantize(b: &mut Builder) -> Built {
    let (x, scale) = (b.input(0)?, b.input(1)?);
    let real = b.element_type(scale)?;
    if b.type_attr("output_dtype")?.is_some_and(|et| et != real) {
        return Err(OpError::unsupported("output_dtype"));
    }
    let zero_point = b.optional(2);
    let scale = along_axis(b, scale, x)?;
    let mut y = b.convert(x, real)?;
    if let Some(zero_point) = zero_point {
        let zero_point = along_axis(b, zero_point, x)?;
        let zero_point = b.convert(zero_point, real)?;
        y = b.plain("Subtract", &[y, zero_point])?;
    }
    b.plain("Multiply", &[y, scale])
}

/// `x / scale`, rounded to the nearest even integer, plus the zero point, kept within the integers of the type.
fn quantize(b: &mut Builder) -> Built {
    let (x, scale) = (b.input(0)?, b.input(1)?);
    let zero_point = b.optional(2);
    let target = match (zero_point, b.type_attr("output_dtype")?) {
        (Some(zero_point), _) => b.element_type(zero_point)?,
        (None, Some(element_type)) => element_type,
        (None, None) => ElementType::U8,
    };
    let Some((low, high)) = target.integer_range().filter(|_| target.bit_width().is_some_and(|w| w <= 16))
    else {
        return Err(OpError::unsupported(format!("quantizing to {target}")));
    };
    let real = b.element_type(x)?;
    let scale = b.convert(scale, real)?;
    let scale = along_axis(b, scale, x)?;
    let mut y = divide(b, x, scale)?;
    y = b.make("Round", Attrs::new().with("mode", "half_to_even"), &[y])?;
    if let Some(zero_point) = zero_point {
        let zero_point = along_axis(b, zero_point, x)?;
        let zero_point = b.convert(zero_point, real)?;
        y = b.plain("Add", &[y, zero_point])?;
    }
    y = b.make("Clamp", Attrs::new().with("min", low as f64).with("max", high as f64), &[y])?;
    b.convert(y, target)
}

/// One number for all, or one for each index of the axis.
fn along_axis(b: &mut Builder, parameter: Value, x: Value) -> Built {
    if b.int("block_size", 0)? != 0 {
        return Err(OpError::unsupported("numbers for blocks of elements"));
    }
    match b.rank(parameter)? {
        0 => Ok(parameter),
        1 if b.dims(parameter).is_some_and(|d| d == [1]) => b.scalar(parameter),
        1 => {
            let rank = b.rank(x)?;
            let axis = b.axis(b.int("axis", 1)?, rank)?;
            let mut sizes = vec![1; rank];
            sizes[axis] = -1;
            b.reshape(parameter, &sizes)
        }
        rank => Err(OpError::rank("a parameter", rank, "0 or 1")),
    }
}
