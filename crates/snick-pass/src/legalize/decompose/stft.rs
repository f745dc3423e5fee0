//! STFT as the Fourier transforms of gathered frames.

use snick_ir::ops::signal::fourier::{Fourier, FourierTransform};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};
use snick_tensor::ElementType;

use super::helpers::{Result, at_run_time, known, known_size};

pub(crate) const RULE: Rule = Rule::exact("decompose-stft", stft).may_round_within(1e-4, 1e-5);

fn stft(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Stft(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let signal = p.input(0)?;
    let (size, step, own) = (number(p, 2)?, number(p, 3)?, p.element_type(signal)?);
    let window = padded_window(p, size)?;
    let (Some(size), Some(step), Some(window)) = (size, step, window) else {
        return Ok(at_run_time("sizes of frames"));
    };
    let signal = p.convert(signal, ElementType::F32)?;
    let length = p.to_scalar(p.size_of(signal, -1)?)?;
    let starts =
        p.range(p.int(0)?, p.subtract(length, (size - 1) as f64)?, p.int(step)?, ElementType::I64)?;
    let places = p.add(p.unsqueeze(starts, &[1])?, p.count_to(p.int(size)?)?)?;
    let frames = p.gather(signal, places, -1)?;
    let axis = p.rank(frames)? as i64 - 1;
    let transform = FourierTransform { function: Fourier::RealForward };
    let mut spectra = p.add_op(transform, &[p.multiply(frames, window)?, p.ints(&[axis])?])?;
    if op.transpose_frames {
        let order: Vec<i64> = (0..axis - 1).chain([axis, axis - 1, axis + 1]).collect();
        spectra = p.transpose(spectra, &order)?;
    }
    p.convert(spectra, own).map(RewriteResult::one)
}

fn number(p: &Patch, i: usize) -> Result<Option<i64>> {
    Ok(known(p, i)?.and_then(|numbers| numbers.first().copied()))
}

/// The window in f32 with zeros on both sides, if its size is known.
fn padded_window(p: &mut Patch, size: Option<i64>) -> Result<Option<Value>> {
    let window = p.convert(p.input(1)?, ElementType::F32)?;
    let (Some(size), Some(own)) = (size, known_size(p, window, 0)?) else { return Ok(None) };
    let room = size - own;
    match room {
        0 => Ok(Some(window)),
        _ => p.pad(window, &[room / 2], &[room - room / 2], p.scalar_like(window, 0.0)?).map(Some),
    }
}
