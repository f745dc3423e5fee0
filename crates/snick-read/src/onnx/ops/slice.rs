//! Slice and Split, in all operator sets.

use snick_ir::{OpError, Value, ops};

use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Slice", &[1, 10, 11, 13], slice).attrs("axes ends starts"),
    many("Split", &[2, 11, 13, 18], split).attrs("axis num_outputs split"),
];

/// Adds a Slice. In the first version, starts, ends and axes are attributes. In later versions, they are
/// inputs, and there is an input for steps.
fn slice(b: &mut NodeBuilder) -> Result {
    let data = b.input(0)?;
    if b.since < 10 {
        let starts = b.ints_attr("starts")?.ok_or(OpError::MissingAttribute { name: "starts" })?;
        let ends = b.ints_attr("ends")?.ok_or(OpError::MissingAttribute { name: "ends" })?;
        let steps = b.ints(&vec![1; starts.len()])?;
        let mut inputs = vec![data, b.ints(&starts)?, b.ints(&ends)?, steps];
        if let Some(axes) = b.ints_attr("axes")? {
            inputs.push(b.ints(&axes)?);
        }
        return b.add_op(ops::Slice8, &inputs);
    }
    let (starts, ends) = (b.input(1)?, b.input(2)?);
    let steps = match b.optional(4) {
        Some(steps) => steps,
        None => ones(b, starts)?,
    };
    let mut inputs = vec![data, starts, ends, steps];
    inputs.extend(b.optional(3));
    b.add_op(ops::Slice8, &inputs)
}

/// A vector of ones with the length of another vector.
fn ones(b: &mut NodeBuilder, vector: Value) -> Result {
    if let Some(elements) = b.known_ints(vector) {
        return b.ints(&vec![1; elements.len()]);
    }
    let (one, shape) = (b.int(1)?, b.shape_of(vector)?);
    b.broadcast_to(one, shape)
}

/// Splits a value into equal parts, into parts of given sizes, or (since operator set 18) into a given number
/// of parts, where the last part may be smaller.
fn split(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let (data, outputs) = (b.input(0)?, b.wanted.len());
    let axis = b.int_attr("axis", 0)?;
    let sizes = match b.ints_attr("split")?.filter(|_| b.since < 13) {
        Some(sizes) => Some(b.ints(&sizes)?),
        None => b.optional(1),
    };
    let axis_input = b.int(axis)?;
    if let Some(sizes) = sizes {
        return b.add_op_with_outputs(ops::VariadicSplit, &[data, axis_input, sizes], outputs);
    }
    let parts = match b.attrs.int("num_outputs")? {
        Some(parts) => usize::try_from(parts).ok().filter(|&parts| parts == outputs).ok_or_else(|| {
            OpError::mismatch("the number of outputs", outputs, format!("num_outputs = {parts}"))
        })?,
        None => outputs,
    };
    let dims = b.dims(data);
    let dim = dims.and_then(|dims| dims.get(b.axis(axis, dims.len()).ok()?).copied());
    if b.since < 18 || dim.is_some_and(|dim| parts > 0 && dim % parts == 0) {
        return b.split(data, axis, parts);
    }
    // The size of the parts is rounded up; the last part contains the remaining elements.
    let shape = b.shape_of(data)?;
    let at = b.ints(&[axis])?;
    let dim = b.gather(shape, at, 0)?;
    let (more, count) = (b.ints(&[parts as i64 - 1])?, b.ints(&[parts as i64])?);
    let padded = b.add(dim, more)?;
    let size = b.divide(padded, count)?;
    let rest = b.ints(&[-1])?;
    let mut sizes = vec![size; parts.saturating_sub(1)];
    sizes.push(rest);
    let sizes = b.concat(0, &sizes)?;
    b.add_op_with_outputs(ops::VariadicSplit, &[data, axis_input, sizes], outputs)
}
