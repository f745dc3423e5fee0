//! Elements chosen by indices.

use snick_ir::OpError;
use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};
use super::reduction::sum;
use super::table::EmitRule::{self, Custom};
use super::types::{Sizes, fixed};

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("Gather", Custom(gather)),
    ("GatherElements", Custom(gather_elements)),
    ("GatherND", Custom(gather_nd)),
    ("OneHot", Custom(one_hot)),
    ("ReverseSequence", Custom(reverse_sequence)),
    ("SearchSorted", Custom(search_sorted)),
];

/// Indices as i64; negative ones count from the end of an axis of `size`.
pub(super) fn from_start(e: &mut Emitter, indices: &Operand, size: &SymExpr) -> Result<Operand> {
    let indices = e.convert(indices, ElementType::I64);
    let zero = e.full(0.0, &indices.ty)?;
    let size = e.number(size)?;
    let size = e.spread(&size, &[], &indices.ty.dims)?;
    let below = e.compare("LT", &indices, &zero);
    let moved = e.same("stablehlo.add", &[&indices, &size]);
    Ok(e.select(&below, &moved, &indices))
}

/// How windows of the data are found and where they go.
struct Lookup {
    /// Axes of the result that are those of the window.
    offset: Vec<usize>,
    /// Axes of the data that the window does not have.
    collapsed: Vec<usize>,
    /// Axes of the data that the entries of an index are for.
    indexed: Vec<usize>,
    /// Sizes of the window.
    sizes: Vec<SymExpr>,
}

/// The indices' last axis holds the entries of one index.
fn look_up(
    e: &mut Emitter,
    data: &Operand,
    indices: &Operand,
    lookup: Lookup,
    dims: impl Sizes,
) -> Result<Operand> {
    let numbers = format!(
        "dimension_numbers = #stablehlo.gather<offset_dims = {:?}, collapsed_slice_dims = {:?}, start_index_map = {:?}, \
         index_vector_dim = {}>, indices_are_sorted = false",
        lookup.offset,
        lookup.collapsed,
        lookup.indexed,
        indices.ty.rank().saturating_sub(1),
    );
    let ty = data.ty.sized(dims);
    let sizes: Result<Vec<usize>, OpError> = lookup.sizes.iter().map(fixed).collect();
    if let Ok(sizes) = sizes {
        let sizes = sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let attributes = format!("{numbers}, slice_sizes = array<i64: {sizes}>");
        return Ok(e.generic("stablehlo.gather", &[data, indices], &attributes, ty));
    }
    let sizes = e.vector(lookup.sizes)?;
    Ok(e.generic("stablehlo.dynamic_gather", &[data, indices, &sizes], &numbers, ty))
}

/// Slices of the data across one axis at known places `[count, 1]`.
pub(super) fn along(e: &mut Emitter, data: &Operand, places: &Operand, axis: usize) -> Result<Operand> {
    let (mut sizes, mut dims) = (data.ty.dims.clone(), data.ty.dims.clone());
    sizes[axis] = 1.into();
    dims[axis] = places.ty.dims[0].clone();
    let offset = (0..dims.len()).filter(|&own| own != axis).collect();
    let lookup = Lookup { offset, collapsed: vec![axis], indexed: vec![axis], sizes };
    look_up(e, data, places, lookup, dims)
}

/// Where values of these sizes stand along an axis, as a column along a new last axis.
fn own_place(e: &mut Emitter, like: &Operand, axis: usize) -> Result<Operand> {
    let places = e.iota(axis, like.ty.with(ElementType::I64))?;
    column(e, &places)
}

fn column(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    e.reshape(x, [x.ty.dims.as_slice(), &[1.into()]].concat())
}

