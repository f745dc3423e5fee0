//! Convolution over one to three spatial axes: OpenVINO's `Convolution-1` and `GroupConvolution-1`.

mod after_sums;
mod borders;
mod depthwise;
mod depthwise_blocks;
mod float_sums;
mod images;
mod planes;
mod quantized;
mod quantized_dense;
mod quantized_depthwise;
mod quantized_filters;
mod regions;
mod scaling;
mod to_levels;
mod winograd;

pub use after_sums::AfterSums;
pub use quantized::QuantizedConvolution;
pub use quantized_filters::{QuantizedFilters, Unpacking};

use std::borrow::Cow;
use std::sync::Arc;

use self::depthwise::depthwise;
use self::depthwise_blocks::DepthwiseBlocks;
use self::images::Channels;
use self::planes::{Cuts, Grid, Planes};
use self::regions::Regions;
use self::winograd::Winograd;
use crate::buffer::Buffer;
use crate::buffer::filled;
use crate::kernels::broadcast::Strided;
use crate::kernels::dispatch::{widen_real, with_real};
use crate::kernels::elementwise::{FusedElementwise, Stage};
use crate::kernels::gemm::{Epilogue, Gemm, Matrix, PackedLhs, PackedRhs, gemm, gemm_with_epilogue};
use crate::kernels::matmul::dot_products::few_columns;
use crate::kernels::sharing;
use crate::kernels::vectors::Isa;
use crate::kernels::window::{Window, WindowAxis};
use crate::layout::checked_len;
use crate::memo::Purpose;
use crate::tensor::stored_bytes;
use crate::{Dims, Element, ElementType, Tensor, TensorError};

/// `input` `[N, C, spatial..]` by `filters` `[O, C, kernel..]`: `[N, O, windows..]`.
///
/// Integers are computed in `f64` and converted back. The products of a window are summed channel by channel, then
/// position by position, and column by column if there is one channel: as the OpenVINO runtime does, so that sums with
/// fused multiply-add are equal to the last bit, except products with few columns, and constant filters of 3x3 elements
/// over large images: windows next to each other share products there.
///
/// # Errors
/// [`TensorError::TypeMismatch`], [`TensorError::ShapeMismatch`], [`TensorError::Argument`].
pub fn convolution(input: &Tensor, filters: &Tensor, window: &Window) -> Result<Tensor, TensorError> {
    group_convolution(input, &filters.unsqueeze(0)?, window)
}

/// `input` `[N, G * C, spatial..]` by `filters` `[G, O, C, kernel..]`: `[N, G * O, windows..]`.
///
/// # Errors
/// As [`convolution`].
pub fn group_convolution(input: &Tensor, filters: &Tensor, window: &Window) -> Result<Tensor, TensorError> {
    convolve(input, filters, window, &result_dims(input, filters, window)?, None)
}

/// [`group_convolution`] and functions of its result, which are computed while parts of that are in the cache. `None` if
/// they are none that [`FusedElementwise`] computes.
///
/// # Errors
/// As [`convolution`].
pub fn group_convolution_then(
    input: &Tensor,
    filters: &Tensor,
    window: &Window,
    stages: &[Stage<&Tensor>],
) -> Result<Option<Tensor>, TensorError> {
    let dims = result_dims(input, filters, window)?;
    let then = FusedElementwise::of_dims(&dims, stages);
    let then = then.filter(|_| input.element_type() == ElementType::F32);
    then.map(|then| convolve(input, filters, window, &dims, Some(&then))).transpose()
}

/// The dims of a [`group_convolution`].
fn result_dims(input: &Tensor, filters: &Tensor, window: &Window) -> Result<Dims, TensorError> {
    let refuse = || TensorError::mismatch("cannot convolve {} with filters {}", input.dims(), filters.dims());
    let ([batch, channels, spatial @ ..], [groups, outputs, depth, kernel @ ..]) =
        (input.dims(), filters.dims())
    else {
        return Err(refuse());
    };
    if groups.checked_mul(*depth) != Some(*channels) || spatial.len() != kernel.len() {
        return Err(refuse());
    }
    let mut dims = Dims::from_slice(&[*batch, groups.checked_mul(*outputs).ok_or_else(refuse)?]);
    dims.extend_from_slice(&window.output_dims(spatial, kernel)?);
    stored_bytes(input.element_type(), &dims)?;
    Ok(dims)
}

