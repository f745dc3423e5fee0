//! Prepares the operands of a float convolution and runs the algorithm that [`ConvAlgorithm::select`]
//! chooses.

use super::depthwise_direct::depthwise_direct;
use super::depthwise_planes::depthwise_planes;
use super::filters::Filters;
use super::im2col::im2col;
use super::image_view::ImageView;
use super::implicit_gemm::implicit_gemm;
use super::phase_planes::{self, PhasePlanes, PlaneLayout};
use super::valid_regions::ValidRegions;
use super::winograd::Winograd;
use super::{ConvAlgorithm, ConvShape, Elements};
use crate::buffer::Buffer;
use crate::kernels::broadcast::Strided;
use crate::kernels::dispatch::widen_real;
use crate::kernels::elementwise::FusedElementwise;
use crate::kernels::gemm::{Epilogue, Gemm};
use crate::kernels::window::Window;
use crate::layout::checked_len;
use crate::{ElementType, Tensor, TensorError};

/// Convolves and applies the element-wise functions that follow. The result has dims `dims`.
pub(super) fn convolve(
    input: &Tensor,
    filters: &Tensor,
    window: &Window,
    dims: &[usize],
    then: Option<&FusedElementwise>,
) -> Result<Tensor, TensorError> {
    let et = input.element_type();
    // From here on, no product of dims overflows.
    if input.is_empty() || filters.is_empty() || dims.contains(&0) {
        let zeros = Tensor::zeros(et, dims)?;
        return match then {
            Some(then) => then.run(zeros),
            None => Ok(zeros),
        };
    }
    let [input, filters] = widen_real([input, filters])?;
    let shape = ConvShape::new(&input, &filters, window, dims)?;
    let operands = [&input, &filters];
    match input.element_type() {
        ElementType::F32 => convolve_as(&shape, operands, dims, then, |c, algorithm, out, then| {
            c.run_f32(algorithm, out, then)
        }),
        _ => convolve_as::<f64>(&shape, operands, dims, then, |c, algorithm, out, then| {
            c.run(algorithm, out, then)
        }),
    }?
    .cast(et)
}

/// [`convolve`] for one element type. `run` runs the chosen algorithm for that type.
fn convolve_as<T: Gemm>(
    shape: &ConvShape,
    [input, filters]: [&Tensor; 2],
    dims: &[usize],
    then: Option<&FusedElementwise>,
    run: impl Fn(&Convolution<T>, ConvAlgorithm, &mut [T], Option<Epilogue<T>>) -> Result<(), TensorError>,
) -> Result<Tensor, TensorError> {
    let (grid, mut x) = (&shape.grid, Strided::<T>::new(input));
    let view = ImageView::new(&x, grid);
    let filters = Filters::<T>::new(*shape, filters);
    let elements = match T::TYPE {
        ElementType::F32 => Elements::F32 {
            has_winograd_filters: filters.tensor.memo().is_some() && !filters.are_integers(),
            has_contiguous_rows: view.strides[2] == 1,
        },
        _ => Elements::F64,
    };
    let algorithm = ConvAlgorithm::select(shape, elements).unwrap_or(ConvAlgorithm::Im2col);
    let reads_in_place = match algorithm {
        ConvAlgorithm::ImplicitGemm => phase_planes::is_image(grid),
        other => other == ConvAlgorithm::ValidRegions,
    };
    let packed;
    if reads_in_place && !view.has_packed_channels(grid) {
        packed = input.contiguous();
        x = Strided::new(&packed);
    }
    let images = ImageView::new(&x, grid);
    let mut values = Buffer::any(checked_len(dims).unwrap_or(0))?;
    let windows = grid.windows();
    let fuses = algorithm.fuses() && windows >= ConvAlgorithm::FUSED_MIN_WINDOWS;
    let in_pieces = then.filter(|then| fuses && then.has_rows_of(windows));
    let on_piece = |first: usize, values: &mut [T]| {
        // Epilogues support `f32` only.
        if let (Some(then), Ok(values)) = (in_pieces, bytemuck::try_cast_slice_mut(values)) {
            then.on_piece(first, values);
        }
    };
    let convolution = Convolution { shape, images, filters };
    run(&convolution, algorithm, &mut values, in_pieces.map(|_| Epilogue::new(&on_piece)))?;
    let result = Tensor::from_buffer(T::TYPE, dims, values)?;
    match then.filter(|_| in_pieces.is_none()) {
        Some(then) => then.run(result),
        None => Ok(result),
    }
}

