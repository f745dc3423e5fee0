//! Slice and ReplaceSlice: the range `lower_bounds:upper_bounds:strides` on every axis. The bounds must be
//! within the axis.

use snick_ir::ops::{Concat, Identity, ScatterUpdate, Slice, Slice8};
use snick_ir::{OpError, Value};
use snick_shape::AxisSlice;
use snick_tensor::ElementType;

use super::site::{Site, sizes};

/// The range of one axis.
#[derive(Copy, Clone)]
struct BoundedRange {
    axis: usize,
    lower: i64,
    upper: i64,
    stride: i64,
    /// The size of the axis, if known.
    dim: Option<i64>,
}

impl BoundedRange {
    /// The slice of the axis. It does not depend on the size of the axis, because the bounds are within the
    /// axis.
    fn slice(self) -> Result<AxisSlice, OpError> {
        Ok(AxisSlice::resolve(self.upper, Some(self.lower), Some(self.upper), self.stride)?)
    }

    /// Whether the range is known to cover the whole axis.
    fn is_whole(self) -> bool {
        self.dim == Some(self.upper) && self.lower == 0 && (self.stride == 1 || self.upper == 1)
    }
}

/// The ranges of all axes. Fails if they violate a rule of the format.
fn ranges(site: &Site, data: Value) -> Result<Vec<BoundedRange>, OpError> {
    let (lower, upper) = (sizes(site, "lower_bounds")?, sizes(site, "upper_bounds")?);
    let mut strides = sizes(site, "strides")?;
    if strides.is_empty() {
        strides = vec![1; lower.len()];
    }
    let dims = site.dims(data);
    let rank = dims.as_ref().map_or(lower.len(), Vec::len);
    for (name, list) in [("lower_bounds", &lower), ("upper_bounds", &upper), ("strides", &strides)] {
        if list.len() != rank {
            let expected = format!("{rank}, one an axis");
            return Err(OpError::mismatch(format!("the length of `{name}`"), list.len(), expected));
        }
    }
    let bounds = lower.into_iter().zip(upper).zip(strides).enumerate();
    let range = |(axis, ((lower, upper), stride))| {
        let dim = dims.as_ref().and_then(|dims| dims.get(axis).copied().flatten());
        if lower > upper {
            let what = format!("lower_bounds[{axis}]");
            return Err(OpError::out_of_range(
                what,
                lower,
                format!("at most upper_bounds[{axis}] = {upper}"),
            ));
        }
        if let Some(dim) = dim.filter(|&dim| upper > dim) {
            let what = format!("upper_bounds[{axis}]");
            return Err(OpError::out_of_range(what, upper, format!("at most the size of the axis, {dim}")));
        }
        if stride == 0 {
            return Err(OpError::out_of_range(format!("strides[{axis}]"), stride, "1 or more"));
        }
        Ok(BoundedRange { axis, lower, upper, stride, dim })
    };
    bounds.map(range).collect()
}

/// Adds a Slice-8 if all sizes are known, otherwise the primitive. Neither needs to clamp the bounds.
pub(super) fn slice(site: &mut Site) -> Result<Value, OpError> {
    let data = site.input(0)?;
    let ranges = ranges(site, data)?;
    if ranges.is_empty() {
        return site.add_op(Identity, &[data]);
    }
    if ranges.iter().any(|range| range.dim.is_none()) {
        return cut(site, data, &ranges);
    }
    let mut inputs = vec![data];
    for part in [|r: &BoundedRange| r.lower, |r: &BoundedRange| r.upper, |r: &BoundedRange| r.stride] {
        let values: Vec<i64> = ranges.iter().map(part).collect();
        inputs.push(site.ints(&values)?);
    }
    site.add_op(Slice8, &inputs)
}

/// Adds the `slice` primitive.
fn cut(site: &mut Site, data: Value, ranges: &[BoundedRange]) -> Result<Value, OpError> {
    let partial = ranges.iter().filter(|range| !range.is_whole());
    let axes = partial.map(|range| Ok((range.axis, range.slice()?)));
    let axes = axes.collect::<Result<Vec<_>, OpError>>()?;
    site.add_op(Slice::fixed(axes), &[data])
}

/// Replaces a slice of the data with the second input. Slices the data along one axis after another, then
/// inserts the replacement along the same axes in reverse order.
pub(super) fn replace_slice(site: &mut Site) -> Result<Value, OpError> {
    let (data, patch) = (site.input(0)?, site.input(1)?);
    let ranges = ranges(site, data)?;
    let sizes = ranges.iter().map(|range| Ok(range.slice()?.len)).collect::<Result<Vec<i64>, OpError>>()?;
    if let Some(dims) = site.dims(patch) {
        let fits = dims.len() == sizes.len()
            && dims.iter().zip(&sizes).all(|(dim, size)| dim.is_none_or(|dim| dim == *size));
        if !fits {
            return Err(OpError::conflict("the slice is {}, its replacement {}", shown(&sizes), show(&dims)));
        }
    }
    if sizes.contains(&0) {
        return site.add_op(Identity, &[data]);
    }
    let partial: Vec<BoundedRange> = ranges.into_iter().filter(|range| !range.is_whole()).collect();
    let mut inside = vec![data];
    for range in partial.iter().take(partial.len().saturating_sub(1)) {
        let outer = inside.last().copied().unwrap_or(data);
        inside.push(cut(site, outer, &[*range])?);
    }
    let mut result = patch;
    for (range, &outer) in partial.iter().zip(&inside).rev() {
        result = replace_along(site, outer, *range, result)?;
    }
    if partial.is_empty() { site.add_op(Identity, &[patch]) } else { Ok(result) }
}

/// Replaces the range of `data` along one axis with `patch`.
fn replace_along(site: &mut Site, data: Value, range: BoundedRange, patch: Value) -> Result<Value, OpError> {
    let len = range.slice()?.len;
    let axis = i64::try_from(range.axis).unwrap_or(i64::MAX);
    let fits = site.dims(patch).and_then(|dims| dims.get(range.axis).copied().flatten()) == Some(len);
    match range.dim.filter(|_| fits && (range.stride == 1 || len == 1)) {
        // The range has no gaps: concatenates the part before it, the patch, and the part after it.
        Some(dim) => {
            let mut pieces = Vec::new();
            let end = range.lower.saturating_add(len);
            if range.lower > 0 {
                pieces.push(cut(
                    site,
                    data,
                    &[BoundedRange { lower: 0, upper: range.lower, stride: 1, ..range }],
                )?);
            }
            pieces.push(patch);
            if end < dim {
                pieces.push(cut(site, data, &[BoundedRange { lower: end, upper: dim, stride: 1, ..range }])?);
            }
            site.add_op(Concat { axis }, &pieces)
        }
        None => {
            let (start, stop, step) =
                (site.int(range.lower)?, site.int(range.upper)?, site.int(range.stride)?);
            let indices = site.range(start, stop, step, ElementType::I64)?;
            let axis = site.int(axis)?;
            site.add_op(ScatterUpdate, &[data, indices, patch, axis])
        }
    }
}

fn shown(sizes: &[i64]) -> String {
    show(&sizes.iter().map(|&size| Some(size)).collect::<Vec<_>>())
}

fn show(dims: &[Option<i64>]) -> String {
    let dims: Vec<String> = dims.iter().map(|dim| dim.map_or("?".into(), |dim| dim.to_string())).collect();
    format!("[{}]", dims.join(","))
}
