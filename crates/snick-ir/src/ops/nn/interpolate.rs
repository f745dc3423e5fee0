//! Interpolate-1, Interpolate-4 and Interpolate-11.

mod infer;
mod resize;
mod resized;
mod weights;

use std::borrow::Cow;

use snick_tensor::kernels::{self, Coordinates, InterpolateMode, Nearest, PadMode};
use snick_tensor::{SmallVector, Tensor};

pub use self::resize::OutputSize;
use super::window::Numbers;
use crate::op::AttrField;
use crate::{
    Arity, AttrValue, CoordinateTransformation, EvalOp, OpError, RawNode, Resampling, ResizeKernel,
    ResizeRules, Since, normalize_axes, normalize_each_axis,
};

op! {
    /// Resizes data on some axes, after padding it with zeros. The inputs depend on the version:
    ///
    /// - Version 1: data and sizes; the axes are an attribute.
    /// - Version 4: data, sizes, scales and, optionally, axes; `shape_calculation_mode` selects sizes or scales.
    /// - Version 11: data, sizes or scales and, optionally, axes.
    #[op(
        "Interpolate", since = [1, 4, 11], inputs = Arity::between(2, 4),
        category = Movement, traits = [PURE]
    )]
    pub struct Interpolate {
        /// The version.
        pub since: Since = Since(11),
        /// The interpolation mode.
        pub mode: Mode = Mode::Nearest,
        /// Whether to widen the filter when an axis shrinks.
        pub antialias: bool = false,
        /// Zeros to add before each axis; 0 for missing entries.
        pub pads_begin: Numbers = Numbers::new(),
        /// Zeros to add after each axis; 0 for missing entries.
        pub pads_end: Numbers = Numbers::new(),
        /// The axes to resize, ascending; sizes are listed in this order.
        #[until(4)]
        pub axes: AxisSet = AxisSet::default(),
        /// Whether the centres of the first and last elements of input and output coincide.
        #[until(4)]
        pub align_corners: bool = true,
        /// Whether to use sizes or scales.
        #[since(4)]
        pub shape_calculation_mode: ShapeCalculation = ShapeCalculation::Sizes,
        /// How output positions map to input positions.
        #[since(4)]
        pub coordinate_transformation_mode: Coordinates = Coordinates::HalfPixel,
        /// How to choose the nearest element.
        #[since(4)]
        pub nearest_mode: Nearest = Nearest::RoundPreferFloor,
        /// The coefficient of the cubic modes.
        #[since(4)]
        pub cube_coeff: f64 = -0.75,
    }
}

/// The interpolation mode.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The nearest element.
    Nearest,
    /// Linear interpolation; from rank 5 on, a triangle filter.
    Linear,
    /// Linear interpolation of two neighbours on each axis, as in ONNX.
    LinearOnnx,
    /// Cubic interpolation of four neighbours on each axis.
    Cubic,
    /// The triangle filter of the Pillow library.
    BilinearPillow,
    /// The cubic filter of the Pillow library.
    BicubicPillow,
    /// The mean over an area; not supported at run time.
    Area,
}

attr_words!(Mode {
    Nearest = "nearest",
    Linear = "linear",
    LinearOnnx = "linear_onnx",
    Cubic = "cubic",
    BilinearPillow = "bilinear_pillow",
    BicubicPillow = "bicubic_pillow",
    Area = "area",
});

attr_words!(Coordinates {
    HalfPixel = "half_pixel",
    PytorchHalfPixel = "pytorch_half_pixel",
    Asymmetric = "asymmetric",
    TfHalfPixelForNn = "tf_half_pixel_for_nn",
    AlignCorners = "align_corners",
});

attr_words!(Nearest {
    RoundPreferFloor = "round_prefer_floor",
    RoundPreferCeil = "round_prefer_ceil",
    Floor = "floor",
    Ceil = "ceil",
    Simple = "simple",
});

/// The input that determines the size of the output.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ShapeCalculation {
    /// The input with sizes.
    Sizes,
    /// The input with scales.
    Scales,
}

attr_words!(ShapeCalculation { Sizes = "sizes", Scales = "scales" });

/// Distinct axes in ascending order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AxisSet(Numbers);

impl AttrField for AxisSet {
    fn kind() -> Cow<'static, str> {
        Numbers::kind()
    }

    fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError> {
        Ok(raw.attrs.ints(name)?.map(|mut axes| {
            axes.sort_unstable();
            axes.dedup();
            Self(axes)
        }))
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        self.0.value()
    }
}

