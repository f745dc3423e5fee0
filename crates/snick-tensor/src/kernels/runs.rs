//! Copies runs of elements, for gathers and scatters.
//!
//! A *run* is a sequence of consecutive elements in row-major order. Elements are copied as bits, so all
//! types are supported, including strings and sub-byte types.

use bytemuck::Pod;

use crate::buffer::Buffer;
use crate::kernels::broadcast::copy_run;
use crate::kernels::dispatch::{moving, with_unit};
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{Element, Tensor, TensorError};

/// Copies runs of `run` elements between these places; returns the number of elements.
fn copy_runs<T: Pod>(
    from: &[T],
    to: &mut [T],
    run: usize,
    places: impl Iterator<Item = (usize, usize)>,
) -> Result<usize, TensorError> {
    let mut copied = 0usize;
    for (from_at, to_at) in places {
        match (from.get(from_at..), to.get_mut(to_at..)) {
            (Some([from, ..]), Some([to, ..])) if run == 1 => *to = *from,
            (Some(from), Some(to)) if from.len() >= run && to.len() >= run => {
                copy_run(&mut to[..run], &from[..run]);
            }
            _ => return Err(TensorError::argument("a run is out of range for its tensor")),
        }
        copied += run;
    }
    Ok(copied)
}

/// Concatenates runs of `run` elements of `source` into a tensor with dims `dims`. `starts` are row-major
/// positions.
///
/// # Errors
/// [`TensorError::TooLarge`]; [`TensorError::Argument`] if a run lies outside `source` or exceeds `dims`;
/// [`TensorError::ElementCount`] if the runs do not fill `dims`.
pub fn gather_runs(
    source: &Tensor,
    dims: &[usize],
    run: usize,
    starts: impl IntoIterator<Item = usize>,
) -> Result<Tensor, TensorError> {
    stored_bytes(source.element_type(), dims)?;
    moving(&[source], |units| {
        with_unit!(units[0].element_type(), T => {
            let from = units[0].units::<T>();
            let mut all = Buffer::<T>::any(checked_len(dims).unwrap_or(0))?;
            let places = starts.into_iter().zip(0..).map(|(start, i)| (start, run.saturating_mul(i)));
            let found = copy_runs(&from, &mut all, run, places)?;
            if found != all.len() {
                return Err(TensorError::ElementCount { dims: dims.into(), found });
            }
            Tensor::from_buffer(T::TYPE, dims, all)
        })
    })
}

/// Replaces runs of `run` elements of `base`: run `i` of `updates` goes to row-major position `starts[i]`. If
/// runs overlap, the last one wins.
///
/// # Errors
/// [`TensorError::TypeMismatch`]; [`TensorError::Argument`] if a run lies outside a tensor.
pub fn scatter_runs(
    base: &Tensor,
    run: usize,
    starts: impl IntoIterator<Item = usize>,
    updates: &Tensor,
) -> Result<Tensor, TensorError> {
    moving(&[base, updates], |units| {
        with_unit!(units[0].element_type(), T => {
            let mut all = units[0].copied::<T>()?;
            let from = units[1].units::<T>();
            let places = starts.into_iter().zip(0..).map(|(start, i)| (run.saturating_mul(i), start));
            copy_runs(&from, &mut all, run, places)?;
            Tensor::from_buffer(T::TYPE, base.dims(), all)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_any_type() {
        for et in ["i8", "i64", "f16", "u4", "u3", "u1"] {
            let t = Tensor::from_vec(&[2, 3], vec![0i32, 1, 0, 1, 1, 0])
                .unwrap()
                .cast(et.parse().unwrap())
                .unwrap();
            let rows = gather_runs(&t, &[3, 3], 3, [3, 0, 3]).unwrap();
            assert_eq!(rows.to_i64_vec().unwrap(), [1, 1, 0, 0, 1, 0, 1, 1, 0], "{et}");
            let row = gather_runs(&t, &[3], 3, [0]).unwrap();
            assert_eq!(scatter_runs(&t, 3, [3], &row).unwrap().to_i64_vec().unwrap(), [0, 1, 0, 0, 1, 0]);
            assert!(scatter_runs(&t, 3, [4], &row).is_err());
            assert!(scatter_runs(&t, 2, [0, 0], &row).is_err());
        }
    }

    #[test]
    fn texts_keep_their_table() {
        let a = Tensor::strings(&[2], vec!["a".into(), "b".into()]).unwrap();
        let c = Tensor::strings(&[1], vec!["c".into()]).unwrap();
        assert_eq!(scatter_runs(&a, 1, [0], &c).unwrap().as_strings().unwrap(), ["c", "b"]);
        assert_eq!(gather_runs(&a, &[3], 1, [1, 0, 1]).unwrap().as_strings().unwrap(), ["b", "a", "b"]);
    }

    #[test]
    fn runs_out_of_range_are_refused() {
        let t = Tensor::from_vec(&[2, 2], vec![1u8, 2, 3, 4]).unwrap();
        assert!(gather_runs(&t, &[2], 2, [3]).is_err());
        assert!(gather_runs(&t, &[3], 2, [0]).is_err());
        assert!(gather_runs(&t, &[0, 2], 2, []).unwrap().is_empty());
    }
}
