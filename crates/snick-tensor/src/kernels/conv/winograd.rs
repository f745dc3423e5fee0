//! Convolutions with filters of 3x3 elements by minimal filtering: four windows share 16 products a channel instead of 36.
//!
//! An image is cut into squares of 4x4 elements, two apart: each of them has four windows. Squares and filters are
//! transformed, and what they have at the same place is multiplied and summed over the channels: 16 products of
//! matrices, from which the results of the windows are added up. Source: Lavin and Gray, "Fast Algorithms for
//! Convolutional Neural Networks", 2015, F(2x2, 3x3).
//!
//! Only elements that a window sees take part in its result, but they are added before they are multiplied: rounding is
//! another, and an infinite element may give no number. So results that are not finite count as none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::images::Channels;
use super::planes::{Cuts, Grid, Planes};
use crate::buffer::Buffer;
use crate::kernels::broadcast::copy_run;
use crate::kernels::gemm::{Epilogue, PackedLhs, PackedRhs, gemm_single_threaded, panel_columns, tile_rows};
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Isa, Vector, Vectorised, dispatch_best};
use crate::kernels::window::WindowAxis;
use crate::memo::Purpose;
use crate::{ElementType, Tensor, TensorError};

/// Elements of a filter, of the results of a square, and of a square, on each axis.
const KERNEL: usize = 3;
const RESULTS: usize = 2;
const SQUARE: usize = KERNEL + RESULTS - 1;

/// Places in a square: so many matrices are multiplied.
const PLACES: usize = SQUARE * SQUARE;

/// Fewer channels, filters, or multiplications for each element of a filter do not justify the transforms.
const FEW_CHANNELS: usize = 16;
const FEW_FILTERS: usize = 8;
const FEW_PRODUCTS: usize = 3 << 18;

/// Bytes of transformed squares, and of their products, that are worked on together: they stay in the cache.
const CACHED: usize = 1 << 20;

/// Bytes of these, for one line of squares, that are too many: they grow with the width of an image.
const MOST_CACHED: usize = 16 * CACHED;

/// Fewer squares are not worked on together, however many channels there are.
const FEW_SQUARES: usize = 64;

/// The distance, in elements, by which matrices are moved apart: at multiples of large powers of two they would drive each
/// other out of the cache. It is longer than a vector, which may be read beyond a row.
const APART: usize = 16 * 5;

/// Lanes of the longest vector.
const LANES: usize = 16;

/// A convolution of images of two axes.
pub(super) struct Winograd {
    /// How images are cut into squares, and the squares on each axis.
    cuts: Cuts,
    squares: [usize; 2],
    /// Results on each axis.
    results: [usize; 2],
    /// For each place of a square, the filters as the left side of a product.
    filters: Arc<Vec<PackedLhs<f32>>>,
}

impl Winograd {
    /// `None` for windows and filters that it is not for, and where it would save little. `filters` are
    /// `[1, outputs, channels, kernel..]`.
    pub fn new(grid: &Grid, filters: &Tensor) -> Result<Option<Self>, TensorError> {
        let [depth, height, width] = grid.axes;
        let is_flat = grid.out[0] == 1 && depth.kernel == 1 && depth.inside(0, 0).is_some();
        let slides = |axis: &WindowAxis| axis.kernel == KERNEL && axis.stride == 1 && axis.dilation == 1;
        if !(is_flat && slides(&height) && slides(&width)) {
            return Ok(None);
        }
        // What is computed once pays if filters are constant.
        let is_constant = filters.is_kept() && filters.element_type() == ElementType::F32;
        let (&[1, outputs, channels, ..], true) = (filters.dims(), is_constant) else { return Ok(None) };
        let products = grid.windows().saturating_mul(outputs).saturating_mul(channels);
        if channels < FEW_CHANNELS || outputs < FEW_FILTERS || products < FEW_PRODUCTS {
            return Ok(None);
        }
        let results = [grid.out[1], grid.out[2]];
        let squares = results.map(|count| count.div_ceil(RESULTS));
        let of_square = |axis: WindowAxis| WindowAxis { kernel: SQUARE, stride: RESULTS, ..axis };
        let axes = [depth, of_square(height), of_square(width)];
        let Some(cuts) = Cuts::new(&Grid { axes, out: [1, squares[0], squares[1]] }) else { return Ok(None) };
        if (squares[1] + 1).saturating_mul(bytes_of_square(channels, outputs)) > MOST_CACHED {
            return Ok(None);
        }
        // Products are computed a panel at a time.
        let computed = cuts.positions.next_multiple_of(panel_columns::<f32>(Isa::best())) * PLACES;
        if computed > grid.windows() * KERNEL * KERNEL / 3 * 2 {
            return Ok(None);
        }
        let filters = filters.memoised(Purpose::TransformedFilters, || Ok(transformed(filters)))?;
        Ok((!filters.is_empty()).then_some(Self { cuts, squares, results, filters }))
    }

