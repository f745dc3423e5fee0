//! Resizing in terms of other ops. Each axis is either multiplied by a weight matrix computed from the sizes,
//! or gathered at the nearest elements.

use snick_tensor::ElementType;
use snick_tensor::kernels::{BinaryOp, Nearest, PadMode};

use super::GraphBuilder;
use crate::ops::nn::scale::Scale;
use crate::{OpError, Value, ops};

/// How to resample an axis.
#[derive(Copy, Clone, Debug)]
pub struct Resampling {
    /// The format whose rules apply where ONNX and OpenVINO differ.
    pub rules: ResizeRules,
    /// How output coordinates map to input coordinates.
    pub transformation: CoordinateTransformation,
    /// How an output element is computed from the input elements around it.
    pub kernel: ResizeKernel,
    /// Whether the kernel widens when an axis shrinks.
    pub antialias: bool,
    /// Whether positions outside the data have weight 0; otherwise, they repeat the elements at the edges.
    pub exclude_outside: bool,
    /// The value outside the data, for [`CoordinateTransformation::Crop`].
    pub extrapolation: f64,
    /// A scalar condition under which no axis is resized.
    pub unless: Option<Value>,
}

/// Which format's resizing rules apply.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ResizeRules {
    /// ONNX Resize: an axis is left unchanged only if its scale is 1. If sizes are given, ties between
    /// elements are resolved in integer arithmetic where the transformation allows it.
    Onnx,
    /// OpenVINO Interpolate: an axis is left unchanged if its input and output sizes are equal. All
    /// arithmetic is in f32.
    OpenVino,
}

/// The mapping from output to input coordinates.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum CoordinateTransformation {
    /// Aligns the first and last elements of input and output.
    AlignCorners,
    /// `x / scale`.
    Asymmetric,
    /// `(x + 0.5) / scale - 0.5`.
    HalfPixel,
    /// `HalfPixel`, adjusted to be symmetric around the centre of the data.
    HalfPixelSymmetric,
    /// `HalfPixel`, but 0 if the output has one element.
    PytorchHalfPixel,
    /// `(x + 0.5) / scale`.
    TfHalfPixelForNn,
    /// Samples a region, given as fractions of the input size. Samples outside the data get the extrapolation
    /// value.
    Crop,
}

/// The interpolation kernel.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum ResizeKernel {
    /// The nearest element, with this rounding.
    Nearest(Nearest),
    /// The two neighbours.
    Linear,
    /// The four neighbours, weighted by cubic polynomials with this coefficient.
    Cubic(f64),
}

/// How the output size of an axis is given. All values are scalars.
#[derive(Copy, Clone, Debug)]
pub enum ResizeTarget {
    /// The input size times an f32 scale, rounded down.
    Scale(Value),
    /// The input size times an f32 scale, rounded to the nearest integer.
    Ratio(Value),
    /// This output size.
    Size(Value),
}

/// One axis; all values are f32 scalars.
struct ResampledAxis {
    /// Input size.
    size: Value,
    /// Output size.
    count: Value,
    scale: Value,
    /// Whether the scale is the quotient of output and input size.
    is_quotient: bool,
    /// Start and end of the region, as fractions of the input size.
    region: Option<[Value; 2]>,
}

/// The type of coordinates and weights.
const REAL: ElementType = ElementType::F32;

type Result<T = Value, E = OpError> = std::result::Result<T, E>;

impl Resampling {
    /// Resizes `x` along an axis. `region` holds start and end for [`CoordinateTransformation::Crop`].
    ///
    /// # Errors
    /// If the axis or a value does not exist, or if a linear or cubic kernel is applied to elements that are
    /// not numbers.
    pub fn resize(
        &self,
        b: &GraphBuilder,
        x: Value,
        axis: usize,
        target: ResizeTarget,
        region: Option<[Value; 2]>,
    ) -> Result {
        let size = b.size_of(x, axis as i64)?;
        let size = b.to_scalar(size)?;
        let size = b.convert(size, REAL)?;
        let (scale, count, is_quotient) = match target {
            ResizeTarget::Scale(scale) => {
                let factor = match self.rules {
                    ResizeRules::Onnx => scale,
                    ResizeRules::OpenVino => b.add(scale, f64::from(Scale::EPSILON))?,
                };
                let exact = b.multiply(size, factor)?;
                (scale, b.floor(exact)?, false)
            }
            ResizeTarget::Ratio(scale) => {
                let exact = b.multiply(size, scale)?;
                let above = b.add(exact, 0.5)?;
                (scale, b.floor(above)?, false)
            }
            ResizeTarget::Size(count) => {
                let count = b.convert(count, REAL)?;
                (b.divide(count, size)?, count, true)
            }
        };
        self.along(b, x, axis, &ResampledAxis { size, count, scale, is_quotient, region })
    }

