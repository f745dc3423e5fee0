//! ISTFT-16.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::BinaryOp;
use snick_tensor::{ElementType, Listed, MAX_BYTES, SmallVector, Tensor};

use super::super::allocation::reserved;
use super::{fourier, frames};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading};

op! {
    /// The inverse of a short-time Fourier transform.
    ///
    /// Inputs: spectra `[batch, frequencies, frames, 2]` or `[frequencies, frames, 2]`, a window, the frame
    /// size, the step, and optionally the length of the signal. Output: `[batch, length]` or `[length]`.
    /// Overlapping frames are multiplied by the window, added, and divided by the sum of the squared windows.
    #[op("ISTFT", since = [16], inputs = Arity::between(4, 5), category = Other, traits = [PURE])]
    pub struct Istft {
        /// Whether each end has half a frame of padding, which is cropped.
        pub center: bool = false,
        /// Whether the spectra are divided by the square root of the frame size.
        pub normalized: bool = false,
    }
}

impl InferOp for Istft {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..2);
        cx.expect_rank(0, "3 or 4", |rank| rank == 3 || rank == 4)?;
        let [size, step] = frames::infer(cx)?;
        if cx.len() > 4 {
            cx.expect_index(4)?;
            let one = Shape::ranked([SymExpr::from(1)]);
            if cx.shape(4).rank() != Some(0) {
                cx.merge_shapes("the signal length is {}, expected {}", cx.shape(4), &one)?;
            }
        }
        let Some([batch @ .., _, count, _]) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let length = match (cx.optional(4).map(Fact::elements), &size, &step) {
            (Some(Some(length)), ..) => match length.as_slice() {
                [length] => length.clone(),
                _ => cx.unknown(Interval::DIM),
            },
            (None, Some(size), Some(step)) => {
                let gaps = cx.sub(count, &1.into());
                let gaps = cx.max(&gaps, &0.into());
                let length = cx.mul(&gaps, step);
                let rest = if self.center {
                    // Half a frame, rounded down, is cropped at each end, so one element more remains if the
                    // frame size is odd.
                    let half = cx.floor_div(size, &2.into());
                    let halves = cx.mul(&half, &2.into());
                    cx.sub(size, &halves)
                } else {
                    size.clone()
                };
                cx.add(&length, &rest)
            }
            _ => cx.unknown(Interval::DIM),
        };
        let mut dims: SmallVector<SymExpr, 4> = batch.iter().cloned().collect();
        let dim = cx.as_dim(&length);
        dims.push(dim.ok_or_else(|| OpError::mismatch("the length", cx.interval(&length), "0 or more"))?);
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for Istft {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([data, window, size, step], length) = leading(inputs)?;
        let size = frames::number("the size of a frame", size)?;
        let step = frames::number("the step between frames", step)?;
        let batched = if data.rank() == 3 { data.unsqueeze(0)? } else { data.clone() };
        let &[batch, frequencies, count, 2] = batched.dims() else {
            return Err(OpError::mismatch("the shape of the spectra", Listed(data.dims()), "[..,2]"));
        };
        if frequencies != size / 2 + 1 || count == 0 {
            let expected = format!("{} frequencies and at least one frame", size / 2 + 1);
            return Err(OpError::mismatch("the shape of the spectra", Listed(data.dims()), expected));
        }
        let too_large = || OpError::unsupported("a signal of this length");
        let covered = (count - 1).checked_mul(step).and_then(|last| last.checked_add(size));
        let covered = covered.filter(|&n| n <= MAX_LENGTH).ok_or_else(too_large)?;
        let margin = if self.center { size / 2 } else { 0 };
        let length = match length.first() {
            Some(length) => frames::number("the length", length)?,
            None => covered - 2 * margin,
        };
        let total = batch.checked_mul(length).filter(|&n| n <= MAX_LENGTH).ok_or_else(too_large)?;

        let spectra = batched.cast(ElementType::F32)?.permute(&[0, 2, 1, 3])?;
        let window = frames::window(&window.cast(ElementType::F32)?, size)?;
        let framed =
            BinaryOp::Mul.apply(&fourier::signal_of_half(&spectra, &[2], &[size])?, &window)?.to_f32_vec()?;
        let squares = BinaryOp::Mul.apply(&window, &window)?.to_f32_vec()?;
        let weights = overlapped(std::iter::repeat_n(squares.as_slice(), count), step, covered)?;
        let scale = if self.normalized { (size as f32).sqrt() } else { 1.0 };
        let mut signals = zeros(total)?;
        let each = framed.chunks_exact((count * size).max(1)).zip(signals.chunks_exact_mut(length.max(1)));
        for (framed, signal) in each {
            let sum = overlapped(framed.chunks_exact(size), step, covered)?;
            let inside = sum.iter().zip(&weights).skip(margin);
            for (to, (&sum, &weight)) in signal.iter_mut().zip(inside) {
                *to = if weight == 0.0 { 0.0 } else { sum * scale / weight };
            }
        }
        let dims = [batch, length];
        let dims = if data.rank() == 3 { &dims[1..] } else { &dims[..] };
        Ok(vec![Tensor::from_vec(dims, signals)?.cast(data.element_type())?])
    }
}

/// The maximum number of elements of all signals.
const MAX_LENGTH: usize = MAX_BYTES / 16;

/// Allocates this many zeros, checking the memory limit.
fn zeros(len: usize) -> Result<Vec<f32>, OpError> {
    let mut all = reserved(&[len])?;
    all.resize(len, 0.0);
    Ok(all)
}

/// The sum of overlapping frames that start `step` apart; the last frame ends at `length`.
fn overlapped<'a>(
    frames: impl Iterator<Item = &'a [f32]>,
    step: usize,
    length: usize,
) -> Result<Vec<f32>, OpError> {
    let mut sum = zeros(length)?;
    for (i, frame) in frames.enumerate() {
        let at = sum.iter_mut().skip(i * step);
        at.zip(frame).for_each(|(to, &value)| *to += value);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::signal::stft::Stft;

    #[test]
    fn the_inverse_of_frames_is_the_signal() {
        let values: Vec<f32> = (0..10).map(|i| (i * 3 % 7) as f32).collect();
        let signal = Tensor::from_vec(&[10], values.clone()).unwrap();
        let [size, step] = [4i64, 3].map(Tensor::scalar);
        let window = Tensor::from_vec(&[4], vec![0.5f32, 1.0, 2.0, 0.25]).unwrap();
        let stft = Stft { transpose_frames: true };
        let spectra = stft.eval(&[signal, window.clone(), size.clone(), step.clone()]).unwrap().remove(0);
        assert_eq!(spectra.dims(), [3, 3, 2]);
        let run = |center, length: &[i64]| {
            let op = Istft { center, normalized: false };
            let mut inputs = vec![spectra.clone(), window.clone(), size.clone(), step.clone()];
            inputs.extend(length.iter().map(|&length| Tensor::scalar(length)));
            op.eval(&inputs).unwrap()[0].to_f32_vec().unwrap()
        };
        let near =
            |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(near(&run(false, &[]), &values));
        assert!(near(&run(true, &[]), &values[2..8]));
        assert!(near(&run(true, &[3]), &values[2..5]));
        assert!(near(&run(false, &[12]), &[&values[..], &[0.0, 0.0]].concat()));
    }
}
