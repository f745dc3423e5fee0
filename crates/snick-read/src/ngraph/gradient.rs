//! Gradients of pools and convolutions, built from forward ops.

use snick_ir::ops::Slice8;
use snick_ir::{AttrValue, Attrs, OpError, Value};
use snick_tensor::Tensor;

use super::layers::product;
use super::site::{Site, sizes};
use super::window::{dilated, numbers, numbers_or};

/// The windows of a max pool. Of several equal elements, the first counts as the maximum.
pub(super) struct Maxima {
    pub(super) kernel: Vec<i64>,
    pub(super) strides: Vec<i64>,
    pub(super) below: Vec<i64>,
    pub(super) above: Vec<i64>,
}

impl Maxima {
    /// Adds each element of `delta` to the broadcast `initial`, at the position of the maximum of the
    /// corresponding window of `data`.
    pub(super) fn scatter(
        self,
        site: &mut Site,
        data: Value,
        delta: Value,
        initial: Value,
    ) -> Result<Value, OpError> {
        let dims = site.known_sizes(data)?;
        let attrs = Attrs::new()
            .with("kernel", AttrValue::Ints(self.kernel.into()))
            .with("strides", AttrValue::Ints(self.strides.into()))
            .with("pads_begin", AttrValue::Ints(self.below.into()))
            .with("pads_end", AttrValue::Ints(self.above.into()))
            .with("rounding_type", "floor")
            .with("auto_pad", "explicit")
            .with("axis", 0);
        let pool = site.ir_op("MaxPool", 8, attrs, &[data])?;
        // The second output contains flat indices into the data.
        let positions = Value { port: 1, ..pool };
        let (positions, delta) = (site.reshape(positions, &[-1])?, site.reshape(delta, &[-1])?);
        let total = site.ints(&[product(&dims)?])?;
        let base = site.broadcast_to(initial, total)?;
        let axis = site.int(0)?;
        let attrs = Attrs::new().with("reduction", "sum").with("use_init_val", true);
        let sum = site.ir_op("ScatterElementsUpdate", 12, attrs, &[base, positions, delta, axis])?;
        site.reshape(sum, &dims)
    }
}

/// The gradient of a max pool. Adds each element of the second input to a tensor of zeros, at the position of
/// the maximum of the corresponding window of the first input.
pub(super) fn max_pool(site: &mut Site) -> Result<Value, OpError> {
    let kernel = numbers(site, "window_shape")?.to_vec();
    let count = kernel.len();
    let maxima = Maxima {
        kernel,
        strides: numbers_or(site, "window_movement_strides", count, 1)?.to_vec(),
        below: numbers_or(site, "padding_below", count, 0)?.to_vec(),
        above: numbers_or(site, "padding_above", count, 0)?.to_vec(),
    };
    let (data, delta) = (site.input(0)?, site.input(1)?);
    let zero = site.scalar_like(delta, 0.0)?;
    maxima.scatter(site, data, delta, zero)
}

/// The gradient of an average pool. Distributes each element equally over the window from which it was
/// computed.
pub(super) fn avg_pool(site: &mut Site) -> Result<Value, OpError> {
    let shape = sizes(site, "forward_arg_shape")?;
    let kernel = numbers(site, "window_shape")?;
    let count = kernel.len();
    let strides = numbers_or(site, "window_movement_strides", count, 1)?;
    let below = numbers_or(site, "padding_below", count, 0)?;
    let above = numbers_or(site, "padding_above", count, 0)?;
    let with_padding = site.node.attrs.bool("include_padding_in_avg_computation")?.unwrap_or(false);
    let mut delta = site.input(0)?;
    let windows = site.known_sizes(delta)?;
    let lists = [strides.len(), below.len(), above.len()];
    if lists != [count; 3] || shape.len() != count + 2 || windows.len() != count + 2 {
        let got = format!("{lists:?} numbers for a window of {count} axes");
        return Err(OpError::mismatch("the window", got, format!("rank {} less 2", shape.len())));
    }
    for axis in 0..count {
        let (dim, window, stride) = (shape[axis + 2], kernel[axis], strides[axis]);
        let elements = |at: i64| {
            let start = at.checked_mul(stride)?.checked_sub(below[axis])?;
            let end = start.checked_add(window)?;
            Some(if with_padding { window } else { end.min(dim) - start.max(0) }.max(1))
        };
        if windows[axis + 2] > MAX_LISTED {
            return Err(OpError::unsupported(format!("{} windows along an axis", windows[axis + 2])));
        }
        let counts = (0..windows[axis + 2]).map(elements).collect::<Option<Vec<i64>>>();
        let counts = counts.ok_or_else(|| OpError::out_of_range("a window", window, "64 bits"))?;
        let mut like = vec![1usize; count - axis];
        like[0] = counts.len();
        let counts = Tensor::from_vec(&like, counts)?.cast(site.element_type(delta)?)?;
        let counts = site.constant(counts)?;
        delta = site.divide(delta, counts)?;
    }
    let planes = product(&shape[..2])?;
    let plane = |sizes: &[i64]| -> Vec<i64> { [planes, 1].iter().chain(&sizes[2..]).copied().collect() };
    let delta = site.reshape(delta, &plane(&windows))?;
    let one = site.scalar_like(delta, 1.0)?;
    let like: Vec<i64> = [1, 1].into_iter().chain(kernel.iter().copied()).collect();
    let ones = site.broadcast(one, &like)?;
    let window = Window {
        strides: strides.to_vec(),
        dilations: vec![1; count],
        below: below.to_vec(),
        above: above.to_vec(),
    };
    let value = window.transposed(site, ones, delta, &plane(&shape))?;
    site.reshape(value, &shape)
}

