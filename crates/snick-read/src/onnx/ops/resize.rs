//! Resize and Upsample.
//!
//! The Interpolate of the IR rounds sizes and ties differently, and skips axes whose size does not change. If
//! the result could differ for data of some size, other layers are used instead.

use snick_ir::ops::Round;
use snick_ir::ops::nn::interpolate::{Interpolate, Mode, OutputSize, ShapeCalculation};
use snick_ir::{
    AttrValue, CoordinateTransformation, Op, OpError, Resampling, ResizeKernel, ResizeRules, ResizeTarget,
    Value,
};
use snick_shape::Interval;
use snick_tensor::kernels::{Coordinates, Nearest, ReduceOp};
use snick_tensor::{ElementType, Tensor};

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Resize", &[10, 11, 13, 18, 19], resize).attrs(
        "antialias axes coordinate_transformation_mode cubic_coeff_a \
             exclude_outside extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
    ),
    one("Upsample", &[7, 9], upsample).attrs("mode scales"),
];

/// The form in which the output sizes are given, with an entry for each axis.
#[derive(Copy, Clone)]
enum ResizeBy {
    Scales(Value),
    Sizes(Value),
    /// Scales all axes by the smallest or largest ratio between these sizes and the sizes of the input.
    AspectRatio(Value, ReduceOp),
}

fn upsample(b: &mut NodeBuilder) -> Result {
    let scales = match b.attrs.get("scales") {
        Some(AttrValue::Floats(scales)) => {
            let scales: Vec<f32> = scales.iter().map(|&s| s as f32).collect();
            b.constant(Tensor::from_vec(&[scales.len()], scales)?)?
        }
        _ => b.input(1)?,
    };
    first(b, scales)
}

/// Adds a Resize. Inputs: data, region of interest, scales, and sizes.
fn resize(b: &mut NodeBuilder) -> Result {
    if b.since < 11 {
        let scales = b.input(1)?;
        return first(b, scales);
    }
    let transformation = b.choice(
        "coordinate_transformation_mode",
        &[
            ("half_pixel", CoordinateTransformation::HalfPixel),
            ("pytorch_half_pixel", CoordinateTransformation::PytorchHalfPixel),
            ("asymmetric", CoordinateTransformation::Asymmetric),
            ("align_corners", CoordinateTransformation::AlignCorners),
            ("tf_half_pixel_for_nn", CoordinateTransformation::TfHalfPixelForNn),
            ("half_pixel_symmetric", CoordinateTransformation::HalfPixelSymmetric),
            ("tf_crop_and_resize", CoordinateTransformation::Crop),
        ],
    )?;
    let nearest = b.choice(
        "nearest_mode",
        &[
            ("round_prefer_floor", Nearest::RoundPreferFloor),
            ("round_prefer_ceil", Nearest::RoundPreferCeil),
            ("floor", Nearest::Floor),
            ("ceil", Nearest::Ceil),
        ],
    )?;
    let sampling = Resampling {
        transformation,
        kernel: kernel(b, nearest)?,
        antialias: b.flag_attr("antialias", false)?,
        exclude_outside: b.flag_attr("exclude_outside", false)?,
        extrapolation: b.float_attr("extrapolation_value", 0.0)?,
        unless: None,
        rules: ResizeRules::Onnx,
    };
    let (axes, sizes) = (b.ints_attr("axes")?, sizes(b)?);
    resampled(b, axes.as_deref(), sizes, sampling)
}

/// Adds an Upsample or Resize-10. Their specification gives no formula for coordinates. Here, nearest mode
/// rounds up along axes that shrink and down along axes that grow. If no size changes, ONNX Runtime copies
/// the data.
fn first(b: &mut NodeBuilder, scales: Value) -> Result {
    let known = b.constant_value(scales).and_then(|scales| scales.to_f32_vec().ok());
    let nearest = match known {
        Some(scales) if scales.iter().all(|&scale| scale >= 1.0) => Nearest::Floor,
        Some(scales) if scales.iter().all(|&scale| scale <= 1.0) => Nearest::Ceil,
        _ => Nearest::Simple,
    };
    let sampling = Resampling {
        transformation: CoordinateTransformation::Asymmetric,
        kernel: kernel(b, nearest)?,
        antialias: false,
        exclude_outside: false,
        extrapolation: 0.0,
        unless: None,
        rules: ResizeRules::Onnx,
    };
    resampled(b, None, ResizeBy::Scales(scales), sampling)
}