impl EvalOp for Interpolate {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.arity().check(inputs.len())?;
        let (target, axes) = self.ports();
        let data = self.padded(&inputs[0])?;
        let to = self.resized(data.dims(), &inputs[target], axes.and_then(|port| inputs.get(port)))?;
        let kernel = self.kernel(data.rank())?;
        Ok(vec![kernels::interpolate(&data, &to.axes, &to.sizes, &to.scales, &kernel)?])
    }
}

impl Interpolate {
    fn is_first_definition(&self) -> bool {
        !self.since.at_least(4)
    }

    fn arity(&self) -> Arity {
        match self.since.0 {
            0..4 => Arity::exactly(2),
            4..11 => Arity::between(3, 4),
            _ => Arity::between(2, 3),
        }
    }

    /// Whether scales, rather than sizes, determine the output.
    pub fn by_scales(&self) -> bool {
        self.shape_calculation_mode == ShapeCalculation::Scales && !self.is_first_definition()
    }

    /// The index of the input with sizes or scales, and of the optional input with axes.
    pub fn ports(&self) -> (usize, Option<usize>) {
        match self.since.0 {
            0..4 => (1, None),
            4..11 => (if self.by_scales() { 2 } else { 1 }, Some(3)),
            _ => (1, Some(2)),
        }
    }

    /// The axes to resize; `listed` are the axes given by an input.
    ///
    /// # Errors
    /// If an axis is out of range for this rank.
    pub fn resized_axes(
        &self,
        listed: Option<&[i64]>,
        rank: usize,
    ) -> Result<SmallVector<usize, 4>, OpError> {
        match listed {
            _ if self.is_first_definition() => normalize_axes(&self.axes.0, rank),
            Some(axes) => normalize_each_axis(axes, rank),
            None => Ok((0..rank).collect()),
        }
    }

    /// Whether the data is padded before resizing.
    pub fn is_padded(&self) -> bool {
        self.pads_begin.iter().chain(&self.pads_end).any(|&pad| pad != 0)
    }

    fn padded(&self, data: &Tensor) -> Result<Tensor, OpError> {
        if !self.is_padded() {
            return Ok(data.clone());
        }
        let counts = |pads: &Numbers| -> Result<SmallVector<isize, 4>, OpError> {
            let count = |axis| {
                let pad = pad_of(pads, axis)?;
                isize::try_from(pad)
                    .map_err(|_| OpError::out_of_range("a pad", pad, "a size that fits in memory"))
            };
            (0..data.rank()).map(count).collect()
        };
        let (begin, end) = (counts(&self.pads_begin)?, counts(&self.pads_end)?);
        Ok(kernels::pad(data, &begin, &end, PadMode::Constant, None)?)
    }

    /// The kernel settings for data of this rank. Version 1 is a special case of later versions.
    fn kernel(&self, rank: usize) -> Result<kernels::Interpolate, OpError> {
        let mode = match self.mode {
            Mode::Nearest => InterpolateMode::Nearest,
            Mode::Linear => InterpolateMode::Linear,
            Mode::LinearOnnx => InterpolateMode::LinearOnnx,
            Mode::Cubic => InterpolateMode::Cubic,
            Mode::BilinearPillow => InterpolateMode::BilinearPillow,
            Mode::BicubicPillow => InterpolateMode::BicubicPillow,
            Mode::Area => return Err(OpError::unsupported("interpolation by area")),
        };
        let (coordinates, nearest) = match self.is_first_definition() {
            false => (self.coordinate_transformation_mode, self.nearest_mode),
            true => (self.first_coordinates(rank), Nearest::Simple),
        };
        let (antialias, cube_coeff) = (self.antialias, self.cube_coeff);
        Ok(kernels::Interpolate { mode, nearest, coordinates, antialias, cube_coeff })
    }

