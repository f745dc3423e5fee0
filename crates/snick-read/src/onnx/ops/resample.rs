//! Resizing that the IR's Interpolate cannot say: along each axis a product with a matrix of weights, which follow from
//! the sizes, or a pick of the nearest.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use crate::onnx::builder::{NodeBuilder, Result};

/// Where a place of the result lies in the data.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Coordinates {
    AlignCorners,
    Asymmetric,
    HalfPixel,
    /// By half pixels around the centre, which stays where it is.
    HalfPixelSymmetric,
    PytorchHalfPixel,
    /// In a region of the data, from 0 to 1; what lies outside the data has a value of its own.
    Crop,
}

/// What a place gets of the data.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Kernel {
    /// One element, by the rounding of this name.
    Nearest(&'static str),
    /// The two next to it.
    Linear,
    /// The four next to it, by the polynomials of this coefficient.
    Cubic(f64),
}

impl Kernel {
    /// How far it reaches, in elements of the data.
    fn reach(self) -> f64 {
        if matches!(self, Self::Cubic(_)) { 2.0 } else { 1.0 }
    }
}

/// How values are resized.
#[derive(Copy, Clone)]
pub(super) struct Sampling {
    pub(super) coordinates: Coordinates,
    pub(super) kernel: Kernel,
    /// Whether the kernel grows as the result shrinks.
    pub(super) antialias: bool,
    /// Whether only elements inside count; else those at the edge go on.
    pub(super) exclude_outside: bool,
    /// The value outside of the data.
    pub(super) extrapolation: f64,
}

/// How large the result is, for each axis in turn.
#[derive(Copy, Clone)]
pub(super) enum Target {
    Scales(Value),
    Sizes(Value),
}

/// One axis; all values are scalars of f32.
struct ResampledAxis {
    /// Elements of the data.
    size: Value,
    /// Elements of the result.
    count: Value,
    scale: Value,
    /// First and last place of the region, as parts of the size.
    region: Option<[Value; 2]>,
}

const REAL: ElementType = ElementType::F32;

/// `left op right`, where the right side is a number.
fn with_number(b: &mut NodeBuilder, op_type: &str, left: Value, right: f64) -> Result {
    let right = b.number(REAL, right)?;
    b.plain(op_type, &[left, right])
}