/// A [`group_convolution`] of these dims, with what follows.
fn convolve(
    input: &Tensor,
    filters: &Tensor,
    window: &Window,
    dims: &[usize],
    then: Option<&FusedElementwise>,
) -> Result<Tensor, TensorError> {
    let et = input.element_type();
    let complete = |result| match then {
        Some(then) => then.run(result),
        None => Ok(result),
    };
    // Without products the result is zeros. Below, no product of dims overflows.
    if input.is_empty() || filters.is_empty() || dims.contains(&0) {
        return complete(Tensor::zeros(et, dims)?);
    }
    let [input, filters] = widen_real([input, filters])?;
    let axes = window.axes(&input.dims()[2..], &filters.dims()[3..])?;
    let places = WindowAxis::places(&axes, &dims[2..]);
    let (axes, out) = WindowAxis::three(&axes, &dims[2..]);
    let grid = Grid { axes, out };
    with_real!(input.element_type(), T => {
        let mut x = Strided::<T>::new(&input);
        let mut slide = Slide::<T>::new(grid, &filters);
        // An image that is read where it lies needs packed channels.
        let packed;
        let is_read_in_place = grid.is_whole() || (slide.depth() > 1 && Regions::new(grid).is_some());
        if is_read_in_place && grid.windows() > FEW_WINDOWS && !Channels::of(&x, places).are_packed(&grid.axes) {
            packed = input.contiguous();
            x = Strided::new(&packed);
        }
        let mut values = Buffer::any(checked_len(dims).unwrap_or(0))?;
        let images = Images { first: Channels::of(&x, places), step: x.layout.strides[0] };
        // The results of one channel are in the nearest cache.
        let pays = (slide.is_depthwise() || values.len() >= FAR) && grid.windows() >= LONG;
        let in_pieces = then.filter(|then| pays && then.has_rows_of(grid.windows()));
        let on_piece = |first: usize, values: &mut [T]| {
            // They are `f32` if anything follows.
            if let (Some(then), Ok(values)) = (in_pieces, bytemuck::try_cast_slice_mut(values)) {
                then.on_piece(first, values);
            }
        };
        let on_piece = in_pieces.map(|_| Epilogue::new(&on_piece));
        let is_complete = match T::with_own_kernel(&mut slide, images, &mut values, on_piece)? {
            Some(is_complete) => is_complete,
            None => slide.over(images, &mut values, on_piece)?,
        };
        let result = Tensor::from_buffer(T::TYPE, dims, values)?.cast(et)?;
        if is_complete { Ok(result) } else { complete(result) }
    })
}

/// Results of so many elements leave the cache before they are complete: what follows is computed of pieces of them.
const FAR: usize = 1 << 19;

/// Shorter rows would make too short pieces.
const LONG: usize = 256;

/// Up to this many windows, their elements are gathered; the runs of planes would be too short.
const FEW_WINDOWS: usize = 8;

/// Up to this many filters of one channel do not justify the tiles of a product.
const FEW_FILTERS: usize = 3;

/// Shorter sums per window are not computed separately.
const SHORT: usize = 64;

/// The number of windows gathered together, unless they are very large.
const AT_ONCE: usize = 64;

/// The number of elements gathered together, but at least those of a few windows.
const MOST_GATHERED: usize = 1 << 24;

/// Images and their stride.
#[derive(Copy, Clone)]
struct Images<'a, T> {
    first: Channels<'a, T>,
    step: isize,
}

impl<'a, T: Gemm> Images<'a, T> {
    fn image(&self, n: usize) -> Channels<'a, T> {
        self.first.moved(n as isize * self.step)
    }
}

/// Floats with ways of convolution of their own. Only `f32` has them: doubles, and integers, which are computed as doubles,
/// are rare.
trait Convolved: Gemm {
    /// The convolution of all images, if there is such a way for it; whether it is followed by `then`.
    fn with_own_kernel(
        _: &mut Slide<Self>,
        _: Images<Self>,
        _: &mut [Self],
        _: Option<Epilogue<Self>>,
    ) -> Result<Option<bool>, TensorError> {
        Ok(None)
    }
}

