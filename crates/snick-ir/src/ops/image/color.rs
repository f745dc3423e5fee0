//! Shared code of the conversions between RGB and YUV images.

use snick_shape::SymExpr;
use snick_tensor::ElementType;

use crate::ops::nn::blocks::divided;
use crate::{Infer, OpError};

/// The channel order of an image.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ChannelOrder {
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red.
    Bgr,
}

impl ChannelOrder {
    /// Converts between this order and red, green, blue.
    pub(super) fn arranged(self, [first, g, last]: [f32; 3]) -> [f32; 3] {
        match self {
            Self::Rgb => [first, g, last],
            Self::Bgr => [last, g, first],
        }
    }
}

/// The element type shared by all planes: u8 or a floating-point type.
pub(super) fn infer_type(cx: &mut Infer) -> Result<ElementType, OpError> {
    let element_type = cx.common_type(0..cx.len());
    if element_type != ElementType::U8 {
        cx.expect_real(0)?;
    }
    Ok(element_type)
}

/// Batch, height and width of input `i`, which must have this many channels; `None` if its rank is unknown.
pub(super) fn infer_plane(cx: &Infer, i: usize, channels: i64) -> Result<Option<[SymExpr; 3]>, OpError> {
    cx.expect_rank(i, "4", |rank| rank == 4)?;
    let Some([batch, height, width, last]) = cx.shape(i).dims() else { return Ok(None) };
    if !cx.interval(last).contains(channels) {
        let what = format!("the number of channels of input {i}");
        return Err(OpError::mismatch(what, cx.interval(last), channels));
    }
    Ok(Some([batch.clone(), height.clone(), width.clone()]))
}

/// Half of a dim, which must be even.
pub(super) fn half(cx: &mut Infer, dim: &SymExpr) -> SymExpr {
    divided(cx, dim, 2)
}

/// Clamps a channel value to 0..=255, and rounds it for integers.
pub(super) fn channel(value: f32, element_type: ElementType, round: fn(f32) -> f32) -> f32 {
    let value = if element_type == ElementType::U8 { round(value) } else { value };
    value.clamp(0.0, 255.0)
}
