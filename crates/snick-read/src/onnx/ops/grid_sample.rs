//! GridSample: what lies at places between the pixels of an image, or of a volume.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[one("GridSample", &[16, 20, 22], grid_sample)];

pub(super) fn grid_sample(b: &mut NodeBuilder) -> Result {
    let (x, grid) = (b.input(0)?, b.input(1)?);
    let mode = match b.text("mode", "bilinear")? {
        "bilinear" | "linear" => "bilinear",
        "bicubic" | "cubic" => "bicubic",
        "nearest" => "nearest",
        _ => return Err(b.attrs.bad("mode", "linear, nearest or cubic")),
    };
    let padding = match b.text("padding_mode", "zeros")? {
        "zeros" => "zeros",
        "border" => "border",
        "reflection" => "reflection",
        _ => return Err(b.attrs.bad("padding_mode", "zeros, border or reflection")),
    };
    let corners = b.flag("align_corners", false)?;
    match (b.rank(x).or_else(|_| b.rank(grid))?, mode) {
        (5, "bicubic") => Err(OpError::unsupported("cubic sampling of a volume")),
        (5, _) => Volume { linear: mode == "bilinear", padding, corners }.sampled(b, x, grid),
        _ => {
            let attrs = Attrs::new().with("mode", mode).with("padding_mode", padding);
            b.make("GridSample", attrs.with("align_corners", corners), &[x, grid])
        }
    }
}

/// How a volume is sampled.
struct Volume {
    linear: bool,
    padding: &'static str,
    corners: bool,
}

/// A pixel along one axis, for each place.
struct Pixel {
    /// Its index, moved to the edge if it lies outside.
    index: Value,
    /// What it counts.
    weight: Value,
}

impl Volume {
    /// The sum of pixels around each place of `grid`, times what they count.
    fn sampled(&self, b: &mut NodeBuilder, x: Value, grid: Value) -> Result {
        let real = b.element_type(x)?;
        let grid = b.convert(grid, real)?;
        let places = b.parts(grid, -1, 3)?;
        // Depth, height, width; places have them the other way round. Each is [batch, places].
        let (mut axes, mut sizes) = (Vec::new(), Vec::new());
        for (axis, place) in (2..).zip(places.into_iter().rev()) {
            let form = b.vector(&[0, -1])?;
            let place = b.reshape_to(place, form)?;
            let size = b.size(x, axis)?;
            let size = b.scalar(size)?;
            let real_size = b.convert(size, real)?;
            axes.push(self.pixels(b, place, real_size)?);
            sizes.push(size);
        }
        let form = b.vector(&[0, 0, -1])?;
        let flat = b.reshape_to(x, form)?;
        let flat = b.transposed(flat, &[0, 2, 1])?;
        let mut sum = None;
        for z in &axes[0] {
            for y in &axes[1] {
                for x in &axes[2] {
                    let rows = b.plain("Multiply", &[z.index, sizes[1]])?;
                    let rows = b.plain("Add", &[rows, y.index])?;
                    let index = b.plain("Multiply", &[rows, sizes[2]])?;
                    let index = b.plain("Add", &[index, x.index])?;
                    let axis = b.index(1)?;
                    let attrs = Attrs::new().with("batch_dims", 1);
                    let values = b.make("Gather", attrs, &[flat, index, axis])?;
                    let weight = b.plain("Multiply", &[z.weight, y.weight])?;
                    let weight = b.plain("Multiply", &[weight, x.weight])?;
                    let weight = b.unsqueeze(weight, &[-1])?;
                    let part = b.plain("Multiply", &[values, weight])?;
                    sum = Some(match sum {
                        Some(sum) => b.plain("Add", &[sum, part])?,
                        None => part,
                    });
                }
            }
        }
        let y = b.transposed(sum.ok_or(OpError::NotConnected { port: 0 })?, &[0, 2, 1])?;
        let (shape, of_grid) = (b.shape_of(x)?, b.shape_of(grid)?);
        let sizes = [b.part(shape, 0, 2)?, b.part(of_grid, 1, 4)?];
        let sizes = b.join(&sizes)?;
        b.make("Reshape", Attrs::new().with("special_zero", false), &[y, sizes])
    }

    /// The pixels along an axis that count, of places from -1 to 1.
    fn pixels(&self, b: &mut NodeBuilder, place: Value, size: Value) -> Result<Vec<Pixel>, OpError> {
        let (unit, half) = (b.number_like(place, 1.0)?, b.number_like(place, 0.5)?);
        let last = b.plain("Subtract", &[size, unit])?;
        // From the middle of the first pixel to that of the last, or from edge to edge.
        let width = if self.corners { last } else { size };
        let place = b.plain("Add", &[place, unit])?;
        let place = b.plain("Multiply", &[place, half])?;
        let mut place = b.plain("Multiply", &[place, width])?;
        if !self.corners {
            place = b.plain("Subtract", &[place, half])?;
        }
        if self.padding == "reflection" {
            place = self.reflected(b, place, width)?;
        }
        if self.padding != "zeros" {
            place = kept_inside(b, place, last)?;
        }
        if !self.linear {
            let nearest = b.make("Round", Attrs::new().with("mode", "half_to_even"), &[place])?;
            return Ok(vec![pixel(b, nearest, unit, last)?]);
        }
        let floor = b.plain("Floor", &[place])?;
        let share = b.plain("Subtract", &[place, floor])?;
        let (rest, next) = (b.plain("Subtract", &[unit, share])?, b.plain("Add", &[floor, unit])?);
        Ok(vec![pixel(b, floor, rest, last)?, pixel(b, next, share, last)?])
    }

    /// Places thrown back at both ends of the width, as often as need be.
    fn reflected(&self, b: &mut NodeBuilder, place: Value, width: Value) -> Result {
        let (unit, two) = (b.number_like(place, 1.0)?, b.number_like(place, 2.0)?);
        let low = b.number_like(place, if self.corners { 0.0 } else { -0.5 })?;
        // With one pixel there is no width; the place is moved inside after.
        let width = b.plain("Maximum", &[width, unit])?;
        let distance = b.plain("Subtract", &[place, low])?;
        let distance = b.plain("Abs", &[distance])?;
        let turns = divide(b, distance, width)?;
        let turns = b.plain("Floor", &[turns])?;
        let passed = b.plain("Multiply", &[turns, width])?;
        let rest = b.plain("Subtract", &[distance, passed])?;
        let back = b.plain("Subtract", &[width, rest])?;
        let odd = b.plain("FloorMod", &[turns, two])?;
        let odd = b.plain("Equal", &[odd, unit])?;
        let rest = b.plain("Select", &[odd, back, rest])?;
        b.plain("Add", &[rest, low])
    }
}

fn kept_inside(b: &mut NodeBuilder, place: Value, last: Value) -> Result {
    let zero = b.number_like(place, 0.0)?;
    let place = b.plain("Maximum", &[place, zero])?;
    b.plain("Minimum", &[place, last])
}

/// A pixel at a whole place; outside it counts nothing.
fn pixel(b: &mut NodeBuilder, place: Value, weight: Value, last: Value) -> Result<Pixel, OpError> {
    let zero = b.number_like(place, 0.0)?;
    let (from, to) = (b.plain("GreaterEqual", &[place, zero])?, b.plain("LessEqual", &[place, last])?);
    let inside = b.plain("LogicalAnd", &[from, to])?;
    let weight = b.plain("Select", &[inside, weight, zero])?;
    let place = kept_inside(b, place, last)?;
    Ok(Pixel { index: b.convert(place, ElementType::I64)?, weight })
}
