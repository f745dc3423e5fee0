//! Resizing that the IR's Interpolate does not have: along each axis, a product with a matrix of weights computed from
//! the sizes, or a gather of the nearest elements.

use snick_ir::{OpError, Value, ops};
use snick_tensor::ElementType;
use snick_tensor::kernels::PadMode;

use crate::onnx::builder::{NodeBuilder, Result};

/// The mapping from output to input coordinates.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Coordinates {
    AlignCorners,
    Asymmetric,
    HalfPixel,
    /// By half pixels, symmetric around the centre.
    HalfPixelSymmetric,
    PytorchHalfPixel,
    /// In a region of the data, from 0 to 1; the extrapolation value outside the data.
    Crop,
}

/// The kernel of an output element.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Kernel {
    /// The nearest element, by this rounding.
    Nearest(&'static str),
    /// The two neighbours.
    Linear,
    /// The four neighbours, by cubic polynomials of this coefficient.
    Cubic(f64),
}

impl Kernel {
    /// Its radius, in elements of the data.
    fn reach(self) -> f64 {
        if matches!(self, Self::Cubic(_)) { 2.0 } else { 1.0 }
    }
}

/// The parameters of resizing.
#[derive(Copy, Clone)]
pub(super) struct Sampling {
    pub(super) coordinates: Coordinates,
    pub(super) kernel: Kernel,
    /// Whether the kernel grows as the output shrinks.
    pub(super) antialias: bool,
    /// Whether elements outside get no weight; else the edges are repeated.
    pub(super) exclude_outside: bool,
    /// The value outside the data.
    pub(super) extrapolation: f64,
}

/// The size of the output along each axis.
#[derive(Copy, Clone)]
pub(super) enum Target {
    Scales(Value),
    Sizes(Value),
}

/// One axis; all values are f32 scalars.
struct ResampledAxis {
    /// Input size.
    size: Value,
    /// Output size.
    count: Value,
    scale: Value,
    /// Start and end of the region, as fractions of the size.
    region: Option<[Value; 2]>,
}

const REAL: ElementType = ElementType::F32;

/// Resizes `x` along axes; `region` holds their starts, then their ends.
pub(super) fn resampled(
    b: &mut NodeBuilder,
    x: Value,
    axes: &[i64],
    target: Target,
    region: Option<Value>,
    sampling: Sampling,
) -> Result {
    let element_type = b.element_type(x)?;
    if !element_type.is_float() {
        return Err(OpError::unsupported(format!("resizing {element_type} in this way")));
    }
    let mut y = b.convert(x, REAL)?;
    let kept = match target {
        Target::Scales(scales) => b.tensor(scales).and_then(|scales| scales.to_f32_vec().ok()),
        Target::Sizes(_) => None,
    };
    for (i, &axis) in (0..).zip(axes) {
        let same = kept.as_ref().and_then(|scales| scales.get(i as usize)) == Some(&1.0);
        if same && sampling.coordinates != Coordinates::Crop {
            continue;
        }
        let nth = |b: &mut NodeBuilder, vector: Value, i: i64| {
            let part = b.slice_range(vector, 0, i, i + 1)?;
            let part = b.to_scalar(part)?;
            b.convert(part, REAL)
        };
        let size = b.size_of(x, axis)?;
        let size = nth(b, size, 0)?;
        let (scale, count) = match target {
            Target::Scales(scales) => {
                let scale = nth(b, scales, i)?;
                let exact = b.multiply(size, scale)?;
                (scale, b.floor(exact)?)
            }
            Target::Sizes(sizes) => {
                let count = nth(b, sizes, i)?;
                (b.divide(count, size)?, count)
            }
        };
        let region = match region {
            Some(region) => Some([nth(b, region, i)?, nth(b, region, i + axes.len() as i64)?]),
            None => None,
        };
        y = sampling.along(b, y, axis, &ResampledAxis { size, count, scale, region })?;
    }
    b.convert(y, element_type)
}

impl Sampling {
    fn along(&self, b: &mut NodeBuilder, x: Value, axis: i64, of: &ResampledAxis) -> Result {
        let rank = b.rank(x)?;
        let axis = b.axis(axis, rank)?;
        let mut order: Vec<i64> = (0..rank as i64).collect();
        order.swap(axis, rank - 1);
        let last = if axis + 1 == rank { x } else { b.transpose(x, &order)? };
        let places = self.places(b, of)?;
        let mut y = match self.kernel {
            Kernel::Nearest(rounding) => nearest(b, last, places, of, rounding)?,
            _ => self.weighted(b, last, places, of)?,
        };
        if self.coordinates == Coordinates::Crop {
            let end = b.subtract(of.size, 1.0)?;
            let (before, behind) = (b.less(places, 0.0)?, b.greater(places, end)?);
            let outside = b.logical_or(before, behind)?;
            y = b.select(outside, self.extrapolation, y)?;
        }
        if axis + 1 == rank { Ok(y) } else { b.transpose(y, &order) }
    }