    fn along(&self, b: &GraphBuilder, x: Value, axis: usize, of: &ResampledAxis) -> Result {
        let rank = b.rank(x)?;
        if let ResizeKernel::Nearest(rounding) = self.kernel {
            if let Some(picks) = self.exact_picks(b, of, rounding)? {
                return picked(b, x, axis, picks, of);
            }
            let coordinates = self.coordinates(b, of)?;
            let picks = rounded(b, coordinates, of, rounding)?;
            let y = picked(b, x, axis, picks, of)?;
            let mut beside = vec![1_i64; rank - axis];
            beside[0] = -1;
            return self.cropped(b, y, coordinates, of, &beside);
        }
        let mut order: Vec<i64> = (0..rank as i64).collect();
        order.swap(axis, rank - 1);
        let last = if axis + 1 == rank { x } else { b.transpose(x, &order)? };
        let coordinates = self.coordinates(b, of)?;
        let y = self.weighted(b, last, coordinates, of)?;
        let y = self.cropped(b, y, coordinates, of, &[-1])?;
        if axis + 1 == rank { Ok(y) } else { b.transpose(y, &order) }
    }

    /// For [`CoordinateTransformation::Crop`], replaces output elements whose coordinates are outside the
    /// data with the extrapolation value. `beside` is the shape that makes the coordinates broadcast with
    /// `y`.
    fn cropped(
        &self,
        b: &GraphBuilder,
        y: Value,
        coordinates: Value,
        of: &ResampledAxis,
        beside: &[i64],
    ) -> Result {
        if self.transformation != CoordinateTransformation::Crop {
            return Ok(y);
        }
        let end = b.subtract(of.size, 1.0)?;
        let (before, behind) = (b.less(coordinates, 0.0)?, b.greater(coordinates, end)?);
        let outside = b.logical_or(before, behind)?;
        let outside = b.reshape(outside, beside)?;
        b.select(outside, self.extrapolation, y)
    }

    /// The input coordinate of each output element.
    fn coordinates(&self, b: &GraphBuilder, of: &ResampledAxis) -> Result {
        let count = b.convert(of.count, ElementType::I64)?;
        let indices = b.count_to(count)?;
        let indices = b.convert(indices, REAL)?;
        let coordinates = self.mapped(b, indices, of)?;
        let stays = match (self.rules, self.unless) {
            (_, Some(unless)) => unless,
            (ResizeRules::OpenVino, _) => b.equal(of.count, of.size)?,
            (ResizeRules::Onnx, _) if self.transformation == CoordinateTransformation::TfHalfPixelForNn => {
                b.equal(of.scale, 1.0)?
            }
            // With a scale of 1, the computed coordinates equal the indices up to rounding, so no special
            // case is needed.
            (ResizeRules::Onnx, _) => return Ok(coordinates),
        };
        b.select(stays, indices, coordinates)
    }

