//! ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1: transposed convolution.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::{self, PadMode, Window};
use snick_tensor::{Dims, Tensor};

use super::convolution::{CANNOT_CONVOLVE, channels_differ, operand_type, spatial_rank};
use super::window::{AutoPad, Numbers, Sliding, at_least, given_sizes, reach, spatial_dims};
use crate::attrs::AttrValue;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// Data `[N, C, spatial..]` by filters `[C, O, kernel..]`, or, grouped, data `[N, G * C, spatial..]` by filters
/// `[G, C, O, kernel..]`: `[N, O or G * O, larger spatial..]`. An optional third input has the spatial sizes of the
/// output; otherwise they are `stride * (size - 1) + reach - pads + output_padding`.
#[derive(Clone, PartialEq, Debug)]
pub struct ConvolutionBackpropData {
    /// Whether the filters have an axis of groups in front.
    pub grouped: bool,
    /// The convolution this is the transpose of.
    pub sliding: Sliding,
    /// Elements more at the end of each axis.
    pub output_padding: Numbers,
}

const NAMES: [OpName; 2] = [
    OpName::openvino("ConvolutionBackpropData", &[1]),
    OpName::openvino("GroupConvolutionBackpropData", &[1]),
];

impl OpDef for ConvolutionBackpropData {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::between(2, 3);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::CONTRACTION);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self {
            grouped: raw.op_type.eq_ignore_ascii_case(NAMES[1].name),
            sliding: Sliding::parse(&raw.attrs)?,
            output_padding: raw.attrs.ints("output_padding")?.unwrap_or_default(),
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.sliding.attrs().with("output_padding", AttrValue::Ints(self.output_padding.clone()))
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.grouped)]
    }
}

