//! Removes subnormal numbers, which slow down multiplication a hundredfold on some processors.

use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::{ElementType, Tensor};

/// Replaces the subnormal numbers of an `f32` tensor with zeros. `None` if there are none or the type
/// differs.
///
/// Training pushes unused weights towards 0, and in some models half of them are subnormal. Rounding a sum of
/// products loses their contribution. OpenVINO flushes them, too.
pub fn without_subnormals(tensor: &Tensor) -> Option<Tensor> {
    if tensor.element_type() != ElementType::F32 {
        return None;
    }
    let values = tensor.units::<f32>();
    if !dispatch_best(AnySubnormal(&values)) {
        return None;
    }
    let flushed = values.iter().map(|&x| if x.is_subnormal() { 0.0 } else { x }).collect();
    Tensor::from_vec::<f32>(tensor.dims(), flushed).ok()
}

/// Whether any element is subnormal.
struct AnySubnormal<'a>(&'a [f32]);

impl Vectorised for AnySubnormal<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Instructions>(self) -> bool {
        // The magnitude as an integer, minus 1, wraps 0 to the largest value. So the minimum of a block shows
        // whether it contains a subnormal number.
        const LEAST_NORMAL: u32 = f32::MIN_POSITIVE.to_bits() - 1;
        let place = |x: &f32| x.abs().to_bits().wrapping_sub(1);
        self.0.chunks(1024).any(|block| block.iter().map(place).fold(u32::MAX, u32::min) < LEAST_NORMAL)
    }
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