impl Convolved for f64 {}

impl Convolved for f32 {
    fn with_own_kernel(
        slide: &mut Slide<f32>,
        images: Images<f32>,
        out: &mut [f32],
        then: Option<Epilogue<f32>>,
    ) -> Result<Option<bool>, TensorError> {
        let (grid, result) = (slide.grid, slide.groups() * slide.outputs() * slide.grid.windows());
        if slide.is_depthwise()
            && slide.order.is_none()
            && let Some(blocks) = DepthwiseBlocks::new(&grid, &images.first)
        {
            for (n, out) in out.chunks_exact_mut(result).enumerate() {
                blocks.convolve(images.image(n), &slide.rows, out, then.map(|then| then.part(n * result)));
            }
            return Ok(Some(then.is_some()));
        }
        if slide.depth() == 1 || grid.windows() <= FEW_WINDOWS {
            return Ok(None);
        }
        if let Some(winograd) = Winograd::new(&grid, slide.filters)? {
            for (n, out) in out.chunks_exact_mut(result).enumerate() {
                if !winograd.convolve(images.image(n), out, then.map(|then| then.part(n * result)))? {
                    return Ok(None);
                }
            }
            return Ok(Some(then.is_some()));
        }
        let Some(regions) = Regions::new(grid) else { return Ok(None) };
        let filters = slide.packed()?;
        for (n, out) in out.chunks_exact_mut(result).enumerate() {
            regions.convolve(images.image(n), &filters, out);
        }
        Ok(Some(false))
    }
}

/// The convolution of images with filters `[groups, outputs, depth, kernel..]`, no dim of which is 0.
struct Slide<'a, T: Gemm> {
    grid: Grid,
    filters: &'a Tensor,
    /// The filters, one per row.
    rows: Cow<'a, [T]>,
    /// The order in which the products of a filter are summed, unless it is sequential.
    order: Option<Vec<usize>>,
    /// The filters of each group as the left side of a product with windows, made when needed.
    packed: Option<Arc<Vec<PackedLhs<T>>>>,
}

impl<'a, T: Gemm> Slide<'a, T> {
    fn new(grid: Grid, filters: &'a Tensor) -> Self {
        let mut slide = Slide { grid, filters, rows: filters.units(), order: None, packed: None };
        slide.order = match (slide.depth(), slide.grid.taps()) {
            (_, 1) => None,
            (1, _) if slide.groups() > 1 => None,
            (1, taps) => {
                let columns = slide.grid.axes[2].kernel;
                Some((0..columns).flat_map(|column| (column..taps).step_by(columns)).collect())
            }
            (depth, taps) => Some((0..taps).flat_map(|tap| (tap..depth * taps).step_by(taps)).collect()),
        };
        slide
    }

    fn groups(&self) -> usize {
        self.filters.dims()[0]
    }

    /// Filters of a group.
    fn outputs(&self) -> usize {
        self.filters.dims()[1]
    }

    /// Input channels of a group.
    fn depth(&self) -> usize {
        self.filters.dims()[2]
    }

    /// Elements of a filter.
    fn length(&self) -> usize {
        self.depth() * self.grid.taps()
    }

    /// Whether filters are applied one by one: few of them over one channel have few products, and the overhead matters. A
    /// long one that covers its image is a product of two rows.
    fn is_depthwise(&self) -> bool {
        self.depth() == 1
            && self.outputs() <= FEW_FILTERS
            && (self.grid.taps() < SHORT || !self.grid.is_image())
    }

    /// The convolution of all images; whether it is followed by `then`.
    fn over(
        &mut self,
        images: Images<T>,
        out: &mut [T],
        then: Option<Epilogue<T>>,
    ) -> Result<bool, TensorError> {
        let windows = self.grid.windows();
        let result = self.groups() * self.outputs() * windows;
        let is_depthwise = self.is_depthwise();
        let cuts = if windows <= FEW_WINDOWS && !is_depthwise { None } else { Cuts::new(&self.grid) };
        let Some(cuts) = cuts else { return self.patches(images, out).map(|()| false) };
        for (n, out) in out.chunks_exact_mut(result).enumerate() {
            let then = then.map(|then| then.part(n * result));
            match is_depthwise {
                true => depthwise(&cuts, images.image(n), &self.rows, self.order.as_deref(), out, then)?,
                false => self.planes(&Planes::new(&cuts, images.image(n), T::default())?, out, then)?,
            }
        }
        Ok(then.is_some())
    }

