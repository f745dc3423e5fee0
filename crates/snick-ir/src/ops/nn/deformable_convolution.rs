//! DeformableConvolution-1 and DeformableConvolution-8: filters whose every element looks somewhere else.
//!
//! The second definition adds a mask, and an attribute that says what is outside.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor, kernels};

use super::blocks::divided;
use super::convolution::{CANNOT_CONVOLVE, operand_type};
use super::window::{Rounding, Sliding, spatial_dims};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Data `[N, C, H, W]`, offsets `[N, D * taps * 2, rows, columns]`, filters `[O, C / G, H', W']` and maybe a mask
/// `[N, D * taps, rows, columns]`, for D deformable groups, G groups and H' * W' taps: `[N, O, rows, columns]`. An
/// offset is added to the place (y, x) at which a tap reads, between pixels if need be; the mask scales what it reads.
#[derive(Clone, PartialEq, Debug)]
pub struct DeformableConvolution {
    /// How the filters slide.
    pub sliding: Sliding,
    /// Channels of different groups do not meet.
    pub group: i64,
    /// Channels of different deformable groups have their own offsets.
    pub deformable_group: i64,
    /// Whether places up to one pixel outside are read, as if zeros were around. `None` in the first definition,
    /// where they are not.
    pub bilinear_interpolation_pad: Option<bool>,
}

impl OpDef for DeformableConvolution {
    const NAMES: &'static [OpName] = &[OpName::openvino("DeformableConvolution", &[1, 8])];
    const ARITY: Arity = Arity::between(3, 4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let groups = |name| -> Result<i64, OpError> {
            let value = raw.attrs.int(name)?.unwrap_or(1);
            if value > 0 { Ok(value) } else { Err(raw.attrs.bad(name, "a positive integer")) }
        };
        let bilinear_interpolation_pad = match raw.since {
            1 => None,
            _ => Some(raw.attrs.bool("bilinear_interpolation_pad")?.unwrap_or(false)),
        };
        let sliding = Sliding::parse(&raw.attrs)?;
        let (group, deformable_group) = (groups("group")?, groups("deformable_group")?);
        Ok(Self { sliding, group, deformable_group, bilinear_interpolation_pad })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs = self.sliding.attrs().with("group", self.group);
        let attrs = attrs.with("deformable_group", self.deformable_group);
        match self.bilinear_interpolation_pad {
            Some(pad) => attrs.with("bilinear_interpolation_pad", pad),
            None => attrs,
        }
    }
}

