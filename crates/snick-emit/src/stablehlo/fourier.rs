//! Fourier transforms, as multiplications by matrices of cosines and sines along each axis.

use std::f64::consts::TAU;

use snick_ir::ops::{Fourier, Stft};
use snick_ir::{Op, OpError};
use snick_tensor::Tensor;

use super::contract::sums;
use super::emitter::{Emitter, Operand, Result};
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::FourierTransform(op) => match op.function {
            Fourier::Forward => OpRow::new(|e| complex(e, false)),
            Fourier::Inverse => OpRow::new(|e| complex(e, true)),
            Fourier::RealForward => OpRow::new(half_spectrum),
            Fourier::RealInverse => OpRow::new(signal_of_half),
        },
        Op::Stft(op) => OpRow::new(|e| short_time(e, op)),
        _ => return None,
    })
}

/// Maximum number of elements in a matrix of cosines or sines.
const MAX_MATRIX: usize = 1 << 22;

/// The real and imaginary parts of a value.
struct Complex {
    re: Operand,
    im: Option<Operand>,
}

/// The axes of the transform, and the signal size along each of them. The default size is the size of the
/// data, which `own` returns for an axis.
fn signal(e: &Emitter, rank: usize, own: impl Fn(usize) -> Result<usize, OpError>) -> Signal {
    let axes = e.fixed(1, "the axes of a transform")?;
    let axes = axes.iter().map(|&axis| snick_ir::normalize_axis(axis, rank));
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    let given = if e.len() > 2 { e.fixed(2, "the sizes of a transform")? } else { vec![] };
    let mut sizes = Vec::with_capacity(axes.len());
    for (i, &axis) in axes.iter().enumerate() {
        sizes.push(match given.get(i).map(|&size| usize::try_from(size)) {
            Some(Ok(size)) => size,
            _ => own(axis)?,
        });
    }
    Ok(axes.into_iter().zip(sizes).collect())
}

type Signal = Result<Vec<(usize, usize)>, OpError>;

/// Truncates or zero-pads an axis to the given size.
fn resized(e: &mut Emitter, x: &Operand, axis: usize, size: usize) -> Result<Operand> {
    let own = x.ty.size(axis)?;
    if size <= own {
        return e.part(x, axis, &0.into(), (size as i64).into());
    }
    let zero = e.full(0.0, &x.ty.sized(&[]))?;
    let (begin, mut end) = (vec![0; x.ty.rank()], vec![0; x.ty.rank()]);
    end[axis] = (size - own) as i64;
    let mut dims = x.ty.dims.clone();
    dims[axis] = (size as i64).into();
    Ok(e.padded(x, &zero, &begin, &end, x.ty.sized(dims)))
}

/// The matrix `[rows, columns]` whose elements are a function of the angle `2 pi row column / size`.
fn matrix(
    [rows, columns]: [usize; 2],
    size: usize,
    of: impl Fn(usize, f64) -> f64,
) -> Result<Tensor, OpError> {
    if rows.saturating_mul(columns) > MAX_MATRIX {
        return Err(OpError::unsupported("a transform of this size"));
    }
    let size = size.max(1);
    let angle = |row: usize, column: usize| TAU * (row * column % size) as f64 / size as f64;
    let elements = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let elements = elements.map(|(row, column)| of(column, angle(row, column)) as f32).collect();
    Ok(Tensor::from_vec(&[rows, columns], elements)?)
}

/// Computes the first `count` entries of the transform along an axis of `size`.
fn along(
    e: &mut Emitter,
    x: &Complex,
    axis: usize,
    count: usize,
    size: usize,
    inverse: bool,
) -> Result<Complex, OpError> {
    let share = if inverse { 1.0 / size.max(1) as f64 } else { 1.0 };
    let turn = if inverse { -1.0 } else { 1.0 };
    let cosines = matrix([count, size], size, |_, angle| share * angle.cos())?;
    let sines = matrix([count, size], size, |_, angle| share * turn * angle.sin())?;
    let (re, down) = (sums(e, &x.re, axis, &cosines)?, sums(e, &x.re, axis, &sines)?);
    let down = e.same("negate", &[&down]);
    let Some(im) = &x.im else { return Ok(Complex { re, im: Some(down) }) };
    let (up, im) = (sums(e, im, axis, &sines)?, sums(e, im, axis, &cosines)?);
    let re = e.same("add", &[&re, &up]);
    Ok(Complex { re, im: Some(e.same("add", &[&im, &down])) })
}

/// Splits the last axis into real and imaginary parts.
fn apart(e: &mut Emitter, x: &Operand) -> Result<Complex, OpError> {
    let last = x.ty.rank().saturating_sub(1);
    let dims = x.ty.dims.get(..last).unwrap_or_default().to_vec();
    let mut part = |i: i64| {
        let part = e.part(x, last, &i.into(), 1.into())?;
        e.reshape(&part, &dims)
    };
    Ok(Complex { re: part(0)?, im: Some(part(1)?) })
}

fn together(e: &mut Emitter, x: Complex) -> Result {
    let last = x.re.ty.rank();
    let dims = [x.re.ty.dims.as_slice(), &[1.into()]].concat();
    let re = e.reshape(&x.re, &dims)?;
    let im = match x.im {
        Some(im) => e.reshape(&im, &dims)?,
        None => e.full(0.0, &re.ty)?,
    };
    let y = e.concatenate(&[re, im], last)?;
    e.give(0, y)
}