    /// The convolution of an image that is split into planes.
    fn planes(
        &mut self,
        planes: &Planes<T>,
        out: &mut [T],
        then: Option<Epilogue<T>>,
    ) -> Result<(), TensorError> {
        let filters = self.packed()?;
        let (isa, result) = (Isa::best(), out.len() / self.groups());
        let group = |(g, (left, out)): (usize, (&PackedLhs<T>, &mut [T]))| {
            let channels = g * self.depth()..(g + 1) * self.depth();
            let mut starts = planes.starts(channels);
            if let Some(order) = &self.order {
                starts = order.iter().map(|&k| starts[k]).collect();
            }
            let right = PackedRhs::of_lines(isa, planes.data(), starts, planes.of.windows());
            gemm_with_epilogue(left, &right, out, then.map(|then| then.part(g * result)));
        };
        let groups = filters.iter().zip(out.chunks_exact_mut(result)).enumerate();
        if sharing::is_shared() && filters.len() > 1 {
            sharing::for_each(groups, group);
        } else {
            groups.for_each(group);
        }
        Ok(())
    }

    fn packed(&mut self) -> Result<Arc<Vec<PackedLhs<T>>>, TensorError> {
        if let Some(packed) = &self.packed {
            return Ok(packed.clone());
        }
        let (outputs, length) = (self.outputs(), self.length());
        let group = |rows| {
            let (isa, filters) = (Isa::best(), Matrix::packed(rows, outputs, length));
            match &self.order {
                Some(order) => PackedLhs::pack_permuted(isa, &filters, order),
                None => PackedLhs::pack(isa, &filters),
            }
        };
        let pack = || Ok(self.rows.chunks_exact(outputs * length).map(group).collect());
        let packed = self.filters.memoised(Purpose::Filters, pack)?;
        Ok(self.packed.insert(packed).clone())
    }

    /// Reorders the elements of windows into the order of the sums.
    fn in_order(&self, patches: &mut [T]) {
        let Some(order) = &self.order else { return };
        let mut before = Vec::with_capacity(order.len());
        for patch in patches.chunks_exact_mut(order.len()) {
            before.clear();
            before.extend_from_slice(patch);
            for (to, &k) in patch.iter_mut().zip(order) {
                *to = before[k];
            }
        }
    }

    /// The convolution of blocks of windows, of one image or of several: each window is one column.
    fn patches(&mut self, images: Images<T>, out: &mut [T]) -> Result<(), TensorError> {
        let (windows, length, outputs) = (self.grid.windows(), self.length(), self.outputs());
        let all = out.len() / (self.groups() * outputs);
        let at_once = (MOST_GATHERED / length).clamp(FEW_WINDOWS, AT_ONCE);
        let mut patches = filled(at_once.min(all) * length, T::default())?;
        let mut part = filled(at_once.min(all) * outputs, T::default())?;
        for g in 0..self.groups() {
            for first in (0..all).step_by(at_once) {
                let count = at_once.min(all - first);
                let patches = &mut patches[..count * length];
                for (i, patch) in patches.chunks_exact_mut(length).enumerate() {
                    let (n, window) = ((first + i) / windows, (first + i) % windows);
                    let channels = g * self.depth()..(g + 1) * self.depth();
                    let channels = images.image(n).part(channels);
                    match channels.as_slice(&self.grid.axes).filter(|_| self.grid.is_image()) {
                        Some(image) => patch.copy_from_slice(image),
                        None => self.grid.under(window, channels, patch),
                    }
                }
                let part = &mut part[..count * outputs];
                let [window_step, output_step] = self.multiply(g, patches, part)?;
                for o in 0..outputs {
                    for i in 0..count {
                        let (n, window) = ((first + i) / windows, (first + i) % windows);
                        let to = ((n * self.groups() + g) * outputs + o) * windows + window;
                        out[to] = part[i * window_step + o * output_step];
                    }
                }
            }
        }
        Ok(())
    }

