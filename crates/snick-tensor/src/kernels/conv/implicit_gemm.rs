//! Convolution as a product of matrices whose right side is never built: implicit GEMM, as in cuDNN (Chetlur et al., "cuDNN:
//! Efficient Primitives for Deep Learning", 2014).
//!
//! The left matrix holds the filters of a group. A row of the right one is what one element of the filter reads in all
//! windows: one run of a phase plane, so rows overlap in memory and are packed panel by panel while they are multiplied.
//!
//! Loop nest: image, group, then the loops of [`gemm`](crate::kernels::gemm): panel of windows, tile of filters, term. Threads
//! take groups, or tiles or panels within a product.

use super::ConvShape;
use super::phase_planes::PhasePlanes;
use crate::kernels::gemm::{Epilogue, Gemm, PackedLhs, PackedRhs, gemm_with_epilogue};
use crate::kernels::sharing;
use crate::kernels::vectors::Isa;

/// Convolves an image that is split into phase planes with the filters of each group, whose terms are summed in `order`;
/// `then` follows for pieces of the results.
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
