//! Operators that move elements.

use snick_ir::{Attrs, OpError, Value, ops};
use snick_tensor::ElementType;

use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Concat", &[4, 11, 13], concat).attrs("axis"),
    one("DepthToSpace", &[1, 11, 13, 28], |b| blocks(b, "DepthToSpace")).attrs("blocksize mode"),
    one("Gather", &[1, 11, 13], gather).attrs("axis"),
    one("GatherElements", &[11, 13], gather_elements).attrs("axis"),
    one("GatherND", &[11, 12, 13], gather_nd).attrs("batch_dims"),
    one("NonZero", &[9, 13], non_zero),
    one("OneHot", &[9, 11], one_hot).attrs("axis"),
    one("Pad", &[2, 11, 13, 18, 19, 21, 23, 24, 25], pad).attrs("mode pads value"),
    one("ReverseSequence", &[10], reverse_sequence).attrs("batch_axis time_axis"),
    one("Scatter", &[9, 11], scatter_elements).attrs("axis"),
    one("ScatterElements", &[11, 13, 16, 18], scatter_elements).attrs("axis reduction"),
    one("ScatterND", &[11, 13, 16, 18], scatter_nd).attrs("reduction"),
    one("SpaceToDepth", &[1, 13, 28], |b| blocks(b, "SpaceToDepth")).attrs("blocksize mode"),
    one("Tile", &[6, 13], |b| {
        let inputs = b.all()?;
        b.add_op(ops::Tile, &inputs)
    }),
    many("TopK", &[1, 10, 11, 24], top_k).attrs("axis k largest sorted"),
    one("Trilu", &[14], trilu).attrs("upper"),
];

fn concat(b: &mut NodeBuilder) -> Result {
    let axis = b.required_int("axis")?;
    let inputs = b.all()?;
    b.add_op(ops::Concat { axis }, &inputs)
}

fn blocks(b: &mut NodeBuilder, op_type: &str) -> Result {
    let x = b.input(0)?;
    let mode = b.choice("mode", &[("DCR", "blocks_first"), ("CRD", "depth_first")])?;
    let size = b.required_int("blocksize")?;
    b.ir_op(op_type, Attrs::new().with("mode", mode).with("block_size", size), &[x])
}

fn gather(b: &mut NodeBuilder) -> Result {
    let (data, indices, axis) = (b.input(0)?, b.input(1)?, b.int_attr("axis", 0)?);
    let axis = b.int(axis)?;
    b.add_op(ops::Gather { checks_indices: true, ..ops::Gather::default() }, &[data, indices, axis])
}

/// Adds a GatherElements. In ONNX, the indices may be shorter than the data along the other axes; in the IR,
/// they may not.
fn gather_elements(b: &mut NodeBuilder) -> Result {
    let (mut data, indices, axis) = (b.input(0)?, b.input(1)?, b.int_attr("axis", 0)?);
    let rank = b.rank(data)?;
    let along = b.axis(axis, rank)?;
    let others: Vec<i64> = (0..rank).filter(|&other| other != along).map(|other| other as i64).collect();
    if !others.iter().all(|&other| b.same_size(data, indices, other as usize)) {
        let shape = b.shape_of(indices)?;
        let axes = b.ints(&others)?;
        let (starts, stops) = (b.ints(&vec![0; others.len()])?, b.gather(shape, axes, 0)?);
        let steps = b.ints(&vec![1; others.len()])?;
        data = b.add_op(ops::Slice8, &[data, starts, stops, steps, axes])?;
    }
    b.gather_elements(data, indices, axis)
}

pub(super) fn gather_nd(b: &mut NodeBuilder) -> Result {
    let (data, indices, batch) = (b.input(0)?, b.input(1)?, b.int_attr("batch_dims", 0)?);
    b.ir_op("GatherND", Attrs::new().with("batch_dims", batch), &[data, indices])
}

fn non_zero(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    b.non_zero(x)
}

/// Adds a OneHot. The input `values` contains the off value and the on value. Indices and depth may be of any
/// type.
fn one_hot(b: &mut NodeBuilder) -> Result {
    let (indices, depth, values) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let axis = b.int_attr("axis", -1)?;
    let indices = b.convert(indices, ElementType::I64)?;
    let depth = b.convert(depth, ElementType::I64)?;
    let depth = b.to_scalar(depth)?;
    let (first, second) = (b.int(0)?, b.int(1)?);
    let (off, on) = (b.gather(values, first, 0)?, b.gather(values, second, 0)?);
    let attrs = Attrs::new().with("axis", axis).with("negative_indices_mode", "normalize");
    b.ir_op("OneHot", attrs, &[indices, depth, on, off])
}

