//! Implicit GEMM: convolution as a matrix product whose right operand is never materialised.
//!
//! **Source.** Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014.
//!
//! **Loop nest**, outer to inner: image; group; the loops of [`gemm`](crate::kernels::gemm).
//!
//! **Layout.** The left operand holds the filters of a group. A row of the right operand holds the elements
//! that one tap reads in all windows: a run of a phase plane. Rows overlap in memory and are packed panel by
//! panel during the product.
//!
//! **Threads.** Each thread computes some groups, or some tiles or panels of a product.

use super::ConvShape;
use super::phase_planes::PhasePlanes;
use crate::kernels::gemm::{Epilogue, Gemm, PackedLhs, PackedRhs, gemm_with_epilogue};
use crate::kernels::sharing;
use crate::kernels::vectors::Isa;

/// Convolves an image, split into phase planes, with the filters of each group. Terms are summed in `order`,
/// and `then` is applied to pieces of the result.
pub(super) fn implicit_gemm<T: Gemm>(
    shape: &ConvShape,
    planes: &PhasePlanes<T>,
    filters: &[PackedLhs<T>],
    order: Option<&[usize]>,
    out: &mut [T],
    then: Option<Epilogue<T>>,
) {
    let (depth, results) = (shape.depth, out.len() / shape.groups);
    let convolve = |(group, out): (usize, &mut [T])| {
        let mut starts = planes.tap_starts(group * depth..(group + 1) * depth);
        if let Some(order) = order {
            starts = order.iter().map(|&term| starts[term]).collect();
        }
        let right = PackedRhs::of_lines(Isa::best(), planes.data(), starts, planes.layout.windows());
        gemm_with_epilogue(&filters[group], &right, out, then.map(|then| then.part(group * results)));
    };
    let groups = out.chunks_exact_mut(results).enumerate();
    if sharing::is_shared() && shape.groups > 1 {
        sharing::for_each(groups, convolve);
    } else {
        groups.for_each(convolve);
    }
}
