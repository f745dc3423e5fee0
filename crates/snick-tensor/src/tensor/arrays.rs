//! Conversions to and from arrays of the `ndarray` crate.

use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};

use super::Tensor;
use crate::layout::Layout;
use crate::values::unreadable;
use crate::{Dims, Element, Storage, TensorError};

/// Takes the elements of an array, without a copy if they are in row-major order.
///
/// ```
/// use snick::Tensor;
///
/// let array = ndarray::array![[1i64, 2, 3], [4, 5, 6]];
/// let tensor = Tensor::from(array.reversed_axes().into_dyn());
/// assert_eq!(tensor.dims(), [3, 2]);
/// assert_eq!(tensor.to_i64_vec()?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), snick::TensorError>(())
/// ```
impl<T: Element> From<ArrayD<T>> for Tensor {
    fn from(array: ArrayD<T>) -> Self {
        let dims = Dims::from_slice(array.shape());
        let len = array.len();
        let values = if array.is_standard_layout() {
            let (mut values, first) = array.into_raw_vec_and_offset();
            values.drain(..first.unwrap_or(0));
            values.truncate(len);
            values
        } else {
            array.iter().copied().collect()
        };
        // The elements are already in memory, so the limit on allocations does not apply.
        Tensor {
            element_type: T::TYPE,
            layout: Layout::packed(&dims),
            storage: Storage::from_vec(values),
            texts: None,
        }
    }
}

impl Tensor {
    /// A view as an array, without a copy. Also works for slices, transposes and broadcasts.
    ///
    /// ```
    /// use snick::Tensor;
    ///
    /// let tensor = Tensor::from_vec(&[2, 3], vec![1f32, 2., 3., 4., 5., 6.])?;
    /// let backward = tensor.slice(1, 2, 3, -1)?;
    /// assert_eq!(backward.view::<f32>()?, ndarray::array![[3., 2., 1.], [6., 5., 4.]].into_dyn());
    /// # Ok::<(), snick::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`] unless the element type is exactly `T::TYPE`; [`TensorError::Argument`]
    /// if the elements are unaligned, for example in a mapped file ([`Tensor::values`] copies them);
    /// [`TensorError::NotBoolean`].
    pub fn view<T: Element>(&self) -> Result<ArrayViewD<'_, T>, TensorError> {
        self.expect(T::TYPE)?;
        let refuse = |_| TensorError::argument("this layout has no view as an array: read its `values`");
        if self.is_empty() {
            return ArrayViewD::from_shape(IxDyn(self.dims()), &[]).map_err(refuse);
        }
        // The array must start at the element with the lowest address.
        let backward = self.dims().iter().zip(self.strides()).filter(|(_, stride)| **stride < 0);
        let below: usize = backward.map(|(dim, stride)| (dim - 1) * stride.unsigned_abs()).sum();
        let forward = self.dims().iter().zip(self.strides()).filter(|(_, stride)| **stride > 0);
        let above: usize = forward.map(|(dim, stride)| (dim - 1) * stride.unsigned_abs()).sum();
        let lowest = self.layout.start.saturating_sub(below).saturating_mul(size_of::<T>());
        let end = (self.layout.start + above + 1).saturating_mul(size_of::<T>());
        let bytes = self.storage.bytes().get(lowest..end).unwrap_or_default();
        let elements = bytemuck::checked::try_cast_slice(bytes).map_err(|error| match unreadable(error) {
            TensorError::NotContiguous => {
                TensorError::argument("the elements are not aligned in memory: read them with `values`")
            }
            error => error,
        })?;
        // Negative strides are passed as wrapped numbers.
        let strides: Dims = self.strides().iter().map(|stride| *stride as usize).collect();
        ArrayViewD::from_shape(IxDyn(self.dims()).strides(IxDyn(&strides)), elements).map_err(refuse)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array, ArrayD, Axis, IxDyn, s};

    use crate::{ElementType, Storage, Tensor, TensorError};

    fn counted() -> ArrayD<i32> {
        Array::from_shape_vec(IxDyn(&[2, 3, 4]), (0..24).collect()).unwrap()
    }

    #[test]
    fn arrays_of_any_layout_become_tensors() {
        let plain = counted();
        let mut reversed = counted();
        reversed.invert_axis(Axis(1));
        let sliced = counted().slice_move(s![1.., ..2, ..]).into_dyn();
        let tail = counted().slice_move(s![1.., .., ..]).into_dyn();
        let none = counted().slice_move(s![.., 3.., ..]).into_dyn();
        for array in [plain, reversed, sliced, tail, none, counted().reversed_axes()] {
            let tensor = Tensor::from(array.clone());
            assert_eq!(tensor.dims(), array.shape());
            let expected: Vec<i64> = array.iter().map(|&x| x.into()).collect();
            assert_eq!(tensor.to_i64_vec().unwrap(), expected);
            assert_eq!(tensor.view::<i32>().unwrap(), array);
        }
    }

    #[test]
    fn tensors_of_any_layout_have_views() {
        let tensor = Tensor::from(counted());
        let views = [
            tensor.slice(2, 3, 2, -3).unwrap().slice(0, 1, 2, -1).unwrap(),
            tensor.transposed(),
            tensor.slice(1, 1, 1, 1).unwrap().broadcast_to(&[5, 2, 3, 4]).unwrap(),
            Tensor::scalar(7i32),
        ];
        for view in views {
            let array = view.view::<i32>().unwrap();
            assert_eq!(array.shape(), view.dims());
            let found: Vec<i64> = array.iter().map(|&x| x.into()).collect();
            assert_eq!(found, view.to_i64_vec().unwrap());
        }
    }

    #[test]
    fn boolean_arrays_are_boolean_tensors() {
        let array = ndarray::array![[true, false], [false, false]].into_dyn();
        let tensor = Tensor::from(array.clone());
        assert_eq!(tensor.element_type(), ElementType::Boolean);
        assert_eq!(tensor.view::<bool>().unwrap(), array);
        // Bytes after the elements do not matter.
        let file = Tensor::new(ElementType::Boolean, &[2], Storage::heap(vec![1, 0, 7])).unwrap();
        assert_eq!(file.view::<bool>().unwrap(), ndarray::array![true, false].into_dyn());
        let file = Tensor::new(ElementType::Boolean, &[2], Storage::heap(vec![1, 7])).unwrap();
        assert_eq!(file.view::<bool>(), Err(TensorError::NotBoolean));
    }

    #[test]
    fn other_types_and_unaligned_elements_are_refused() {
        let tensor = Tensor::from(counted());
        assert!(matches!(tensor.view::<f32>(), Err(TensorError::TypeMismatch { .. })));
        let words = Storage::from_vec(vec![0u32; 3]).window(1, 8).unwrap();
        let unaligned = Tensor::new(ElementType::I32, &[2], words).unwrap();
        assert!(matches!(unaligned.view::<i32>(), Err(TensorError::Argument(_))));
        let tail = Storage::from_vec(vec![1u16, 0, 2, 0, 3]).window(0, 10).unwrap();
        assert!(Tensor::new(ElementType::U16, &[5], tail).unwrap().view::<u16>().is_ok());
    }
}
