//! Operators that take parts: Slice and Split in all their versions.

use snick_ir::{Attrs, OpError, Value};

use super::elementwise::divide;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] =
    &[one("Slice", &[1, 10, 11, 13], slice), many("Split", &[2, 11, 13, 18], split)];

/// The first version has attributes; later ones have inputs, in the order starts, ends, axes, steps.
fn slice(b: &mut NodeBuilder) -> Result {
    let data = b.input(0)?;
    if b.since < 10 {
        let starts = b.ints("starts")?.ok_or(OpError::MissingAttribute { name: "starts" })?;
        let ends = b.ints("ends")?.ok_or(OpError::MissingAttribute { name: "ends" })?;
        let steps = b.vector(&vec![1; starts.len()])?;
        let mut inputs = vec![data, b.vector(&starts)?, b.vector(&ends)?, steps];
        if let Some(axes) = b.ints("axes")? {
            inputs.push(b.vector(&axes)?);
        }
        return b.plain("Slice", &inputs);
    }
    let (starts, ends) = (b.input(1)?, b.input(2)?);
    let steps = match b.optional(4) {
        Some(steps) => steps,
        None => ones(b, starts)?,
    };
    let mut inputs = vec![data, starts, ends, steps];
    inputs.extend(b.optional(3));
    b.plain("Slice", &inputs)
}

/// As many ones as a vector has elements.
fn ones(b: &mut NodeBuilder, vector: Value) -> Result {
    if let Some(elements) = b.known_ints(vector) {
        return b.vector(&vec![1; elements.len()]);
    }
    let (one, shape) = (b.index(1)?, b.shape_of(vector)?);
    b.make("Broadcast", Attrs::new().with("mode", "numpy"), &[one, shape])
}

/// Equal parts, parts of given sizes, or, since operator set 18, so many parts of which the last may be smaller.
fn split(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    let (data, outputs) = (b.input(0)?, b.wanted.len());
    let axis = b.int("axis", 0)?;
    let sizes = match b.ints("split")?.filter(|_| b.since < 13) {
        Some(sizes) => Some(b.vector(&sizes)?),
        None => b.optional(1),
    };
    let axis_input = b.index(axis)?;
    if let Some(sizes) = sizes {
        return b.many("VariadicSplit", Attrs::new(), &[data, axis_input, sizes], outputs);
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
        let attrs = Attrs::new().with("num_splits", parts as i64);
        return b.many("Split", attrs, &[data, axis_input], parts);
    }
    // All parts but the last have the size rounded up.
    let shape = b.shape_of(data)?;
    let zero = b.index(0)?;
    let at = b.vector(&[axis])?;
    let dim = b.plain("Gather", &[shape, at, zero])?;
    let (more, count) = (b.vector(&[parts as i64 - 1])?, b.vector(&[parts as i64])?);
    let padded = b.plain("Add", &[dim, more])?;
    let size = divide(b, padded, count)?;
    let rest = b.vector(&[-1])?;
    let mut sizes = vec![size; parts.saturating_sub(1)];
    sizes.push(rest);
    let sizes = b.join(&sizes)?;
    b.many("VariadicSplit", Attrs::new(), &[data, axis_input, sizes], outputs)
}