    /// The convolution of an image; `false` if that is not finite, and so may be wrong. `then` follows for parts of the
    /// results.
    pub fn convolve(
        &self,
        image: Channels<f32>,
        out: &mut [f32],
        then: Option<Epilogue<f32>>,
    ) -> Result<bool, TensorError> {
        let planes = Planes::new(&self.cuts, image, 0.0)?;
        let starts = planes.starts(0..1);
        let [lines, columns] = self.results;
        let at_once = self.lines_at_once(image.count);
        // Parts of the results of each filter.
        let mut parts: Vec<Vec<&mut [f32]>> = Vec::new();
        parts.resize_with(self.squares[0].div_ceil(at_once), Vec::new);
        for out in out.chunks_exact_mut(lines * columns) {
            let pieces = out.chunks_mut(at_once * RESULTS * columns);
            parts.iter_mut().zip(pieces).for_each(|(part, piece)| part.push(piece));
        }
        let is_finite = AtomicBool::new(true);
        let some = |(i, out): (usize, Vec<&mut [f32]>)| {
            let first = i * at_once;
            let count = at_once.min(self.squares[0] - first);
            if !self.some_lines(&planes, &starts, image.count, [first, count], out, then) {
                is_finite.store(false, Ordering::Relaxed);
            }
        };
        let parts = parts.into_iter().enumerate();
        if sharing::is_shared() {
            sharing::for_each(parts, some);
        } else {
            parts.for_each(some);
        }
        Ok(is_finite.into_inner())
    }

    /// Positions from one line of squares to the next.
    fn line(&self) -> usize {
        self.squares[1] + 1
    }

    /// Columns of the products of so many lines of squares.
    fn columns(&self, lines: usize) -> usize {
        (lines * self.line() - 1).next_multiple_of(panel_columns::<f32>(Isa::best()))
    }

    /// The lines of squares that are worked on together: as many as the cache holds, where these leave little of a panel
    /// empty, and all threads have as many.
    fn lines_at_once(&self, channels: usize) -> usize {
        let lines = self.squares[0];
        let most = CACHED / bytes_of_square(channels, self.filters[0].rows());
        let most = most.max(FEW_SQUARES) / self.line();
        let most = most.clamp(1, sharing::share(lines, 1));
        let computed = |&at_once: &usize| sharing::share(lines.div_ceil(at_once), 1) * self.columns(at_once);
        (most.div_ceil(2)..=most).rev().min_by_key(computed).unwrap_or(most)
    }