impl InferOp for DeformableConvolution {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if self.bilinear_interpolation_pad.is_none() {
            Arity::exactly(3).check(cx.len())?;
        }
        let mut element_type = operand_type(cx)?;
        for i in 2..cx.len() {
            let both = cx.common_type([0, i]);
            element_type = if element_type == ElementType::Dynamic { both } else { element_type };
        }
        for i in 0..cx.len() {
            cx.expect_rank(i, "4", |rank| rank == 4)?;
        }
        if (0..3).all(|i| cx.shape(i).dims().is_none()) {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        }
        self.sliding.check(2)?;
        let filters = cx.shape(2).dims().map(<[SymExpr]>::to_vec);
        let mut batch = cx.unknown(Interval::DIM);
        if let Some([images, channels, ..]) = cx.shape(0).dims() {
            batch = images.clone();
            let own = divided(cx, channels, self.group);
            if let Some(depth) = filters.as_ref().and_then(|dims| dims.get(1)) {
                cx.merge_or_report("channels of data and filters", &own, depth);
            }
        }
        let outputs = match filters.as_ref().and_then(|dims| dims.first()) {
            Some(outputs) => {
                divided(cx, outputs, self.group);
                outputs.clone()
            }
            None => cx.unknown(Interval::DIM),
        };
        let sizes = spatial_dims(cx, cx.shape(0), 2, 2);
        let kernel = spatial_dims(cx, cx.shape(2), 2, 2);
        let mut windows: SmallVec<[SymExpr; 4]> = SmallVec::new();
        for (i, (size, kernel)) in sizes.iter().zip(&kernel).enumerate() {
            windows.push(self.sliding.windows(cx, i, size, kernel, Rounding::Floor));
        }
        // Offsets and mask have a place for each window: they may know more of them.
        for (i, numbers) in [(1, 2), (3, 1)] {
            let Some([images, channels, places @ ..]) = cx.optional(i).and_then(|fact| fact.shape.dims())
            else {
                continue;
            };
            batch = cx.merge_or_report("batches", &batch, images);
            let taps = divided(cx, channels, self.deformable_group);
            let taps = divided(cx, &taps, numbers);
            if filters.is_some() {
                let expected = cx.product(&kernel);
                cx.merge_or_report("taps of filters and of offsets or mask", &taps, &expected);
            }
            for (window, place) in windows.iter_mut().zip(places) {
                *window = cx.merge_or_report("sizes of the output and of offsets or mask", window, place);
            }
        }
        let mut dims: SmallVec<[SymExpr; 4]> = smallvec![batch, outputs];
        dims.extend(windows);
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for DeformableConvolution {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, offsets, filters, mask @ ..] = inputs else { return Ok(Vec::new()) };
        let plan = self.plan(data, filters)?;
        let [outputs, depth] = [filters.dims()[0], filters.dims()[1]];
        let (batch, places, taps) =
            (data.dims()[0], plan.rows * plan.columns, plan.kernel[0] * plan.kernel[1]);
        for (numbers, tensor) in [(2, Some(offsets)), (1, mask.first())] {
            let expected = [batch, plan.deformable_groups * taps * numbers, plan.rows, plan.columns];
            if let Some(tensor) = tensor
                && tensor.dims() != expected
            {
                let [got, expected] = [tensor.dims(), &expected].map(|dims| format!("{dims:?}"));
                return Err(OpError::mismatch("dims of offsets or mask", got, expected));
            }
        }
        let (groups, stacked) = (plan.groups, depth * taps);
        let filters = filters.cast(ElementType::F32)?.reshape(&[groups, outputs / groups, stacked])?;
        let mut images = Vec::with_capacity(batch);
        for image in 0..batch {
            let one = |tensor: &Tensor| -> Result<Vec<f32>, OpError> {
                Ok(tensor.slice(0, image, 1, 1)?.to_f32_vec()?)
            };
            let mask = mask.first().map(one).transpose()?;
            let seen = plan.sample(&one(data)?, &one(offsets)?, mask.as_deref());
            let seen = Tensor::from_vec(&[groups, stacked, places], seen)?;
            let sums = kernels::matmul(&filters, &seen, false, false)?;
            images.push(sums.reshape(&[1, outputs, plan.rows, plan.columns])?);
        }
        if images.is_empty() {
            let dims = [0, outputs, plan.rows, plan.columns];
            return Ok(vec![Tensor::zeros(data.element_type(), &dims)?]);
        }
        let all = kernels::concat(&images.iter().collect::<Vec<_>>(), 0)?;
        Ok(vec![all.cast(data.element_type())?])
    }
}

/// What is read of one image, all sizes checked against each other.
struct SamplingPlan {
    channels: usize,
    groups: usize,
    deformable_groups: usize,
    /// Sizes of the image, of the filters, and the number of windows.
    image: [usize; 2],
    kernel: [usize; 2],
    rows: usize,
    columns: usize,
    /// Where a tap reads, without its offset: `window * stride + tap * dilation - pad`.
    strides: [f32; 2],
    dilations: [f32; 2],
    pads: [f32; 2],
    /// Whether places up to one pixel outside are read.
    padded: bool,
}

impl DeformableConvolution {
    fn plan(&self, data: &Tensor, filters: &Tensor) -> Result<SamplingPlan, OpError> {
        let refuse = || OpError::dims_conflict(CANNOT_CONVOLVE, data.dims(), filters.dims());
        let (&[_, channels, height, width], &[outputs, depth, down, along]) = (data.dims(), filters.dims())
        else {
            return Err(refuse());
        };
        let positive = |value: i64| usize::try_from(value).ok().filter(|&value| value > 0).ok_or_else(refuse);
        let (groups, deformable_groups) = (positive(self.group)?, positive(self.deformable_group)?);
        let divides = outputs % groups == 0 && channels % deformable_groups == 0;
        if depth.checked_mul(groups) != Some(channels) || !divides {
            return Err(refuse());
        }
        let (window, counts) = self.sliding.concrete(&[height, width], &[down, along], Rounding::Floor)?;
        let (&[rows, columns], &[top, left]) = (&counts[..], &window.pads_begin[..]) else {
            return Err(refuse());
        };
        let both = |list: &[usize]| -> Result<[f32; 2], OpError> {
            let &[y, x] = list else { return Err(refuse()) };
            Ok([y as f32, x as f32])
        };
        // What is sampled is as large as an unrolled convolution: refused before it is made.
        Tensor::zeros(ElementType::F32, &[])?.broadcast_to(&[channels, down, along, rows, columns])?;
        Ok(SamplingPlan {
            channels,
            groups,
            deformable_groups,
            image: [height, width],
            kernel: [down, along],
            rows,
            columns,
            strides: both(&window.strides)?,
            dilations: both(&window.dilations)?,
            pads: [top as f32, left as f32],
            padded: self.bilinear_interpolation_pad == Some(true),
        })
    }
}

