//! ExtractImagePatches-3.

use snick_shape::{IntOp, Integers, Shape, WideIntegers};
use snick_tensor::Tensor;
use snick_tensor::kernels::{self, PadMode};

use crate::ops::nn::window::{AutoPad, Numbers, Rounding, Windows, extent};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, exactly};

op! {
    /// Extracts patches from images and stacks them on the channel axis: `[N, C, H, W]` to
    /// `[N, rows * columns of a patch * C, patches down, patches across]`. With valid padding, patches that
    /// extend beyond the image are dropped; otherwise the image is padded with zeros so that patches cover
    /// all of it.
    #[op(
        "ExtractImagePatches", since = [3], inputs = Arity::exactly(1), category = Movement, traits = [PURE],
        check = Self::check_patches
    )]
    pub struct ExtractImagePatches {
        /// Rows and columns of a patch, at least 1.
        pub sizes: Numbers,
        /// Distances between neighbouring patches, at least 1.
        pub strides: Numbers,
        /// Distances between neighbouring elements of a patch, at least 1.
        pub rates: Numbers,
        /// The padding mode; never explicit.
        pub auto_pad: AutoPad,
    }
}

impl InferOp for ExtractImagePatches {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "4", |rank| rank == 4)?;
        let element_type = cx.element_type(0);
        let Some([batch, channels, space @ ..]) = cx.shape(0).dims() else {
            let dims = cx.unknown_dims(4);
            return Ok(Facts::from(Fact::new(element_type, dims)));
        };
        let area = cx.mul(&self.sizes[0].into(), &self.sizes[1].into());
        let mut dims = [batch.clone(), cx.mul(channels, &area), 0.into(), 0.into()];
        for (i, size) in space.iter().enumerate().take(2) {
            let Ok([count, _]) = self.patches(cx, i, size);
            dims[2 + i] = count;
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for ExtractImagePatches {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = exactly(inputs)?;
        let &[batch, channels, height, width] = data.dims() else {
            return Err(OpError::rank("the image", data.rank(), "4"));
        };
        let too_large = || OpError::unsupported("a patch of this size");
        let mut axes = Vec::with_capacity(2);
        for (i, size) in [height, width].into_iter().enumerate() {
            axes.push(self.axis(i, size).ok_or_else(too_large)?);
        }
        let (down, along) = (axes[0], axes[1]);
        let stacked = down.size.checked_mul(along.size).and_then(|area| area.checked_mul(channels));
        let dims = [batch, stacked.ok_or_else(too_large)?, down.count, along.count];
        if dims.contains(&0) {
            return Ok(vec![Tensor::zeros(data.element_type(), &dims)?]);
        }
        // Reject a result that is too large before allocating memory: creating a view checks the size.
        Tensor::zeros(data.element_type(), &[1, 1, 1, 1])?.broadcast_to(&dims)?;
        let begin = [0, 0, down.before, along.before];
        let end = [0, 0, down.after, along.after];
        let padded = kernels::pad(data, &begin, &end, PadMode::Constant, None)?;
        let mut parts = Vec::with_capacity(down.size * along.size);
        for row in 0..down.size {
            let rows = padded.slice(2, row * down.rate, down.count, down.stride)?;
            for column in 0..along.size {
                parts.push(rows.slice(3, column * along.rate, along.count, along.stride)?);
            }
        }
        Ok(vec![kernels::concat(&parts.iter().collect::<Vec<_>>(), 1)?])
    }
}

/// The patches along an axis of concrete size.
#[derive(Copy, Clone)]
struct PatchAxis {
    size: usize,
    rate: usize,
    stride: isize,
    count: usize,
    before: isize,
    after: isize,
}

impl ExtractImagePatches {
    fn check_patches(&self, raw: &RawNode) -> Result<(), OpError> {
        for (name, list) in [("sizes", &self.sizes), ("strides", &self.strides), ("rates", &self.rates)] {
            if list.len() != 2 || list.iter().any(|&value| value < 1) {
                return Err(raw.attrs.bad(name, "two positive integers"));
            }
        }
        match self.auto_pad {
            AutoPad::Explicit => Err(raw.attrs.bad("auto_pad", "one of valid, same_upper, same_lower")),
            _ => Ok(()),
        }
    }

    fn windows(&self) -> Windows<'_> {
        let Self { strides, rates: dilations, auto_pad, .. } = self;
        let (pads_begin, pads_end): (&[i64], &[i64]) = (&[], &[]);
        Windows { strides, dilations, pads_begin, pads_end, auto_pad: *auto_pad, rounding: Rounding::Floor }
    }

    /// The number of patches on spatial axis `i`, which is 0 for images that are too small, and the extent of
    /// a patch.
    fn patches<D: Integers>(&self, d: &mut D, i: usize, image: &D::Int) -> Result<[D::Int; 2], D::Error> {
        let windows = self.windows();
        let reach = extent(d, &self.sizes[i].into(), self.rates[i], &1.into())?;
        let room = windows.axis(i).room_of(d, image, &reach)?;
        let count = windows.count_of(d, i, image, &room, 1)?;
        Ok([d.compute(IntOp::Max, &count, &0.into())?, reach])
    }

    /// The patches and the padding along an axis for a concrete image size; `None` on overflow.
    fn axis(&self, i: usize, image: usize) -> Option<PatchAxis> {
        let [size, rate, stride] = [self.sizes[i], self.rates[i], self.strides[i]];
        let image = i128::try_from(image).ok()?;
        let d = &mut WideIntegers;
        let Ok([count, reach]) = self.patches(d, i, &image);
        let [before, _] = self.windows().pads(i, image, reach);
        let Ok(span) = extent(d, &count, stride, &reach);
        let after = span - image - before;
        Some(PatchAxis {
            size: size.try_into().ok()?,
            rate: rate.try_into().ok()?,
            stride: stride.try_into().ok()?,
            count: count.try_into().ok()?,
            before: before.try_into().ok()?,
            after: after.try_into().ok()?,
        })
    }
}
