//! Moving runs of elements: what gathers, scatters, pads and concatenations are made of.
//!
//! A *run* is a number of elements that follow each other in row-major order. Elements move as bits, so every type
//! does, texts and types below a byte too.

use std::borrow::Cow;
use std::sync::Arc;

use crate::layout::checked_len;
use crate::tensor::{filled, stored_bytes};
use crate::{Dims, ElementType, Tensor, TensorError, packing};

/// Copies `len` elements from `from_at` of `from` to `to_at` of `to`; `None` if either lies outside.
fn copy(et: ElementType, from: &[u8], from_at: usize, to: &mut [u8], to_at: usize, len: usize) -> Option<()> {
    match et.unit_bytes() {
        Some(unit) => {
            let bytes = len.checked_mul(unit)?;
            let from_at = from_at.checked_mul(unit)?;
            let to_at = to_at.checked_mul(unit)?;
            let from = from.get(from_at..from_at.checked_add(bytes)?)?;
            to.get_mut(to_at..to_at.checked_add(bytes)?)?.copy_from_slice(from);
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

fn outside(op: &'static str) -> TensorError {
    TensorError::argument(op, "a run lies outside its tensor")
}

/// The tensor of `dims` whose elements are runs of `run` elements of `source`, one after the other: the runs that
/// start at the row-major positions `starts`.
///
/// # Errors
/// [`TensorError::TooLarge`]; [`TensorError::Argument`] if the runs do not fill `dims` or lie outside `source`.
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
            return Err(outside("gather"));
        }
        copy(et, &from, start, &mut bytes, at, run).ok_or_else(|| outside("gather"))?;
        at += run;
    }
    if at != count {
        return Err(TensorError::ElementCount { dims: Dims::from_slice(dims), found: at });
    }
    Ok(Tensor::from_packed(et, dims, bytes)?.with_texts(source.texts().cloned()))
}

/// `base` with runs of `run` elements replaced: the one at row-major position `starts[i]` by the `i`-th run of
/// `updates`. Where runs overlap the last one stays.
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
    let [base, updates] = both.as_slice() else { return Err(outside("scatter")) };
    let mut bytes = base.to_units().into_owned();
    let from = updates.to_units();
    let (size, found) = (base.len(), updates.len());
    let mut at = 0usize;
    for start in starts {
        let inside = start.checked_add(run).is_some_and(|end| end <= size);
        let fits = at.checked_add(run).is_some_and(|end| end <= found);
        if !inside || !fits {
            return Err(outside("scatter"));
        }
        copy(et, &from, at, &mut bytes, start, run).ok_or_else(|| outside("scatter"))?;
        at += run;
    }
    Ok(Tensor::from_packed(et, base.dims(), bytes)?.with_texts(texts))
}

/// Tensors that agree in all but one axis, one after the other along that axis.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`], [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`],
/// [`TensorError::TooLarge`]; no inputs at all are an [`TensorError::Argument`].
pub fn concat(inputs: &[&Tensor], axis: usize) -> Result<Tensor, TensorError> {
    let first = inputs.first().ok_or_else(|| TensorError::argument("concat", "no inputs"))?;
    let et = first.element_type();
    let rank = first.rank();
    if axis >= rank {
        return Err(TensorError::AxisOutOfRange { axis, rank });
    }
    let mut dims = Dims::from_slice(first.dims());
    dims[axis] = 0;
    for input in inputs {
        input.expect(et)?;
        let same = input.rank() == rank && (0..rank).all(|i| i == axis || input.dims()[i] == dims[i]);
        let sum = if same { dims[axis].checked_add(input.dims()[axis]) } else { None };
        dims[axis] = sum.ok_or_else(|| TensorError::mismatch("concat", first.dims(), input.dims()))?;
    }
    let mut bytes = filled(stored_bytes(et, &dims)?, 0u8)?;
    if checked_len(&dims) != Some(0) {
        let (all, texts) = one_table(inputs);
        let outer: usize = dims[..axis].iter().product();
        let inner: usize = dims[axis + 1..].iter().product();
        let row = dims[axis] * inner;
        let mut first_of_row = 0;
        for input in &all {
            let run = input.dims()[axis] * inner;
            let from = input.to_units();
            for i in 0..outer {
                copy(et, &from, i * run, &mut bytes, i * row + first_of_row, run)
                    .ok_or_else(|| outside("concat"))?;
            }
            first_of_row += run;
        }
        return Ok(Tensor::from_packed(et, &dims, bytes)?.with_texts(texts));
    }
    Ok(Tensor::from_packed(et, &dims, bytes)?.with_texts(first.texts().cloned()))
}

