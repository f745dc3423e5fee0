//! Allocation of outputs whose sizes come from a model, which may be wrong or huge.

use snick_tensor::{Element, Tensor, TensorError};

use crate::OpError;

/// Returns an empty vector with capacity for a tensor of these dims, or an error if the tensor is too large.
pub fn reserved<T: Element>(dims: &[usize]) -> Result<Vec<T>, OpError> {
    let len = Tensor::full(dims, T::default())?.len();
    let mut values = Vec::new();
    let refused = |_| TensorError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) };
    values.try_reserve_exact(len).map_err(refused)?;
    Ok(values)
}
