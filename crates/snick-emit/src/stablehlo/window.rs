//! Windows that slide: pooling, and sums that run along an axis.

use snick_ir::ops::nn::pool::PoolKind;
use snick_ir::ops::nn::window::Rounding;
use snick_ir::{Op, OpError};

use super::emitter::{Emitter, Got, Operand, Written};
use super::reduction::extreme;
use super::table::Form::{self, By};

pub(super) const ROWS: &[(&str, Form)] =
    &[("AvgPool", By(average_pool)), ("CumSum", By(cumulative_sum)), ("MaxPool", By(max_pool))];

/// A window over each axis.
pub(super) struct Window {
    pub(super) sizes: Vec<usize>,
    pub(super) strides: Vec<usize>,
    pub(super) dilations: Vec<usize>,
    /// Elements before and behind each axis.
    pub(super) padding: Vec<[i64; 2]>,
}

impl Window {
    /// Every element by itself.
    pub(super) fn single(rank: usize) -> Self {
        let ones = vec![1; rank];
        Self { sizes: ones.clone(), strides: ones.clone(), dilations: ones, padding: vec![[0, 0]; rank] }
    }
}

/// Each window becomes one element.
pub(super) fn slide(
    e: &mut Emitter,
    x: &Operand,
    window: &Window,
    combine: &str,
    start: f64,
    dims: &[usize],
) -> Got {
    let start = e.full(start, &x.ty.sized(&[]))?;
    let array = |list: &[usize]| list.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let padding: Vec<String> = window.padding.iter().map(|[low, high]| format!("[{low}, {high}]")).collect();
    let attributes = format!(
        "base_dilations = array<i64: {}>, padding = dense<[{}]> : tensor<{}x2xi64>, \
         window_dilations = array<i64: {}>, window_dimensions = array<i64: {}>, window_strides = array<i64: {}>",
        array(&vec![1; window.sizes.len()]),
        padding.join(", "),
        window.sizes.len(),
        array(&window.dilations),
        array(&window.sizes),
        array(&window.strides),
    );
    Ok(e.folding("stablehlo.reduce_window", &[x, &start], &attributes, combine, x.ty.sized(dims)))
}

/// The window of a pooling layer, and the padding that the layer names at the end of each axis: windows that begin
/// inside of it may end behind it.
fn of_pool(e: &Emitter, x: &Operand) -> Result<(Window, Vec<i64>), OpError> {
    let Op::Pool(op) = &e.node.op else { return Err(OpError::unsupported("this pooling in StableHLO")) };
    let dims = e.output(0)?.dims;
    let kernel: Vec<usize> = op.kernel.iter().filter_map(|&size| usize::try_from(size).ok()).collect();
    let spatial = x.ty.dims.get(2..).unwrap_or_default();
    let (concrete, _) = op.sliding.concrete(spatial, &kernel, op.rounding)?;
    let mut window = Window::single(x.ty.rank());
    let mut ends = vec![0; x.ty.rank()];
    for (i, &size) in kernel.iter().enumerate() {
        let axis = i + 2;
        let (stride, dilation) = (concrete.strides[i], concrete.dilations[i]);
        let (low, high) = (concrete.pads_begin[i] as i64, concrete.pads_end[i] as i64);
        let reach = (dims[axis] as i64 - 1) * stride as i64 + (size as i64 - 1) * dilation as i64 + 1;
        (window.sizes[axis], window.strides[axis], window.dilations[axis]) = (size, stride, dilation);
        window.padding[axis] = [low, reach - low - x.ty.dims[axis] as i64];
        ends[axis] = high;
    }
    Ok((window, ends))
}

fn max_pool(e: &mut Emitter) -> Written {
    if e.node.outs.len() > 1 && e.is_used(1) {
        return Err(OpError::unsupported("the indices of MaxPool in StableHLO"));
    }
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let (window, _) = of_pool(e, &x)?;
    let y = slide(e, &x, &window, "maximum", extreme(&x, -1.0), &dims)?;
    e.give(0, y)
}

/// The sum divided by the number of elements that count: those of the data, or of the padding too.
fn average_pool(e: &mut Emitter) -> Written {
    let Op::Pool(op) = &e.node.op else { return Err(OpError::unsupported("this pooling in StableHLO")) };
    let (PoolKind::Avg { exclude_pad, .. }, rounding) = (&op.kind, op.rounding) else {
        return Err(OpError::unsupported("this pooling in StableHLO"));
    };
    let exclude_pad = *exclude_pad;
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let (window, ends) = of_pool(e, &x)?;
    let padded = window.padding.iter().zip(&ends).any(|([low, _], end)| *low != 0 || *end != 0);
    if rounding != Rounding::Floor && padded && !exclude_pad {
        return Err(OpError::unsupported("a mean over padding in windows rounded up in StableHLO"));
    }
    let sum = slide(e, &x, &window, "add", 0.0, &dims)?;
    let count = if exclude_pad || !padded {
        let ones = e.full(1.0, &x.ty)?;
        slide(e, &ones, &window, "add", 0.0, &dims)?
    } else {
        let count: usize = window.sizes.iter().product();
        e.full(count as f64, &sum.ty)?
    };
    let y = e.same("stablehlo.divide", &[&sum, &count]);
    e.give(0, y)
}

/// A window as long as the axis, that hangs over its beginning; or over its end, if sums run backwards.
fn cumulative_sum(e: &mut Emitter) -> Written {
    let x = e.input(0)?;
    let axis = e.fixed(1, "the axis of a sum")?.first().copied().unwrap_or(0);
    let axis = snick_ir::normalize_axis(axis, x.ty.rank())?;
    let size = x.ty.dims[axis];
    let mut window = Window::single(x.ty.rank());
    window.sizes[axis] = size.max(1);
    let (reach, own) = (size as i64 - 1, i64::from(e.flag("exclusive")?));
    window.padding[axis] = if e.flag("reverse")? { [-own, reach + own] } else { [reach + own, -own] };
    let dims = x.ty.dims.clone();
    let y = slide(e, &x, &window, "add", 0.0, &dims)?;
    e.give(0, y)
}
