//! Winograd's minimal filtering F(2x2, 3x3): four windows of a 3x3 kernel share 16 products per channel
//! instead of 36.
//!
//! **Source.** Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015.
//!
//! The image is cut into 4x4 tiles with a stride of 2; each tile covers four windows. Tiles and filters are
//! transformed. For each of the 16 elements of a tile, one matrix product sums over the channels. The inverse
//! transform of the sums gives the results of the tile.
//!
//! **Loop nest**, outer to inner: image; block of rows of tiles. Per block: the transform (channel; tile),
//! the products (element of a tile; the loops of [`gemm`](crate::kernels::gemm)) and the inverse transform
//! (filter; tile).
//!
//! **Layout.** Tiles are read from [`phase_planes`](super::phase_planes) with a stride of 2. Transformed
//! tiles are `[element, panel, channel, tile]`, products `[element, filter, tile]`. Both stay in the cache
//! for one block.
//!
//! **Threads.** Each thread computes some blocks. All share the transformed filters.
//!
//! Rounding differs from direct convolution. Elements are added before they are multiplied, so an infinity
//! can turn results of other windows into NaN. The caller recomputes images with non-finite results directly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ConvShape;
use super::image_view::ImageView;
use super::phase_planes::{PhasePlanes, PlaneLayout};
use crate::buffer::Buffer;
use crate::kernels::broadcast::copy_run;
use crate::kernels::gemm::{Epilogue, PackedLhs, PackedRhs, gemm_single_threaded, panel_columns, tile_rows};
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Isa, Vector, Vectorised, dispatch_best};
use crate::kernels::window::{WindowAxis, WindowGrid};
use crate::memo::Purpose;
use crate::{Tensor, TensorError};

/// The sizes on each axis: of a filter, of the results of a tile, and of a tile.
const KERNEL: usize = 3;
const RESULTS: usize = 2;
const TILE: usize = KERNEL + RESULTS - 1;

/// Elements of a tile, each with its own matrix product.
const ELEMENTS: usize = TILE * TILE;

/// The size of a block's transformed tiles and products, in bytes: half of a 2 MiB L2 cache.
const BLOCK_BYTES: usize = 1 << 20;

/// The minimum number of tiles per block, for any number of channels.
const MIN_BLOCK: usize = 64;

/// The gap between matrices, in elements: at multiples of large powers of two they would evict each other
/// from the cache. It is longer than a vector, because a vector may be read beyond a row.
const GAP: usize = 16 * 5;

/// Lanes of the longest vector.
const LANES: usize = 16;

/// The tiles of an image, as a grid of windows.
fn tile_grid(grid: &WindowGrid) -> WindowGrid {
    let [depth, rows, columns] = grid.axes;
    let tile = |axis: WindowAxis| WindowAxis { kernel: TILE, stride: RESULTS, ..axis };
    let [planes, height, width] = grid.out;
    let out = [planes, height.div_ceil(RESULTS), width.div_ceil(RESULTS)];
    WindowGrid { axes: [depth, tile(rows), tile(columns)], out, ..*grid }
}

/// A convolution of images with two spatial axes.
pub(super) struct Winograd {
    /// How images are cut into tiles, and the number of tiles on each axis.
    layout: PlaneLayout,
    tiles: [usize; 2],
    /// Results on each axis.
    results: [usize; 2],
    /// The transformed filters as the left operand of a product, for each element of a tile.
    filters: Arc<Vec<PackedLhs<f32>>>,
}

impl Winograd {
    /// The number of products per filter and channel, counted in whole panels. `None` for groups, for windows
    /// other than 3x3 with stride and dilation 1, and for images so wide that a row of tiles exceeds a block.
    /// With 64 channels and filters and 4 rows, Winograd takes 1.3 to 2.2 times as long as implicit GEMM for
    /// such images.
    pub fn products(shape: &ConvShape) -> Option<usize> {
        let [_, rows, columns] = shape.grid.axes;
        let is_supported = |axis: WindowAxis| axis.kernel == KERNEL && axis.stride == 1 && axis.dilation == 1;
        let tiles = tile_grid(&shape.grid);
        let row_bytes = (tiles.out[2] + 1).saturating_mul(bytes_of_tile(shape.depth, shape.outputs));
        if !(shape.groups == 1 && shape.grid.is_flat() && is_supported(rows) && is_supported(columns))
            || row_bytes > BLOCK_BYTES
        {
            return None;
        }
        let [_, positions] = PlaneLayout::size(&tiles)?;
        positions.next_multiple_of(panel_columns::<f32>(Isa::best())).checked_mul(ELEMENTS)
    }

