//! Elements chosen by indices.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Got, Operand, Written};
use super::table::Form::{self, By};

pub(super) const ROWS: &[(&str, Form)] = &[
    ("Gather", By(gather)),
    ("GatherElements", By(gather_elements)),
    ("GatherND", By(gather_nd)),
    ("OneHot", By(one_hot)),
];

/// Indices as i64; negative ones count from the end of an axis of `size`.
fn from_start(e: &mut Emitter, indices: &Operand, size: usize) -> Got {
    let indices = e.convert(indices, ElementType::I64);
    let zero = e.full(0.0, &indices.ty)?;
    let size = e.full(size as f64, &indices.ty)?;
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
    sizes: Vec<usize>,
}

/// The indices' last axis holds the entries of one index.
fn look_up(e: &mut Emitter, data: &Operand, indices: &Operand, lookup: &Lookup, dims: &[usize]) -> Operand {
    let attributes = format!(
        "dimension_numbers = #stablehlo.gather<offset_dims = {:?}, collapsed_slice_dims = {:?}, start_index_map = {:?}, \
         index_vector_dim = {}>, indices_are_sorted = false, slice_sizes = array<i64: {}>",
        lookup.offset,
        lookup.collapsed,
        lookup.indexed,
        indices.ty.rank() - 1,
        lookup.sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    );
    e.generic("stablehlo.gather", &[data, indices], &attributes, data.ty.sized(dims))
}

/// Each index takes a whole slice of the data across one axis.
fn gather(e: &mut Emitter) -> Written {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    let axis = e.fixed(2, "the axis of a Gather")?.first().copied().unwrap_or(0);
    let axis = snick_ir::normalize_axis(axis, data.ty.rank())?;
    if e.attrs.int("batch_dims")?.unwrap_or(0) != 0 {
        return Err(OpError::unsupported("Gather with batch_dims in StableHLO"));
    }
    let entries = from_start(e, &indices, data.ty.dims[axis])?;
    let entries = e.reshape(&entries, &[indices.ty.dims.as_slice(), &[1]].concat());
    let dims = e.output(0)?.dims;
    let inside = axis..axis + indices.ty.rank(); // the axes that the indices become
    let mut sizes = data.ty.dims.clone();
    sizes[axis] = 1;
    let lookup = Lookup {
        offset: (0..dims.len()).filter(|out| !inside.contains(out)).collect(),
        collapsed: vec![axis],
        indexed: vec![axis],
        sizes,
    };
    let y = look_up(e, &data, &entries, &lookup, &dims);
    let size = data.ty.dims[axis] as i64;
    if e.known(1).is_some_and(|indices| indices.iter().all(|&index| (-size..size).contains(&index))) {
        return e.give(0, y);
    }
    // StableHLO moves an index that is out of range to the edge, the layer gives 0 for it.
    let entries = e.reshape(&entries, &indices.ty.dims);
    let (zero, end) = (e.full(0.0, &entries.ty)?, e.full(size as f64, &entries.ty)?);
    let (above, below) = (e.compare("GE", &entries, &zero), e.compare("LT", &entries, &end));
    let inside_axis = e.same("stablehlo.and", &[&above, &below]);
    let inside_axis = e.spread(&inside_axis, &inside.collect::<Vec<_>>(), &dims);
    let nothing = e.full(0.0, &y.ty)?;
    let y = e.select(&inside_axis, &y, &nothing);
    e.give(0, y)
}

/// Along `axis` the place is read from the indices, along the others it is that of the result.
fn gather_elements(e: &mut Emitter) -> Written {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    let rank = data.ty.rank();
    let axis = snick_ir::normalize_axis(e.int("axis")?, rank)?;
    let entries = from_start(e, &indices, data.ty.dims[axis])?;
    let column = [indices.ty.dims.as_slice(), &[1]].concat();
    let mut parts = Vec::with_capacity(rank);
    for own in 0..rank {
        let place = if own == axis { entries.clone() } else { e.iota(own, entries.ty.clone()) };
        parts.push(e.reshape(&place, &column));
    }
    let places = e.concatenate(&parts, rank);
    let all: Vec<usize> = (0..rank).collect();
    let lookup = Lookup { offset: vec![], collapsed: all.clone(), indexed: all, sizes: vec![1; rank] };
    let y = look_up(e, &data, &places, &lookup, &indices.ty.dims);
    e.give(0, y)
}

/// The last axis of the indices holds the first entries of a place; the window is the rest.
fn gather_nd(e: &mut Emitter) -> Written {
    let (data, indices) = (e.input(0)?, e.input(1)?);
    if e.attrs.int("batch_dims")?.unwrap_or(0) != 0 {
        return Err(OpError::unsupported("GatherND with batch_dims in StableHLO"));
    }
    let count = indices.ty.dims.last().copied().unwrap_or(0);
    let first = indices.ty.rank().saturating_sub(1);
    let mut parts = Vec::with_capacity(count);
    for entry in 0..count {
        let part = e.part(&indices, first, entry, entry + 1);
        parts.push(from_start(e, &part, data.ty.dims[entry])?);
    }
    let places = e.concatenate(&parts, first);
    let dims = e.output(0)?.dims;
    let named: Vec<usize> = (0..count).collect();
    let sizes = data.ty.dims.iter().enumerate().map(|(axis, &dim)| if axis < count { 1 } else { dim });
    let lookup = Lookup {
        offset: (first..dims.len()).collect(),
        collapsed: named.clone(),
        indexed: named,
        sizes: sizes.collect(),
    };
    let y = look_up(e, &data, &places, &lookup, &dims);
    e.give(0, y)
}

/// The `on` value where the place along the new axis is the index.
fn one_hot(e: &mut Emitter) -> Written {
    let (indices, on, off) = (e.input(0)?, e.input(2)?, e.input(3)?);
    let ty = e.output(0)?;
    let axis = snick_ir::normalize_axis(e.int("axis")?, ty.rank())?;
    let mut entries = e.convert(&indices, ElementType::I64);
    if e.word("negative_indices_mode")? == "normalize" {
        entries = from_start(e, &entries, ty.dims[axis])?;
    }
    let others: Vec<usize> = (0..ty.rank()).filter(|&own| own != axis).collect();
    let entries = e.spread(&entries, &others, &ty.dims);
    let places = e.iota(axis, entries.ty.clone());
    let hits = e.compare("EQ", &places, &entries);
    let [on, off] = [on, off].map(|one| {
        let one = e.reshape(&one, &[]);
        e.broadcast(&one, &ty.dims)
    });
    let y = e.select(&hits, &on, &off);
    e.give(0, y)
}
