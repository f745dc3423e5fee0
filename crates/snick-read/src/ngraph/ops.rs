//! Maps each node to layers, either with the tables of `table.rs` or with a function.

use snick_ir::ops::{Concat, Convert, Identity, Reduce};
use snick_ir::{Attrs, OpError, Value};
use snick_tensor::kernels::ReduceOp;

use super::site::{Site, as_ints, element_type, sizes};
use super::{dot, dynamic, gradient, normalize, reduce_window, slice, table, window};

/// Adds the layers for a node; `None` for an unknown op.
pub(super) fn lower(site: &mut Site) -> Result<Option<Value>, OpError> {
    if let Some(value) = table::lower(site)? {
        return Ok(Some(value));
    }
    let (op, version) = (site.node.op.as_str(), site.node.version);
    let lowered = match (op, version) {
        ("ArgMax", 0) => dynamic::arg(site, "max"),
        ("ArgMin", 0) => dynamic::arg(site, "min"),
        ("AvgPoolBackprop", 0) => gradient::avg_pool(site),
        // Older files use one op for training and inference: with three inputs, it computes mean and
        // variance; with five inputs, they are given.
        ("BatchNorm", 0) if site.inputs.len() == 3 => normalize::batch_norm_training(site),
        ("BatchNorm" | "BatchNormInference", 0) => normalize::batch_norm(site),
        ("BatchNormTraining", 0) => normalize::batch_norm_training(site),
        ("BatchNormTrainingBackprop", 0) => normalize::batch_norm_training_backprop(site),
        ("Broadcast", 0) => broadcast(site),
        ("Concat", 0) => concat(site),
        ("Convert", 0) => convert(site),
        ("Convolution", 0) => window::convolution(site),
        ("ConvolutionBackpropData", 0) => gradient::convolution_data(site),
        ("ConvolutionBackpropFilters", 0) => gradient::convolution_filters(site),
        ("Dequantize", 0) => normalize::dequantize(site),
        ("DynBroadcast", 0) => dynamic::broadcast(site),
        ("DynSlice", 0) => dynamic::slice(site),
        ("Gather", 0) => dynamic::gather(site),
        ("GroupConvolution", 0) => window::group_convolution(site),
        ("AvgPool", 0) => window::avg_pool(site),
        ("Dot", 0) => dot::dot(site),
        ("MaxPool", 0) => window::max_pool(site),
        ("MaxPoolBackprop", 0) => gradient::max_pool(site),
        ("OneHot", 0) => one_hot(site),
        ("Pad", 0) => pad(site),
        ("Quantize", 0) => normalize::quantize(site),
        ("Reduce", 0) => reduce_window::reduce(site),
        ("ReduceWindow", 0) => reduce_window::reduce_window(site),
        ("ReluBackprop", 0) => relu_backprop(site),
        ("ReplaceSlice", 0) => slice::replace_slice(site),
        ("Reshape", 0) => reshape(site),
        ("Reverse", 0) => reverse(site),
        ("ScatterAdd", 0) => dynamic::scatter_add(site),
        ("SelectAndScatter", 0) => reduce_window::select_and_scatter(site),
        ("SigmoidBackprop", 0) => sigmoid_backprop(site),
        ("Slice", 0) => slice::slice(site),
        ("Softmax", 0) => softmax(site),
        ("Split", 0) => dynamic::split(site),
        ("StopGradient", 0) => site.input(0).and_then(|data| site.add_op(Identity, &[data])),
        ("TopK", 0) => dynamic::top_k(site),
        (_, 1..) if site.node.attrs_are_visited() => return same_as_openvino(site, version),
        _ => return Ok(None),
    };
    lowered.map(Some)
}

/// A Transpose followed by a Reshape.
fn reshape(site: &mut Site) -> Result<Value, OpError> {
    let order = sizes(site, "input_order")?;
    let shape = sizes(site, "output_shape")?;
    let mut data = site.input(0)?;
    if !order.iter().copied().eq(0..order.len() as i64) {
        data = site.transpose(data, &order)?;
    } else if let Some(rank) = site.dims(data).map(|dims| dims.len()).filter(|&rank| rank != order.len()) {
        return Err(OpError::mismatch("the length of `input_order`", order.len(), format!("rank {rank}")));
    }
    site.reshape(data, &shape)
}

/// Adds a broadcast. The axes in `axes` are new; the other axes are the axes of the input, in order.
fn broadcast(site: &mut Site) -> Result<Value, OpError> {
    let shape = sizes(site, "shape")?;
    let axes = sizes(site, "axes")?;
    let rank = shape.len() as i64;
    if let Some(&axis) = axes.iter().find(|&&axis| axis >= rank) {
        return Err(OpError::out_of_range("a broadcast axis", axis, format!("below rank {rank}")));
    }
    let kept: Vec<i64> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
    let data = site.input(0)?;
    // The axes of the input must keep their sizes: an axis of size 1 is not broadcast.
    for (dim, &axis) in site.dims(data).unwrap_or_default().into_iter().zip(&kept) {
        let want = usize::try_from(axis).ok().and_then(|axis| shape.get(axis)).copied();
        if dim.is_some() && dim != want {
            let (got, want) = (dim.unwrap_or(0), want.unwrap_or(0));
            return Err(OpError::mismatch(format!("the size that becomes axis {axis}"), got, want));
        }
    }
    let (shape, kept) = (site.ints(&shape)?, site.ints(&kept)?);
    site.ir_op("Broadcast", 3, Attrs::new().with("mode", "explicit"), &[data, shape, kept])
}

