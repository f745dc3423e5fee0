//! Fourier transforms and random numbers.

use snick_ir::ops::{Fourier, RandomUniform, Stft};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, float, int, ints};
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::FourierTransform(op) => match op.function {
            Fourier::Forward => OpRow::new(|e| dft(e, 0)).floats(),
            Fourier::Inverse => OpRow::new(|e| dft(e, 1)).floats(),
            Fourier::RealForward => OpRow::new(rdft).floats(),
            Fourier::RealInverse => return None,
        },
        Op::RandomUniform(op) => OpRow::new(|e| random_uniform(e, op)).every_type(),
        Op::Stft(op) => OpRow::new(|e| stft(e, op)).floats(),
        _ => return None,
    })
}

/// The transform along the last listed axis has real inputs and returns one half of the spectrum. The
/// transforms along the other axes are complex.
fn rdft(e: &mut Emitter) -> Result {
    let (axes, rank) = (e.fixed(1, "the axes")?, e.rank(0)?);
    if e.len() > 2 {
        return Err(OpError::unsupported("sizes of a real signal"));
    }
    let x = e.input(0)?;
    let mut value = e.unsqueezed(&x, &[-1])?;
    for (i, axis) in axes.iter().rev().enumerate() {
        let axis = e.index(snick_ir::normalize_axis(*axis, rank)? as i64)?;
        let onesided = vec![int("onesided", i64::from(i == 0))];
        value = e.node("DFT", &[value, String::new(), axis], onesided);
    }
    e.last("Identity", &[value], vec![])
}

/// Transforms one axis after the other. The last axis of the data contains real and imaginary parts.
fn dft(e: &mut Emitter, inverse: i64) -> Result {
    let (axes, axis_count) = (e.fixed(1, "the axes")?, e.rank(0)?.saturating_sub(1));
    let sizes = match e.len() {
        3.. => Some(e.fixed(2, "the sizes of the signal")?),
        _ => None,
    };
    let parts = e.fact(0)?.shape.dims().and_then(|dims| dims.last()?.as_const());
    if parts != Some(2) {
        return Err(OpError::unsupported("a signal whose last axis is not known to be 2"));
    }
    let mut value = e.input(0)?;
    for (i, axis) in axes.iter().enumerate() {
        let axis = snick_ir::normalize_axis(*axis, axis_count)?;
        let length = match sizes.as_ref().and_then(|sizes| sizes.get(i)) {
            Some(&size) if size >= 0 => e.index(size)?,
            _ => String::new(),
        };
        let axis = e.index(axis as i64)?;
        value = e.node("DFT", &[value, length, axis], vec![int("inverse", inverse)]);
    }
    e.last("Identity", &[value], vec![])
}

/// Random values between two bounds. They differ between runtimes even with the same seed.
fn random_uniform(e: &mut Emitter, op: &RandomUniform) -> Result {
    let target = op.output_type;
    if !target.is_float() {
        return Err(OpError::unsupported(format!("random numbers of {target}")));
    }
    let bounds = [("low", e.fixed_float(1, "a bound")?), ("high", e.fixed_float(2, "a bound")?)];
    let shape = e.input_i64(0)?;
    let form = e.node("ConstantOfShape", &[shape], vec![]);
    // ONNX Runtime cannot generate half floats.
    let drawn = if target == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
    let mut attrs = vec![int("dtype", e.writer.number_of(drawn)?.into())];
    attrs.extend(bounds.map(|(name, bound)| float(name, bound)));
    let seed = op.op_seed.wrapping_add(op.global_seed);
    if seed != 0 {
        attrs.push(float("seed", seed as f64));
    }
    if drawn == target {
        return e.last("RandomUniformLike", &[form], attrs);
    }
    let numbers = e.node("RandomUniformLike", &[form], attrs);
    e.last("Cast", &[numbers], e.to(target)?)
}

/// In ONNX, a signal has a trailing axis of size 1, and the result has frames before frequencies.
fn stft(e: &mut Emitter, op: &Stft) -> Result {
    let (rank, size) = (e.rank(0)?, e.fixed_one(2, "the size of a frame")?);
    if e.dims(1)? != [size] {
        return Err(OpError::unsupported("a window smaller than the frame"));
    }
    let (mut signal, window) = (e.input(0)?, e.input(1)?);
    if rank == 1 {
        signal = e.unsqueezed(&signal, &[0])?;
    }
    signal = e.unsqueezed(&signal, &[-1])?;
    let (frame, step) = (e.index(size)?, e.input_i64(3)?);
    let step = e.reshaped(&step, &[])?;
    let mut y = e.node("STFT", &[signal, step, window, frame], vec![int("onesided", 1)]);
    if rank == 1 {
        let axes = e.vector(&[0])?;
        y = e.node("Squeeze", &[y, axes], vec![]);
    }
    let order: Vec<i64> = match (op.transpose_frames, rank) {
        (true, 1) => vec![1, 0, 2],
        (true, _) => vec![0, 2, 1, 3],
        (false, _) => return e.last("Identity", &[y], vec![]),
    };
    e.last("Transpose", &[y], vec![ints("perm", order)])
}