    fn mapped(&self, b: &GraphBuilder, indices: Value, of: &ResampledAxis) -> Result {
        let middles = |b: &GraphBuilder| {
            let middles = b.add(indices, 0.5)?;
            b.divide(middles, of.scale)
        };
        let half_pixel = |b: &GraphBuilder| {
            let coordinates = middles(b)?;
            b.subtract(coordinates, 0.5)
        };
        // `last` is the distance from the first to the last element of the input, and `steps` is the same
        // distance in the output (at least 1).
        let last = |b: &GraphBuilder| b.subtract(of.size, 1.0);
        let steps = |b: &GraphBuilder| {
            let steps = b.subtract(of.count, 1.0)?;
            b.maximum(steps, 1.0)
        };
        match self.transformation {
            CoordinateTransformation::Asymmetric => b.divide(indices, of.scale),
            CoordinateTransformation::TfHalfPixelForNn => middles(b),
            CoordinateTransformation::HalfPixel => half_pixel(b),
            CoordinateTransformation::PytorchHalfPixel => {
                let coordinates = half_pixel(b)?;
                let single = b.less(of.count, 2.0)?;
                b.select(single, 0.0, coordinates)
            }
            CoordinateTransformation::HalfPixelSymmetric => {
                let exact = b.multiply(of.size, of.scale)?;
                let kept = b.divide(of.count, exact)?;
                let lost = b.subtract(1.0, kept)?;
                let centre = b.multiply(of.size, 0.5)?;
                let offset = b.multiply(centre, lost)?;
                let coordinates = half_pixel(b)?;
                b.add(coordinates, offset)
            }
            CoordinateTransformation::AlignCorners => {
                let (last, steps) = (last(b)?, steps(b)?);
                match self.rules {
                    ResizeRules::Onnx => {
                        let coordinates = b.multiply(indices, last)?;
                        b.divide(coordinates, steps)
                    }
                    ResizeRules::OpenVino => {
                        let step = b.divide(last, steps)?;
                        b.multiply(indices, step)
                    }
                }
            }
            CoordinateTransformation::Crop => {
                let [start, stop] = of.region.ok_or(OpError::NotConnected { port: 1 })?;
                let (last, steps) = (last(b)?, steps(b)?);
                let single = b.less(of.count, 2.0)?;
                let width = b.subtract(stop, start)?;
                let width = b.multiply(width, last)?;
                let step = b.divide(width, steps)?;
                let (offset, coordinates) = (b.multiply(start, last)?, b.multiply(indices, step)?);
                let coordinates = b.add(coordinates, offset)?;
                let sum = b.add(start, stop)?;
                let middle = b.multiply(sum, 0.5)?;
                let middle = b.multiply(middle, last)?;
                b.select(single, middle, coordinates)
            }
        }
    }

    /// Computes the indices of the nearest elements in integer arithmetic, because the f32 quotient of the
    /// sizes is inexact, so that ties could be missed. `None` if the coordinates must be computed in f32.
    fn exact_picks(&self, b: &GraphBuilder, of: &ResampledAxis, rounding: Nearest) -> Result<Option<Value>> {
        let is_rounded = matches!(rounding, Nearest::RoundPreferFloor | Nearest::RoundPreferCeil);
        if self.rules != ResizeRules::Onnx || !of.is_quotient || !is_rounded {
            return Ok(None);
        }
        let size = b.convert(of.size, ElementType::I64)?;
        let count = b.convert(of.count, ElementType::I64)?;
        let indices = b.count_to(count)?;
        let twice = b.multiply(indices, 2.0)?;
        // The coordinate plus one half is `above / (2 * count)`.
        let above = match self.transformation {
            CoordinateTransformation::Asymmetric => {
                let above = b.multiply(twice, size)?;
                b.add(above, count)?
            }
            CoordinateTransformation::HalfPixel | CoordinateTransformation::PytorchHalfPixel => {
                let middles = b.add(twice, 1.0)?;
                b.multiply(middles, size)?
            }
            _ => return Ok(None),
        };
        let double = b.multiply(count, 2.0)?;
        let quotient = |b: &GraphBuilder, above: Value| {
            let division = ops::Arithmetic { function: BinaryOp::Div, broadcast: ops::AutoBroadcast::Numpy };
            b.add_op(division, &[above, double])
        };
        let picks = match rounding {
            Nearest::RoundPreferCeil => quotient(b, above)?,
            _ => {
                let above = b.add(above, double)?;
                let above = b.subtract(above, 1.0)?;
                let picks = quotient(b, above)?;
                b.subtract(picks, 1.0)?
            }
        };
        if self.transformation != CoordinateTransformation::PytorchHalfPixel {
            return Ok(Some(picks));
        }
        let single = b.less(count, 2.0)?;
        b.select(single, indices, picks).map(Some)
    }

