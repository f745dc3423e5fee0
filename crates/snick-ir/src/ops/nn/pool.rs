//! Pooling windows over data `[N, C, spatial..]`, shared by MaxPool and AvgPool.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::Window;
use snick_tensor::{Dims, SmallVector, Tensor};

use super::window::{Numbers, Rounding, Sliding, Windows, expect_spatial, spatial_dims};
use crate::{Fact, Infer, OpCost, OpError, RawNode};

attrs! {
    /// A pooling window.
    pub struct PoolWindow {
        /// Size of a window on each spatial axis, at least 1.
        pub kernel: Numbers,
        /// The placement of windows.
        pub sliding: Sliding = Sliding::default(),
        /// How to treat a last window that extends beyond the padded input; `ceil_torch` requires opset 14.
        pub rounding_type: Rounding = Rounding::Floor,
    }
}

/// A pooling window for concrete sizes.
pub(super) struct ConcretePool {
    /// Size of a window on each axis.
    pub(super) kernel: Dims,
    /// The strides, dilations and padding of the window.
    pub(super) window: Window,
    /// Number of windows on each axis.
    pub(super) counts: Dims,
    /// Whether the attributes add any padding.
    pub(super) is_padded: bool,
}

impl PoolWindow {
    /// The windows with these dilations.
    pub fn windows<'a>(&'a self, dilations: &'a [i64]) -> Windows<'a> {
        self.sliding.windows(dilations, self.rounding_type)
    }

    /// Rejects a rounding mode that this version of the op lacks.
    pub(super) fn check_rounding(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.rounding_type == Rounding::CeilTorch && raw.since < 14 {
            true => Err(raw.attrs.bad("rounding_type", "floor or ceil")),
            false => Ok(()),
        }
    }

    /// The cost: one operation for each element of each window.
    pub(super) fn cost(&self, output: &Fact) -> Option<OpCost> {
        let kernel = self.kernel.iter().map(|&size| size.into());
        Some(OpCost::Elementwise(output.shape.dims()?.iter().cloned().chain(kernel).collect()))
    }

    /// The shape of the output.
    pub(super) fn infer_shape(&self, cx: &mut Infer, dilations: &[i64]) -> Result<Shape, OpError> {
        expect_spatial(cx, 0, 2)?;
        let data = cx.shape(0);
        let spatial = self.kernel.len();
        if let Some(rank) = data.rank().filter(|&rank| rank != spatial + 2) {
            let expected = format!("{}, one a spatial axis", rank.saturating_sub(2));
            return Err(OpError::mismatch("the number of entries of `kernel`", spatial, expected));
        }
        let windows = self.windows(dilations);
        windows.check(spatial)?;
        if let Some(&size) = self.kernel.iter().find(|&&size| size < 1) {
            return Err(OpError::out_of_range("`kernel`", size, "1 or more"));
        }
        let outside = spatial_dims(cx, data, 0, 2);
        let mut dims: SmallVector<SymExpr, 4> = outside.into_iter().take(2).collect();
        let mut named = ["batch", "channels"].iter().zip(&dims);
        if let Some((name, _)) = named.find(|(_, dim)| dim.as_const() == Some(0)) {
            return Err(OpError::out_of_range(format!("the size of the {name}"), 0, "1 or more"));
        }
        for (i, (size, &kernel)) in spatial_dims(cx, data, 2, spatial).iter().zip(&self.kernel).enumerate() {
            if windows.auto_pad.is_same() && cx.interval(size).hi() == 0 {
                return Err(OpError::out_of_range(format!("the size of spatial axis {i}"), 0, "1 or more"));
            }
            let count = windows.count(cx, i, size, &kernel.into());
            dims.push(match self.rounding_type {
                Rounding::CeilTorch => cx.as_dim(&count).unwrap_or_else(|| cx.unknown(Interval::DIM)),
                _ => count,
            });
        }
        Ok(Shape::ranked(dims))
    }

    /// The window for data of concrete size.
    pub(super) fn concrete(&self, data: &Tensor, dilations: &[i64]) -> Result<ConcretePool, OpError> {
        let kernel: Dims = self.kernel.iter().filter_map(|&size| size.try_into().ok()).collect();
        let spatial = data.dims().get(2..).unwrap_or_default();
        if spatial.is_empty() || spatial.len() != kernel.len() {
            return Err(OpError::rank("data", data.rank(), (self.kernel.len() + 2).to_string()));
        }
        let windows = self.windows(dilations);
        let (mut window, counts) = windows.concrete(spatial, &kernel)?;
        let is_padded = window.pads_begin.iter().chain(&window.pads_end).any(|&pad| pad != 0);
        if self.rounding_type == Rounding::Ceil {
            // The last window may extend beyond the padding. Its elements there count as padding, too.
            for (i, end) in window.pads_end.iter_mut().enumerate() {
                let begin = window.pads_begin[i] as i64;
                let overhang = windows.axis(i).overhang(spatial[i], kernel[i], counts[i], begin);
                *end = isize::try_from(overhang).map_or(*end, |overhang| overhang.max(*end));
            }
        }
        Ok(ConcretePool { kernel, window, counts, is_padded })
    }
}
