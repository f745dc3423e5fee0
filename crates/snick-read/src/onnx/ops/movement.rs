//! Operators that take elements to other places.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Concat", &[4, 11, 13], concat),
    one("DepthToSpace", &[1, 11, 13, 28], |b| blocks(b, "DepthToSpace")),
    one("Gather", &[1, 11, 13], gather),
    one("GatherElements", &[11, 13], gather_elements),
    one("GatherND", &[11, 12, 13], gather_nd),
    one("NonZero", &[9, 13], non_zero),
    one("OneHot", &[9, 11], one_hot),
    one("Pad", &[2, 11, 13, 18, 19, 21, 23, 24, 25], pad),
    one("ReverseSequence", &[10], reverse_sequence),
    one("Scatter", &[9, 11], scatter_elements),
    one("ScatterElements", &[11, 13, 16, 18], scatter_elements),
    one("ScatterND", &[11, 13, 16, 18], scatter_nd),
    one("SpaceToDepth", &[1, 13, 28], |b| blocks(b, "SpaceToDepth")),
    one("Tile", &[6, 13], |b| {
        let inputs = b.all()?;
        b.plain("Tile", &inputs)
    }),
    many("TopK", &[1, 10, 11, 24], top_k),
    one("Trilu", &[14], trilu),
];

fn concat(b: &mut NodeBuilder) -> Result {
    let axis = b.attrs.int("axis")?.ok_or(OpError::MissingAttribute { name: "axis" })?;
    let inputs = b.all()?;
    b.make("Concat", Attrs::new().with("axis", axis), &inputs)
}

fn blocks(b: &mut NodeBuilder, op_type: &str) -> Result {
    let x = b.input(0)?;
    let mode = match b.text("mode", "DCR")? {
        "DCR" => "blocks_first",
        "CRD" => "depth_first",
        _ => return Err(b.attrs.bad("mode", "DCR or CRD")),
    };
    let size = b.attrs.int("blocksize")?.ok_or(OpError::MissingAttribute { name: "blocksize" })?;
    b.make(op_type, Attrs::new().with("mode", mode).with("block_size", size), &[x])
}

fn gather(b: &mut NodeBuilder) -> Result {
    let (data, indices, axis) = (b.input(0)?, b.input(1)?, b.int("axis", 0)?);
    let axis = b.index(axis)?;
    b.make("Gather", Attrs::new().with("batch_dims", 0), &[data, indices, axis])
}

/// Along the other axes there may be fewer indices than elements, which the IR does not allow.
fn gather_elements(b: &mut NodeBuilder) -> Result {
    let (mut data, indices, axis) = (b.input(0)?, b.input(1)?, b.int("axis", 0)?);
    let rank = b.rank(data)?;
    let along = b.axis(axis, rank)?;
    let others: Vec<i64> = (0..rank).filter(|&other| other != along).map(|other| other as i64).collect();
    if !others.iter().all(|&other| b.same_size(data, indices, other as usize)) {
        let shape = b.shape_of(indices)?;
        let axes = b.vector(&others)?;
        let (starts, stops) = (b.vector(&vec![0; others.len()])?, b.gather(shape, axes, 0)?);
        let steps = b.vector(&vec![1; others.len()])?;
        data = b.plain("Slice", &[data, starts, stops, steps, axes])?;
    }
    b.make("GatherElements", Attrs::new().with("axis", axis), &[data, indices])
}

pub(super) fn gather_nd(b: &mut NodeBuilder) -> Result {
    let (data, indices, batch) = (b.input(0)?, b.input(1)?, b.int("batch_dims", 0)?);
    b.make("GatherND", Attrs::new().with("batch_dims", batch), &[data, indices])
}

fn non_zero(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    b.make("NonZero", Attrs::new().with("output_type", ElementType::I64), &[x])
}

/// `values` is the pair of off and on; indices and depth may be of any type.
fn one_hot(b: &mut NodeBuilder) -> Result {
    let (indices, depth, values) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let axis = b.int("axis", -1)?;
    let indices = b.convert(indices, ElementType::I64)?;
    let depth = b.convert(depth, ElementType::I64)?;
    let depth = b.scalar(depth)?;
    let zero = b.index(0)?;
    let at = b.index(1)?;
    let off = b.plain("Gather", &[values, zero, zero])?;
    let on = b.plain("Gather", &[values, at, zero])?;
    let attrs = Attrs::new().with("axis", axis).with("negative_indices_mode", "normalize");
    b.make("OneHot", attrs, &[indices, depth, on, off])
}

