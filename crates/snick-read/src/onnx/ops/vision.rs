//! Images, boxes and regions.

use snick_ir::{Attrs, OpError, Value, ops};
use snick_tensor::ElementType;

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result, list};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("AffineGrid", &[20], affine_grid).attrs("align_corners"),
    one("CenterCropPad", &[18], center_crop_pad).attrs("axes"),
    one("Col2Im", &[18], columns_to_image).attrs("dilations pads strides"),
    one("DeformConv", &[19, 22], deformable_convolution)
        .attrs("dilations group offset_group pads strides")
        .ignores("kernel_shape"),
    one("MaxRoiPool", &[1, 22], max_roi_pool).attrs("pooled_shape spatial_scale"),
    one("NonMaxSuppression", &[10, 11], non_max_suppression).attrs("center_point_box"),
    one("RoiAlign", &[10, 16, 22], roi_align).attrs(
        "coordinate_transformation_mode mode output_height output_width \
             sampling_ratio spatial_scale",
    ),
];

/// The input position of each output pixel: `theta` times the homogeneous coordinates of the pixel, which are
/// in -1..1.
fn affine_grid(b: &mut NodeBuilder) -> Result {
    let (theta, size) = (b.input(0)?, b.input(1)?);
    let spatial = match b.dims(size).as_deref() {
        Some([4]) => 2i64,
        Some([5]) => 3,
        _ => return Err(OpError::unsupported("a grid of unknown rank")),
    };
    let corners = b.flag_attr("align_corners", false)?;
    let real = b.element_type(theta)?;
    let sizes = b.slice_range(size, 0, 2, i64::MAX)?;
    let unit = b.scalar(real, 1.0)?;
    let mut axes = Vec::new();
    for axis in (0..spatial).rev() {
        let size = b.slice_range(sizes, 0, axis, axis + 1)?;
        let count = b.count_to(size)?;
        let (count, size) = (b.convert(count, real)?, b.convert(size, real)?);
        // Coordinates range from edge to edge, or from the centre of the first pixel to the centre of the
        // last one.
        let (places, width) = if corners {
            (count, b.subtract(size, unit)?)
        } else {
            let half = b.scalar(real, 0.5)?;
            (b.add(count, half)?, size)
        };
        let places = b.multiply(places, 2.0)?;
        let places = b.divide(places, width)?;
        let places = b.subtract(places, unit)?;
        let mut form = vec![1; spatial as usize];
        form[axis as usize] = -1;
        let places = b.reshape(places, &form)?;
        axes.push(b.broadcast_to(places, sizes)?);
    }
    axes.push(b.broadcast_to(unit, sizes)?);
    for axis in &mut axes {
        *axis = b.unsqueeze(*axis, &[-1])?;
    }
    let places = b.concat(-1, &axes)?;
    let places = b.reshape(places, &[-1, spatial + 1])?;
    let grid = b.matmul_transposed(places, theta)?;
    let (batch, last) = (b.size_of(theta, 0)?, b.ints(&[spatial])?);
    let target = b.concat(0, &[batch, sizes, last])?;
    b.reshape_to(grid, target)
}

/// Crops or pads on both sides. If the difference in size is odd, the smaller part comes first.
fn center_crop_pad(b: &mut NodeBuilder) -> Result {
    let (x, target) = (b.input(0)?, b.input(1)?);
    let axes = match b.ints_attr("axes")? {
        Some(axes) => axes,
        None => (0..).take(b.rank(x)?).collect(),
    };
    let (shape, axes) = (b.shape_of(x)?, b.ints(&axes)?);
    let target = b.convert(target, ElementType::I64)?;
    let (zero, two) = (b.int(0)?, b.int(2)?);
    let sizes = b.gather(shape, axes, 0)?;
    let half = |b: &mut NodeBuilder, from: Value, less: Value| {
        let rest = b.subtract(from, less)?;
        let rest = b.maximum(rest, zero)?;
        Ok::<_, OpError>((rest, b.divide(rest, two)?))
    };
    let (_, start) = half(b, sizes, target)?;
    let stop = b.add(start, target)?;
    let (units, form) = (b.int(1)?, b.shape_of(axes)?);
    let steps = b.broadcast_to(units, form)?;
    let cut = b.add_op(ops::Slice8, &[x, start, stop, steps, axes])?;
    let (more, before) = half(b, target, sizes)?;
    let after = b.subtract(more, before)?;
    let rank = b.rank(x)?;
    let none = b.ints(&vec![0; rank])?;
    let scatter = |b: &mut NodeBuilder, pads| b.scatter_elements(none, axes, pads, 0);
    let (before, after) = (scatter(b, before)?, scatter(b, after)?);
    let nothing = b.scalar_like(x, 0.0)?;
    b.pad_by(cut, before, after, nothing)
}

