//! Convolution over one to three spatial axes: OpenVINO's `Convolution-1` and `GroupConvolution-1`.
//!
//! [`ConvAlgorithm`] lists the algorithms, one per file, and [`ConvAlgorithm::select`] chooses one. Images
//! are `[N, channel, spatial..]`, filters `[group, output, channel, kernel..]`.

mod depthwise_direct;
mod depthwise_planes;
mod execute;
mod filters;
mod float_fallback;
mod im2col;
mod image_view;
mod implicit_gemm;
mod padding_correction;
mod phase_planes;
mod quantized;
mod quantized_dense;
mod quantized_depthwise;
mod quantized_epilogue;
mod quantized_filters;
mod requantization;
mod valid_regions;
mod winograd;

pub use quantized::QuantizedConvolution;
pub use quantized_epilogue::QuantizedEpilogue;
pub use quantized_filters::{QuantizedFilters, Unpacking};

pub(super) use self::quantized::MAX_CODES_SUM;
pub(super) use self::requantization::{Columns, values_of};

use self::execute::convolve;
use self::phase_planes::PlaneLayout;
use self::quantized_depthwise::QuantizedDepthwise;
use self::valid_regions::ValidRegions;
use self::winograd::Winograd;
use crate::kernels::elementwise::{FusedElementwise, Stage};
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::window::{Window, WindowGrid};
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, Tensor, TensorError};

/// How a convolution is computed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum ConvAlgorithm {
    /// Few filters per channel, square kernels of 3, 5 or 7: reads the image in place, four rows of windows
    /// at a time.
    DepthwiseDirect,
    /// Few filters per channel, kernels of any shape: works on the phase planes of one channel.
    DepthwisePlanes,
    /// Winograd F(2x2, 3x3): 16 multiplications for four windows instead of 36.
    Winograd,
    /// Implicit GEMM for one region of the output at a time. In all windows of a region, the same taps read
    /// the image and all other taps read padding. Skips products with padding.
    ValidRegions,
    /// A matrix product whose right operand consists of overlapping runs of phase planes.
    ImplicitGemm,
    /// A matrix product whose right operand is copied window by window. Supports every shape.
    Im2col,
    /// A matrix product of quantised codes, over phase planes.
    QuantizedDense,
    /// One filter per channel, over quantised codes.
    QuantizedDepthwise,
}

/// The elements of images and filters.
#[derive(Copy, Clone, Debug)]
enum Elements {
    F32 {
        /// Whether Winograd may be used: the filters are constant, so that transforming them pays off, and
        /// not all weights are integers. Direct convolution with integer weights is often exact.
        has_winograd_filters: bool,
        /// Whether rows of images are contiguous.
        has_contiguous_rows: bool,
    },
    F64,
    /// Codes of a [`Quantizer`](crate::kernels::Quantizer), with constant filters.
    Codes,
}

/// The ratios below compare the best of 25 alternating runs, with constant filters, on a busy two-core Xeon
/// with AVX-512. They show only the order of magnitude.
impl ConvAlgorithm {
    /// Up to this many windows, im2col gathers the windows of all images into one product. For 64 input and
    /// output channels and a 3x3 kernel, implicit GEMM takes 0.92 times as long as im2col with 9 windows,
    /// 1.03 times with 8, and 1.57 times with 4.
    const FEW_WINDOWS: usize = 8;

    /// With more filters per channel, the filters become rows of a product. With eight 3x3 filters, the
    /// depthwise algorithms take 0.62 and 0.68 times as long as implicit GEMM; with eight 1x9 filters, 0.92
    /// times; with 16 filters, up to 1.15 times.
    const MAX_DEPTHWISE_FILTERS: usize = 8;

    /// As [`Self::MAX_DEPTHWISE_FILTERS`], for a single channel, which threads cannot share. With three 1x9
    /// filters, a depthwise algorithm takes 0.57 times as long as implicit GEMM. For a spectrogram with 258
    /// filters of 256 taps, it takes six times as long as implicit GEMM.
    const MAX_SINGLE_CHANNEL_FILTERS: usize = 3;