/// Maximum number of windows along an axis, because an index is listed for each of them.
const MAX_LISTED: i64 = 1 << 24;

/// The geometry of a convolution.
pub(super) struct Window {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    below: Vec<i64>,
    above: Vec<i64>,
}

impl Window {
    /// The window of the forward convolution, for `spatial` axes.
    fn of_forward(site: &Site, spatial: usize) -> Result<Self, OpError> {
        let list = |name| Ok::<_, OpError>(numbers(site, name)?.to_vec());
        let window = Self {
            strides: list("window_movement_strides_forward")?,
            dilations: list("window_dilation_strides_forward")?,
            below: list("padding_below_forward")?,
            above: list("padding_above_forward")?,
        };
        let lists = [window.strides.len(), window.dilations.len(), window.below.len(), window.above.len()];
        if lists != [spatial; 4] {
            let got = format!("{lists:?} numbers");
            return Err(OpError::mismatch("the window", got, format!("{spatial} spatial axes")));
        }
        Ok(window)
    }

    /// The transposed convolution of `delta` with `filters`. The result has the shape `dims`.
    fn transposed(
        &self,
        site: &mut Site,
        filters: Value,
        delta: Value,
        dims: &[i64],
    ) -> Result<Value, OpError> {
        let (kernel, windows) = (site.known_sizes(filters)?, site.known_sizes(delta)?);
        if dims.len() != kernel.len() || dims.len() != windows.len() || dims.len() < 3 {
            let got = format!("ranks {} and {}", kernel.len(), windows.len());
            return Err(OpError::mismatch("the inputs", got, format!("rank {}, 3 or more", dims.len())));
        }
        // Data that was cropped by negative padding has a gradient of 0, so zeros are added in its place.
        let cut = self.below.iter().chain(&self.above).any(|&pad| pad < 0);
        let (below, above) = if cut {
            (vec![0; self.below.len()], vec![0; self.above.len()])
        } else {
            (self.below.clone(), self.above.clone())
        };
        let unreached = |i: usize| {
            let shrunk = |pad: i64, whole: i64| pad.checked_sub(whole);
            let inside = dims[i + 2]
                .checked_add(shrunk(self.below[i], below[i])?)?
                .checked_add(shrunk(self.above[i], above[i])?)?;
            let reach = windows[i + 2].checked_sub(1)?.checked_mul(self.strides[i])?;
            let window = kernel[i + 2].checked_sub(1)?.checked_mul(self.dilations[i])?.checked_add(1)?;
            let reached = reach.checked_add(window)?.checked_sub(below[i])?.checked_sub(above[i])?;
            inside.checked_sub(reached).filter(|&rest| rest >= 0)
        };
        let rest: Option<Vec<i64>> = (0..dims.len() - 2).map(unreached).collect();
        let rest = rest.ok_or_else(|| {
            OpError::mismatch(
                "the shape of the data",
                format!("{dims:?}"),
                "the number of inputs of such a convolution",
            )
        })?;
        let attrs = Attrs::new()
            .with("strides", AttrValue::Ints(self.strides.clone().into()))
            .with("dilations", AttrValue::Ints(self.dilations.clone().into()))
            .with("pads_begin", AttrValue::Ints(below.into()))
            .with("pads_end", AttrValue::Ints(above.into()))
            .with("output_padding", AttrValue::Ints(rest.into()))
            .with("auto_pad", "explicit");
        let value = site.ir_op("ConvolutionBackpropData", 1, attrs, &[delta, filters])?;
        if !cut {
            return Ok(value);
        }
        let back = |pads: &[i64]| -> Vec<i64> {
            [0, 0].into_iter().chain(pads.iter().map(|pad| pad.saturating_neg())).collect()
        };
        site.padded(value, &back(&self.below), &back(&self.above))
    }
}