    /// Describes the resizing so that it can be lowered to other ops, for data of this rank. Returns `None`
    /// for modes that cannot be lowered: `Area`, the Pillow modes, and `Linear` from rank 5 on.
    pub fn resampling(&self, rank: usize) -> Option<Resampling> {
        let kernel = self.kernel(rank).ok()?;
        let transformation = match kernel.coordinates {
            Coordinates::HalfPixel => CoordinateTransformation::HalfPixel,
            Coordinates::PytorchHalfPixel => CoordinateTransformation::PytorchHalfPixel,
            Coordinates::Asymmetric => CoordinateTransformation::Asymmetric,
            Coordinates::TfHalfPixelForNn => CoordinateTransformation::TfHalfPixelForNn,
            Coordinates::AlignCorners => CoordinateTransformation::AlignCorners,
        };
        let kernel = match kernel.mode {
            InterpolateMode::Nearest => ResizeKernel::Nearest(kernel.nearest),
            InterpolateMode::LinearOnnx => ResizeKernel::Linear,
            InterpolateMode::Linear if rank < 5 => ResizeKernel::Linear,
            InterpolateMode::Cubic => ResizeKernel::Cubic(self.cube_coeff),
            InterpolateMode::Linear | InterpolateMode::BilinearPillow | InterpolateMode::BicubicPillow => {
                return None;
            }
        };
        Some(Resampling {
            rules: ResizeRules::OpenVino,
            transformation,
            kernel,
            antialias: false,
            exclude_outside: false,
            extrapolation: 0.0,
            unless: None,
        })
    }

    /// The coordinate transformation of version 1. Without `align_corners`, the OpenVINO runtime aligns pixel
    /// centres in linear mode, except for images (rank 4, resized on axes 2 and 3) and padded data.
    fn first_coordinates(&self, rank: usize) -> Coordinates {
        let is_image = rank == 4 && *self.axes.0 == [2, 3];
        if self.align_corners {
            Coordinates::AlignCorners
        } else if self.mode == Mode::Linear && !self.is_padded() && !is_image {
            Coordinates::HalfPixel
        } else {
            Coordinates::Asymmetric
        }
    }
}

/// The padding of an axis; 0 if the list is too short to include the axis.
fn pad_of(pads: &Numbers, axis: usize) -> Result<i64, OpError> {
    match pads.get(axis).copied().unwrap_or(0) {
        pad @ 0.. => Ok(pad),
        pad => Err(OpError::out_of_range("a pad", pad, "0 or more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attrs, OpDef, RawNode, Version};

    fn parsed(attrs: Attrs<'static>, since: u8) -> Interpolate {
        let mut raw = RawNode::openvino("Interpolate", Version::Opset(since), attrs, 1);
        raw.since = since;
        Interpolate::parse(&raw).unwrap()
    }

    /// Resizes the data `[[1, 2]]`.
    fn resized(by: &[f32], axes: &[i64]) -> Tensor {
        let attrs = Attrs::new()
            .with("mode", "nearest")
            .with("shape_calculation_mode", "scales")
            .with("coordinate_transformation_mode", "asymmetric")
            .with("nearest_mode", "floor");
        let op = parsed(attrs, 11);
        let data = Tensor::from_vec(&[1, 2], vec![1f32, 2.0]).unwrap();
        let by = Tensor::from_vec(&[by.len()], by.to_vec()).unwrap();
        let axes = Tensor::from_vec(&[axes.len()], axes.to_vec()).unwrap();
        op.eval(&[data, by, axes]).unwrap().remove(0)
    }

    #[test]
    fn the_first_definition_aligns_pixel_centres_of_lines_and_corners_of_images() {
        let resized = |axes: &'static str, dims: &[usize], pads: &'static str| {
            let attrs = Attrs::new()
                .with("mode", "linear")
                .with("align_corners", false)
                .with("axes", axes)
                .with("pads_begin", pads);
            let op = parsed(attrs, 1);
            let data = Tensor::from_vec(dims, vec![1f32, 3.0]).unwrap();
            let sizes = Tensor::from_vec(&[2], vec![4i64, 1]).unwrap();
            op.eval(&[data, sizes]).unwrap()[0].to_f32_vec().unwrap()
        };
        assert_eq!(resized("2,3", &[1, 1, 2, 1], "0"), [1.0, 2.0, 3.0, 3.0]);
        assert_eq!(resized("1,2", &[1, 2, 1], "0"), [1.0, 1.5, 2.5, 3.0]);
        assert_eq!(resized("1,2", &[1, 2, 1], "0,0,0"), [1.0, 1.5, 2.5, 3.0]);
    }

    #[test]
    fn an_axis_listed_twice_is_scaled_twice() {
        assert_eq!(resized(&[1.5, 2.0], &[1, -1]).to_f32_vec().unwrap(), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    }

    #[test]
    fn outputs_may_be_empty() {
        assert_eq!(resized(&[0.0], &[1]).dims(), [1, 0]);
        assert_eq!(resized(&[0.0, 2.0], &[1, 0]).dims(), [2, 0]);
    }
}
