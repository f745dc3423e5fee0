//! Sliding windows: convolutions and pools.

use snick_ir::ops::nn::window::{AutoPad, WindowAxis};
use snick_ir::{AttrWords, Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::normalization::along_channels;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result, list};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("AveragePool", &[7, 10, 11, 19, 22], average_pool)
        .attrs("auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"),
    one("Conv", &[1, 11, 22], convolution)
        .attrs("auto_pad dilations group pads strides")
        .ignores("kernel_shape"),
    one("ConvTranspose", &[1, 11, 22], transposed_convolution)
        .attrs("auto_pad dilations group output_padding output_shape pads strides")
        .ignores("kernel_shape"),
    one("GlobalAveragePool", &[1, 22], |b| {
        let x = b.input(0)?;
        global_mean(b, x)
    }),
    one("GlobalLpPool", &[2, 22], global_norm_pool).attrs("p"),
    one("GlobalMaxPool", &[1, 22], |b| {
        let x = b.input(0)?;
        let axes = spatial_axes(b, x)?;
        b.reduce_max(x, &axes, true)
    }),
    one("LpPool", &[2, 11, 18, 22], norm_pool)
        .attrs("auto_pad ceil_mode dilations kernel_shape p pads strides"),
    many("MaxPool", &[1, 8, 10, 11, 12, 22], max_pool)
        .attrs("auto_pad ceil_mode dilations kernel_shape pads storage_order strides"),
];

/// The strides, dilations and padding of a sliding window.
struct Sliding {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    begin: Vec<i64>,
    end: Vec<i64>,
    auto_pad: AutoPad,
}

impl Sliding {
    fn read(b: &NodeBuilder, spatial: usize) -> Result<Self, OpError> {
        let auto_pad = b.choice(
            "auto_pad",
            &[
                ("NOTSET", AutoPad::Explicit),
                ("", AutoPad::Explicit),
                ("VALID", AutoPad::Valid),
                ("SAME_UPPER", AutoPad::SameUpper),
                ("SAME_LOWER", AutoPad::SameLower),
            ],
        )?;
        let numbers = |name: &'static str, default: i64, count: usize| match b.ints_attr(name)? {
            None => Ok(vec![default; count]),
            Some(list) if list.len() == count => Ok(list),
            Some(_) => Err(b.attrs.bad(name, &format!("{count} numbers"))),
        };
        let pads = numbers("pads", 0, 2 * spatial);
        let mut begin = match auto_pad {
            AutoPad::Explicit => pads?,
            _ => vec![0; 2 * spatial],
        };
        let end = begin.split_off(spatial);
        let (strides, dilations) = (numbers("strides", 1, spatial)?, numbers("dilations", 1, spatial)?);
        Ok(Self { strides, dilations, begin, end, auto_pad })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs =
            Attrs::new().with("strides", list(&self.strides)).with("dilations", list(&self.dilations));
        let attrs = attrs.with("pads_begin", list(&self.begin)).with("pads_end", list(&self.end));
        attrs.with("auto_pad", self.auto_pad.word())
    }
}

/// The number of spatial axes, from the rank of the data or the rank of the filters.
fn spatial(b: &NodeBuilder, x: Value, filters: Value) -> Result<usize, OpError> {
    let rank = b.rank(x).or_else(|_| b.rank(filters))?;
    rank.checked_sub(2).ok_or_else(|| OpError::rank("the data", rank, "3 or more"))
}

/// Splits the first axis of filters into an axis of groups and an axis of the filters in a group.
fn grouped(b: &mut NodeBuilder, filters: Value, groups: i64) -> Result {
    let dims = b.dims(filters).ok_or_else(|| OpError::unsupported("filters of unknown size in groups"))?;
    let sizes: Option<Vec<i64>> = dims.iter().map(|&dim| i64::try_from(dim).ok()).collect();
    let mut sizes = sizes.unwrap_or_default();
    match sizes.first_mut() {
        Some(first) if groups > 0 && *first % groups == 0 => *first /= groups,
        _ => return Err(b.attrs.bad("group", "a divisor of the number of filters")),
    }
    sizes.insert(0, groups);
    b.reshape(filters, &sizes)
}