/// Each index takes a whole slice of the data across one axis; the first axes may be common to both.
fn gather(e: &mut Emitter) -> Result {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    let axis = e.fixed(2, "the axis of a Gather")?.first().copied().unwrap_or(0);
    let axis = snick_ir::normalize_axis(axis, data.ty.rank())?;
    let batch = match e.attrs.int("batch_dims")?.unwrap_or(0) {
        0 => 0,
        batch if batch == indices.ty.rank() as i64 => indices.ty.rank(),
        batch => snick_ir::normalize_axis(batch, indices.ty.rank())?,
    };
    let entries = from_start(e, &indices, &data.ty.dims[axis])?;
    let mut columns = (0..batch).map(|axis| own_place(e, &entries, axis)).collect::<Result<Vec<_>, _>>()?;
    columns.push(column(e, &entries)?);
    let places = e.concatenate(&columns, entries.ty.rank())?;
    let dims = e.output(0)?.dims;
    // The axes that the indices become.
    let inside: Vec<usize> = (0..batch).chain(axis..axis + indices.ty.rank() - batch).collect();
    let indexed: Vec<usize> = (0..batch).chain([axis]).collect();
    let mut sizes = data.ty.dims.clone();
    indexed.iter().for_each(|&axis| sizes[axis] = 1.into());
    let offset = (0..dims.len()).filter(|out| !inside.contains(out)).collect();
    let lookup = Lookup { offset, collapsed: indexed.clone(), indexed, sizes };
    let y = look_up(e, &data, &places, lookup, &dims)?;
    let size = data.ty.dims[axis].clone();
    // The least that the axis may have.
    let least = e.graph.symbols().interval(&size).lo();
    if e.known(1).is_some_and(|indices| indices.iter().all(|&index| (-least..least).contains(&index))) {
        return e.give(0, y);
    }
    // StableHLO moves an index that is out of range to the edge, the layer gives 0 for it.
    let (zero, end) = (e.full(0.0, &entries.ty)?, e.number(&size)?);
    let end = e.spread(&end, &[], &entries.ty.dims)?;
    let (above, below) = (e.compare("GE", &entries, &zero), e.compare("LT", &entries, &end));
    let inside_axis = e.same("stablehlo.and", &[&above, &below]);
    let inside_axis = e.spread(&inside_axis, &inside, &dims)?;
    let nothing = e.full(0.0, &y.ty)?;
    let y = e.select(&inside_axis, &y, &nothing);
    e.give(0, y)
}

/// Whole places, along a new last axis, of elements that are chosen along one axis of the data.
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

/// Along `axis` the place is read from the indices, along the others it is that of the result.
fn gather_elements(e: &mut Emitter) -> Result {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    let axis = snick_ir::normalize_axis(e.int("axis")?, data.ty.rank())?;
    let y = elements_along(e, &data, &indices, axis)?;
    e.give(0, y)
}

/// Elements whose place along `axis` is read from the indices.
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

/// The beginning of each sequence of a batch in reverse order.
fn reverse_sequence(e: &mut Emitter) -> Result {
    let (data, lengths) = (e.input(0)?, e.input(1)?);
    let batch = snick_ir::normalize_axis(e.int("batch_axis")?, data.ty.rank())?;
    let axis = snick_ir::normalize_axis(e.int("seq_axis")?, data.ty.rank())?;
    let lengths = e.convert(&lengths, ElementType::I64);
    let lengths = e.spread(&lengths, &[batch], &data.ty.dims)?;
    let places = e.iota(axis, lengths.ty.clone())?;
    let one = e.full(1.0, &lengths.ty)?;
    let last = e.same("stablehlo.subtract", &[&lengths, &one]);
    let mirrored = e.same("stablehlo.subtract", &[&last, &places]);
    let turns = e.compare("LT", &places, &lengths);
    let places = e.select(&turns, &mirrored, &places);
    let y = elements_along(e, &data, &places, axis)?;
    e.give(0, y)
}

