//! Access to the elements of a tensor as Rust values.

use std::borrow::Cow;

use bytemuck::Pod;
use bytemuck::checked::CheckedCastError;

use crate::buffer::Buffer;
use crate::convert::{Wide, decode};
use crate::kernels::broadcast::{Strided, for_each_block};
use crate::kernels::strided_copy;
use crate::{Element, ElementType, Tensor, TensorError};

/// The error for bytes that cannot be read in place.
pub(crate) fn unreadable(error: CheckedCastError) -> TensorError {
    match error {
        CheckedCastError::PodCastError(_) => TensorError::NotContiguous,
        CheckedCastError::InvalidBitPattern => TensorError::NotBoolean,
    }
}

impl Tensor {
    /// The packed little-endian bytes in row-major order, borrowed if the elements are packed. Strings are in
    /// the packed form that [`Tensor::new`] reads.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        if let Ok(texts) = self.as_strings() {
            return Cow::Owned(crate::text::pack(&texts));
        }
        self.to_units()
    }

    /// [`Tensor::to_bytes`], but with strings as their indices.
    pub(crate) fn to_units(&self) -> Cow<'_, [u8]> {
        match self.packed_bytes() {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                let mut bytes = vec![0; self.element_type().stored_len(self.len()).unwrap_or(0)];
                strided_copy::pack(self, &mut bytes);
                Cow::Owned(bytes)
            }
        }
    }

    /// A copy of the elements, whose type has the size of `T`, in row-major order.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`].
    pub(crate) fn copied<T: Pod>(&self) -> Result<Buffer<T>, TensorError> {
        let mut copy = Buffer::any(self.len())?;
        match self.packed_bytes() {
            Some(bytes) => bytemuck::cast_slice_mut(&mut copy).copy_from_slice(bytes),
            None => strided_copy::pack(self, bytemuck::cast_slice_mut(&mut copy)),
        }
        Ok(copy)
    }

    /// The elements in row-major order, borrowed if they are packed and aligned.
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`] unless the element type is `T::TYPE`; [`TensorError::NotBoolean`].
    pub fn values<T: Element>(&self) -> Result<Cow<'_, [T]>, TensorError> {
        self.expect(T::TYPE)?;
        let values = match self.to_units() {
            Cow::Borrowed(bytes) => match bytemuck::checked::try_cast_slice(bytes) {
                Ok(values) => Some(Cow::Borrowed(values)),
                // Mapped weights may be unaligned.
                Err(_) => T::copied(bytes).map(Cow::Owned),
            },
            Cow::Owned(bytes) => T::copied(&bytes).map(Cow::Owned),
        };
        values.ok_or(TensorError::NotBoolean)
    }

    /// The elements in row-major order, in place.
    ///
    /// ```
    /// use snick::Tensor;
    ///
    /// let tensor = Tensor::from_slice(&[1f32, 2., 3., 4.], &[2, 2])?;
    /// assert_eq!(tensor.as_slice::<f32>()?, [1., 2., 3., 4.]);
    /// let column = tensor.slice(1, 0, 1, 1)?;
    /// assert!(column.as_slice::<f32>().is_err()); // a view: its elements are not neighbours
    /// assert_eq!(column.contiguous().as_slice::<f32>()?, [1., 3.]);
    /// # Ok::<(), snick::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`] unless the element type is exactly `T::TYPE`;
    /// [`TensorError::NotContiguous`] for strided views and for unaligned elements, for example in a mapped
    /// file ([`Tensor::contiguous`] and [`Tensor::values`] copy them); [`TensorError::NotBoolean`].
    pub fn as_slice<T: Element>(&self) -> Result<&[T], TensorError> {
        self.expect(T::TYPE)?;
        match self.packed_bytes().ok_or(TensorError::NotContiguous)? {
            // An empty slice may be unaligned.
            [] => Ok(&[]),
            bytes => bytemuck::checked::try_cast_slice(bytes).map_err(unreadable),
        }
    }

    /// The elements of a `boolean` tensor as bytes: 0 is `false`, any other byte is `true`.
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`].
    pub fn values_u8(&self) -> Result<Cow<'_, [u8]>, TensorError> {
        self.expect(ElementType::Boolean)?;
        Ok(self.to_units())
    }

    /// The elements of a `boolean` tensor; every nonzero byte is `true`.
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`].
    pub fn to_bools(&self) -> Result<Vec<bool>, TensorError> {
        Ok(self.values_u8()?.iter().map(|&b| b != 0).collect())
    }

    /// The elements of a `string` tensor.
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`].
    pub fn as_strings(&self) -> Result<Vec<&str>, TensorError> {
        self.expect(ElementType::String)?;
        let texts = self.texts().map_or(&[][..], |table| &table[..]);
        let indices = self.units::<u32>();
        Ok(indices.iter().map(|&i| texts.get(i as usize).map_or("", String::as_str)).collect())
    }

    pub(crate) fn expect(&self, expected: ElementType) -> Result<(), TensorError> {
        let found = self.element_type();
        if found == expected { Ok(()) } else { Err(TensorError::TypeMismatch { expected, found }) }
    }

    /// The elements as any plain type of the same size.
    pub(crate) fn units<T: Pod>(&self) -> Cow<'_, [T]> {
        match self.to_units() {
            Cow::Borrowed(bytes) => match bytemuck::try_cast_slice(bytes) {
                Ok(values) => Cow::Borrowed(values),
                // Mapped weights may be unaligned.
                Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
            },
            Cow::Owned(bytes) => match bytemuck::try_cast_vec(bytes) {
                Ok(values) => Cow::Owned(values),
                Err((_, bytes)) => Cow::Owned(bytemuck::pod_collect_to_vec(&bytes)),
            },
        }
    }

    fn wide(&self, kind: fn(ElementType) -> Option<Wide>) -> Result<Wide, TensorError> {
        let et = self.element_type();
        let mut wide = kind(et).ok_or(TensorError::UnsupportedType { element_type: et })?;
        decode(et, &self.to_units(), 0..self.len(), &mut wide);
        Ok(wide)
    }

    /// The elements as `f64`, converting any numeric type; booleans are 0 and 1.
    ///
    /// # Errors
    /// [`TensorError::UnsupportedType`] for strings.
    pub fn to_f64_vec(&self) -> Result<Vec<f64>, TensorError> {
        Ok(match self.wide(Wide::for_type)? {
            Wide::Float(v) => v,
            Wide::Signed(v) => v.into_iter().map(|x| x as f64).collect(),
            Wide::Unsigned(v) => v.into_iter().map(|x| x as f64).collect(),
        })
    }

    /// The elements as `f32`, rounded once to nearest even; booleans are 0 and 1.
    ///
    /// # Errors
    /// [`TensorError::UnsupportedType`] for strings.
    pub fn to_f32_vec(&self) -> Result<Vec<f32>, TensorError> {
        if self.element_type() == ElementType::F32 {
            return Ok(self.units::<f32>().into_owned());
        }
        Ok(match self.wide(Wide::for_type)? {
            Wide::Float(v) => v.into_iter().map(|x| x as f32).collect(),
            Wide::Signed(v) => v.into_iter().map(|x| x as f32).collect(),
            Wide::Unsigned(v) => v.into_iter().map(|x| x as f32).collect(),
        })
    }

    /// The elements as `i64`: floats truncate and saturate, `u64` saturates, `NaN` is 0.
    ///
    /// # Errors
    /// [`TensorError::UnsupportedType`] for strings.
    pub fn to_i64_vec(&self) -> Result<Vec<i64>, TensorError> {
        if self.element_type() == ElementType::I64 {
            let mut all = Vec::with_capacity(self.len());
            for_each_block(&Strided::new(self), |block| all.extend_from_slice(block));
            return Ok(all);
        }
        Ok(match self.wide(Wide::for_type)? {
            Wide::Float(v) => v.into_iter().map(|x| x as i64).collect(),
            Wide::Signed(v) => v,
            Wide::Unsigned(v) => v.into_iter().map(|x| i64::try_from(x).unwrap_or(i64::MAX)).collect(),
        })
    }

    /// Element `at` of [`Tensor::to_i64_vec`], in row-major order.
    ///
    /// # Errors
    /// [`TensorError::IndexOutOfRange`]; [`TensorError::UnsupportedType`] for strings.
    pub fn to_i64(&self, at: usize) -> Result<i64, TensorError> {
        // Reads scalars and vectors, such as indices, without a copy.
        let place = match (self.dims(), self.strides()) {
            ([], []) if at == 0 => Some(self.layout().start),
            (&[len], &[stride]) if at < len => {
                Some(self.layout().start.wrapping_add_signed(at as isize * stride))
            }
            _ => None,
        };
        let bytes = self.storage().bytes();
        let found = place.and_then(|place| match self.element_type() {
            ElementType::I64 => bytes.as_chunks().0.get(place).map(|unit| i64::from_le_bytes(*unit)),
            ElementType::I32 => bytes.as_chunks().0.get(place).map(|unit| i32::from_le_bytes(*unit).into()),
            _ => None,
        });
        match found {
            Some(found) => Ok(found),
            None => {
                let index = i64::try_from(at).unwrap_or(i64::MAX);
                let outside = TensorError::IndexOutOfRange { index, dim: self.len() };
                self.to_i64_vec()?.get(at).copied().ok_or(outside)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    #[test]
    fn unaligned_values_are_copied_and_aligned_ones_borrowed() {
        let mut bytes = vec![0u8; 4];
        bytes.extend(1.5f32.to_le_bytes());
        bytes.extend([0; 3]);
        let storage = Storage::heap(bytes);
        for offset in [1, 2, 3] {
            let mut raw = vec![0u8; offset];
            raw.extend(1.5f32.to_le_bytes());
            let window = Storage::heap(raw).window(offset, 4).unwrap();
            let t = Tensor::new(ElementType::F32, &[1], window).unwrap();
            assert_eq!(t.values::<f32>().unwrap()[..], [1.5]);
        }
        let t = Tensor::new(ElementType::F32, &[1], storage.window(4, 4).unwrap()).unwrap();
        assert_eq!(t.values::<f32>().unwrap()[..], [1.5]);
        assert!(t.values::<i32>().is_err());
        let owned = Tensor::from_vec(&[2], vec![1i64, 2]).unwrap();
        assert!(matches!(owned.values::<i64>().unwrap(), Cow::Borrowed(_)));
    }

    /// Elements at any byte offset, packed or not, are read in place once they are contiguous.
    fn check_every_offset<T: Element + std::fmt::Debug>(values: [T; 3]) {
        let bytes = Tensor::from_slice(&values, &[3]).unwrap().to_bytes().into_owned();
        let [first, second, third] = &values;
        for offset in 0..8 {
            let shifted = [vec![0; offset], bytes.clone()].concat();
            let window = Storage::heap(shifted).window(offset, bytes.len()).unwrap();
            let tensor = Tensor::new(T::TYPE, &[3], window).unwrap();
            for packed in [tensor.contiguous(), tensor.kept()] {
                assert_eq!(packed.as_slice::<T>().unwrap(), values);
            }
            match tensor.as_slice::<T>() {
                Ok(elements) => assert_eq!(elements, values),
                Err(error) => assert_eq!(error, TensorError::NotContiguous),
            }
            let backward = tensor.slice(0, 2, 3, -1).unwrap().contiguous();
            assert_eq!(backward.as_slice::<T>().unwrap().iter().collect::<Vec<_>>(), [third, second, first]);
            let last = tensor.slice(0, 1, 2, 1).unwrap().contiguous();
            assert_eq!(last.as_slice::<T>().unwrap().iter().collect::<Vec<_>>(), [second, third]);
        }
        assert!(Tensor::from_slice::<T>(&[], &[0]).unwrap().as_slice::<T>().unwrap().is_empty());
    }

    #[test]
    fn contiguous_elements_are_read_in_place_whatever_their_offset() {
        check_every_offset([half::f16::ONE, half::f16::ZERO, half::f16::MAX]);
        check_every_offset([half::bf16::ONE, half::bf16::ZERO, half::bf16::MAX]);
        check_every_offset([1.5f32, 2.5, 3.5]);
        check_every_offset([1.5f64, 2.5, 3.5]);
        check_every_offset([1i8, 2, 3]);
        check_every_offset([1i16, 2, 3]);
        check_every_offset([1i32, 2, 3]);
        check_every_offset([1i64, 2, 3]);
        check_every_offset([1u8, 2, 3]);
        check_every_offset([1u16, 2, 3]);
        check_every_offset([1u32, 2, 3]);
        check_every_offset([1u64, 2, 3]);
        check_every_offset([true, false, true]);
    }

    #[test]
    fn conversions_to_wide_types() {
        let t = Tensor::from_vec(&[3], vec![-1.9f32, f32::NAN, 1e30]).unwrap();
        assert_eq!(t.to_i64_vec().unwrap(), [-1, 0, i64::MAX]);
        let b = Tensor::from_bools(&[2], &[true, false]).unwrap();
        assert_eq!(b.to_f32_vec().unwrap(), [1.0, 0.0]);
        let u = Tensor::scalar(u64::MAX);
        assert_eq!(u.to_i64_vec().unwrap(), [i64::MAX]);
        assert_eq!(u.to_f64_vec().unwrap(), [18446744073709551615.0]);
    }

    #[test]
    fn a_single_element_equals_that_of_the_list() {
        let vector = Tensor::from_vec(&[4], vec![5i64, -6, 7, 8]).unwrap();
        let backwards = vector.slice(0, 3, 2, -2).unwrap();
        let grid = vector.reshape(&[2, 2]).unwrap().transposed();
        for t in [&vector, &backwards, &grid, &Tensor::scalar(3i32), &Tensor::scalar(u64::MAX)] {
            for et in [t.element_type(), ElementType::I32, ElementType::I8] {
                let t = t.cast(et).unwrap();
                let all = t.to_i64_vec().unwrap();
                assert_eq!((0..all.len()).map(|at| t.to_i64(at).unwrap()).collect::<Vec<_>>(), all);
                assert!(t.to_i64(all.len()).is_err());
            }
        }
    }

    #[test]
    fn booleans_are_read_and_written_as_bool() {
        let t = Tensor::from_slice(&[true, false, true], &[3]).unwrap();
        assert_eq!(t.element_type(), ElementType::Boolean);
        assert_eq!(t.as_slice::<bool>().unwrap(), [true, false, true]);
        let backward = t.slice(0, 1, 2, -1).unwrap();
        assert_eq!(backward.values::<bool>().unwrap()[..], [false, true]);
        assert_eq!(Tensor::scalar(true), Tensor::from_bools(&[], &[true]).unwrap());
        assert!(matches!(t.as_slice::<u8>(), Err(TensorError::TypeMismatch { .. })));
        // The bytes of a file can have any value.
        let file = Tensor::new(ElementType::Boolean, &[2], Storage::heap(vec![1, 7])).unwrap();
        assert_eq!(file.as_slice::<bool>(), Err(TensorError::NotBoolean));
        assert_eq!(file.values::<bool>(), Err(TensorError::NotBoolean));
        assert_eq!(file.to_bools().unwrap(), [true, true]);
    }

    #[test]
    fn strings_move_as_views() {
        let t = Tensor::strings(&[2, 2], ["a", "b", "c", "d"].map(String::from).into()).unwrap();
        let back = t.slice(1, 1, 2, -1).unwrap();
        assert_eq!(back.as_strings().unwrap(), ["b", "a", "d", "c"]);
        assert_eq!(back.contiguous(), back);
        let bytes = back.to_bytes().into_owned();
        let again = Tensor::new(ElementType::String, &[2, 2], Storage::heap(bytes)).unwrap();
        assert_eq!(again, back);
    }
}
