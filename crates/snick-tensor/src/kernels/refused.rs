//! Replacements for kernels without the feature `kernels`: each returns an error that names the feature.

use super::{EpsMode, Interpolate, Stage, Window};
use crate::{Tensor, TensorError};

macro_rules! refused {
    ($($what:literal: $($name:ident($($argument:ident: $type:ty),*) -> $output:ty),+;)*) => {$($(
        #[doc = concat!("Refuses ", $what, ".")]
        ///
        /// # Errors
        /// [`TensorError::FeatureOff`].
        pub fn $name($($argument: $type),*) -> Result<$output, TensorError> {
            let _ = ($($argument,)*);
            Err(TensorError::FeatureOff { what: $what, feature: "kernels" })
        }
    )+)*};
}

refused! {
    "a matrix product":
        matmul(a: &Tensor, b: &Tensor, transpose_a: bool, transpose_b: bool) -> Tensor,
        matmul_then(a: &Tensor, b: &Tensor, transpose_a: bool, transpose_b: bool, stages: &[Stage<&Tensor>])
            -> Option<Tensor>;
    "attention": attention(query: &Tensor, key: &Tensor, value: &Tensor) -> Tensor;
    "a convolution":
        convolution(input: &Tensor, filters: &Tensor, window: &Window) -> Tensor,
        group_convolution(input: &Tensor, filters: &Tensor, window: &Window) -> Tensor,
        group_convolution_then(input: &Tensor, filters: &Tensor, window: &Window, stages: &[Stage<&Tensor>])
            -> Option<Tensor>;
    "pooling":
        avg_pool(input: &Tensor, kernel: &[usize], window: &Window, outputs: &[usize], exclude_pad: bool) -> Tensor,
        max_pool(input: &Tensor, kernel: &[usize], window: &Window, outputs: &[usize]) -> Tensor,
        max_pool_indices(input: &Tensor, kernel: &[usize], window: &Window, outputs: &[usize], axis: usize)
            -> (Tensor, Tensor);
    "a sum of columns": col2im(columns: &Tensor, size: [usize; 2], kernel: [usize; 2], window: &Window) -> Tensor;
    "quantisation": fake_quantize(data: &Tensor, ranges: [&Tensor; 4], levels: usize) -> Tensor;
    "the discrete Fourier transform": fourier(data: &Tensor, axes: &[usize], inverse: bool) -> Tensor;
    "an interpolation":
        interpolate(input: &Tensor, axes: &[usize], sizes: &[usize], scales: &[f32], how: &Interpolate) -> Tensor;
    "a normalisation":
        mvn(input: &Tensor, axes: &[usize], normalize_variance: bool, eps: f64, mode: EpsMode) -> Tensor,
        normalize_l2(input: &Tensor, axes: &[usize], eps: f64, mode: EpsMode) -> Tensor;
    "a softmax":
        softmax(input: &Tensor, axis: usize) -> Tensor,
        log_softmax(input: &Tensor, axis: usize) -> Tensor;
}