    /// The results of some lines of squares; whether they are finite.
    fn some_lines(
        &self,
        planes: &Planes<f32>,
        starts: &[usize],
        channels: usize,
        [first, count]: [usize; 2],
        mut out: Vec<&mut [f32]>,
        then: Option<Epilogue<f32>>,
    ) -> bool {
        let (isa, columns, filters) = (Isa::best(), self.columns(count), out.len());
        let (step, out_step) = (channels * columns + APART, filters * columns + APART);
        let mut squares = Buffer::scratch(PLACES * step);
        let first_position = first * self.line();
        dispatch_best(Transform {
            planes: planes.data(),
            starts,
            channel_step: self.cuts.len,
            channels,
            first: first_position,
            columns,
            out: &mut squares,
            step,
        });
        let mut products = Buffer::scratch(PLACES * out_step);
        let pairs = self.filters.iter().zip(squares.chunks_exact(step));
        for ((left, squares), out) in pairs.zip(products.chunks_exact_mut(out_step)) {
            let right = PackedRhs::of_panels(isa, columns, &squares[..channels * columns]);
            gemm_single_threaded(left, &right, &mut out[..filters * columns]);
        }
        let is_finite = dispatch_best(AddUp {
            products: &products,
            step: out_step,
            columns,
            line: self.line(),
            squares: self.squares[1],
            row_len: self.results[1],
            out: &mut out,
        });
        if let Some(then) = then {
            let first = first * RESULTS * self.results[1];
            let size: usize = self.results.iter().product();
            out.iter_mut().enumerate().for_each(|(filter, piece)| then.apply(filter * size + first, piece));
        }
        is_finite
    }
}

/// What a square takes with its products.
fn bytes_of_square(channels: usize, outputs: usize) -> usize {
    PLACES * (channels + outputs) * size_of::<f32>()
}

/// The same element of filters that are transformed together: room for those of the highest tile.
type Numbers = [f32; 16];

/// A line of filters by place of a square.
#[inline(always)]
fn transformed_line([a, b, c]: [Numbers; KERNEL]) -> [Numbers; SQUARE] {
    let half = |b: Numbers| std::array::from_fn(|i| 0.5 * (a[i] + c[i] + b[i]));
    [a, half(b), half(b.map(|b| -b)), c]
}

/// Filters `[1, outputs, channels, 3, 3]` by place of a square. None if all are integers: sums of these are exact, and
/// stay so.
fn transformed(filters: &Tensor) -> Vec<PackedLhs<f32>> {
    let (isa, outputs, channels) = (Isa::best(), filters.dims()[1], filters.dims()[2]);
    let weights = filters.units::<f32>();
    if weights.iter().all(|weight| weight.fract() == 0.0) {
        return Vec::new();
    }
    let height = tile_rows(isa);
    let mut places = Vec::new();
    places.resize_with(PLACES, || Buffer::scratch(outputs.next_multiple_of(height) * channels));
    let filters = weights.as_chunks::<{ KERNEL * KERNEL }>().0;
    for (tile, filters) in filters.chunks(height * channels).enumerate() {
        for channel in 0..channels {
            let mut taps = [[Numbers::default(); KERNEL]; KERNEL];
            for (k, filter) in filters[channel..].iter().step_by(channels).enumerate() {
                taps.as_flattened_mut().iter_mut().zip(filter).for_each(|(tap, &weight)| tap[k] = weight);
            }
            let (lines, column) = (taps.map(transformed_line), (tile * channels + channel) * height);
            for x in 0..SQUARE {
                for (y, numbers) in transformed_line(lines.map(|line| line[x])).iter().enumerate() {
                    copy_run(&mut places[y * SQUARE + x][column..column + height], &numbers[..height]);
                }
            }
        }
    }
    places.into_iter().map(|tiles| PackedLhs::of_tiles(isa, outputs, channels, tiles)).collect()
}

/// `a - b`.
#[inline(always)]
fn minus<V: Vector<f32>>(a: V, b: V) -> V {
    b.multiply_add(V::splat(-1.0), a)
}

/// A line of squares, transformed.
#[inline(always)]
fn square_line<V: Vector<f32>>([a, b, c, d]: [V; SQUARE]) -> [V; SQUARE] {
    [minus(a, c), b.plus(c), minus(c, b), minus(b, d)]
}

/// Results from a line of products.
#[inline(always)]
fn result_line<V: Vector<f32>>([a, b, c, d]: [V; SQUARE]) -> [V; RESULTS] {
    [a.plus(b.plus(c)), minus(b, c.plus(d))]
}