fn with_bias(b: &mut NodeBuilder, y: Value, bias: Option<Value>, rank: usize) -> Result {
    let Some(bias) = bias else { return Ok(y) };
    let bias = along_channels(b, bias, rank)?;
    b.add(y, bias)
}

fn convolution(b: &mut NodeBuilder) -> Result {
    let (x, filters) = (b.input(0)?, b.input(1)?);
    let bias = b.optional(2);
    convolved(b, x, filters, bias)
}

/// A convolution with the attributes of the node.
pub(super) fn convolved(b: &mut NodeBuilder, x: Value, filters: Value, bias: Option<Value>) -> Result {
    let spatial = spatial(b, x, filters)?;
    let attrs = Sliding::read(b, spatial)?.attrs();
    let y = match b.int_attr("group", 1)? {
        1 => b.ir_op("Convolution", attrs, &[x, filters])?,
        groups => {
            let filters = grouped(b, filters, groups)?;
            b.ir_op("GroupConvolution", attrs, &[x, filters])?
        }
    };
    with_bias(b, y, bias, spatial + 2)
}

fn transposed_convolution(b: &mut NodeBuilder) -> Result {
    let (x, filters) = (b.input(0)?, b.input(1)?);
    let spatial = spatial(b, x, filters)?;
    let mut sliding = Sliding::read(b, spatial)?;
    let extra = b.ints_attr("output_padding")?.unwrap_or_else(|| vec![0; spatial]);
    let sizes = match b.ints_attr("output_shape")? {
        // The list may also contain the sizes of batch and channels.
        Some(sizes) if sizes.len() >= spatial => Some(sizes[sizes.len() - spatial..].to_vec()),
        Some(_) => return Err(b.attrs.bad("output_shape", &format!("{spatial} sizes"))),
        None => None,
    };
    if sizes.is_some() {
        // If the number of cropped elements is odd, the extra element is cropped at the beginning, unless the
        // node says otherwise.
        sliding.auto_pad = match sliding.auto_pad {
            AutoPad::SameUpper => AutoPad::SameLower,
            _ => AutoPad::SameUpper,
        };
    } else if sliding.auto_pad.is_same() {
        same_pads(b, filters, &mut sliding, &extra)?;
    }
    let attrs = sliding.attrs().with("output_padding", list(&extra));
    let mut inputs = vec![x];
    let op_type = match b.int_attr("group", 1)? {
        1 => {
            inputs.push(filters);
            "ConvolutionBackpropData"
        }
        groups => {
            inputs.push(grouped(b, filters, groups)?);
            "GroupConvolutionBackpropData"
        }
    };
    if let Some(sizes) = sizes {
        inputs.push(b.ints(&sizes)?);
    }
    let y = b.ir_op(op_type, attrs, &inputs)?;
    let bias = b.optional(2);
    with_bias(b, y, bias, spatial + 2)
}

/// The padding with which the output is `stride` times as large as the input. The padding is 0 if the output
/// is smaller than this even without padding.
fn same_pads(b: &NodeBuilder, filters: Value, sliding: &mut Sliding, extra: &[i64]) -> Result<(), OpError> {
    let unknown = || OpError::unsupported("auto_pad with filters of unknown size");
    let too_large = || OpError::unsupported("a window of this size");
    let dims = b.dims(filters).ok_or_else(unknown)?;
    for (axis, &kernel) in dims.iter().skip(2).enumerate() {
        let (stride, dilation) = (sliding.strides[axis], sliding.dilations[axis]);
        let window = WindowAxis { stride, dilation, begin: 0, end: 0 };
        let extra = extra.get(axis).copied().unwrap_or(0);
        let total = window.reach(kernel) + i128::from(extra) - i128::from(stride);
        let [begin, end] = sliding.auto_pad.split(total).map(i64::try_from);
        sliding.begin[axis] = begin.map_err(|_| too_large())?;
        sliding.end[axis] = end.map_err(|_| too_large())?;
    }
    sliding.auto_pad = AutoPad::Explicit;
    Ok(())
}

