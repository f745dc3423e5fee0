//! Operators that pick elements by their values, or put others in their places.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Compress", &[9, 11], compress),
    one("MaxUnpool", &[9, 11, 22], max_unpool),
    one("TensorScatter", &[24], tensor_scatter),
    many("Unique", &[11], unique),
];

/// What stands where the condition holds, along an axis or of all elements in order.
fn compress(b: &mut NodeBuilder) -> Result {
    let (mut x, condition) = (b.input(0)?, b.input(1)?);
    let axis = match b.attrs.int("axis")? {
        Some(axis) => axis,
        None => {
            x = b.reshape(x, &[-1])?;
            0
        }
    };
    let places = b.make("NonZero", Attrs::new().with("output_type", ElementType::I64), &[condition])?;
    let places = b.squeeze(places, &[0])?;
    b.gather(x, places, axis)
}

/// Zeros, with each element at the place it was taken from.
fn max_unpool(b: &mut NodeBuilder) -> Result {
    let (x, places) = (b.input(0)?, b.input(1)?);
    let kernel = b.ints("kernel_shape")?.ok_or(OpError::MissingAttribute { name: "kernel_shape" })?;
    let spatial = kernel.len();
    let numbers = |name: &'static str, default: i64, count: usize| match b.ints(name)? {
        None => Ok(vec![default; count]),
        Some(numbers) if numbers.len() == count => Ok(numbers),
        Some(_) => Err(b.attrs.bad(name, &format!("{count} numbers"))),
    };
    let (strides, pads) = (numbers("strides", 1, spatial)?, numbers("pads", 0, 2 * spatial)?);
    let more: Vec<i64> = (0..spatial)
        .map(|i| {
            kernel[i].saturating_sub(strides[i]).saturating_sub(pads[i]).saturating_sub(pads[spatial + i])
        })
        .collect();
    let shape = b.shape_of(x)?;
    let (front, sizes) = (b.part(shape, 0, 2)?, b.part(shape, 2, i64::MAX)?);
    let (strides, more) = (b.vector(&strides)?, b.vector(&more)?);
    let sizes = b.plain("Multiply", &[sizes, strides])?;
    let sizes = b.plain("Add", &[sizes, more])?;
    // Places count through the tensor that was pooled, which the sizes follow from.
    let sizes = b.join(&[front, sizes])?;
    let count = b.reduced("ReduceProd", sizes, &[0], true)?;
    let zero = b.number_like(x, 0.0)?;
    let empty = b.filled(zero, count)?;
    let (places, values) = (b.reshape(places, &[-1])?, b.reshape(x, &[-1])?);
    let axis = b.index(0)?;
    let y = b.plain("ScatterElementsUpdate", &[empty, places, values, axis])?;
    let y = b.make("Reshape", Attrs::new().with("special_zero", false), &[y, sizes])?;
    let Some(target) = b.optional(2) else { return Ok(y) };
    let begin = b.vector(&vec![0; b.rank(x)?])?;
    let end = b.plain("Subtract", &[target, sizes])?;
    b.make("Pad", Attrs::new().with("pad_mode", "constant"), &[y, begin, end, zero])
}

/// Updates written along an axis from a place on that each line of the batch has for itself.
fn tensor_scatter(b: &mut NodeBuilder) -> Result {
    let (past, update, axis) = (b.input(0)?, b.input(1)?, b.int("axis", -2)?);
    let rank = b.rank(past)?;
    let axis = b.axis(axis, rank)?;
    let length = b.size(update, axis as i64)?;
    let count = b.count_to(length)?;
    let mut form = vec![1; rank];
    form[axis] = -1;
    let mut places = b.reshape(count, &form)?;
    if let Some(starts) = b.optional(2) {
        let mut form = vec![1; rank];
        form[0] = -1;
        let starts = b.convert(starts, ElementType::I64)?;
        let starts = b.reshape(starts, &form)?;
        places = b.plain("Add", &[places, starts])?;
    }
    match b.text("mode", "linear")? {
        "linear" => {}
        "circular" => {
            let around = b.size(past, axis as i64)?;
            places = b.plain("FloorMod", &[places, around])?;
        }
        _ => return Err(b.attrs.bad("mode", "linear or circular")),
    }
    let shape = b.shape_of(update)?;
    let places = b.make("Broadcast", Attrs::new().with("mode", "bidirectional"), &[places, shape])?;
    let axis = b.index(axis as i64)?;
    b.plain("ScatterElementsUpdate", &[past, places, update, axis])
}

/// Each value once, where it first stood, which one each element is, and how often it stood.
pub(super) fn unique(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    let mut inputs = vec![b.input(0)?];
    if let Some(axis) = b.attrs.int("axis")? {
        inputs.push(b.index(axis)?);
    }
    // The operator of ONNX Runtime, which has no attributes, keeps the order.
    let sorted = b.flag("sorted", b.since >= 11)?;
    let attrs = Attrs::new().with("sorted", sorted);
    let attrs =
        attrs.with("index_element_type", ElementType::I64).with("count_element_type", ElementType::I64);
    b.many("Unique", attrs, &inputs, 4)
}
