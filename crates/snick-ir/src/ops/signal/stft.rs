//! STFT-15.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::{self, BinaryOp};
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::{fourier, frames};
use crate::ops::nn::window::at_least;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// The short-time Fourier transform: the Fourier transform of overlapping frames of a signal.
    ///
    /// Inputs: a signal `[batch, length]` or `[length]`, a window, the frame size, and the step. Output:
    /// `[batch, frames, frequencies, 2]` or `[frames, frequencies, 2]`.
    #[op("STFT", since = [15], inputs = Arity::exactly(4), category = Other, traits = [PURE])]
    pub struct Stft {
        /// Whether frequencies precede frames in the output.
        pub transpose_frames: bool = false,
    }
}

impl InferOp for Stft {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..2);
        cx.expect_rank(0, "1 or 2", |rank| rank == 1 || rank == 2)?;
        let [size, step] = frames::infer(cx)?;
        let Some([batch @ .., length]) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        if let Some(size) = &size {
            let (size, length) = (cx.interval(size), cx.interval(length));
            if size.lo() > length.hi() {
                return Err(OpError::mismatch("the size of a frame", size, format!("up to {length}")));
            }
        }
        let frequencies = match &size {
            Some(size) => {
                let half = cx.floor_div(size, &2.into());
                cx.add(&half, &1.into())
            }
            None => frames::positive(cx),
        };
        let count = match (&size, &step) {
            (Some(size), Some(step)) => {
                let room = cx.sub(length, size);
                let steps = cx.floor_div(&room, step);
                let count = cx.add(&steps, &1.into());
                // There is at least one frame, because a run fails if the signal is shorter than a frame.
                at_least(cx, &count, 1)
            }
            _ => frames::positive(cx),
        };
        let mut dims: SmallVector<SymExpr, 4> = batch.iter().cloned().collect();
        dims.extend(if self.transpose_frames { [frequencies, count] } else { [count, frequencies] });
        dims.push(2.into());
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for Stft {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [signal, window, size, step] = exactly(inputs)?;
        let size = frames::number("the size of a frame", size)?;
        let step = frames::number("the step between frames", step)?;
        let batched = match signal.rank() {
            1 => signal.unsqueeze(0)?,
            2 => signal.clone(),
            rank => return Err(OpError::rank("the signal", rank, "1 or 2")),
        };
        let length = batched.dims()[1];
        if size > length {
            return Err(OpError::mismatch("the size of a frame", size, format!("up to {length}")));
        }
        let wide = ElementType::F32;
        let batched = batched.cast(wide)?.unsqueeze(1)?;
        let starts = (0..=length - size).step_by(step);
        let cut = starts.map(|start| batched.slice(2, start, size, 1)).collect::<Result<Vec<_>, _>>()?;
        let framed = kernels::concat(&cut.iter().collect::<Vec<_>>(), 1)?;
        let window = frames::window(&window.cast(wide)?, size)?;
        let spectra = fourier::half_spectrum(&BinaryOp::Mul.apply(&framed, &window)?, &[2])?;
        let spectra = if self.transpose_frames { spectra.permute(&[0, 2, 1, 3])? } else { spectra };
        let spectra = if signal.rank() == 1 { spectra.squeeze(0)? } else { spectra };
        Ok(vec![spectra.cast(signal.element_type())?])
    }
}
