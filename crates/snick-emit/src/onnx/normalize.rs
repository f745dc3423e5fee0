//! Ops that bring elements to a common scale.

use snick_ir::{Op, OpError};
use snick_tensor::kernels::EpsMode;

use super::emitter::{Emitter, Result, float, int, ints};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("BatchNormInference", Custom(batch_norm)),
    ("GRN", Custom(grn)),
    ("GroupNormalization", Custom(group_normalization)),
    ("LRN", Custom(lrn)),
    ("LogSoftmax", Custom(|e| softmax(e, "LogSoftmax"))),
    ("MVN", Custom(mvn)),
    ("NormalizeL2", Custom(normalize_l2)),
    ("SoftMax", Custom(|e| softmax(e, "Softmax"))),
];

fn softmax(e: &mut Emitter, op: &str) -> Result {
    let axis = e.int("axis")?;
    e.last(op, &e.inputs(), vec![int("axis", axis)])
}

fn batch_norm(e: &mut Emitter) -> Result {
    let Op::BatchNormInference(op) = &e.node.op else { return Err(OpError::unsupported("this layer")) };
    let inputs = op.order().map(|i| e.input(i)).into_iter().collect::<Result<Vec<_>, _>>()?;
    e.last("BatchNormalization", &inputs, vec![float("epsilon", op.epsilon)])
}

fn group_normalization(e: &mut Emitter) -> Result {
    let epsilon = e.attrs.float("epsilon")?.unwrap_or(1e-5);
    let groups = e.int("num_groups")?;
    e.last("GroupNormalization", &e.inputs(), vec![int("num_groups", groups), float("epsilon", epsilon)])
}

/// ONNX sums over channels only, and its bias cannot be left out; sums over an image are means of windows.
fn lrn(e: &mut Emitter) -> Result {
    let real = |name| e.attrs.float(name).map(|v| v.unwrap_or_default());
    let (alpha, beta, bias, size) = (real("alpha")?, real("beta")?, real("bias")?, e.int("size")?);
    let (x, axes) = (e.input(0)?, e.fixed(1, "the axes")?);
    match axes.as_slice() {
        [1] => {
            // As many neighbours on either side, where ONNX has one more behind for an even size.
            let window = 2 * ((size - 1).max(0) / 2) + 1;
            let alpha = alpha * window as f64 / size as f64;
            let attrs =
                vec![float("alpha", alpha), float("beta", beta), float("bias", bias), int("size", window)];
            e.last("LRN", &[x], attrs)
        }
        [2, 3] if e.rank(0)? == 4 && size % 2 == 1 => {
            let element_type = e.element_type(0)?;
            let square = e.node("Mul", &[&x, &x], vec![]);
            let attrs = vec![
                ints("kernel_shape", vec![size; 2]),
                ints("pads", vec![size / 2; 4]),
                int("count_include_pad", 1),
            ];
            let mean = e.node("AveragePool", &[square], attrs);
            let factors = [e.number(element_type, alpha)?, e.number(element_type, bias)?];
            let scaled = e.node("Mul", &[&mean, &factors[0]], vec![]);
            let raised = e.node("Add", &[&scaled, &factors[1]], vec![]);
            let beta = e.number(element_type, beta)?;
            let divisor = e.node("Pow", &[raised, beta], vec![]);
            e.last("Div", &[x, divisor], vec![])
        }
        _ => Err(OpError::unsupported("axes other than the channels or the image in ONNX")),
    }
}

/// `(x - mean) / sqrt(variance + eps)`, or `(x - mean) / (sqrt(variance) + eps)`.
fn mvn(e: &mut Emitter) -> Result {
    let (x, element_type) = (e.input(0)?, e.element_type(0)?);
    let Op::Mvn(op) = &e.node.op else { return Err(OpError::unsupported("this layer")) };
    let axes = match op.has_axes_input() {
        true => e.input_i64(1)?,
        false => {
            let axes = op.attribute_axes(e.rank(0)?)?;
            e.vector(&axes.iter().map(|&axis| axis as i64).collect::<Vec<_>>())?
        }
    };
    let keep = || vec![int("keepdims", 1), int("noop_with_empty_axes", 1)];
    let mean = e.node("ReduceMean", &[&x, &axes], keep());
    if !e.flag("normalize_variance")? {
        return e.last("Sub", &[x, mean], vec![]);
    }
    let centred = e.node("Sub", &[x, mean], vec![]);
    let square = e.node("Mul", &[&centred, &centred], vec![]);
    let variance = e.node("ReduceMean", &[square, axes], keep());
    let eps = e.attrs.float("eps")?.unwrap_or_default();
    let eps = e.number(element_type, eps)?;
    let deviation = if op.eps_mode == EpsMode::OutsideSqrt {
        let root = e.node("Sqrt", &[variance], vec![]);
        e.node("Add", &[root, eps], vec![])
    } else {
        let raised = e.node("Add", &[variance, eps], vec![]);
        e.node("Sqrt", &[raised], vec![])
    };
    e.last("Div", &[centred, deviation], vec![])
}

/// The sum of squares over axes, which stay; without axes, the squares.
fn sum_of_squares(e: &mut Emitter, x: &str, axes: &str) -> String {
    let square = e.node("Mul", &[x, x], vec![]);
    let attrs = vec![int("keepdims", 1), int("noop_with_empty_axes", 1)];
    e.node("ReduceSum", &[square.as_str(), axes], attrs)
}

/// Divided by the root of the sum of squares and a bias, over channels.
fn grn(e: &mut Emitter) -> Result {
    let (x, axes) = (e.input(0)?, e.vector(&[1])?);
    let sum = sum_of_squares(e, &x, &axes);
    let bias = e.attrs.float("bias")?.unwrap_or_default();
    let bias = e.number(e.element_type(0)?, bias)?;
    let sum = e.node("Add", &[sum, bias], vec![]);
    let root = e.node("Sqrt", &[sum], vec![]);
    e.last("Div", &[x, root], vec![])
}

/// Divided by the root of the sum of squares, to which epsilon is added, or which is at least epsilon.
fn normalize_l2(e: &mut Emitter) -> Result {
    let (x, axes) = (e.input(0)?, e.input_i64(1)?);
    let axes = e.reshaped(&axes, &[-1])?;
    let sum = sum_of_squares(e, &x, &axes);
    let eps = e.attrs.float("eps")?.unwrap_or_default();
    let eps = e.number(e.element_type(0)?, eps)?;
    let op = if e.word("eps_mode")? == "max" { "Max" } else { "Add" };
    let sum = e.node(op, &[sum, eps], vec![]);
    let root = e.node("Sqrt", &[sum], vec![]);
    e.last("Div", &[x, root], vec![])
}
