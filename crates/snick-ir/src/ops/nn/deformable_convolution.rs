//! DeformableConvolution-1 and DeformableConvolution-8.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor, kernels};

use super::blocks::divided;
use super::convolve::{CANNOT_CONVOLVE, operand_type};
use super::deformable_sampling::SamplingPlan;
use super::window::{DilatedSliding, spatial_dims};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError, RawNode, Since, leading};

op! {
    /// Deformable convolution: each filter tap reads the data at its own offset. Inputs: data `[N, C, H, W]`,
    /// offsets `[N, D * taps * 2, rows, columns]`, filters `[O, C / G, H', W']` and, since opset 8,
    /// optionally a mask `[N, D * taps, rows, columns]`, for D deformable groups, G groups and
    /// `taps = H' * W'`. Output: `[N, O, rows, columns]`. An offset (y, x) shifts the position that a tap
    /// reads; values between pixels are interpolated. The mask scales the values.
    #[op(
        "DeformableConvolution", since = [1, 8], inputs = Arity::between(3, 4),
        category = Convolution, traits = [PURE], weights = [2],
        check = Self::check_groups
    )]
    pub struct DeformableConvolution {
        /// The version; version 1 has no mask.
        pub since: Since = Since(8),
        /// The strides, dilations and padding of the filters.
        pub sliding: DilatedSliding = DilatedSliding::default(),
        /// Number of groups of channels, at least 1.
        pub group: i64 = 1,
        /// Number of groups of channels with their own offsets, at least 1.
        pub deformable_group: i64 = 1,
        /// Whether positions up to one pixel outside the image are interpolated with surrounding zeros;
        /// otherwise they yield 0.
        #[since(8)]
        pub bilinear_interpolation_pad: bool = false,
    }
}

impl InferOp for DeformableConvolution {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if !self.since.at_least(8) {
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
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        }
        let slides = self.sliding.windows();
        slides.check(2)?;
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
        let mut windows: SmallVector<SymExpr, 4> = SmallVector::new();
        for (i, (size, kernel)) in sizes.iter().zip(&kernel).enumerate() {
            windows.push(slides.count(cx, i, size, kernel));
        }
        // Offsets and mask have one entry per window, so their sizes may determine output sizes.
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
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::from([batch, outputs]);
        dims.extend(windows);
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }

    fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
        OpCost::multiply_adds(output, inputs[2].shape.dims()?.get(1..)?)
    }
}

impl EvalOp for DeformableConvolution {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([data, offsets, filters], mask) = leading(inputs)?;
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

impl DeformableConvolution {
    fn check_groups(&self, raw: &RawNode) -> Result<(), OpError> {
        let groups = [("group", self.group), ("deformable_group", self.deformable_group)];
        match groups.iter().find(|(_, groups)| *groups < 1) {
            Some((name, _)) => Err(raw.attrs.bad(name, "1 or more")),
            None => Ok(()),
        }
    }

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
        let (window, counts) = self.sliding.windows().concrete(&[height, width], &[down, along])?;
        let (&[rows, columns], &[top, left]) = (&counts[..], &window.pads_begin[..]) else {
            return Err(refuse());
        };
        let both = |list: &[usize]| -> Result<[f32; 2], OpError> {
            let &[y, x] = list else { return Err(refuse()) };
            Ok([y as f32, x as f32])
        };
        // The samples are as large as an im2col buffer, so check their size before allocating them.
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
            padded: self.bilinear_interpolation_pad,
        })
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
        let op =
            DeformableConvolution { bilinear_interpolation_pad: padded, ..DeformableConvolution::default() };
        op.eval(&[data, offsets, filters]).unwrap()[0].to_f32_vec().unwrap()
    }

    #[test]
    fn offsets_shift_the_samples() {
        assert_eq!(run([0., 0.], false), [1., 2., 3., 4.]);
        assert_eq!(run([0., 1.], false), [2., 0., 4., 0.]);
        assert_eq!(run([0.5, 0.], false), [2., 3., 3., 4.]);
        assert_eq!(run([0.5, 0.], true), [2., 3., 1.5, 2.]);
        assert_eq!(run([-0.5, 0.], false), [0., 0., 2., 3.]);
        assert_eq!(run([-0.5, 0.], true), [0.5, 1., 2., 3.]);
    }
}