/// The last axis of the indices holds the first entries of a place behind the axes common to both; the window is the
/// rest.
fn gather_nd(e: &mut Emitter) -> Result {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    let batch = usize::try_from(e.attrs.int("batch_dims")?.unwrap_or(0)).unwrap_or(0);
    let first = indices.ty.rank().saturating_sub(1);
    let count = indices.ty.size(first)?;
    let tuples = Operand { ty: indices.ty.sized(indices.ty.dims[..first].to_vec()), ..indices.clone() };
    let mut columns = (0..batch).map(|axis| own_place(e, &tuples, axis)).collect::<Result<Vec<_>, _>>()?;
    for entry in 0..count {
        let part = e.part(&indices, first, &(entry as i64).into(), 1.into())?;
        let size = data.ty.dims.get(batch + entry);
        let size =
            size.ok_or_else(|| OpError::rank("the data", data.ty.rank(), (batch + count).to_string()))?;
        columns.push(from_start(e, &part, size)?);
    }
    let places = e.concatenate(&columns, first)?;
    let indexed: Vec<usize> = (0..batch + count).collect();
    let dims = [&indices.ty.dims[..first], &data.ty.dims[indexed.len()..]].concat();
    let sizes = data.ty.dims.iter().enumerate();
    let sizes = sizes.map(|(axis, dim)| if axis < indexed.len() { 1.into() } else { dim.clone() });
    let sizes = sizes.collect();
    let offset = (first..dims.len()).collect();
    let lookup = Lookup { offset, collapsed: indexed.clone(), indexed, sizes };
    let y = look_up(e, &data, &places, lookup, dims)?;
    // Before version 8 the batch axes are one.
    let dims = e.output(0)?.dims;
    let y = e.reshape(&y, dims)?;
    e.give(0, y)
}

/// The `on` value where the place along the new axis is the index.
fn one_hot(e: &mut Emitter) -> Result {
    let (indices, on, off) = (e.input(0)?, e.input(2)?, e.input(3)?);
    let ty = e.output(0)?;
    let axis = snick_ir::normalize_axis(e.int("axis")?, ty.rank())?;
    let mut entries = e.convert(&indices, ElementType::I64);
    if e.word("negative_indices_mode")? == "normalize" {
        entries = from_start(e, &entries, &ty.dims[axis])?;
    }
    let others: Vec<usize> = (0..ty.rank()).filter(|&own| own != axis).collect();
    let entries = e.spread(&entries, &others, &ty.dims)?;
    let places = e.iota(axis, entries.ty.clone())?;
    let hits = e.compare("EQ", &places, &entries);
    let (on, off) = (e.everywhere(&on, &ty.dims)?, e.everywhere(&off, &ty.dims)?);
    let y = e.select(&hits, &on, &off);
    e.give(0, y)
}

/// How many elements of each value's sorted sequence, or of the one for all, lie before it.
fn search_sorted(e: &mut Emitter) -> Result {
    let (sorted, values) = (e.input(0)?, e.input(1)?);
    let common = match (sorted.ty.element.is_float(), values.ty.element.is_float()) {
        (false, false) => sorted.ty.element,
        _ => ElementType::F64,
    };
    let (sorted, values) = (e.convert(&sorted, common), e.convert(&values, common));
    let rank = values.ty.rank();
    let each = [values.ty.dims.as_slice(), &sorted.ty.dims[sorted.ty.rank().saturating_sub(1)..]].concat();
    let lead = (0..sorted.ty.rank().saturating_sub(1)).chain([rank]).collect::<Vec<_>>();
    let own: Vec<usize> = (0..rank).collect();
    let (sorted, values) = (e.spread(&sorted, &lead, &each)?, e.spread(&values, &own, &each)?);
    let before = e.compare(if e.flag("right_mode")? { "LE" } else { "LT" }, &sorted, &values);
    let element = e.output(0)?.element;
    let ones = e.convert(&before, element);
    let y = sum(e, &ones, &[rank])?;
    e.give(0, y)
}
