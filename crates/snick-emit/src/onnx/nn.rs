//! What neural networks are made of.

use snick_ir::ops::nn::transposed_convolution::TransposedSliding;
use snick_ir::ops::nn::window::{AutoPad, Rounding, Windows};
use snick_ir::{Op, OpError};
use snick_onnx::Attribute;

use super::emitter::{Emitter, Result, int, ints, text};
use super::row::OpRow;
use super::types::{FLOATS_TO_32_BITS, IN_SIGNED, OF_MAX_POOL, SMALL_IN_I32};
use crate::layer::op;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::AvgPool(_) => OpRow::new(average_pool).lacks(FLOATS_TO_32_BITS),
        Op::Convolution(_) => OpRow::new(|e| convolution(e, false)).lacks(FLOATS_TO_32_BITS),
        Op::ConvolutionBackpropData(_) => {
            OpRow::new(|e| transposed_convolution(e, false)).lacks(FLOATS_TO_32_BITS)
        }
        Op::Einsum(_) => OpRow::new(einsum).lacks(IN_SIGNED),
        Op::GroupConvolution(_) => OpRow::new(|e| convolution(e, true)).lacks(FLOATS_TO_32_BITS),
        Op::GroupConvolutionBackpropData(_) => {
            OpRow::new(|e| transposed_convolution(e, true)).lacks(FLOATS_TO_32_BITS)
        }
        Op::MatMul(_) => OpRow::new(matmul).lacks(SMALL_IN_I32),
        Op::MaxPool(_) => OpRow::new(max_pool).lacks(OF_MAX_POOL),
        _ => return None,
    })
}

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
            let strides = numbers(e, "strides", 1, spatial)?;
            let gaps = kernel(e, spatial).is_ok_and(|kernel| strides.iter().zip(kernel).any(|(&s, k)| s > k));
            let auto_pad = if same == "same_upper" { AutoPad::SameUpper } else { AutoPad::SameLower };
            // Runtimes refuse dilations beside `auto_pad`, and crop data where windows leave gaps.
            attrs.push(match dilated || gaps {
                true => ints("pads", same_pads(e, spatial, auto_pad)?),
                false => text("auto_pad", &same.to_ascii_uppercase()),
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

/// The sizes of the window, without dilation.
fn kernel(e: &Emitter, spatial: usize) -> Result<Vec<i64>, OpError> {
    let sizes = match e.ints("kernel")? {
        sizes if sizes.is_empty() => e.dims(1)?,
        sizes => sizes,
    };
    let missing = || OpError::mismatch("the number of sizes of the window", sizes.len(), spatial);
    sizes.len().checked_sub(spatial).map(|first| sizes[first..].to_vec()).ok_or_else(missing)
}

/// Pads that make the output as large as the data, divided by the strides.
fn same_pads(e: &Emitter, spatial: usize, auto_pad: AutoPad) -> Result<Vec<i64>, OpError> {
    let (strides, dilations) = (numbers(e, "strides", 1, spatial)?, numbers(e, "dilations", 1, spatial)?);
    let kernel = kernel(e, spatial)?;
    let size = |i: usize| e.fact(0).ok()?.shape.dims()?.get(i + 2)?.as_const();
    let windows = Windows {
        strides: &strides,
        dilations: &dilations,
        pads_begin: &[],
        pads_end: &[],
        auto_pad,
        rounding: Rounding::Floor,
    };
    let (mut begin, mut end) = (Vec::new(), Vec::new());
    for (i, &stride) in strides.iter().enumerate().take(spatial) {
        let size = match size(i) {
            // No pads leave room for no window.
            Some(0) => return Err(OpError::unsupported("padding of data without elements")),
            Some(size) => size,
            // All sizes lead to the same padding.
            None if stride == 1 || kernel[i] == 1 => 1,
            None => return Err(OpError::unsupported("padding of data of unknown size")),
        };
        let number = |value: i64| usize::try_from(value).unwrap_or(1);
        let [before, after] = windows.padding(i, number(size), number(kernel[i]))?;
        begin.push(before);
        end.push(after);
    }
    Ok([begin, end].concat())
}

fn spatial(e: &Emitter, filters_extra: usize) -> Result<usize, OpError> {
    let rank = e.rank(0).or_else(|_| Ok::<_, OpError>(e.rank(1)?.saturating_sub(filters_extra)))?;
    rank.checked_sub(2).ok_or_else(|| OpError::rank("the data", rank, "3 or more"))
}

/// The inputs with filters without the axis of groups in front, whose number is added to the attributes.
fn ungrouped(e: &mut Emitter, grouped: bool, attrs: &mut Vec<Attribute>) -> Result<[String; 2], OpError> {
    let (x, mut filters) = (e.input(0)?, e.input(1)?);
    if grouped {
        let dims = e.dims(1)?;
        let [groups, first, rest @ ..] = dims.as_slice() else {
            return Err(OpError::rank("the filters", dims.len(), "4 or more"));
        };
        filters = e.reshaped(&filters, &[&[groups.saturating_mul(*first)], rest].concat())?;
        attrs.push(int("group", *groups));
    }
    Ok([x, filters])
}

fn convolution(e: &mut Emitter, grouped: bool) -> Result {
    let mut attrs = sliding(e, spatial(e, usize::from(grouped))?)?;
    let inputs = ungrouped(e, grouped, &mut attrs)?;
    e.last("Conv", &inputs, attrs)
}

/// Zeros that ConvTranspose cannot add are added by Pad.
fn transposed_convolution(e: &mut Emitter, grouped: bool) -> Result {
    let transposed = match e.node.op() {
        Op::ConvolutionBackpropData(op) => &op.transposed,
        Op::GroupConvolutionBackpropData(op) => &op.transposed,
        _ => return Err(OpError::unsupported("this convolution")),
    };
    let spatial = spatial(e, usize::from(grouped))?;
    let mut attrs = steps(e, spatial)?;
    let excess = match e.len() {
        2 => None,
        _ => {
            let dims = e.dims(1)?;
            let kernel = dims.iter().skip(2 + usize::from(grouped)).filter_map(|&dim| dim.try_into().ok());
            match e.excess(transposed, &kernel.collect::<Vec<_>>()) {
                None => {
                    attrs.extend(padding_by_output_shape(e, transposed, spatial)?);
                    let inputs = ungrouped(e, grouped, &mut attrs)?;
                    return e.last("ConvTranspose", &inputs, attrs);
                }
                excess => excess,
            }
        }
    };
    let strides = numbers(e, "strides", 1, spatial)?;
    let [mut cropped, mut extra, mut zeros] =
        [vec![0; 2 * spatial], vec![0; spatial], vec![0; 2 * (spatial + 2)]];
    for (i, stride) in strides.into_iter().enumerate() {
        let crop = transposed.crop(i, excess.as_ref().and_then(|all| all.get(i).copied()));
        let [begin, end] =
            crop.map(|crop| i64::try_from(crop).map_err(|_| OpError::unsupported("padding of this size")));
        let (begin, end) = (begin?, end?);
        (cropped[i], cropped[spatial + i]) = (begin.max(0), end.max(0));
        zeros[2 + i] = begin.min(0).saturating_neg();
        // Runtimes want less than a stride of zeros at the end.
        let after = end.min(0).saturating_neg();
        *(if after < stride { &mut extra[i] } else { &mut zeros[spatial + 4 + i] }) = after;
    }
    attrs.extend([ints("pads", cropped), ints("output_padding", extra)]);
    let inputs = ungrouped(e, grouped, &mut attrs)?;
    if zeros.iter().all(|&count| count == 0) {
        return e.last("ConvTranspose", &inputs, attrs);
    }
    let y = e.node("ConvTranspose", &inputs, attrs);
    let zeros = e.vector(&zeros)?;
    e.last("Pad", &[y, zeros], vec![])
}

/// Attributes that leave the padding to the runtime: it depends on the size of the data.
fn padding_by_output_shape(
    e: &Emitter,
    transposed: &TransposedSliding,
    spatial: usize,
) -> Result<Vec<Attribute>, OpError> {
    // The odd element to crop is at the other end than the layer's attribute says.
    let auto_pad = match transposed.sliding.sliding.auto_pad {
        AutoPad::SameUpper => "SAME_LOWER",
        AutoPad::SameLower => "SAME_UPPER",
        _ => return Err(OpError::unsupported("padding known only at run time")),
    };
    let sizes = e.fixed(2, "sizes of the output")?;
    let extra = numbers(e, "output_padding", 0, spatial)?;
    if extra.iter().zip(numbers(e, "strides", 1, spatial)?).any(|(&extra, stride)| extra >= stride) {
        return Err(OpError::unsupported("output_padding of a stride or more, and data of unknown size"));
    }
    Ok(vec![ints("output_shape", sizes), ints("output_padding", extra), text("auto_pad", auto_pad)])
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
        "ceil_torch" if !same => (sliding(e, kernel.len())?, 1),
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