/// The attributes of a window over `count` axes, and the pads before and after each axis.
fn window(b: &NodeBuilder, count: usize) -> Result<Attrs<'static>, OpError> {
    let numbers = |name: &'static str, default: i64, count: usize| match b.ints_attr(name)? {
        None => Ok(vec![default; count]),
        Some(numbers) if numbers.len() == count => Ok(numbers),
        Some(_) => Err(b.attrs.bad(name, &format!("{count} numbers"))),
    };
    let mut begin = numbers("pads", 0, 2 * count)?;
    let end = begin.split_off(count);
    let attrs = Attrs::new().with("strides", list(&numbers("strides", 1, count)?));
    let attrs = attrs.with("dilations", list(&numbers("dilations", 1, count)?));
    Ok(attrs.with("pads_begin", list(&begin)).with("pads_end", list(&end)))
}

/// Adds a Col2Im. Each column contains a block of the image. The columns are added up at the positions of
/// their blocks.
fn columns_to_image(b: &mut NodeBuilder) -> Result {
    let (x, image, block) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let spatial = [image, block].into_iter().find_map(|sizes| b.dims(sizes)).and_then(|d| d.first().copied());
    let spatial = spatial.ok_or_else(|| OpError::unsupported("an image of unknown rank"))?;
    let attrs = window(b, spatial)?;
    match spatial {
        2 => b.ir_op("Col2Im", attrs, &[x, image, block]),
        1 | 3 => columns_by_convolution(b, [x, image, block], attrs),
        _ => Err(OpError::unsupported(format!("an image of {spatial} axes"))),
    }
}

/// Adds up the columns with a transposed convolution. Each of its filters contains a 1 at a different
/// position of the block.
fn columns_by_convolution(
    b: &mut NodeBuilder,
    [x, image, block]: [Value; 3],
    attrs: Attrs<'static>,
) -> Result {
    let list = |name| attrs.ints(name).map(|list| list.unwrap_or_default().to_vec());
    let (strides, dilations) = (b.ints(&list("strides")?)?, b.ints(&list("dilations")?)?);
    let (begin, end) = (b.ints(&list("pads_begin")?)?, b.ints(&list("pads_end")?)?);
    let (image, block) = (b.convert(image, ElementType::I64)?, b.convert(block, ElementType::I64)?);
    let (one, minus, zero) = (b.ints(&[1])?, b.ints(&[-1])?, b.ints(&[0])?);
    // The number of blocks along each axis.
    let reach = b.subtract(block, one)?;
    let reach = b.multiply(reach, dilations)?;
    let mut rest = b.subtract(image, reach)?;
    for (op_type, amount) in [("Add", begin), ("Add", end), ("Subtract", one)] {
        rest = b.ir_op(op_type, Attrs::new(), &[rest, amount])?;
    }
    let count = b.divide(rest, strides)?;
    let count = b.add(count, one)?;
    let taps = b.reduce_prod(block, &[0], true)?;
    let sizes = b.concat(0, &[minus, taps, count])?;
    let columns = b.reshape_to(x, sizes)?;
    let (all, diagonal) = (b.to_scalar(taps)?, b.int(0)?);
    let element_type = b.element_type(x)?;
    let filters = b.add_op(ops::Eye { output_type: element_type }, &[all, all, diagonal])?;
    let form = b.concat(0, &[taps, one, block])?;
    let filters = b.reshape_to(filters, form)?;
    let y = b.ir_op("ConvolutionBackpropData", attrs, &[columns, filters])?;
    // Elements at the end of each axis that no block covers are 0.
    let shape = b.shape_of(y)?;
    let have = b.slice_range(shape, 0, 2, i64::MAX)?;
    let missing = b.subtract(image, have)?;
    let more = b.concat(0, &[zero, zero, missing])?;
    let rank = b.rank(y)?;
    let none = b.ints(&vec![0; rank])?;
    let nothing = b.scalar_like(x, 0.0)?;
    let y = b.pad_by(y, none, more, nothing)?;
    let batch = b.size_of(x, 0)?;
    let sizes = b.concat(0, &[batch, minus, image])?;
    b.reshape_to(y, sizes)
}

