//! Transposed convolutions, shared by ConvolutionBackpropData and GroupConvolutionBackpropData.

use snick_shape::{Interval, Shape, SymExpr, Symbols};
use snick_tensor::kernels::{self, PadMode, Window};
use snick_tensor::{Dims, SmallVector, Tensor};

use super::convolution_phases::in_phases;
use super::convolve::{CANNOT_CONVOLVE, channels_differ, operand_type, spatial_rank, spatial_sizes};
use super::window::{
    AutoPad, DilatedSliding, Numbers, at_least, check_count, extent, given_sizes, spatial_dims,
};
use crate::{Fact, Facts, Infer, OpError, leading};

attrs! {
    /// The strides, dilations and padding of a transposed convolution. If no input gives the spatial sizes of
    /// the output, they are `stride * (size - 1) + dilation * (kernel - 1) + 1 - pads + output_padding`.
    pub struct TransposedSliding {
        /// The convolution to transpose.
        pub sliding: DilatedSliding = DilatedSliding::default(),
        /// Elements to add at the end of each axis of the output; 0 if empty.
        pub output_padding: Numbers = Numbers::new(),
    }
}

impl TransposedSliding {
    /// Infers the output; `grouped` filters have a leading axis of groups.
    pub(super) fn infer(&self, cx: &mut Infer, grouped: bool) -> Result<Facts, OpError> {
        let element_type = operand_type(cx)?;
        let groups = usize::from(grouped);
        if cx.optional(2).is_some() {
            cx.expect_rank(2, "1", |rank| rank == 1)?;
            cx.expect_integer(2);
        }
        let count = cx.optional(2).and_then(|sizes| sizes.shape.dims()?.first()?.as_const());
        let count = count.and_then(|count| usize::try_from(count).ok());
        let Some(spatial) = spatial_rank(cx, &self.sliding, groups)?.or(count) else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        self.check(spatial)?;
        if let Some(count) = count.filter(|&count| count != spatial) {
            return Err(OpError::mismatch("the number of output sizes", count, spatial));
        }
        let (data, filters) = (cx.shape(0), cx.shape(1));
        let filter = |axis: usize| filters.dims().and_then(|dims| dims.get(axis).cloned());
        let channels = data.dims().and_then(|dims| dims.get(1));
        let wanted = match (grouped, filter(0), filter(groups)) {
            (true, Some(group), Some(per_group)) => Some(cx.mul(&group, &per_group)),
            (false, _, per_group) => per_group,
            _ => None,
        };
        if let (Some(channels), Some(wanted)) = (channels, &wanted)
            && cx.merge(channels, wanted).is_none()
        {
            return Err(channels_differ(cx.interval(channels), cx.interval(wanted)));
        }
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
        let batch = data.dims().and_then(|dims| dims.first().cloned());
        dims.push(batch.unwrap_or_else(|| cx.unknown(Interval::DIM)));
        dims.push(match (grouped, filter(0), filter(groups + 1)) {
            (true, Some(group), Some(outs)) => cx.mul(&group, &outs),
            (false, _, Some(outs)) => outs,
            _ => cx.unknown(Interval::DIM),
        });
        if cx.optional(2).is_some() {
            dims.extend(given_sizes(cx, 2, spatial)?);
        } else {
            let sizes = spatial_dims(cx, data, 2, spatial);
            let kernels = spatial_dims(cx, filters, groups + 2, spatial);
            for (i, (size, kernel)) in sizes.iter().zip(&kernels).enumerate() {
                let size = self.size(cx, i, size, kernel)?;
                dims.push(size);
            }
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }

    /// Computes the output; `grouped` filters have a leading axis of groups.
    pub(super) fn eval(&self, inputs: &[Tensor], grouped: bool) -> Result<Vec<Tensor>, OpError> {
        let ([data, filters], sizes) = leading(inputs)?;
        let filters = if grouped { filters.clone() } else { filters.unsqueeze(0)? };
        let (spatial, kernel) = spatial_sizes(data, &filters, 1)?;
        if spatial.contains(&0) {
            return Err(OpError::dims_conflict(CANNOT_CONVOLVE, data.dims(), filters.dims()));
        }
        self.check(spatial.len())?;
        let sizes = sizes.first().map(Tensor::to_i64_vec).transpose()?;
        let excess = sizes.map(|sizes| {
            let axes = spatial.iter().zip(kernel).zip(sizes).enumerate();
            let excess = axes.map(|(i, ((&size, &kernel), wanted))| {
                let size = (size as i64).into();
                let excess = self.excess(&Symbols::default(), i, &size, kernel, &wanted.into());
                excess.and_then(|excess| excess.as_const()).map(i128::from)
            });
            excess
                .collect::<Option<SmallVector<i128, 4>>>()
                .ok_or_else(|| OpError::unsupported("padding of this size"))
        });
        let excess = excess.transpose()?;
        let window = self.window(kernel, excess.as_deref())?;
        // Transpose the filters to `[G, O, C, kernel..]`.
        let mut order: Dims = (0..filters.rank()).collect();
        order.swap(1, 2);
        let filters = filters.permute(&order)?;
        let axes: Vec<_> = (0..spatial.len()).map(|i| self.sliding.windows().axis(i)).collect();
        if axes.iter().any(|axis| axis.stride > 1) && axes.iter().all(|axis| axis.dilation == 1) {
            let strides: Option<Vec<usize>> = axes.iter().map(|a| usize::try_from(a.stride).ok()).collect();
            let strides = strides.ok_or_else(|| OpError::unsupported("a stride of this size"))?;
            if let Some(result) = in_phases(data, &filters, &window, &strides)? {
                return Ok(vec![result]);
            }
        }
        // Insert zeros into the data, and convolve the result with the flipped filters.
        let mut flipped = filters;
        for (i, &size) in kernel.iter().enumerate() {
            if size > 0 {
                flipped = flipped.slice(i + 3, size - 1, size, -1)?;
            }
        }
        let mut spread = data.clone();
        for (i, axis) in axes.iter().enumerate() {
            spread = spread_axis(&spread, i + 2, axis.stride)?;
        }
        Ok(vec![kernels::group_convolution(&spread, &flipped, &window)?])
    }

    fn check(&self, spatial: usize) -> Result<(), OpError> {
        self.sliding.windows().check(spatial)?;
        check_count("output_padding", &self.output_padding, spatial)
    }

    /// Elements to add at the end of spatial axis `i` of the output.
    pub fn output_padding(&self, i: usize) -> i64 {
        self.output_padding.get(i).copied().unwrap_or(0)
    }

    /// The size of spatial axis `i` of the output; the axis of the data must not be empty.
    fn size(&self, cx: &mut Infer, i: usize, size: &SymExpr, kernel: &SymExpr) -> Result<SymExpr, OpError> {
        let axis = self.sliding.windows().axis(i);
        let (size, kernel) = (at_least(cx, size, 1), at_least(cx, kernel, 1));
        let Ok(reach) = extent(cx, &kernel, axis.dilation, &1.into());
        let Ok(full) = extent(cx, &size, axis.stride, &reach);
        let more = self.output_padding(i).saturating_sub(axis.begin).saturating_sub(axis.end);
        let size = cx.add(&full, &more.into());
        cx.as_dim(&size).ok_or_else(|| {
            OpError::out_of_range("a size of the output", cx.interval(&size).hi(), "0 or more")
        })
    }

    /// The number of elements to crop from spatial axis `i` of the full result so that it has the `wanted`
    /// size, as an expression.
    pub fn excess(
        &self,
        symbols: &Symbols,
        i: usize,
        size: &SymExpr,
        kernel: usize,
        wanted: &SymExpr,
    ) -> Option<SymExpr> {
        let axis = self.sliding.windows().axis(i);
        let ends = symbols.mul(size, &axis.stride.into())?;
        let more = i64::try_from(axis.reach(kernel) - i128::from(axis.stride)).ok()?;
        symbols.sub(&symbols.add(&ends, &more.into())?, wanted)
    }

    /// The number of elements to crop at the start and end of spatial axis `i` of the full result; negative
    /// to add zeros. `excess` is the total number to crop, if the output size is given.
    ///
    /// With same padding, an odd element is cropped at the opposite end from where a convolution would pad
    /// it.
    pub fn crop(&self, i: usize, excess: Option<i128>) -> [i128; 2] {
        let axis = self.sliding.windows().axis(i);
        let extra = i128::from(self.output_padding(i));
        let Some(excess) = excess else { return [axis.begin.into(), i128::from(axis.end) - extra] };
        let begin = match self.sliding.sliding.auto_pad {
            AutoPad::Explicit | AutoPad::Valid => axis.begin.into(),
            same => same.split(excess + extra)[1],
        };
        [begin, excess - begin]
    }

    /// The equivalent window of stride 1 over data with inserted zeros. If an input lists the output sizes,
    /// `excess` holds the number of elements to crop on each axis.
    ///
    /// # Errors
    /// If `excess` has fewer entries than there are axes, or a window is too large.
    pub fn window(&self, kernel: &[usize], excess: Option<&[i128]>) -> Result<Window, OpError> {
        let too_large = || OpError::unsupported("a window of this size");
        let mut window = Window::dense(kernel.len());
        for (i, &kernel_size) in kernel.iter().enumerate() {
            let axis = self.sliding.windows().axis(i);
            let excess = match excess {
                Some(all) => Some(all.get(i).copied().ok_or_else(|| {
                    OpError::mismatch("the number of output sizes", all.len(), kernel.len())
                })?),
                None => None,
            };
            let [begin, end] = self.crop(i, excess);
            let pad =
                |crop: i128| isize::try_from(axis.reach(kernel_size) - 1 - crop).map_err(|_| too_large());
            (window.pads_begin[i], window.pads_end[i]) = (pad(begin)?, pad(end)?);
            window.dilations[i] = usize::try_from(axis.dilation).map_err(|_| too_large())?;
        }
        Ok(window)
    }
}

/// Inserts `stride - 1` zeros between the elements of an axis.
fn spread_axis(tensor: &Tensor, axis: usize, stride: i64) -> Result<Tensor, OpError> {
    let size = tensor.dims().get(axis).copied().unwrap_or(1);
    let too_large = || OpError::unsupported("a stride of this size");
    let stride = usize::try_from(stride).map_err(|_| too_large())?;
    if stride == 1 || size <= 1 {
        return Ok(tensor.clone());
    }
    let begin: SmallVector<isize, 6> = SmallVector::from_elem(0, tensor.rank() + 1);
    let mut end = begin.clone();
    end[axis + 1] = isize::try_from(stride - 1).map_err(|_| too_large())?;
    let padded = kernels::pad(&tensor.unsqueeze(axis + 1)?, &begin, &end, PadMode::Constant, None)?;
    let mut dims = Dims::from_slice(tensor.dims());
    dims[axis] = size.checked_mul(stride).ok_or_else(too_large)?;
    Ok(padded.reshape(&dims)?.slice(axis, 0, (size - 1) * stride + 1, 1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::nn::window::Sliding;

    fn sliding(auto_pad: AutoPad, extra: i64) -> TransposedSliding {
        let sliding = Sliding {
            strides: Numbers::from_slice(&[2]),
            pads_begin: Numbers::from_slice(&[1]),
            pads_end: Numbers::from_slice(&[2]),
            auto_pad,
        };
        let sliding = DilatedSliding { sliding, dilations: Numbers::new() };
        TransposedSliding { sliding, output_padding: Numbers::from_slice(&[extra]) }
    }

    #[test]
    fn the_odd_element_is_cropped_where_forward_convolutions_do_not_pad() {
        let crop = |auto_pad, extra, excess| sliding(auto_pad, extra).crop(0, excess);
        assert_eq!(crop(AutoPad::SameLower, 0, Some(3)), [1, 2]);
        assert_eq!(crop(AutoPad::SameUpper, 0, Some(3)), [2, 1]);
        assert_eq!(crop(AutoPad::SameLower, 1, Some(3)), [2, 1]);
        assert_eq!(crop(AutoPad::SameUpper, 2, Some(3)), [3, 0]);
        assert_eq!(crop(AutoPad::SameUpper, 0, Some(-2)), [0, -2]);
        assert_eq!(crop(AutoPad::Explicit, 1, Some(4)), [1, 3]);
        assert_eq!(crop(AutoPad::Valid, 1, Some(4)), [0, 4]);
        assert_eq!(crop(AutoPad::Explicit, 3, None), [1, -1]);
        assert_eq!(crop(AutoPad::SameUpper, 1, None), [0, -1]);
    }

    #[test]
    fn outputs_of_a_given_size_are_cropped_or_extended() {
        let data = Tensor::from_vec(&[1, 1, 3], vec![1f32, 2.0, 3.0]).unwrap();
        let filters = Tensor::from_vec(&[1, 1, 3], vec![1f32, 10.0, 100.0]).unwrap();
        let run = |auto_pad, size: i64| {
            let inputs = [data.clone(), filters.clone(), Tensor::from_vec(&[1], vec![size]).unwrap()];
            let output = sliding(auto_pad, 0).eval(&inputs, false).unwrap();
            output[0].to_f64_vec().unwrap()
        };
        assert_eq!(run(AutoPad::SameLower, 6), [1.0, 10.0, 102.0, 20.0, 203.0, 30.0]);
        assert_eq!(run(AutoPad::SameUpper, 6), [10.0, 102.0, 20.0, 203.0, 30.0, 300.0]);
        assert_eq!(run(AutoPad::SameLower, 4), [10.0, 102.0, 20.0, 203.0]);
        assert_eq!(run(AutoPad::SameUpper, 4), [102.0, 20.0, 203.0, 30.0]);
        assert_eq!(run(AutoPad::SameUpper, 8), [1.0, 10.0, 102.0, 20.0, 203.0, 30.0, 300.0, 0.0]);
        assert_eq!(run(AutoPad::Explicit, 3), [10.0, 102.0, 20.0]);
    }

    #[test]
    fn excess_is_known_where_the_size_follows_from_the_data() {
        let mut symbols = Symbols::default();
        let size = symbols.fresh(Interval::DIM, snick_shape::Origin::default());
        let double = symbols.mul(&size, &2.into()).unwrap();
        let excess = |wanted| sliding(AutoPad::SameLower, 0).excess(&symbols, 0, &size, 3, wanted);
        assert_eq!(excess(&double), Some(1.into()));
        assert_eq!(excess(&8.into()).unwrap().as_const(), None);
    }
}
