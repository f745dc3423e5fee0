//! Signals: Fourier transforms and windows.

use std::f64::consts::TAU;

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("BlackmanWindow", &[17], |b| window(b, &[0.42, -0.5, 0.08])),
    one("DFT", &[17, 20], dft),
    one("HammingWindow", &[17], |b| window(b, &[25.0 / 46.0, -21.0 / 46.0])),
    one("HannWindow", &[17], |b| window(b, &[0.5, -0.5])),
    one("MelWeightMatrix", &[17], mel_weights),
    one("STFT", &[17], stft),
];

/// A sum of cosines: `terms[k] * cos(2 pi k i / n)`, where `n` is the size, or one less in a symmetric window.
fn window(b: &mut NodeBuilder, terms: &[f64]) -> Result {
    let target = b.type_attr("output_datatype")?.unwrap_or(ElementType::F32);
    let size = b.input(0)?;
    let count = b.count_to(size)?;
    let (count, size) = (b.convert(count, ElementType::F32)?, b.convert(size, ElementType::F32)?);
    let period = if b.flag("periodic", true)? {
        size
    } else {
        let unit = b.number(ElementType::F32, 1.0)?;
        b.plain("Subtract", &[size, unit])?
    };
    let mut sum = None;
    for (k, &term) in terms.iter().enumerate() {
        let (turns, weight) =
            (b.number(ElementType::F32, TAU * k as f64)?, b.number(ElementType::F32, term)?);
        let angle = b.plain("Multiply", &[count, turns])?;
        let angle = divide(b, angle, period)?;
        let cosine = b.plain("Cos", &[angle])?;
        let part = b.plain("Multiply", &[cosine, weight])?;
        sum = Some(match sum {
            Some(sum) => b.plain("Add", &[sum, part])?,
            None => part,
        });
    }
    b.convert(sum.ok_or(OpError::NotConnected { port: 0 })?, target)
}

/// Real numbers as complex ones, whose last axis is real and imaginary part.
fn complex(b: &mut NodeBuilder, x: Value) -> Result {
    let rank = b.rank(x)?;
    match b.fixed_size(x, rank.saturating_sub(1)) {
        Some(2) => Ok(x),
        Some(1) => {
            let (zero, shape) = (b.number_like(x, 0.0)?, b.shape_of(x)?);
            let zeros = b.filled(zero, shape)?;
            b.concat(-1, &[x, zeros])
        }
        _ => Err(OpError::unsupported("a signal of which the last axis is not known to be 1 or 2")),
    }
}

/// Inputs: signal, length to which it is cut or padded, and since operator set 20 the axis.
fn dft(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let rank = i64::try_from(b.rank(x)?).unwrap_or(i64::MAX);
    let (inverse, onesided) = (b.flag("inverse", false)?, b.flag("onesided", false)?);
    let axis = match b.optional(2).filter(|_| b.since >= 20) {
        Some(axis) => {
            let (axis, zero, rank) = (b.scalar(axis)?, b.index(0)?, b.index(rank)?);
            let axis = b.convert(axis, ElementType::I64)?;
            let wrapped = b.plain("Add", &[axis, rank])?;
            let negative = b.plain("Less", &[axis, zero])?;
            let axis = b.plain("Select", &[negative, wrapped, axis])?;
            b.reshape(axis, &[1])?
        }
        None => {
            let axis = b.int("axis", if b.since >= 20 { -2 } else { 1 })?;
            b.vector(&[if axis < 0 { axis.saturating_add(rank) } else { axis }])?
        }
    };
    let x = complex(b, x)?;
    let mut inputs = vec![x, axis];
    if let Some(length) = b.optional(1) {
        let length = b.convert(length, ElementType::I64)?;
        inputs.push(b.reshape(length, &[1])?);
    }
    if inverse && onesided {
        // Back from one side of a spectrum come real numbers, which have an axis of their own in ONNX.
        let y = b.plain("IRDFT", &inputs)?;
        return b.unsqueeze(y, &[-1]);
    }
    let y = b.plain(if inverse { "IDFT" } else { "DFT" }, &inputs)?;
    if onesided { one_side(b, y, axis, rank) } else { Ok(y) }
}

/// The first half of a spectrum along an axis, the middle included.
fn one_side(b: &mut NodeBuilder, y: Value, axis: Value, rank: i64) -> Result {
    let (shape, two, unit) = (b.shape_of(y)?, b.index(2)?, b.vector(&[1])?);
    let size = b.gather(shape, axis, 0)?;
    let half = divide(b, size, two)?;
    let (start, stop) = (b.vector(&[0])?, b.plain("Add", &[half, unit])?);
    let half = b.plain("Slice", &[y, start, stop, unit, axis])?;
    if b.tensor(axis).is_some() {
        return Ok(half);
    }
    // Whatever the axis, the last one keeps its two parts.
    let shape = b.shape_of(half)?;
    let (front, two) = (b.part(shape, 0, rank.saturating_sub(1))?, b.vector(&[2])?);
    let sizes = b.join(&[front, two])?;
    b.make("Reshape", Attrs::new().with("special_zero", false), &[half, sizes])
}