fn kernel(b: &NodeBuilder, nearest: Nearest) -> Result<ResizeKernel> {
    match b.text_attr("mode", "nearest")? {
        "nearest" => Ok(ResizeKernel::Nearest(nearest)),
        "linear" | "bilinear" => Ok(ResizeKernel::Linear),
        "cubic" => Ok(ResizeKernel::Cubic(b.float_attr("cubic_coeff_a", -0.75)?)),
        other => Err(OpError::unsupported(format!("mode `{other}`"))),
    }
}

fn sizes(b: &NodeBuilder) -> Result<ResizeBy> {
    // An input that is an empty constant also counts as omitted.
    let given = |i: usize| b.optional(i).filter(|&v| b.dims(v).is_none_or(|dims| !dims.contains(&0)));
    let (scales, sizes) = (given(2), given(3));
    let pick = b.choice(
        "keep_aspect_ratio_policy",
        &[("stretch", None), ("not_larger", Some(ReduceOp::Min)), ("not_smaller", Some(ReduceOp::Max))],
    )?;
    match (scales, sizes, pick) {
        (Some(scales), None, _) => Ok(ResizeBy::Scales(scales)),
        (None, Some(sizes), None) => Ok(ResizeBy::Sizes(sizes)),
        (None, Some(sizes), Some(pick)) => Ok(ResizeBy::AspectRatio(sizes, pick)),
        _ => Err(OpError::mismatch("the inputs", "both or neither of scales and sizes", "one of them")),
    }
}

/// Adds a single Interpolate if it has the same result for data of any size. Otherwise, resizes one axis
/// after another with other layers.
fn resampled(b: &mut NodeBuilder, axes: Option<&[i64]>, by: ResizeBy, mut sampling: Resampling) -> Result {
    let x = b.input(0)?;
    if let Some((op, target)) = interpolation(b, by, &sampling) {
        return interpolate(b, x, op, target, axes);
    }
    if let ResizeBy::Scales(scales) = by
        && b.since < 11
    {
        sampling.unless = Some(no_size_changes(b, x, scales)?);
    }
    let element_type = b.element_type(x)?;
    let is_nearest = matches!(sampling.kernel, ResizeKernel::Nearest(_));
    let is_computed = !is_nearest && element_type != ElementType::F64;
    let mut y = if is_computed { b.convert(x, ElementType::F32)? } else { x };
    let rank = b.rank(x)?;
    let axes = match axes {
        Some(axes) => axes.iter().map(|&axis| b.axis(axis, rank)).collect::<Result<Vec<_>>>()?,
        None => (0..rank).collect(),
    };
    let ratio = match by {
        ResizeBy::AspectRatio(sizes, pick) => Some(common_ratio(b, x, sizes, &axes, pick)?),
        _ => None,
    };
    let known = match by {
        ResizeBy::Scales(scales) => b.constant_value(scales).and_then(|scales| scales.to_f32_vec().ok()),
        _ => None,
    };
    let region = b.optional(1).filter(|_| sampling.transformation == CoordinateTransformation::Crop);
    for (i, &axis) in axes.iter().enumerate() {
        let is_same = known.as_ref().and_then(|scales| scales.get(i)) == Some(&1.0);
        if is_same && region.is_none() {
            continue;
        }
        let target = match (by, ratio) {
            (_, Some(ratio)) => ResizeTarget::Ratio(ratio),
            (ResizeBy::Scales(scales), _) => ResizeTarget::Scale(nth(b, scales, i)?),
            (ResizeBy::Sizes(sizes) | ResizeBy::AspectRatio(sizes, _), _) => {
                ResizeTarget::Size(nth(b, sizes, i)?)
            }
        };
        let region = match region {
            Some(region) => Some([nth(b, region, i)?, nth(b, region, i + axes.len())?]),
            None => None,
        };
        y = sampling.resize(b, y, axis, target, region)?;
    }
    if is_computed && let Some((low, high)) = element_type.integer_range() {
        y = b.add_op(Round::default(), &[y])?;
        y = b.clamp(y, low as f64, high as f64)?;
    }
    b.convert(y, element_type)
}