fn concat(site: &mut Site) -> Result<Value, OpError> {
    let axis = site.node.attrs.int("axis")?.ok_or(OpError::MissingAttribute { name: "axis" })?;
    let inputs = site.inputs.to_vec();
    site.add_op(Concat { axis }, &inputs)
}

fn convert(site: &mut Site) -> Result<Value, OpError> {
    let element_type = element_type(site, "target_type")?;
    let data = site.input(0)?;
    site.add_op(Convert { destination_type: element_type }, &[data])
}

fn one_hot(site: &mut Site) -> Result<Value, OpError> {
    let shape = sizes(site, "shape")?;
    let axis = site.node.attrs.int("one_hot_axis")?;
    let axis = axis.ok_or(OpError::MissingAttribute { name: "one_hot_axis" })?;
    let depth = usize::try_from(axis).ok().and_then(|axis| shape.get(axis)).copied();
    let depth = depth
        .ok_or_else(|| OpError::out_of_range("one_hot_axis", axis, format!("below rank {}", shape.len())))?;
    let data = site.input(0)?;
    let depth = site.int(depth)?;
    let (on, off) = (site.scalar_like(data, 1.0)?, site.scalar_like(data, 0.0)?);
    site.ir_op("OneHot", 1, Attrs::new().with("axis", axis), &[data, depth, on, off])
}

/// Pads with the value of the second input. Interior padding is not supported.
fn pad(site: &mut Site) -> Result<Value, OpError> {
    let attrs = &site.node.attrs;
    let inside = attrs.ints("padding_interior")?.unwrap_or_default();
    let mode = attrs.int("pad_mode")?.unwrap_or(0);
    if mode != 0 || inside.iter().any(|&count| count != 0) {
        return Err(OpError::unsupported(format!("pad_mode {mode} with {inside:?} between elements")));
    }
    let list = |name| attrs.ints(name)?.ok_or(OpError::MissingAttribute { name });
    let (below, above) = (list("padding_below")?, list("padding_above")?);
    let (data, value) = (site.input(0)?, site.input(1)?);
    site.pad(data, &below, &above, value)
}

fn reverse(site: &mut Site) -> Result<Value, OpError> {
    let axes = sizes(site, "reversed_axes")?;
    let (data, axes) = (site.input(0)?, site.ints(&axes)?);
    site.ir_op("Reverse", 1, Attrs::new().with("mode", "index"), &[data, axes])
}

/// A softmax over several axes: subtracts the maximum, exponentiates, and divides by the sum.
fn softmax(site: &mut Site) -> Result<Value, OpError> {
    let data = site.input(0)?;
    let axes = match (site.node.attrs.sizes("softmax_axes")?, site.inputs.get(1)) {
        (Some(axes), _) => as_ints(&axes),
        (None, Some(&input)) => {
            let known = site.known(input).map(|axes| axes.to_vec());
            known.ok_or_else(|| OpError::unsupported("a Softmax over unknown axes"))?
        }
        (None, None) => return Err(OpError::MissingAttribute { name: "softmax_axes" }),
    };
    if let [axis] = axes.as_slice() {
        return site.ir_op("Softmax", 1, Attrs::new().with("axis", *axis), &[data]);
    }
    let axes = site.ints(&axes)?;
    let greatest = site.add_op(Reduce { function: ReduceOp::Max, keep_dims: true }, &[data, axes])?;
    let below = site.subtract(data, greatest)?;
    let exp = site.exp(below)?;
    let sum = site.add_op(Reduce { function: ReduceOp::Sum, keep_dims: true }, &[exp, axes])?;
    site.divide(exp, sum)
}

/// Multiplies the gradient by the derivative of the sigmoid, which is `s * (1 - s)` for the sigmoid `s` of
/// the argument.
fn sigmoid_backprop(site: &mut Site) -> Result<Value, OpError> {
    let (argument, delta) = (site.input(0)?, site.input(1)?);
    let one = site.scalar_like(argument, 1.0)?;
    let sigmoid = site.sigmoid(argument)?;
    let rest = site.subtract(one, sigmoid)?;
    let slope = site.multiply(sigmoid, rest)?;
    site.multiply(slope, delta)
}

/// Selects the gradient where the argument is positive, and 0 elsewhere.
fn relu_backprop(site: &mut Site) -> Result<Value, OpError> {
    let (argument, delta) = (site.input(0)?, site.input(1)?);
    let zero = site.scalar_like(delta, 0.0)?;
    let positive = site.greater(argument, zero)?;
    site.select(positive, delta, zero)
}

/// Reads a newer op that OpenVINO has, too, with the same attribute names. Such ops occur in newer files.
fn same_as_openvino(site: &mut Site, version: i64) -> Result<Option<Value>, OpError> {
    let Ok(opset) = u8::try_from(version) else { return Ok(None) };
    let (attrs, inputs) = (site.node.attrs.clone(), site.inputs.to_vec());
    match site.ir_op(&site.node.op, opset, attrs, &inputs) {
        Err(OpError::Unsupported { .. }) => Ok(None),
        added => added.map(Some),
    }
}
