//! Operators on shapes: the sizes of a value, and the same elements under other sizes.

use snick_ir::{Attrs, OpError, Value};

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Expand", &[8, 13], expand),
    one("Flatten", &[1, 9, 11, 13, 21, 23, 24, 25], flatten),
    one("Reshape", &[5, 13, 14, 19, 21, 23, 24, 25], reshape),
    one("Shape", &[1, 13, 15, 19, 21, 23, 24, 25], shape),
    one("Size", &[1, 13, 19, 21, 23, 24, 25], |b| {
        let x = b.input(0)?;
        let shape = b.shape_of(x)?;
        size(b, shape)
    }),
    one("Squeeze", &[1, 11, 13, 21, 23, 24, 25], |b| with_axes(b, "Squeeze")),
    one("Transpose", &[1, 13, 21, 23, 24, 25], transpose),
    one("Unsqueeze", &[1, 11, 13, 21, 23, 24, 25], |b| with_axes(b, "Unsqueeze")),
];

fn expand(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    b.make("Broadcast", Attrs::new().with("mode", "bidirectional"), &inputs)
}

/// Two axes: the ones before `axis`, and the others.
fn flatten(b: &mut NodeBuilder) -> Result {
    let (x, axis) = (b.input(0)?, b.int("axis", 1)?);
    matrix(b, x, axis)
}

/// The elements of `x` as rows over the axes before `axis`.
pub(super) fn matrix(b: &mut NodeBuilder, x: Value, axis: i64) -> Result {
    if axis == 0 {
        return b.reshape(x, &[1, -1]);
    }
    let shape = b.shape_of(x)?;
    let (front, back) = (b.part(shape, 0, axis)?, b.part(shape, axis, i64::MAX)?);
    let mut sizes = [front, back];
    for part in &mut sizes {
        let product = size(b, *part)?;
        *part = b.reshape(product, &[1])?;
    }
    let target = b.join(&sizes)?;
    b.make("Reshape", Attrs::new().with("special_zero", false), &[x, target])
}

/// How many elements a shape has.
fn size(b: &mut NodeBuilder, shape: Value) -> Result {
    let axis = b.vector(&[0])?;
    b.make("ReduceProd", Attrs::new().with("keep_dims", false), &[shape, axis])
}

/// A 0 copies the size of the same axis, unless `allowzero` says otherwise.
fn reshape(b: &mut NodeBuilder) -> Result {
    let (x, target) = (b.input(0)?, b.input(1)?);
    let copies = !b.flag("allowzero", false)?;
    b.make("Reshape", Attrs::new().with("special_zero", copies), &[x, target])
}

/// The sizes of axes `start..end`, which are clamped.
fn shape(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let shape = b.shape_of(x)?;
    let (start, end) = (b.int("start", 0)?, b.int("end", i64::MAX)?);
    if start == 0 && end == i64::MAX { Ok(shape) } else { b.part(shape, start, end) }
}

/// Axes are an attribute, since operator set 13 an input; Squeeze may have none.
fn with_axes(b: &mut NodeBuilder, op_type: &str) -> Result {
    let x = b.input(0)?;
    let axes = match b.ints("axes")?.filter(|_| b.since < 13) {
        Some(axes) => Some(b.vector(&axes)?),
        None => b.optional(1),
    };
    if axes.is_none() && op_type == "Unsqueeze" {
        return Err(OpError::NotConnected { port: 1 });
    }
    let inputs: Vec<Value> = [x].into_iter().chain(axes).collect();
    b.plain(op_type, &inputs)
}

/// By default the axes are reversed, which the IR says by an empty list.
fn transpose(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let order = b.ints("perm")?.unwrap_or_default();
    let order = b.vector(&order)?;
    b.plain("Transpose", &[x, order])
}
