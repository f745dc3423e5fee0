//! Convolution and pooling: windows that slide over the spatial axes.

use smallvec::SmallVec;
use snick_ir::{AttrValue, Attrs, OpError, Value};

use super::build::Site;
use super::ops::sizes;

type Numbers = SmallVec<[i64; 4]>;

/// Numbers that must be there.
fn numbers(site: &Site, name: &'static str) -> Result<Numbers, OpError> {
    site.node.attrs.ints(name)?.ok_or(OpError::MissingAttribute { name })
}

/// Numbers that older files leave out: `default` for each.
fn numbers_or(site: &Site, name: &'static str, count: usize, default: i64) -> Result<Numbers, OpError> {
    let numbers = site.node.attrs.ints(name)?.filter(|numbers| !numbers.is_empty());
    Ok(numbers.unwrap_or_else(|| SmallVec::from_elem(default, count)))
}

/// Padding is as listed: no other way of finding it is known.
fn expect_explicit_padding(site: &Site) -> Result<(), OpError> {
    match site.node.attrs.int("pad_type")?.unwrap_or(0) {
        0 => Ok(()),
        other => Err(OpError::unsupported(format!("pad_type {other}"))),
    }
}

/// Data with holes between its elements is not known.
fn expect_no_dilated_data(site: &Site, name: &'static str) -> Result<(), OpError> {
    let old = site.node.attrs.ints("image_dilation_strides")?;
    let dilations = site.node.attrs.ints(name)?.or(old).unwrap_or_default();
    match dilations.iter().find(|&&dilation| dilation != 1) {
        None => Ok(()),
        Some(dilation) => Err(OpError::unsupported(format!("data dilation by {dilation}"))),
    }
}

pub(super) fn convolution(site: &mut Site) -> Result<Value, OpError> {
    expect_explicit_padding(site)?;
    expect_no_dilated_data(site, "data_dilation_strides")?;
    let attrs = Attrs::new()
        .with("strides", AttrValue::Ints(numbers(site, "window_movement_strides")?))
        .with("dilations", AttrValue::Ints(numbers(site, "window_dilation_strides")?))
        .with("pads_begin", AttrValue::Ints(numbers(site, "padding_below")?))
        .with("pads_end", AttrValue::Ints(numbers(site, "padding_above")?))
        .with("auto_pad", "explicit");
    let (data, filters) = (site.input(0)?, site.input(1)?);
    site.add("Convolution", 1, attrs, &[data, filters])
}

/// The gradient of a convolution by its data: the attributes are those of the convolution, and the size of the data
/// says how much of it no window reached.
pub(super) fn convolution_backprop_data(site: &mut Site) -> Result<Value, OpError> {
    expect_no_dilated_data(site, "data_dilation_strides_forward")?;
    let shape = sizes(site, "data_batch_shape")?;
    let strides = numbers(site, "window_movement_strides_forward")?;
    let dilations = numbers(site, "window_dilation_strides_forward")?;
    let below = numbers(site, "padding_below_forward")?;
    let above = numbers(site, "padding_above_forward")?;
    let (filters, delta) = (site.input(0)?, site.input(1)?);
    let (Some(kernel), Some(windows)) = (site.sizes(filters), site.sizes(delta)) else {
        return Err(OpError::unsupported("a ConvolutionBackpropData of inputs of unknown size"));
    };
    let spatial = shape.len().saturating_sub(2);
    let lists = [strides.len(), dilations.len(), below.len(), above.len()];
    if shape.len() != kernel.len() || shape.len() != windows.len() || lists != [spatial; 4] {
        let got = format!("{lists:?} numbers for ranks {} and {}", kernel.len(), windows.len());
        return Err(OpError::mismatch("the window", got, format!("{spatial} for rank {}", shape.len())));
    }
    let unreached = |i: usize| {
        let reach = windows[i + 2].checked_sub(1)?.checked_mul(strides[i])?;
        let window = kernel[i + 2].checked_sub(1)?.checked_mul(dilations[i])?.checked_add(1)?;
        let reached = reach.checked_add(window)?.checked_sub(below[i])?.checked_sub(above[i])?;
        shape[i + 2].checked_sub(reached).filter(|&rest| rest >= 0)
    };
    let rest: Option<Numbers> = (0..spatial).map(unreached).collect();
    let rest = rest.ok_or_else(|| {
        OpError::mismatch("`data_batch_shape`", format!("{shape:?}"), "the data of such a convolution")
    })?;
    let attrs = Attrs::new()
        .with("strides", AttrValue::Ints(strides))
        .with("dilations", AttrValue::Ints(dilations))
        .with("pads_begin", AttrValue::Ints(below))
        .with("pads_end", AttrValue::Ints(above))
        .with("output_padding", AttrValue::Ints(rest))
        .with("auto_pad", "explicit");
    site.add("ConvolutionBackpropData", 1, attrs, &[delta, filters])
}

pub(super) fn max_pool(site: &mut Site) -> Result<Value, OpError> {
    let attrs = pool(site)?;
    let data = site.input(0)?;
    site.add("MaxPool", 1, attrs, &[data])
}

pub(super) fn avg_pool(site: &mut Site) -> Result<Value, OpError> {
    let with_padding = site.node.attrs.bool("include_padding_in_avg_computation")?.unwrap_or(false);
    let attrs = pool(site)?.with("exclude-pad", !with_padding);
    let data = site.input(0)?;
    site.add("AvgPool", 1, attrs, &[data])
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
