//! Ops with an auxiliary function: reductions over axes and over windows, and scatters to the selected
//! element of each window.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::Tensor;
use snick_tensor::kernels::ReduceOp;

use super::gradient::Maxima;
use super::layers::product;
use super::site::{Site, sizes};

/// Maximum number of positions to list for the windows of one axis.
const MAX_POSITIONS: i64 = 1 << 24;

/// Adds the layer that applies a binary function to two values.
type Join = fn(&mut Site, Value, Value) -> Result<Value, OpError>;

/// For each binary function: the name of its op, the reduction, and the layer that combines two values.
const REDUCTIONS: &[(&str, ReduceOp, Join)] = &[
    ("Add", ReduceOp::Sum, |site, x, y| site.add(x, y)),
    ("And", ReduceOp::LogicalAnd, |site, x, y| site.logical_and(x, y)),
    ("LogicalAnd", ReduceOp::LogicalAnd, |site, x, y| site.logical_and(x, y)),
    ("LogicalOr", ReduceOp::LogicalOr, |site, x, y| site.logical_or(x, y)),
    ("Maximum", ReduceOp::Max, |site, x, y| site.maximum(x, y)),
    ("Minimum", ReduceOp::Min, |site, x, y| site.minimum(x, y)),
    ("Multiply", ReduceOp::Prod, |site, x, y| site.multiply(x, y)),
    ("Or", ReduceOp::LogicalOr, |site, x, y| site.logical_or(x, y)),
];

/// Resolves the function that attribute `name` refers to. Returns its op, and whether the inputs of the op
/// are the parameters of the function in the same order.
fn function(site: &Site, name: &'static str) -> Result<(String, bool), OpError> {
    let function = site.node.attrs.text(name)?.ok_or(OpError::MissingAttribute { name })?;
    let binary = site.functions.binary(function)?;
    Ok((binary.op.clone(), binary.in_order))
}

fn reduction(site: &Site) -> Result<(ReduceOp, Join), OpError> {
    let (op, _) = function(site, "function")?;
    let row = REDUCTIONS.iter().find(|row| row.0 == op);
    row.map(|row| (row.1, row.2)).ok_or_else(|| OpError::unsupported(format!("a reduction by `{op}`")))
}

/// Reduces `reduction_axes` with an auxiliary function. The initial value is the second input.
pub(super) fn reduce(site: &mut Site) -> Result<Value, OpError> {
    let (reduce, join) = reduction(site)?;
    let axes = sizes(site, "reduction_axes")?;
    let (data, initial) = (site.input(0)?, site.input(1)?);
    let value = site.reduce(reduce, data, &axes, false)?;
    join(site, value, initial)
}

/// Reduces each window with an auxiliary function, one axis at a time. The initial value is the second input.
pub(super) fn reduce_window(site: &mut Site) -> Result<Value, OpError> {
    let (reduce, join) = reduction(site)?;
    let windows = windows(site)?;
    let (mut value, initial) = (site.input(0)?, site.input(1)?);
    for (axis, window) in windows.into_iter().enumerate().filter(|(_, window)| !window.is_whole()) {
        let Window { size, stride, count, .. } = window;
        if count.checked_mul(size).is_none_or(|positions| positions > MAX_POSITIONS) {
            return Err(OpError::unsupported(format!("{count} windows of {size} elements")));
        }
        let positions: Vec<i64> =
            (0..count).flat_map(|at| (0..size).map(move |inside| at * stride + inside)).collect();
        let positions = Tensor::from_vec(&[count as usize, size as usize], positions)?;
        let positions = site.constant(positions)?;
        let along = site.int(axis as i64)?;
        let listed = site.ir_op("Gather", 1, Attrs::new(), &[value, positions, along])?;
        value = site.reduce(reduce, listed, &[axis as i64 + 1], false)?;
    }
    join(site, value, initial)
}

/// The windows along one axis.
#[derive(Copy, Clone)]
struct Window {
    dim: i64,
    size: i64,
    stride: i64,
    /// Number of windows.
    count: i64,
}

impl Window {
    /// Whether every element is a window of its own.
    fn is_whole(self) -> bool {
        self.size == 1 && (self.stride == 1 || self.dim == 1)
    }
}

/// The windows of every axis of the first input.
fn windows(site: &Site) -> Result<Vec<Window>, OpError> {
    let (shape, strides) = (sizes(site, "window_shape")?, sizes(site, "window_movement_strides")?);
    let dims = site.sizes(site.input(0)?);
    let dims = dims.ok_or_else(|| OpError::unsupported("windows over axes of unknown size"))?;
    if shape.len() != dims.len() || strides.len() != dims.len() {
        let got = format!("{shape:?} by {strides:?}");
        return Err(OpError::mismatch("the window", got, format!("{} numbers each", dims.len())));
    }
    let axes = dims.into_iter().zip(shape).zip(strides).enumerate();
    let window = |(axis, ((dim, size), stride))| {
        if size < 1 || size > dim {
            let what = format!("window_shape[{axis}]");
            return Err(OpError::out_of_range(what, size, format!("1 to the size of the axis, {dim}")));
        }
        if stride < 1 {
            return Err(OpError::out_of_range(
                format!("window_movement_strides[{axis}]"),
                stride,
                "1 or more",
            ));
        }
        Ok(Window { dim, size, stride, count: (dim - size) / stride + 1 })
    };
    axes.map(window).collect()
}

