//! Ops that write updates at indices.

use snick_ir::ops::ScatterElementsUpdate;
use snick_ir::ops::movement::scatter_reduction::ScatterReduction;
use snick_ir::{Op, OpError};
use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::emitter::{Emitter, OpKind, Operand, Result};
use super::hlo::Scatter;
use super::lookup::{from_start, places_along};
use super::reduce::extreme;
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::ScatterElementsUpdate(op) => OpRow::new(|e| scatter_elements(e, op)),
        Op::ScatterNdUpdate(op) => OpRow::new(|e| scatter_nd(e, op.reduction)),
        Op::ScatterUpdate(_) => OpRow::new(scatter_update),
        _ => return None,
    })
}

/// How an update combines with the existing element.
struct Combine {
    /// The operation; `None` replaces the element.
    op: Option<&'static str>,
    /// The neutral element of the operation.
    neutral: f64,
}

/// Scatters updates. The last axis of `indices` holds the index vectors.
fn put(
    e: &mut Emitter,
    data: &Operand,
    indices: &Operand,
    updates: &Operand,
    to: &Scatter,
    op: Option<&'static str>,
) -> Operand {
    e.folding(OpKind::Scatter(to.clone()), &[data, indices, updates], op, data.ty.clone())
}

fn combine(reduction: ScatterReduction, data: &Operand) -> Result<Combine, OpError> {
    let is_boolean = data.ty.element == ElementType::Boolean;
    let (op, neutral) = match reduction {
        ScatterReduction::None => return Ok(Combine { op: None, neutral: 0.0 }),
        ScatterReduction::Sum if is_boolean => ("or", 0.0),
        // For Sub, the updates are negated first.
        ScatterReduction::Sum | ScatterReduction::Sub => ("add", 0.0),
        ScatterReduction::Prod if is_boolean => ("and", 1.0),
        ScatterReduction::Prod => ("multiply", 1.0),
        ScatterReduction::Min => ("minimum", extreme(data, 1.0)),
        ScatterReduction::Max => ("maximum", extreme(data, -1.0)),
        ScatterReduction::Mean => return Err(OpError::unsupported("a scatter with the reduction mean")),
    };
    Ok(Combine { op: Some(op), neutral })
}

/// Scatters elements. The position along `axis` is given by the indices; along other axes it is the position
/// in the updates.
fn scatter_elements(e: &mut Emitter, op: &ScatterElementsUpdate) -> Result {
    let (mut data, indices, updates) = (e.input(0)?, e.input(1)?, e.input(2)?);
    let axis = axis(e, &data)?;
    let combine = combine(op.reduction, &data)?;
    let places = places_along(e, &indices, &data, axis)?;
    let to = Scatter { window: vec![], indexed: (0..data.ty.rank()).collect() };
    if combine.op.is_some() && !op.use_init_val {
        let neutral = e.full(combine.neutral, &updates.ty)?;
        data = put(e, &data, &places, &neutral, &to, None);
    }
    let y = put(e, &data, &places, &updates, &to, combine.op);
    e.give(0, y)
}

fn axis(e: &Emitter, data: &Operand) -> Result<usize, OpError> {
    let axis = e.fixed(3, "the axis of a scatter")?;
    snick_ir::normalize_axis(axis.first().copied().unwrap_or(0), data.ty.rank())
}

/// The last axis of the indices holds index vectors for the leading axes of the data; the window covers the
/// remaining axes.
fn scatter_nd(e: &mut Emitter, reduction: ScatterReduction) -> Result {
    let (data, indices, mut updates) = (e.input(0)?, e.input(1)?, e.input(2)?);
    let first = indices.ty.rank().saturating_sub(1);
    let count = indices.ty.size(first)?;
    let combine = combine(reduction, &data)?;
    if reduction == ScatterReduction::Sub {
        updates = e.same("negate", &[&updates]);
    }
    let places = all_from_start(e, &indices, data.ty.dims.get(..count).unwrap_or_default())?;
    let to = Scatter { window: (first..updates.ty.rank()).collect(), indexed: (0..count).collect() };
    let y = put(e, &data, &places, &updates, &to, combine.op);
    e.give(0, y)
}

/// Makes the elements of index vectors nonnegative: negative ones count from the end of the axis.
fn all_from_start(e: &mut Emitter, indices: &Operand, sizes: &[SymExpr]) -> Result<Operand> {
    let last = indices.ty.rank().saturating_sub(1);
    let mut parts = Vec::with_capacity(sizes.len());
    for (entry, size) in sizes.iter().enumerate() {
        let part = e.part(indices, last, &(entry as i64).into(), 1.into())?;
        parts.push(from_start(e, &part, size)?);
    }
    match parts.is_empty() {
        true => Ok(e.convert(indices, ElementType::I64)),
        false => e.concatenate(&parts, last),
    }
}

/// Writes one slice of the updates at each index along one axis.
fn scatter_update(e: &mut Emitter) -> Result {
    let (data, indices, updates) = (e.input(0)?, e.input(1)?, e.input(2)?);
    let axis = axis(e, &data)?;
    let entries = from_start(e, &indices, &data.ty.dims[axis])?;
    let entries = e.reshape(&entries, [indices.ty.dims.as_slice(), &[1.into()]].concat())?;
    let inside = axis..axis + indices.ty.rank(); // the axes that come from the indices
    let window = (0..updates.ty.rank()).filter(|own| !inside.contains(own)).collect();
    let y = put(e, &data, &entries, &updates, &Scatter { window, indexed: vec![axis] }, None);
    e.give(0, y)
}
