//! Convolution by im2col: copies windows to the rows of a matrix and multiplies it with the filters. Supports
//! every shape. The windows of all images are rows of one product, so it is the fastest algorithm when images
//! have few windows.
//!
//! **Source.** Chellapilla et al., "High Performance Convolutional Neural Networks for Document Processing"
//! (2006).
//!
//! **Loop nest**, outer to inner: group; block of windows of all images; the loops of
//! [`gemm`](crate::kernels::gemm).
//!
//! **Layout.** The left operand is `[window, term]`, the right operand `[term, output]`.
//!
//! **Threads.** All threads share each product.

use super::filters::Filters;
use super::image_view::ImageView;
use super::{ConvShape, DOT_LEN};
use crate::buffer::filled;
use crate::kernels::gemm::{Gemm, Matrix, PackedLhs, gemm};
use crate::kernels::matmul::dot_products::few_columns;
use crate::kernels::vectors::Isa;
use crate::kernels::window::WindowGrid;
use crate::{ElementType, TensorError};

/// The maximum number of windows per block.
const BLOCK: usize = 64;

/// The maximum number of elements in a block of more than [`MIN_BLOCK`] windows, which bounds its memory.
const MAX_ELEMENTS: usize = 1 << 24;

/// The minimum number of windows per block, for windows of any size.
const MIN_BLOCK: usize = 8;

/// Convolves all images.
pub(super) fn im2col<T: Gemm>(
    shape: &ConvShape,
    images: ImageView<T>,
    filters: &Filters<T>,
    out: &mut [T],
) -> Result<(), TensorError> {
    let ConvShape { grid, groups, outputs, depth } = shape;
    let (windows, length) = (grid.windows(), shape.filter_len());
    let all = out.len() / (groups * outputs);
    let block = (MAX_ELEMENTS / length).clamp(MIN_BLOCK, BLOCK).min(all);
    // Dot products read the filters as stored.
    let are_dots = all == 1 && length >= DOT_LEN && T::TYPE == ElementType::F32;
    let packed = if are_dots { None } else { Some(filters.packed_rhs()?) };
    let mut columns = filled(block * length, T::default())?;
    let mut results = filled(block * outputs, T::default())?;
    for group in 0..*groups {
        for first in (0..all).step_by(block) {
            let count = block.min(all - first);
            let place = |i: usize| ((first + i) / windows, (first + i) % windows);
            let (columns, results) = (&mut columns[..count * length], &mut results[..count * outputs]);
            for (i, column) in columns.chunks_exact_mut(length).enumerate() {
                let (n, window) = place(i);
                let channels = images.image(n).channel_range(group * depth..(group + 1) * depth);
                match channels.as_slice(grid).filter(|_| shape.is_whole_image()) {
                    Some(image) => column.copy_from_slice(image),
                    None => gather_window(grid, window, channels, column),
                }
            }
            let [window_stride, output_stride] = match &packed {
                None => {
                    let columns = Matrix::packed(columns, count, length);
                    few_columns(&filters.group(group), &columns.transposed(), results);
                    [1, count]
                }
                Some(packed) => {
                    filters.reorder(columns);
                    let left = PackedLhs::pack(Isa::best(), &Matrix::packed(columns, count, length));
                    let left = if filters.order.is_some() { left.with_sequential_sums() } else { left };
                    gemm(&left, &packed[group], results);
                    [*outputs, 1]
                }
            };
            for output in 0..*outputs {
                for i in 0..count {
                    let (n, window) = place(i);
                    let to = ((n * groups + group) * outputs + output) * windows + window;
                    out[to] = results[i * window_stride + output * output_stride];
                }
            }
        }
    }
    Ok(())
}

/// Copies the elements of a window in filter order, with zeros for padding.
fn gather_window<T: Gemm>(grid: &WindowGrid, window: usize, image: ImageView<T>, column: &mut [T]) {
    let [d, h, w] = &grid.axes;
    let [plane, row, at] = WindowGrid::unflatten(window, grid.out);
    let taps = w.taps_inside(at);
    let first = w.inside(at, taps.start).unwrap_or(0);
    let mut lines = column.chunks_exact_mut(w.kernel);
    for channel in 0..image.channels {
        let channel = image.channel(channel);
        for z in (0..d.kernel).map(|tap| d.inside(plane, tap)) {
            for (y, line) in (0..h.kernel).map(|tap| h.inside(row, tap)).zip(&mut lines) {
                let Some((z, y)) = z.zip(y).filter(|_| !taps.is_empty()) else {
                    line.fill(T::default());
                    continue;
                };
                line[..taps.start].fill(T::default());
                line[taps.end..].fill(T::default());
                channel.line(z, y).every(w.dilation, first).copy_to(&mut line[taps.clone()]);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The definition of a depthwise convolution, element by element, for one image.
    pub fn depthwise(grid: &WindowGrid, image: ImageView<f32>, filters: &[f32]) -> Vec<f32> {
        let mut column = vec![0.0; grid.taps()];
        let of_channel = filters.len() / (grid.taps() * image.channels);
        let mut all = Vec::new();
        for (i, filter) in filters.chunks_exact(grid.taps()).enumerate() {
            for window in 0..grid.windows() {
                gather_window(grid, window, image.channel(i / of_channel), &mut column);
                all.push(filter.iter().zip(&column).fold(0.0, |sum, (f, x)| f32::mul_add(*f, *x, sum)));
            }
        }
        all
    }
}