/// Adds a Pad. The pads are a single vector: the pads before all axes, followed by the pads after all axes.
/// They are given for all axes, or only for the axes that the node lists.
pub(super) fn pad(b: &mut NodeBuilder) -> Result {
    let data = b.input(0)?;
    let mode = match b.text_attr("mode", "constant")? {
        "constant" => "constant",
        "edge" => "edge",
        "reflect" => "reflect",
        "wrap" => return wrapped(b, data),
        other => return Err(OpError::unsupported(format!("padding mode `{other}`"))),
    };
    let (pads, value) = if b.since < 11 {
        let pads = b.ints_attr("pads")?.ok_or(OpError::MissingAttribute { name: "pads" })?;
        let value = b.float_attr("value", 0.0)?;
        (b.ints(&pads)?, Some(b.scalar_like(data, value)?))
    } else {
        let value = match b.optional(2) {
            Some(value) => Some(b.to_scalar(value)?),
            None => None,
        };
        (b.input(1)?, value)
    };
    let value = match value {
        Some(value) => value,
        None => b.scalar_like(data, 0.0)?,
    };
    let axes = b.optional(3);
    let length = |b: &NodeBuilder, vector: Value| b.dims(vector).filter(|d| d.len() == 1).map(|d| d[0]);
    let count = match axes {
        Some(axes) => length(b, axes),
        None => b.rank(data).ok().or_else(|| length(b, pads).map(|n| n / 2)),
    };
    let count = count.ok_or_else(|| OpError::unsupported("padding an unknown number of axes"))?;
    let mut halves = match b.known_ints(pads).filter(|p| p.len() == 2 * count) {
        Some(pads) => [b.ints(&pads[..count])?, b.ints(&pads[count..])?],
        None => [b.slice_range(pads, 0, 0, count as i64)?, b.slice_range(pads, 0, count as i64, i64::MAX)?],
    };
    if let Some(axes) = axes {
        let rank = b.rank(data)?;
        let none = b.ints(&vec![0; rank])?;
        for half in &mut halves {
            *half = b.scatter_elements(none, axes, *half, 0)?;
        }
    }
    b.ir_op("Pad", Attrs::new().with("pad_mode", mode), &[data, halves[0], halves[1], value])
}

/// Pads with elements from the other end of each axis: indices wrap around.
fn wrapped(b: &mut NodeBuilder, data: Value) -> Result {
    let (pads, rank) = (b.input(1)?, b.rank(data)?);
    let axes: Vec<i64> = match b.optional(3) {
        None => (0..).take(rank).collect(),
        Some(axes) => b
            .known_ints(axes)
            .ok_or_else(|| OpError::unsupported("wrap padding of axes that are not constant"))?,
    };
    let mut y = data;
    let count = axes.len() as i64;
    for (i, axis) in (0..).zip(axes) {
        let (size, zero) = (b.size_of(y, axis)?, b.ints(&[0])?);
        let (before, after) =
            (b.slice_range(pads, 0, i, i + 1)?, b.slice_range(pads, 0, count + i, count + i + 1)?);
        let start = b.subtract(zero, before)?;
        let stop = b.add(size, after)?;
        let (start, stop, step) = (b.to_scalar(start)?, b.to_scalar(stop)?, b.int(1)?);
        let places = b.range(start, stop, step, ElementType::I64)?;
        let places = b.floor_mod(places, size)?;
        y = b.gather(y, places, axis)?;
    }
    Ok(y)
}

fn reverse_sequence(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let attrs = Attrs::new().with("batch_axis", b.int_attr("batch_axis", 1)?);
    let attrs = attrs.with("seq_axis", b.int_attr("time_axis", 0)?);
    b.ir_op("ReverseSequence", attrs, &inputs)
}

/// The name of the reduction in the IR.
fn scatter_reduction(b: &NodeBuilder) -> Result<&'static str, OpError> {
    let table = [("none", "none"), ("add", "sum"), ("mul", "prod"), ("max", "max"), ("min", "min")];
    b.choice("reduction", &table)
}

fn scatter_elements(b: &mut NodeBuilder) -> Result {
    let (data, indices, updates) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let reduction = scatter_reduction(b)?;
    let axis = b.int_attr("axis", 0)?;
    let axis = b.int(axis)?;
    let attrs = Attrs::new().with("reduction", reduction).with("use_init_val", true);
    b.ir_op("ScatterElementsUpdate", attrs, &[data, indices, updates, axis])
}

fn scatter_nd(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let reduction = scatter_reduction(b)?;
    b.ir_op("ScatterNDUpdate", Attrs::new().with("reduction", reduction), &inputs)
}

/// Adds a TopK. In the first version of the operator, `k` is an attribute; in later versions, it is an input.
fn top_k(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let x = b.input(0)?;
    let k = match b.attrs.int("k")? {
        Some(k) => b.int(k)?,
        None => {
            let k = b.input(1)?;
            b.to_scalar(k)?
        }
    };
    let mode = if b.flag_attr("largest", true)? { "max" } else { "min" };
    let sort = if b.flag_attr("sorted", true)? { "value" } else { "none" };
    let attrs = Attrs::new().with("axis", b.int_attr("axis", -1)?).with("mode", mode).with("sort", sort);
    let attrs = attrs.with("index_element_type", ElementType::I64).with("stable", sort == "value");
    b.ir_op_with_outputs("TopK", attrs, &[x, k], 2)
}

/// Keeps the elements on one side of a diagonal in the last two axes.
pub(super) fn trilu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let k = match b.optional(1) {
        Some(k) => b.to_scalar(k)?,
        None => b.int(0)?,
    };
    let (shape, zero, unit) = (b.shape_of(x)?, b.int(0)?, b.int(1)?);
    let mut lines = [zero; 2];
    for (axis, line) in [(-2, 0), (-1, 1)] {
        let at = b.int(axis)?;
        let size = b.gather(shape, at, 0)?;
        lines[line] = b.range(zero, size, unit, ElementType::I64)?;
    }
    let rows = b.unsqueeze(lines[0], &[-1])?;
    let diagonal = b.add(rows, k)?;
    let kept = match b.flag_attr("upper", true)? {
        true => b.greater_equal(lines[1], diagonal)?,
        false => b.less_equal(lines[1], diagonal)?,
    };
    b.select(kept, x, 0.0)
}