/// The attributes that all pools share.
fn pool_attrs(b: &NodeBuilder) -> Result<Attrs<'static>, OpError> {
    let kernel = b.ints_attr("kernel_shape")?.ok_or(OpError::MissingAttribute { name: "kernel_shape" })?;
    let sliding = Sliding::read(b, kernel.len())?;
    let rounding = if b.flag_attr("ceil_mode", false)? { "ceil_torch" } else { "floor" };
    Ok(sliding.attrs().with("kernel", list(&kernel)).with("rounding_type", rounding))
}

fn average_pool(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    average_pool_of(b, x)
}

/// An average pool with the attributes of the node.
pub(super) fn average_pool_of(b: &mut NodeBuilder, x: Value) -> Result {
    let exclude = !b.flag_attr("count_include_pad", false)?;
    let attrs = pool_attrs(b)?.with("exclude-pad", exclude);
    b.ir_op("AvgPool", attrs, &[x])
}

/// Adds a max pool. The second output contains flat indices into the whole input tensor.
pub(super) fn max_pool(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let x = b.input(0)?;
    let attrs = pool_attrs(b)?.with("index_element_type", ElementType::I64).with("axis", 0);
    let mut outputs = b.ir_op_with_outputs("MaxPool", attrs, &[x], 2)?;
    if b.flag_attr("storage_order", false)? && b.wants(1) {
        outputs[1] = column_major(b, x, outputs[1])?;
    }
    Ok(outputs)
}

/// Converts row-major indices over the spatial axes to column-major indices.
fn column_major(b: &mut NodeBuilder, x: Value, positions: Value) -> Result {
    let rank = b.rank(x)? as i64;
    let (shape, mut stride) = (b.shape_of(x)?, b.ints(&[1])?);
    let spatial = b.slice_range(shape, 0, 2, i64::MAX)?;
    let image = b.reduce_prod(spatial, &[0], true)?;
    let mut rest = b.floor_mod(positions, image)?;
    let mut sum = b.subtract(positions, rest)?;
    let mut strides = Vec::new();
    for axis in 2..rank {
        let size = b.slice_range(shape, 0, axis, axis + 1)?;
        strides.push((size, stride));
        stride = b.multiply(stride, size)?;
    }
    for (size, stride) in strides.into_iter().rev() {
        let place = b.floor_mod(rest, size)?;
        rest = b.divide(rest, size)?;
        let part = b.multiply(place, stride)?;
        sum = b.add(sum, part)?;
    }
    Ok(sum)
}

/// The p-norm of each window. An average pool computes the mean of the powers; the mean is then multiplied by
/// the size of the window.
fn norm_pool(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let p = b.int_attr("p", 2)? as f64;
    let kernel = b.ints_attr("kernel_shape")?.unwrap_or_default();
    let attrs = pool_attrs(b)?.with("exclude-pad", false);
    let power = b.scalar_like(x, p)?;
    let size = b.abs(x)?;
    let powers = b.power(size, power)?;
    let mean = b.ir_op("AvgPool", attrs, &[powers])?;
    let count = b.scalar_like(x, kernel.iter().map(|&k| k as f64).product())?;
    let sum = b.multiply(mean, count)?;
    b.power(sum, 1.0 / p)
}

fn global_norm_pool(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let p = b.int_attr("p", 2)? as f64;
    let size = b.abs(x)?;
    let powers = b.power(size, p)?;
    let axes = spatial_axes(b, x)?;
    let sum = b.reduce_sum(powers, &axes, true)?;
    b.power(sum, 1.0 / p)
}

/// All axes except the batch and channel axes.
fn spatial_axes(b: &NodeBuilder, x: Value) -> Result<Vec<i64>> {
    Ok((2..b.rank(x)? as i64).collect())
}

/// The mean of each channel.
pub(super) fn global_mean(b: &mut NodeBuilder, x: Value) -> Result {
    let axes = spatial_axes(b, x)?;
    b.reduce_mean(x, &axes, true)
}
