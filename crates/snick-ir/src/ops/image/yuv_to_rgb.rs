//! NV12toRGB-8, NV12toBGR-8, I420toRGB-8 and I420toBGR-8.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{Listed, SmallVector, Tensor, kernels};

use super::color::{ChannelOrder, channel, half, infer_plane, infer_type};
use crate::ops::nn::blocks::divided;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading};

op_family! {
    /// Converts YUV images to `[N, H, W, 3]`.
    ///
    /// Inputs: luma Y `[N, H, W, 1]` and chroma, with one U and one V value per four pixels. NV12 has one
    /// chroma input `[N, H/2, W/2, 2]`; I420 has two, U and V, each `[N, H/2, W/2, 1]`. Alternatively, one
    /// input `[N, 3H/2, W, 1]` holds all planes in this order.
    #[family(inputs = Arity::between(1, 3), category = Other, traits = [PURE])]
    pub struct YuvToRgb(YuvConversion) {}
    /// Converts NV12 images, in one plane or two, to RGB `[N, H, W, 3]`.
    Nv12ToRgb: "NV12toRGB", [8] => YuvConversion(Chroma::Interleaved, ChannelOrder::Rgb);
    /// Converts NV12 images, in one plane or two, to BGR `[N, H, W, 3]`.
    Nv12ToBgr: "NV12toBGR", [8] => YuvConversion(Chroma::Interleaved, ChannelOrder::Bgr);
    /// Converts I420 images, in one plane or three, to RGB `[N, H, W, 3]`.
    I420ToRgb: "I420toRGB", [8] => YuvConversion(Chroma::Planar, ChannelOrder::Rgb);
    /// Converts I420 images, in one plane or three, to BGR `[N, H, W, 3]`.
    I420ToBgr: "I420toBGR", [8] => YuvConversion(Chroma::Planar, ChannelOrder::Bgr);
}

/// The chroma format of the input, and the channel order of the output.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct YuvConversion(pub Chroma, pub ChannelOrder);

/// How U and V are stored.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Chroma {
    /// NV12: one plane with alternating U and V.
    Interleaved,
    /// I420: separate planes for U and V.
    Planar,
}

impl Chroma {
    /// Number of channels in a chroma plane.
    fn channels(self) -> usize {
        match self {
            Self::Interleaved => 2,
            Self::Planar => 1,
        }
    }

    /// Requires either one input with all planes, or one input per plane.
    fn check_inputs(self, inputs: usize) -> Result<(), OpError> {
        let planes = 1 + 2 / self.channels();
        match inputs == 1 || inputs == planes {
            true => Ok(()),
            false => Err(OpError::Arity { expected: format!("1 or {planes}"), got: inputs }),
        }
    }
}

