//! Layers of neural networks.

use snick_ir::ops::index_type::IndexType;
use snick_ir::ops::nn::pool::PoolWindow;
use snick_ir::ops::nn::transposed_convolution::TransposedSliding;
use snick_ir::ops::nn::window::{AutoPad, DilatedSliding, Rounding, Windows};
use snick_ir::ops::{AvgPool, Einsum, MatMul, MaxPool};
use snick_ir::{Op, OpError};
use snick_onnx::Attribute;

use super::emitter::{Emitter, Result, int, ints, text};
use super::row::OpRow;
use super::types::{FLOATS_TO_32_BITS, IN_SIGNED, OF_MAX_POOL, SMALL_IN_I32};
use super::windows::{pads, sliding, steps};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::AvgPool(op) => OpRow::new(|e| average_pool(e, op)).lacks(FLOATS_TO_32_BITS),
        Op::Convolution(op) => OpRow::new(|e| convolution(e, &op.sliding, false)).lacks(FLOATS_TO_32_BITS),
        Op::ConvolutionBackpropData(op) => {
            OpRow::new(|e| transposed_convolution(e, &op.transposed, false)).lacks(FLOATS_TO_32_BITS)
        }
        Op::Einsum(op) => OpRow::new(|e| einsum(e, op)).lacks(IN_SIGNED),
        Op::GroupConvolution(op) => {
            OpRow::new(|e| convolution(e, &op.sliding, true)).lacks(FLOATS_TO_32_BITS)
        }
        Op::GroupConvolutionBackpropData(op) => {
            OpRow::new(|e| transposed_convolution(e, &op.transposed, true)).lacks(FLOATS_TO_32_BITS)
        }
        Op::MatMul(op) => OpRow::new(|e| matmul(e, op)).lacks(SMALL_IN_I32),
        Op::MaxPool(op) => OpRow::new(|e| max_pool(e, op)).lacks(OF_MAX_POOL),
        _ => return None,
    })
}

