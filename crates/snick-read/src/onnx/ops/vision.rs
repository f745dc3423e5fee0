//! Images, boxes and what is read at places between pixels.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result, list};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("AffineGrid", &[20], affine_grid),
    one("CenterCropPad", &[18], center_crop_pad),
    one("Col2Im", &[18], columns_to_image),
    one("DeformConv", &[19, 22], deformable_convolution),
    one("MaxRoiPool", &[1, 22], max_roi_pool),
    one("NonMaxSuppression", &[10, 11], non_max_suppression),
    one("RoiAlign", &[10, 16, 22], roi_align),
];

/// Where each pixel of the output lies in the input: `theta` times its coordinates from -1 to 1 and a 1.
fn affine_grid(b: &mut NodeBuilder) -> Result {
    let (theta, size) = (b.input(0)?, b.input(1)?);
    let spatial = match b.dims(size).as_deref() {
        Some([4]) => 2i64,
        Some([5]) => 3,
        _ => return Err(OpError::unsupported("a grid of an unknown number of axes")),
    };
    let corners = b.flag("align_corners", false)?;
    let real = b.element_type(theta)?;
    let sizes = b.part(size, 2, i64::MAX)?;
    let (unit, two) = (b.number(real, 1.0)?, b.number(real, 2.0)?);
    let mut axes = Vec::new();
    for axis in (0..spatial).rev() {
        let size = b.part(sizes, axis, axis + 1)?;
        let count = b.count_to(size)?;
        let (count, size) = (b.convert(count, real)?, b.convert(size, real)?);
        // From edge to edge, or from the middle of the first pixel to that of the last.
        let (places, width) = if corners {
            (count, b.plain("Subtract", &[size, unit])?)
        } else {
            let half = b.number(real, 0.5)?;
            (b.plain("Add", &[count, half])?, size)
        };
        let places = b.plain("Multiply", &[places, two])?;
        let places = divide(b, places, width)?;
        let places = b.plain("Subtract", &[places, unit])?;
        let mut form = vec![1; spatial as usize];
        form[axis as usize] = -1;
        let places = b.reshape(places, &form)?;
        axes.push(b.make("Broadcast", Attrs::new().with("mode", "numpy"), &[places, sizes])?);
    }
    axes.push(b.filled(unit, sizes)?);
    for axis in &mut axes {
        *axis = b.unsqueeze(*axis, &[-1])?;
    }
    let places = b.concat(-1, &axes)?;
    let places = b.reshape(places, &[-1, spatial + 1])?;
    let grid = b.make("MatMul", Attrs::new().with("transpose_b", true), &[places, theta])?;
    let (batch, last) = (b.size(theta, 0)?, b.vector(&[spatial])?);
    let target = b.join(&[batch, sizes, last])?;
    b.make("Reshape", Attrs::new().with("special_zero", false), &[grid, target])
}

/// What lies around the centre is cut off or padded; of an odd number, the smaller half lies before.
fn center_crop_pad(b: &mut NodeBuilder) -> Result {
    let (x, target) = (b.input(0)?, b.input(1)?);
    let axes = match b.ints("axes")? {
        Some(axes) => axes,
        None => (0..).take(b.rank(x)?).collect(),
    };
    let (shape, axes) = (b.shape_of(x)?, b.vector(&axes)?);
    let target = b.convert(target, ElementType::I64)?;
    let (zero, two) = (b.index(0)?, b.index(2)?);
    let sizes = b.gather(shape, axes, 0)?;
    let half = |b: &mut NodeBuilder, from: Value, less: Value| {
        let rest = b.plain("Subtract", &[from, less])?;
        let rest = b.plain("Maximum", &[rest, zero])?;
        Ok::<_, OpError>((rest, divide(b, rest, two)?))
    };
    let (_, start) = half(b, sizes, target)?;
    let stop = b.plain("Add", &[start, target])?;
    let (units, form) = (b.index(1)?, b.shape_of(axes)?);
    let steps = b.filled(units, form)?;
    let cut = b.plain("Slice", &[x, start, stop, steps, axes])?;
    let (more, before) = half(b, target, sizes)?;
    let after = b.plain("Subtract", &[more, before])?;
    let none = b.vector(&vec![0; b.rank(x)?])?;
    let scatter = |b: &mut NodeBuilder, pads| b.plain("ScatterElementsUpdate", &[none, axes, pads, zero]);
    let (before, after) = (scatter(b, before)?, scatter(b, after)?);
    let nothing = b.number_like(x, 0.0)?;
    b.make("Pad", Attrs::new().with("pad_mode", "constant"), &[cut, before, after, nothing])
}