    /// The input coordinate of each output element.
    fn places(&self, b: &mut NodeBuilder, of: &ResampledAxis) -> Result {
        let count = b.convert(of.count, ElementType::I64)?;
        let indices = b.count_to(count)?;
        let indices = b.convert(indices, REAL)?;
        let half_pixel = |b: &mut NodeBuilder| {
            let middles = b.add(indices, 0.5)?;
            let places = b.divide(middles, of.scale)?;
            b.subtract(places, 0.5)
        };
        // The distance from the first to the last element, at least one.
        let last = b.subtract(of.size, 1.0)?;
        let steps = b.subtract(of.count, 1.0)?;
        let single = b.less(of.count, 2.0)?;
        let steps = b.maximum(steps, 1.0)?;
        match self.coordinates {
            Coordinates::Asymmetric => b.divide(indices, of.scale),
            Coordinates::HalfPixel => half_pixel(b),
            Coordinates::PytorchHalfPixel => {
                let places = half_pixel(b)?;
                b.select(single, 0.0, places)
            }
            Coordinates::HalfPixelSymmetric => {
                let exact = b.multiply(of.size, of.scale)?;
                let kept = b.divide(of.count, exact)?;
                let lost = b.subtract(1.0, kept)?;
                let centre = b.multiply(of.size, 0.5)?;
                let offset = b.multiply(centre, lost)?;
                let places = half_pixel(b)?;
                b.add(places, offset)
            }
            Coordinates::AlignCorners => {
                let places = b.multiply(indices, last)?;
                b.divide(places, steps)
            }
            Coordinates::Crop => {
                let [start, stop] = of.region.ok_or(OpError::NotConnected { port: 1 })?;
                let width = b.subtract(stop, start)?;
                let width = b.multiply(width, last)?;
                let step = b.divide(width, steps)?;
                let (offset, places) = (b.multiply(start, last)?, b.multiply(indices, step)?);
                let places = b.add(places, offset)?;
                let sum = b.add(start, stop)?;
                let middle = b.multiply(sum, 0.5)?;
                let middle = b.multiply(middle, last)?;
                b.select(single, middle, places)
            }
        }
    }

    /// The last axis times a matrix with a row of weights for each coordinate.
    fn weighted(&self, b: &mut NodeBuilder, x: Value, places: Value, of: &ResampledAxis) -> Result {
        let unit = b.scalar(REAL, 1.0)?;
        // When shrinking, an antialiasing kernel covers more of the data.
        let shrink = if self.antialias { b.minimum(of.scale, unit)? } else { unit };
        let reach = b.scalar(REAL, self.kernel.reach())?;
        let margin = b.divide(reach, shrink)?;
        let margin = b.ceiling(margin)?;
        let margin = b.add(margin, 1.0)?;
        // The coordinates of the data with repeated edges.
        let twice = b.add(margin, margin)?;
        let width = b.add(of.size, twice)?;
        let width = b.convert(width, ElementType::I64)?;
        let elements = b.count_to(width)?;
        let elements = b.convert(elements, REAL)?;
        let elements = b.subtract(elements, margin)?;
        let rows = b.unsqueeze(places, &[-1])?;
        let distance = b.subtract(elements, rows)?;
        let distance = b.abs(distance)?;
        let distance = b.multiply(distance, shrink)?;
        let mut weights = self.kernel_at(b, distance)?;
        if self.exclude_outside {
            let (from, to) = (b.greater_equal(elements, 0.0)?, b.less(elements, of.size)?);
            let inside = b.logical_and(from, to)?;
            let inside = b.convert(inside, REAL)?;
            weights = b.multiply(weights, inside)?;
        }
        let sum = b.reduce_sum(weights, &[-1], true)?;
        let weights = b.divide(weights, sum)?;
        let rank = b.rank(x)?;
        let none = b.ints(&vec![0; rank.saturating_sub(1)])?;
        let margin = b.convert(margin, ElementType::I64)?;
        let margin = b.reshape(margin, &[1])?;
        let pads = b.concat(0, &[none, margin])?;
        let x = b.add_op(ops::Pad { pad_mode: PadMode::Edge }, &[x, pads, pads])?;
        b.matmul_transposed(x, weights)
    }

    /// The weight at a distance.
    fn kernel_at(&self, b: &mut NodeBuilder, distance: Value) -> Result {
        let Kernel::Cubic(a) = self.kernel else {
            let weight = b.subtract(1.0, distance)?;
            return b.maximum(weight, 0.0);
        };
        let polynomial = |b: &mut NodeBuilder, coefficients: [f64; 4]| {
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

/// The elements of the last axis nearest to the coordinates.
fn nearest(b: &mut NodeBuilder, x: Value, places: Value, of: &ResampledAxis, rounding: &str) -> Result {
    let rounded = match rounding {
        "round_prefer_floor" => {
            let places = b.subtract(places, 0.5)?;
            b.ceiling(places)?
        }
        "round_prefer_ceil" => {
            let places = b.add(places, 0.5)?;
            b.floor(places)?
        }
        "floor" => b.floor(places)?,
        _ => b.ceiling(places)?,
    };
    let end = b.subtract(of.size, 1.0)?;
    let kept = b.minimum(rounded, end)?;
    let kept = b.maximum(kept, 0.0)?;
    let indices = b.convert(kept, ElementType::I64)?;
    b.gather(x, indices, -1)
}