    /// The maximum size of phase planes relative to image and result, which bounds memory and time. With
    /// planes 18 times as large, implicit GEMM takes 0.45 times as long as im2col; with planes 60 times as
    /// large, 5.2 times.
    const MAX_PLANES: usize = 8;

    /// The maximum number of computed positions per window. Positions between the rows of windows are
    /// computed and discarded. There are many of them if a kernel is nearly as large as its image, as in
    /// gradients: each long row then has only a few windows. At 10 positions per window, implicit GEMM still
    /// takes only 0.18 times as long as im2col.
    const MAX_POSITIONS: usize = 10;

    /// The minimum number of channels at which Winograd is used. It saves a share of the products and of the
    /// packing of implicit GEMM, which grow with the channels; transforming the results does not. With 48
    /// channels, it takes 0.69 to 0.88 times as long as implicit GEMM, for 16 to 192 filters; with 64 or more,
    /// 0.58 to 0.90 times, for 3 to 256 filters. With 32 channels, it takes 0.71 to 1.07 times as long on one
    /// CPU, but more than 1.06 times on another.
    const WINOGRAD_MIN_CHANNELS: usize = 48;

    /// The maximum number of Winograd's multiplications, as a percentage of the multiplications of implicit
    /// GEMM. The percentage is 47 to 58 % for images of 10x10 and more, but 116 % for 7x7 images, which fill
    /// panels only partly. For 7x7 images, Winograd takes 1.42 times as long as implicit GEMM with 128
    /// channels and filters.
    const WINOGRAD_MAX_PERCENT: usize = 66;

    /// [`Self::ValidRegions`] is used if at most this percentage of the products of implicit GEMM has an
    /// image element rather than padding as a factor. At 85 %, it takes 1.02 times as long as implicit GEMM;
    /// at 71 %, 0.86 times; at 45 %, 0.37 times.
    const VALID_MAX_PERCENT: usize = 75;

    /// The minimum number of windows for applying an epilogue to pieces of the result. With 144 windows, that
    /// takes 1.00 to 1.13 times as long as a separate pass; with 576 windows, 0.95 to 1.01 times; with more
    /// windows, 0.88 to 0.95 times.
    const FUSED_MIN_WINDOWS: usize = 256;

    /// Chooses the fastest algorithm. `None` if no algorithm supports these codes: the caller then
    /// dequantises them and convolves floats.
    fn select(shape: &ConvShape, elements: Elements) -> Option<Self> {
        let grid = &shape.grid;
        let has_planes = || Self::has_dense_planes(grid);
        Some(match elements {
            Elements::Codes => return Self::select_quantized(shape),
            _ if shape.is_depthwise() => match elements {
                // For a single channel, the OpenVINO runtime sums in another order.
                Elements::F32 { has_contiguous_rows: true, .. }
                    if shape.groups > 1 && depthwise_direct::is_supported(grid) =>
                {
                    Self::DepthwiseDirect
                }
                _ if has_planes() => Self::DepthwisePlanes,
                _ => Self::Im2col,
            },
            _ if grid.windows() <= Self::FEW_WINDOWS => Self::Im2col,
            Elements::F32 { has_winograd_filters: true, .. } if Self::pays_winograd(shape) => Self::Winograd,
            Elements::F32 { .. } if shape.depth > 1 && Self::pays_valid_regions(grid) => Self::ValidRegions,
            _ if has_planes() => Self::ImplicitGemm,
            _ => Self::Im2col,
        })
    }

    fn select_quantized(shape: &ConvShape) -> Option<Self> {
        let ConvShape { grid, groups, outputs, depth } = shape;
        let is_mostly_padding = grid.windows() > Self::MAX_PLANES.saturating_mul(grid.area());
        if shape.filter_len() > MAX_CODES_SUM || grid.windows() <= Self::FEW_WINDOWS || is_mostly_padding {
            return None;
        }
        // The float fallback does not support the summation order of several taps over a single channel.
        // No element holds codes of two groups.
        let are_apart = *groups == 1 || [*depth, *outputs].iter().all(|count| count.is_multiple_of(CHANNELS));
        if are_apart && (*depth > 1 || grid.taps() == 1) && Self::has_dense_planes(grid) {
            return Some(Self::QuantizedDense);
        }
        let is_depthwise = *groups > 1 && [*outputs, *depth] == [1, 1] && QuantizedDepthwise::supports(grid);
        (is_depthwise && Self::has_dense_planes(&QuantizedDepthwise::dense_grid(grid)))
            .then_some(Self::QuantizedDepthwise)
    }