/// Numbers for each of `count` axes, and pads before and after.
fn window(b: &NodeBuilder, count: usize) -> Result<Attrs<'static>, OpError> {
    let numbers = |name: &'static str, default: i64, count: usize| match b.ints(name)? {
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

/// Columns, one for each block of an image, each element added where the block lies.
fn columns_to_image(b: &mut NodeBuilder) -> Result {
    let (x, image, block) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let spatial = [image, block].into_iter().find_map(|sizes| b.dims(sizes)).and_then(|d| d.first().copied());
    let spatial = spatial.ok_or_else(|| OpError::unsupported("an image of an unknown number of axes"))?;
    let attrs = window(b, spatial)?;
    match spatial {
        2 => b.make("Col2Im", attrs, &[x, image, block]),
        1 | 3 => columns_by_convolution(b, [x, image, block], attrs),
        _ => Err(OpError::unsupported(format!("an image of {spatial} axes"))),
    }
}

/// A transposed convolution, each of whose filters has a 1 at another place of the block.
fn columns_by_convolution(
    b: &mut NodeBuilder,
    [x, image, block]: [Value; 3],
    attrs: Attrs<'static>,
) -> Result {
    let list = |name| attrs.ints(name).map(|list| list.unwrap_or_default().to_vec());
    let (strides, dilations) = (b.vector(&list("strides")?)?, b.vector(&list("dilations")?)?);
    let (begin, end) = (b.vector(&list("pads_begin")?)?, b.vector(&list("pads_end")?)?);
    let (image, block) = (b.convert(image, ElementType::I64)?, b.convert(block, ElementType::I64)?);
    let (one, minus, zero) = (b.vector(&[1])?, b.vector(&[-1])?, b.vector(&[0])?);
    // How many blocks lie along each axis.
    let reach = b.plain("Subtract", &[block, one])?;
    let reach = b.plain("Multiply", &[reach, dilations])?;
    let mut rest = b.plain("Subtract", &[image, reach])?;
    for (op_type, amount) in [("Add", begin), ("Add", end), ("Subtract", one)] {
        rest = b.plain(op_type, &[rest, amount])?;
    }
    let count = divide(b, rest, strides)?;
    let count = b.plain("Add", &[count, one])?;
    let taps = b.reduced("ReduceProd", block, &[0], true)?;
    let sizes = b.join(&[minus, taps, count])?;
    let columns = b.make("Reshape", Attrs::new().with("special_zero", false), &[x, sizes])?;
    let (all, diagonal) = (b.scalar(taps)?, b.index(0)?);
    let element_type = b.element_type(x)?;
    let filters = b.make("Eye", Attrs::new().with("output_type", element_type), &[all, all, diagonal])?;
    let form = b.join(&[taps, one, block])?;
    let filters = b.make("Reshape", Attrs::new().with("special_zero", false), &[filters, form])?;
    let y = b.make("ConvolutionBackpropData", attrs, &[columns, filters])?;
    // What no block reaches at the end is 0.
    let shape = b.shape_of(y)?;
    let have = b.part(shape, 2, i64::MAX)?;
    let missing = b.plain("Subtract", &[image, have])?;
    let more = b.join(&[zero, zero, missing])?;
    let none = b.vector(&vec![0; b.rank(y)?])?;
    let nothing = b.number_like(x, 0.0)?;
    let y = b.make("Pad", Attrs::new().with("pad_mode", "constant"), &[y, none, more, nothing])?;
    let batch = b.size(x, 0)?;
    let sizes = b.join(&[batch, minus, image])?;
    b.make("Reshape", Attrs::new().with("special_zero", false), &[y, sizes])
}