/// The gradient of a convolution with respect to its data. If the data is dilated, returns only the gradient
/// of the original elements.
pub(super) fn convolution_data(site: &mut Site) -> Result<Value, OpError> {
    let shape = sizes(site, "data_batch_shape")?;
    let spatial = shape.len().saturating_sub(2);
    let window = Window::of_forward(site, spatial)?;
    let holes = numbers_or(site, "data_dilation_strides_forward", spatial, 1)?;
    let (filters, delta) = (site.input(0)?, site.input(1)?);
    if holes.iter().all(|&hole| hole == 1) {
        return window.transposed(site, filters, delta, &shape);
    }
    if holes.len() != spatial || holes.iter().any(|&hole| hole < 1) {
        return Err(OpError::mismatch("the data dilation", format!("{holes:?}"), "1 or more for each axis"));
    }
    let steps: Vec<i64> = [1, 1].into_iter().chain(holes).collect();
    let wide = |(&dim, &step): (&i64, &i64)| (dim - 1).max(0).checked_mul(step)?.checked_add(dim.min(1));
    let wide = shape.iter().zip(&steps).map(wide).collect::<Option<Vec<i64>>>();
    let wide = wide.ok_or_else(|| OpError::unsupported("a dilated axis beyond 64 bits"))?;
    let value = window.transposed(site, filters, delta, &wide)?;
    let inputs = [value, site.ints(&vec![0; shape.len()])?, site.ints(&wide)?, site.ints(&steps)?];
    site.add_op(Slice8, &inputs)
}

/// The gradient of a convolution with respect to its filters. Convolves the data with the gradient of the
/// output, after swapping the batch and channel axes of both. Strides and dilations are swapped as well.
pub(super) fn convolution_filters(site: &mut Site) -> Result<Value, OpError> {
    let filters = sizes(site, "filters_shape")?;
    let spatial = filters.len().saturating_sub(2);
    let window = Window::of_forward(site, spatial)?;
    let holes = numbers_or(site, "data_dilation_strides_forward", spatial, 1)?;
    let (data, delta) = (site.input(0)?, site.input(1)?);
    let data = dilated(site, data, &holes)?;
    let (dims, windows) = (site.known_sizes(data)?, site.known_sizes(delta)?);
    if spatial < 1 || dims.len() != filters.len() || windows.len() != filters.len() {
        let got = format!("ranks {} and {}", dims.len(), windows.len());
        return Err(OpError::mismatch("the inputs", got, format!("rank {}, 3 or more", filters.len())));
    }
    // The padding at the end makes the result as large as the filters. Negative padding crops.
    let behind = |i: usize| {
        let kernel = filters[i + 2].checked_sub(1)?.checked_mul(window.dilations[i])?;
        let reach = windows[i + 2].checked_sub(1)?.checked_mul(window.strides[i])?.checked_add(1)?;
        kernel.checked_add(reach)?.checked_sub(dims[i + 2])?.checked_sub(window.below[i])
    };
    let behind: Option<Vec<i64>> = (0..spatial).map(behind).collect();
    let behind = behind.ok_or_else(|| OpError::unsupported("padding beyond 64 bits"))?;
    let whole = |pads: &[i64]| -> Vec<i64> { [0, 0].iter().chain(pads).copied().collect() };
    let data = site.padded(data, &whole(&window.below), &whole(&behind))?;
    let order: Vec<i64> = [1, 0].into_iter().chain(2..filters.len() as i64).collect();
    let (data, delta) = (site.transposed(data, &order)?, site.transposed(delta, &order)?);
    let attrs = Attrs::new()
        .with("strides", AttrValue::Ints(window.dilations.into()))
        .with("dilations", AttrValue::Ints(window.strides.into()))
        .with("pads_begin", AttrValue::Ints(vec![0; spatial].into()))
        .with("pads_end", AttrValue::Ints(vec![0; spatial].into()))
        .with("auto_pad", "explicit");
    let value = site.ir_op("Convolution", 1, attrs, &[data, delta])?;
    site.transposed(value, &order)
}