fn deformable_convolution(b: &mut NodeBuilder) -> Result {
    let (x, filters, offsets) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let attrs = window(b, 2)?.with("group", b.int_attr("group", 1)?).with("auto_pad", "explicit");
    let attrs = attrs.with("deformable_group", b.int_attr("offset_group", 1)?);
    let mut inputs = vec![x, offsets, filters];
    inputs.extend(b.optional(4));
    let y = b.ir_op("DeformableConvolution", attrs.with("bilinear_interpolation_pad", true), &inputs)?;
    match b.optional(3) {
        Some(bias) => {
            let bias = super::normalization::along_channels(b, bias, 4)?;
            b.add(y, bias)
        }
        None => Ok(y),
    }
}

fn max_roi_pool(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let pooled = b.ints_attr("pooled_shape")?.ok_or(OpError::MissingAttribute { name: "pooled_shape" })?;
    let &[height, width] = pooled.as_slice() else { return Err(b.attrs.bad("pooled_shape", "two sizes")) };
    let attrs = Attrs::new().with("pooled_h", height).with("pooled_w", width).with("method", "max");
    b.ir_op("ROIPooling", attrs.with("spatial_scale", b.float_attr("spatial_scale", 1.0)?), &inputs)
}

/// Adds a NonMaxSuppression, whose output rows contain batch, class and box. Without a minimum score, no box
/// is dropped because of its score.
fn non_max_suppression(b: &mut NodeBuilder) -> Result {
    let mut inputs = vec![b.input(0)?, b.input(1)?];
    let defaults =
        [(ElementType::I64, 0.0), (ElementType::F32, 0.0), (ElementType::F32, f64::from(f32::MIN))];
    for (i, (element_type, default)) in defaults.into_iter().enumerate() {
        inputs.push(match b.optional(2 + i) {
            Some(value) => b.to_scalar(value)?,
            None => b.scalar(element_type, default)?,
        });
    }
    // ONNX drops boxes whose overlap exceeds the limit, whereas the IR also drops boxes whose overlap equals
    // the limit. The limit is therefore raised to the next larger number.
    let limit = b.multiply(inputs[3], 1.0 + f64::from(f32::EPSILON))?;
    inputs[3] = b.add(limit, f64::from(f32::MIN_POSITIVE))?;
    let encoding = if b.flag_attr("center_point_box", false)? { "center" } else { "corner" };
    let attrs = Attrs::new().with("box_encoding", encoding).with("sort_result_descending", false);
    let values =
        b.ir_op_with_outputs("NonMaxSuppression", attrs.with("output_type", ElementType::I64), &inputs, 3)?;
    values.first().copied().ok_or(OpError::NotConnected { port: 0 })
}

fn roi_align(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let aligned = match b.text_attr("coordinate_transformation_mode", "half_pixel")? {
        _ if b.since < 16 => "asymmetric",
        "half_pixel" => "half_pixel_for_nn",
        "output_half_pixel" => "asymmetric",
        _ => return Err(b.attrs.bad("coordinate_transformation_mode", "half_pixel or output_half_pixel")),
    };
    // With `max`, ONNX selects the largest weighted pixel, whereas the IR selects the largest interpolated
    // value.
    let mode = match b.text_attr("mode", "avg")? {
        "avg" => "avg",
        other => return Err(OpError::unsupported(format!("mode `{other}`"))),
    };
    let attrs = Attrs::new().with("pooled_h", b.int_attr("output_height", 1)?);
    let attrs = attrs.with("pooled_w", b.int_attr("output_width", 1)?);
    let attrs = attrs.with("sampling_ratio", b.int_attr("sampling_ratio", 0)?);
    let attrs = attrs.with("spatial_scale", b.float_attr("spatial_scale", 1.0)?);
    b.ir_op("ROIAlign", attrs.with("mode", mode).with("aligned_mode", aligned), &inputs)
}
