//! Gathers slices by index: OpenVINO's `Gather`.
//!
//! **Loop nest**, outer to inner: slabs (all axes before `axis`); indices; elements after `axis`.
//!
//! **Threads.** Each thread gathers some slabs, or some indices of a single slab.

use bytemuck::Pod;

use crate::buffer::Buffer;
use crate::kernels::concat;
use crate::kernels::dispatch::{moving, with_unit};
use crate::kernels::sharing;
use crate::tensor::stored_bytes;
use crate::{Dims, Tensor, TensorError};

/// `data[.., index, ..]` along `axis` for every index. Both inputs share the first `batch_dims` axes. The
/// result has the dims `data.dims[..axis] + indices.dims[batch_dims..] + data.dims[axis + 1..]`. Negative
/// indices count from the end: index -1 is the last element.
///
/// # Errors
/// [`TensorError::IndexOutOfRange`], [`TensorError::AxisOutOfRange`], [`TensorError::ShapeMismatch`] if batch
/// dims differ, [`TensorError::Argument`] unless `batch_dims` is at most `axis`,
/// [`TensorError::UnsupportedType`] unless indices are integers.
pub fn gather(
    data: &Tensor,
    indices: &Tensor,
    axis: usize,
    batch_dims: usize,
) -> Result<Tensor, TensorError> {
    data.layout().check_axis(axis)?;
    if batch_dims > axis || batch_dims > indices.rank() {
        return Err(TensorError::argument("batch_dims exceeds the axis or the rank of the indices"));
    }
    if data.dims()[..batch_dims] != indices.dims()[..batch_dims] {
        return Err(TensorError::mismatch(
            "batch dims of {} and indices {} differ",
            data.dims(),
            indices.dims(),
        ));
    }
    if !indices.element_type().is_integer() {
        return Err(TensorError::UnsupportedType { element_type: indices.element_type() });
    }
    let size = data.dims()[axis];
    let picks = indices
        .to_i64_vec()?
        .into_iter()
        .map(|index| {
            let wrapped = if index < 0 { index.checked_add_unsigned(size as u64) } else { Some(index) };
            wrapped
                .and_then(|i| usize::try_from(i).ok())
                .filter(|&i| i < size)
                .ok_or(TensorError::IndexOutOfRange { index, dim: size })
        })
        .collect::<Result<Vec<_>, _>>()?;
    // Avoids copying the states of a language model whose beams keep their order.
    if batch_dims == 0 && indices.rank() == 1 && picks.iter().copied().eq(0..size) {
        return Ok(data.clone());
    }
    let mut dims = Dims::from_slice(&data.dims()[..axis]);
    dims.extend_from_slice(&indices.dims()[batch_dims..]);
    dims.extend_from_slice(&data.dims()[axis + 1..]);
    stored_bytes(data.element_type(), &dims)?;
    moving(&[data], |units| match units {
        [units] => with_unit!(units.element_type(), T => {
            pick::<T>(units, &picks, axis, batch_dims, &dims)
        }),
        _ => Err(TensorError::argument("expected one input")),
    })
}

/// As [`gather`], but indices out of range select zeros. If the axis is empty, every index is an error.
///
/// # Errors
/// Same as [`gather`].
pub fn gather_or_zeros(
    data: &Tensor,
    indices: &Tensor,
    axis: usize,
    batch_dims: usize,
) -> Result<Tensor, TensorError> {
    match gather(data, indices, axis, batch_dims) {
        Err(TensorError::IndexOutOfRange { dim: 1.., .. }) => {}
        gathered => return gathered,
    }
    let size = data.dims()[axis];
    let inside = -(size as i64)..size as i64;
    let within = |index| if inside.contains(&index) { index.rem_euclid(size as i64) } else { size as i64 };
    let places = indices.to_i64_vec()?.into_iter().map(within).collect();
    // Indices out of range point to zeros appended to the data.
    let mut dims = Dims::from_slice(data.dims());
    dims[axis] = 1;
    let data = concat(&[data, &Tensor::zeros(data.element_type(), &dims)?], axis)?;
    gather(&data, &Tensor::from_vec(indices.dims(), places)?, axis, batch_dims)
}