    /// Transforms the constant filters `[1, outputs, channels, 3, 3]`.
    pub fn new(shape: &ConvShape, filters: &Tensor) -> Result<Self, TensorError> {
        let grid = tile_grid(&shape.grid);
        let ([_, tiles @ ..], [_, results @ ..]) = (grid.out, shape.grid.out);
        let filters = filters.memoised(Purpose::TransformedFilters, || Ok(transformed(filters)))?;
        Ok(Self { layout: PlaneLayout::new(&grid), tiles, results, filters })
    }

    /// Convolves an image and applies `then` to pieces of the result. Returns whether all results are finite.
    pub fn convolve(
        &self,
        image: ImageView<f32>,
        out: &mut [f32],
        then: Option<Epilogue<f32>>,
    ) -> Result<bool, TensorError> {
        let planes = PhasePlanes::new(&self.layout, image, 0.0)?;
        let [rows, columns] = self.results;
        let block = self.rows_of_block(image.channels);
        // The results of each filter, by block.
        let mut blocks: Vec<Vec<&mut [f32]>> = Vec::new();
        blocks.resize_with(self.tiles[0].div_ceil(block), Vec::new);
        for out in out.chunks_exact_mut(rows * columns) {
            let pieces = out.chunks_mut(block * RESULTS * columns);
            blocks.iter_mut().zip(pieces).for_each(|(block, piece)| block.push(piece));
        }
        let is_finite = AtomicBool::new(true);
        let convolve = |(i, out): (usize, Vec<&mut [f32]>)| {
            let first = i * block;
            let count = block.min(self.tiles[0] - first);
            if !self.convolve_block(&planes, image.channels, [first, count], out, then) {
                is_finite.store(false, Ordering::Relaxed);
            }
        };
        let blocks = blocks.into_iter().enumerate();
        if sharing::is_shared() {
            sharing::for_each(blocks, convolve);
        } else {
            blocks.for_each(convolve);
        }
        Ok(is_finite.into_inner())
    }

    /// The number of positions from one row of tiles to the next.
    fn row_stride(&self) -> usize {
        self.tiles[1] + 1
    }

    /// Columns of the products for `rows` rows of tiles.
    fn columns(&self, rows: usize) -> usize {
        (rows * self.row_stride() - 1).next_multiple_of(panel_columns::<f32>(Isa::best()))
    }

    /// The number of rows of tiles per block: at most as many as fit in the cache. Minimises the number of
    /// columns that a thread computes, including the padding of the last panel of each block.
    fn rows_of_block(&self, channels: usize) -> usize {
        let rows = self.tiles[0];
        let most = BLOCK_BYTES / bytes_of_tile(channels, self.filters[0].rows());
        let most = most.max(MIN_BLOCK) / self.row_stride();
        let most = most.clamp(1, sharing::share(rows, 1));
        let computed = |&block: &usize| sharing::share(rows.div_ceil(block), 1) * self.columns(block);
        (most.div_ceil(2)..=most).rev().min_by_key(computed).unwrap_or(most)
    }

    /// Convolves `count` rows of tiles from row `first` on. Returns whether the results are finite.
    fn convolve_block(
        &self,
        planes: &PhasePlanes<f32>,
        channels: usize,
        [first, count]: [usize; 2],
        mut out: Vec<&mut [f32]>,
        then: Option<Epilogue<f32>>,
    ) -> bool {
        let (isa, columns, filters) = (Isa::best(), self.columns(count), out.len());
        let (stride, out_stride) = (channels * columns + GAP, filters * columns + GAP);
        let mut tiles = Buffer::scratch(ELEMENTS * stride);
        dispatch_best(Transform {
            planes: planes.data(),
            starts: &planes.tap_starts(0..1),
            channel_stride: self.layout.len,
            channels,
            first: first * self.row_stride(),
            columns,
            out: &mut tiles,
            stride,
        });
        let mut products = Buffer::scratch(ELEMENTS * out_stride);
        let elements = self.filters.iter().zip(tiles.chunks_exact(stride));
        for ((left, tiles), out) in elements.zip(products.chunks_exact_mut(out_stride)) {
            let right = PackedRhs::of_panels(isa, columns, &tiles[..channels * columns]);
            gemm_single_threaded(left, &right, &mut out[..filters * columns]);
        }
        let is_finite = dispatch_best(InverseTransform {
            products: &products,
            stride: out_stride,
            columns,
            row_stride: self.row_stride(),
            tiles: self.tiles[1],
            row_len: self.results[1],
            out: &mut out,
        });
        if let Some(then) = then {
            let first = first * RESULTS * self.results[1];
            let windows: usize = self.results.iter().product();
            out.iter_mut()
                .enumerate()
                .for_each(|(filter, piece)| then.apply(filter * windows + first, piece));
        }
        is_finite
    }
}

