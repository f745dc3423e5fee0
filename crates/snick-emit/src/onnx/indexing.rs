//! Ops that search, gather and scatter elements.

use snick_ir::ops::index_type::IndexType;
use snick_ir::ops::movement::one_hot::NegativeIndices;
use snick_ir::ops::movement::top_k::{TopKMode, TopKSort};
use snick_ir::ops::{Gather, GatherElements, GatherNd, OneHot, TopK, Unique};
use snick_ir::{Op, OpError};
use snick_tensor::{ElementType, Tensor};

use super::axes::to_front;
use super::emitter::{Emitter, Result, int, ints, text};
use super::row::OpRow;
use super::scatter::{scatter_elements, scatter_nd};
use super::types::{COMBINED, EXTREMES, MOVED, OF_UNIQUE};
use crate::layer::Layer;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Gather(op) => OpRow::new(|e| gather(e, op)).every_type().lacks(MOVED),
        Op::GatherElements(op) => OpRow::new(|e| gather_elements(e, op)).every_type().lacks(MOVED),
        Op::GatherNd(op) => OpRow::new(|e| gather_nd(e, op)).every_type().lacks(MOVED),
        Op::NonZero(op) => OpRow::new(|e| non_zero(e, op.output_type)),
        Op::OneHot(op) => OpRow::new(|e| one_hot(e, op)).only(is_usual_one_hot),
        Op::ScatterElementsUpdate(op) => OpRow::new(|e| scatter_elements(e, op)).every_type().lacks(COMBINED),
        Op::ScatterNdUpdate(op) => OpRow::new(|e| scatter_nd(e, op.reduction)).every_type().lacks(COMBINED),
        Op::ScatterUpdate(_) => OpRow::new(scatter).every_type().lacks(MOVED),
        Op::TopK(op) => OpRow::new(|e| top_k(e, op)).lacks(EXTREMES),
        Op::Unique(op) => OpRow::new(|e| unique(e, op)).lacks(OF_UNIQUE),
        _ => return None,
    })
}

fn gather_elements(e: &mut Emitter, op: &GatherElements) -> Result {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    e.last("GatherElements", &[data, indices], vec![int("axis", op.axis)])
}

fn gather(e: &mut Emitter, op: &Gather) -> Result {
    let axis = e.fixed_one(2, "the axis")?;
    if op.batch_dims != 0 {
        // ONNX's GatherND has batch axes, but only gathers along the axis right after them.
        let from_end = if op.batch_dims < 0 { e.rank(1)? as i64 } else { 0 };
        let batch = op.batch_dims.saturating_add(from_end).try_into().unwrap_or(0_usize);
        if snick_ir::normalize_axis(axis, e.rank(0)?)? != batch {
            return Err(OpError::unsupported("an axis that does not directly follow batch_dims"));
        }
        let (data, indices) = match with_zeros_behind(e, op, batch)? {
            Some(padded) => padded,
            None => (e.input(0)?, e.input_i64(1)?),
        };
        let indices = e.unsqueezed(&indices, &[-1])?;
        return e.last("GatherND", &[data, indices], vec![int("batch_dims", batch as i64)]);
    }
    let along = snick_ir::normalize_axis(axis, e.rank(0)?)?;
    let (data, indices) = match with_zeros_behind(e, op, along)? {
        Some(padded) => padded,
        None => (e.input(0)?, e.indices(1)?),
    };
    e.last("Gather", &[data, indices], vec![int("axis", axis)])
}

/// If constant indices are out of range, the layer returns zeros but ONNX fails. Appends a slice of zeros to
/// the data and lets these indices refer to it. Returns the data and the indices; `None` if no index is out
/// of range.
fn with_zeros_behind(e: &mut Emitter, op: &Gather, axis: usize) -> Result<Option<(String, String)>, OpError> {
    let data = &e.fact(0)?.shape;
    let size = data.dims().and_then(|dims| dims.get(axis)?.as_const()).filter(|&size| size > 0);
    let (Some(size), Some(indices), Some(dims)) = (size, e.known(1), e.fact(1)?.shape.as_static()) else {
        return Ok(None);
    };
    let inside = -size..size;
    let is_plain = indices.iter().all(|index| inside.contains(index));
    if is_plain || op.checks_indices {
        return Ok(None);
    }
    let rank = e.rank(0)?;
    let mut pads = vec![0; 2 * rank];
    pads[rank + axis] = 1;
    let (data, pads) = (e.input(0)?, e.vector(&pads)?);
    let data = e.node("Pad", &[data, pads], vec![text("mode", "constant")]);
    // Negative indices are made nonnegative, because the padding moves the end of the axis.
    let within = |index| match inside.contains(&index) {
        true if index < 0 => index + size,
        true => index,
        false => size,
    };
    let indices = Tensor::from_vec(&dims, indices.into_iter().map(within).collect())?;
    Ok(Some((data, e.tensor(&indices)?)))
}

fn gather_nd(e: &mut Emitter, op: &GatherNd) -> Result {
    if op.batch_dims > 1 && op.flattens_batch {
        return Err(OpError::unsupported("batch axes made one"));
    }
    let (data, indices) = (e.input(0)?, e.input_i64(1)?);
    e.last("GatherND", &[data, indices], vec![int("batch_dims", op.batch_dims as i64)])
}

