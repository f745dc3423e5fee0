//! GridSample-9.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{MAX_BYTES, SmallVector, Tensor};

use super::weighted_pixels::{OUTSIDE, WeightedPixel, interpolate};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

/// The error for incompatible shapes.
const CANNOT_SAMPLE: &str = "cannot sample {} at grid {}";

op! {
    /// Samples data `[N, C, H, W]` at the points (x, y) of a grid `[N, H', W', 2]`, with coordinates from -1
    /// to 1. Output: `[N, C, H', W']`.
    #[op("GridSample", since = [9], inputs = Arity::exactly(2), category = Movement, traits = [PURE])]
    pub struct GridSample {
        /// Whether -1 and 1 are the centres of the first and last pixel, rather than their outer edges.
        pub align_corners: bool = false,
        /// How pixels are interpolated.
        pub mode: Mode = Mode::Bilinear,
        /// The values outside the data.
        pub padding_mode: Padding = Padding::Zeros,
    }
}

/// How pixels are interpolated.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Linear interpolation of the four nearest pixels.
    Bilinear,
    /// Cubic interpolation of the sixteen nearest pixels.
    Bicubic,
    /// The nearest pixel.
    Nearest,
}

attr_words!(Mode { Bilinear = "bilinear", Bicubic = "bicubic", Nearest = "nearest" });

/// The values outside the data.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Padding {
    /// Zeros.
    Zeros,
    /// The value of the nearest edge pixel.
    Border,
    /// The data reflected at its edges.
    Reflection,
}

attr_words!(Padding { Zeros = "zeros", Border = "border", Reflection = "reflection" });

impl InferOp for GridSample {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "4", |rank| rank == 4)?;
        cx.expect_rank(1, "4", |rank| rank == 4)?;
        let grid_type = cx.element_type(1);
        if grid_type != snick_tensor::ElementType::Dynamic && !grid_type.is_float() {
            return Err(OpError::element_type("input 1", grid_type, "a real type"));
        }
        let mut dims: SmallVector<SymExpr, 4> =
            cx.unknown_dims(4).dims().map(|dims| dims.iter().cloned().collect()).unwrap_or_default();
        if let Some([n, c, ..]) = cx.shape(0).dims() {
            dims[0] = n.clone();
            dims[1] = c.clone();
        }
        if let Some([n, height, width, pair]) = cx.shape(1).dims() {
            if !cx.interval(pair).contains(2) {
                return Err(OpError::mismatch("the last dim of the grid", cx.interval(pair), 2));
            }
            let both = cx.merge(&dims[0], n);
            dims[0] = both.ok_or_else(|| cx.conflict(CANNOT_SAMPLE, cx.shape(0), cx.shape(1)))?;
            dims[2] = height.clone();
            dims[3] = width.clone();
        }
        Ok(Facts::from(Fact::new(cx.element_type(0), Shape::ranked(dims))))
    }
}

impl EvalOp for GridSample {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, grid] = exactly(inputs)?;
        let (&[n, c, h, w], &[m, rows, columns, 2]) = (data.dims(), grid.dims()) else {
            return Err(OpError::dims_conflict(CANNOT_SAMPLE, data.dims(), grid.dims()));
        };
        if n != m {
            return Err(OpError::dims_conflict(CANNOT_SAMPLE, data.dims(), grid.dims()));
        }
        let cells = rows * columns;
        let total = n.checked_mul(c).and_then(|k| k.checked_mul(cells)).filter(|&k| k < MAX_BYTES / 16);
        let total = total.ok_or_else(|| OpError::unsupported("an output of this size"))?;
        let mut out = vec![0f32; total];
        let (values, positions) = (data.to_f32_vec()?, grid.to_f32_vec()?);
        let plane = (h * w).max(1);
        // The pixels of a block of points stay in the cache for all channels.
        const BLOCK: usize = 256;
        let images = values.chunks_exact(plane * c.max(1)).zip(positions.chunks_exact((2 * cells).max(1)));
        for ((planes, points), out) in images.zip(out.chunks_exact_mut((c * cells).max(1))) {
            for (block, points) in points.chunks(2 * BLOCK).enumerate() {
                let pixels: Vec<_> = points.chunks_exact(2).flat_map(|at| self.pixels(at, [h, w])).collect();
                for (plane, out) in planes.chunks_exact(plane).zip(out.chunks_exact_mut(cells)) {
                    let out = &mut out[block * BLOCK..][..points.len() / 2];
                    match self.mode {
                        Mode::Nearest => interpolate::<1>(plane, &pixels, out),
                        Mode::Bilinear => interpolate::<4>(plane, &pixels, out),
                        Mode::Bicubic => interpolate::<16>(plane, &pixels, out),
                    }
                }
            }
        }
        Ok(vec![Tensor::from_vec(&[n, c, rows, columns], out)?.cast(data.element_type())?])
    }
}

