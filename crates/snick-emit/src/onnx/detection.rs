//! Boxes, regions, and sampling at fractional positions.

use snick_ir::ops::detection::non_max_suppression::BoxEncoding;
use snick_ir::ops::detection::roi_align::{RoiAlignment, RoiPoolMode};
use snick_ir::ops::detection::roi_pooling::RoiPoolingMethod;
use snick_ir::ops::nn::grid_sample::Mode;
use snick_ir::ops::nn::window::Windows;
use snick_ir::ops::{Col2Im, DeformableConvolution, GridSample, NonMaxSuppression, RoiAlign, RoiPooling};
use snick_ir::{AttrWords, Op, OpError};
use snick_onnx::Attribute;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, float, int, ints, text};
use super::row::OpRow;
use super::types::{FLOATS, FLOATS_TO_32_BITS};
use super::windows::{pads, steps};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Col2Im(op) => OpRow::new(|e| columns_to_image(e, op)).lacks(FLOATS_TO_32_BITS),
        Op::DeformableConvolution(op) => OpRow::new(|e| deformable_convolution(e, op)).lacks(FLOATS),
        Op::GridSample(op) => OpRow::new(|e| grid_sample(e, op)).lacks(FLOATS),
        Op::NonMaxSuppression(op) => OpRow::new(|e| non_max_suppression(e, op)),
        Op::RoiAlign(op) => OpRow::new(|e| roi_align(e, op)).lacks(FLOATS),
        Op::RoiPooling(op) => OpRow::new(|e| roi_pooling(e, op)).lacks(FLOATS_TO_32_BITS),
        _ => return None,
    })
}

fn grid_sample(e: &mut Emitter, op: &GridSample) -> Result {
    let mode = match op.mode {
        Mode::Nearest => "nearest",
        // Opset 20 renamed the modes.
        Mode::Bicubic if e.is_older(20) => "bicubic",
        Mode::Bilinear if e.is_older(20) => "bilinear",
        Mode::Bicubic => "cubic",
        Mode::Bilinear => "linear",
    };
    let attrs = vec![
        text("mode", mode),
        text("padding_mode", op.padding_mode.word()),
        int("align_corners", op.align_corners.into()),
    ];
    e.last("GridSample", &e.inputs(), attrs)
}

/// ONNX returns rows of batch, class and box, ordered by descending score within each class. The layer may
/// instead require an order across all classes.
fn non_max_suppression(e: &mut Emitter, op: &NonMaxSuppression) -> Result {
    if e.outputs().len() < 3 {
        return Err(OpError::unsupported("rows filled up with -1"));
    }
    if e.len() > 5 && e.fixed_float(5, "the soft threshold")? != 0.0 {
        return Err(OpError::unsupported("a soft threshold"));
    }
    let target = op.output_type.element_type();
    let real = |e: &mut Emitter, i| e.cast(e.input(i)?, e.element_type(i)?, ElementType::F32);
    let mut inputs = vec![real(e, 0)?, real(e, 1)?];
    let scores = inputs[1].clone();
    if e.len() > 2 {
        let most = e.input_i64(2)?;
        // The default score threshold is 0 in OpenVINO and minus infinity in ONNX.
        let score = if e.len() > 4 { real(e, 4)? } else { e.number(ElementType::F32, 0.0)? };
        for limit in [most, overlap_limit(e)?, score] {
            inputs.push(e.reshaped(&limit, &[1])?);
        }
    }
    let encoding = int("center_point_box", i64::from(op.box_encoding == BoxEncoding::Center));
    let mut rows = e.node("NonMaxSuppression", &inputs, vec![encoding]);
    let mut best = e.node("GatherND", &[&scores, &rows], vec![]);
    if op.sort_result_descending {
        let count = e.shape(&best);
        let sorted = e.nodes("TopK", &[&best, &count], 2, vec![int("axis", 0)]);
        rows = e.node("Gather", &[&rows, &sorted[1]], vec![int("axis", 0)]);
        best = sorted[0].clone();
    }
    let scored = e.node.outs().get(1).map_or(ElementType::F32, |out| out.fact.element_type);
    let places = e.cut(&rows, 1, 0, 2)?;
    let places = e.cast(places, ElementType::I64, scored)?;
    let best = e.unsqueezed(&best, &[-1])?;
    let best = e.cast(best, ElementType::F32, scored)?;
    let count = e.size(&rows, 0)?;
    e.last_port(0, "Cast", &[rows], e.to(target)?)?;
    e.last_port(1, "Concat", &[places, best], vec![int("axis", 1)])?;
    e.last_port(2, "Cast", &[count], e.to(target)?)
}