/// Transforms the squares of all channels, and writes what they have at each place as panels of a product.
struct Transform<'a> {
    planes: &'a [f32],
    /// Where the places of the first square lie in the first channel.
    starts: &'a [usize],
    channel_step: usize,
    channels: usize,
    /// The first position, and the number of positions: a multiple of a panel.
    first: usize,
    columns: usize,
    out: &'a mut [f32],
    /// Elements of `out` from one place to the next.
    step: usize,
}

impl Vectorised for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let lanes = I::F32::LANES;
        let Self { planes, channels, columns, .. } = self;
        let mut places = self.out.chunks_exact_mut(self.step);
        let out: [&mut [f32]; PLACES] = std::array::from_fn(|_| places.next().unwrap_or_default());
        for channel in 0..channels {
            let first = channel * self.channel_step + self.first;
            let from: [&[f32]; PLACES] =
                std::array::from_fn(|i| &planes[self.starts[i] + first..][..columns]);
            for at in (0..columns).step_by(lanes) {
                let mut rows = [[I::F32::splat(0.0); SQUARE]; SQUARE];
                for y in 0..SQUARE {
                    for x in 0..SQUARE {
                        rows[y][x] = I::F32::load(&from[y * SQUARE + x][at..]);
                    }
                    rows[y] = square_line(rows[y]);
                }
                let panel = at / (2 * lanes);
                let to = (panel * channels + channel) * 2 * lanes + at % (2 * lanes);
                for x in 0..SQUARE {
                    let column = square_line([rows[0][x], rows[1][x], rows[2][x], rows[3][x]]);
                    for y in 0..SQUARE {
                        column[y].store(&mut out[y * SQUARE + x][to..]);
                    }
                }
            }
        }
    }
}

/// Adds up the results of squares from their products at each place; whether all are finite.
struct AddUp<'a, 'b> {
    /// By place and filter.
    products: &'a [f32],
    step: usize,
    columns: usize,
    /// Positions from one line of squares to the next, and the squares of a line.
    line: usize,
    squares: usize,
    /// Results in a line.
    row_len: usize,
    /// Lines of results, by filter.
    out: &'a mut [&'b mut [f32]],
}

impl Vectorised for AddUp<'_, '_> {
    type Output = bool;

