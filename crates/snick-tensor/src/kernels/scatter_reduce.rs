//! Scatters with a reduction: combines updates of the same position.

use super::extremum::{greatest, least};
use crate::{ElementType, Tensor, TensorError};

/// How an update is combined with the element at its position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// Sum.
    Sum,
    /// The element minus the update.
    Sub,
    /// Product.
    Prod,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The mean of all updates of the position and, with `use_init`, of the original element; integers round
    /// down.
    Mean,
}

/// Combines each element `updates[i]` with the element of `base` at row-major position `starts[i]`. Without
/// `use_init`, the original elements at updated positions are ignored.
///
/// # Errors
/// [`TensorError::TypeMismatch`], [`TensorError::UnsupportedType`] for strings, [`TensorError::Argument`] if
/// a position lies outside `base` or the numbers of positions and updates differ.
pub fn scatter_reduce(
    base: &Tensor,
    starts: &[usize],
    updates: &Tensor,
    reduction: Reduction,
    use_init: bool,
) -> Result<Tensor, TensorError> {
    let et = base.element_type();
    updates.expect(et)?;
    let len = base.len();
    if starts.len() != updates.len() || starts.iter().any(|&at| at >= len) {
        return Err(TensorError::argument("positions do not match the updates, or are out of range"));
    }
    let out = if et.is_float() {
        let mut all = base.to_f64_vec()?;
        let round = |x: f64| match et {
            ElementType::F32 => f64::from(x as f32),
            _ => x,
        };
        combine(
            &mut all,
            starts,
            &updates.to_f64_vec()?,
            use_init,
            |a, b| {
                round(match reduction {
                    Reduction::Sum | Reduction::Mean => a + b,
                    Reduction::Sub => a - b,
                    Reduction::Prod => a * b,
                    Reduction::Min => least(a, b),
                    Reduction::Max => greatest(a, b),
                })
            },
            (reduction == Reduction::Sub).then_some(0.0),
        );
        if reduction == Reduction::Mean {
            divide(&mut all, starts, use_init, |sum, n| sum / n as f64);
        }
        Tensor::from_vec(base.dims(), all)?
    } else {
        let mut all = wide(base)?;
        combine(
            &mut all,
            starts,
            &wide(updates)?,
            use_init,
            |a, b| match reduction {
                Reduction::Sum | Reduction::Mean => a.wrapping_add(b),
                Reduction::Sub => a.wrapping_sub(b),
                Reduction::Prod => a.wrapping_mul(b),
                Reduction::Min => a.min(b),
                Reduction::Max => a.max(b),
            },
            (reduction == Reduction::Sub).then_some(0),
        );
        if reduction == Reduction::Mean {
            divide(&mut all, starts, use_init, |sum, n| sum.div_euclid(n as i128));
        }
        if et == ElementType::U64 {
            Tensor::from_vec(base.dims(), all.into_iter().map(|x| x as u64).collect())?
        } else {
            Tensor::from_vec(base.dims(), all.into_iter().map(|x| x as i64).collect())?
        }
    };
    out.cast(et)
}

/// Widens the elements of any integer type to `i128`, in which sums are exact.
fn wide(tensor: &Tensor) -> Result<Vec<i128>, TensorError> {
    if tensor.element_type() == ElementType::U64 {
        return Ok(tensor.values::<u64>()?.iter().map(|&x| x.into()).collect());
    }
    Ok(tensor.to_i64_vec()?.into_iter().map(Into::into).collect())
}

/// Combines updates. The first one of a position without an initial value is combined with `first`, or kept.
fn combine<T: Copy>(
    all: &mut [T],
    starts: &[usize],
    updates: &[T],
    use_init: bool,
    op: impl Fn(T, T) -> T,
    first: Option<T>,
) {
    let mut met = vec![use_init; if use_init { 0 } else { all.len() }];
    for (&at, &update) in starts.iter().zip(updates) {
        let fresh = !use_init && !std::mem::replace(&mut met[at], true);
        all[at] = match first {
            _ if !fresh => op(all[at], update),
            Some(first) => op(first, update),
            None => update,
        };
    }
}

fn divide<T: Copy>(all: &mut [T], starts: &[usize], use_init: bool, mean: impl Fn(T, usize) -> T) {
    let mut counts = vec![0usize; all.len()];
    for &at in starts {
        counts[at] += 1;
    }
    for (sum, &count) in all.iter_mut().zip(&counts) {
        if count > 0 {
            *sum = mean(*sum, count + usize::from(use_init));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reduction() {
        let base = Tensor::from_vec(&[4], vec![5i32, 7, -3, 2]).unwrap();
        let updates = Tensor::from_vec(&[4], vec![2i32, -4, 4, -8]).unwrap();
        let run = |reduction, use_init| {
            let out = scatter_reduce(&base, &[0, 0, 2, 2], &updates, reduction, use_init).unwrap();
            out.to_i64_vec().unwrap()
        };
        assert_eq!(run(Reduction::Sum, true), [3, 7, -7, 2]);
        assert_eq!(run(Reduction::Sum, false), [-2, 7, -4, 2]);
        assert_eq!(run(Reduction::Mean, true), [1, 7, -3, 2]);
        assert_eq!(run(Reduction::Mean, false), [-1, 7, -2, 2]);
        assert_eq!(run(Reduction::Prod, true), [-40, 7, 96, 2]);
        assert_eq!(run(Reduction::Min, true), [-4, 7, -8, 2]);
        assert_eq!(run(Reduction::Max, false), [2, 7, 4, 2]);
        assert_eq!(run(Reduction::Sub, true), [7, 7, 1, 2]);
        assert!(scatter_reduce(&base, &[4, 0, 0, 0], &updates, Reduction::Sum, true).is_err());
    }

    #[test]
    fn nan_is_the_least_and_the_greatest() {
        let [one, nan] = [1.0, f32::NAN].map(|x| Tensor::full(&[1], x).unwrap());
        for reduction in [Reduction::Min, Reduction::Max] {
            for (base, update) in [(&one, &nan), (&nan, &one)] {
                let out = scatter_reduce(base, &[0], update, reduction, true).unwrap();
                assert!(out.to_f32_vec().unwrap()[0].is_nan(), "{reduction:?}");
            }
        }
    }
}
