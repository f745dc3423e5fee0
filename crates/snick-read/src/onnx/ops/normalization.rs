//! Operators that bring elements to a common scale.

use snick_ir::{Attrs, OpError, Value};

use super::elementwise::divide;
use super::shape::matrix;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    many("BatchNormalization", &[7, 9, 14, 15], batch_normalization),
    one("GroupNormalization", &[21], group_normalization),
    one("Hardmax", &[13], hardmax),
    one("InstanceNormalization", &[6, 22], instance_normalization),
    one("LRN", &[1, 13], lrn),
    many("LayerNormalization", &[1, 17], layer_normalization),
    one("LogSoftmax", &[1, 11, 13], |b| softmax(b, "LogSoftmax")),
    one("LpNormalization", &[1, 22], lp_normalization),
    one("MeanVarianceNormalization", &[9, 13], mean_variance_normalization),
    one("RMSNormalization", &[23], rms_normalization),
    one("SimplifiedLayerNormalization", &[1], rms_normalization),
    one("Softmax", &[1, 11, 13], |b| softmax(b, "Softmax")),
];

/// Before operator set 13 it is taken over all axes from `axis` on together.
fn softmax(b: &mut NodeBuilder, op_type: &str) -> Result {
    let x = b.input(0)?;
    softmax_of(b, x, op_type)
}

/// The same of a value, with the attributes of the node.
pub(super) fn softmax_of(b: &mut NodeBuilder, x: Value, op_type: &str) -> Result {
    let axis = b.int("axis", if b.since < 13 { 1 } else { -1 })?;
    if b.since >= 13 {
        return b.make(op_type, Attrs::new().with("axis", axis), &[x]);
    }
    let rank = b.rank(x)?;
    let axis = b.axis(axis, rank)?;
    if axis + 1 == rank {
        return b.make(op_type, Attrs::new().with("axis", -1), &[x]);
    }
    let rows = matrix(b, x, axis as i64)?;
    let rows = b.make(op_type, Attrs::new().with("axis", -1), &[rows])?;
    let shape = b.shape_of(x)?;
    b.make("Reshape", Attrs::new().with("special_zero", false), &[rows, shape])
}

/// 1 at the first of the greatest elements, 0 elsewhere.
fn hardmax(b: &mut NodeBuilder) -> Result {
    let (x, axis) = (b.input(0)?, b.int("axis", -1)?);
    let k = b.index(1)?;
    let attrs = Attrs::new().with("axis", axis).with("mode", "max").with("sort", "value");
    let attrs = attrs.with("index_element_type", "i64").with("stable", true);
    let best = b.many("TopK", attrs, &[x, k], 2)?;
    let (axes, zero) = (b.vector(&[axis])?, b.index(0)?);
    let index = b.plain("Squeeze", &[best[1], axes])?;
    let shape = b.shape_of(x)?;
    let at = b.index(axis)?;
    let depth = b.plain("Gather", &[shape, at, zero])?;
    let (on, off) = (b.number_like(x, 1.0)?, b.number_like(x, 0.0)?);
    b.make("OneHot", Attrs::new().with("axis", axis), &[index, depth, on, off])
}

fn batch_normalization(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    if !b.flag("spatial", true)? {
        return Err(OpError::unsupported("statistics for each element"));
    }
    let x = b.input(0)?;
    let element_type = b.element_type(x)?;
    let mut inputs = vec![x];
    for value in b.all()?.into_iter().skip(1) {
        inputs.push(b.convert(value, element_type)?);
    }
    if inputs.len() != 5 {
        return Err(OpError::Arity { expected: "5".into(), got: inputs.len() });
    }
    let epsilon = b.float("epsilon", 1e-5)?;
    let mut outputs = Vec::new();
    if b.flag("training_mode", false)? {
        outputs = batch_statistics(b, x, &inputs)?;
    } else {
        b.outputs_below(1)?;
    }
    let statistics = match outputs.as_slice() {
        [.., mean, variance] => [*mean, *variance],
        _ => [inputs[3], inputs[4]],
    };
    outputs.truncate(2);
    let inputs = [&inputs[..3], &statistics].concat();
    let y = b.make("BatchNormInference", Attrs::new().with("epsilon", epsilon), &inputs)?;
    Ok([vec![y], outputs].concat())
}

/// The running statistics moved towards those of the batch, then those of the batch.
fn batch_statistics(b: &mut NodeBuilder, x: Value, inputs: &[Value]) -> Result<Vec<Value>, OpError> {
    let [_, _, _, running_mean, running_variance] = inputs else {
        return Err(OpError::NotConnected { port: 4 });
    };
    let axes: Vec<i64> = (0..b.rank(x)? as i64).filter(|&axis| axis != 1).collect();
    let mean = b.reduced("ReduceMean", x, &axes, true)?;
    let distance = b.plain("SquaredDifference", &[x, mean])?;
    let variance = b.reduced("ReduceMean", distance, &axes, false)?;
    let mean = b.squeeze(mean, &axes)?;
    let momentum = b.float("momentum", 0.9)?;
    let (old, new) = (b.number_like(x, momentum)?, b.number_like(x, 1.0 - momentum)?);
    let mut moved = |running: Value, current: Value| {
        let (running, current) =
            (b.plain("Multiply", &[running, old])?, b.plain("Multiply", &[current, new])?);
        b.plain("Add", &[running, current])
    };
    Ok(vec![moved(*running_mean, mean)?, moved(*running_variance, variance)?, mean, variance])
}

