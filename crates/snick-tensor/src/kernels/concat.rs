//! Concatenates tensors.

use crate::buffer::Buffer;
use crate::kernels::dispatch::moving;
use crate::kernels::sharing;
use crate::kernels::strided_copy::pack_apart;
use crate::tensor::stored_bytes;
use crate::{Dims, SmallVector, Tensor, TensorError};

/// The minimum number of bytes per thread.
const SHARED: usize = 1 << 16;

/// Concatenates the inputs along `axis`. All other dims must be equal.
///
/// # Errors
/// [`TensorError::Argument`] without inputs, [`TensorError::AxisOutOfRange`], [`TensorError::TypeMismatch`],
/// [`TensorError::ShapeMismatch`], [`TensorError::TooLarge`].
pub fn concat(inputs: &[&Tensor], axis: usize) -> Result<Tensor, TensorError> {
    let Some(first) = inputs.first() else {
        return Err(TensorError::argument("expected at least one input"));
    };
    first.layout().check_axis(axis)?;
    let mut dims = Dims::from_slice(first.dims());
    dims[axis] = 0;
    for input in inputs {
        let fits = input.rank() == first.rank()
            && (0..first.rank()).all(|i| i == axis || input.dims()[i] == first.dims()[i]);
        let size = dims[axis].checked_add(input.dims().get(axis).copied().unwrap_or(0));
        dims[axis] = size.filter(|_| fits).ok_or_else(|| {
            TensorError::mismatch("cannot concatenate {} with {}", first.dims(), input.dims())
        })?;
    }
    moving(inputs, |units| join(units, axis, &dims))
}

/// Concatenates inputs with whole-byte elements. `dims` are the dims of the result.
fn join(units: &[Tensor], axis: usize, dims: &[usize]) -> Result<Tensor, TensorError> {
    let et = units[0].element_type();
    let mut out = Buffer::<u8>::any(stored_bytes(et, dims)?)?;
    if !out.is_empty() {
        let outer: usize = dims[..axis].iter().product();
        let pitch = out.len() / outer;
        let mut first = 0;
        // The packed inputs, and their offsets in each row.
        let mut packed = SmallVector::<_, 8>::new();
        for input in units {
            let width = input.size_in_bytes() / outer;
            match input.packed_bytes() {
                _ if width == 0 => {}
                // With a single row, threads copy pieces of each input; otherwise they copy whole rows of all
                // inputs.
                Some(bytes) if outer == 1 => {
                    sharing::in_parts(&mut out[first..][..width], 1, SHARED, |at, to| {
                        to.copy_from_slice(&bytes[at..][..to.len()]);
                    })
                }
                Some(bytes) => packed.push((first, width, bytes)),
                None => pack_apart(input, axis, &mut out[first..], pitch),
            }
            first += width;
        }
        sharing::in_parts(&mut out, pitch, SHARED / pitch, |row, out| {
            for &(first, width, bytes) in &packed {
                for (to, from) in out.chunks_exact_mut(pitch).zip(bytes[row * width..].chunks_exact(width)) {
                    to[first..first + width].copy_from_slice(from);
                }
            }
        });
    }
    Tensor::from_buffer_bytes(et, dims, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided_copy;

    #[test]
    fn along_either_axis_and_any_type() {
        let a = Tensor::from_vec(&[2, 2], vec![1u8, 2, 3, 4]).unwrap();
        let b = Tensor::from_vec(&[2, 1], vec![5u8, 6]).unwrap();
        for et in ["u8", "i64", "u4", "f16"] {
            let [a, b] = [&a, &b].map(|t| t.cast(et.parse().unwrap()).unwrap());
            assert_eq!(concat(&[&a, &b], 1).unwrap().to_i64_vec().unwrap(), [1, 2, 5, 3, 4, 6]);
            let turned = concat(&[&b.transposed(), &a], 0).unwrap();
            assert_eq!(turned.to_i64_vec().unwrap(), [5, 6, 1, 2, 3, 4]);
        }
        assert!(concat(&[&a, &b], 0).is_err());
        assert!(concat(&[&a, &b.reshape(&[2]).unwrap()], 1).is_err());
        assert!(concat(&[], 0).is_err());
    }

    #[test]
    fn views_are_concatenated_without_a_copy() {
        let all = Tensor::from_vec(&[3, 4, 5], (0..60i32).collect()).unwrap();
        let cut = all.slice(1, 3, 2, -2).unwrap().slice(2, 0, 3, 2).unwrap();
        let turned = cut.permute(&[2, 1, 0]).unwrap();
        for view in [&cut, &turned, &all.slice(0, 1, 1, 1).unwrap().broadcast_to(&[2, 4, 5]).unwrap()] {
            let packed = view.contiguous();
            for axis in 0..3 {
                let before = strided_copy::packed_parts();
                let joined = concat(&[view, view], axis).unwrap();
                assert_eq!(strided_copy::packed_parts(), before);
                assert_eq!(joined, concat(&[&packed, &packed], axis).unwrap(), "axis {axis}");
            }
        }
    }

    #[test]
    fn strings_are_concatenated() {
        let a = Tensor::strings(&[1], vec!["a".to_owned()]).unwrap();
        let b = Tensor::strings(&[1], vec!["b".to_owned()]).unwrap();
        let joined = concat(&[&a, &b, &a], 0).unwrap();
        assert_eq!(joined.as_strings().unwrap(), ["a", "b", "a"]);
    }
}