/// Pads are one vector: all beginnings, then all ends; for all axes, or for those listed.
pub(super) fn pad(b: &mut NodeBuilder) -> Result {
    let data = b.input(0)?;
    let mode = match b.text("mode", "constant")? {
        "constant" => "constant",
        "edge" => "edge",
        "reflect" => "reflect",
        "wrap" => return wrapped(b, data),
        other => return Err(OpError::unsupported(format!("padding mode `{other}`"))),
    };
    let (pads, value) = if b.since < 11 {
        let pads = b.ints("pads")?.ok_or(OpError::MissingAttribute { name: "pads" })?;
        let value = b.float("value", 0.0)?;
        (b.vector(&pads)?, Some(b.number_like(data, value)?))
    } else {
        let value = match b.optional(2) {
            Some(value) => Some(b.scalar(value)?),
            None => None,
        };
        (b.input(1)?, value)
    };
    let value = match value {
        Some(value) => value,
        None => b.number_like(data, 0.0)?,
    };
    let axes = b.optional(3);
    let length = |b: &NodeBuilder, vector: Value| b.dims(vector).filter(|d| d.len() == 1).map(|d| d[0]);
    let count = match axes {
        Some(axes) => length(b, axes),
        None => b.rank(data).ok().or_else(|| length(b, pads).map(|n| n / 2)),
    };
    let count = count.ok_or_else(|| OpError::unsupported("padding an unknown number of axes"))?;
    let mut halves = match b.known_ints(pads).filter(|p| p.len() == 2 * count) {
        Some(pads) => [b.vector(&pads[..count])?, b.vector(&pads[count..])?],
        None => [b.part(pads, 0, count as i64)?, b.part(pads, count as i64, i64::MAX)?],
    };
    if let Some(axes) = axes {
        let none = b.vector(&vec![0; b.rank(data)?])?;
        let zero = b.index(0)?;
        for half in &mut halves {
            *half = b.plain("ScatterElementsUpdate", &[none, axes, *half, zero])?;
        }
    }
    b.make("Pad", Attrs::new().with("pad_mode", mode), &[data, halves[0], halves[1], value])
}

/// Pads with what lies at the other end: indices count on around each axis.
fn wrapped(b: &mut NodeBuilder, data: Value) -> Result {
    let (pads, rank) = (b.input(1)?, b.rank(data)?);
    let axes: Vec<i64> = match b.optional(3) {
        None => (0..).take(rank).collect(),
        Some(axes) => {
            b.known_ints(axes).ok_or_else(|| OpError::unsupported("wrapping axes known only at run time"))?
        }
    };
    let mut y = data;
    let count = axes.len() as i64;
    for (i, axis) in (0..).zip(axes) {
        let (size, zero) = (b.size(y, axis)?, b.vector(&[0])?);
        let (before, after) = (b.part(pads, i, i + 1)?, b.part(pads, count + i, count + i + 1)?);
        let start = b.plain("Subtract", &[zero, before])?;
        let stop = b.plain("Add", &[size, after])?;
        let bounds = [b.scalar(start)?, b.scalar(stop)?, b.index(1)?];
        let places = b.make("Range", Attrs::new().with("output_type", ElementType::I64), &bounds)?;
        let places = b.plain("FloorMod", &[places, size])?;
        y = b.gather(y, places, axis)?;
    }
    Ok(y)
}

fn reverse_sequence(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let attrs = Attrs::new().with("batch_axis", b.int("batch_axis", 1)?);
    let attrs = attrs.with("seq_axis", b.int("time_axis", 0)?);
    b.make("ReverseSequence", attrs, &inputs)
}

/// What is done where an element is written, in words of the IR.
fn scatter_reduction(b: &NodeBuilder) -> Result<&'static str, OpError> {
    Ok(match b.text("reduction", "none")? {
        "none" => "none",
        "add" => "sum",
        "mul" => "prod",
        "max" => "max",
        "min" => "min",
        _ => return Err(b.attrs.bad("reduction", "none, add, mul, max or min")),
    })
}

fn scatter_elements(b: &mut NodeBuilder) -> Result {
    let (data, indices, updates) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let reduction = scatter_reduction(b)?;
    let axis = b.int("axis", 0)?;
    let axis = b.index(axis)?;
    let attrs = Attrs::new().with("reduction", reduction).with("use_init_val", true);
    b.make("ScatterElementsUpdate", attrs, &[data, indices, updates, axis])
}

fn scatter_nd(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let reduction = scatter_reduction(b)?;
    b.make("ScatterNDUpdate", Attrs::new().with("reduction", reduction), &inputs)
}

/// `k` is an attribute in the first version, then an input.
fn top_k(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    let x = b.input(0)?;
    let k = match b.attrs.int("k")? {
        Some(k) => b.index(k)?,
        None => {
            let k = b.input(1)?;
            b.scalar(k)?
        }
    };
    let mode = if b.flag("largest", true)? { "max" } else { "min" };
    let sort = if b.flag("sorted", true)? { "value" } else { "none" };
    let attrs = Attrs::new().with("axis", b.int("axis", -1)?).with("mode", mode).with("sort", sort);
    let attrs = attrs.with("index_element_type", ElementType::I64).with("stable", sort == "value");
    b.many("TopK", attrs, &[x, k], 2)
}

/// Keeps what lies on one side of a diagonal of the last two axes.
pub(super) fn trilu(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let k = match b.optional(1) {
        Some(k) => b.scalar(k)?,
        None => b.index(0)?,
    };
    let (shape, zero, unit) = (b.shape_of(x)?, b.index(0)?, b.index(1)?);
    let mut lines = [zero; 2];
    for (axis, line) in [(-2, 0), (-1, 1)] {
        let at = b.index(axis)?;
        let size = b.plain("Gather", &[shape, at, zero])?;
        let attrs = Attrs::new().with("output_type", ElementType::I64);
        lines[line] = b.make("Range", attrs, &[zero, size, unit])?;
    }
    let last = b.vector(&[-1])?;
    let rows = b.plain("Unsqueeze", &[lines[0], last])?;
    let diagonal = b.plain("Add", &[rows, k])?;
    let op_type = if b.flag("upper", true)? { "GreaterEqual" } else { "LessEqual" };
    let kept = b.plain(op_type, &[lines[1], diagonal])?;
    let nothing = b.number_like(x, 0.0)?;
    b.plain("Select", &[kept, x, nothing])
}
