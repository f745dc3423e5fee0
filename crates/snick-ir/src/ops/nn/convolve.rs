//! Shape inference shared by convolutions, and checks of data against filters.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::window::{DilatedSliding, expect_spatial, spatial_dims};
use crate::{Infer, OpError};

/// The error for incompatible shapes.
pub(super) const CANNOT_CONVOLVE: &str = "cannot convolve {} with filters {}";

/// The spatial sizes of data and filters. `groups` is 1 if the filters have a leading axis of groups, else 0.
pub(super) fn spatial_sizes<'a>(
    data: &'a Tensor,
    filters: &'a Tensor,
    groups: usize,
) -> Result<(&'a [usize], &'a [usize]), OpError> {
    match (data.dims().get(2..), filters.dims().get(groups + 2..)) {
        (Some(spatial), Some(kernel)) if spatial.len() == kernel.len() => Ok((spatial, kernel)),
        (Some(_), Some(_)) => Err(ranks_differ(data.rank(), filters.rank())),
        _ => Err(OpError::rank("data or filters", data.rank().min(filters.rank()), "3 or more")),
    }
}

/// Infers the output shape from data (input 0) and filters (input 1); `grouped` filters have a leading axis
/// of groups.
pub(super) fn infer_shape(cx: &mut Infer, sliding: &DilatedSliding, grouped: bool) -> Result<Shape, OpError> {
    let groups = usize::from(grouped);
    let Some(spatial) = spatial_rank(cx, sliding, groups)? else { return Ok(Shape::unranked()) };
    let windows = sliding.windows();
    windows.check(spatial)?;
    let (data, filters) = (cx.shape(0), cx.shape(1));
    let batch = data.dims().and_then(|dims| dims.first().cloned());
    let channels = data.dims().and_then(|dims| dims.get(1).cloned());
    let filter = |axis: usize| filters.dims().and_then(|dims| dims.get(axis).cloned());
    let (outs, per_group) = (filter(groups), filter(groups + 1));
    let group = if grouped { filter(0) } else { Some(1.into()) };
    let group = known_group(cx, group, channels.as_ref(), per_group.as_ref())?;

    let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
    dims.push(batch.unwrap_or_else(|| cx.unknown(Interval::DIM)));
    dims.push(match (&group, &outs) {
        (Some(group), Some(outs)) => cx.mul(group, outs),
        _ => cx.unknown(Interval::DIM),
    });
    let sizes = spatial_dims(cx, data, 2, spatial);
    let kernels = spatial_dims(cx, filters, groups + 2, spatial);
    for (i, (size, kernel)) in sizes.iter().zip(&kernels).enumerate() {
        dims.push(windows.count(cx, i, size, kernel));
    }
    Ok(Shape::ranked(dims))
}

fn ranks_differ(data: usize, filters: usize) -> OpError {
    OpError::conflict("data has rank {}, filters have rank {}", data, filters)
}

/// The error for data with a different number of channels than the filters expect.
pub(super) fn channels_differ(data: Interval, filters: Interval) -> OpError {
    let channels = if data == Interval::exact(1) { "channel" } else { "channels" };
    OpError::conflict(format!("data has {{}} {channels}, filters expect {{}}"), data, filters)
}

/// The common numeric element type of data and filters.
pub(super) fn operand_type(cx: &mut Infer) -> Result<ElementType, OpError> {
    let element_type = cx.common_type([0, 1]);
    if element_type == ElementType::Boolean {
        return Err(OpError::element_type("data", element_type, "a number"));
    }
    Ok(element_type)
}

/// The number of spatial axes, on which data, filters and attributes must agree. `groups` is 1 if the filters
/// have a leading axis of groups, else 0.
pub(super) fn spatial_rank(
    cx: &Infer,
    sliding: &DilatedSliding,
    groups: usize,
) -> Result<Option<usize>, OpError> {
    expect_spatial(cx, 0, 2)?;
    expect_spatial(cx, 1, 2 + groups)?;
    let data = cx.shape(0).rank().map(|rank| rank.saturating_sub(2));
    let filters = cx.shape(1).rank().map(|rank| rank.saturating_sub(2 + groups));
    match (data, filters) {
        (Some(d), Some(f)) if d != f => Err(ranks_differ(d + 2, f + 2 + groups)),
        _ => Ok(data.or(filters).or(sliding.windows().spatial_rank())),
    }
}

/// Returns `group`, or the quotient of the channel counts if these are constant but `group` is not. Rejects
/// channel counts that cannot satisfy `data = group * filters`.
fn known_group(
    cx: &mut Infer,
    group: Option<SymExpr>,
    data: Option<&SymExpr>,
    filters: Option<&SymExpr>,
) -> Result<Option<SymExpr>, OpError> {
    let (Some(data), Some(filters)) = (data, filters) else { return Ok(group) };
    if let Some(group) = &group {
        let wanted = cx.mul(group, filters);
        if cx.merge(&wanted, data).is_none() {
            return Err(channels_differ(cx.interval(data), cx.interval(&wanted)));
        }
    }
    match (&group, data.as_const(), filters.as_const()) {
        (Some(group), Some(data), Some(filters))
            if group.as_const().is_none() && filters > 0 && data % filters == 0 =>
        {
            Ok(Some((data / filters).into()))
        }
        _ => Ok(group),
    }
}