/// [`gather`] with indices that are in range and nonnegative.
fn pick<T: Pod + Send + Sync>(
    data: &Tensor,
    picks: &[usize],
    axis: usize,
    batch_dims: usize,
    dims: &[usize],
) -> Result<Tensor, TensorError> {
    let values = data.units::<T>();
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    let len = crate::layout::checked_len(dims).unwrap_or(0);
    let mut out = Buffer::<T>::any(len)?;
    if len > 0 {
        let (batches, outer) = (product(&dims[..batch_dims]), product(&dims[batch_dims..axis]));
        let (size, inner) = (data.dims()[axis], product(&data.dims()[axis + 1..]));
        let per_batch = picks.len() / batches;
        let some = |slab: usize, picks: &[usize], to: &mut [T]| {
            let from = &values[slab * size * inner..][..size * inner];
            if inner == 1 {
                // A call would take longer than copying one element.
                to.iter_mut().zip(picks).for_each(|(to, &pick)| *to = from[pick]);
            } else {
                for (to, &pick) in to.chunks_exact_mut(inner).zip(picks) {
                    to.copy_from_slice(&from[pick * inner..][..inner]);
                }
            }
        };
        let slab_len = per_batch * inner;
        // With a single slab, threads gather parts of it; otherwise they gather whole slabs.
        if slab_len == len {
            sharing::in_parts(&mut out, inner, sharing::ELEMENTS / inner, |first, to| {
                some(0, &picks[first..], to)
            });
        } else {
            sharing::in_parts(&mut out, slab_len, sharing::ELEMENTS / slab_len, |first, out| {
                for (slab, to) in (first..).zip(out.chunks_exact_mut(slab_len)) {
                    some(slab, &picks[slab / outer * per_batch..][..per_batch], to);
                }
            });
        }
    }
    Tensor::from_buffer(data.element_type(), dims, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_columns_and_scalars() {
        let t = Tensor::from_vec(&[3, 2], vec![0i16, 1, 10, 11, 20, 21]).unwrap();
        let indices = Tensor::from_vec(&[2], vec![-1i64, 0]).unwrap();
        let rows = gather(&t, &indices, 0, 0).unwrap();
        assert_eq!(rows.to_i64_vec().unwrap(), [20, 21, 0, 1]);
        let column = gather(&t, &Tensor::scalar(1i32), 1, 0).unwrap();
        assert_eq!((column.dims(), column.to_i64_vec().unwrap()), (&[3][..], vec![1, 11, 21]));
        assert!(gather(&t, &Tensor::scalar(2i32), 1, 0).is_err());
        let small = t.cast(crate::ElementType::U4).unwrap();
        let found = gather(&small, &indices, 0, 0).unwrap();
        assert_eq!(found.to_i64_vec().unwrap(), [4, 5, 0, 1]);
    }

    #[test]
    fn zeros_stand_outside() {
        let t = Tensor::from_vec(&[2, 3], vec![1i32, 2, 3, 4, 5, 6]).unwrap();
        let of = |axis, batch, indices: &[i64]| {
            let indices = Tensor::from_vec(&[2, indices.len() / 2], indices.to_vec()).unwrap();
            gather_or_zeros(&t, &indices, axis, batch).unwrap().to_i64_vec().unwrap()
        };
        assert_eq!(of(1, 0, &[3, -1]), [0, 3, 0, 6]);
        assert_eq!(of(1, 0, &[-4, i64::MAX]), [0; 4]);
        assert_eq!(of(1, 1, &[0, i64::MIN, -3, 5]), [1, 0, 4, 0]);
        assert_eq!(of(0, 0, &[-2, 2]), [1, 2, 3, 0, 0, 0]);
        assert_eq!(of(0, 0, &[-1, 1]), [4, 5, 6, 4, 5, 6]);
        let none = Tensor::zeros(crate::ElementType::F32, &[0, 3]).unwrap();
        assert!(gather_or_zeros(&none, &Tensor::scalar(0i64), 0, 0).is_err());
    }

    #[test]
    fn rows_in_their_order_are_not_copied() {
        let t = Tensor::from_vec(&[2, 3], vec![0f32, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let place = |t: &Tensor| t.storage().bytes().as_ptr();
        for (indices, is_view) in
            [(vec![0i64, 1], true), (vec![0, -1], true), (vec![1, 0], false), (vec![0], false)]
        {
            let found =
                gather(&t, &Tensor::from_vec(&[indices.len()], indices.clone()).unwrap(), 0, 0).unwrap();
            assert_eq!(place(&found) == place(&t), is_view, "{indices:?}");
            let expected: Vec<f32> =
                indices.iter().flat_map(|&i| [0, 1, 2].map(|x| (3 * i.rem_euclid(2) + x) as f32)).collect();
            assert_eq!(found, Tensor::from_vec(&[indices.len(), 3], expected).unwrap());
        }
        let table = Tensor::from_vec(&[1, 2], vec![0i64, 1]).unwrap();
        assert_eq!(gather(&t, &table, 0, 0).unwrap().dims(), [1, 2, 3]);
    }

    #[test]
    fn batches_are_walked_together() {
        let t = Tensor::from_vec(&[2, 1, 3], (0..6).collect::<Vec<i32>>()).unwrap();
        let indices = Tensor::from_vec(&[2, 2], vec![2i32, 0, 1, 1]).unwrap();
        let found = gather(&t, &indices, 2, 1).unwrap();
        assert_eq!(found.dims(), [2, 1, 2]);
        assert_eq!(found.to_i64_vec().unwrap(), [2, 0, 4, 4]);
        let t = Tensor::from_vec(&[2, 2, 3], (0..12).collect::<Vec<i32>>()).unwrap();
        let found = gather(&t, &indices, 2, 1).unwrap();
        assert_eq!(found.to_i64_vec().unwrap(), [2, 0, 5, 3, 7, 7, 10, 10]);
        let t = Tensor::from_vec(&[2, 2, 3, 2], (0..24).collect::<Vec<i32>>()).unwrap();
        let found = gather(&t, &indices, 2, 1).unwrap();
        let pairs = [4, 0, 10, 6, 14, 14, 20, 20].map(|first| [first, first + 1]);
        assert_eq!(found.to_i64_vec().unwrap(), pairs.as_flattened());
    }
}