/// Resizes `x` along axes; `region` has their first, then their last places.
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
            let part = b.part(vector, i, i + 1)?;
            let part = b.scalar(part)?;
            b.convert(part, REAL)
        };
        let size = b.size(x, axis)?;
        let size = nth(b, size, 0)?;
        let (scale, count) = match target {
            Target::Scales(scales) => {
                let scale = nth(b, scales, i)?;
                let exact = b.plain("Multiply", &[size, scale])?;
                (scale, b.plain("Floor", &[exact])?)
            }
            Target::Sizes(sizes) => {
                let count = nth(b, sizes, i)?;
                (divide(b, count, size)?, count)
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
        let last = if axis + 1 == rank { x } else { b.transposed(x, &order)? };
        let places = self.places(b, of)?;
        let mut y = match self.kernel {
            Kernel::Nearest(rounding) => nearest(b, last, places, of, rounding)?,
            _ => self.weighted(b, last, places, of)?,
        };
        if self.coordinates == Coordinates::Crop {
            let end = with_number(b, "Subtract", of.size, 1.0)?;
            let (before, behind) =
                (with_number(b, "Less", places, 0.0)?, b.plain("Greater", &[places, end])?);
            let outside = b.plain("LogicalOr", &[before, behind])?;
            let value = b.number(REAL, self.extrapolation)?;
            y = b.plain("Select", &[outside, value, y])?;
        }
        if axis + 1 == rank { Ok(y) } else { b.transposed(y, &order) }
    }

    /// Where each element of the result lies in the data.
    fn places(&self, b: &mut NodeBuilder, of: &ResampledAxis) -> Result {
        let count = b.convert(of.count, ElementType::I64)?;
        let indices = b.count_to(count)?;
        let indices = b.convert(indices, REAL)?;
        let half_pixel = |b: &mut NodeBuilder| {
            let middles = with_number(b, "Add", indices, 0.5)?;
            let places = divide(b, middles, of.scale)?;
            with_number(b, "Subtract", places, 0.5)
        };
        // Distances between the first and the last element, of which there is at least one.
        let last = with_number(b, "Subtract", of.size, 1.0)?;
        let steps = with_number(b, "Subtract", of.count, 1.0)?;
        let single = with_number(b, "Less", of.count, 2.0)?;
        let steps = with_number(b, "Maximum", steps, 1.0)?;
        let zero = b.number(REAL, 0.0)?;
        match self.coordinates {
            Coordinates::Asymmetric => divide(b, indices, of.scale),
            Coordinates::HalfPixel => half_pixel(b),
            Coordinates::PytorchHalfPixel => {
                let places = half_pixel(b)?;
                b.plain("Select", &[single, zero, places])
            }
            Coordinates::HalfPixelSymmetric => {
                let exact = b.plain("Multiply", &[of.size, of.scale])?;
                let kept = divide(b, of.count, exact)?;
                let unit = b.number(REAL, 1.0)?;
                let lost = b.plain("Subtract", &[unit, kept])?;
                let centre = with_number(b, "Multiply", of.size, 0.5)?;
                let offset = b.plain("Multiply", &[centre, lost])?;
                let places = half_pixel(b)?;
                b.plain("Add", &[places, offset])
            }
            Coordinates::AlignCorners => {
                let places = b.plain("Multiply", &[indices, last])?;
                divide(b, places, steps)
            }
            Coordinates::Crop => {
                let [start, stop] = of.region.ok_or(OpError::NotConnected { port: 1 })?;
                let width = b.plain("Subtract", &[stop, start])?;
                let width = b.plain("Multiply", &[width, last])?;
                let step = divide(b, width, steps)?;
                let (offset, places) =
                    (b.plain("Multiply", &[start, last])?, b.plain("Multiply", &[indices, step])?);
                let places = b.plain("Add", &[places, offset])?;
                let sum = b.plain("Add", &[start, stop])?;
                let middle = with_number(b, "Multiply", sum, 0.5)?;
                let middle = b.plain("Multiply", &[middle, last])?;
                b.plain("Select", &[single, middle, places])
            }
        }
    }

    /// The last axis times a matrix with a row of weights for each place.
    fn weighted(&self, b: &mut NodeBuilder, x: Value, places: Value, of: &ResampledAxis) -> Result {
        let unit = b.number(REAL, 1.0)?;
        // A kernel that shrinks with the result takes more of the data.
        let shrink = if self.antialias { b.plain("Minimum", &[of.scale, unit])? } else { unit };
        let reach = b.number(REAL, self.kernel.reach())?;
        let margin = divide(b, reach, shrink)?;
        let margin = b.plain("Ceiling", &[margin])?;
        let margin = with_number(b, "Add", margin, 1.0)?;
        // The data with its edges repeated; the places of its elements.
        let twice = b.plain("Add", &[margin, margin])?;
        let width = b.plain("Add", &[of.size, twice])?;
        let width = b.convert(width, ElementType::I64)?;
        let elements = b.count_to(width)?;
        let elements = b.convert(elements, REAL)?;
        let elements = b.plain("Subtract", &[elements, margin])?;
        let rows = b.unsqueeze(places, &[-1])?;
        let distance = b.plain("Subtract", &[elements, rows])?;
        let distance = b.plain("Abs", &[distance])?;
        let distance = b.plain("Multiply", &[distance, shrink])?;
        let mut weights = self.kernel_at(b, distance)?;
        if self.exclude_outside {
            let (from, to) =
                (with_number(b, "GreaterEqual", elements, 0.0)?, b.plain("Less", &[elements, of.size])?);
            let inside = b.plain("LogicalAnd", &[from, to])?;
            let inside = b.convert(inside, REAL)?;
            weights = b.plain("Multiply", &[weights, inside])?;
        }
        let sum = b.reduced("ReduceSum", weights, &[-1], true)?;
        let weights = divide(b, weights, sum)?;
        let none = b.vector(&vec![0; b.rank(x)?.saturating_sub(1)])?;
        let margin = b.convert(margin, ElementType::I64)?;
        let margin = b.reshape(margin, &[1])?;
        let pads = b.join(&[none, margin])?;
        let x = b.make("Pad", Attrs::new().with("pad_mode", "edge"), &[x, pads, pads])?;
        b.make("MatMul", Attrs::new().with("transpose_b", true), &[x, weights])
    }

    /// The weight at a distance.
    fn kernel_at(&self, b: &mut NodeBuilder, distance: Value) -> Result {
        let Kernel::Cubic(a) = self.kernel else {
            let unit = b.number(REAL, 1.0)?;
            let weight = b.plain("Subtract", &[unit, distance])?;
            return with_number(b, "Maximum", weight, 0.0);
        };
        let polynomial = |b: &mut NodeBuilder, coefficients: [f64; 4]| {
            let mut sum = b.number(REAL, coefficients[0])?;
            for coefficient in &coefficients[1..] {
                sum = b.plain("Multiply", &[sum, distance])?;
                sum = with_number(b, "Add", sum, *coefficient)?;
            }
            Ok::<_, OpError>(sum)
        };
        let near = polynomial(b, [a + 2.0, -(a + 3.0), 0.0, 1.0])?;
        let far = polynomial(b, [a, -5.0 * a, 8.0 * a, -4.0 * a])?;
        let nothing = b.number(REAL, 0.0)?;
        let (is_near, is_far) =
            (with_number(b, "LessEqual", distance, 1.0)?, with_number(b, "Less", distance, 2.0)?);
        let outer = b.plain("Select", &[is_far, far, nothing])?;
        b.plain("Select", &[is_near, near, outer])
    }
}

/// The elements of the last axis nearest to the places.
fn nearest(b: &mut NodeBuilder, x: Value, places: Value, of: &ResampledAxis, rounding: &str) -> Result {
    let rounded = match rounding {
        "round_prefer_floor" => {
            let places = with_number(b, "Subtract", places, 0.5)?;
            b.plain("Ceiling", &[places])?
        }
        "round_prefer_ceil" => {
            let places = with_number(b, "Add", places, 0.5)?;
            b.plain("Floor", &[places])?
        }
        "floor" => b.plain("Floor", &[places])?,
        _ => b.plain("Ceiling", &[places])?,
    };
    let end = with_number(b, "Subtract", of.size, 1.0)?;
    let kept = b.plain("Minimum", &[rounded, end])?;
    let kept = with_number(b, "Maximum", kept, 0.0)?;
    let indices = b.convert(kept, ElementType::I64)?;
    b.gather(x, indices, -1)
}
