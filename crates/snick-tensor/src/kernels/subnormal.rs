//! Subnormal numbers, which processors multiply a hundred times as slowly.

use crate::{ElementType, Tensor};

/// An `f32` tensor with its subnormal numbers replaced by zeros; `None` if there are none, or for another type.
///
/// Training pushes useless weights towards 0: in some models half of them are subnormal. Their contribution to a sum of
/// products is lost in rounding; OpenVINO flushes them, too.
pub fn without_subnormals(tensor: &Tensor) -> Option<Tensor> {
    if tensor.element_type() != ElementType::F32 {
        return None;
    }
    let values = tensor.units::<f32>();
    // Whole blocks at once, without a branch for each element.
    let is_found = |block: &[f32]| block.iter().fold(false, |found, x| found | x.is_subnormal());
    if !values.chunks(1024).any(is_found) {
        return None;
    }
    let flushed = values.iter().map(|&x| if x.is_subnormal() { 0.0 } else { x }).collect();
    Tensor::from_vec::<f32>(tensor.dims(), flushed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_subnormals_become_zeros() {
        let numbers = vec![1.0, f32::MIN_POSITIVE, 1e-40, -1e-45, 0.0, f32::NEG_INFINITY];
        let flushed = without_subnormals(&Tensor::from_vec(&[2, 3], numbers).unwrap()).unwrap();
        let expected = vec![1.0, f32::MIN_POSITIVE, 0.0, 0.0, 0.0, f32::NEG_INFINITY];
        assert_eq!(flushed, Tensor::from_vec(&[2, 3], expected).unwrap());
        assert_eq!(without_subnormals(&flushed), None);
    }
}