    /// The products of the filters of a group with a block of windows, and the strides in `part` of windows and of
    /// outputs.
    fn multiply(&mut self, g: usize, patches: &mut [T], part: &mut [T]) -> Result<[usize; 2], TensorError> {
        let (outputs, length) = (self.outputs(), self.length());
        let count = patches.len() / length;
        let by_output = Ok([1, count]);
        let filters = Matrix::packed(&self.rows[g * outputs * length..][..outputs * length], outputs, length);
        let is_long = count <= 2 && count * SHORT <= length;
        if is_long && T::HAS_NARROW_KERNELS {
            few_columns(&filters, &Matrix::packed(patches, count, length).transposed(), part);
            return by_output;
        }
        self.in_order(patches);
        let patches = Matrix::packed(patches, count, length);
        // The shorter side makes the tiles, which may have few rows; a panel always has many columns.
        if count < outputs {
            let left = PackedLhs::pack(Isa::best(), &patches);
            let left = if self.order.is_some() { left.with_sequential_sums() } else { left };
            gemm(&left, &self.columns()?[g], part);
            return Ok([outputs, 1]);
        }
        gemm(&self.packed()?[g], &PackedRhs::new(Isa::best(), &patches.transposed()), part);
        by_output
    }

    /// The filters of each group as the right side of a product.
    fn columns(&self) -> Result<Arc<Vec<PackedRhs<'static, T>>>, TensorError> {
        let (outputs, length) = (self.outputs(), self.length());
        let group = |rows: &[T]| {
            let mut rows = rows.to_vec();
            self.in_order(&mut rows);
            PackedRhs::new(Isa::best(), &Matrix::packed(&rows, outputs, length).transposed()).into_packed()
        };
        let pack = || Ok(self.rows.chunks_exact(outputs * length).map(group).collect());
        self.filters.memoised(Purpose::FilterColumns, pack)
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::kernels::elementwise::{BinaryOp, UnaryOp};
    use crate::kernels::strided_copy::packed_parts;