impl SamplingPlan {
    /// `[channels, taps, windows]`: what each tap reads in each channel at each window.
    fn sample(&self, image: &[f32], offsets: &[f32], mask: Option<&[f32]>) -> Vec<f32> {
        let (places, taps) = (self.rows * self.columns, self.kernel[0] * self.kernel[1]);
        let area = self.image[0] * self.image[1];
        let in_group = self.channels / self.deformable_groups;
        let mut seen = vec![0f32; self.channels * taps * places];
        if area == 0 {
            return seen;
        }
        // What a tap mixes at each window is the same for all channels of a group.
        let mut mixes: Vec<[(usize, f32); 4]> = Vec::with_capacity(places);
        for number in 0..self.deformable_groups * taps {
            let (group, tap) = (number / taps, number % taps);
            let tap_at = [tap / self.kernel[1], tap % self.kernel[1]];
            mixes.clear();
            mixes.extend((0..places).map(|place| {
                let window = [place / self.columns, place % self.columns];
                let position = [0, 1].map(|i| {
                    let base = window[i] as f32 * self.strides[i] + tap_at[i] as f32 * self.dilations[i]
                        - self.pads[i];
                    base + offsets[(2 * number + i) * places + place]
                });
                self.pixels(position)
            }));
            let scales = mask.map(|mask| &mask[number * places..][..places]);
            for channel in group * in_group..(group + 1) * in_group {
                let plane = &image[channel * area..][..area];
                let row = &mut seen[(channel * taps + tap) * places..][..places];
                for (to, mix) in row.iter_mut().zip(&mixes) {
                    // What does not count is not read: it may be infinite.
                    let mixed = |&(pixel, weight): &(usize, f32)| {
                        if weight == 0.0 { 0.0 } else { plane[pixel] * weight }
                    };
                    *to = mix.iter().map(mixed).sum();
                }
                if let Some(scales) = scales {
                    row.iter_mut().zip(scales).for_each(|(to, &scale)| *to *= scale);
                }
            }
        }
        seen
    }

    /// The pixels that mix at a place, and how much of each: 0 of those that are not there.
    fn pixels(&self, position: [f32; 2]) -> [(usize, f32); 4] {
        let ends = self.image.map(|size| size as f32);
        let least = if self.padded { -1.0 } else { 0.0 };
        let inside = |i: usize| {
            let at = position[i];
            (if self.padded { at > least } else { at >= least }) && at < ends[i]
        };
        let mut pixels = [(0, 0.0); 4];
        if !inside(0) || !inside(1) {
            return pixels;
        }
        let [y, x] = [0, 1].map(|i| {
            let below = position[i].floor();
            let part = position[i] - below;
            // Without padding the pixel at the edge stands for the one after it.
            let above = if self.padded { below + 1.0 } else { (below + 1.0).min(ends[i] - 1.0) };
            [(below, 1.0 - part), (above, part)]
                .map(|(at, weight)| if at >= 0.0 && at < ends[i] { (at as usize, weight) } else { (0, 0.0) })
        });
        let corners = y.iter().flat_map(|&(row, a)| x.iter().map(move |&(column, b)| (row, column, a * b)));
        for (pixel, (row, column, weight)) in pixels.iter_mut().zip(corners) {
            *pixel = (row * self.image[1] + column, weight);
        }
        pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(offset: [f32; 2], padded: bool) -> Vec<f32> {
        let data = Tensor::from_vec(&[1, 1, 2, 2], vec![1f32, 2., 3., 4.]).unwrap();
        let filters = Tensor::from_vec(&[1, 1, 1, 1], vec![1f32]).unwrap();
        let offsets: Vec<f32> = offset.iter().flat_map(|&value| [value; 4]).collect();
        let offsets = Tensor::from_vec(&[1, 2, 2, 2], offsets).unwrap();
        let op = DeformableConvolution {
            sliding: Sliding::default(),
            group: 1,
            deformable_group: 1,
            bilinear_interpolation_pad: Some(padded),
        };
        op.eval(&[data, offsets, filters]).unwrap()[0].to_f32_vec().unwrap()
    }

    #[test]
    fn offsets_move_what_is_read() {
        assert_eq!(run([0., 0.], false), [1., 2., 3., 4.]);
        assert_eq!(run([0., 1.], false), [2., 0., 4., 0.]);
        assert_eq!(run([0.5, 0.], false), [2., 3., 3., 4.]);
        assert_eq!(run([0.5, 0.], true), [2., 3., 1.5, 2.]);
        assert_eq!(run([-0.5, 0.], false), [0., 0., 2., 3.]);
        assert_eq!(run([-0.5, 0.], true), [0.5, 1., 2., 3.]);
    }
}
