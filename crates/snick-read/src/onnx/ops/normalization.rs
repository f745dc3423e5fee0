//! Normalisations and softmax.

use snick_ir::ops::movement::top_k::TopKMode;
use snick_ir::{Attrs, OpError, Value};

use super::shape::matrix;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    many("BatchNormalization", &[7, 9, 14, 15], batch_normalization)
        .attrs("epsilon momentum spatial training_mode"),
    one("GroupNormalization", &[21], group_normalization).attrs("epsilon num_groups").ignores("stash_type"),
    one("Hardmax", &[13], hardmax).attrs("axis"),
    one("InstanceNormalization", &[6, 22], instance_normalization).attrs("epsilon"),
    one("LRN", &[1, 13], lrn).attrs("alpha beta bias size"),
    many("LayerNormalization", &[1, 17], layer_normalization).attrs("axis epsilon").ignores("stash_type"),
    one("LogSoftmax", &[1, 11, 13], |b| softmax(b, true)).attrs("axis"),
    one("LpNormalization", &[1, 22], lp_normalization).attrs("axis p"),
    one("MeanVarianceNormalization", &[9, 13], mean_variance_normalization).attrs("axes"),
    one("RMSNormalization", &[23], rms_normalization).attrs("axis epsilon").ignores("stash_type"),
    one("SimplifiedLayerNormalization", &[1], rms_normalization).attrs("axis epsilon").ignores("stash_type"),
    one("Softmax", &[1, 11, 13], |b| softmax(b, false)).attrs("axis"),
];

/// Adds a softmax. Before operator set 13, all axes from `axis` on are treated as a single axis.
fn softmax(b: &mut NodeBuilder, log: bool) -> Result {
    let x = b.input(0)?;
    softmax_of(b, x, log)
}

/// The softmax of any value, with the attributes of the node.
pub(super) fn softmax_of(b: &mut NodeBuilder, x: Value, log: bool) -> Result {
    let along = |b: &mut NodeBuilder, x, axis| if log { b.log_softmax(x, axis) } else { b.softmax(x, axis) };
    let axis = b.int_attr("axis", if b.since < 13 { 1 } else { -1 })?;
    if b.since >= 13 {
        return along(b, x, axis);
    }
    let rank = b.rank(x)?;
    let axis = b.axis(axis, rank)?;
    if axis + 1 == rank {
        return along(b, x, -1);
    }
    let rows = matrix(b, x, axis as i64)?;
    let rows = along(b, rows, -1)?;
    let shape = b.shape_of(x)?;
    b.reshape_to(rows, shape)
}

/// Returns 1 at the first maximum, and 0 elsewhere.
fn hardmax(b: &mut NodeBuilder) -> Result {
    let (x, axis) = (b.input(0)?, b.int_attr("axis", -1)?);
    let k = b.int(1)?;
    let [_, index] = b.top_k(x, k, axis, TopKMode::Max)?;
    let index = b.squeeze(index, &[axis])?;
    let shape = b.shape_of(x)?;
    let at = b.int(axis)?;
    let depth = b.gather(shape, at, 0)?;
    let (on, off) = (b.scalar_like(x, 1.0)?, b.scalar_like(x, 0.0)?);
    b.ir_op("OneHot", Attrs::new().with("axis", axis), &[index, depth, on, off])
}

