//! Operators that select or replace elements by data-dependent indices.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Compress", &[9, 11], compress).attrs("axis"),
    one("MaxUnpool", &[9, 11, 22], max_unpool).attrs("kernel_shape pads strides"),
    one("TensorScatter", &[24], tensor_scatter).attrs("axis mode"),
    many("Unique", &[11], unique).attrs("axis sorted"),
];

/// Selects the elements or slices for which the condition holds, along an axis or in the flattened data.
fn compress(b: &mut NodeBuilder) -> Result {
    let (mut x, condition) = (b.input(0)?, b.input(1)?);
    let axis = match b.attrs.int("axis")? {
        Some(axis) => axis,
        None => {
            x = b.reshape(x, &[-1])?;
            0
        }
    };
    let places = b.non_zero(condition)?;
    let places = b.squeeze(places, &[0])?;
    b.gather(x, places, axis)
}

/// The inverse of a max pool: a tensor of zeros in which each element of the input is at the index from which
/// it was pooled.
fn max_unpool(b: &mut NodeBuilder) -> Result {
    let (x, places) = (b.input(0)?, b.input(1)?);
    let kernel = b.ints_attr("kernel_shape")?.ok_or(OpError::MissingAttribute { name: "kernel_shape" })?;
    let spatial = kernel.len();
    let numbers = |name: &'static str, default: i64, count: usize| match b.ints_attr(name)? {
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
    let (front, sizes) = (b.slice_range(shape, 0, 0, 2)?, b.slice_range(shape, 0, 2, i64::MAX)?);
    let (strides, more) = (b.ints(&strides)?, b.ints(&more)?);
    let sizes = b.multiply(sizes, strides)?;
    let sizes = b.add(sizes, more)?;
    // The indices are flat indices into the tensor before pooling.
    let sizes = b.concat(0, &[front, sizes])?;
    let count = b.reduce_prod(sizes, &[0], true)?;
    let zero = b.scalar_like(x, 0.0)?;
    let empty = b.broadcast_to(zero, count)?;
    let (places, values) = (b.reshape(places, &[-1])?, b.reshape(x, &[-1])?);
    let y = b.scatter_elements(empty, places, values, 0)?;
    let y = b.reshape_to(y, sizes)?;
    let Some(target) = b.optional(2) else { return Ok(y) };
    let rank = b.rank(x)?;
    let begin = b.ints(&vec![0; rank])?;
    let end = b.subtract(target, sizes)?;
    b.pad_by(y, begin, end, zero)
}

/// Writes updates along an axis, starting at a given index for each batch element.
fn tensor_scatter(b: &mut NodeBuilder) -> Result {
    let (past, update, axis) = (b.input(0)?, b.input(1)?, b.int_attr("axis", -2)?);
    let rank = b.rank(past)?;
    let axis = b.axis(axis, rank)?;
    let length = b.size_of(update, axis as i64)?;
    let count = b.count_to(length)?;
    let mut form = vec![1; rank];
    form[axis] = -1;
    let mut places = b.reshape(count, &form)?;
    if let Some(starts) = b.optional(2) {
        let mut form = vec![1; rank];
        form[0] = -1;
        let starts = b.convert(starts, ElementType::I64)?;
        let starts = b.reshape(starts, &form)?;
        places = b.add(places, starts)?;
    }
    match b.text_attr("mode", "linear")? {
        "linear" => {}
        "circular" => {
            let around = b.size_of(past, axis as i64)?;
            places = b.floor_mod(places, around)?;
        }
        _ => return Err(b.attrs.bad("mode", "linear or circular")),
    }
    let shape = b.shape_of(update)?;
    let places = b.broadcast_both(places, shape)?;
    b.scatter_elements(past, places, update, axis as i64)
}

/// Adds a Unique. Returns the distinct values, the index of the first occurrence of each, the index of the
/// distinct value that equals each element, and the number of occurrences of each distinct value.
pub(super) fn unique(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let mut inputs = vec![b.input(0)?];
    if let Some(axis) = b.attrs.int("axis")? {
        inputs.push(b.int(axis)?);
    }
    // The Unique of ONNX Runtime has no attributes and does not sort.
    let sorted = b.flag_attr("sorted", b.since >= 11)?;
    let attrs = Attrs::new().with("sorted", sorted);
    let attrs =
        attrs.with("index_element_type", ElementType::I64).with("count_element_type", ElementType::I64);
    b.ir_op_with_outputs("Unique", attrs, &inputs, 4)
}