impl InferOp for YuvToRgb {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let YuvConversion(chroma, _) = self.function;
        chroma.check_inputs(cx.len())?;
        let element_type = infer_type(cx)?;
        let unknown = |cx: &mut Infer| [(); 3].map(|()| cx.unknown(Interval::DIM));
        let first = infer_plane(cx, 0, 1)?;
        let [batch, height, width] = first.unwrap_or_else(|| unknown(cx));
        let mut dims = [batch, height, width];
        if cx.len() == 1 {
            // The number of rows is 3/2 of the even height, so it is a multiple of 3.
            let third = divided(cx, &dims[1], 3);
            dims[1] = cx.mul(&third, &2.into());
            half(cx, &dims[2]);
        } else {
            half(cx, &dims[1]);
            half(cx, &dims[2]);
            for i in 1..cx.len() {
                let plane = infer_plane(cx, i, chroma.channels() as i64)?;
                let Some([batch, rows, columns]) = plane else { continue };
                let whole = [batch, cx.mul(&rows, &2.into()), cx.mul(&columns, &2.into())];
                for (dim, other) in dims.iter_mut().zip(&whole) {
                    let both = cx.merge(dim, other);
                    *dim = both.ok_or_else(|| {
                        cx.conflict("planes {} and {} are of different images", cx.shape(0), cx.shape(i))
                    })?;
                }
            }
        }
        let mut dims: SmallVector<SymExpr, 4> = dims.into_iter().collect();
        dims.push(3.into());
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for YuvToRgb {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let YuvConversion(chroma, order) = self.function;
        chroma.check_inputs(inputs.len())?;
        let ([first], others) = leading(inputs)?;
        let refuse = || {
            let expected = if others.is_empty() { "[N,3H/2,W,1]" } else { "[N,H,W,1]" };
            OpError::mismatch(
                "the shape of input 0",
                Listed(first.dims()),
                format!("{expected}, H and W even"),
            )
        };
        let &[batch, rows, width, 1] = first.dims() else { return Err(refuse()) };
        let height = if others.is_empty() { rows / 3 * 2 } else { rows };
        let whole = if others.is_empty() { rows % 3 == 0 } else { rows % 2 == 0 };
        if !whole || width % 2 != 0 {
            return Err(refuse());
        }
        let (columns, quarter) = (width / 2, height / 2 * (width / 2));
        for plane in others {
            if plane.dims() != [batch, height / 2, columns, chroma.channels()] {
                let sentence = "planes {} and {} are of different images";
                return Err(OpError::dims_conflict(sentence, first.dims(), plane.dims()));
            }
        }
        // Flatten each image to Y, U and V, or to Y and alternating U and V.
        let flat = |plane: &Tensor| plane.reshape(&[batch, plane.len().checked_div(batch).unwrap_or(0)]);
        let planes = inputs.iter().map(flat).collect::<Result<Vec<_>, _>>()?;
        let together = kernels::concat(&planes.iter().collect::<Vec<_>>(), 1)?;
        let values = together.to_f32_vec()?;
        let element_type = first.element_type();
        let mut out = Vec::with_capacity(values.len().saturating_mul(2));
        for image in values.chunks_exact((height * width + 2 * quarter).max(1)) {
            let (luma, color) = image.split_at(height * width);
            for (at, &y) in luma.iter().enumerate() {
                let cell = at / width / 2 * columns + at % width / 2;
                let (u, v) = match chroma {
                    Chroma::Planar => (color[cell], color[quarter + cell]),
                    Chroma::Interleaved => (color[2 * cell], color[2 * cell + 1]),
                };
                let rgb = to_rgb(y, u, v).map(|value| channel(value, element_type, f32::round_ties_even));
                out.extend(order.arranged(rgb));
            }
        }
        Ok(vec![Tensor::from_vec(&[batch, height, width, 3], out)?.cast(element_type)?])
    }
}

/// The red, green and blue values of a pixel (BT.601, limited range).
fn to_rgb(y: f32, u: f32, v: f32) -> [f32; 3] {
    let (c, d, e) = (1.164 * (y - 16.0), u - 128.0, v - 128.0);
    [c + 1.596 * e, c - 0.391 * d - 0.813 * e, c + 2.018 * d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_plane_and_separate_planes_give_the_same_image() {
        let y = Tensor::from_vec(&[1, 2, 4, 1], vec![16u8, 50, 90, 130, 170, 210, 235, 255]).unwrap();
        let [u, v] = [[100u8, 200], [60, 128]].map(|c| Tensor::from_vec(&[1, 1, 2, 1], c.to_vec()).unwrap());
        let i420 = YuvToRgb { function: YuvConversion(Chroma::Planar, ChannelOrder::Rgb) };
        let apart = i420.eval(&[y.clone(), u, v]).unwrap().remove(0);
        let together = [16u8, 50, 90, 130, 170, 210, 235, 255, 100, 200, 60, 128];
        let together = Tensor::from_vec(&[1, 3, 4, 1], together.to_vec()).unwrap();
        assert_eq!(i420.eval(&[together]).unwrap()[0], apart);
        let uv = Tensor::from_vec(&[1, 1, 2, 2], vec![100u8, 60, 200, 128]).unwrap();
        let nv12 = YuvToRgb { function: YuvConversion(Chroma::Interleaved, ChannelOrder::Bgr) };
        let bgr = nv12.eval(&[y.clone(), uv.clone()]).unwrap().remove(0);
        assert_eq!(bgr.slice(3, 2, 3, -1).unwrap(), apart);
        assert_eq!(apart.to_i64_vec().unwrap()[..3], [0, 66, 0]);
        assert!(i420.eval(&[y, uv]).is_err());
    }
}
