//! Signals: Fourier transforms and windows.

use std::f64::consts::TAU;

use snick_ir::{Attrs, OpError, Value, ops};
use snick_tensor::ElementType;

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("BlackmanWindow", &[17], |b| window(b, &[0.42, -0.5, 0.08])).attrs("output_datatype periodic"),
    one("DFT", &[17, 20], dft).attrs("axis inverse onesided"),
    one("HammingWindow", &[17], |b| window(b, &[25.0 / 46.0, -21.0 / 46.0]))
        .attrs("output_datatype periodic"),
    one("HannWindow", &[17], |b| window(b, &[0.5, -0.5])).attrs("output_datatype periodic"),
    one("MelWeightMatrix", &[17], mel_weights).attrs("output_datatype"),
    one("STFT", &[17], stft).attrs("onesided"),
];

/// A sum of cosines, `terms[k] * cos(2 pi k i / n)`. `n` is the size of the window, or the size minus 1 if
/// the window is symmetric.
fn window(b: &mut NodeBuilder, terms: &[f64]) -> Result {
    let target = b.type_attr("output_datatype")?.unwrap_or(ElementType::F32);
    let size = b.input(0)?;
    let count = b.count_to(size)?;
    let (count, size) = (b.convert(count, ElementType::F32)?, b.convert(size, ElementType::F32)?);
    let period = if b.flag_attr("periodic", true)? { size } else { b.subtract(size, 1.0)? };
    let mut sum = None;
    for (k, &term) in terms.iter().enumerate() {
        let angle = b.multiply(count, TAU * k as f64)?;
        let angle = b.divide(angle, period)?;
        let cosine = b.cos(angle)?;
        let part = b.multiply(cosine, term)?;
        sum = Some(match sum {
            Some(sum) => b.add(sum, part)?,
            None => part,
        });
    }
    b.convert(sum.ok_or(OpError::NotConnected { port: 0 })?, target)
}

/// A signal as complex numbers, whose real and imaginary parts are along the last axis.
fn complex(b: &mut NodeBuilder, x: Value) -> Result {
    let rank = b.rank(x)?;
    match b.fixed_size(x, rank.saturating_sub(1)) {
        Some(2) => Ok(x),
        Some(1) => {
            let (zero, shape) = (b.scalar_like(x, 0.0)?, b.shape_of(x)?);
            let zeros = b.broadcast_to(zero, shape)?;
            b.concat(-1, &[x, zeros])
        }
        _ => Err(OpError::unsupported("a signal whose last axis is not known to be 1 or 2")),
    }
}

/// Adds a Fourier transform. Inputs: the signal, the length to which it is cropped or padded, and since
/// operator set 20 the axis.
fn dft(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let rank = i64::try_from(b.rank(x)?).unwrap_or(i64::MAX);
    let (inverse, onesided) = (b.flag_attr("inverse", false)?, b.flag_attr("onesided", false)?);
    let axis = match b.optional(2).filter(|_| b.since >= 20) {
        Some(axis) => {
            let (axis, zero, rank) = (b.to_scalar(axis)?, b.int(0)?, b.int(rank)?);
            let axis = b.convert(axis, ElementType::I64)?;
            let wrapped = b.add(axis, rank)?;
            let negative = b.less(axis, zero)?;
            let axis = b.select(negative, wrapped, axis)?;
            b.reshape(axis, &[1])?
        }
        None => {
            let axis = b.int_attr("axis", if b.since >= 20 { -2 } else { 1 })?;
            b.ints(&[if axis < 0 { axis.saturating_add(rank) } else { axis }])?
        }
    };
    let x = complex(b, x)?;
    let mut inputs = vec![x, axis];
    if let Some(length) = b.optional(1) {
        let length = b.convert(length, ElementType::I64)?;
        inputs.push(b.reshape(length, &[1])?);
    }
    if inverse && onesided {
        // The inverse of a one-sided spectrum is real. ONNX gives it a last axis of size 1.
        let y = b.ir_op("IRDFT", Attrs::new(), &inputs)?;
        return b.unsqueeze(y, &[-1]);
    }
    let y = b.ir_op(if inverse { "IDFT" } else { "DFT" }, Attrs::new(), &inputs)?;
    if onesided { one_side(b, y, axis, rank) } else { Ok(y) }
}

/// The first half of a spectrum along an axis, including the middle element.
fn one_side(b: &mut NodeBuilder, y: Value, axis: Value, rank: i64) -> Result {
    let (shape, two, unit) = (b.shape_of(y)?, b.int(2)?, b.ints(&[1])?);
    let size = b.gather(shape, axis, 0)?;
    let half = b.divide(size, two)?;
    let (start, stop) = (b.ints(&[0])?, b.add(half, unit)?);
    let half = b.add_op(ops::Slice8, &[y, start, stop, unit, axis])?;
    if b.constant_value(axis).is_some() {
        return Ok(half);
    }
    // The last axis contains the real and imaginary parts, so its size stays 2.
    let shape = b.shape_of(half)?;
    let (front, two) = (b.slice_range(shape, 0, 0, rank.saturating_sub(1))?, b.ints(&[2])?);
    let sizes = b.concat(0, &[front, two])?;
    b.reshape_to(half, sizes)
}