/// The size of a transformed tile of all channels and its products, in bytes.
fn bytes_of_tile(channels: usize, outputs: usize) -> usize {
    ELEMENTS * (channels + outputs) * size_of::<f32>()
}

/// One element of each filter in a group that is transformed together. A group has [`tile_rows`] filters, at
/// most 16.
type Lane = [f32; 16];

/// `G` of the paper, applied to a line of each filter.
#[inline(always)]
fn transform_filter_line([a, b, c]: [Lane; KERNEL]) -> [Lane; TILE] {
    let half = |b: Lane| std::array::from_fn(|i| 0.5 * (a[i] + c[i] + b[i]));
    [a, half(b), half(b.map(|b| -b)), c]
}

/// The packed filters for each element of a tile, from `[1, outputs, channels, 3, 3]`.
fn transformed(filters: &Tensor) -> Vec<PackedLhs<f32>> {
    let (isa, outputs, channels) = (Isa::best(), filters.dims()[1], filters.dims()[2]);
    let weights = filters.units::<f32>();
    let height = tile_rows(isa);
    let mut elements = Vec::new();
    elements.resize_with(ELEMENTS, || Buffer::scratch(outputs.next_multiple_of(height) * channels));
    let filters = weights.as_chunks::<{ KERNEL * KERNEL }>().0;
    for (tile, filters) in filters.chunks(height * channels).enumerate() {
        for channel in 0..channels {
            let mut taps = [[Lane::default(); KERNEL]; KERNEL];
            for (k, filter) in filters[channel..].iter().step_by(channels).enumerate() {
                taps.as_flattened_mut().iter_mut().zip(filter).for_each(|(tap, &weight)| tap[k] = weight);
            }
            let (lines, column) = (taps.map(transform_filter_line), (tile * channels + channel) * height);
            for x in 0..TILE {
                for (y, weights) in transform_filter_line(lines.map(|line| line[x])).iter().enumerate() {
                    copy_run(&mut elements[y * TILE + x][column..column + height], &weights[..height]);
                }
            }
        }
    }
    elements.into_iter().map(|tiles| PackedLhs::of_tiles(isa, outputs, channels, tiles)).collect()
}

/// `a - b`.
#[inline(always)]
fn minus<V: Vector<f32>>(a: V, b: V) -> V {
    b.multiply_add(V::splat(-1.0), a)
}

/// The transposed `B` of the paper, applied to a line of each tile.
#[inline(always)]
fn transform_line<V: Vector<f32>>([a, b, c, d]: [V; TILE]) -> [V; TILE] {
    [minus(a, c), b.plus(c), minus(c, b), minus(b, d)]
}

/// The transposed `A` of the paper, applied to a line of products.
#[inline(always)]
fn inverse_line<V: Vector<f32>>([a, b, c, d]: [V; TILE]) -> [V; RESULTS] {
    [a.plus(b.plus(c)), minus(b, c.plus(d))]
}

/// Transforms the tiles of all channels into the panels of one product per element.
struct Transform<'a> {
    planes: &'a [f32],
    /// The positions of the first tile's elements in the first channel.
    starts: &'a [usize],
    channel_stride: usize,
    channels: usize,
    /// The first position, and the number of positions, a multiple of the panel width.
    first: usize,
    columns: usize,
    out: &'a mut [f32],
    /// The distance in `out` from one element of a tile to the next.
    stride: usize,
}

