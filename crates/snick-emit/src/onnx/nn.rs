//! What neural networks are made of.

use snick_ir::{Op, OpError};
use snick_onnx::Attribute;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Written, float, int, ints, text};
use super::table::Form::{self, By};

pub(super) const ROWS: &[(&str, Form)] = &[
    ("AvgPool", By(average_pool)),
    ("BatchNormInference", By(batch_norm)),
    ("Convolution", By(|e| convolution(e, false))),
    ("ConvolutionBackpropData", By(|e| transposed_convolution(e, false))),
    ("GroupConvolution", By(|e| convolution(e, true))),
    ("GroupConvolutionBackpropData", By(|e| transposed_convolution(e, true))),
    ("GroupNormalization", By(group_normalization)),
    ("Interpolate", By(interpolate)),
    ("LRN", By(lrn)),
    ("LogSoftmax", By(|e| softmax(e, "LogSoftmax"))),
    ("MVN", By(mvn)),
    ("MatMul", By(matmul)),
    ("MaxPool", By(max_pool)),
    ("SoftMax", By(|e| softmax(e, "Softmax"))),
];

fn softmax(e: &mut Emitter, op: &str) -> Written {
    let axis = e.int("axis")?;
    e.last(op, &e.inputs(), vec![int("axis", axis)])
}

/// Transposed operands are written as such, but for vectors, which have nothing to transpose.
fn matmul(e: &mut Emitter) -> Written {
    let mut inputs = e.inputs();
    for (i, name) in [(0, "transpose_a"), (1, "transpose_b")] {
        if !e.flag(name)? {
            continue;
        }
        let rank = e.rank(i)?;
        if rank >= 2 {
            let mut order: Vec<i64> = (0..rank as i64).collect();
            order.swap(rank - 2, rank - 1);
            inputs[i] = e.node("Transpose", &[&inputs[i]], vec![ints("perm", order)]);
        }
    }
    e.last("MatMul", &inputs, vec![])
}

/// How the window slides, over so many axes.
fn sliding(e: &Emitter, spatial: usize) -> Result<Vec<Attribute>, OpError> {
    let numbers = |name: &'static str, default: i64| -> Result<Vec<i64>, OpError> {
        let list = e.ints(name)?;
        Ok(if list.is_empty() { vec![default; spatial] } else { list })
    };
    let mut attrs =
        vec![ints("strides", numbers("strides", 1)?), ints("dilations", numbers("dilations", 1)?)];
    match e.word("auto_pad")?.as_str() {
        "valid" => attrs.push(text("auto_pad", "VALID")),
        "same_upper" => attrs.push(text("auto_pad", "SAME_UPPER")),
        "same_lower" => attrs.push(text("auto_pad", "SAME_LOWER")),
        _ => {
            let pads = [numbers("pads_begin", 0)?, numbers("pads_end", 0)?].concat();
            if pads.iter().any(|&pad| pad < 0) {
                return Err(OpError::unsupported("negative pads in ONNX"));
            }
            attrs.push(ints("pads", pads));
        }
    }
    Ok(attrs)
}

fn spatial(e: &Emitter, filters_extra: usize) -> Result<usize, OpError> {
    let rank = e.rank(0).or_else(|_| Ok::<_, OpError>(e.rank(1)?.saturating_sub(filters_extra)))?;
    rank.checked_sub(2).ok_or_else(|| OpError::rank("the data", rank, "3 or more"))
}

/// Filters without the axis of groups in front, and the attribute that says how many groups there are.
fn ungrouped(e: &mut Emitter) -> Result<(String, Attribute), OpError> {
    let dims = e.dims(1)?;
    let [groups, first, rest @ ..] = dims.as_slice() else {
        return Err(OpError::rank("the filters", dims.len(), "4 or more"));
    };
    let sizes = [vec![groups.saturating_mul(*first)], rest.to_vec()].concat();
    let sizes = e.vector(&sizes)?;
    let filters = e.input(1)?;
    Ok((e.node("Reshape", &[filters, sizes], vec![]), int("group", *groups)))
}

fn convolution(e: &mut Emitter, grouped: bool) -> Written {
    let mut attrs = sliding(e, spatial(e, usize::from(grouped))?)?;
    let x = e.input(0)?;
    let filters = match grouped {
        true => {
            let (filters, group) = ungrouped(e)?;
            attrs.push(group);
            filters
        }
        false => e.input(1)?,
    };
    e.last("Conv", &[x, filters], attrs)
}

fn transposed_convolution(e: &mut Emitter, grouped: bool) -> Written {
    if e.len() > 2 {
        return Err(OpError::unsupported("sizes of the output as an input in ONNX"));
    }
    if e.word("auto_pad")?.starts_with("same") {
        return Err(OpError::unsupported("padding to the same size of a transposed convolution in ONNX"));
    }
    let spatial = spatial(e, usize::from(grouped))?;
    let mut attrs = sliding(e, spatial)?;
    let extra = e.ints("output_padding")?;
    if !extra.is_empty() {
        attrs.push(ints("output_padding", extra));
    }
    let x = e.input(0)?;
    let filters = match grouped {
        true => {
            let (filters, group) = ungrouped(e)?;
            attrs.push(group);
            filters
        }
        false => e.input(1)?,
    };
    e.last("ConvTranspose", &[x, filters], attrs)
}