    #[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
    #[inline(always)]
    fn run<I: Instructions>(self) -> bool {
        let lanes = I::F32::LANES;
        let zero = I::F32::splat(0.0);
        // Stays zero unless anything is infinite or no number.
        let mut doubt = zero;
        for (filter, out) in self.out.iter_mut().enumerate() {
            for (y, rows) in out.chunks_mut(RESULTS * self.row_len).enumerate() {
                let first = filter * self.columns + y * self.line;
                for x in (0..self.squares).step_by(lanes) {
                    let mut sums = [[zero; SQUARE]; RESULTS];
                    for i in 0..SQUARE {
                        let mut places = [zero; SQUARE];
                        for k in 0..SQUARE {
                            let place = (k * SQUARE + i) * self.step;
                            places[k] = I::F32::load(&self.products[place + first + x..]);
                        }
                        [sums[0][i], sums[1][i]] = result_line(places);
                    }
                    let mut all = [[[0f32; LANES]; RESULTS]; RESULTS];
                    // Lanes beyond the last square have no meaning.
                    let count = lanes.min(self.squares - x);
                    for y in 0..RESULTS {
                        let results = result_line(sums[y]);
                        for x in 0..RESULTS {
                            let to = &mut all[y][x];
                            results[x].store(to);
                            if count < lanes {
                                for i in 0..LANES {
                                    to[i] = if i < count { to[i] } else { 0.0 };
                                }
                            }
                            doubt = I::F32::load(to).multiply_add(zero, doubt);
                        }
                    }
                    for (row, [even, odd]) in rows.chunks_mut(self.row_len).zip(&all) {
                        let row = &mut row[x * RESULTS..];
                        let count = row.len().min(RESULTS * lanes);
                        let (pairs, last) = row[..count].as_chunks_mut::<RESULTS>();
                        for (pair, sums) in pairs.iter_mut().zip(even.iter().zip(odd)) {
                            *pair = [*sums.0, *sums.1];
                        }
                        if let [last] = last {
                            *last = even[count / RESULTS];
                        }
                    }
                }
            }
        }
        let mut doubts = [0f32; LANES];
        doubt.store(&mut doubts);
        doubts.iter().all(|&doubt| doubt == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::kernels::elementwise::{BinaryOp, Stage, UnaryOp};
    use crate::kernels::{Window, group_convolution, group_convolution_then};

    /// Fractions of both signs.
    fn noise(dims: &[usize], seed: usize) -> Tensor {
        let len: usize = dims.iter().product();
        let values = (0..len).map(|i| ((i * 7919 + seed * 131) % 1013) as f32 / 300.0 - 1.7);
        Tensor::from_vec(dims, values.collect()).unwrap()
    }

    fn padded(begin: [isize; 2], end: [isize; 2]) -> Window {
        Window {
            pads_begin: begin.into_iter().collect(),
            pads_end: end.into_iter().collect(),
            ..Window::dense(2)
        }
    }

    /// Whether these filters are transformed for images of this size.
    fn is_used(x: &Tensor, filters: &Tensor, window: &Window) -> bool {
        let axes = window.axes(&x.dims()[2..], &filters.dims()[3..]).unwrap();
        let windows = window.output_dims(&x.dims()[2..], &filters.dims()[3..]).unwrap();
        let (axes, out) = WindowAxis::three(&axes, &windows);
        Winograd::new(&Grid { axes, out }, filters).unwrap().is_some()
    }

    #[test]
    fn results_are_those_of_each_window_but_for_rounding() {
        for (x, filters, window) in [
            ([1, 16, 40, 40], [1, 56, 16, 3, 3], padded([1, 1], [1, 1])),
            ([2, 17, 33, 62], [1, 25, 17, 3, 3], padded([1, 1], [1, 1])),
            ([1, 16, 61, 38], [1, 23, 16, 3, 3], padded([0, 2], [1, 0])),
            ([1, 30, 25, 31], [1, 45, 30, 3, 3], padded([-1, 0], [0, -2])),
            ([1, 40, 9, 250], [1, 16, 40, 3, 3], padded([0, 0], [0, 0])),
            ([1, 600, 14, 14], [1, 12, 600, 3, 3], padded([1, 1], [1, 1])),
        ] {
            let (x, filters) = (noise(&x, 1), noise(&filters, 2));
            let kept = filters.clone().kept();
            assert!(is_used(&x, &kept, &window), "{:?}", x.dims());
            let wide = |t: &Tensor| t.cast(ElementType::F64).unwrap();
            let exact = group_convolution(&wide(&x), &wide(&filters), &window).unwrap();
            let magnitude = UnaryOp::Abs;
            let [all_x, all_filters] = [&x, &filters].map(|t| magnitude.apply(&wide(t)).unwrap());
            let sizes = group_convolution(&all_x, &all_filters, &window).unwrap();
            for x in [&x, &x.permute(&[0, 1, 3, 2]).unwrap().contiguous().permute(&[0, 1, 3, 2]).unwrap()] {
                let found = group_convolution(x, &kept, &window).unwrap();
                let found = found.to_f64_vec().unwrap();
                let exact = exact.to_f64_vec().unwrap();
                for ((found, exact), size) in found.iter().zip(exact).zip(sizes.to_f64_vec().unwrap()) {
                    assert!((found - exact).abs() <= 5e-7 * size, "{found} for {exact} of {size}");
                }
            }
        }
    }

    #[test]
    fn what_follows_is_the_same_in_pieces_and_apart() {
        // Beyond and within the cache.
        for (height, width) in [(221, 201), (72, 61)] {
            let (x, filters) = (noise(&[2, 16, height, width], 1), noise(&[1, 12, 16, 3, 3], 2).kept());
            let window = padded([1, 1], [1, 1]);
            assert!(is_used(&x, &filters, &window));
            let plain = group_convolution(&x, &filters, &window).unwrap();
            let bias = noise(&[12, 1, 1], 3);
            let stages = [
                Stage::Right(BinaryOp::Add, &bias),
                Stage::Unary(UnaryOp::Relu),
                Stage::Right(BinaryOp::Add, &plain),
            ];
            let found = group_convolution_then(&x, &filters, &window, &stages).unwrap().unwrap();
            let apart = stages.iter().fold(plain.clone(), |value, stage| stage.apply(&value).unwrap());
            assert_eq!(found, apart);
        }
    }

    #[cfg(feature = "threads")]
    #[test]
    fn threads_change_no_bit() {
        for dims in [[1, 20, 50, 47], [1, 200, 14, 14], [3, 40, 30, 30]] {
            let (x, filters) = (noise(&dims, 1), noise(&[1, 24, dims[1], 3, 3], 2).kept());
            let window = padded([1, 1], [1, 1]);
            assert!(is_used(&x, &filters, &window));
            let run = || group_convolution(&x, &filters, &window).unwrap();
            for threads in [2, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                assert_eq!(pool.install(run), run());
            }
        }
    }

    #[test]
    fn infinite_elements_give_what_each_window_gives() {
        let (filters, window) = (noise(&[1, 32, 16, 3, 3], 2), padded([1, 1], [1, 1]));
        let kept = filters.clone().kept();
        let bits = |t: Tensor| t.to_f32_vec().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        // The largest floats overflow when they are added.
        for large in [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::NAN] {
            let mut values = noise(&[1, 16, 40, 40], 1).to_f32_vec().unwrap();
            values[5 * 1600 + 17 * 40 + 20] = large;
            values[5 * 1600 + 18 * 40 + 22] = large;
            let x = Tensor::from_vec(&[1, 16, 40, 40], values).unwrap();
            assert!(is_used(&x, &kept, &window));
            let [found, expected] = [&kept, &filters].map(|f| group_convolution(&x, f, &window).unwrap());
            assert_eq!(bits(found), bits(expected), "{large}");
        }
    }

    #[test]
    fn only_squares_decide_whether_results_are_finite() {
        // What is between and beyond the lines of squares is never written.
        let (columns, line, squares) = (64, 18, 17);
        let step = columns + APART;
        let mut products = vec![f32::NAN; PLACES * step];
        for place in products.chunks_exact_mut(step) {
            place.chunks_exact_mut(line).take(3).for_each(|line| line[..squares].fill(1.0));
        }
        let is_finite = |products: &[f32]| {
            let mut results = vec![f32::NAN; 6 * 34];
            let mut out = [&mut results[..]];
            let is_finite =
                dispatch_best(AddUp { products, step, columns, line, squares, row_len: 34, out: &mut out });
            assert!(!is_finite || results.iter().all(|x| x.is_finite()));
            is_finite
        };
        assert!(is_finite(&products));
        products[5 * step + 2 * line + squares - 1] = f32::INFINITY;
        assert!(!is_finite(&products));
    }

    #[test]
    fn integers_few_products_and_other_windows_are_declined() {
        let (x, window) = (noise(&[1, 16, 40, 40], 1), padded([1, 1], [1, 1]));
        let filters = noise(&[1, 32, 16, 3, 3], 2).kept();
        assert!(is_used(&x, &filters, &window));
        let integers = Tensor::full(&[1, 32, 16, 3, 3], 3f32).unwrap().kept();
        let once = noise(&[1, 32, 16, 3, 3], 2);
        for other in [&integers, &once] {
            assert!(!is_used(&x, other, &window));
        }
        for small_or_wide in [[1, 16, 7, 7], [1, 16, 4, 12_000]] {
            assert!(!is_used(&noise(&small_or_wide, 1), &filters, &window));
        }
        let strides = Window { strides: smallvec![1, 2], ..window };
        assert!(!is_used(&x, &filters, &strides));
    }
}