    /// Multiplies the last axis by a matrix that has a row of weights for each coordinate.
    fn weighted(&self, b: &GraphBuilder, x: Value, coordinates: Value, of: &ResampledAxis) -> Result {
        let unit = b.scalar(REAL, 1.0)?;
        // When an axis shrinks, antialiasing widens the kernel by the inverse of the scale.
        let shrink = if self.antialias { b.minimum(of.scale, unit)? } else { unit };
        let reach = b.scalar(REAL, self.kernel.reach())?;
        let margin = b.divide(reach, shrink)?;
        let margin = b.ceiling(margin)?;
        let margin = b.add(margin, 1.0)?;
        // `elements` holds the coordinates of the data, padded by `margin` at both edges.
        let twice = b.add(margin, margin)?;
        let width = b.add(of.size, twice)?;
        let width = b.convert(width, ElementType::I64)?;
        let elements = b.count_to(width)?;
        let elements = b.convert(elements, REAL)?;
        let elements = b.subtract(elements, margin)?;
        let rows = b.unsqueeze(coordinates, &[-1])?;
        let distance = b.subtract(elements, rows)?;
        let distance = b.abs(distance)?;
        let distance = b.multiply(distance, shrink)?;
        let mut weights = self.kernel.weights_at(b, distance)?;
        if self.exclude_outside {
            let (from, to) = (b.greater_equal(elements, 0.0)?, b.less(elements, of.size)?);
            let inside = b.logical_and(from, to)?;
            let inside = b.convert(inside, REAL)?;
            weights = b.multiply(weights, inside)?;
        }
        let sum = b.reduce_sum(weights, &[-1], true)?;
        let weights = b.divide(weights, sum)?;
        let weights = b.convert(weights, b.element_type(x)?)?;
        let rank = b.rank(x)?;
        let none = b.ints(&vec![0; rank.saturating_sub(1)])?;
        let margin = b.convert(margin, ElementType::I64)?;
        let margin = b.reshape(margin, &[1])?;
        let pads = b.concat(0, &[none, margin])?;
        let x = b.add_op(ops::Pad { pad_mode: PadMode::Edge }, &[x, pads, pads])?;
        b.matmul_transposed(x, weights)
    }
}

impl ResizeKernel {
    /// The radius of the kernel in input elements.
    fn reach(self) -> f64 {
        if matches!(self, Self::Cubic(_)) { 2.0 } else { 1.0 }
    }

    /// The weights of the kernel at these distances.
    fn weights_at(self, b: &GraphBuilder, distance: Value) -> Result {
        let Self::Cubic(a) = self else {
            let weight = b.subtract(1.0, distance)?;
            return b.maximum(weight, 0.0);
        };
        let polynomial = |b: &GraphBuilder, coefficients: [f64; 4]| {
            let mut sum = b.scalar(REAL, coefficients[0])?;
            for coefficient in &coefficients[1..] {
                sum = b.multiply(sum, distance)?;
                sum = b.add(sum, *coefficient)?;
            }
            Ok::<_, OpError>(sum)
        };
        let near = polynomial(b, [a + 2.0, -(a + 3.0), 0.0, 1.0])?;
        let far = polynomial(b, [a, -5.0 * a, 8.0 * a, -4.0 * a])?;
        let (is_near, is_far) = (b.less_equal(distance, 1.0)?, b.less(distance, 2.0)?);
        let outer = b.select(is_far, far, 0.0)?;
        b.select(is_near, near, outer)
    }
}

/// Gathers along an axis; coordinates outside the data are clamped to its edges.
fn picked(b: &GraphBuilder, x: Value, axis: usize, picks: Value, of: &ResampledAxis) -> Result {
    let end = b.subtract(of.size, 1.0)?;
    let end = b.convert(end, ElementType::I64)?;
    let picks = b.convert(picks, ElementType::I64)?;
    // The maximum must come first: in the reverse order, the OpenVINO runtime folds the result to a scalar if
    // both bounds are equal.
    let picks = b.maximum(picks, 0.0)?;
    let picks = b.minimum(picks, end)?;
    b.gather(x, picks, axis as i64)
}

/// Rounds coordinates to element indices, which may be outside the data. The fractional part of a coordinate
/// is exact in f32.
fn rounded(b: &GraphBuilder, coordinates: Value, of: &ResampledAxis, rounding: Nearest) -> Result {
    let below = b.floor(coordinates)?;
    let part = b.subtract(coordinates, below)?;
    let goes_up = match rounding {
        Nearest::Floor => return Ok(below),
        Nearest::Ceil => return b.ceiling(coordinates),
        Nearest::Simple => {
            let (above, shrinks) = (b.ceiling(coordinates)?, b.less(of.scale, 1.0)?);
            return b.select(shrinks, above, below);
        }
        Nearest::RoundPreferFloor => b.greater(part, 0.5)?,
        Nearest::RoundPreferCeil => b.greater_equal(part, 0.5)?,
    };
    let step = b.convert(goes_up, REAL)?;
    b.add(below, step)
}
