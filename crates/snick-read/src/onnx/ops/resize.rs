//! Resize and Upsample.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use super::{Row, one};
use crate::onnx::builder::{Builder, Built};

pub(super) const ROWS: &[Row] =
    &[one("Resize", &[10, 11, 13, 18, 19], resize), one("Upsample", &[7, 9], upsample)];

fn mode(b: &Builder) -> Result<&'static str, OpError> {
    match b.text("mode", "nearest")? {
        "nearest" => Ok("nearest"),
        "linear" | "bilinear" => Ok("linear_onnx"),
        "cubic" => Ok("cubic"),
        other => Err(OpError::unsupported(format!("mode `{other}`"))),
    }
}

/// The coordinates and the rounding that Upsample, and the first version of Resize, always have.
fn first_attrs(b: &Builder) -> Result<Attrs<'static>, OpError> {
    let attrs = Attrs::new().with("mode", mode(b)?).with("shape_calculation_mode", "scales");
    Ok(attrs.with("coordinate_transformation_mode", "asymmetric").with("nearest_mode", "floor"))
}

fn upsample(b: &mut Builder) -> Built {
    let x = b.input(0)?;
    let scales = match b.attrs.get("scales") {
        Some(snick_ir::AttrValue::Floats(scales)) => {
            let scales: Vec<f32> = scales.iter().map(|&s| s as f32).collect();
            b.constant(snick_tensor::Tensor::from_vec(&[scales.len()], scales)?)?
        }
        _ => b.input(1)?,
    };
    b.make("Interpolate", first_attrs(b)?, &[x, scales])
}

/// Inputs: data, region of interest, scales, sizes; one of the last two is there.
fn resize(b: &mut Builder) -> Built {
    let x = b.input(0)?;
    if b.since < 11 {
        let scales = b.input(1)?;
        return b.make("Interpolate", first_attrs(b)?, &[x, scales]);
    }
    let coordinates = match b.text("coordinate_transformation_mode", "half_pixel")? {
        "half_pixel" => "half_pixel",
        "pytorch_half_pixel" => "pytorch_half_pixel",
        "asymmetric" => "asymmetric",
        "align_corners" => "align_corners",
        "tf_half_pixel_for_nn" => "tf_half_pixel_for_nn",
        other => return Err(OpError::unsupported(format!("coordinate_transformation_mode `{other}`"))),
    };
    let nearest = match b.text("nearest_mode", "round_prefer_floor")? {
        "round_prefer_floor" => "round_prefer_floor",
        "round_prefer_ceil" => "round_prefer_ceil",
        "floor" => "floor",
        "ceil" => "ceil",
        _ => return Err(b.attrs.bad("nearest_mode", "round_prefer_floor, round_prefer_ceil, floor or ceil")),
    };
    for name in ["antialias", "exclude_outside"] {
        if b.flag(name, false)? {
            return Err(OpError::unsupported(name));
        }
    }
    let attrs = Attrs::new().with("mode", mode(b)?).with("coordinate_transformation_mode", coordinates);
    let attrs = attrs.with("nearest_mode", nearest).with("cube_coeff", b.float("cubic_coeff_a", -0.75)?);
    // An empty constant stands for an input left out, too.
    let given = |i: usize| b.optional(i).filter(|&v| b.dims(v).is_none_or(|dims| !dims.contains(&0)));
    let (attrs, target) = match (given(2), given(3)) {
        (Some(scales), None) => (attrs.with("shape_calculation_mode", "scales"), scales),
        (None, Some(sizes)) => (attrs.with("shape_calculation_mode", "sizes"), sizes),
        _ => return Err(OpError::mismatch("the inputs", "both or none of scales and sizes", "one of them")),
    };
    let mut target =
        if b.element_type(target)?.is_integer() { b.convert(target, ElementType::I64)? } else { target };
    let axes = b.ints("axes")?;
    match b.text("keep_aspect_ratio_policy", "stretch")? {
        "stretch" => {}
        "not_larger" => target = kept_in_proportion(b, x, target, axes.as_deref(), "ReduceMin")?,
        "not_smaller" => target = kept_in_proportion(b, x, target, axes.as_deref(), "ReduceMax")?,
        _ => return Err(b.attrs.bad("keep_aspect_ratio_policy", "stretch, not_larger or not_smaller")),
    }
    let mut inputs = vec![x, target];
    if let Some(axes) = axes {
        inputs.push(b.vector(&axes)?);
    }
    b.make("Interpolate", attrs, &inputs)
}

/// Sizes that all have the ratio to those of the data which one of the sizes asked for has.
fn kept_in_proportion(b: &mut Builder, x: Value, sizes: Value, axes: Option<&[i64]>, pick: &str) -> Built {
    let mut have = b.shape_of(x)?;
    if let Some(axes) = axes {
        let axes = b.vector(axes)?;
        have = b.gather(have, axes, 0)?;
    }
    let (sizes, have) = (b.convert(sizes, ElementType::F32)?, b.convert(have, ElementType::F32)?);
    let ratios = divide(b, sizes, have)?;
    let ratio = b.reduced(pick, ratios, &[0], true)?;
    let (exact, half) = (b.plain("Multiply", &[have, ratio])?, b.number(ElementType::F32, 0.5)?);
    let rounded = b.plain("Add", &[exact, half])?;
    let rounded = b.plain("Floor", &[rounded])?;
    b.convert(rounded, ElementType::I64)
}
