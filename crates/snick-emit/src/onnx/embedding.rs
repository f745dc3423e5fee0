//! Rows of a table, looked up and summed.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, int, text};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("EmbeddingBagOffsets", Custom(offsets)),
    ("EmbeddingBagOffsetsSum", Custom(offsets)),
    ("EmbeddingBagPacked", Custom(packed)),
    ("EmbeddingBagPackedSum", Custom(packed)),
    ("EmbeddingSegmentsSum", Custom(segments)),
];

/// Rows at indices of so many axes, each times its weight if input `weights` is there.
fn rows(e: &mut Emitter, axes: usize, weights: usize) -> Result<String> {
    let (table, indices) = (e.input(0)?, e.input_i64(1)?);
    let rows = e.node("Gather", &[table, indices], vec![int("axis", 0)]);
    if e.len() <= weights {
        return Ok(rows);
    }
    let behind: Vec<i64> = (axes..axes + e.rank(0)? - 1).map(|axis| axis as i64).collect();
    let mut weights = e.input(weights)?;
    if !behind.is_empty() {
        weights = e.unsqueezed(&weights, &behind)?;
    }
    Ok(e.node("Mul", &[rows, weights], vec![]))
}

fn expect_sums(e: &Emitter) -> Result {
    match e.word("reduction")?.as_str() {
        "" | "sum" => Ok(()),
        other => Err(OpError::unsupported(format!("bags reduced by `{other}` in ONNX"))),
    }
}

/// A row of indices for each bag.
fn packed(e: &mut Emitter) -> Result {
    let op = if e.word("reduction")? == "mean" { "ReduceMean" } else { "ReduceSum" };
    let (rows, axes) = (rows(e, 2, 2)?, e.vector(&[1])?);
    e.last(op, &[rows, axes], vec![int("keepdims", 0)])
}

/// Where each bag begins: an index belongs to the last bag that begins at or before it.
fn offsets(e: &mut Emitter) -> Result {
    expect_sums(e)?;
    let (indices, begins) = (e.input_i64(1)?, e.input_i64(2)?);
    let count = e.size(&begins, 0)?;
    let shape = e.shape(&indices);
    let (zero, unit) = (e.index(0)?, e.index(1)?);
    let total = e.node("Squeeze", &[&shape], vec![]);
    let places = e.node("Range", &[&zero, &total, &unit], vec![]);
    let places = e.unsqueezed(&places, &[-1])?;
    let begun = e.node("LessOrEqual", &[begins, places], vec![]);
    let begun = e.node("Cast", &[begun], Emitter::to(ElementType::I64)?);
    let axes = e.vector(&[-1])?;
    let begun = e.node("ReduceSum", &[begun, axes], vec![int("keepdims", 0)]);
    let bags = e.node("Sub", &[begun, unit], vec![]);
    summed(e, bags, count, 3, 4)
}

/// The bag of each index, and how many bags there are.
fn segments(e: &mut Emitter) -> Result {
    let (bags, count) = (e.input_i64(2)?, e.input_as_vector(3)?);
    summed(e, bags, count, 4, 5)
}

/// The sum of the rows of each bag. One without indices is 0, or the row that input `default` names, if not negative.
fn summed(e: &mut Emitter, bags: String, count: String, default: usize, weights: usize) -> Result {
    let (table, rows, real) = (e.input(0)?, rows(e, 1, weights)?, e.element_type(0)?);
    let shape = e.shape(&table);
    let behind = e.cut(&shape, 0, 1, i64::MAX)?;
    let sizes = e.joined(&[count.clone(), behind], 0);
    let zero = e.number(real, 0.0)?;
    let empty = e.node("Expand", &[&zero, &sizes], vec![]);
    let places = e.unsqueezed(&bags, &[-1])?;
    let add = || vec![text("reduction", "add")];
    if e.len() <= default || e.fixed_one(default, "the default row")? < 0 {
        return e.last("ScatterND", &[empty, places, rows], add());
    }
    let sum = e.node("ScatterND", &[&empty, &places, &rows], add());
    let row = e.input_as_vector(default)?;
    let row = e.node("Gather", &[table, row], vec![int("axis", 0)]);
    // How many indices each bag has.
    let (none, unit) = (e.index(0)?, e.index(1)?);
    let none = e.node("Expand", &[&none, &count], vec![]);
    let of_indices = e.shape(&bags);
    let ones = e.node("Expand", &[unit, of_indices], vec![]);
    let counts = e.node("ScatterND", &[&none, &places, &ones], add());
    let filled = e.node("Cast", &[counts], Emitter::to(ElementType::Boolean)?);
    let axes: Vec<i64> = (1..e.rank(0)? as i64).collect();
    let filled = if axes.is_empty() { filled } else { e.unsqueezed(&filled, &axes)? };
    e.last("Where", &[filled, sum, row], vec![])
}