    /// Whether the phase planes are within [`Self::MAX_PLANES`], or the image is its own plane, and the
    /// positions are within [`Self::MAX_POSITIONS`].
    fn has_dense_planes(grid: &WindowGrid) -> bool {
        let is_dense = |len: usize| len <= Self::MAX_PLANES * grid.area().saturating_add(grid.windows());
        PlaneLayout::size(grid).is_some_and(|[len, positions]| {
            (is_dense(len) || phase_planes::is_image(grid))
                && positions <= Self::MAX_POSITIONS * grid.windows()
        })
    }

    fn pays_winograd(shape: &ConvShape) -> bool {
        let ConvShape { grid, depth, .. } = shape;
        let direct = grid.windows().saturating_mul(grid.taps());
        let limit = direct.saturating_mul(Self::WINOGRAD_MAX_PERCENT);
        *depth >= Self::WINOGRAD_MIN_CHANNELS
            && Winograd::products(shape).is_some_and(|products| products.saturating_mul(100) <= limit)
    }

    fn pays_valid_regions(grid: &WindowGrid) -> bool {
        ValidRegions::products(grid).is_some_and(|[valid, all]| {
            valid.saturating_mul(100) <= all.saturating_mul(Self::VALID_MAX_PERCENT)
        })
    }

    /// Whether an epilogue is applied to pieces of the result while they are in the cache.
    fn fuses(self) -> bool {
        !matches!(self, Self::ValidRegions | Self::Im2col)
    }
}

/// The sizes of a convolution, all nonzero.
#[derive(Copy, Clone)]
struct ConvShape {
    grid: WindowGrid,
    groups: usize,
    /// Filters per group.
    outputs: usize,
    /// Input channels per group.
    depth: usize,
}

impl ConvShape {
    fn new(input: &Tensor, filters: &Tensor, window: &Window, dims: &[usize]) -> Result<Self, TensorError> {
        let &[groups, outputs, depth, ref kernel @ ..] = filters.dims() else {
            return Err(TensorError::argument("expected filters with groups"));
        };
        let axes = window.axes(&input.dims()[2..], kernel)?;
        Ok(ConvShape { grid: WindowGrid::new(&axes, &dims[2..]), groups, outputs, depth })
    }

    /// Elements per filter.
    fn filter_len(&self) -> usize {
        self.depth * self.grid.taps()
    }

    /// Whether filters are applied one by one: a few filters over one channel would leave product tiles
    /// mostly empty.
    fn is_depthwise(&self) -> bool {
        let max_filters = match self.groups {
            1 => ConvAlgorithm::MAX_SINGLE_CHANNEL_FILTERS,
            _ => ConvAlgorithm::MAX_DEPTHWISE_FILTERS,
        };
        self.depth == 1
            && self.outputs <= max_filters
            && (self.grid.taps() < DOT_LEN || !self.is_whole_image())
    }

    /// Whether there is a single window, which equals the image.
    fn is_whole_image(&self) -> bool {
        self.grid.windows() == 1
            && self.grid.axes.iter().all(|axis| {
                axis.kernel == axis.size && axis.before == 0 && (axis.dilation == 1 || axis.kernel == 1)
            })
    }
}

/// The minimum filter length for computing a single window with dot products. With one window and 64 filters,
/// dot products take 0.77 to 1.04 times as long as a matrix product at any length; with two windows, 1.2 to
/// 1.5 times. Shorter sums keep the order of the OpenVINO runtime.
const DOT_LEN: usize = 64;

/// Convolves `input` `[N, C, spatial..]` with `filters` `[O, C, kernel..]` to `[N, O, windows..]`.
///
/// Integers are computed in `f64` and converted back. The sum of a window runs over the kernel positions, and
/// at each position over the channels; with a single channel, positions are visited column by column. This is
/// the order of the OpenVINO runtime, so sums with fused multiply-add are bit-identical to its sums. Two
/// cases differ: products with few columns, and constant 3x3 filters over large images, whose adjacent
/// windows share products.
///
/// # Errors
/// [`TensorError::TypeMismatch`], [`TensorError::ShapeMismatch`], [`TensorError::Argument`].
pub fn convolution(input: &Tensor, filters: &Tensor, window: &Window) -> Result<Tensor, TensorError> {
    group_convolution(input, &filters.unsqueeze(0)?, window)
}