fn deformable_convolution(b: &mut NodeBuilder) -> Result {
    let (x, filters, offsets) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let attrs = window(b, 2)?.with("group", b.int("group", 1)?).with("auto_pad", "explicit");
    let attrs = attrs.with("deformable_group", b.int("offset_group", 1)?);
    let mut inputs = vec![x, offsets, filters];
    inputs.extend(b.optional(4));
    let y = b.make("DeformableConvolution", attrs.with("bilinear_interpolation_pad", true), &inputs)?;
    match b.optional(3) {
        Some(bias) => {
            let bias = super::normalization::along_channels(b, bias, 4)?;
            b.plain("Add", &[y, bias])
        }
        None => Ok(y),
    }
}

fn max_roi_pool(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let pooled = b.ints("pooled_shape")?.ok_or(OpError::MissingAttribute { name: "pooled_shape" })?;
    let &[height, width] = pooled.as_slice() else { return Err(b.attrs.bad("pooled_shape", "two sizes")) };
    let attrs = Attrs::new().with("pooled_h", height).with("pooled_w", width).with("method", "max");
    b.make("ROIPooling", attrs.with("spatial_scale", b.float("spatial_scale", 1.0)?), &inputs)
}

/// Rows of batch, class and box. Without a least score every box counts.
fn non_max_suppression(b: &mut NodeBuilder) -> Result {
    let mut inputs = vec![b.input(0)?, b.input(1)?];
    let defaults =
        [(ElementType::I64, 0.0), (ElementType::F32, 0.0), (ElementType::F32, f64::from(f32::MIN))];
    for (i, (element_type, default)) in defaults.into_iter().enumerate() {
        inputs.push(match b.optional(2 + i) {
            Some(value) => b.scalar(value)?,
            None => b.number(element_type, default)?,
        });
    }
    // A box goes if it overlaps by more than the limit, in the IR also if by just as much: the next number is meant.
    let (up, least) = (
        b.number(ElementType::F32, 1.0 + f64::from(f32::EPSILON))?,
        b.number(ElementType::F32, f64::from(f32::MIN_POSITIVE))?,
    );
    let limit = b.plain("Multiply", &[inputs[3], up])?;
    inputs[3] = b.plain("Add", &[limit, least])?;
    let encoding = if b.flag("center_point_box", false)? { "center" } else { "corner" };
    let attrs = Attrs::new().with("box_encoding", encoding).with("sort_result_descending", false);
    let values = b.many("NonMaxSuppression", attrs.with("output_type", ElementType::I64), &inputs, 3)?;
    values.first().copied().ok_or(OpError::NotConnected { port: 0 })
}

fn roi_align(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let aligned = match b.text("coordinate_transformation_mode", "half_pixel")? {
        _ if b.since < 16 => "asymmetric",
        "half_pixel" => "half_pixel_for_nn",
        "output_half_pixel" => "asymmetric",
        _ => return Err(b.attrs.bad("coordinate_transformation_mode", "half_pixel or output_half_pixel")),
    };
    // By `max` ONNX means the greatest weighted pixel, the IR the greatest point between pixels.
    let mode = match b.text("mode", "avg")? {
        "avg" => "avg",
        other => return Err(OpError::unsupported(format!("mode `{other}`"))),
    };
    let attrs = Attrs::new().with("pooled_h", b.int("output_height", 1)?);
    let attrs = attrs.with("pooled_w", b.int("output_width", 1)?);
    let attrs = attrs.with("sampling_ratio", b.int("sampling_ratio", 0)?);
    let attrs = attrs.with("spatial_scale", b.float("spatial_scale", 1.0)?);
    b.make("ROIAlign", attrs.with("mode", mode).with("aligned_mode", aligned), &inputs)
}