impl Vectorised for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let lanes = I::F32::LANES;
        let Self { planes, channels, columns, .. } = self;
        let mut elements = self.out.chunks_exact_mut(self.stride);
        let out: [&mut [f32]; ELEMENTS] = std::array::from_fn(|_| elements.next().unwrap_or_default());
        for channel in 0..channels {
            let first = channel * self.channel_stride + self.first;
            let from: [&[f32]; ELEMENTS] =
                std::array::from_fn(|i| &planes[self.starts[i] + first..][..columns]);
            for at in (0..columns).step_by(lanes) {
                let mut rows = [[I::F32::splat(0.0); TILE]; TILE];
                for y in 0..TILE {
                    for x in 0..TILE {
                        rows[y][x] = I::F32::load(&from[y * TILE + x][at..]);
                    }
                    rows[y] = transform_line(rows[y]);
                }
                let panel = at / (2 * lanes);
                let to = (panel * channels + channel) * 2 * lanes + at % (2 * lanes);
                for x in 0..TILE {
                    let column = transform_line([rows[0][x], rows[1][x], rows[2][x], rows[3][x]]);
                    for y in 0..TILE {
                        column[y].store(&mut out[y * TILE + x][to..]);
                    }
                }
            }
        }
    }
}

/// Transforms products into the results of tiles. Returns whether all are finite.
struct InverseTransform<'a, 'b> {
    /// By element of a tile and filter.
    products: &'a [f32],
    /// The distance from one element of a tile to the next.
    stride: usize,
    columns: usize,
    /// The distance from one row of tiles to the next, in positions, and the number of tiles in a row.
    row_stride: usize,
    tiles: usize,
    /// Results in a row.
    row_len: usize,
    /// Rows of results, by filter.
    out: &'a mut [&'b mut [f32]],
}

impl Vectorised for InverseTransform<'_, '_> {
    type Output = bool;