/// The IoU threshold for ONNX. ONNX drops boxes above its threshold, whereas the layer also drops boxes
/// exactly at the threshold. Therefore ONNX gets the next smaller number.
fn overlap_limit(e: &mut Emitter) -> Result<String> {
    if e.len() <= 3 {
        return Err(OpError::unsupported("an IoU threshold of 0"));
    }
    match e.known_float(3).map(|threshold| threshold as f32) {
        Some(threshold) if threshold > 0.0 => e.number(ElementType::F32, f64::from(threshold.next_down())),
        Some(threshold) => Err(OpError::unsupported(format!("an IoU threshold of {threshold}"))),
        None => {
            let threshold = e.cast(e.input(3)?, e.element_type(3)?, ElementType::F32)?;
            let factor = e.number(ElementType::F32, f64::from(1f32.next_down()))?;
            Ok(e.node("Mul", &[threshold, factor], vec![]))
        }
    }
}

fn roi_align(e: &mut Emitter, op: &RoiAlign) -> Result {
    if op.mode != RoiPoolMode::Average {
        return Err(OpError::unsupported(format!("mode `{}`", op.mode.word())));
    }
    let aligned = match op.aligned_mode {
        RoiAlignment::Asymmetric => "output_half_pixel",
        RoiAlignment::HalfPixelForNn => "half_pixel",
        other => return Err(OpError::unsupported(format!("aligned_mode `{}`", other.word()))),
    };
    let regions = &op.regions;
    let attrs = vec![
        text("mode", "avg"),
        text("coordinate_transformation_mode", aligned),
        int("output_height", regions.pooled_h as i64),
        int("output_width", regions.pooled_w as i64),
        int("sampling_ratio", regions.sampling_ratio),
        float("spatial_scale", regions.spatial_scale),
    ];
    let inputs = [e.input(0)?, e.input(1)?, e.input_i64(2)?];
    e.last("RoiAlign", &inputs, attrs)
}

fn roi_pooling(e: &mut Emitter, op: &RoiPooling) -> Result {
    if op.method == RoiPoolingMethod::Bilinear {
        return Err(OpError::unsupported("bilinear pooling of regions"));
    }
    let pooled = op.pooled_size()?.map(|size| size as i64).to_vec();
    let attrs = vec![ints("pooled_shape", pooled), float("spatial_scale", op.spatial_scale)];
    e.last("MaxRoiPool", &e.inputs(), attrs)
}

/// The strides, dilations and pads along two axes, as attributes.
fn window(windows: &Windows) -> Result<Vec<Attribute>, OpError> {
    let mut attrs = steps(windows, 2);
    attrs.push(pads([0, 1].map(|i| windows.axis(i)).map(|axis| [axis.begin, axis.end]))?);
    Ok(attrs)
}

fn columns_to_image(e: &mut Emitter, op: &Col2Im) -> Result {
    let attrs = window(&op.windows())?;
    let inputs = [e.input(0)?, e.input_i64(1)?, e.input_i64(2)?];
    if e.rank(0)? != 2 {
        return e.last("Col2Im", &inputs, attrs);
    }
    // ONNX requires a batch axis.
    let [columns, image, kernel] = inputs;
    let columns = e.unsqueezed(&columns, &[0])?;
    let images = e.node("Col2Im", &[columns, image, kernel], attrs);
    let axes = e.vector(&[0])?;
    e.last("Squeeze", &[images, axes], vec![])
}

/// ONNX interpolates with zeros beyond the edges, as DeformableConvolution-8 does with
/// `bilinear_interpolation_pad`.
fn deformable_convolution(e: &mut Emitter, op: &DeformableConvolution) -> Result {
    let windows = op.sliding.windows();
    if !op.bilinear_interpolation_pad || windows.auto_pad.is_same() {
        return Err(OpError::unsupported("edges cut off, or padding to the same size"));
    }
    let mut attrs = window(&windows)?;
    attrs.extend([int("group", op.group), int("offset_group", op.deformable_group)]);
    let mut inputs = vec![e.input(0)?, e.input(2)?, e.input(1)?];
    if e.len() > 3 {
        inputs.extend([String::new(), e.input(3)?]);
    }
    e.last("DeformConv", &inputs, attrs)
}