/// Adds each element of the second input to the broadcast third input, at the position of the maximum of the
/// corresponding window of the first input. With `GreaterEq`, the last of several equal elements counts as
/// the maximum. A max pool selects the first, so the data is reversed in this case.
pub(super) fn select_and_scatter(site: &mut Site) -> Result<Value, OpError> {
    let last = match function(site, "selection_function")? {
        (op, true) if op == "Greater" => false,
        (op, true) if op == "GreaterEq" || op == "GreaterEqual" => true,
        (op, _) => return Err(OpError::unsupported(format!("a selection by `{op}`"))),
    };
    match function(site, "scatter_function")? {
        (op, _) if op == "Add" => {}
        (op, _) => return Err(OpError::unsupported(format!("a scatter by `{op}`"))),
    }
    let windows = windows(site)?;
    let (mut data, mut source, initial) = (site.input(0)?, site.input(1)?, site.input(2)?);
    let rank = windows.len();
    // A pool has at most three spatial axes. The axes with windows are moved to the end, and all other axes
    // become the batch of the pool.
    let (slides, rests): (Vec<usize>, Vec<usize>) = (0..rank).partition(|&axis| !windows[axis].is_whole());
    if slides.len() > 3 {
        return Err(OpError::unsupported(format!("windows that slide over {} axes", slides.len())));
    }
    let of = |axes: &[usize], part: fn(&Window) -> i64| -> Vec<i64> {
        axes.iter().filter_map(|&axis| windows.get(axis)).map(part).collect()
    };
    let reached = |window: &Window| (window.count - 1) * window.stride + window.size;
    let all: Vec<usize> = (0..rank).collect();
    let unreached: Vec<i64> = windows.iter().map(|window| window.dim - reached(window)).collect();
    if last {
        // The data is reversed to select the last maximum. Elements after the last window are cropped first,
        // so that the windows stay aligned.
        let crop: Vec<i64> = unreached.iter().map(|rest| -rest).collect();
        data = site.padded(data, &vec![0; rank], &crop)?;
        data = reversed(site, data, &slides)?;
        source = reversed(site, source, &slides)?;
    }
    let dims = if last { windows.iter().map(reached).collect() } else { of(&all, |window| window.dim) };
    let order: Vec<i64> = rests.iter().chain(&slides).map(|&axis| axis as i64).collect();
    let front = |value: &[i64]| -> Vec<i64> { order.iter().map(|&axis| value[axis as usize]).collect() };
    let batch = product(&of(&rests, |window| window.dim))?;
    let pooled = |sizes: Vec<i64>| -> Vec<i64> {
        let sizes = if sizes.is_empty() { vec![1] } else { sizes };
        [batch, 1].into_iter().chain(sizes).collect()
    };
    let transposed = site.transposed(data, &order)?;
    let inner: Vec<i64> = slides.iter().map(|&axis| dims[axis]).collect();
    let flat = site.reshape(transposed, &pooled(inner))?;
    let source = site.transposed(source, &order)?;
    let delta = site.reshape(source, &pooled(of(&slides, |window| window.count)))?;
    let or_one = |list: Vec<i64>| if list.is_empty() { vec![1] } else { list };
    let spatial = slides.len().max(1);
    let maxima = Maxima {
        kernel: or_one(of(&slides, |window| window.size)),
        strides: or_one(of(&slides, |window| window.stride)),
        below: vec![0; spatial],
        above: vec![0; spatial],
    };
    let zero = site.scalar_like(flat, 0.0)?;
    let scattered = maxima.scatter(site, flat, delta, zero)?;
    let scattered = site.reshape(scattered, &front(&dims))?;
    let mut back = vec![0; rank];
    for (place, &axis) in order.iter().enumerate() {
        back[axis as usize] = place as i64;
    }
    let mut value = site.transposed(scattered, &back)?;
    if last {
        value = reversed(site, value, &slides)?;
        value = site.padded(value, &vec![0; rank], &unreached)?;
    }
    site.add(value, initial)
}

fn reversed(site: &mut Site, value: Value, axes: &[usize]) -> Result<Value, OpError> {
    let axes: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    let axes = site.ints(&axes)?;
    site.ir_op("Reverse", 1, Attrs::new().with("mode", "index"), &[value, axes])
}