/// A convolution with its operands.
struct Convolution<'a, T: Gemm> {
    shape: &'a ConvShape,
    images: ImageView<'a, T>,
    filters: Filters<'a, T>,
}

impl<T: Gemm> Convolution<'_, T> {
    /// Calls `convolve` with each image, its part of the result, and its epilogue.
    fn each_image(
        &self,
        out: &mut [T],
        then: Option<Epilogue<T>>,
        convolve: impl Fn(ImageView<T>, &mut [T], Option<Epilogue<T>>) -> Result<(), TensorError>,
    ) -> Result<(), TensorError> {
        let results = self.shape.groups * self.shape.outputs * self.shape.grid.windows();
        out.chunks_exact_mut(results).enumerate().try_for_each(|(n, out)| {
            convolve(self.images.image(n), out, then.map(|then| then.part(n * results)))
        })
    }

    /// Runs an algorithm that supports both `f32` and `f64`.
    fn run(
        &self,
        algorithm: ConvAlgorithm,
        out: &mut [T],
        then: Option<Epilogue<T>>,
    ) -> Result<(), TensorError> {
        let (shape, filters) = (self.shape, &self.filters);
        match algorithm {
            ConvAlgorithm::DepthwisePlanes => {
                let layout = PlaneLayout::new(&shape.grid);
                self.each_image(out, then, |image, out, then| {
                    depthwise_planes(&layout, image, filters, out, then);
                    Ok(())
                })
            }
            ConvAlgorithm::ImplicitGemm => {
                let (layout, packed) = (PlaneLayout::new(&shape.grid), filters.packed_lhs()?);
                self.each_image(out, then, |image, out, then| {
                    let planes = PhasePlanes::new(&layout, image, T::default())?;
                    implicit_gemm(shape, &planes, &packed, filters.order.as_deref(), out, then);
                    Ok(())
                })
            }
            _ => self.im2col(self.images, out, then),
        }
    }

    fn im2col(
        &self,
        images: ImageView<T>,
        out: &mut [T],
        then: Option<Epilogue<T>>,
    ) -> Result<(), TensorError> {
        im2col(self.shape, images, &self.filters, out)?;
        if let Some(then) = then {
            then.apply_to_rows(self.shape.grid.windows(), out);
        }
        Ok(())
    }
}

impl Convolution<'_, f32> {
    /// Runs any algorithm for `f32`.
    fn run_f32(
        &self,
        algorithm: ConvAlgorithm,
        out: &mut [f32],
        then: Option<Epilogue<f32>>,
    ) -> Result<(), TensorError> {
        let (shape, filters) = (self.shape, &self.filters);
        match algorithm {
            ConvAlgorithm::DepthwiseDirect => self.each_image(out, then, |image, out, then| {
                depthwise_direct(&shape.grid, image, &filters.rows, out, then);
                Ok(())
            }),
            ConvAlgorithm::Winograd => {
                let winograd = Winograd::new(shape, filters.tensor)?;
                self.each_image(out, then, |image, out, then| match winograd.convolve(image, out, then)? {
                    true => Ok(()),
                    false => self.im2col(image, out, then),
                })
            }
            ConvAlgorithm::ValidRegions => {
                let (regions, packed) = (ValidRegions::new(&shape.grid), filters.packed_lhs()?);
                self.each_image(out, then, |image, out, _| {
                    regions.convolve(shape, image, &packed, out);
                    Ok(())
                })
            }
            other => self.run(other, out, then),
        }
    }
}
