//! Copies runs of elements, for gathers and scatters.
//!
//! A *run* is a sequence of consecutive elements in row-major order. Elements are copied as bits, so all
//! types are supported, including strings and sub-byte types.

use std::borrow::Cow;
use std::sync::Arc;

use crate::buffer::filled;
use crate::kernels::broadcast::copy_run;
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{ElementType, Tensor, TensorError, packing};

/// Copies `len` elements from `from_at` of `from` to `to_at` of `to`; `None` if either is out of range.
fn copy(et: ElementType, from: &[u8], from_at: usize, to: &mut [u8], to_at: usize, len: usize) -> Option<()> {
    match et.unit_bytes() {
        Some(unit) => {
            let bytes = len.checked_mul(unit)?;
            let from_at = from_at.checked_mul(unit)?;
            let to_at = to_at.checked_mul(unit)?;
            let from = from.get(from_at..from_at.checked_add(bytes)?)?;
            copy_run(to.get_mut(to_at..to_at.checked_add(bytes)?)?, from);
        }
        None => {
            let inside = |bytes: usize, at: usize| {
                at.checked_add(len).and_then(|n| et.stored_len(n)).is_some_and(|n| n <= bytes)
            };
            if !inside(from.len(), from_at) || !inside(to.len(), to_at) {
                return None;
            }
            for i in 0..len {
                packing::set(et, to, to_at + i, packing::get(et, from, from_at + i));
            }
        }
    }
    Some(())
}

fn out_of_range() -> TensorError {
    TensorError::argument("a run is out of range for its tensor")
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
    let et = source.element_type();
    let mut bytes = filled(stored_bytes(et, dims)?, 0u8)?;
    let from = source.to_units();
    let (count, size) = (checked_len(dims).unwrap_or(0), source.len());
    let mut at = 0usize;
    for start in starts {
        let inside = start.checked_add(run).is_some_and(|end| end <= size);
        let fits = at.checked_add(run).is_some_and(|end| end <= count);
        if !inside || !fits {
            return Err(out_of_range());
        }
        copy(et, &from, start, &mut bytes, at, run).ok_or_else(out_of_range)?;
        at += run;
    }
    if at != count {
        return Err(TensorError::ElementCount { dims: dims.into(), found: at });
    }
    Ok(Tensor::from_packed(et, dims, bytes)?.with_texts(source.texts().cloned()))
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
    let et = base.element_type();
    updates.expect(et)?;
    let (both, texts) = one_table(&[base, updates]);
    let [base, updates] = both.as_slice() else { return Err(out_of_range()) };
    let mut bytes = base.to_units().into_owned();
    let from = updates.to_units();
    let (size, found) = (base.len(), updates.len());
    let mut at = 0usize;
    for start in starts {
        let inside = start.checked_add(run).is_some_and(|end| end <= size);
        let fits = at.checked_add(run).is_some_and(|end| end <= found);
        if !inside || !fits {
            return Err(out_of_range());
        }
        copy(et, &from, at, &mut bytes, start, run).ok_or_else(out_of_range)?;
        at += run;
    }
    Ok(Tensor::from_packed(et, base.dims(), bytes)?.with_texts(texts))
}

/// Moves the texts of string tensors to one table. Returns other tensors unchanged.
fn one_table<'a>(inputs: &[&'a Tensor]) -> (Vec<Cow<'a, Tensor>>, Option<Arc<[String]>>) {
    let strings = inputs.iter().all(|t| t.element_type() == ElementType::String);
    if !strings {
        return (inputs.iter().map(|t| Cow::Borrowed(*t)).collect(), None);
    }
    let mut table: Vec<String> = Vec::new();
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        let base = u32::try_from(table.len()).unwrap_or(u32::MAX);
        table.extend(input.texts().iter().flat_map(|texts| texts.iter().cloned()));
        let indices: Vec<u32> = input.units::<u32>().iter().map(|i| i.saturating_add(base)).collect();
        match Tensor::from_units(ElementType::String, input.dims(), indices) {
            Ok(moved) => all.push(Cow::Owned(moved)),
            Err(_) => all.push(Cow::Borrowed(*input)),
        }
    }
    (all, Some(table.into()))
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