impl InferOp for ConvolutionBackpropData {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = operand_type(cx)?;
        let groups = usize::from(self.grouped);
        if cx.optional(2).is_some() {
            cx.expect_rank(2, "1", |rank| rank == 1)?;
            cx.expect_integer(2);
        }
        let count = cx.optional(2).and_then(|sizes| sizes.shape.dims()?.first()?.as_const());
        let count = count.and_then(|count| usize::try_from(count).ok());
        let Some(spatial) = spatial_rank(cx, &self.sliding, groups)?.or(count) else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        self.check(spatial)?;
        if let Some(count) = count.filter(|&count| count != spatial) {
            return Err(OpError::mismatch("the number of sizes of the output", count, spatial));
        }
        let (data, filters) = (cx.shape(0), cx.shape(1));
        let filter = |axis: usize| filters.dims().and_then(|dims| dims.get(axis).cloned());
        let channels = data.dims().and_then(|dims| dims.get(1));
        let wanted = match (self.grouped, filter(0), filter(groups)) {
            (true, Some(group), Some(per_group)) => Some(cx.mul(&group, &per_group)),
            (false, _, per_group) => per_group,
            _ => None,
        };
        if let (Some(channels), Some(wanted)) = (channels, &wanted)
            && cx.merge(channels, wanted).is_none()
        {
            return Err(channels_differ(cx.interval(channels), cx.interval(wanted)));
        }
        let mut dims: SmallVec<[SymExpr; 4]> = SmallVec::new();
        let batch = data.dims().and_then(|dims| dims.first().cloned());
        dims.push(batch.unwrap_or_else(|| cx.unknown(Interval::DIM)));
        dims.push(match (self.grouped, filter(0), filter(groups + 1)) {
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
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for ConvolutionBackpropData {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, filters, sizes @ ..] = inputs else { return Ok(Vec::new()) };
        let filters = if self.grouped { filters.clone() } else { filters.unsqueeze(0)? };
        let (Some(spatial), Some(kernel)) = (data.dims().get(2..), filters.dims().get(3..)) else {
            return Err(OpError::rank("data or filters", data.rank().min(filters.rank()), "3 or more"));
        };
        if spatial.len() != kernel.len() || spatial.contains(&0) {
            return Err(OpError::dims_conflict(CANNOT_CONVOLVE, data.dims(), filters.dims()));
        }
        self.check(spatial.len())?;
        let sizes = sizes.first().map(Tensor::to_i64_vec).transpose()?;
        let window = self.transposed(spatial, kernel, sizes.as_deref())?;
        // Filters `[G, O, C, kernel..]`.
        let mut order: Dims = (0..filters.rank()).collect();
        order.swap(1, 2);
        let filters = filters.permute(&order)?;
        let axes: Vec<_> = (0..spatial.len()).map(|i| self.sliding.axis(i)).collect();
        if axes.iter().any(|axis| axis.stride > 1) && axes.iter().all(|axis| axis.dilation == 1) {
            let strides: Option<Vec<usize>> = axes.iter().map(|a| usize::try_from(a.stride).ok()).collect();
            let strides = strides.ok_or_else(|| OpError::unsupported("a stride of this size"))?;
            if let Some(result) = in_phases(data, &filters, &window, &strides)? {
                return Ok(vec![result]);
            }
        }
        // The filters turned round, over data with zeros between its elements.
        let mut turned = filters;
        for (i, &size) in kernel.iter().enumerate() {
            if size > 0 {
                turned = turned.slice(i + 3, size - 1, size, -1)?;
            }
        }
        let mut spread = data.clone();
        for (i, axis) in axes.iter().enumerate() {
            spread = spread_axis(&spread, i + 2, axis.stride)?;
        }
        Ok(vec![kernels::group_convolution(&spread, &turned, &window)?])
    }
}

/// Outputs that lie a stride apart meet the same elements of the filters, and the data without gaps: as many
/// convolutions as there are places within a stride, each with its share of the filters.
///
/// `window` is the one over data with zeros between its elements. `None` where a result lies before the first
/// element of data by more than the filters reach.
fn in_phases(
    data: &Tensor,
    filters: &Tensor,
    window: &Window,
    strides: &[usize],
) -> Result<Option<Tensor>, OpError> {
    let (Some(spatial), Some(kernel)) = (data.dims().get(2..), filters.dims().get(3..)) else {
        return Ok(None);
    };
    let gaps = |(&size, &stride): (&usize, &usize)| Some((size - 1).checked_mul(stride)? + 1);
    let spread: Option<Dims> = spatial.iter().zip(strides).map(gaps).collect();
    let Some(spread) = spread else { return Ok(None) };
    let sizes = window.output_dims(&spread, kernel)?;
    // Elements of the full result that are cut off at the beginning, and elements of each phase.
    let (mut cut, mut counts) = (Dims::new(), Dims::new());
    for (i, (&stride, &size)) in strides.iter().zip(&sizes).enumerate() {
        let (Some(&reach), Some(&pad)) = (kernel.get(i), window.pads_begin.get(i)) else { return Ok(None) };
        let Ok(before) = usize::try_from(reach as isize - 1 - pad) else { return Ok(None) };
        cut.push(before);
        counts.push((before + size).div_ceil(stride));
    }
    let mut phases = Vec::new();
    let mut channels = Dims::from_slice(data.dims().get(..1).unwrap_or_default());
    channels.push(filters.dims().iter().take(2).product());
    for phase in 0..strides.iter().product::<usize>() {
        let (mut share, mut inner) = (filters.clone(), Window::dense(spatial.len()));
        let mut rest = phase;
        for i in (0..spatial.len()).rev() {
            let (stride, count, size, reach) = (strides[i], counts[i], spatial[i], kernel[i]);
            let first = rest % stride;
            rest /= stride;
            let taps = reach.saturating_sub(first).div_ceil(stride);
            let last = first + taps.saturating_sub(1) * stride;
            share = share.slice(i + 3, if taps == 0 { 0 } else { last }, taps, -(stride as isize))?;
            inner.pads_begin[i] = taps as isize - 1;
            inner.pads_end[i] = count as isize - size as isize;
        }
        let mut dims = channels.clone();
        dims.extend_from_slice(&counts);
        let result = match share.is_empty() {
            true => Tensor::zeros(data.element_type(), &dims)?,
            false => kernels::group_convolution(data, &share, &inner)?,
        };
        phases.push(result.unsqueeze(2)?);
    }
    // `[N, C, phase.., count..]` to `[N, C, (count, phase)..]`
    let all = kernels::concat(&phases.iter().collect::<Vec<_>>(), 2)?;
    let mut dims = channels.clone();
    dims.extend_from_slice(strides);
    dims.extend_from_slice(&counts);
    let rank = spatial.len();
    let order: Dims = [0, 1].into_iter().chain((0..rank).flat_map(|i| [2 + rank + i, 2 + i])).collect();
    let mut full = channels;
    full.extend(counts.iter().zip(strides).map(|(count, stride)| count * stride));
    let mut result = all.reshape(&dims)?.permute(&order)?.reshape(&full)?;
    for (i, (&before, &size)) in cut.iter().zip(&sizes).enumerate() {
        result = result.slice(i + 2, before, size, 1)?;
    }
    Ok(Some(result))
}

impl ConvolutionBackpropData {
    fn check(&self, spatial: usize) -> Result<(), OpError> {
        self.sliding.check(spatial)?;
        let count = self.output_padding.len();
        if count != 0 && count != spatial {
            return Err(OpError::mismatch("the number of entries of `output_padding`", count, spatial));
        }
        Ok(())
    }

