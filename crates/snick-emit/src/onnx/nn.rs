//! What neural networks are made of.

use snick_ir::OpError;
use snick_onnx::Attribute;

use super::emitter::{Emitter, Result, int, ints, text};
use super::rule::EmitRule::Custom;
use super::rule::OpRow;
use super::types::{FLOATS, OF_MAX_POOL, SMALL_IN_I32};
use crate::layer::op;

pub(super) const ROWS: &[OpRow] = &[
    OpRow::new("AvgPool", Custom(average_pool)).lacks(FLOATS),
    OpRow::new("Convolution", Custom(|e| convolution(e, false))).lacks(FLOATS),
    OpRow::new("ConvolutionBackpropData", Custom(|e| transposed_convolution(e, false))).lacks(FLOATS),
    OpRow::new("Einsum", Custom(einsum)),
    OpRow::new("GroupConvolution", Custom(|e| convolution(e, true))).lacks(FLOATS),
    OpRow::new("GroupConvolutionBackpropData", Custom(|e| transposed_convolution(e, true))).lacks(FLOATS),
    OpRow::new("MatMul", Custom(matmul)).lacks(SMALL_IN_I32),
    OpRow::new("MaxPool", Custom(max_pool)).lacks(OF_MAX_POOL),
];

/// Transposed operands are written as such, but for vectors, which have nothing to transpose.
fn matmul(e: &mut Emitter) -> Result {
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

/// A list of the layer with a number for each axis.
fn numbers(e: &Emitter, name: &'static str, default: i64, spatial: usize) -> Result<Vec<i64>, OpError> {
    let list = e.ints(name)?;
    match list.len() {
        0 => Ok(vec![default; spatial]),
        len if len == spatial => Ok(list),
        len => Err(OpError::mismatch(format!("the number of entries of `{name}`"), len, spatial)),
    }
}

fn steps(e: &Emitter, spatial: usize) -> Result<Vec<Attribute>, OpError> {
    let (strides, dilations) = (numbers(e, "strides", 1, spatial)?, numbers(e, "dilations", 1, spatial)?);
    Ok(vec![ints("strides", strides), ints("dilations", dilations)])
}

/// Sizes of the output that an input gives, as the pads or the output padding that lead to them.
fn sized(e: &Emitter, spatial: usize, grouped: bool) -> Result<Vec<Attribute>, OpError> {
    let (data, filters, sizes) = (e.dims(0)?, e.dims(1)?, e.fixed(2, "sizes of the output")?);
    let (strides, dilations) = (numbers(e, "strides", 1, spatial)?, numbers(e, "dilations", 1, spatial)?);
    let (begins, extra) = (numbers(e, "pads_begin", 0, spatial)?, numbers(e, "output_padding", 0, spatial)?);
    let auto_pad = e.word("auto_pad")?;
    let [mut begin, mut end, mut padding] = [(); 3].map(|()| Vec::new());
    for i in 0..spatial {
        let at = |list: &[i64], i: usize| list.get(i).copied().unwrap_or(1);
        let reach = (at(&filters, i + 2 + usize::from(grouped)) - 1).saturating_mul(dilations[i]) + 1;
        let full = strides[i].saturating_mul(at(&data, i + 2) - 1).saturating_add(reach);
        let more = full.saturating_sub(at(&sizes, i));
        let total = more.saturating_add(extra[i]).max(0);
        let first = match auto_pad.as_str() {
            "same_upper" => total / 2,
            "same_lower" => total - total / 2,
            _ => begins[i],
        };
        begin.push(first);
        end.push(more.saturating_sub(first).max(0));
        padding.push(first.saturating_sub(more).max(0));
    }
    let attrs = vec![ints("pads", [begin, end].concat()), ints("output_padding", padding)];
    Ok([steps(e, spatial)?, attrs].concat())
}

/// The pads that the layer names, if it does not say how they follow.
fn pads(e: &Emitter, spatial: usize) -> Result<(Vec<i64>, Vec<i64>), OpError> {
    match e.word("auto_pad")?.as_str() {
        "" | "explicit" => Ok((numbers(e, "pads_begin", 0, spatial)?, numbers(e, "pads_end", 0, spatial)?)),
        _ => Ok((vec![0; spatial], vec![0; spatial])),
    }
}

/// How the window slides, over so many axes.
fn sliding(e: &Emitter, spatial: usize) -> Result<Vec<Attribute>, OpError> {
    let mut attrs = steps(e, spatial)?;
    match e.word("auto_pad")?.as_str() {
        "valid" => attrs.push(text("auto_pad", "VALID")),
        same @ ("same_upper" | "same_lower") => {
            let dilated = numbers(e, "dilations", 1, spatial)?.iter().any(|&dilation| dilation != 1);
            let upper = same == "same_upper";
            attrs.push(match dilated {
                // Runtimes refuse both together.
                true => ints("pads", same_pads(e, spatial, upper)?),
                false => text("auto_pad", if upper { "SAME_UPPER" } else { "SAME_LOWER" }),
            });
        }
        _ => {
            let (begin, end) = pads(e, spatial)?;
            let pads = [begin, end].concat();
            if pads.iter().any(|&pad| pad < 0) {
                return Err(OpError::unsupported("negative pads"));
            }
            attrs.push(ints("pads", pads));
        }
    }
    Ok(attrs)
}

/// Pads of a dilated window that make the output as large as the data, divided by the strides.
fn same_pads(e: &Emitter, spatial: usize, upper: bool) -> Result<Vec<i64>, OpError> {
    let (strides, dilations) = (numbers(e, "strides", 1, spatial)?, numbers(e, "dilations", 1, spatial)?);
    let kernel = match e.ints("kernel")? {
        kernel if kernel.is_empty() => e.dims(1)?,
        kernel => kernel,
    };
    let last =
        |list: &[i64], i: usize| list.len().checked_sub(spatial - i).and_then(|at| list.get(at).copied());
    let size = |i: usize| e.fact(0).ok()?.shape.dims()?.get(i + 2)?.as_const();
    let (mut begin, mut end) = (Vec::new(), Vec::new());
    for i in 0..spatial {
        // No pads leave room for no window.
        if size(i) == Some(0) {
            return Err(OpError::unsupported("padding of data without elements"));
        }
        // No product or sum of these is beyond 128 bits.
        let (stride, dilation) = (i128::from(strides[i].max(1)), i128::from(dilations[i]));
        let gaps = (i128::from(last(&kernel, i).unwrap_or(1)) - 1) * dilation;
        let whole = match (stride, size(i).map(i128::from)) {
            (1, _) => gaps,
            (stride, Some(size)) => {
                let steps = (size + stride - 1) / stride - 1;
                (steps * stride + gaps + 1 - size).max(0)
            }
            _ => return Err(OpError::unsupported("padding of data of unknown size")),
        };
        let whole = i64::try_from(whole).map_err(|_| OpError::unsupported("a window of this size"))?;
        let (less, more) = (whole / 2, whole - whole / 2);
        begin.push(if upper { less } else { more });
        end.push(if upper { more } else { less });
    }
    Ok([begin, end].concat())
}

fn spatial(e: &Emitter, filters_extra: usize) -> Result<usize, OpError> {
    let rank = e.rank(0).or_else(|_| Ok::<_, OpError>(e.rank(1)?.saturating_sub(filters_extra)))?;
    rank.checked_sub(2).ok_or_else(|| OpError::rank("the data", rank, "3 or more"))
}

/// The operator over filters without the axis of groups in front.
fn convolve(e: &mut Emitter, op: &str, grouped: bool, mut attrs: Vec<Attribute>) -> Result {
    let (x, mut filters) = (e.input(0)?, e.input(1)?);
    if grouped {
        let dims = e.dims(1)?;
        let [groups, first, rest @ ..] = dims.as_slice() else {
            return Err(OpError::rank("the filters", dims.len(), "4 or more"));
        };
        filters = e.reshaped(&filters, &[&[groups.saturating_mul(*first)], rest].concat())?;
        attrs.push(int("group", *groups));
    }
    e.last(op, &[x, filters], attrs)
}

fn convolution(e: &mut Emitter, grouped: bool) -> Result {
    let attrs = sliding(e, spatial(e, usize::from(grouped))?)?;
    convolve(e, "Conv", grouped, attrs)
}

fn transposed_convolution(e: &mut Emitter, grouped: bool) -> Result {
    let spatial = spatial(e, usize::from(grouped))?;
    let attrs = if e.len() > 2 {
        sized(e, spatial, grouped)?
    } else {
        let (begin, mut end) = pads(e, spatial)?;
        let mut extra = numbers(e, "output_padding", 0, spatial)?;
        if begin.iter().chain(&end).any(|&pad| pad < 0) {
            return Err(OpError::unsupported("negative pads"));
        }
        // Runtimes want less than a stride of it; what is cut off at the end need not be put there.
        for ((end, extra), stride) in end.iter_mut().zip(&mut extra).zip(numbers(e, "strides", 1, spatial)?) {
            if *extra >= stride {
                let both = (*end).min(*extra);
                (*end, *extra) = (*end - both, *extra - both);
            }
        }
        let pads = ints("pads", [begin, end].concat());
        [steps(e, spatial)?, vec![pads, ints("output_padding", extra)]].concat()
    };
    convolve(e, "ConvTranspose", grouped, attrs)
}

/// Kernel, sliding and rounding of a pool.
fn pool(e: &Emitter) -> Result<Vec<Attribute>, OpError> {
    let kernel = e.ints("kernel")?;
    let strides = e.ints("strides")?;
    let (begin, end) = pads(e, kernel.len())?;
    let padded = begin.iter().chain(&end).any(|&pad| pad != 0);
    let gaps = strides.iter().zip(&kernel).any(|(stride, size)| stride > size);
    let same = e.word("auto_pad")?.starts_with("same");
    let (sliding, ceil) = match e.word("rounding_type")?.as_str() {
        "ceil_torch" => (sliding(e, kernel.len())?, 1),
        // A window that starts in the padding counts here, and not in ONNX.
        "ceil" if gaps && same => {
            return Err(OpError::unsupported("rounding_type `ceil` with gaps and padding to the same size"));
        }
        "ceil" if padded || gaps => (padded_up(e, &kernel)?, 0),
        "ceil" => (sliding(e, kernel.len())?, 1),
        _ => (sliding(e, kernel.len())?, 0),
    };
    Ok([sliding, vec![ints("kernel_shape", kernel), int("ceil_mode", ceil)]].concat())
}

/// As much padding behind the data as the last window reaches, where padding does not count.
fn padded_up(e: &Emitter, kernel: &[i64]) -> Result<Vec<Attribute>, OpError> {
    let spatial = kernel.len();
    let counts = e.node.op().type_name() == "AvgPool" && !e.attrs.bool("exclude-pad")?.unwrap_or(false);
    let refused = || OpError::unsupported("rounding_type `ceil` with padding that counts");
    let (strides, dilations) = (numbers(e, "strides", 1, spatial)?, numbers(e, "dilations", 1, spatial)?);
    let (begin, mut end) = pads(e, spatial)?;
    let outs = e.node.outs().first().and_then(|out| out.fact.shape.as_static());
    let (data, outs) = (e.dims(0)?, outs.ok_or_else(refused)?);
    for i in 0..spatial {
        let windows = outs.get(i + 2).map_or(0, |&size| size as i64);
        let reach = (kernel[i] - 1).saturating_mul(dilations[i]).saturating_add(1);
        let wanted = (windows - 1).saturating_mul(strides[i]).saturating_add(reach);
        let have = data.get(i + 2).copied().unwrap_or(0).saturating_add(begin[i]);
        end[i] = end[i].max(wanted.saturating_sub(have));
        if counts || end[i] >= kernel[i] {
            return Err(refused());
        }
    }
    Ok([steps(e, spatial)?, vec![ints("pads", [begin, end].concat())]].concat())
}

fn average_pool(e: &mut Emitter) -> Result {
    let mut attrs = pool(e)?;
    let exclude = e.flag("exclude-pad")?;
    attrs.push(int("count_include_pad", i64::from(!exclude)));
    e.last("AveragePool", &e.inputs(), attrs)
}

fn max_pool(e: &mut Emitter) -> Result {
    let attrs = pool(e)?;
    let second = e.outputs().len() > 1 && e.is_used(1);
    if second && (e.int("axis")? != 0 || e.word("index_element_type")? == "i32") {
        return Err(OpError::unsupported("positions counted from a later axis, or of i32"));
    }
    e.last_of(1 + usize::from(second), "MaxPool", &e.inputs(), attrs)
}

/// The ellipses of ONNX stand for as many axes in each operand.
fn einsum(e: &mut Emitter) -> Result {
    let op = op!(e, Einsum);
    let mut inputs = e.inputs();
    if op.equation.contains("...") {
        let ranks = (0..e.len()).map(|i| e.rank(i)).collect::<Result<Vec<_>, _>>()?;
        for (input, axes) in inputs.iter_mut().zip(op.absent_axes(&ranks)) {
            if !axes.is_empty() {
                let axes: Vec<i64> = axes.map(|axis| axis as i64).collect();
                *input = e.unsqueezed(input, &axes)?;
            }
        }
    }
    e.last("Einsum", &inputs, vec![text("equation", &op.equation)])
}