    #[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
    #[inline(always)]
    fn run<I: Instructions>(self) -> bool {
        let lanes = I::F32::LANES;
        let zero = I::F32::splat(0.0);
        // Stays zero unless a result is infinite or NaN, because then `0 * x` is NaN.
        let mut check = zero;
        for (filter, out) in self.out.iter_mut().enumerate() {
            for (y, rows) in out.chunks_mut(RESULTS * self.row_len).enumerate() {
                let first = filter * self.columns + y * self.row_stride;
                for x in (0..self.tiles).step_by(lanes) {
                    let mut sums = [[zero; TILE]; RESULTS];
                    for i in 0..TILE {
                        let mut column = [zero; TILE];
                        for k in 0..TILE {
                            let element = (k * TILE + i) * self.stride;
                            column[k] = I::F32::load(&self.products[element + first + x..]);
                        }
                        [sums[0][i], sums[1][i]] = inverse_line(column);
                    }
                    let mut all = [[[0f32; LANES]; RESULTS]; RESULTS];
                    // Lanes beyond the last tile hold stale values.
                    let count = lanes.min(self.tiles - x);
                    for y in 0..RESULTS {
                        let results = inverse_line(sums[y]);
                        for x in 0..RESULTS {
                            let to = &mut all[y][x];
                            results[x].store(to);
                            if count < lanes {
                                for i in 0..LANES {
                                    to[i] = if i < count { to[i] } else { 0.0 };
                                }
                            }
                            check = I::F32::load(to).multiply_add(zero, check);
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
        let mut checks = [0f32; LANES];
        check.store(&mut checks);
        checks.iter().all(|&check| check == 0.0)
    }
}

#[cfg(test)]
mod tests {

    use super::super::filters::Filters;
    use super::super::{ConvAlgorithm, Elements, result_dims};
    use super::*;
    use crate::ElementType;
    use crate::SmallVector;
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

    /// Whether Winograd is chosen for these filters and images of this size.
    fn is_used(x: &Tensor, filters: &Tensor, window: &Window) -> bool {
        let dims = result_dims(x, filters, window).unwrap();
        let shape = ConvShape::new(x, filters, window, &dims).unwrap();
        let has_winograd_filters =
            filters.memo().is_some() && !Filters::<f32>::new(shape, filters).are_integers();
        let elements = Elements::F32 { has_winograd_filters, has_contiguous_rows: true };
        ConvAlgorithm::select(&shape, elements) == Some(ConvAlgorithm::Winograd)
    }

    #[test]
    fn results_are_exact_but_for_rounding() {
        for (x, filters, window) in [
            ([1, 64, 40, 40], [1, 70, 64, 3, 3], padded([1, 1], [1, 1])),
            ([2, 67, 33, 62], [1, 66, 67, 3, 3], padded([1, 1], [1, 1])),
            ([1, 64, 61, 38], [1, 73, 64, 3, 3], padded([0, 2], [1, 0])),
            ([1, 90, 25, 31], [1, 65, 90, 3, 3], padded([-1, 0], [0, -2])),
            ([1, 80, 9, 200], [1, 64, 80, 3, 3], padded([0, 0], [0, 0])),
            ([1, 600, 14, 14], [1, 40, 600, 3, 3], padded([1, 1], [1, 1])),
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
    fn fused_functions_equal_separate_ones() {
        // Images larger and smaller than the cache.
        for (height, width) in [(121, 101), (42, 31)] {
            let (x, filters) = (noise(&[2, 64, height, width], 1), noise(&[1, 70, 64, 3, 3], 2).kept());
            let window = padded([1, 1], [1, 1]);
            assert!(is_used(&x, &filters, &window));
            let plain = group_convolution(&x, &filters, &window).unwrap();
            let bias = noise(&[70, 1, 1], 3);
            let stages = [
                Stage::Right(BinaryOp::Add, &bias),
                Stage::Unary(UnaryOp::Relu),
                Stage::Right(BinaryOp::Add, &plain),
            ];
            let found = group_convolution_then(&x, &filters, &window, &stages).unwrap().unwrap();
            let separate = stages.iter().fold(plain.clone(), |value, stage| stage.apply(&value).unwrap());
            assert_eq!(found, separate);
        }
    }

    #[cfg(feature = "threads")]
    #[test]
    fn threads_change_no_bit() {
        for dims in [[1, 70, 50, 47], [1, 200, 14, 14], [3, 64, 30, 30]] {
            let (x, filters) = (noise(&dims, 1), noise(&[1, 64, dims[1], 3, 3], 2).kept());
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
    fn images_with_infinite_elements_are_convolved_directly() {
        let (filters, window) = (noise(&[1, 64, 64, 3, 3], 2), padded([1, 1], [1, 1]));
        let kept = filters.clone().kept();
        let bits = |t: Tensor| t.to_f32_vec().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        // The largest floats overflow when added.
        for large in [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::NAN] {
            let mut values = noise(&[1, 64, 40, 40], 1).to_f32_vec().unwrap();
            values[5 * 1600 + 17 * 40 + 20] = large;
            values[5 * 1600 + 18 * 40 + 22] = large;
            let x = Tensor::from_vec(&[1, 64, 40, 40], values).unwrap();
            assert!(is_used(&x, &kept, &window));
            let [found, expected] = [&kept, &filters].map(|f| group_convolution(&x, f, &window).unwrap());
            assert_eq!(bits(found), bits(expected), "{large}");
        }
    }

    #[test]
    fn positions_between_tiles_may_be_infinite() {
        // Positions between and beyond the rows of tiles are never written.
        let (columns, row_stride, tiles) = (64, 18, 17);
        let stride = columns + GAP;
        let mut products = vec![f32::NAN; ELEMENTS * stride];
        for element in products.chunks_exact_mut(stride) {
            element.chunks_exact_mut(row_stride).take(3).for_each(|line| line[..tiles].fill(1.0));
        }
        let is_finite = |products: &[f32]| {
            let mut results = vec![f32::NAN; 6 * 34];
            let mut out = [&mut results[..]];
            let is_finite = dispatch_best(InverseTransform {
                products,
                stride,
                columns,
                row_stride,
                tiles,
                row_len: 34,
                out: &mut out,
            });
            assert!(!is_finite || results.iter().all(|x| x.is_finite()));
            is_finite
        };
        assert!(is_finite(&products));
        products[5 * stride + 2 * row_stride + tiles - 1] = f32::INFINITY;
        assert!(!is_finite(&products));
    }

    #[test]
    fn integers_few_channels_and_other_windows_are_declined() {
        let (x, window) = (noise(&[1, 64, 40, 40], 1), padded([1, 1], [1, 1]));
        let filters = noise(&[1, 64, 64, 3, 3], 2).kept();
        assert!(is_used(&x, &filters, &window));
        let integers = Tensor::full(&[1, 64, 64, 3, 3], 3f32).unwrap().kept();
        let once = noise(&[1, 64, 64, 3, 3], 2);
        for other in [&integers, &once] {
            assert!(!is_used(&x, other, &window));
        }
        for small_or_wide in [[1, 64, 7, 7], [1, 64, 4, 12_000]] {
            assert!(!is_used(&noise(&small_or_wide, 1), &filters, &window));
        }
        assert!(!is_used(&noise(&[1, 32, 40, 40], 1), &noise(&[1, 64, 32, 3, 3], 2).kept(), &window));
        let strides = Window { strides: SmallVector::from([1, 2]), ..window };
        assert!(!is_used(&x, &filters, &strides));
    }
}