    fn output_padding(&self, i: usize) -> i64 {
        self.output_padding.get(i).copied().unwrap_or(0)
    }

    /// The size of spatial axis `i` of the output. An axis without elements cannot be transposed.
    fn size(&self, cx: &mut Infer, i: usize, size: &SymExpr, kernel: &SymExpr) -> Result<SymExpr, OpError> {
        let axis = self.sliding.axis(i);
        let size = at_least(cx, size, 1);
        let gaps = cx.sub(&size, &1.into());
        let gaps = cx.mul(&gaps, &axis.stride.into());
        let reach = reach(cx, kernel, axis.dilation);
        let full = cx.add(&gaps, &reach);
        let more = self.output_padding(i).saturating_sub(axis.begin).saturating_sub(axis.end);
        let size = cx.add(&full, &more.into());
        cx.as_dim(&size).ok_or_else(|| {
            OpError::out_of_range("a size of the output", cx.interval(&size).hi(), "0 or more")
        })
    }

    /// The dense window that does the same over data with zeros between its elements, for the sizes of data, filters
    /// and, if they are given, of the output.
    ///
    /// # Errors
    /// [`OpError`] if there are fewer sizes of the output than axes, or a window is too large.
    pub fn transposed(
        &self,
        spatial: &[usize],
        kernel: &[usize],
        sizes: Option<&[i64]>,
    ) -> Result<Window, OpError> {
        let too_large = || OpError::unsupported("a window of this size");
        let mut window = Window::dense(spatial.len());
        for (i, (&size, &kernel)) in spatial.iter().zip(kernel).enumerate() {
            let axis = self.sliding.axis(i);
            let reach = (kernel as i128 - 1).max(0) * i128::from(axis.dilation) + 1;
            let more = i128::from(self.output_padding(i));
            let full = i128::from(axis.stride) * (size as i128 - 1) + reach;
            let (begin, end) = match sizes {
                None => (i128::from(axis.begin), i128::from(axis.end) - more),
                Some(sizes) => {
                    let wanted = sizes.get(i).copied().ok_or_else(|| {
                        OpError::mismatch("the number of sizes of the output", sizes.len(), spatial.len())
                    })?;
                    let excess = full + more - i128::from(wanted);
                    let total = excess.max(0);
                    let begin = match self.sliding.auto_pad {
                        AutoPad::Explicit | AutoPad::Valid => i128::from(axis.begin),
                        AutoPad::SameUpper => total / 2,
                        AutoPad::SameLower => total - total / 2,
                    };
                    (begin, full - i128::from(wanted) - begin)
                }
            };
            let pad = |crop: i128| isize::try_from(reach - 1 - crop).map_err(|_| too_large());
            let slots =
                (window.pads_begin.get_mut(i), window.pads_end.get_mut(i), window.dilations.get_mut(i));
            if let (Some(before), Some(after), Some(dilation)) = slots {
                (*before, *after) = (pad(begin)?, pad(end)?);
                *dilation = usize::try_from(axis.dilation).map_err(|_| too_large())?;
            }
        }
        Ok(window)
    }
}

/// `stride - 1` zeros between neighbouring elements of an axis that is not empty.
fn spread_axis(tensor: &Tensor, axis: usize, stride: i64) -> Result<Tensor, OpError> {
    let size = tensor.dims().get(axis).copied().unwrap_or(1);
    let too_large = || OpError::unsupported("a stride of this size");
    let stride = usize::try_from(stride).map_err(|_| too_large())?;
    if stride == 1 || size <= 1 {
        return Ok(tensor.clone());
    }
    let rank = tensor.rank() + 1;
    let mut end: SmallVec<[isize; 6]> = smallvec![0; rank];
    if let Some(slot) = end.get_mut(axis + 1) {
        *slot = isize::try_from(stride - 1).map_err(|_| too_large())?;
    }
    let begin: SmallVec<[isize; 6]> = smallvec![0; rank];
    let padded = kernels::pad(&tensor.unsqueeze(axis + 1)?, &begin, &end, PadMode::Constant, None)?;
    let mut dims = Dims::from_slice(tensor.dims());
    if let Some(slot) = dims.get_mut(axis) {
        *slot = size.checked_mul(stride).ok_or_else(too_large)?;
    }
    Ok(padded.reshape(&dims)?.slice(axis, 0, (size - 1) * stride + 1, 1)?)
}