/// Frames taken out of a signal `[batch, length, 1 or 2]` every so many steps, windowed and transformed.
fn stft(b: &mut NodeBuilder) -> Result {
    let signal = b.input(0)?;
    let step = b.input(1)?;
    let (step, window) = (b.convert(step, ElementType::I64)?, b.optional(2));
    let frame = match (b.optional(3), window) {
        (Some(length), _) => b.convert(length, ElementType::I64)?,
        (None, Some(window)) => b.size(window, 0)?,
        (None, None) => return Err(OpError::NotConnected { port: 3 }),
    };
    let (step, frame) = (b.scalar(step)?, b.scalar(frame)?);
    let (length, unit) = (b.size(signal, 1)?, b.index(1)?);
    let rest = b.plain("Subtract", &[length, frame])?;
    let frames = divide(b, rest, step)?;
    let frames = b.plain("Add", &[frames, unit])?;
    let (starts, places) = (b.count_to(frames)?, b.count_to(frame)?);
    let starts = b.plain("Multiply", &[starts, step])?;
    let starts = b.unsqueeze(starts, &[-1])?;
    let places = b.plain("Add", &[starts, places])?;
    // [batch, frames, length of a frame, 1 or 2]
    let mut x = b.gather(signal, places, 1)?;
    if let Some(window) = window {
        let window = b.unsqueeze(window, &[-1])?;
        x = b.plain("Multiply", &[x, window])?;
    }
    let x = complex(b, x)?;
    let axis = b.vector(&[2])?;
    let y = b.plain("DFT", &[x, axis])?;
    if b.flag("onesided", true)? { one_side(b, y, axis, 4) } else { Ok(y) }
}

/// Triangles over the bins of a spectrum, `[bins, triangles]`: evenly spaced on the mel scale, each from the middle
/// of the one before to that of the next. Inputs: triangles, length of the transform, sample rate, lower and upper
/// edge.
fn mel_weights(b: &mut NodeBuilder) -> Result {
    const REAL: ElementType = ElementType::F64;
    let target = b.type_attr("output_datatype")?.unwrap_or(ElementType::F32);
    let mut inputs = b.all()?;
    for input in &mut inputs {
        *input = b.scalar(*input)?;
        *input = b.convert(*input, REAL)?;
    }
    let &[triangles, length, rate, lower, upper] = inputs.as_slice() else {
        return Err(OpError::Arity { expected: "5".into(), got: inputs.len() });
    };
    let (one, two) = (b.number(REAL, 1.0)?, b.number(REAL, 2.0)?);
    // 2595 log10(1 + f / 700), and back.
    let (factor, corner) = (b.number(REAL, 2595.0 / 10f64.ln())?, b.number(REAL, 700.0)?);
    let mel = |b: &mut NodeBuilder, frequency: Value| {
        let ratio = divide(b, frequency, corner)?;
        let ratio = b.plain("Add", &[ratio, one])?;
        let log = b.plain("Log", &[ratio])?;
        b.plain("Multiply", &[log, factor])
    };
    let (low, high) = (mel(b, lower)?, mel(b, upper)?);
    let points = b.plain("Add", &[triangles, two])?;
    let width = b.plain("Subtract", &[high, low])?;
    let step = divide(b, width, points)?;
    let points = b.convert(points, ElementType::I64)?;
    let points = b.count_to(points)?;
    let points = b.convert(points, REAL)?;
    let points = b.plain("Multiply", &[points, step])?;
    let points = b.plain("Add", &[points, low])?;
    let ratio = divide(b, points, factor)?;
    let ratio = b.plain("Exp", &[ratio])?;
    let ratio = b.plain("Subtract", &[ratio, one])?;
    let frequencies = b.plain("Multiply", &[ratio, corner])?;
    // The bin of each point.
    let scale = b.plain("Add", &[length, one])?;
    let bins = b.plain("Multiply", &[frequencies, scale])?;
    let bins = divide(b, bins, rate)?;
    let bins = b.plain("Floor", &[bins])?;
    let (start, middle, stop) = (b.part(bins, 0, -2)?, b.part(bins, 1, -1)?, b.part(bins, 2, i64::MAX)?);
    let half = divide(b, length, two)?;
    let half = b.plain("Floor", &[half])?;
    let count = b.plain("Add", &[half, one])?;
    let count = b.convert(count, ElementType::I64)?;
    let rows = b.count_to(count)?;
    let rows = b.convert(rows, REAL)?;
    let rows = b.unsqueeze(rows, &[-1])?;
    let slope = |b: &mut NodeBuilder, rise: Value, width: Value| {
        let width = b.plain("Maximum", &[width, one])?;
        divide(b, rise, width)
    };
    let (rise, run) = (b.plain("Subtract", &[rows, start])?, b.plain("Subtract", &[middle, start])?);
    let (fall, back) = (b.plain("Subtract", &[stop, rows])?, b.plain("Subtract", &[stop, middle])?);
    let (up, down) = (slope(b, rise, run)?, slope(b, fall, back)?);
    let zero = b.number(REAL, 0.0)?;
    let (after_start, before_stop) =
        (b.plain("GreaterEqual", &[rows, start])?, b.plain("Less", &[rows, stop])?);
    let (at_middle, before, behind) = (
        b.plain("Equal", &[rows, middle])?,
        b.plain("Less", &[rows, middle])?,
        b.plain("Greater", &[rows, middle])?,
    );
    let (rising, falling) =
        (b.plain("LogicalAnd", &[after_start, before])?, b.plain("LogicalAnd", &[before_stop, behind])?);
    let y = b.plain("Select", &[falling, down, zero])?;
    let y = b.plain("Select", &[rising, up, y])?;
    let y = b.plain("Select", &[at_middle, one, y])?;
    b.convert(y, target)
}