/// Kernel, sliding and rounding of a pool.
fn pool(e: &Emitter) -> Result<Vec<Attribute>, OpError> {
    let kernel = e.ints("kernel")?;
    let mut attrs = sliding(e, kernel.len())?;
    let strides = e.ints("strides")?;
    let padded = [e.ints("pads_begin")?, e.ints("pads_end")?].concat().iter().any(|&pad| pad != 0);
    let ceil = match e.word("rounding_type")?.as_str() {
        "ceil_torch" => 1,
        // A window that starts in the padding counts here, and not in ONNX.
        "ceil" if padded || strides.iter().zip(&kernel).any(|(stride, size)| stride > size) => {
            return Err(OpError::unsupported("rounding_type `ceil` with padding in ONNX"));
        }
        "ceil" => 1,
        _ => 0,
    };
    attrs.extend([ints("kernel_shape", kernel), int("ceil_mode", ceil)]);
    Ok(attrs)
}

fn average_pool(e: &mut Emitter) -> Written {
    let mut attrs = pool(e)?;
    let exclude = e.attrs.bool("exclude-pad")?.or(e.attrs.bool("exclude_pad")?).unwrap_or(false);
    attrs.push(int("count_include_pad", i64::from(!exclude)));
    e.last("AveragePool", &e.inputs(), attrs)
}

fn max_pool(e: &mut Emitter) -> Written {
    let attrs = pool(e)?;
    let second = e.outputs().len() > 1 && e.second_is_used();
    if second && (e.int("axis")? != 0 || e.word("index_element_type")? == "i32") {
        return Err(OpError::unsupported("positions counted from a later axis, or of i32, in ONNX"));
    }
    e.last_of(1 + usize::from(second), "MaxPool", &e.inputs(), attrs)
}

fn batch_norm(e: &mut Emitter) -> Written {
    let Op::BatchNormInference(op) = &e.node.op else { return Err(OpError::unsupported("this layer")) };
    let order = if op.data_first { [0, 1, 2, 3, 4] } else { [2, 0, 1, 3, 4] };
    let inputs = order.map(|i| e.input(i)).into_iter().collect::<Result<Vec<_>, _>>()?;
    e.last("BatchNormalization", &inputs, vec![float("epsilon", op.epsilon)])
}

fn group_normalization(e: &mut Emitter) -> Written {
    let epsilon = e.attrs.float("epsilon")?.unwrap_or(1e-5);
    let groups = e.int("num_groups")?;
    e.last("GroupNormalization", &e.inputs(), vec![int("num_groups", groups), float("epsilon", epsilon)])
}

/// ONNX sums over channels only, and its bias cannot be left out.
fn lrn(e: &mut Emitter) -> Written {
    if e.fixed(1, "the axes")? != [1] {
        return Err(OpError::unsupported("axes other than the channels in ONNX"));
    }
    let real = |name| e.attrs.float(name).map(|v| float(name, v.unwrap_or_default()));
    let attrs = vec![real("alpha")?, real("beta")?, real("bias")?, int("size", e.int("size")?)];
    let x = e.input(0)?;
    e.last("LRN", &[x], attrs)
}

/// `(x - mean) / sqrt(variance + eps)`, or `(x - mean) / (sqrt(variance) + eps)`.
fn mvn(e: &mut Emitter) -> Written {
    if e.len() < 2 {
        return Err(OpError::unsupported("axes by attributes in ONNX"));
    }
    let (x, axes, element_type) = (e.input(0)?, e.input_i64(1)?, e.element_type(0)?);
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
    let deviation = if e.word("eps_mode")? == "outside_sqrt" {
        let root = e.node("Sqrt", &[variance], vec![]);
        e.node("Add", &[root, eps], vec![])
    } else {
        let raised = e.node("Add", &[variance, eps], vec![]);
        e.node("Sqrt", &[raised], vec![])
    };
    e.last("Div", &[centred, deviation], vec![])
}

/// Sizes or scales of all axes, or of those listed.
fn interpolate(e: &mut Emitter) -> Written {
    let mode = match e.word("mode")?.as_str() {
        "nearest" => "nearest",
        "linear_onnx" => "linear",
        "cubic" => "cubic",
        other => return Err(OpError::unsupported(format!("mode `{other}` in ONNX"))),
    };
    let padded = [e.ints("pads_begin")?, e.ints("pads_end")?].concat().iter().any(|&pad| pad != 0);
    if padded || e.flag("antialias")? || e.attrs.get("axes").is_some() {
        return Err(OpError::unsupported("pads, antialias or the first definition in ONNX"));
    }
    let nearest = match e.word("nearest_mode")?.as_str() {
        "simple" => return Err(OpError::unsupported("nearest_mode `simple` in ONNX")),
        "" => "round_prefer_floor".to_string(),
        other => other.to_string(),
    };
    let coordinates = e.word("coordinate_transformation_mode")?;
    let mut attrs = vec![
        text("mode", mode),
        text(
            "coordinate_transformation_mode",
            if coordinates.is_empty() { "half_pixel" } else { &coordinates },
        ),
        text("nearest_mode", &nearest),
    ];
    if mode == "cubic" {
        attrs.push(float("cubic_coeff_a", e.attrs.float("cube_coeff")?.unwrap_or(-0.75)));
    }
    let by_scales = e.word("shape_calculation_mode")? == "scales";
    // Operation set 4 has both, in the order sizes, scales; later there is one.
    let both = e.node.version == snick_ir::Version::Opset(4);
    let (target, axes) = match (both, by_scales) {
        (true, false) => (1, 3),
        (true, true) => (2, 3),
        (false, _) => (1, 2),
    };
    if e.len() > axes {
        attrs.push(ints("axes", e.fixed(axes, "the axes")?));
    }
    let x = e.input(0)?;
    let inputs = match by_scales {
        true => {
            let scales = e.cast(e.input(target)?, e.element_type(target)?, ElementType::F32)?;
            vec![x, String::new(), scales]
        }
        false => vec![x, String::new(), String::new(), e.input_i64(target)?],
    };
    e.last("Resize", &inputs, attrs)
}