fn batch_normalization(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    if !b.flag_attr("spatial", true)? {
        return Err(OpError::unsupported("normalisation with statistics per element"));
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
    let (epsilon, momentum) = (b.float_attr("epsilon", 1e-5)?, b.float_attr("momentum", 0.9)?);
    let mut outputs = Vec::new();
    if b.flag_attr("training_mode", false)? {
        outputs = batch_statistics(b, x, &inputs, momentum)?;
    } else {
        b.outputs_below(1)?;
    }
    let statistics = match outputs.as_slice() {
        [.., mean, variance] => [*mean, *variance],
        _ => [inputs[3], inputs[4]],
    };
    outputs.truncate(2);
    let inputs = [&inputs[..3], &statistics].concat();
    let y = b.ir_op("BatchNormInference", Attrs::new().with("epsilon", epsilon), &inputs)?;
    Ok([vec![y], outputs].concat())
}

/// Returns the updated running statistics, and the statistics of the batch.
fn batch_statistics(b: &mut NodeBuilder, x: Value, inputs: &[Value], momentum: f64) -> Result<Vec<Value>> {
    let [_, _, _, running_mean, running_variance] = inputs else {
        return Err(OpError::NotConnected { port: 4 });
    };
    let axes: Vec<i64> = (0..b.rank(x)? as i64).filter(|&axis| axis != 1).collect();
    let mean = b.reduce_mean(x, &axes, true)?;
    let distance = b.squared_difference(x, mean)?;
    let variance = b.reduce_mean(distance, &axes, false)?;
    let mean = b.squeeze(mean, &axes)?;
    let moved = |running: Value, current: Value| {
        let (running, current) = (b.multiply(running, momentum)?, b.multiply(current, 1.0 - momentum)?);
        b.add(running, current)
    };
    Ok(vec![moved(*running_mean, mean)?, moved(*running_variance, variance)?, mean, variance])
}

fn group_normalization(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let groups = b.required_int("num_groups")?;
    let epsilon = b.float_attr("epsilon", 1e-5)?;
    b.ir_op("GroupNormalization", Attrs::new().with("num_groups", groups).with("epsilon", epsilon), &inputs)
}

/// Mean-variance normalisation over `axes`.
fn standardized(b: &mut NodeBuilder, x: Value, axes: &[i64], epsilon: f64) -> Result {
    let attrs = Attrs::new().with("eps", epsilon).with("normalize_variance", true);
    let axes = b.ints(axes)?;
    b.ir_op("MVN", attrs.with("eps_mode", "inside_sqrt"), &[x, axes])
}

fn instance_normalization(b: &mut NodeBuilder) -> Result {
    let (x, scale, bias) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let rank = b.rank(x)?;
    let axes: Vec<i64> = (2..rank as i64).collect();
    let epsilon = b.float_attr("epsilon", 1e-5)?;
    let x = standardized(b, x, &axes, epsilon)?;
    let scale = along_channels(b, scale, rank)?;
    let bias = along_channels(b, bias, rank)?;
    let x = b.multiply(x, scale)?;
    b.add(x, bias)
}

/// Reshapes a vector so that it broadcasts along axis 1 of a tensor of this rank.
pub(super) fn along_channels(b: &mut NodeBuilder, vector: Value, rank: usize) -> Result {
    let mut sizes = vec![1; rank.saturating_sub(1)];
    if let Some(first) = sizes.first_mut() {
        *first = -1;
    }
    b.reshape(vector, &sizes)
}

/// All axes from the attribute `axis` on.
fn trailing(b: &NodeBuilder, x: Value) -> Result<Vec<i64>, OpError> {
    let rank = b.rank(x)?;
    let first = b.axis(b.int_attr("axis", -1)?, rank)?;
    Ok((first as i64..rank as i64).collect())
}

/// Adds a layer normalisation. Returns the normalised value and, if the node uses them, the mean and the
/// inverse standard deviation.
fn layer_normalization(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let (x, scale, bias) = (b.input(0)?, b.input(1)?, b.optional(2));
    let axes = trailing(b, x)?;
    let epsilon = b.float_attr("epsilon", 1e-5)?;
    layer_norm(b, x, scale, bias, &axes, epsilon)
}

/// Layer normalisation over `axes`. Computes the mean and the inverse standard deviation only if the node
/// uses them.
pub(super) fn layer_norm(
    b: &mut NodeBuilder,
    x: Value,
    scale: Value,
    bias: Option<Value>,
    axes: &[i64],
    epsilon: f64,
) -> Result<Vec<Value>> {
    let mut y = standardized(b, x, axes, epsilon)?;
    y = b.multiply(y, scale)?;
    if let Some(bias) = bias {
        y = b.add(y, bias)?;
    }
    if !b.wants(1) && !b.wants(2) {
        return Ok(vec![y]);
    }
    let mean = b.reduce_mean(x, axes, true)?;
    let square = b.squared_difference(x, mean)?;
    let variance = b.reduce_mean(square, axes, true)?;
    let variance = b.add(variance, epsilon)?;
    let deviation = b.sqrt(variance)?;
    Ok(vec![y, mean, b.divide(1.0, deviation)?])
}

fn rms_normalization(b: &mut NodeBuilder) -> Result {
    let (x, scale) = (b.input(0)?, b.input(1)?);
    let axes = trailing(b, x)?;
    let epsilon = b.float_attr("epsilon", 1e-5)?;
    rms_norm(b, x, scale, &axes, epsilon)
}

/// Divides by the root mean square over axes, and multiplies by `scale`.
pub(super) fn rms_norm(b: &mut NodeBuilder, x: Value, scale: Value, axes: &[i64], epsilon: f64) -> Result {
    let square = b.multiply(x, x)?;
    let mean = b.reduce_mean(square, axes, true)?;
    let mean = b.add(mean, epsilon)?;
    let root = b.sqrt(mean)?;
    let y = b.divide(x, root)?;
    b.multiply(y, scale)
}

fn lp_normalization(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let axis = b.int_attr("axis", -1)?;
    let norm = match b.int_attr("p", 2)? {
        1 => b.reduce_l1(x, &[axis], true)?,
        2 => b.reduce_l2(x, &[axis], true)?,
        p => return Err(OpError::unsupported(format!("the norm of p = {p}"))),
    };
    // Divides by 1 where the norm is 0, so that zeros stay zeros.
    let is_zero = b.equal(norm, 0.0)?;
    let norm = b.select(is_zero, 1.0, norm)?;
    b.divide(x, norm)
}

fn mean_variance_normalization(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let axes = b.ints_attr("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let axes = b.ints(&axes)?;
    let attrs = Attrs::new().with("eps", 1e-9).with("normalize_variance", true);
    b.ir_op("MVN", attrs.with("eps_mode", "outside_sqrt"), &[x, axes])
}

fn lrn(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let size = b.required_int("size")?;
    let attrs =
        Attrs::new().with("alpha", b.float_attr("alpha", 1e-4)?).with("beta", b.float_attr("beta", 0.75)?);
    let attrs = attrs.with("bias", b.float_attr("bias", 1.0)?).with("size", size);
    let axes = b.ints(&[1])?;
    b.ir_op("LRN", attrs, &[x, axes])
}