/// Adds a Transpose for each transposed operand, except vectors.
fn matmul(e: &mut Emitter, op: &MatMul) -> Result {
    let mut inputs = e.inputs();
    for (i, transposed) in [(0, op.transpose_a), (1, op.transpose_b)] {
        if !transposed {
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

fn spatial(e: &Emitter, filters_extra: usize) -> Result<usize, OpError> {
    let rank = e.rank(0).or_else(|_| Ok::<_, OpError>(e.rank(1)?.saturating_sub(filters_extra)))?;
    rank.checked_sub(2).ok_or_else(|| OpError::rank("the data", rank, "3 or more"))
}

/// The inputs, with the leading group axis of the filters merged into the next one. Adds the number of groups
/// to the attributes.
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

fn convolution(e: &mut Emitter, op: &DilatedSliding, grouped: bool) -> Result {
    let spatial = spatial(e, usize::from(grouped))?;
    let filters = e.dims(1).ok();
    let kernel = filters.as_ref().and_then(|dims| dims.get(dims.len().checked_sub(spatial)?..));
    let mut attrs = sliding(e, &op.windows(), spatial, kernel)?;
    let inputs = ungrouped(e, grouped, &mut attrs)?;
    e.last("Conv", &inputs, attrs)
}

/// Writes a transposed convolution. Where ConvTranspose cannot pad the result, a Pad adds zeros; a second Pad
/// then removes what is cropped from the opposite end.
fn transposed_convolution(e: &mut Emitter, transposed: &TransposedSliding, grouped: bool) -> Result {
    let spatial = spatial(e, usize::from(grouped))?;
    let windows = transposed.sliding.windows();
    let mut attrs = steps(&windows, spatial);
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
    let (mut cropped, mut extra) = (vec![0; 2 * spatial], vec![0; spatial]);
    let [mut zeros, mut cropped_later] = [(); 2].map(|()| vec![0; 2 * (spatial + 2)]);
    for i in 0..spatial {
        let crop = transposed.crop(i, excess.as_ref().and_then(|all| all.get(i).copied()));
        let [begin, end] =
            crop.map(|crop| i64::try_from(crop).map_err(|_| OpError::unsupported("padding of this size")));
        let (begin, end) = (begin?, end?);
        let ends = [2 + i, spatial + 4 + i];
        zeros[ends[0]] = begin.min(0).saturating_neg();
        // Runtimes require the output padding to be smaller than the stride.
        let after = end.min(0).saturating_neg();
        *(if after < windows.axis(i).stride { &mut extra[i] } else { &mut zeros[ends[1]] }) = after;
        for (side, crop) in [begin, end].map(|crop| crop.max(0)).into_iter().enumerate() {
            // Without the zeros of the opposite end, nothing might remain of small results.
            match zeros[ends[1 - side]] {
                0 => cropped[side * spatial + i] = crop,
                _ => cropped_later[ends[side]] = -crop,
            }
        }
    }
    attrs.extend([ints("pads", cropped), ints("output_padding", extra)]);
    let inputs = ungrouped(e, grouped, &mut attrs)?;
    let pads = [zeros, cropped_later].into_iter().filter(|counts| counts.iter().any(|&count| count != 0));
    let mut step = ("ConvTranspose", inputs.to_vec(), attrs);
    for pads in pads {
        let (op, inputs, attrs) = step;
        step = ("Pad", vec![e.node(op, &inputs, attrs), e.vector(&pads)?], vec![]);
    }
    let (op, inputs, attrs) = step;
    e.last(op, &inputs, attrs)
}

/// The attributes for data of unknown size. With these, the runtime computes the padding from the output
/// shape.
fn padding_by_output_shape(
    e: &Emitter,
    transposed: &TransposedSliding,
    spatial: usize,
) -> Result<Vec<Attribute>, OpError> {
    // If an odd number of elements is cropped, ONNX and OpenVINO crop the extra element at opposite ends.
    let auto_pad = match transposed.sliding.sliding.auto_pad {
        AutoPad::SameUpper => "SAME_LOWER",
        AutoPad::SameLower => "SAME_UPPER",
        _ => return Err(OpError::unsupported("padding known only at run time")),
    };
    let sizes = e.fixed(2, "sizes of the output")?;
    let extra: Vec<i64> = (0..spatial).map(|i| transposed.output_padding(i)).collect();
    let windows = transposed.sliding.windows();
    if extra.iter().enumerate().any(|(i, &extra)| extra >= windows.axis(i).stride) {
        return Err(OpError::unsupported("output_padding of a stride or more, and data of unknown size"));
    }
    Ok(vec![ints("output_shape", sizes), ints("output_padding", extra), text("auto_pad", auto_pad)])
}

/// Kernel, window and rounding attributes of a pool. `counts` says whether the average includes padding
/// elements.
fn pool(e: &Emitter, op: &PoolWindow, dilations: &[i64], counts: bool) -> Result<Vec<Attribute>, OpError> {
    let (windows, kernel) = (op.windows(dilations), op.kernel.as_slice());
    let axes = || (0..kernel.len()).map(|i| windows.axis(i));
    let padded = axes().any(|axis| axis.begin != 0 || axis.end != 0);
    let gaps = axes().zip(kernel).any(|(axis, &size)| axis.stride > size);
    let same = windows.auto_pad.is_same();
    let slides = || sliding(e, &windows, kernel.len(), Some(kernel));
    let (sliding, ceil) = match windows.rounding {
        // OpenVINO computes a window that starts in the padding at the end; ONNX drops it.
        Rounding::Ceil if gaps && same => {
            return Err(OpError::unsupported("rounding_type `ceil` with gaps and padding to the same size"));
        }
        Rounding::Ceil if padded || gaps => (padded_up(e, &windows, kernel, counts)?, 0),
        Rounding::CeilTorch if same => (slides()?, 0),
        // Older operator sets have windows that start in the padding at the end.
        Rounding::CeilTorch if e.is_older(22) => match padded_up(e, &windows, kernel, counts) {
            _ if rounds(e, &windows, kernel, false) == Some(true) => (slides()?, 0),
            Ok(padded) => (padded, 0),
            Err(_) if rounds(e, &windows, kernel, true) == Some(false) => {
                return Err(OpError::unsupported("rounding_type `ceil_torch`"));
            }
            Err(_) => (slides()?, 1),
        },
        Rounding::Ceil | Rounding::CeilTorch => (slides()?, 1),
        Rounding::Floor => (slides()?, 0),
    };
    Ok([sliding, vec![ints("kernel_shape", kernel.to_vec()), int("ceil_mode", ceil)]].concat())
}

/// Whether the output has the sizes that rounding up or down gives, if they are known.
fn rounds(e: &Emitter, windows: &Windows, kernel: &[i64], up: bool) -> Option<bool> {
    let outs = e.node.outs().first()?.fact.shape().as_static()?;
    let data = e.dims(0).ok()?;
    Some(kernel.iter().enumerate().all(|(i, &size)| {
        let (axis, at) = (windows.axis(i), i + 2);
        let size = size.saturating_sub(1).saturating_mul(axis.dilation).saturating_add(1);
        let last = data
            .get(at)
            .map(|data| data.saturating_add(axis.begin).saturating_add(axis.end).saturating_sub(size));
        let (stride, more) = (axis.stride.max(1), if up { axis.stride.max(1) - 1 } else { 0 });
        let count = last.map(|last| last.saturating_add(more).div_euclid(stride).saturating_add(1));
        count == outs.get(at).map(|&out| out as i64)
    }))
}

/// Extends the padding to the end of the last window. This is only possible if the average excludes padding
/// elements.
fn padded_up(
    e: &Emitter,
    windows: &Windows,
    kernel: &[i64],
    counts: bool,
) -> Result<Vec<Attribute>, OpError> {
    let refused = || OpError::unsupported("rounding_type `ceil` with padding that counts");
    let data = e.fact(0)?.shape.as_static();
    let data = data.ok_or_else(|| OpError::unsupported("unknown sizes of input 0"))?;
    let outs = e.node.outs().first().and_then(|out| out.fact.shape.as_static()).ok_or_else(refused)?;
    let mut padding = Vec::with_capacity(kernel.len());
    for (i, &size) in kernel.iter().enumerate() {
        let axis = windows.axis(i);
        let at = |dims: &[usize]| dims.get(i + 2).copied().unwrap_or(0);
        let reach = usize::try_from(size).unwrap_or(0);
        let behind = axis.overhang(at(&data), reach, at(&outs), axis.begin);
        let end = axis.end.max(i64::try_from(behind).map_err(|_| refused())?);
        if counts || end >= size {
            return Err(refused());
        }
        padding.push([axis.begin, end]);
    }
    let mut attrs = steps(windows, kernel.len());
    attrs.push(pads(padding)?);
    Ok(attrs)
}

fn average_pool(e: &mut Emitter, op: &AvgPool) -> Result {
    let counts = !op.exclude_pad;
    let mut attrs = pool(e, &op.window, &op.dilations, counts)?;
    attrs.push(int("count_include_pad", counts.into()));
    e.last("AveragePool", &e.inputs(), attrs)
}

fn max_pool(e: &mut Emitter, op: &MaxPool) -> Result {
    let attrs = pool(e, &op.window, &op.dilations, false)?;
    let second = e.outputs().len() > 1 && e.is_used(1);
    if second && (op.axis != 0 || op.index_element_type == IndexType::I32) {
        return Err(OpError::unsupported("positions counted from a later axis, or of i32"));
    }
    e.last_of(1 + usize::from(second), "MaxPool", &e.inputs(), attrs)
}

/// In ONNX, an ellipsis must cover the same number of axes in each operand.
fn einsum(e: &mut Emitter, op: &Einsum) -> Result {
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
