//! Windows that slide, as attributes.

use snick_ir::ops::nn::window::{AutoPad, WindowAxis, Windows};
use snick_ir::{AttrWords, OpError};
use snick_onnx::Attribute;

use super::emitter::{Emitter, Result, ints, text};

/// The strides and dilations of so many spatial axes.
pub(super) fn steps(windows: &Windows, spatial: usize) -> Vec<Attribute> {
    let each = |number: fn(WindowAxis) -> i64| (0..spatial).map(|i| number(windows.axis(i))).collect();
    vec![ints("strides", each(|axis| axis.stride)), ints("dilations", each(|axis| axis.dilation))]
}

/// Padding before all axes, then behind them.
pub(super) fn pads(padding: impl IntoIterator<Item = [i64; 2]>) -> Result<Attribute> {
    let (begin, end): (Vec<i64>, Vec<i64>) = padding.into_iter().map(|[begin, end]| (begin, end)).unzip();
    let pads = [begin, end].concat();
    match pads.iter().any(|&pad| pad < 0) {
        true => Err(OpError::unsupported("negative pads")),
        false => Ok(ints("pads", pads)),
    }
}

/// How windows slide over the data. The sizes of a window may be unknown.
pub(super) fn sliding(
    e: &Emitter,
    windows: &Windows,
    spatial: usize,
    kernel: Option<&[i64]>,
) -> Result<Vec<Attribute>> {
    let mut attrs = steps(windows, spatial);
    let mut axes = (0..spatial).map(|i| windows.axis(i));
    attrs.push(match windows.auto_pad {
        AutoPad::Explicit => pads(axes.map(|axis| [axis.begin, axis.end]))?,
        AutoPad::Valid => text("auto_pad", "VALID"),
        same @ (AutoPad::SameUpper | AutoPad::SameLower) => {
            let has_gaps = |(axis, &size): (WindowAxis, &i64)| axis.stride > size;
            let gaps = kernel.is_some_and(|kernel| axes.clone().zip(kernel).any(has_gaps));
            // Runtimes refuse dilations beside `auto_pad`, and crop data where windows leave gaps.
            match gaps || axes.any(|axis| axis.dilation != 1) {
                true => same_pads(e, windows, spatial, kernel)?,
                false => text("auto_pad", &same.word().to_ascii_uppercase()),
            }
        }
    });
    Ok(attrs)
}

/// Pads that make the output as large as the data, divided by the strides.
fn same_pads(e: &Emitter, windows: &Windows, spatial: usize, kernel: Option<&[i64]>) -> Result<Attribute> {
    let kernel = kernel.ok_or_else(|| OpError::unsupported("windows of unknown size"))?;
    let dims = e.fact(0)?.shape.dims();
    let mut padding = Vec::with_capacity(spatial);
    for (i, &kernel) in kernel.iter().enumerate() {
        let size = match dims.and_then(|dims| dims.get(i + 2)?.as_const()) {
            // No pads leave room for no window.
            Some(0) => return Err(OpError::unsupported("padding of data without elements")),
            Some(size) => size,
            // All sizes lead to the same padding.
            None if windows.axis(i).stride == 1 || kernel == 1 => 1,
            None => return Err(OpError::unsupported("padding of data of unknown size")),
        };
        let number = |value: i64| usize::try_from(value).unwrap_or(1);
        padding.push(windows.padding(i, number(size), number(kernel))?);
    }
    pads(padding)
}