/// Converts the data first, because ONNX Runtime supports few element types.
fn non_zero(e: &mut Emitter, output_type: IndexType) -> Result {
    let x = match e.element_type(0)? {
        ElementType::F32 | ElementType::I32 | ElementType::I64 | ElementType::U8 => e.input(0)?,
        other => e.cast(e.input(0)?, other, ElementType::Boolean)?,
    };
    if output_type == IndexType::I64 {
        return e.last("NonZero", &[x], vec![]);
    }
    let places = e.node("NonZero", &[x], vec![]);
    e.last("Cast", &[places], vec![int("to", e.writer.number_of(ElementType::I32)?.into())])
}

/// ONNX counts negative indices from the end. If the layer ignores negative indices, they are moved out of
/// range.
fn one_hot(e: &mut Emitter, op: &OneHot) -> Result {
    let (mut indices, depth) = (e.input_i64(0)?, e.input_as_vector(1)?);
    if op.negative_indices_mode == NegativeIndices::Ignore {
        let zero = e.number(ElementType::I64, 0.0)?;
        let negative = e.node("Less", &[&indices, &zero], vec![]);
        indices = e.node("Where", &[&negative, &depth, &indices], vec![]);
    }
    let one = e.vector(&[1])?;
    let axis = vec![int("axis", op.axis)];
    let (on, off) = (e.input(2)?, e.input(3)?);
    let [off, on] = [off, on].map(|value| e.node("Reshape", &[&value, &one], vec![]));
    let values = e.joined(&[off, on], 0);
    e.last("OneHot", &[indices, depth, values], axis)
}

/// Whether ONNX can express the layer: runtimes support few element types, and ONNX does not allow scalar
/// indices.
fn is_usual_one_hot(layer: &Layer) -> bool {
    let is_vector = layer.fact(0).is_ok_and(|fact| fact.shape.rank().is_some_and(|rank| rank > 0));
    let element_type = layer.fact(2).map(|fact| fact.element_type);
    is_vector && matches!(element_type, Ok(ElementType::F32 | ElementType::I64))
}

/// Replaces slices of the data along an axis. The axis is moved to the front, because ScatterND needs it
/// there.
fn scatter(e: &mut Emitter) -> Result {
    let (rank, width) = (e.rank(0)?, e.rank(1)?);
    let axis = snick_ir::normalize_axis(e.fixed_one(3, "the axis")?, rank)? as i64;
    let (data, indices, updates) = (e.input(0)?, e.input_i64(1)?, e.input(2)?);
    let indices = e.unsqueezed(&indices, &[-1])?;
    if axis == 0 {
        return e.last("ScatterND", &[data, indices, updates], vec![]);
    }
    let (order, back) = to_front(rank, &[axis]);
    let data = e.transposed(&data, &order);
    let places: Vec<i64> = (axis..axis + width as i64).collect();
    let updates = e.transposed(&updates, &to_front(rank - 1 + width, &places).0);
    let scattered = e.node("ScatterND", &[data, indices, updates], vec![]);
    e.last("Transpose", &[scattered], vec![ints("perm", back)])
}

fn top_k(e: &mut Emitter, op: &TopK) -> Result {
    let axis = int("axis", op.axis);
    let (x, k) = (e.input(0)?, e.input_as_vector(1)?);
    let largest = int("largest", i64::from(op.mode == TopKMode::Max));
    if op.sort == TopKSort::Index {
        // Selects the largest or smallest elements, then sorts their indices in ascending order.
        let best = e.nodes("TopK", &[&x, &k], 2, vec![axis.clone(), largest]);
        let attrs = vec![axis.clone(), int("largest", 0)];
        let places = e.nodes("TopK", &[&best[1], &k], 2, attrs);
        if e.outputs().len() > 1 {
            let target = op.index_element_type.element_type();
            e.last_port(1, "Cast", &[&places[0]], e.to(target)?)?;
        }
        return e.last_of(1, "GatherElements", &[&x, &places[0]], vec![axis]);
    }
    let sorted = int("sorted", i64::from(op.sort == TopKSort::Value));
    let attrs = vec![axis, largest, sorted];
    if op.index_element_type == IndexType::I64 {
        return e.last("TopK", &[x, k], attrs);
    }
    let (values, places) = (e.outputs()[0].clone(), e.fresh("indices"));
    e.push("TopK", e.node.name().to_string(), &[x, k], vec![values, places.clone()], attrs);
    if e.outputs().len() < 2 {
        return Ok(());
    }
    e.last_port(1, "Cast", &[places], vec![int("to", e.writer.number_of(ElementType::I32)?.into())])
}

/// Casts indices and counts from i64 to the types that the attributes of the layer select.
fn unique(e: &mut Emitter, op: &Unique) -> Result {
    let mut attrs = vec![int("sorted", i64::from(op.sorted))];
    if e.len() > 1 {
        attrs.push(int("axis", e.fixed_one(1, "the axis")?));
    }
    let of_places = op.index_element_type.element_type();
    let of_counts = op.count_element_type.element_type();
    let x = e.input(0)?;
    let outputs = e.nodes("Unique", &[x], 4, attrs);
    e.last_port(0, "Identity", &outputs[..1], vec![])?;
    for (port, element_type) in [(1, of_places), (2, of_places), (3, of_counts)] {
        e.last_port(port, "Cast", &outputs[port..=port], e.to(element_type)?)?;
    }
    Ok(())
}
