//! The largest or smallest element along an axis other than the last.

use crate::kernels::extremum::exceeds;
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};

/// The index of the largest (or smallest) element of each line along `axis` of packed elements. The lowest
/// index wins among equal elements, and NaN counts as the largest. No dim is 0.
pub(super) fn indices(values: &[f32], dims: &[usize], axis: usize, greatest: bool) -> Vec<i64> {
    let (size, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    let lines = values.len() / size;
    let mut out = vec![0; lines];
    for (block, out) in values.chunks_exact(size * inner).zip(out.chunks_exact_mut(inner)) {
        match greatest {
            true => dispatch_best(Block { block, out, better: exceeds }),
            false => dispatch_best(Block { block, out, better: |a, b| exceeds(b, a) }),
        }
    }
    out
}

/// Finds the best element of each column. Rows are as long as `out`.
struct Block<'a, F> {
    block: &'a [f32],
    out: &'a mut [i64],
    better: F,
}

impl<F: Fn(f32, f32) -> bool> Vectorised for Block<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { block, out, better } = self;
        let width = out.len();
        let mut best = block[..width].to_vec();
        for (number, row) in block.chunks_exact(width).enumerate().skip(1) {
            for ((best, to), &x) in best.iter_mut().zip(out.iter_mut()).zip(row) {
                let wins = better(x, *best);
                *best = if wins { x } else { *best };
                *to = if wins { number as i64 } else { *to };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_maxima_is_found() {
        for (size, inner) in [(1, 2), (9, 3), (4, 40)] {
            for seed in 0..50 {
                let number = |i: usize| match (i * 7919 + seed * 104_729) % 13 {
                    12 if seed % 2 == 0 => f32::NAN,
                    x => x as f32 - 6.0,
                };
                let values: Vec<f32> = (0..2 * size * inner).map(number).collect();
                for greatest in [true, false] {
                    let found = indices(&values, &[2, size, inner], 1, greatest);
                    for (line, &found) in found.iter().enumerate() {
                        let x = |i: usize| values[(line / inner * size + i) * inner + line % inner];
                        let key = |i: usize| {
                            if x(i).is_nan() {
                                if greatest { 99.0 } else { -99.0 }
                            } else if greatest {
                                x(i)
                            } else {
                                -x(i)
                            }
                        };
                        let best = (1..size).fold(0, |b, i| if key(i) > key(b) { i } else { b });
                        assert_eq!(found, best as i64, "{size} {inner} {seed} {greatest}");
                    }
                }
            }
        }
    }
}
