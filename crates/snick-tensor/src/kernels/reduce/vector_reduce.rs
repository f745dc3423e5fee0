//! Reductions of `f32`, several elements at a time.

use super::ReduceOp::{self, *};
use crate::buffer::Buffer;
use crate::kernels::extremum::{greatest, least};
use crate::kernels::rows::{Blocks, fold_in_parts, reduced_dims};
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::{ElementType, Tensor, TensorError};

/// Reduces an `f32` tensor along `axes`. `None` if the function has no vector form or the tensor is empty.
/// Sums and products are accumulated in `f64`.
pub(super) fn apply(
    op: ReduceOp,
    input: &Tensor,
    axes: &[usize],
    keep_dims: bool,
) -> Result<Option<Tensor>, TensorError> {
    if input.is_empty() || !matches!(op, Sum | Mean | Prod | Max | Min | L1 | L2) {
        return Ok(None);
    }
    let blocks = Blocks::new(input, axes)?;
    let mut to = Buffer::any(blocks.tensor.len() / blocks.count)?;
    blocks.each_to(&mut to, |from, to| dispatch_best(Block { op, from, to }));
    let dims = reduced_dims(input.dims(), axes, keep_dims);
    Tensor::from_buffer(ElementType::F32, &dims, to).map(Some)
}

/// One block, whose columns are reduced to one element of `to` each.
struct Block<'a> {
    op: ReduceOp,
    from: &'a [f32],
    to: &'a mut [f32],
}

impl Vectorised for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { op, from, to } = self;
        let count = (from.len() / to.len()) as f64;
        let add = |a: f64, b: f64| a + b;
        match op {
            Max => extreme(from, to, f32::NEG_INFINITY, |m, x| if m < x { x } else { m }, greatest),
            Min => extreme(from, to, f32::INFINITY, |m, x| if x < m { x } else { m }, least),
            Mean => fold(from, to, 0.0, |sum, x| sum + f64::from(x), add, |sum| (sum / count) as f32),
            Prod => fold(from, to, 1.0, |all, x| all * f64::from(x), |a, b| a * b, |all| all as f32),
            L1 => fold(from, to, 0.0, |sum, x| sum + f64::from(x.abs()), add, |sum| sum as f32),
            L2 => fold(
                from,
                to,
                0.0,
                |sum, x| sum + f64::from(x) * f64::from(x),
                add,
                |sum: f64| sum.sqrt() as f32,
            ),
            _ => fold(from, to, 0.0, |sum, x| sum + f64::from(x), add, |sum| sum as f32),
        }
    }
}

/// The maximum or minimum of each column; `NaN` if any element is. `passing` ignores `NaN`, `keeping` returns
/// it.
#[inline(always)]
fn extreme(
    from: &[f32],
    to: &mut [f32],
    start: f32,
    passing: impl Fn(f32, f32) -> f32,
    keeping: impl Fn(f32, f32) -> f32 + Copy,
) {
    let [to] = to else { return fold(from, to, start, keeping, keeping, |m| m) };
    // A sum detects a possible `NaN`. It does not depend on the extremum, whereas comparing with `NaN` would
    // lengthen the dependency chain of each step.
    let step = |(m, sum): (f32, f32), x| (passing(m, x), sum + x);
    let merge = |a: (f32, f32), b: (f32, f32)| (passing(a.0, b.0), a.1 + b.1);
    let (m, sum) = fold_in_parts(from, (start, 0.0), step).into_iter().reduce(merge).unwrap_or((start, 0.0));
    *to = if sum.is_nan() && from.iter().any(|x| x.is_nan()) { f32::NAN } else { m };
}

/// Folds each column of `from`, whose lines are as long as `to`. A single column uses several accumulators.
#[inline(always)]
fn fold<A: Copy>(
    from: &[f32],
    to: &mut [f32],
    start: A,
    step: impl Fn(A, f32) -> A,
    merge: impl Fn(A, A) -> A,
    finish: impl Fn(A) -> f32,
) {
    if let [to] = to {
        *to = finish(fold_in_parts(from, start, step).into_iter().reduce(merge).unwrap_or(start));
        return;
    }
    let mut folded = vec![start; to.len()];
    for line in from.chunks_exact(to.len()) {
        for (folded, &x) in folded.iter_mut().zip(line) {
            *folded = step(*folded, x);
        }
    }
    for (to, folded) in to.iter_mut().zip(folded) {
        *to = finish(folded);
    }
}
