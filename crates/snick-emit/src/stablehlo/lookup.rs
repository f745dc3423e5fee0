//! Gathers, as used by other operations.

use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::emitter::{Emitter, OpKind, Operand, Result};
use super::hlo::Gather;
use super::types::{Sizes, fixed};

/// StableHLO's gather dimension numbers and window sizes.
pub(super) struct Lookup {
    /// Axes of the result that come from the window of data at an index.
    pub(super) offset: Vec<usize>,
    /// Axes of the data that the window drops.
    pub(super) collapsed: Vec<usize>,
    /// Axes of the data that the elements of an index vector refer to.
    pub(super) indexed: Vec<usize>,
    /// Sizes of the window.
    pub(super) sizes: Vec<SymExpr>,
}

/// Gathers one window of the data per index vector. The last axis of `indices` holds the index vectors.
pub(super) fn look_up(
    e: &mut Emitter,
    data: &Operand,
    indices: &Operand,
    lookup: Lookup,
    dims: impl Sizes,
) -> Result<Operand> {
    let Lookup { offset, collapsed, indexed, sizes } = lookup;
    let ty = data.ty.sized(dims);
    let known = sizes.iter().map(|size| fixed(size).ok()).collect::<Option<Vec<usize>>>();
    let sizes = if known.is_none() { Some(e.vector(sizes)?) } else { None };
    let operands: Vec<&Operand> = [data, indices].into_iter().chain(&sizes).collect();
    Ok(e.op(OpKind::Gather(Gather { offset, collapsed, indexed, sizes: known }), &operands, ty))
}

/// Gathers slices of the data along one axis, at indices `[count, 1]`.
pub(super) fn along(e: &mut Emitter, data: &Operand, places: &Operand, axis: usize) -> Result<Operand> {
    let (mut sizes, mut dims) = (data.ty.dims.clone(), data.ty.dims.clone());
    sizes[axis] = 1.into();
    dims[axis] = places.ty.dims[0].clone();
    let offset = (0..dims.len()).filter(|&own| own != axis).collect();
    let lookup = Lookup { offset, collapsed: vec![axis], indexed: vec![axis], sizes };
    look_up(e, data, places, lookup, dims)
}

/// Indices as i64. Negative indices, which count from the end of an axis of `size`, are made nonnegative.
pub(super) fn from_start(e: &mut Emitter, indices: &Operand, size: &SymExpr) -> Result<Operand> {
    let indices = e.convert(indices, ElementType::I64);
    let zero = e.full(0.0, &indices.ty)?;
    let size = e.number(size)?;
    let size = e.spread(&size, &[], &indices.ty.dims)?;
    let below = e.compare("LT", &indices, &zero);
    let moved = e.same("add", &[&indices, &size]);
    Ok(e.select(&below, &moved, &indices))
}

/// For each element of `like`, its index along `axis`. The result has a new last axis of size 1.
pub(super) fn own_place(e: &mut Emitter, like: &Operand, axis: usize) -> Result<Operand> {
    let places = e.iota(axis, like.ty.with(ElementType::I64))?;
    column(e, &places)
}

pub(super) fn column(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    e.reshape(x, [x.ty.dims.as_slice(), &[1.into()]].concat())
}

/// Index vectors of elements that `indices` select along one axis of the data. The result has a new last
/// axis, which holds the index vectors.
pub(super) fn places_along(
    e: &mut Emitter,
    indices: &Operand,
    data: &Operand,
    axis: usize,
) -> Result<Operand> {
    let rank = data.ty.rank();
    let entries = from_start(e, indices, &data.ty.dims[axis])?;
    let mut columns = Vec::with_capacity(rank);
    for own in 0..rank {
        columns.push(if own == axis { column(e, &entries)? } else { own_place(e, &entries, own)? });
    }
    e.concatenate(&columns, rank)
}

/// Gathers single elements; `indices` contains their positions along `axis`.
pub(super) fn elements_along(
    e: &mut Emitter,
    data: &Operand,
    indices: &Operand,
    axis: usize,
) -> Result<Operand> {
    let places = places_along(e, indices, data, axis)?;
    let all: Vec<usize> = (0..data.ty.rank()).collect();
    let sizes = vec![1.into(); all.len()];
    let lookup = Lookup { offset: vec![], collapsed: all.clone(), indexed: all, sizes };
    look_up(e, data, &places, lookup, &indices.ty.dims)
}