    fn t(dims: &[usize]) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(|x| (x % 7) as f32 - 2.0).collect()).unwrap()
    }

    fn padded(pad: isize, dilation: usize) -> Window {
        let (pads, dilations) = (smallvec![pad; 2], smallvec![dilation; 2]);
        Window { dilations, pads_begin: pads, pads_end: smallvec![pad; 2], ..Window::dense(2) }
    }

    /// The definition, index by index, in the documented order.
    fn naive(input: &Tensor, filters: &Tensor, window: &Window) -> Vec<f32> {
        let (xd, wd) = (input.dims(), filters.dims());
        let windows = window.output_dims(&xd[2..], &wd[3..]).unwrap();
        let (axes, out) = WindowAxis::three(&window.axes(&xd[2..], &wd[3..]).unwrap(), &windows);
        let (x, w) = (input.to_f32_vec().unwrap(), filters.to_f32_vec().unwrap());
        let (area, taps): (usize, usize) = (xd[2..].iter().product(), wd[3..].iter().product());
        let mut order: Vec<usize> = (0..taps).collect();
        if wd[..1] == [1] && wd[2] == 1 {
            order.sort_by_key(|tap| tap % axes[2].kernel);
        }
        let mut all = Vec::new();
        for n in 0..xd[0] {
            for g in 0..wd[0] {
                for o in 0..wd[1] {
                    for at in 0..out.iter().product() {
                        let mut sum = 0.0;
                        for tap in &order {
                            let [d, h, v] = axes;
                            let z = d.inside(at / (out[1] * out[2]), tap / (h.kernel * v.kernel));
                            let y = h.inside(at / out[2] % out[1], tap / v.kernel % h.kernel);
                            let u = v.inside(at % out[2], tap % v.kernel);
                            let (Some(z), Some(y), Some(u)) = (z, y, u) else { continue };
                            for c in 0..wd[2] {
                                let channel = n * xd[1] + g * wd[2] + c;
                                sum += x[channel * area + (z * h.size + y) * v.size + u]
                                    * w[((g * wd[1] + o) * wd[2] + c) * taps + tap];
                            }
                        }
                        all.push(sum);
                    }
                }
            }
        }
        all
    }

    #[test]
    fn what_follows_is_the_same_in_pieces_and_apart() {
        let bias = t(&[12, 1, 1]);
        let cases = [
            // Small, and with regions, one channel a group, and several images and groups of results beyond the cache.
            (t(&[2, 3, 5, 6]), t(&[1, 12, 3, 3, 3]), padded(1, 1)),
            (t(&[1, 3, 20, 20]), t(&[1, 12, 3, 3, 3]), padded(8, 8)),
            (t(&[1, 12, 210, 211]), t(&[12, 1, 1, 3, 3]), padded(1, 1)),
            (t(&[2, 4, 150, 151]), t(&[2, 6, 2, 3, 3]), padded(1, 1)),
            (t(&[2, 0, 3, 3]), t(&[1, 12, 0, 1, 1]), Window::dense(2)),
        ];
        for (x, filters, window) in &cases {
            let plain = group_convolution(x, filters, window).unwrap();
            let same = plain.permute(&[0, 1, 3, 2]).unwrap().contiguous().permute(&[0, 1, 3, 2]).unwrap();
            let scalar = Tensor::scalar(-1.5f32);
            for other in [&bias, &plain, &same, &scalar] {
                let stages = [
                    Stage::Right(BinaryOp::Add, other),
                    Stage::Unary(UnaryOp::Relu),
                    Stage::Left(BinaryOp::Sub, &bias),
                ];
                let found = group_convolution_then(x, filters, window, &stages).unwrap().unwrap();
                let apart = stages.iter().fold(plain.clone(), |value, stage| stage.apply(&value).unwrap());
                assert_eq!(found, apart, "{:?} {:?} {:?}", x.dims(), filters.dims(), other.dims());
            }
        }
        let (x, filters, window) = &cases[0];
        let double = [Stage::Right(BinaryOp::Add, &Tensor::scalar(1.0f64))];
        assert_eq!(group_convolution_then(x, filters, window, &double).unwrap(), None);
    }

    #[test]
    fn every_path_agrees_with_the_definition() {
        let wide = Window {
            strides: smallvec![2, 1],
            dilations: smallvec![1, 2],
            pads_begin: smallvec![1, -1],
            pads_end: smallvec![2, 3],
        };
        let line = Window {
            dilations: smallvec![29],
            pads_begin: smallvec![90],
            pads_end: smallvec![20],
            ..Window::dense(1)
        };
        let cases = [
            (t(&[2, 3, 5, 6]), t(&[1, 4, 3, 3, 2]), wide.clone()),
            (t(&[2, 4, 5, 6]), t(&[4, 2, 1, 3, 2]), wide.clone()),
            (t(&[2, 4, 5, 6]), t(&[2, 3, 2, 2, 2]), wide),
            (t(&[1, 3, 4]), t(&[1, 2, 3, 1]), Window::dense(1)),
            (t(&[2, 3, 40, 1]), t(&[1, 4, 3, 3, 1]), Window::dense(2)),
            (t(&[1, 3, 40, 1]), t(&[1, 4, 3, 3, 1]), padded(1, 1)),
            (t(&[1, 2, 3, 4, 5]), t(&[1, 2, 2, 2, 2, 3]), Window::dense(3)),
            (t(&[2, 64, 3, 3]), t(&[1, 3, 64, 2, 2]), Window::dense(2)),
            (t(&[1, 3, 40, 41]), t(&[1, 14, 3, 3, 3]), padded(1, 1)),
            (t(&[2, 3, 9, 40]), t(&[1, 5, 3, 3, 3]), padded(700, 700)),
            (t(&[3, 2, 40, 41]), t(&[1, 3, 2, 38, 39]), Window::dense(2)),
            (t(&[2, 3, 20, 20]), t(&[1, 5, 3, 3, 3]), padded(8, 8)),
            (t(&[1, 6, 21, 17]), t(&[2, 14, 3, 3, 3]), padded(30, 30)),
            (t(&[1, 2, 70]), t(&[1, 3, 2, 4]), line),
            (t(&[2, 5, 6, 6]), t(&[5, 2, 1, 6, 6]), Window::dense(2)),
            (t(&[2, 5, 9, 9]), t(&[5, 2, 1, 9, 9]), Window::dense(2)),
        ];
        for (input, filters, window) in cases {
            let found = group_convolution(&input, &filters, &window).unwrap();
            assert_eq!(found.to_f32_vec().unwrap(), naive(&input, &filters, &window));
        }
    }

    /// Products of 12-bit integers are exact, their sums are not: each order of summing gives other bits.
    #[test]
    fn sums_are_made_in_the_order_of_the_runtime() {
        let large = |dims: &[usize], seed: usize| {
            let len: usize = dims.iter().product();
            let values = (0..len).map(|i| ((i * seed) % 4093) as f32);
            Tensor::from_vec(dims, values.collect()).unwrap()
        };
        for (x, w) in [
            ([1, 6, 9, 11], [1, 5, 6, 3, 2]),
            ([1, 130, 6, 5], [1, 2, 130, 3, 3]),
            ([1, 16, 4, 4], [1, 40, 16, 2, 2]),
            ([1, 1, 12, 13], [1, 3, 1, 4, 3]),
            ([1, 4, 12, 13], [2, 3, 2, 4, 3]),
            ([1, 3, 12, 13], [3, 2, 1, 3, 3]),
        ] {
            let (x, w) = (large(&x, 2_741), large(&w, 1_733));
            let found = group_convolution(&x, &w, &Window::dense(2)).unwrap().to_f32_vec().unwrap();
            assert_eq!(found, naive(&x, &w, &Window::dense(2)), "{:?}", w.dims());
            // The axes of the kernel the other way round: the same products in another order.
            let turned = |t: &Tensor| {
                let axes: Vec<usize> = (0..t.rank() - 2).chain([t.rank() - 1, t.rank() - 2]).collect();
                t.permute(&axes).unwrap().contiguous()
            };
            let other = group_convolution(&turned(&x), &turned(&w), &Window::dense(2)).unwrap();
            assert_ne!(turned(&other).to_f32_vec().unwrap(), found, "{:?}", w.dims());
        }
    }

    #[test]
    fn views_equal_packed_tensors() {
        let padded = padded(1, 1);
        let dense = Window::dense(2);
        let cases = [
            (t(&[2, 9, 10, 4]), t(&[1, 3, 4, 3, 2]), &padded),
            (t(&[2, 9, 10, 4]), t(&[4, 2, 1, 3, 2]), &padded),
            (t(&[3, 5, 5, 4]), t(&[2, 2, 2, 4, 3]), &dense),
            (t(&[2, 9, 10, 4]), t(&[1, 3, 4, 1, 1]), &dense),
        ];
        for (whole, filters, window) in cases {
            let channels_first = whole.permute(&[0, 3, 1, 2]).unwrap();
            let backwards = channels_first.slice(3, 3, 4, -1).unwrap();
            let fewer_lines = channels_first.slice(2, 1, 4, 1).unwrap().slice(0, 1, 1, 1).unwrap();
            let own = whole.reshape(channels_first.dims()).unwrap();
            let last_image = own.slice(0, 1, 1, 1).unwrap();
            for view in [channels_first, backwards, fewer_lines, last_image] {
                let before = packed_parts();
                let found = group_convolution(&view, &filters, window).unwrap();
                // Filters of one element have nothing to cut, and read whole channels.
                let taps = filters.dims()[3] * filters.dims()[4];
                assert!(packed_parts() == before || taps == 1);
                let packed = view.contiguous();
                assert_eq!(found, group_convolution(&packed, &filters, window).unwrap());
                assert_eq!(found.to_f32_vec().unwrap(), naive(&packed, &filters, window));
            }
        }
    }

    #[test]
    fn a_hand_made_edge_filter() {
        let image = Tensor::from_vec(&[1, 1, 4], vec![1.0f32, 4.0, 9.0, 16.0]).unwrap();
        let filter = Tensor::from_vec(&[1, 1, 2], vec![-1.0f32, 1.0]).unwrap();
        let found = convolution(&image, &filter, &Window::dense(1)).unwrap();
        assert_eq!(found.to_f32_vec().unwrap(), [3.0, 5.0, 7.0]);
        assert!(convolution(&image, &filter.unsqueeze(0).unwrap(), &Window::dense(1)).is_err());
    }
}
