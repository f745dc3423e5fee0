//! Convolution and pooling: windows that slide over the spatial axes.

use snick_ir::{AttrValue, Attrs, OpError, Value};
use snick_tensor::SmallVector;

use super::site::Site;

type Numbers = SmallVector<i64, 4>;

/// A required list of numbers.
pub(super) fn numbers(site: &Site, name: &'static str) -> Result<Numbers, OpError> {
    site.node.attrs.ints(name)?.ok_or(OpError::MissingAttribute { name })
}

/// A list of numbers. Older files omit it; the default is `count` times `default`.
pub(super) fn numbers_or(
    site: &Site,
    name: &'static str,
    count: usize,
    default: i64,
) -> Result<Numbers, OpError> {
    let numbers = site.node.attrs.ints(name)?.filter(|numbers| !numbers.is_empty());
    Ok(numbers.unwrap_or_else(|| SmallVector::from_elem(default, count)))
}

/// Rejects any padding type other than explicit padding.
fn expect_explicit_padding(site: &Site) -> Result<(), OpError> {
    match site.node.attrs.int("pad_type")?.unwrap_or(0) {
        0 => Ok(()),
        other => Err(OpError::unsupported(format!("pad_type {other}"))),
    }
}

/// Inserts `holes[axis] - 1` zeros between neighbouring elements of each spatial axis.
pub(super) fn dilated(site: &mut Site, data: Value, holes: &[i64]) -> Result<Value, OpError> {
    if holes.iter().all(|&hole| hole == 1) {
        return Ok(data);
    }
    let dims = site.known_sizes(data)?;
    if dims.len() != holes.len() + 2 || holes.iter().any(|&hole| hole < 1) {
        let expected = format!("1 or more for each of {} axes", dims.len().saturating_sub(2));
        return Err(OpError::mismatch("the data dilation", format!("{holes:?}"), expected));
    }
    // Each element gets its own axis and is padded along this axis. The zeros after the last element are
    // cropped.
    let (batch, spatial) = dims.split_at(2);
    let axes = || spatial.iter().zip(holes);
    let apart: Vec<i64> = batch.iter().copied().chain(axes().flat_map(|(&dim, _)| [dim, 1])).collect();
    let above: Vec<i64> = [0, 0].into_iter().chain(axes().flat_map(|(_, &hole)| [0, hole - 1])).collect();
    let wide = axes().map(|(&dim, &hole)| dim.checked_mul(hole));
    let wide = batch.iter().map(|&dim| Some(dim)).chain(wide).collect::<Option<Vec<i64>>>();
    let wide = wide.ok_or_else(|| OpError::unsupported("a dilated axis beyond 64 bits"))?;
    let behind: Vec<i64> =
        [0, 0].into_iter().chain(axes().map(|(&dim, &hole)| if dim > 0 { 1 - hole } else { 0 })).collect();
    let value = site.reshape(data, &apart)?;
    let value = site.padded(value, &vec![0; above.len()], &above)?;
    let value = site.reshape(value, &wide)?;
    site.padded(value, &vec![0; behind.len()], &behind)
}

/// The dilated data of a convolution, and its padding. Negative padding crops the data here, because OpenVINO
/// does not support it.
fn prepared(site: &mut Site) -> Result<(Value, Numbers, Numbers), OpError> {
    expect_explicit_padding(site)?;
    let (below, above) = (numbers(site, "padding_below")?, numbers(site, "padding_above")?);
    let old = site.node.attrs.ints("image_dilation_strides")?;
    let holes = site.node.attrs.ints("data_dilation_strides")?.or(old).unwrap_or_default();
    let data = site.input(0)?;
    let data = dilated(site, data, &holes)?;
    if below.iter().chain(&above).all(|&pad| pad >= 0) {
        return Ok((data, below, above));
    }
    let whole = |pads: &Numbers| -> Vec<i64> { [0, 0].iter().chain(pads).copied().collect() };
    let data = site.padded(data, &whole(&below), &whole(&above))?;
    let none = |pads: Numbers| SmallVector::from_elem(0, pads.len());
    Ok((data, none(below), none(above)))
}

fn convolution_attrs(site: &Site, below: Numbers, above: Numbers) -> Result<Attrs<'static>, OpError> {
    Ok(Attrs::new()
        .with("strides", AttrValue::Ints(numbers(site, "window_movement_strides")?))
        .with("dilations", AttrValue::Ints(numbers(site, "window_dilation_strides")?))
        .with("pads_begin", AttrValue::Ints(below))
        .with("pads_end", AttrValue::Ints(above))
        .with("auto_pad", "explicit"))
}

pub(super) fn convolution(site: &mut Site) -> Result<Value, OpError> {
    let filters = site.input(1)?;
    let (data, below, above) = prepared(site)?;
    let attrs = convolution_attrs(site, below, above)?;
    site.ir_op("Convolution", 1, attrs, &[data, filters])
}

/// A convolution in which the filters of all groups are concatenated.
pub(super) fn group_convolution(site: &mut Site) -> Result<Value, OpError> {
    let mut filters = site.input(1)?;
    if let Some(groups) = site.node.attrs.int("groups")? {
        let dims = site.known_sizes(filters)?;
        let (Some((&outputs, rest)), 1..) = (dims.split_first(), groups) else {
            return Err(OpError::out_of_range("groups", groups, "1 or more, of filters of rank 3 or more"));
        };
        if outputs % groups != 0 {
            return Err(OpError::out_of_range("groups", groups, format!("a divisor of {outputs} filters")));
        }
        let apart: Vec<i64> = [groups, outputs / groups].iter().chain(rest).copied().collect();
        filters = site.reshape(filters, &apart)?;
    }
    let (data, below, above) = prepared(site)?;
    let attrs = convolution_attrs(site, below, above)?;
    site.ir_op("GroupConvolution", 1, attrs, &[data, filters])
}

pub(super) fn max_pool(site: &mut Site) -> Result<Value, OpError> {
    let attrs = pool(site)?;
    let data = site.input(0)?;
    site.ir_op("MaxPool", 1, attrs, &[data])
}

pub(super) fn avg_pool(site: &mut Site) -> Result<Value, OpError> {
    let with_padding = site.node.attrs.bool("include_padding_in_avg_computation")?.unwrap_or(false);
    let attrs = pool(site)?.with("exclude-pad", !with_padding);
    let data = site.input(0)?;
    site.ir_op("AvgPool", 1, attrs, &[data])
}

fn pool(site: &Site) -> Result<Attrs<'static>, OpError> {
    expect_explicit_padding(site)?;
    let window = numbers(site, "window_shape")?;
    let count = window.len();
    let ceil = site.node.attrs.bool("ceil_mode")?.unwrap_or(false);
    Ok(Attrs::new()
        .with("kernel", AttrValue::Ints(window))
        .with("strides", AttrValue::Ints(numbers_or(site, "window_movement_strides", count, 1)?))
        .with("pads_begin", AttrValue::Ints(numbers_or(site, "padding_below", count, 0)?))
        .with("pads_end", AttrValue::Ints(numbers_or(site, "padding_above", count, 0)?))
        .with("rounding_type", if ceil { "ceil" } else { "floor" })
        .with("auto_pad", "explicit"))
}
