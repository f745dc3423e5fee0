//! Frames of a signal, shared by STFT and ISTFT.

use snick_shape::{Interval, SymExpr};
use snick_tensor::Tensor;
use snick_tensor::kernels::{self, PadMode};

use crate::{Infer, OpError};

/// The frame size (input 2) and the step (input 3), if they are known to be positive. Also checks the types
/// and ranks of the signal (input 0) and the window (input 1).
pub(super) fn infer(cx: &mut Infer) -> Result<[Option<SymExpr>; 2], OpError> {
    cx.expect_real(0)?;
    cx.expect_rank(1, "1", |rank| rank == 1)?;
    let mut numbers = [None, None];
    for (i, number) in (2..4).zip(&mut numbers) {
        cx.expect_index(i)?;
        cx.expect_rank(i, "0", |rank| rank == 0)?;
        if let Some([element]) = cx.input(i).elements().as_deref() {
            let interval = cx.interval(element);
            if interval.hi() < 1 {
                return Err(OpError::mismatch(format!("input {i}"), interval, "1 or more"));
            }
            *number = Some(element.clone()).filter(|_| interval.lo() >= 1);
        }
    }
    if let (Some(size), Some([window])) = (&numbers[0], cx.shape(1).dims()) {
        let (size, window) = (cx.interval(size), cx.interval(window));
        if window.lo() > size.hi() || window.hi() < 1 {
            return Err(OpError::mismatch("the size of the window", window, format!("1 to {size}")));
        }
    }
    Ok(numbers)
}

/// An unknown positive number.
pub(super) fn positive(cx: &mut Infer) -> SymExpr {
    cx.unknown(Interval::new(1, i64::MAX).unwrap_or(Interval::DIM))
}

/// Reads a frame size or a step, which must be positive.
pub(super) fn number(what: &str, tensor: &Tensor) -> Result<usize, OpError> {
    let value = tensor.to_i64_vec()?.first().copied().unwrap_or(0);
    let positive = usize::try_from(value).ok().filter(|&value| value > 0);
    positive.ok_or_else(|| OpError::out_of_range(what, value, "1 or more"))
}

/// Zero-pads the window on both sides to the size of a frame.
pub(super) fn window(window: &Tensor, size: usize) -> Result<Tensor, OpError> {
    let &[own] = window.dims() else {
        return Err(OpError::rank("the window", window.rank(), "1"));
    };
    let refuse = || OpError::mismatch("the size of the window", own, format!("1 to {size}"));
    let room = size.checked_sub(own).filter(|_| own > 0).ok_or_else(refuse)?;
    let before = isize::try_from(room / 2).map_err(|_| refuse())?;
    let after = isize::try_from(room - room / 2).map_err(|_| refuse())?;
    Ok(kernels::pad(window, &[before], &[after], PadMode::Constant, None)?)
}
