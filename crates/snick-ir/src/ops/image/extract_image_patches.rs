//! ExtractImagePatches-3.

use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;
use snick_tensor::kernels::{self, PadMode};

use crate::ops::nn::window::{AutoPad, Numbers, Rounding, Windows, reach};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, exactly};

op! {
    /// Patches of images, stacked on the channels: `[N, C, H, W]` to
    /// `[N, rows * columns of a patch * C, patches down, patches along]`. A patch that does not fit is dropped, unless the
    /// padding makes every element start a stride; elements outside are zero.
    #[op(
        "ExtractImagePatches", since = [3], inputs = Arity::exactly(1), traits = [PURE],
        check = Self::check_patches
    )]
    pub struct ExtractImagePatches {
        /// Rows and columns of a patch, at least 1.
        pub sizes: Numbers,
        /// Distances between neighbouring patches, at least 1.
        pub strides: Numbers,
        /// Distances between neighbouring elements of a patch, at least 1.
        pub rates: Numbers,
        /// What decides on the padding; never explicit.
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
            dims[2 + i] = self.patches(cx, i, size);
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
        // A view of the size of the result: fails if that is too large, before memory is allocated.
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

/// Patches along an axis of concrete size.
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

    /// The number of patches along spatial axis `i`.
    fn patches(&self, cx: &mut Infer, i: usize, size: &SymExpr) -> SymExpr {
        let stride = SymExpr::from(self.strides[i]);
        if self.auto_pad.is_same() {
            return cx.ceil_div(size, &stride);
        }
        let reach = reach(cx, &self.sizes[i].into(), self.rates[i]);
        let room = cx.sub(size, &reach);
        let steps = cx.floor_div(&room, &stride);
        let count = cx.add(&steps, &1.into());
        cx.max(&count, &0.into())
    }

    /// The same for a concrete size, and the padding; `None` if numbers overflow.
    fn axis(&self, i: usize, image: usize) -> Option<PatchAxis> {
        let [size, rate, stride] = [self.sizes[i], self.rates[i], self.strides[i]].map(i128::from);
        let image = i128::try_from(image).ok()?;
        let reach = (size - 1) * rate + 1;
        let windows = Windows {
            strides: &self.strides,
            dilations: &self.rates,
            pads_begin: &[],
            pads_end: &[],
            auto_pad: self.auto_pad,
            rounding: Rounding::Floor,
        };
        let [before, _] = windows.pads(i, image, reach);
        let count = match self.auto_pad.is_same() {
            true => (image + stride - 1) / stride,
            false => ((image - reach).div_euclid(stride) + 1).max(0),
        };
        let after = (count - 1) * stride + reach - image - before;
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