/// Interpolates only over the axes whose size changes, because in cubic mode the OpenVINO runtime resizes at
/// most two listed axes.
fn interpolate(
    b: &mut NodeBuilder,
    x: Value,
    op: Interpolate,
    target: Value,
    axes: Option<&[i64]>,
) -> Result {
    let is_one = |scale: &f32| *scale == 1.0;
    let mut axes = axes.map(<[i64]>::to_vec);
    let mut target = target;
    let known =
        b.constant_value(target).filter(|_| op.by_scales()).and_then(|scales| scales.to_f32_vec().ok());
    if let Some(scales) = known.filter(|scales| scales.iter().any(is_one)) {
        let listed = axes.unwrap_or_else(|| (0..scales.len() as i64).collect());
        let entries = listed.into_iter().zip(scales).filter(|(_, scale)| !is_one(scale));
        let (listed, scales): (Vec<i64>, Vec<f32>) = entries.unzip();
        if listed.is_empty() {
            return Ok(x);
        }
        target = b.constant(Tensor::from_vec(&[scales.len()], scales)?)?;
        axes = Some(listed);
    }
    let element_type = if op.by_scales() { ElementType::F32 } else { ElementType::I64 };
    let mut inputs = vec![x, b.convert(target, element_type)?];
    if let Some(mut axes) = axes {
        // The OpenVINO runtime rejects negative axes.
        if let Ok(rank) = b.rank(x) {
            axes.iter_mut().try_for_each(|axis| b.axis(*axis, rank).map(|found| *axis = found as i64))?;
        }
        inputs.push(b.ints(&axes)?);
    }
    b.add_op(Op::Interpolate(Box::new(op)), &inputs)
}

/// The Interpolate that has the same result for data of any size, and its input of scales or sizes. `None` if
/// no Interpolate has the same result.
fn interpolation(b: &NodeBuilder, by: ResizeBy, sampling: &Resampling) -> Option<(Interpolate, Value)> {
    let coordinates = match sampling.transformation {
        CoordinateTransformation::AlignCorners => Coordinates::AlignCorners,
        CoordinateTransformation::Asymmetric => Coordinates::Asymmetric,
        CoordinateTransformation::HalfPixel => Coordinates::HalfPixel,
        CoordinateTransformation::PytorchHalfPixel => Coordinates::PytorchHalfPixel,
        CoordinateTransformation::TfHalfPixelForNn => Coordinates::TfHalfPixelForNn,
        CoordinateTransformation::HalfPixelSymmetric | CoordinateTransformation::Crop => return None,
    };
    let (mode, nearest_mode) = match sampling.kernel {
        ResizeKernel::Nearest(nearest) => (Mode::Nearest, nearest),
        ResizeKernel::Linear => (Mode::LinearOnnx, Nearest::RoundPreferFloor),
        ResizeKernel::Cubic(_) => (Mode::Cubic, Nearest::RoundPreferFloor),
    };
    // In nearest mode, `antialias` and `exclude_outside` have no effect, because there are no weights.
    if mode != Mode::Nearest && (sampling.antialias || sampling.exclude_outside) {
        return None;
    }
    let mut op = Interpolate {
        mode,
        coordinate_transformation_mode: coordinates,
        nearest_mode,
        ..Interpolate::default()
    };
    if let ResizeKernel::Cubic(coefficient) = sampling.kernel {
        op.cube_coeff = coefficient;
    }
    match by {
        ResizeBy::Scales(scales) => {
            op.shape_calculation_mode = ShapeCalculation::Scales;
            let known = b.constant_value(scales)?.to_f32_vec().ok()?;
            let is_same = |&scale: &f32| op.equals_onnx_resize(Interval::DIM, OutputSize::FromScale(scale));
            known.iter().all(is_same).then_some((op, scales))
        }
        ResizeBy::Sizes(sizes) => {
            op.equals_onnx_resize(Interval::DIM, OutputSize::Within(Interval::DIM)).then_some((op, sizes))
        }
        ResizeBy::AspectRatio(..) => None,
    }
}

/// Computes whether scales leave all sizes unchanged.
fn no_size_changes(b: &mut NodeBuilder, x: Value, scales: Value) -> Result {
    let sizes = b.shape_of(x)?;
    let sizes = b.convert(sizes, ElementType::F32)?;
    let scaled = b.multiply(sizes, scales)?;
    let scaled = b.floor(scaled)?;
    let same = b.equal(scaled, sizes)?;
    b.reduce_logical_and(same, &[0], false)
}

/// The smallest or largest ratio between the given sizes and the sizes of the input.
fn common_ratio(b: &mut NodeBuilder, x: Value, sizes: Value, axes: &[usize], pick: ReduceOp) -> Result {
    let axes: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    let (have, axes) = (b.shape_of(x)?, b.ints(&axes)?);
    let have = b.gather(have, axes, 0)?;
    let (sizes, have) = (b.convert(sizes, ElementType::F32)?, b.convert(have, ElementType::F32)?);
    let ratios = b.divide(sizes, have)?;
    b.reduce(pick, ratios, &[0], false)
}

/// Extracts an element of a vector as an f32 scalar.
fn nth(b: &mut NodeBuilder, vector: Value, i: usize) -> Result {
    let i = i as i64;
    let part = b.slice_range(vector, 0, i, i + 1)?;
    let part = b.to_scalar(part)?;
    b.convert(part, ElementType::F32)
}