fn group_normalization(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let groups = b.attrs.int("num_groups")?.ok_or(OpError::MissingAttribute { name: "num_groups" })?;
    let epsilon = b.float("epsilon", 1e-5)?;
    b.make("GroupNormalization", Attrs::new().with("num_groups", groups).with("epsilon", epsilon), &inputs)
}

/// The mean over `axes` taken away and the deviation divided out.
fn standardized(b: &mut NodeBuilder, x: Value, axes: &[i64], epsilon: f64) -> Result {
    let attrs = Attrs::new().with("eps", epsilon).with("normalize_variance", true);
    let axes = b.vector(axes)?;
    b.make("MVN", attrs.with("eps_mode", "inside_sqrt"), &[x, axes])
}

fn instance_normalization(b: &mut NodeBuilder) -> Result {
    let (x, scale, bias) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let rank = b.rank(x)?;
    let axes: Vec<i64> = (2..rank as i64).collect();
    let epsilon = b.float("epsilon", 1e-5)?;
    let x = standardized(b, x, &axes, epsilon)?;
    let scale = along_channels(b, scale, rank)?;
    let bias = along_channels(b, bias, rank)?;
    let x = b.plain("Multiply", &[x, scale])?;
    b.plain("Add", &[x, bias])
}

/// A vector laid along axis 1 of so many.
pub(super) fn along_channels(b: &mut NodeBuilder, vector: Value, rank: usize) -> Result {
    let mut sizes = vec![1; rank.saturating_sub(1)];
    if let Some(first) = sizes.first_mut() {
        *first = -1;
    }
    b.reshape(vector, &sizes)
}

/// Axes from `axis` on.
fn trailing(b: &NodeBuilder, x: Value) -> Result<Vec<i64>, OpError> {
    let rank = b.rank(x)?;
    let first = b.axis(b.int("axis", -1)?, rank)?;
    Ok((first as i64..rank as i64).collect())
}

/// The normalised value and, if asked for, the mean and the inverse of the deviation.
fn layer_normalization(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    let (x, scale, bias) = (b.input(0)?, b.input(1)?, b.optional(2));
    let axes = trailing(b, x)?;
    let epsilon = b.float("epsilon", 1e-5)?;
    layer_norm(b, x, scale, bias, &axes, epsilon)
}

/// The same over axes; mean and inverse of the deviation are there if the node wants them.
pub(super) fn layer_norm(
    b: &mut NodeBuilder,
    x: Value,
    scale: Value,
    bias: Option<Value>,
    axes: &[i64],
    epsilon: f64,
) -> Result<Vec<Value>, OpError> {
    let mut y = standardized(b, x, axes, epsilon)?;
    y = b.plain("Multiply", &[y, scale])?;
    if let Some(bias) = bias {
        y = b.plain("Add", &[y, bias])?;
    }
    if !b.wants(1) && !b.wants(2) {
        return Ok(vec![y]);
    }
    let mean = b.reduced("ReduceMean", x, axes, true)?;
    let square = b.plain("SquaredDifference", &[x, mean])?;
    let variance = b.reduced("ReduceMean", square, axes, true)?;
    let epsilon = b.number_like(x, epsilon)?;
    let variance = b.plain("Add", &[variance, epsilon])?;
    let deviation = b.plain("Sqrt", &[variance])?;
    let unit = b.number_like(x, 1.0)?;
    Ok(vec![y, mean, divide(b, unit, deviation)?])
}

fn rms_normalization(b: &mut NodeBuilder) -> Result {
    let (x, scale) = (b.input(0)?, b.input(1)?);
    let axes = trailing(b, x)?;
    let epsilon = b.float("epsilon", 1e-5)?;
    rms_norm(b, x, scale, &axes, epsilon)
}

/// Divided by the root of the mean of squares over axes.
pub(super) fn rms_norm(b: &mut NodeBuilder, x: Value, scale: Value, axes: &[i64], epsilon: f64) -> Result {
    let square = b.plain("Multiply", &[x, x])?;
    let mean = b.reduced("ReduceMean", square, axes, true)?;
    let epsilon = b.number_like(x, epsilon)?;
    let mean = b.plain("Add", &[mean, epsilon])?;
    let root = b.plain("Sqrt", &[mean])?;
    let y = divide(b, x, root)?;
    b.plain("Multiply", &[y, scale])
}

fn lp_normalization(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let axis = b.int("axis", -1)?;
    let axes = b.vector(&[axis])?;
    let op_type = match b.int("p", 2)? {
        1 => "ReduceL1",
        2 => "ReduceL2",
        p => return Err(OpError::unsupported(format!("the norm of p = {p}"))),
    };
    let norm = b.make(op_type, Attrs::new().with("keep_dims", true), &[x, axes])?;
    // A line of zeros stays one.
    let (zero, unit) = (b.number_like(x, 0.0)?, b.number_like(x, 1.0)?);
    let nothing = b.plain("Equal", &[norm, zero])?;
    let norm = b.plain("Select", &[nothing, unit, norm])?;
    divide(b, x, norm)
}

fn mean_variance_normalization(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let axes = b.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let axes = b.vector(&axes)?;
    let attrs = Attrs::new().with("eps", 1e-9).with("normalize_variance", true);
    b.make("MVN", attrs.with("eps_mode", "outside_sqrt"), &[x, axes])
}

fn lrn(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let size = b.attrs.int("size")?.ok_or(OpError::MissingAttribute { name: "size" })?;
    let attrs = Attrs::new().with("alpha", b.float("alpha", 1e-4)?).with("beta", b.float("beta", 0.75)?);
    let attrs = attrs.with("bias", b.float("bias", 1.0)?).with("size", size);
    let axes = b.vector(&[1])?;
    b.make("LRN", attrs, &[x, axes])
}