/// The Fourier transforms of windowed frames of a signal `[batch, length, 1 or 2]`.
fn stft(b: &mut NodeBuilder) -> Result {
    let signal = b.input(0)?;
    let step = b.input(1)?;
    let (step, window) = (b.convert(step, ElementType::I64)?, b.optional(2));
    let frame = match (b.optional(3), window) {
        (Some(length), _) => b.convert(length, ElementType::I64)?,
        (None, Some(window)) => b.size_of(window, 0)?,
        (None, None) => return Err(OpError::NotConnected { port: 3 }),
    };
    let (step, frame) = (b.to_scalar(step)?, b.to_scalar(frame)?);
    let (length, unit) = (b.size_of(signal, 1)?, b.int(1)?);
    let rest = b.subtract(length, frame)?;
    let frames = b.divide(rest, step)?;
    let frames = b.add(frames, unit)?;
    let (starts, places) = (b.count_to(frames)?, b.count_to(frame)?);
    let starts = b.multiply(starts, step)?;
    let starts = b.unsqueeze(starts, &[-1])?;
    let places = b.add(starts, places)?;
    // [batch, frames, length of a frame, 1 or 2]
    let mut x = b.gather(signal, places, 1)?;
    if let Some(window) = window {
        let window = b.unsqueeze(window, &[-1])?;
        x = b.multiply(x, window)?;
    }
    let x = complex(b, x)?;
    let axis = b.ints(&[2])?;
    let y = b.ir_op("DFT", Attrs::new(), &[x, axis])?;
    if b.flag_attr("onesided", true)? { one_side(b, y, axis, 4) } else { Ok(y) }
}

/// Triangular filters `[bins, triangles]` whose centres are evenly spaced on the mel scale. Each triangle
/// extends from the centre of the previous triangle to the centre of the next one. Inputs: the number of
/// triangles, the length of the transform, the sample rate, and the lower and upper edge of the frequency
/// range.
fn mel_weights(b: &mut NodeBuilder) -> Result {
    const REAL: ElementType = ElementType::F64;
    let target = b.type_attr("output_datatype")?.unwrap_or(ElementType::F32);
    let mut inputs = b.all()?;
    for input in &mut inputs {
        *input = b.to_scalar(*input)?;
        *input = b.convert(*input, REAL)?;
    }
    let &[triangles, length, rate, lower, upper] = inputs.as_slice() else {
        return Err(OpError::Arity { expected: "5".into(), got: inputs.len() });
    };
    let (one, two) = (b.scalar(REAL, 1.0)?, b.scalar(REAL, 2.0)?);
    // The mel of a frequency is 2595 log10(1 + f / 700).
    let (factor, corner) = (b.scalar(REAL, 2595.0 / 10f64.ln())?, b.scalar(REAL, 700.0)?);
    let mel = |b: &mut NodeBuilder, frequency: Value| {
        let ratio = b.divide(frequency, corner)?;
        let ratio = b.add(ratio, one)?;
        let log = b.log(ratio)?;
        b.multiply(log, factor)
    };
    let (low, high) = (mel(b, lower)?, mel(b, upper)?);
    let points = b.add(triangles, two)?;
    let width = b.subtract(high, low)?;
    let step = b.divide(width, points)?;
    let points = b.convert(points, ElementType::I64)?;
    let points = b.count_to(points)?;
    let points = b.convert(points, REAL)?;
    let points = b.multiply(points, step)?;
    let points = b.add(points, low)?;
    let ratio = b.divide(points, factor)?;
    let ratio = b.exp(ratio)?;
    let ratio = b.subtract(ratio, one)?;
    let frequencies = b.multiply(ratio, corner)?;
    // The bin of each frequency.
    let scale = b.add(length, one)?;
    let bins = b.multiply(frequencies, scale)?;
    let bins = b.divide(bins, rate)?;
    let bins = b.floor(bins)?;
    let (start, middle, stop) = (
        b.slice_range(bins, 0, 0, -2)?,
        b.slice_range(bins, 0, 1, -1)?,
        b.slice_range(bins, 0, 2, i64::MAX)?,
    );
    let half = b.divide(length, two)?;
    let half = b.floor(half)?;
    let count = b.add(half, one)?;
    let count = b.convert(count, ElementType::I64)?;
    let rows = b.count_to(count)?;
    let rows = b.convert(rows, REAL)?;
    let rows = b.unsqueeze(rows, &[-1])?;
    let slope = |b: &mut NodeBuilder, rise: Value, width: Value| {
        let width = b.maximum(width, one)?;
        b.divide(rise, width)
    };
    let (rise, run) = (b.subtract(rows, start)?, b.subtract(middle, start)?);
    let (fall, back) = (b.subtract(stop, rows)?, b.subtract(stop, middle)?);
    let (up, down) = (slope(b, rise, run)?, slope(b, fall, back)?);
    let (after_start, before_stop) = (b.greater_equal(rows, start)?, b.less(rows, stop)?);
    let (at_middle, before, behind) =
        (b.equal(rows, middle)?, b.less(rows, middle)?, b.greater(rows, middle)?);
    let (rising, falling) = (b.logical_and(after_start, before)?, b.logical_and(before_stop, behind)?);
    let y = b.select(falling, down, 0.0)?;
    let y = b.select(rising, up, y)?;
    let y = b.select(at_middle, one, y)?;
    b.convert(y, target)
}
