//! STFT-15: the Fourier transform of overlapping frames of a signal.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// A signal `[batch, length]` or `[length]`, a window, the size of a frame and the step from one to the next; to
/// `[batch, frames, frequencies, 2]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Stft {
    /// Whether frequencies stand before frames.
    pub transpose_frames: bool,
}

impl OpDef for Stft {
    const NAMES: &'static [OpName] = &[OpName::openvino("STFT", &[15])];
    const ARITY: Arity = Arity::exactly(4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { transpose_frames: raw.attrs.bool("transpose_frames")?.unwrap_or(false) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("transpose_frames", self.transpose_frames)
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..2)?;
        cx.expect_rank(0, "1 or 2", |rank| rank == 1 || rank == 2)?;
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        let mut numbers = [None, None];
        for (i, number) in (2..4).zip(&mut numbers) {
            cx.expect_integer(i)?;
            cx.expect_rank(i, "0", |rank| rank == 0)?;
            if let Some([element]) = cx.input(i).elements().as_deref() {
                let interval = cx.interval(element);
                if interval.hi() < 1 {
                    return Err(OpError::mismatch(format!("input {i}"), interval, "1 or more"));
                }
                *number = Some(element.clone()).filter(|_| interval.lo() >= 1);
            }
        }
        let Some([batch @ .., length]) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let [size, step] = numbers;
        let positive = Interval::new(1, i64::MAX).unwrap_or(Interval::DIM);
        if let Some(size) = &size {
            let (size, length) = (cx.interval(size), cx.interval(length));
            if size.lo() > length.hi() {
                return Err(OpError::mismatch("the size of a frame", size, format!("up to {length}")));
            }
            if let Some([window]) = cx.shape(1).dims()
                && cx.interval(window).lo() > size.hi()
            {
                return Err(OpError::mismatch("the size of the window", cx.interval(window), size));
            }
        }
        let frequencies = match &size {
            Some(size) => {
                let half = cx.floor_div(size, &2.into());
                cx.add(&half, &1.into())
            }
            None => cx.unknown(positive),
        };
        let frames = match (&size, &step) {
            (Some(size), Some(step)) => {
                let room = cx.sub(length, size);
                let steps = cx.floor_div(&room, step);
                let frames = cx.add(&steps, &1.into());
                cx.as_dim(&frames)
            }
            _ => None,
        };
        let frames = frames.unwrap_or_else(|| cx.unknown(Interval::DIM));
        let mut dims: SmallVec<[SymExpr; 4]> = batch.iter().cloned().collect();
        dims.extend(if self.transpose_frames { [frequencies, frames] } else { [frames, frequencies] });
        dims.push(2.into());
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }

    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported("running STFT"))
    }
}
