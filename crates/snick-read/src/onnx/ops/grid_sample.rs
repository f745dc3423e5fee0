//! GridSample: samples an image or volume at positions between its pixels.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] =
    &[one("GridSample", &[16, 20, 22], grid_sample).attrs("align_corners mode padding_mode")];

pub(super) fn grid_sample(b: &mut NodeBuilder) -> Result {
    let (x, grid) = (b.input(0)?, b.input(1)?);
    let mode = b.choice(
        "mode",
        &[
            ("bilinear", "bilinear"),
            ("linear", "bilinear"),
            ("bicubic", "bicubic"),
            ("cubic", "bicubic"),
            ("nearest", "nearest"),
        ],
    )?;
    let padding =
        b.choice("padding_mode", &[("zeros", "zeros"), ("border", "border"), ("reflection", "reflection")])?;
    let corners = b.flag_attr("align_corners", false)?;
    match (b.rank(x).or_else(|_| b.rank(grid))?, mode) {
        (5, "bicubic") => Err(OpError::unsupported("cubic sampling of a volume")),
        (5, _) => Volume { linear: mode == "bilinear", padding, corners }.sampled(b, x, grid),
        _ => {
            let attrs = Attrs::new().with("mode", mode).with("padding_mode", padding);
            b.ir_op("GridSample", attrs.with("align_corners", corners), &[x, grid])
        }
    }
}

/// Options for sampling a volume.
struct Volume {
    linear: bool,
    padding: &'static str,
    corners: bool,
}

/// For each sampled position, a pixel next to it along one axis.
struct Pixel {
    /// The index of the pixel, clamped to the axis.
    index: Value,
    /// The weight of the pixel.
    weight: Value,
}

impl Volume {
    /// The weighted sum of the pixels around each position of `grid`.
    fn sampled(&self, b: &mut NodeBuilder, x: Value, grid: Value) -> Result {
        let real = b.element_type(x)?;
        let grid = b.convert(grid, real)?;
        let places = b.split(grid, -1, 3)?;
        // The coordinates are in the order width, height, depth, so they are reversed. Each has the shape
        // `[batch, positions]`.
        let (mut axes, mut sizes) = (Vec::new(), Vec::new());
        for (axis, place) in (2..).zip(places.into_iter().rev()) {
            let form = b.ints(&[0, -1])?;
            let place = b.reshape_copying(place, form)?;
            let size = b.size_of(x, axis)?;
            let size = b.to_scalar(size)?;
            let real_size = b.convert(size, real)?;
            axes.push(self.pixels(b, place, real_size)?);
            sizes.push(size);
        }
        let form = b.ints(&[0, 0, -1])?;
        let flat = b.reshape_copying(x, form)?;
        let flat = b.transpose(flat, &[0, 2, 1])?;
        let mut sum = None;
        for z in &axes[0] {
            for y in &axes[1] {
                for x in &axes[2] {
                    let rows = b.multiply(z.index, sizes[1])?;
                    let rows = b.add(rows, y.index)?;
                    let index = b.multiply(rows, sizes[2])?;
                    let index = b.add(index, x.index)?;
                    let axis = b.int(1)?;
                    let attrs = Attrs::new().with("batch_dims", 1);
                    let values = b.ir_op("Gather", attrs, &[flat, index, axis])?;
                    let weight = b.multiply(z.weight, y.weight)?;
                    let weight = b.multiply(weight, x.weight)?;
                    let weight = b.unsqueeze(weight, &[-1])?;
                    let part = b.multiply(values, weight)?;
                    sum = Some(match sum {
                        Some(sum) => b.add(sum, part)?,
                        None => part,
                    });
                }
            }
        }
        let y = b.transpose(sum.ok_or(OpError::NotConnected { port: 0 })?, &[0, 2, 1])?;
        let (shape, of_grid) = (b.shape_of(x)?, b.shape_of(grid)?);
        let sizes = [b.slice_range(shape, 0, 0, 2)?, b.slice_range(of_grid, 0, 1, 4)?];
        let sizes = b.concat(0, &sizes)?;
        b.reshape_to(y, sizes)
    }

    /// The pixels along an axis that surround positions in -1..1.
    fn pixels(&self, b: &mut NodeBuilder, place: Value, size: Value) -> Result<Vec<Pixel>, OpError> {
        let (unit, half) = (b.scalar_like(place, 1.0)?, b.scalar_like(place, 0.5)?);
        let last = b.subtract(size, unit)?;
        // The distance between the centres of the first and last pixel, or the distance between their outer
        // edges.
        let width = if self.corners { last } else { size };
        let place = b.add(place, unit)?;
        let place = b.multiply(place, half)?;
        let mut place = b.multiply(place, width)?;
        if !self.corners {
            place = b.subtract(place, half)?;
        }
        if self.padding == "reflection" {
            place = self.reflected(b, place, width)?;
        }
        if self.padding != "zeros" {
            place = kept_inside(b, place, last)?;
        }
        if !self.linear {
            let nearest = b.ir_op("Round", Attrs::new().with("mode", "half_to_even"), &[place])?;
            return Ok(vec![pixel(b, nearest, unit, last)?]);
        }
        let floor = b.floor(place)?;
        let share = b.subtract(place, floor)?;
        let (rest, next) = (b.subtract(unit, share)?, b.add(floor, unit)?);
        Ok(vec![pixel(b, floor, rest, last)?, pixel(b, next, share, last)?])
    }

    /// Reflects positions at both ends of the axis, as often as needed.
    fn reflected(&self, b: &mut NodeBuilder, place: Value, width: Value) -> Result {
        let unit = b.scalar_like(place, 1.0)?;
        let low = b.scalar_like(place, if self.corners { 0.0 } else { -0.5 })?;
        // For a single pixel, the width would be 0. It is raised to 1 to avoid a division by 0; the position
        // is clamped to the pixel afterwards.
        let width = b.maximum(width, unit)?;
        let distance = b.subtract(place, low)?;
        let distance = b.abs(distance)?;
        let turns = b.divide(distance, width)?;
        let turns = b.floor(turns)?;
        let passed = b.multiply(turns, width)?;
        let rest = b.subtract(distance, passed)?;
        let back = b.subtract(width, rest)?;
        let odd = b.floor_mod(turns, 2.0)?;
        let odd = b.equal(odd, unit)?;
        let rest = b.select(odd, back, rest)?;
        b.add(rest, low)
    }
}

fn kept_inside(b: &mut NodeBuilder, place: Value, last: Value) -> Result {
    let place = b.maximum(place, 0.0)?;
    b.minimum(place, last)
}

/// The pixel at an integer position, with a weight of 0 outside the axis.
fn pixel(b: &mut NodeBuilder, place: Value, weight: Value, last: Value) -> Result<Pixel, OpError> {
    let zero = b.scalar_like(place, 0.0)?;
    let (from, to) = (b.greater_equal(place, zero)?, b.less_equal(place, last)?);
    let inside = b.logical_and(from, to)?;
    let weight = b.select(inside, weight, zero)?;
    let place = kept_inside(b, place, last)?;
    Ok(Pixel { index: b.convert(place, ElementType::I64)?, weight })
}
