//! Resize and Upsample.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;
use snick_tensor::kernels::ReduceOp;

use super::resample::{Coordinates, Kernel, Sampling, Target, resampled};
use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] =
    &[one("Resize", &[10, 11, 13, 18, 19], resize), one("Upsample", &[7, 9], upsample)];

fn mode(b: &NodeBuilder) -> Result<&'static str, OpError> {
    match b.text_attr("mode", "nearest")? {
        "nearest" => Ok("nearest"),
        "linear" | "bilinear" => Ok("linear_onnx"),
        "cubic" => Ok("cubic"),
        other => Err(OpError::unsupported(format!("mode `{other}`"))),
    }
}

/// The coordinates and rounding of Upsample and of Resize-10.
fn first_attrs(b: &NodeBuilder) -> Result<Attrs<'static>, OpError> {
    let attrs = Attrs::new().with("mode", mode(b)?).with("shape_calculation_mode", "scales");
    Ok(attrs.with("coordinate_transformation_mode", "asymmetric").with("nearest_mode", "floor"))
}

fn upsample(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let scales = match b.attrs.get("scales") {
        Some(snick_ir::AttrValue::Floats(scales)) => {
            let scales: Vec<f32> = scales.iter().map(|&s| s as f32).collect();
            b.constant(snick_tensor::Tensor::from_vec(&[scales.len()], scales)?)?
        }
        _ => b.input(1)?,
    };
    b.ir_op("Interpolate", first_attrs(b)?, &[x, scales])
}

/// Inputs: data, region of interest, and scales or sizes.
fn resize(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    if b.since < 11 {
        let scales = b.input(1)?;
        return b.ir_op("Interpolate", first_attrs(b)?, &[x, scales]);
    }
    let coordinates = match b.text_attr("coordinate_transformation_mode", "half_pixel")? {
        "half_pixel" => ("half_pixel", Coordinates::HalfPixel),
        "pytorch_half_pixel" => ("pytorch_half_pixel", Coordinates::PytorchHalfPixel),
        "asymmetric" => ("asymmetric", Coordinates::Asymmetric),
        "align_corners" => ("align_corners", Coordinates::AlignCorners),
        "tf_half_pixel_for_nn" => ("tf_half_pixel_for_nn", Coordinates::HalfPixel),
        "half_pixel_symmetric" => ("", Coordinates::HalfPixelSymmetric),
        "tf_crop_and_resize" => ("", Coordinates::Crop),
        other => return Err(OpError::unsupported(format!("coordinate_transformation_mode `{other}`"))),
    };
    let nearest = b.choice(
        "nearest_mode",
        &[
            ("round_prefer_floor", "round_prefer_floor"),
            ("round_prefer_ceil", "round_prefer_ceil"),
            ("floor", "floor"),
            ("ceil", "ceil"),
        ],
    )?;
    let (mode, coefficient) = (mode(b)?, b.float_attr("cubic_coeff_a", -0.75)?);
    let axes = b.ints_attr("axes")?;
    let (target, is_scales) = target(b, x, axes.as_deref())?;
    let (antialias, exclude_outside) =
        (b.flag_attr("antialias", false)?, b.flag_attr("exclude_outside", false)?);
    // Nearest neighbours have no weights to widen or exclude.
    let weighted = mode != "nearest" && (antialias || exclude_outside);
    if coordinates.0.is_empty() || weighted {
        let kernel = match mode {
            "nearest" => Kernel::Nearest(nearest),
            "cubic" => Kernel::Cubic(coefficient),
            _ => Kernel::Linear,
        };
        let extrapolation = b.float_attr("extrapolation_value", 0.0)?;
        let coordinates = coordinates.1;
        let sampling = Sampling { coordinates, kernel, antialias, exclude_outside, extrapolation };
        let axes = match axes {
            Some(axes) => axes,
            None => (0..b.rank(x)? as i64).collect(),
        };
        let region = b.optional(1).filter(|_| coordinates == Coordinates::Crop);
        let target = if is_scales { Target::Scales(target) } else { Target::Sizes(target) };
        return resampled(b, x, &axes, target, region, sampling);
    }
    let attrs = Attrs::new().with("mode", mode).with("coordinate_transformation_mode", coordinates.0);
    let attrs = attrs.with("nearest_mode", nearest).with("cube_coeff", coefficient);
    let attrs = attrs.with("shape_calculation_mode", if is_scales { "scales" } else { "sizes" });
    let mut inputs = vec![x, target];
    if let Some(axes) = axes {
        inputs.push(b.ints(&axes)?);
    }
    b.ir_op("Interpolate", attrs, &inputs)
}

/// The scales or sizes of the node, and whether they are scales.
fn target(b: &mut NodeBuilder, x: Value, axes: Option<&[i64]>) -> Result<(Value, bool), OpError> {
    // An empty constant also means an omitted input.
    let given = |i: usize| b.optional(i).filter(|&v| b.dims(v).is_none_or(|dims| !dims.contains(&0)));
    let (scales, sizes) = (given(2), given(3));
    let pick = b.choice(
        "keep_aspect_ratio_policy",
        &[("stretch", None), ("not_larger", Some(ReduceOp::Min)), ("not_smaller", Some(ReduceOp::Max))],
    )?;
    match (scales, sizes, pick) {
        (Some(scales), None, _) => Ok((scales, true)),
        (None, Some(sizes), None) => Ok((b.convert(sizes, ElementType::I64)?, false)),
        (None, Some(sizes), Some(pick)) => Ok((kept_in_proportion(b, x, sizes, axes, pick)?, false)),
        _ => Err(OpError::mismatch("the inputs", "both or neither of scales and sizes", "one of them")),
    }
}

/// Sizes that keep the aspect ratio of the data: all are scaled by the minimum or maximum ratio.
fn kept_in_proportion(
    b: &mut NodeBuilder,
    x: Value,
    sizes: Value,
    axes: Option<&[i64]>,
    pick: ReduceOp,
) -> Result {
    let mut have = b.shape_of(x)?;
    if let Some(axes) = axes {
        let axes = b.ints(axes)?;
        have = b.gather(have, axes, 0)?;
    }
    let (sizes, have) = (b.convert(sizes, ElementType::F32)?, b.convert(have, ElementType::F32)?);
    let ratios = b.divide(sizes, have)?;
    let ratio = b.reduce(pick, ratios, &[0], true)?;
    let exact = b.multiply(have, ratio)?;
    let rounded = b.add(exact, 0.5)?;
    let rounded = b.floor(rounded)?;
    b.convert(rounded, ElementType::I64)
}
