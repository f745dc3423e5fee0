//! Attributes of sliding windows.

use snick_ir::ops::nn::window::{AutoPad, WindowAxis, Windows};
use snick_ir::{AttrWords, OpError};
use snick_onnx::Attribute;

use super::emitter::{Emitter, Result, ints, text};

/// Strides and dilations of each spatial axis.
pub(super) fn steps(windows: &Windows, spatial: usize) -> Vec<Attribute> {
    let each = |number: fn(WindowAxis) -> i64| (0..spatial).map(|i| number(windows.axis(i))).collect();
    vec![ints("strides", each(|axis| axis.stride)), ints("dilations", each(|axis| axis.dilation))]
}

/// The attribute `pads`: the padding before every axis, then the padding after every axis.
pub(super) fn pads(padding: impl IntoIterator<Item = [i64; 2]>) -> Result<Attribute> {
    let (begin, end): (Vec<i64>, Vec<i64>) = padding.into_iter().map(|[begin, end]| (begin, end)).unzip();
    let pads = [begin, end].concat();
    match pads.iter().any(|&pad| pad < 0) {
        true => Err(OpError::unsupported("negative pads")),
        false => Ok(ints("pads", pads)),
    }
}

/// Attributes for strides, dilations and padding. `kernel` is `None` if the window size is unknown.
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
            // Runtimes reject `auto_pad` together with dilations, and with `auto_pad` they crop data if
            // windows leave gaps.
            match gaps || axes.any(|axis| axis.dilation != 1) {
                true => same_pads(e, windows, kernel)?,
                false => text("auto_pad", &same.word().to_ascii_uppercase()),
            }
        }
    });
    Ok(attrs)
}

/// The explicit padding with which the output is as large as the data divided by the stride, rounded up.
fn same_pads(e: &Emitter, windows: &Windows, kernel: Option<&[i64]>) -> Result<Attribute> {
    let kernel = kernel.ok_or_else(|| OpError::unsupported("windows of unknown size"))?;
    let dims = e.fact(0)?.shape.dims();
    let mut padding = Vec::with_capacity(kernel.len());
    for (i, &kernel) in kernel.iter().enumerate() {
        let size = dims.and_then(|dims| dims.get(i + 2)?.as_const());
        // Empty data cannot be padded so that a window fits.
        if size == Some(0) {
            return Err(OpError::unsupported("padding of data without elements"));
        }
        let size = size.and_then(|size| usize::try_from(size).ok());
        padding.push(windows.padding(i, size, usize::try_from(kernel).unwrap_or(1))?);
    }
    pads(padding)
}
