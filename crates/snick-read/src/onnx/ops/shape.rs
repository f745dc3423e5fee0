//! Operators on shapes: sizes of a value, reshapes.

use snick_ir::{Attrs, OpError, Value};

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Expand", &[8, 13], expand),
    one("Flatten", &[1, 9, 11, 13, 21, 23, 24, 25], flatten).attrs("axis"),
    one("Reshape", &[5, 13, 14, 19, 21, 23, 24, 25], reshape).attrs("allowzero"),
    one("Shape", &[1, 13, 15, 19, 21, 23, 24, 25], shape).attrs("end start"),
    one("Size", &[1, 13, 19, 21, 23, 24, 25], |b| {
        let x = b.input(0)?;
        let shape = b.shape_of(x)?;
        size(b, shape)
    }),
    one("Squeeze", &[1, 11, 13, 21, 23, 24, 25], |b| with_axes(b, "Squeeze")).attrs("axes"),
    one("Transpose", &[1, 13, 21, 23, 24, 25], transpose).attrs("perm"),
    one("Unsqueeze", &[1, 11, 13, 21, 23, 24, 25], |b| with_axes(b, "Unsqueeze")).attrs("axes"),
];

fn expand(b: &mut NodeBuilder) -> Result {
    let (x, sizes) = (b.input(0)?, b.input(1)?);
    // Broadcasting a scalar to an empty shape changes nothing, and the CPU plug-in does not support it.
    if b.rank(x) == Ok(0) && b.dims(sizes).is_some_and(|dims| dims[..] == [0]) {
        return Ok(x);
    }
    b.broadcast_both(x, sizes)
}

/// Merges all axes before `axis`, and all axes from `axis` on.
fn flatten(b: &mut NodeBuilder) -> Result {
    let (x, axis) = (b.input(0)?, b.int_attr("axis", 1)?);
    matrix(b, x, axis)
}

/// Reshapes `x` to a matrix: the axes before `axis` become the rows, all other axes the columns.
pub(super) fn matrix(b: &mut NodeBuilder, x: Value, axis: i64) -> Result {
    if axis == 0 {
        return b.reshape(x, &[1, -1]);
    }
    let shape = b.shape_of(x)?;
    let (front, back) = (b.slice_range(shape, 0, 0, axis)?, b.slice_range(shape, 0, axis, i64::MAX)?);
    let mut sizes = [front, back];
    for part in &mut sizes {
        let product = size(b, *part)?;
        *part = b.reshape(product, &[1])?;
    }
    let target = b.concat(0, &sizes)?;
    b.reshape_to(x, target)
}

/// The number of elements in a tensor of this shape.
fn size(b: &mut NodeBuilder, shape: Value) -> Result {
    b.reduce_prod(shape, &[0], false)
}

/// Adds a Reshape. A target size of 0 copies the size of the same axis, unless `allowzero` is set.
fn reshape(b: &mut NodeBuilder) -> Result {
    let (x, target) = (b.input(0)?, b.input(1)?);
    let copies = !b.flag_attr("allowzero", false)?;
    let target_sizes = b.fact(target)?.ints().unwrap_or_default();
    if !copies && target_sizes.contains(&0) && target_sizes.contains(&-1) {
        return Err(b.attrs.bad("allowzero", "0 for a target shape with both 0 and -1"));
    }
    if copies { b.reshape_copying(x, target) } else { b.reshape_to(x, target) }
}

/// The sizes of the axes `start..end`. Both bounds are clamped.
fn shape(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let shape = b.shape_of(x)?;
    let (start, end) = (b.int_attr("start", 0)?, b.int_attr("end", i64::MAX)?);
    if start == 0 && end == i64::MAX { Ok(shape) } else { b.slice_range(shape, 0, start, end) }
}

/// Adds a Squeeze or Unsqueeze. The axes are an attribute before operator set 13, and an input later. Squeeze
/// may omit them.
fn with_axes(b: &mut NodeBuilder, op_type: &str) -> Result {
    let x = b.input(0)?;
    let axes = match b.ints_attr("axes")?.filter(|_| b.since < 13) {
        Some(axes) => Some(b.ints(&axes)?),
        None => b.optional(1),
    };
    if axes.is_none() && op_type == "Unsqueeze" {
        return Err(OpError::NotConnected { port: 1 });
    }
    let inputs: Vec<Value> = [x].into_iter().chain(axes).collect();
    b.ir_op(op_type, Attrs::new(), &inputs)
}

/// Adds a Transpose. By default, the axes are reversed; in the IR, an empty list means the same.
fn transpose(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let order = b.ints_attr("perm")?.unwrap_or_default();
    b.transpose(x, &order)
}
