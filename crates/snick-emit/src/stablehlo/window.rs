//! Sliding windows: pooling, and cumulative sums.

use snick_ir::ops::nn::pool::PoolWindow;
use snick_ir::ops::nn::window::Rounding;
use snick_ir::ops::{AvgPool, CumSum, MaxPool};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::contract::contract;
use super::emitter::{Emitter, OpKind, Operand, Result};
use super::hlo::Window;
use super::reduce::extreme;
use super::row::OpRow;
use super::types::{Sizes, fixed};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::AvgPool(op) => OpRow::new(|e| average_pool(e, op)),
        Op::CumSum(op) => OpRow::new(|e| cumulative_sum(e, op)),
        Op::MaxPool(op) => OpRow::new(|e| max_pool(e, op)),
        _ => return None,
    })
}

impl Window {
    /// A window of one element over each axis.
    pub(super) fn single(rank: usize) -> Self {
        let ones = vec![1; rank];
        Self { sizes: ones.clone(), strides: ones.clone(), dilations: ones, padding: vec![[0, 0]; rank] }
    }
}

/// Reduces each window to one element.
pub(super) fn slide(
    e: &mut Emitter,
    x: &Operand,
    window: &Window,
    combine: &'static str,
    start: f64,
    dims: impl Sizes,
) -> Result<Operand> {
    let start = e.full(start, &x.ty.sized(&[]))?;
    Ok(e.folding(OpKind::ReduceWindow(window.clone()), &[x, &start], Some(combine), x.ty.sized(dims)))
}

/// The window of a pooling layer. Its padding extends to the end of the last window. Also returns, for each
/// axis, the padding at the end that the layer itself specifies. The two may differ.
fn of_pool(
    e: &Emitter,
    x: &Operand,
    pool: &PoolWindow,
    dilations: &[i64],
) -> Result<(Window, Vec<i64>), OpError> {
    let (windows, dims) = (pool.windows(dilations), e.output(0)?.dims);
    let kernel: Vec<usize> = pool.kernel.iter().filter_map(|&size| usize::try_from(size).ok()).collect();
    let mut window = Window::single(x.ty.rank());
    let mut ends = vec![0; x.ty.rank()];
    for (i, &size) in kernel.iter().enumerate() {
        let (axis, own) = (i + 2, windows.axis(i));
        let (Some(input), Some(output)) = (x.ty.dims.get(axis), dims.get(axis)) else {
            return Err(OpError::rank("the data", x.ty.rank(), (kernel.len() + 2).to_string()));
        };
        let mut padding = windows.padding(i, fixed(input).ok(), size)?;
        ends[axis] = padding[1];
        // If the number of windows is rounded up, the last window may extend beyond the padding.
        if windows.rounding != Rounding::Floor {
            let behind = own.overhang(fixed(input)?, size, fixed(output)?, padding[0]);
            padding[1] = i64::try_from(behind).map_err(|_| OpError::unsupported("a window of this size"))?;
        }
        window.sizes[axis] = size;
        window.strides[axis] = usize::try_from(own.stride).unwrap_or(1);
        window.dilations[axis] = usize::try_from(own.dilation).unwrap_or(1);
        window.padding[axis] = padding;
    }
    Ok((window, ends))
}

fn max_pool(e: &mut Emitter, op: &MaxPool) -> Result {
    if e.node.outs().len() > 1 && e.is_used(1) {
        return Err(OpError::unsupported("the indices of MaxPool"));
    }
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let (window, _) = of_pool(e, &x, &op.window, &op.dilations)?;
    // The maximum of a window without data is the smallest finite number.
    let least = match x.ty.element {
        ElementType::F32 => f32::MIN.into(),
        ElementType::F64 => f64::MIN,
        _ => extreme(&x, -1.0),
    };
    let y = slide(e, &x, &window, "maximum", least, dims)?;
    e.give(0, y)
}

/// Divides the sum of each window by the number of its elements, which may include padding.
fn average_pool(e: &mut Emitter, op: &AvgPool) -> Result {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let (window, ends) = of_pool(e, &x, &op.window, &op.dilations)?;
    let padded = window.padding.iter().zip(&ends).any(|([low, _], end)| *low != 0 || *end != 0);
    if op.window.rounding_type != Rounding::Floor && padded && !op.exclude_pad {
        return Err(OpError::unsupported("a mean over padding in windows rounded up"));
    }
    let sum = slide(e, &x, &window, "add", 0.0, &dims)?;
    let count = if op.exclude_pad || !padded {
        let ones = e.full(1.0, &x.ty)?;
        slide(e, &ones, &window, "add", 0.0, &dims)?
    } else {
        let count: f64 = window.sizes.iter().map(|&size| size as f64).product();
        e.full(count, &sum.ty)?
    };
    let y = e.same("divide", &[&sum, &count]);
    e.give(0, y)
}

/// Uses a window as long as the axis. The window extends beyond the start of the axis, or beyond its end for
/// reverse sums.
fn cumulative_sum(e: &mut Emitter, op: &CumSum) -> Result {
    let x = e.input(0)?;
    let axis = match x.ty.rank() {
        1 => 0, // the only axis
        rank => {
            let axis = e.fixed(1, "the axis of a sum")?.first().copied().unwrap_or(0);
            snick_ir::normalize_axis(axis, rank)?
        }
    };
    if !x.ty.is_fixed() {
        let y = sums_by_product(e, op, &x, axis)?;
        return e.give(0, y);
    }
    let size = x.ty.size(axis)?;
    let mut window = Window::single(x.ty.rank());
    window.sizes[axis] = size.max(1);
    let (reach, own) = (size as i64 - 1, i64::from(op.exclusive));
    window.padding[axis] = if op.reverse { [-own, reach + own] } else { [reach + own, -own] };
    let y = slide(e, &x, &window, "add", 0.0, &x.ty.dims)?;
    e.give(0, y)
}

/// Multiplies by a triangular matrix of ones, because a window cannot have the length of a dynamic axis.
fn sums_by_product(e: &mut Emitter, op: &CumSum, x: &Operand, axis: usize) -> Result<Operand> {
    let direction = match (op.reverse, op.exclusive) {
        (false, false) => "LE",
        (false, true) => "LT",
        (true, false) => "GE",
        (true, true) => "GT",
    };
    let ty = x.ty.sized(vec![x.ty.dims[axis].clone(); 2]);
    let places = ty.with(ElementType::I64);
    let (from, to) = (e.iota(0, places.clone())?, e.iota(1, places)?);
    let counts = e.compare(direction, &from, &to);
    let ones = e.convert(&counts, x.ty.element);
    let sums = contract(e, x, &ones, [&[], &[]], [&[axis], &[0]])?;
    // The contraction puts the new axis last, so it is moved back.
    let last = x.ty.rank() - 1;
    let order: Vec<usize> = (0..axis).chain([last]).chain(axis..last).collect();
    Ok(e.transpose(&sums, &order))
}