/// The indices `indices` of one axis, in that order.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`], [`TensorError::IndexOutOfRange`], [`TensorError::TooLarge`].
pub fn take(source: &Tensor, axis: usize, indices: &[usize]) -> Result<Tensor, TensorError> {
    let rank = source.rank();
    let Some(&size) = source.dims().get(axis) else {
        return Err(TensorError::AxisOutOfRange { axis, rank });
    };
    if let Some(&index) = indices.iter().find(|&&i| i >= size) {
        return Err(TensorError::IndexOutOfRange {
            index: i64::try_from(index).unwrap_or(i64::MAX),
            dim: size,
        });
    }
    let mut dims = Dims::from_slice(source.dims());
    dims[axis] = indices.len();
    // Checks the size before the products below are taken.
    stored_bytes(source.element_type(), &dims)?;
    if checked_len(&dims) == Some(0) {
        return gather_runs(source, &dims, 0, []);
    }
    let outer: usize = dims[..axis].iter().product();
    let inner: usize = dims[axis + 1..].iter().product();
    let starts = (0..outer).flat_map(|o| indices.iter().map(move |i| (o * size + i) * inner));
    gather_runs(source, &dims, inner, starts)
}

/// The tensors with their texts in one table; as they are if they have none.
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
            let rows = take(&t, 0, &[1, 0, 1]).unwrap();
            assert_eq!(rows.to_i64_vec().unwrap(), [1, 1, 0, 0, 1, 0, 1, 1, 0], "{et}");
            let both = concat(&[&t, &rows], 0).unwrap();
            assert_eq!(both.dims(), [5, 3]);
            assert_eq!(
                concat(&[&t, &t], 1).unwrap().to_i64_vec().unwrap(),
                [0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0]
            );
            let put = scatter_runs(&t, 2, [3, 0], &take(&t, 0, &[0]).unwrap().slice(1, 0, 2, 1).unwrap());
            assert!(put.is_err());
            let put = scatter_runs(&t, 3, [3], &take(&t, 0, &[0]).unwrap()).unwrap();
            assert_eq!(put.to_i64_vec().unwrap(), [0, 1, 0, 0, 1, 0]);
        }
    }

    #[test]
    fn texts_keep_their_table() {
        let a = Tensor::strings(&[2], vec!["a".into(), "b".into()]).unwrap();
        let c = Tensor::strings(&[1], vec!["c".into()]).unwrap();
        let all = concat(&[&a, &c], 0).unwrap();
        assert_eq!(all.as_strings().unwrap(), ["a", "b", "c"]);
        assert_eq!(scatter_runs(&a, 1, [0], &c).unwrap().as_strings().unwrap(), ["c", "b"]);
        assert_eq!(take(&all, 0, &[2, 2]).unwrap().as_strings().unwrap(), ["c", "c"]);
    }

    #[test]
    fn what_lies_outside_is_refused() {
        let t = Tensor::from_vec(&[2, 2], vec![1u8, 2, 3, 4]).unwrap();
        assert!(take(&t, 2, &[0]).is_err());
        assert!(take(&t, 0, &[2]).is_err());
        assert!(gather_runs(&t, &[2], 2, [3]).is_err());
        assert!(gather_runs(&t, &[3], 2, [0]).is_err());
        assert!(concat(&[&t, &t.slice(1, 0, 1, 1).unwrap()], 0).is_err());
        assert!(take(&t, 0, &[]).unwrap().is_empty());
    }
}