fn each(e: &mut Emitter, x: Complex, axis: usize, size: usize, inverse: bool) -> Result<Complex, OpError> {
    let re = resized(e, &x.re, axis, size)?;
    let im = x.im.map(|im| resized(e, &im, axis, size)).transpose()?;
    along(e, &Complex { re, im }, axis, size, size, inverse)
}

fn complex(e: &mut Emitter, inverse: bool) -> Result {
    let x = e.input(0)?;
    let mut x = apart(e, &x)?;
    for (axis, size) in signal(e, x.re.ty.rank(), |axis| x.re.ty.size(axis))? {
        x = each(e, x, axis, size, inverse)?;
    }
    together(e, x)
}

/// The transform of a real signal. Along the last listed axis, it contains only the first half of the
/// spectrum.
fn half_spectrum(e: &mut Emitter) -> Result {
    let mut x = Complex { re: e.input(0)?, im: None };
    let signal = signal(e, x.re.ty.rank(), |axis| x.re.ty.size(axis))?;
    let (&(last, size), others) = signal.split_last().ok_or_else(no_axes)?;
    x.re = resized(e, &x.re, last, size)?;
    x = along(e, &x, last, size.min(size / 2 + 1), size, false)?;
    for &(axis, size) in others {
        x = each(e, x, axis, size, false)?;
    }
    together(e, x)
}

/// Restores a real signal from the first half of its spectrum along the last listed axis. The other half is
/// the conjugate mirror image of the first.
fn signal_of_half(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let mut x = apart(e, &x)?;
    let rank = x.re.ty.rank();
    let axes = e.fixed(1, "the axes of a transform")?;
    let last = axes.last().map(|&axis| snick_ir::normalize_axis(axis, rank)).transpose()?;
    let signal = signal(e, rank, |axis| {
        let own = x.re.ty.size(axis)?;
        Ok(if Some(axis) == last { 2 * own.saturating_sub(1) } else { own })
    })?;
    let (&(last, size), others) = signal.split_last().ok_or_else(no_axes)?;
    for &(axis, size) in others {
        x = each(e, x, axis, size, true)?;
    }
    let half = size.min(size / 2 + 1);
    // Every entry except the first and the middle one occurs twice in the full spectrum.
    let share = |entry: usize| if entry == 0 || 2 * entry == size { 1.0 } else { 2.0 } / size.max(1) as f64;
    let cosines = matrix([size, half], size, |entry, angle| share(entry) * angle.cos())?;
    let sines = matrix([size, half], size, |entry, angle| share(entry) * angle.sin())?;
    let re = resized(e, &x.re, last, half)?;
    let mut y = sums(e, &re, last, &cosines)?;
    if let Some(im) = &x.im {
        let im = resized(e, im, last, half)?;
        let down = sums(e, &im, last, &sines)?;
        y = e.same("subtract", &[&y, &down]);
    }
    e.give(0, y)
}

/// The spectra of the frames of a signal. Each frame is multiplied by a window first.
fn short_time(e: &mut Emitter, op: &Stft) -> Result {
    let (signal, window) = (e.input(0)?, e.input(1)?);
    let one = |e: &Emitter, i: usize, what: &str| {
        let number = e.fixed(i, what)?.first().and_then(|&number| usize::try_from(number).ok());
        number.filter(|&number| number > 0).ok_or_else(|| OpError::unsupported(format!("no {what}")))
    };
    let (size, step) = (one(e, 2, "the size of a frame")?, one(e, 3, "the step between frames")?);
    let (batch, length) = match signal.ty.fixed()?.as_slice() {
        &[length] => (1, length),
        &[batch, length] => (batch, length),
        dims => return Err(OpError::rank("the signal", dims.len(), "1 or 2")),
    };
    let starts = (0..=length.saturating_sub(size)).step_by(step);
    let places: Vec<i64> = starts.flat_map(|start| (start..start + size).map(|place| place as i64)).collect();
    let frames = [batch, places.len() / size, size];
    let places = e.constant(&Tensor::from_vec(&[places.len(), 1], places)?)?;
    let signal = e.reshape(&signal, &[batch, length])?;
    let framed = super::lookup::along(e, &signal, &places, 1)?;
    let framed = e.reshape(&framed, &frames)?;
    // A window that is shorter than the frame is centred.
    let room = size.saturating_sub(window.ty.size(0)?) as i64;
    let (before, zero) = (room / 2, e.full(0.0, &window.ty.sized(&[]))?);
    let window = e.padded(&window, &zero, &[before], &[room - before], window.ty.sized(&[size]));
    let window = e.convert(&window, framed.ty.element);
    let window = e.spread(&window, &[2], &framed.ty.dims)?;
    let re = e.same("multiply", &[&framed, &window]);
    let Complex { re, im } = along(e, &Complex { re, im: None }, 2, size / 2 + 1, size, false)?;
    let dims = [re.ty.dims.as_slice(), &[1.into()]].concat();
    let mut parts = Vec::with_capacity(2);
    for part in [Some(re), im].into_iter().flatten() {
        parts.push(e.reshape(&part, &dims)?);
    }
    let mut y = e.concatenate(&parts, 3)?;
    if op.transpose_frames {
        y = e.transpose(&y, &[0, 2, 1, 3]);
    }
    let dims = e.output(0)?.dims;
    let y = e.reshape(&y, dims)?;
    e.give(0, y)
}

fn no_axes() -> OpError {
    OpError::mismatch("the number of axes", 0, "1 or more")
}