/// Convolves `input` `[N, G * C, spatial..]` with `filters` `[G, O, C, kernel..]` to `[N, G * O, windows..]`.
///
/// # Errors
/// Same as [`convolution`].
pub fn group_convolution(input: &Tensor, filters: &Tensor, window: &Window) -> Result<Tensor, TensorError> {
    convolve(input, filters, window, &result_dims(input, filters, window)?, None)
}

/// [`group_convolution`] followed by element-wise functions, applied while parts of the result are in the
/// cache. `None` if [`FusedElementwise`] does not support the functions.
///
/// # Errors
/// Same as [`convolution`].
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

#[cfg(test)]
mod tests {

    use super::*;
    use crate::SmallVector;
    use crate::kernels::elementwise::{BinaryOp, UnaryOp};
    use crate::kernels::strided_copy::packed_parts;
    use crate::kernels::vectors::Isa;

    fn t(dims: &[usize]) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(|x| (x % 7) as f32 - 2.0).collect()).unwrap()
    }

    fn padded(pad: isize, dilation: usize) -> Window {
        let (pads, dilations) = (SmallVector::from_elem(pad, 2), SmallVector::from_elem(dilation, 2));
        Window { dilations, pads_begin: pads, pads_end: SmallVector::from_elem(pad, 2), ..Window::dense(2) }
    }

    /// The definition, element by element, in the documented order.
    fn naive(input: &Tensor, filters: &Tensor, window: &Window) -> Vec<f32> {
        let (xd, wd) = (input.dims(), filters.dims());
        let windows = window.output_dims(&xd[2..], &wd[3..]).unwrap();
        let WindowGrid { axes, out, .. } =
            WindowGrid::new(&window.axes(&xd[2..], &wd[3..]).unwrap(), &windows);
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
    fn fused_functions_equal_separate_ones() {
        let bias = t(&[12, 1, 1]);
        let cases = [
            // Small; with regions; depthwise; several images and groups larger than the cache; without
            // channels.
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
                let separate = stages.iter().fold(plain.clone(), |value, stage| stage.apply(&value).unwrap());
                assert_eq!(found, separate, "{:?} {:?} {:?}", x.dims(), filters.dims(), other.dims());
            }
        }
        let (x, filters, window) = &cases[0];
        let double = [Stage::Right(BinaryOp::Add, &Tensor::scalar(1.0f64))];
        assert_eq!(group_convolution_then(x, filters, window, &double).unwrap(), None);
    }

    #[test]
    fn shapes_and_elements_decide_the_algorithm() {
        use ConvAlgorithm as By;
        let direct = match Isa::best() {
            Isa::Baseline => By::DepthwisePlanes,
            _ => By::DepthwiseDirect,
        };
        let strided = |dilation| Window {
            strides: SmallVector::from_elem(2, 2),
            ..padded(dilation as isize, dilation)
        };
        // With transformable filters and contiguous rows, with neither, and on codes.
        let cases = [
            (
                [32, 28, 28],
                [32, 1, 1, 3, 3],
                padded(1, 1),
                [Some(direct), Some(By::DepthwisePlanes), Some(By::QuantizedDepthwise)],
            ),
            (
                [32, 28, 28],
                [32, 1, 1, 3, 3],
                padded(2, 2),
                [Some(By::DepthwisePlanes), Some(By::DepthwisePlanes), Some(By::QuantizedDepthwise)],
            ),
            (
                [32, 28, 28],
                [32, 9, 1, 3, 3],
                padded(1, 1),
                [Some(By::ImplicitGemm), Some(By::ImplicitGemm), None],
            ),
            (
                [64, 56, 56],
                [1, 64, 64, 3, 3],
                padded(1, 1),
                [Some(By::Winograd), Some(By::ImplicitGemm), Some(By::QuantizedDense)],
            ),
            (
                [48, 10, 10],
                [1, 4, 48, 3, 3],
                padded(1, 1),
                [Some(By::Winograd), Some(By::ImplicitGemm), Some(By::QuantizedDense)],
            ),
            (
                [47, 56, 56],
                [1, 256, 47, 3, 3],
                padded(1, 1),
                [Some(By::ImplicitGemm), Some(By::ImplicitGemm), Some(By::QuantizedDense)],
            ),
            (
                [64, 56, 56],
                [1, 64, 64, 3, 3],
                strided(1),
                [Some(By::ImplicitGemm), Some(By::ImplicitGemm), Some(By::QuantizedDense)],
            ),
            (
                [64, 32, 32],
                [1, 64, 64, 3, 3],
                padded(36, 36),
                [Some(By::ValidRegions), Some(By::ValidRegions), Some(By::QuantizedDense)],
            ),
            ([64, 2, 2], [1, 64, 64, 1, 1], Window::dense(2), [Some(By::Im2col), Some(By::Im2col), None]),
            ([2, 60, 61], [1, 3, 2, 58, 59], Window::dense(2), [Some(By::Im2col), Some(By::Im2col), None]),
            (
                [2, 4, 4],
                [1, 3, 2, 2, 2],
                padded(700, 700),
                [Some(By::ValidRegions), Some(By::ValidRegions), None],
            ),
        ];
        for (image, filters, window, expected) in cases {
            let image = t(&[&[1], &image[..]].concat());
            let dims = result_dims(&image, &t(&filters), &window).unwrap();
            let shape = ConvShape::new(&image, &t(&filters), &window, &dims).unwrap();
            let f32 = |is| Elements::F32 { has_winograd_filters: is, has_contiguous_rows: is };
            let found = [f32(true), f32(false), Elements::Codes].map(|of| ConvAlgorithm::select(&shape, of));
            assert_eq!(found, expected, "{image:?} {filters:?}");
        }
    }

    #[test]
    fn every_algorithm_agrees_with_the_definition() {
        let wide = Window {
            strides: SmallVector::from([2, 1]),
            dilations: SmallVector::from([1, 2]),
            pads_begin: SmallVector::from([1, -1]),
            pads_end: SmallVector::from([2, 3]),
        };
        let line = Window {
            dilations: SmallVector::from([29]),
            pads_begin: SmallVector::from([90]),
            pads_end: SmallVector::from([20]),
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
            (t(&[3, 2, 60, 61]), t(&[1, 3, 2, 58, 59]), Window::dense(2)),
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

    /// Products of 12-bit integers are exact, but their sums are not: each order of summation gives different
    /// bits.
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
            // Swapping the kernel axes changes the order of the same products.
            let transposed = |t: &Tensor| {
                let axes: Vec<usize> = (0..t.rank() - 2).chain([t.rank() - 1, t.rank() - 2]).collect();
                t.permute(&axes).unwrap().contiguous()
            };
            let other = group_convolution(&transposed(&x), &transposed(&w), &Window::dense(2)).unwrap();
            assert_ne!(transposed(&other).to_f32_vec().unwrap(), found, "{:?}", w.dims());
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
                // For 1x1 kernels, the image is its own phase plane, so non-contiguous channels are packed.
                let taps = filters.dims()[3] * filters.dims()[4];
                assert!(packed_parts() == before || taps == 1);
                let packed = view.contiguous();
                assert_eq!(found, group_convolution(&packed, &filters, window).unwrap());
                assert_eq!(found.to_f32_vec().unwrap(), naive(&packed, &filters, window));
            }
        }
    }

    #[test]
    fn an_edge_filter() {
        let image = Tensor::from_vec(&[1, 1, 4], vec![1.0f32, 4.0, 9.0, 16.0]).unwrap();
        let filter = Tensor::from_vec(&[1, 1, 2], vec![-1.0f32, 1.0]).unwrap();
        let found = convolution(&image, &filter, &Window::dense(1)).unwrap();
        assert_eq!(found.to_f32_vec().unwrap(), [3.0, 5.0, 7.0]);
        assert!(convolution(&image, &filter.unsqueeze(0).unwrap(), &Window::dense(1)).is_err());
    }
}
