//! Ops whose bounds, sizes or indices are inputs, and ops that compute indices.

use snick_ir::ops::{Unsqueeze, VariadicSplit};
use snick_ir::{AttrValue, Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::site::{Site, element_type, sizes, word};

/// Maximum axis in a set of axes, and maximum rank of a DynBroadcast. OpenVINO needs a list with an entry for
/// each axis, so a large number in the file would cause a large allocation.
const MAX_MASKED_AXIS: usize = 256;

/// Adds a StridedSlice. nGraph's sets of axes become masks.
pub(super) fn slice(site: &mut Site) -> Result<Value, OpError> {
    let masks = [
        ("begin_mask", "lower_bounds_mask"),
        ("end_mask", "upper_bounds_mask"),
        ("new_axis_mask", "new_axis"),
        ("shrink_axis_mask", "shrink_axis"),
        ("ellipsis_mask", "ellipsis_mask"),
    ];
    let sets = masks.map(|(_, set)| site.node.attrs.sizes(set));
    let mut count = 0;
    for set in &sets {
        let last = set.as_ref().ok().and_then(|set| set.as_ref()?.iter().max().copied());
        count = count.max(last.map_or(0, |axis| axis.saturating_add(1)));
    }
    if count > MAX_MASKED_AXIS {
        return Err(OpError::unsupported(format!("a mask for axis {}", count - 1)));
    }
    let mut attrs = Attrs::new();
    for ((name, _), set) in masks.into_iter().zip(sets) {
        let set = set?.unwrap_or_default();
        let mask = (0..count).map(|axis| i64::from(set.contains(&axis))).collect();
        attrs = attrs.with(name, AttrValue::Ints(mask));
    }
    let inputs = site.inputs.to_vec();
    site.ir_op("StridedSlice", 1, attrs, &inputs)
}

/// Adds a broadcast. The third input lists the output axes that are new; the remaining output axes are the
/// axes of the data, in order.
pub(super) fn broadcast(site: &mut Site) -> Result<Value, OpError> {
    let (data, shape, axes) = (site.input(0)?, site.input(1)?, site.input(2)?);
    let rank = site.sizes(shape).and_then(|sizes| sizes.first().copied());
    let (Some(rank @ 0..), Some(axes)) = (rank, site.known(axes)) else {
        return Err(OpError::unsupported("a DynBroadcast along unknown axes"));
    };
    if rank > MAX_MASKED_AXIS as i64 {
        return Err(OpError::out_of_range("the rank", rank, format!("at most {MAX_MASKED_AXIS}")));
    }
    let kept: Vec<i64> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
    let kept = site.ints(&kept)?;
    site.ir_op("Broadcast", 3, Attrs::new().with("mode", "explicit"), &[data, shape, kept])
}

pub(super) fn gather(site: &mut Site) -> Result<Value, OpError> {
    let (data, indices) = (site.input(0)?, site.input(1)?);
    let axis = site.node.attrs.int("axis")?.unwrap_or(0);
    let axis = site.int(axis)?;
    site.ir_op("Gather", 1, Attrs::new(), &[data, indices, axis])
}

/// Adds updates to the data, at indices along the first axis. Updates at the same index accumulate.
pub(super) fn scatter_add(site: &mut Site) -> Result<Value, OpError> {
    let (data, indices, updates) = (site.input(0)?, site.input(1)?, site.input(2)?);
    let last = site.int(-1)?;
    let indices = site.add_op(Unsqueeze, &[indices, last])?;
    let attrs = Attrs::new().with("reduction", "sum");
    site.ir_op("ScatterNDUpdate", 15, attrs, &[data, indices, updates])
}

/// Splits the data into parts of the listed sizes, along the axis that the second input contains.
pub(super) fn split(site: &mut Site) -> Result<Value, OpError> {
    let (data, axis) = (site.input(0)?, site.input(1)?);
    let pieces = sizes(site, "splits")?;
    let count = pieces.len();
    let pieces = site.ints(&pieces)?;
    let values = site.add_op_with_outputs(VariadicSplit, &[data, axis, pieces], count)?;
    site.further.extend(values.iter().skip(1).copied());
    values.first().copied().ok_or(OpError::NotConnected { port: 1 })
}

/// The element type of the computed indices.
fn index_type(site: &Site) -> Result<ElementType, OpError> {
    match element_type(site, "index_element_type")? {
        known @ (ElementType::I32 | ElementType::I64) => Ok(known),
        other => Err(OpError::unsupported(format!("indices of type {other}"))),
    }
}

/// The index of the minimum or maximum element along an axis.
pub(super) fn arg(site: &mut Site, mode: &'static str) -> Result<Value, OpError> {
    let data = site.input(0)?;
    let axis = site.node.attrs.int("axis")?.ok_or(OpError::MissingAttribute { name: "axis" })?;
    let attrs = Attrs::new()
        .with("axis", axis)
        .with("mode", mode)
        .with("sort", "value")
        .with("index_element_type", index_type(site)?);
    let one = site.int(1)?;
    let found = site.ir_op("TopK", 3, attrs, &[data, one])?;
    let axis = site.int(axis)?;
    site.ir_op("Squeeze", 1, Attrs::new(), &[Value { port: 1, ..found }, axis])
}

/// Adds a TopK. The first output contains the indices, the second the values. A `k` of 0 selects the whole
/// axis.
pub(super) fn top_k(site: &mut Site) -> Result<Value, OpError> {
    let data = site.input(0)?;
    let known = |site: &Site, port: usize, what: &str| {
        let known = site.known(site.input(port)?).and_then(|known| known.first().copied());
        known.ok_or_else(|| OpError::unsupported(format!("a TopK with {what} that is not constant")))
    };
    let attrs = &site.node.attrs;
    let axis = match (attrs.int("top_k_axis")?, attrs.int("axis")?) {
        (Some(axis), _) => axis,
        (None, _) if site.inputs.len() > 2 => known(site, 2, "an axis")?,
        (None, Some(axis)) => axis,
        (None, None) => return Err(OpError::MissingAttribute { name: "top_k_axis" }),
    };
    let k = match attrs.int("k")? {
        Some(k) => k,
        None => known(site, 1, "a number")?,
    };
    let size = || site.dims(data)?.get(usize::try_from(axis).ok()?).copied().flatten();
    let k = match k {
        0 => size().ok_or_else(|| OpError::unsupported("a TopK of an axis of unknown size"))?,
        k => k,
    };
    let sort = match word(site, "sort").as_deref() {
        None | Some("2" | "SORT_VALUES" | "value") => "value",
        Some("1" | "SORT_INDICES" | "index") => "index",
        Some("0" | "NONE" | "none") => "none",
        Some(other) => return Err(OpError::unsupported(format!("sort `{other}`"))),
    };
    let greatest = attrs.bool("compute_max")?.unwrap_or(true);
    let attrs = Attrs::new()
        .with("axis", axis)
        .with("mode", if greatest { "max" } else { "min" })
        .with("sort", sort)
        .with("index_element_type", index_type(site)?);
    let k = site.int(k)?;
    let values = site.ir_op("TopK", 3, attrs, &[data, k])?;
    site.further.push(values);
    Ok(Value { port: 1, ..values })
}
