//! I420toBGR-8, I420toRGB-8, NV12toBGR-8 and NV12toRGB-8: images as cameras give them to images as networks take them.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use super::color::{channel, half, infer_plane, infer_type};
use crate::ops::nn::blocks::divided;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// The brightness Y `[N, H, W, 1]` and the colour, one U and V for four pixels: `[N, H/2, W/2, 2]`, or U and V
/// `[N, H/2, W/2, 1]` apart; or all of them in one input `[N, 3H/2, W, 1]`, plane after plane. To `[N, H, W, 3]`.
#[derive(Clone, PartialEq, Debug)]
pub struct YuvToRgb {
    /// I420: U and V apart. Otherwise NV12: they alternate.
    pub planar: bool,
    /// Blue before green before red.
    pub bgr: bool,
}

const NAMES: [OpName; 4] = [
    OpName::openvino("NV12toRGB", &[8]),
    OpName::openvino("NV12toBGR", &[8]),
    OpName::openvino("I420toRGB", &[8]),
    OpName::openvino("I420toBGR", &[8]),
];

impl OpDef for YuvToRgb {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::between(1, 3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let row = raw.row(&NAMES);
        Ok(Self { planar: row >= 2, bgr: row % 2 == 1 })
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.bgr) + 2 * usize::from(self.planar)]
    }
}

impl InferOp for YuvToRgb {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.check_planes(cx.len())?;
        let element_type = infer_type(cx)?;
        let unknown = |cx: &mut Infer| [(); 3].map(|()| cx.unknown(Interval::DIM));
        let first = infer_plane(cx, 0, 1)?;
        let [batch, height, width] = first.unwrap_or_else(|| unknown(cx));
        let mut dims = [batch, height, width];
        if cx.len() == 1 {
            // Three halves of the height are whole and the height is even, so it is two thirds of them.
            let third = divided(cx, &dims[1], 3);
            dims[1] = cx.mul(&third, &2.into());
            half(cx, &dims[2]);
        } else {
            half(cx, &dims[1]);
            half(cx, &dims[2]);
            for i in 1..cx.len() {
                let channels = if self.planar { 1 } else { 2 };
                let Some([batch, rows, columns]) = infer_plane(cx, i, channels)? else { continue };
                let whole = [batch, cx.mul(&rows, &2.into()), cx.mul(&columns, &2.into())];
                for (dim, other) in dims.iter_mut().zip(&whole) {
                    let both = cx.merge(dim, other);
                    *dim = both.ok_or_else(|| {
                        cx.conflict("planes {} and {} are of different images", cx.shape(0), cx.shape(i))
                    })?;
                }
            }
        }
        let mut dims: SmallVec<[SymExpr; 4]> = dims.into_iter().collect();
        dims.push(3.into());
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for YuvToRgb {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.check_planes(inputs.len())?;
        let [first, others @ ..] = inputs else { return Ok(Vec::new()) };
        let refuse = || OpError::mismatch("dims of an image", format!("{:?}", first.dims()), self.planes());
        let &[batch, rows, width, 1] = first.dims() else { return Err(refuse()) };
        let height = if others.is_empty() { rows / 3 * 2 } else { rows };
        let whole = if others.is_empty() { rows % 3 == 0 } else { rows % 2 == 0 };
        if !whole || width % 2 != 0 {
            return Err(refuse());
        }
        let (columns, quarter) = (width / 2, height / 2 * (width / 2));
        let channels = if self.planar { 1 } else { 2 };
        for plane in others {
            if plane.dims() != [batch, height / 2, columns, channels] {
                let sentence = "planes {} and {} are of different images";
                return Err(OpError::dims_conflict(sentence, first.dims(), plane.dims()));
            }
        }
        // Each image as one run of Y, U and V, or of Y and alternating U and V.
        let flat = |plane: &Tensor| plane.reshape(&[batch, plane.len().checked_div(batch).unwrap_or(0)]);
        let planes = inputs.iter().map(flat).collect::<Result<Vec<_>, _>>()?;
        let together = snick_tensor::kernels::concat(&planes.iter().collect::<Vec<_>>(), 1)?;
        let values = together.to_f32_vec()?;
        let element_type = first.element_type();
        let mut out = Vec::with_capacity(values.len().saturating_mul(2));
        for image in values.chunks_exact((height * width + 2 * quarter).max(1)) {
            let (brightness, color) = image.split_at(height * width);
            for (at, &y) in brightness.iter().enumerate() {
                let cell = at / width / 2 * columns + at % width / 2;
                let (u, v) = match self.planar {
                    true => (color[cell], color[quarter + cell]),
                    false => (color[2 * cell], color[2 * cell + 1]),
                };
                let [r, g, b] =
                    to_rgb(y, u, v).map(|value| channel(value, element_type, f32::round_ties_even));
                out.extend(if self.bgr { [b, g, r] } else { [r, g, b] });
            }
        }
        Ok(vec![Tensor::from_vec(&[batch, height, width, 3], out)?.cast(element_type)?])
    }
}

/// Red, green and blue of a pixel (BT.601, limited range).
fn to_rgb(y: f32, u: f32, v: f32) -> [f32; 3] {
    let (c, d, e) = (1.164 * (y - 16.0), u - 128.0, v - 128.0);
    [c + 1.596 * e, c - 0.391 * d - 0.813 * e, c + 2.018 * d]
}

impl YuvToRgb {
    fn planes(&self) -> &'static str {
        if self.planar { "[N, 3H/2, W, 1], or three planes" } else { "[N, 3H/2, W, 1], or two planes" }
    }

    /// All planes are in one input, or each in its own.
    fn check_planes(&self, inputs: usize) -> Result<(), OpError> {
        let apart = if self.planar { 3 } else { 2 };
        if inputs == 1 || inputs == apart {
            return Ok(());
        }
        Err(OpError::Arity { expected: format!("1 or {apart}"), got: inputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_together_and_apart_are_the_same_image() {
        let y = Tensor::from_vec(&[1, 2, 4, 1], vec![16u8, 50, 90, 130, 170, 210, 235, 255]).unwrap();
        let [u, v] = [[100u8, 200], [60, 128]].map(|c| Tensor::from_vec(&[1, 1, 2, 1], c.to_vec()).unwrap());
        let i420 = YuvToRgb { planar: true, bgr: false };
        let apart = i420.eval(&[y.clone(), u, v]).unwrap().remove(0);
        let together = [16u8, 50, 90, 130, 170, 210, 235, 255, 100, 200, 60, 128];
        let together = Tensor::from_vec(&[1, 3, 4, 1], together.to_vec()).unwrap();
        assert_eq!(i420.eval(&[together]).unwrap()[0], apart);
        let uv = Tensor::from_vec(&[1, 1, 2, 2], vec![100u8, 60, 200, 128]).unwrap();
        let nv12 = YuvToRgb { planar: false, bgr: true };
        let bgr = nv12.eval(&[y.clone(), uv.clone()]).unwrap().remove(0);
        assert_eq!(bgr.slice(3, 2, 3, -1).unwrap(), apart);
        assert_eq!(apart.to_i64_vec().unwrap()[..3], [0, 66, 0]);
        assert!(i420.eval(&[y, uv]).is_err());
    }
}
