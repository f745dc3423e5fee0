//! Converts NV12 and I420 images to RGB or BGR by arithmetic.

use snick_ir::ops::Round;
use snick_ir::ops::image::color::ChannelOrder;
use snick_ir::ops::image::yuv_to_rgb::{Chroma, YuvConversion};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};
use snick_tensor::ElementType;

use super::helpers::{Result, Size, reshape};

pub(crate) const RULE: Rule = Rule::exact("decompose-yuv-to-rgb", yuv_to_rgb).may_round_within(1e-5, 0.0);

fn yuv_to_rgb(p: &mut Patch) -> Result<RewriteResult> {
    let Op::YuvToRgb(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let YuvConversion(chroma, order) = op.function;
    let own = p.element_type(p.output(0))?;
    let [y, u, v] = planes(p, chroma)?;
    let c = centred(p, y, 16.0)?;
    let c = p.multiply(c, 1.164)?;
    let mut halves = [u, v];
    for plane in &mut halves {
        let centred = centred(p, *plane, 128.0)?;
        *plane = doubled(p, centred)?;
    }
    let [d, e] = halves;
    let (of_red, of_blue) = (p.multiply(e, 1.596)?, p.multiply(d, 2.018)?);
    let (less_u, less_v) = (p.multiply(d, 0.391)?, p.multiply(e, 0.813)?);
    let (red, blue) = (p.add(c, of_red)?, p.add(c, of_blue)?);
    let green = p.subtract(c, less_u)?;
    let green = p.subtract(green, less_v)?;
    let channels = match order {
        ChannelOrder::Rgb => [red, green, blue],
        ChannelOrder::Bgr => [blue, green, red],
    };
    let mut image = p.concat(3, &channels)?;
    if own.is_integer() {
        image = p.add_op(Round::default(), &[image])?;
    }
    let image = p.clamp(image, 0.0, 255.0)?;
    p.convert(image, own).map(RewriteResult::one)
}

/// Converts a plane to f32, and subtracts the value that represents zero.
fn centred(p: &mut Patch, plane: Value, zero: f64) -> Result<Value> {
    let plane = p.convert(plane, ElementType::F32)?;
    p.subtract(plane, zero)
}

/// Luma, `[N, H, W, 1]`, and the two chroma planes, `[N, H/2, W/2, 1]`.
fn planes(p: &mut Patch, chroma: Chroma) -> Result<[Value; 3]> {
    let first = p.input(0)?;
    match (chroma, p.try_input(1)) {
        (Chroma::Planar, Some(u)) => Ok([first, u, p.input(2)?]),
        (Chroma::Interleaved, Some(both)) => {
            let [u, v] = [p.slice_range(both, 3, 0, 1)?, p.slice_range(both, 3, 1, 2)?];
            Ok([first, u, v])
        }
        (_, None) => {
            // The first two thirds of the rows are luma; the last third contains both chroma planes.
            let third = Size::Of { axis: 1, times: 1, over: 3 };
            let thirds = reshape(p, first, &[Size::of(0), Size::Known(3), third, Size::of(2)])?;
            let [luma, rest] = [p.slice_range(thirds, 1, 0, 2)?, p.slice_range(thirds, 1, 2, 3)?];
            let height = Size::Of { axis: 2, times: 2, over: 1 };
            let luma = reshape(p, luma, &[Size::of(0), height, Size::of(3), Size::Known(1)])?;
            let [u, v] = apart(p, rest, chroma)?;
            Ok([luma, u, v])
        }
    }
}

/// Splits rows that contain both chroma planes, `[N, 1, H/2, W]`.
fn apart(p: &mut Patch, rest: Value, chroma: Chroma) -> Result<[Value; 2]> {
    let half = Size::Of { axis: 3, times: 1, over: 2 };
    if chroma == Chroma::Interleaved {
        let both = reshape(p, rest, &[Size::of(0), Size::of(2), half, Size::Known(2)])?;
        return Ok([p.slice_range(both, 3, 0, 1)?, p.slice_range(both, 3, 1, 2)?]);
    }
    // The planes follow each other, and each row contains two rows of a plane.
    let both = reshape(p, rest, &[Size::of(0), Size::Known(2), Size::of(2), half])?;
    let mut planes = [p.slice_range(both, 1, 0, 1)?, p.slice_range(both, 1, 1, 2)?];
    for plane in &mut planes {
        *plane = p.transpose(*plane, &[0, 2, 3, 1])?;
    }
    Ok(planes)
}

/// Repeats each element of `[N, H, W, 1]` four times, which results in `[N, 2H, 2W, 1]`.
fn doubled(p: &mut Patch, x: Value) -> Result<Value> {
    let apart = p.unsqueeze(x, &[2, 4])?;
    let wide = p.concat(4, &[apart, apart])?;
    let whole = p.concat(2, &[wide, wide])?;
    let twice = |axis| Size::Of { axis, times: 2, over: 1 };
    reshape(p, whole, &[Size::of(0), twice(1), twice(3), Size::Known(1)])
}