/// The pixels to interpolate on one axis, with their weights; `None` is a pixel outside the data.
type AxisPixels = SmallVector<(Option<usize>, f32), 4>;

impl GridSample {
    /// Converts a position from -1..1 to pixels.
    fn position(&self, at: f32, size: usize) -> f32 {
        let size = size as f32;
        match self.align_corners {
            true => (at + 1.0) / 2.0 * (size - 1.0),
            false => ((at + 1.0) * size - 1.0) / 2.0,
        }
    }

    /// The pixels of a plane to interpolate at a point `[x, y]`.
    fn pixels(&self, point: &[f32], [height, width]: [usize; 2]) -> impl Iterator<Item = WeightedPixel> {
        let &[x, y] = point else { return SmallVector::<WeightedPixel, 16>::new().into_iter() };
        let columns = self.axis_pixels(self.position(x, width), width);
        let mut pixels = SmallVector::new();
        for (row, of_row) in self.axis_pixels(self.position(y, height), height) {
            for &(column, of_column) in &columns {
                let index = row.zip(column).map_or(OUTSIDE, |(row, column)| row * width + column);
                pixels.push(WeightedPixel { index, weight: of_row * of_column });
            }
        }
        pixels.into_iter()
    }

    fn axis_pixels(&self, at: f32, size: usize) -> AxisPixels {
        let at = at.clamp(-1e9, 1e9);
        let below = at.floor();
        let part = at - below;
        let first = below as i64;
        match self.mode {
            Mode::Nearest => SmallVector::from([(self.pixel(at.round_ties_even() as i64, size), 1.0)]),
            Mode::Bilinear => SmallVector::from([
                (self.pixel(first, size), 1.0 - part),
                (self.pixel(first + 1, size), part),
            ]),
            Mode::Bicubic => {
                const A: f32 = -0.75;
                let near = |x: f32| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
                let far = |x: f32| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
                SmallVector::from([
                    (self.pixel(first - 1, size), far(part + 1.0)),
                    (self.pixel(first, size), near(part)),
                    (self.pixel(first + 1, size), near(1.0 - part)),
                    (self.pixel(first + 2, size), far(2.0 - part)),
                ])
            }
        }
    }

    /// Maps a pixel index, which may be outside the data, according to the padding mode; `None` if the
    /// padding is 0 there.
    fn pixel(&self, at: i64, size: usize) -> Option<usize> {
        let last = size as i64 - 1;
        let at = match self.padding_mode {
            Padding::Zeros => at,
            Padding::Border => at.clamp(0, last),
            Padding::Reflection if self.align_corners && size > 1 => {
                let at = at.rem_euclid(2 * last);
                if at > last { 2 * last - at } else { at }
            }
            Padding::Reflection if self.align_corners => 0,
            Padding::Reflection => {
                let at = at.rem_euclid(2 * (last + 1));
                if at > last { 2 * last + 1 - at } else { at }
            }
        };
        usize::try_from(at).ok().filter(|&at| at < size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_between_pixels_are_interpolated() {
        let data = Tensor::from_vec(&[1, 1, 2, 2], vec![1f32, 2., 3., 4.]).unwrap();
        let grid = Tensor::from_vec(&[1, 1, 3, 2], vec![0f32, 0., -1., -1., 3., 1.]).unwrap();
        let run = |padding_mode| {
            let op = GridSample { align_corners: true, mode: Mode::Bilinear, padding_mode };
            op.eval(&[data.clone(), grid.clone()]).unwrap()[0].to_f32_vec().unwrap()
        };
        assert_eq!(run(Padding::Zeros), [2.5, 1., 0.]);
        assert_eq!(run(Padding::Border), [2.5, 1., 4.]);
    }
}
