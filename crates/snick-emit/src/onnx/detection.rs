//! Boxes, regions, and what is read at places between pixels.

use snick_ir::ops::detection::roi_pooling::RoiPoolingMethod;
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, float, int, ints, text};
use super::row::OpRow;
use super::types::{FLOATS, FLOATS_TO_32_BITS};
use crate::layer::op;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Col2Im(_) => OpRow::new(columns_to_image).lacks(FLOATS_TO_32_BITS),
        Op::DeformableConvolution(_) => OpRow::new(deformable_convolution).lacks(FLOATS),
        Op::GridSample(_) => OpRow::new(grid_sample).lacks(FLOATS),
        Op::NonMaxSuppression(_) => OpRow::new(non_max_suppression),
        Op::RoiAlign(_) => OpRow::new(roi_align).lacks(FLOATS),
        Op::RoiPooling(_) => OpRow::new(roi_pooling).lacks(FLOATS_TO_32_BITS),
        _ => return None,
    })
}

fn grid_sample(e: &mut Emitter) -> Result {
    let mode = match e.word("mode")?.as_str() {
        "nearest" => "nearest",
        "bicubic" => "cubic",
        _ => "linear",
    };
    let padding = match e.word("padding_mode")?.as_str() {
        "border" => "border",
        "reflection" => "reflection",
        _ => "zeros",
    };
    let attrs = vec![
        text("mode", mode),
        text("padding_mode", padding),
        int("align_corners", e.flag("align_corners")?.into()),
    ];
    e.last("GridSample", &e.inputs(), attrs)
}

/// Rows of batch, class and box, in ONNX by falling score within a class; the layer may have them so over all.
fn non_max_suppression(e: &mut Emitter) -> Result {
    if e.outputs().len() < 3 {
        return Err(OpError::unsupported("rows filled up with -1"));
    }
    if e.len() > 5 && e.fixed_float(5, "the soft threshold")? != 0.0 {
        return Err(OpError::unsupported("a soft threshold"));
    }
    let target = e.attrs.element_type("output_type")?.unwrap_or(ElementType::I64);
    let real = |e: &mut Emitter, i| e.cast(e.input(i)?, e.element_type(i)?, ElementType::F32);
    let mut inputs = vec![real(e, 0)?, real(e, 1)?];
    let scores = inputs[1].clone();
    if e.len() > 2 {
        let most = e.input_i64(2)?;
        // Thresholds that are missing are 0; in ONNX every score is above one that is missing.
        let score = if e.len() > 4 { real(e, 4)? } else { e.number(ElementType::F32, 0.0)? };
        for limit in [most, overlap_limit(e)?, score] {
            inputs.push(e.reshaped(&limit, &[1])?);
        }
    }
    let encoding = int("center_point_box", i64::from(e.word("box_encoding")? == "center"));
    let mut rows = e.node("NonMaxSuppression", &inputs, vec![encoding]);
    let mut best = e.node("GatherND", &[&scores, &rows], vec![]);
    if e.attrs.bool("sort_result_descending")?.unwrap_or(true) {
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
    e.last_port(0, "Cast", &[rows], Emitter::to(target)?)?;
    e.last_port(1, "Concat", &[places, best], vec![int("axis", 1)])?;
    e.last_port(2, "Cast", &[count], Emitter::to(target)?)
}

/// The IoU above which ONNX drops a box: the layer drops it at its threshold, too, so it is the number before that.
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

fn roi_align(e: &mut Emitter) -> Result {
    let mode = match e.word("mode")?.as_str() {
        "avg" => "avg",
        other => return Err(OpError::unsupported(format!("mode `{other}`"))),
    };
    let aligned = match e.word("aligned_mode")?.as_str() {
        "" | "asymmetric" => "output_half_pixel",
        "half_pixel_for_nn" => "half_pixel",
        other => return Err(OpError::unsupported(format!("aligned_mode `{other}`"))),
    };
    let attrs = vec![
        text("mode", mode),
        text("coordinate_transformation_mode", aligned),
        int("output_height", e.int("pooled_h")?),
        int("output_width", e.int("pooled_w")?),
        int("sampling_ratio", e.int("sampling_ratio")?),
        float("spatial_scale", e.attrs.float("spatial_scale")?.unwrap_or(1.0)),
    ];
    let inputs = [e.input(0)?, e.input(1)?, e.input_i64(2)?];
    e.last("RoiAlign", &inputs, attrs)
}

fn roi_pooling(e: &mut Emitter) -> Result {
    let op = op!(e, RoiPooling);
    if op.method == RoiPoolingMethod::Bilinear {
        return Err(OpError::unsupported("bilinear pooling of regions"));
    }
    let pooled = op.pooled_size()?.map(|size| size as i64).to_vec();
    let attrs = vec![ints("pooled_shape", pooled), float("spatial_scale", op.spatial_scale)];
    e.last("MaxRoiPool", &e.inputs(), attrs)
}

/// Strides, dilations and pads of two axes.
fn window(e: &Emitter) -> Result<Vec<snick_onnx::Attribute>, OpError> {
    let list = |name: &'static str, default: i64| {
        Ok::<_, OpError>(match e.ints(name)? {
            list if list.is_empty() => vec![default; 2],
            list => list,
        })
    };
    let pads = [list("pads_begin", 0)?, list("pads_end", 0)?].concat();
    Ok(vec![
        ints("strides", list("strides", 1)?),
        ints("dilations", list("dilations", 1)?),
        ints("pads", pads),
    ])
}

fn columns_to_image(e: &mut Emitter) -> Result {
    let attrs = window(e)?;
    let inputs = [e.input(0)?, e.input_i64(1)?, e.input_i64(2)?];
    if e.rank(0)? != 2 {
        return e.last("Col2Im", &inputs, attrs);
    }
    // ONNX has batches of columns only.
    let [columns, image, kernel] = inputs;
    let columns = e.unsqueezed(&columns, &[0])?;
    let images = e.node("Col2Im", &[columns, image, kernel], attrs);
    let axes = e.vector(&[0])?;
    e.last("Squeeze", &[images, axes], vec![])
}

/// ONNX fades out at the edges, as the later definition may.
fn deformable_convolution(e: &mut Emitter) -> Result {
    if !e.flag("bilinear_interpolation_pad")? || e.word("auto_pad")?.starts_with("same") {
        return Err(OpError::unsupported("edges cut off, or padding to the same size"));
    }
    let mut attrs = window(e)?;
    attrs.push(int("group", e.attrs.int("group")?.unwrap_or(1)));
    attrs.push(int("offset_group", e.attrs.int("deformable_group")?.unwrap_or(1)));
    let mut inputs = vec![e.input(0)?, e.input(2)?, e.input(1)?];
    if e.len() > 3 {
        inputs.extend([String::new(), e.input(3)?]);
    }
    e.last("DeformConv", &inputs, attrs)
}
