//! Numeric kernels, one family per file.
//!
//! A kernel maps [`crate::Tensor`]s to tensors, checks its inputs before it allocates, and gives
//! bit-identical results on every run. Types narrower than a kernel's compute type are widened first (f16,
//! bf16 and smaller floats to `f32`, sub-byte integers to `i32`) and rounded once at the end. Integers wrap.
//!
//! Shape arithmetic needs few kernels. The others take a long time to compile and belong to the feature
//! `kernels`. Without it they return [`TensorError::FeatureOff`](crate::TensorError::FeatureOff), and the
//! remaining kernels use only the processor's baseline instructions.

#[cfg(feature = "kernels")]
mod attention;
pub(crate) mod broadcast;
#[cfg(feature = "kernels")]
mod col2im;
mod concat;
#[cfg(feature = "kernels")]
mod conv;
mod dispatch;
pub mod elementwise;
mod eps_mode;
mod extremum;
#[cfg(feature = "kernels")]
mod fake_quantize;
#[cfg(feature = "kernels")]
mod fourier;
mod gather;
#[cfg(feature = "kernels")]
mod gemm;
#[cfg(feature = "kernels")]
mod interpolate;
mod interpolation;
mod math;
#[cfg(feature = "kernels")]
mod matmul;
#[cfg(feature = "kernels")]
mod normalize;
pub mod overlap;
#[cfg(feature = "kernels")]
mod packed_weights;
mod pad;
#[cfg(feature = "kernels")]
mod pool;
#[cfg(feature = "kernels")]
mod quantizer;
mod random;
mod range;
mod reduce;
#[cfg(not(feature = "kernels"))]
mod refused;
mod roll;
mod row_reader;
mod rows;
mod running_sum;
pub mod runs;
pub mod scatter_reduce;
pub mod sharing;
#[cfg(feature = "kernels")]
mod softmax;
mod streaming;
pub mod strided_copy;
#[cfg(feature = "kernels")]
mod subnormal;
mod tile;
pub mod top_k;
pub(crate) mod vectors;
mod window;

#[cfg(feature = "kernels")]
pub use attention::attention;
pub use broadcast::broadcast_dims;
#[cfg(feature = "kernels")]
pub use col2im::col2im;
pub use concat::concat;
#[cfg(feature = "kernels")]
pub use conv::{
    QuantizedConvolution, QuantizedEpilogue, QuantizedFilters, Unpacking, convolution, group_convolution,
    group_convolution_then,
};
pub use elementwise::{
    BinaryOp, BitwiseOp, CompareOp, ElementFunction, FusedElementwise, LogicalOp, Stage, TestOp, UnaryOp,
    bitwise_not, logical_not, select,
};
pub use eps_mode::EpsMode;
pub use extremum::{exceeds, greatest, least};
#[cfg(feature = "kernels")]
pub use fake_quantize::fake_quantize;
#[cfg(feature = "kernels")]
pub use fourier::fourier;
pub use gather::{gather, gather_or_zeros};
#[cfg(feature = "kernels")]
pub use interpolate::interpolate;
pub use interpolation::{Coordinates, Interpolate, InterpolateMode, Nearest};
#[cfg(feature = "kernels")]
pub use matmul::{QuantizedMatMul, matmul, matmul_then};
#[cfg(feature = "kernels")]
pub use normalize::{mvn, normalize_l2};
#[cfg(feature = "kernels")]
pub use packed_weights::PackedWeights;
pub use pad::{PadMode, pad};
#[cfg(feature = "kernels")]
pub use pool::{QuantizedMaxPool, avg_pool, max_pool, max_pool_indices};
#[cfg(feature = "kernels")]
pub use quantizer::Quantizer;
pub use random::random_uniform;
pub use range::range;
pub use reduce::ReduceOp;
#[cfg(not(feature = "kernels"))]
pub use refused::{
    attention, avg_pool, col2im, convolution, fake_quantize, fourier, group_convolution,
    group_convolution_then, interpolate, log_softmax, matmul, matmul_then, max_pool, max_pool_indices, mvn,
    normalize_l2, softmax,
};
pub use roll::roll;
pub use running_sum::running_sum;
#[cfg(feature = "kernels")]
pub use softmax::{log_softmax, softmax};
#[cfg(feature = "kernels")]
pub use subnormal::without_subnormals;
pub use tile::tile;
pub use window::Window;

#[cfg(feature = "kernels")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Tensor};

    /// Empty tensors may have dims whose product overflows.
    #[test]
    fn huge_dims_of_empty_tensors_are_harmless() {
        let big = 1usize << (usize::BITS / 2 + 7);
        let none = Tensor::zeros(ElementType::F32, &[big, big, big, 0]).unwrap();
        let swapped = none.permute(&[3, 0, 1, 2]).unwrap();
        for t in [&none, &swapped] {
            assert!(BinaryOp::Add.apply(t, t).unwrap().is_empty());
            assert!(UnaryOp::Abs.apply(t).unwrap().is_empty());
            assert!(matmul(t, t, false, true).map_or(true, |p| p.is_empty()));
            assert!(concat(&[t, t], 1).unwrap().is_empty());
            assert!(tile(t, &[big; 4]).map_or(true, |p| p.is_empty()));
            assert!(roll(t, &[i64::MIN], &[1]).unwrap().is_empty());
            assert!(softmax(t, 1).unwrap().is_empty());
            assert!(mvn(t, &[1, 2], true, 1e-5, EpsMode::InsideSqrt).unwrap().is_empty());
            assert!(gather(t, &Tensor::scalar(0i64), 1, 0).unwrap_or(none.clone()).is_empty());
            assert!(pad(t, &[isize::MIN; 4], &[isize::MIN; 4], PadMode::Edge, None).is_err());
            for axis in 0..4 {
                assert!(ReduceOp::Sum.apply(t, &[axis], true).map_or(true, |r| r.len() < 2));
            }
            assert!(t.cast(ElementType::U4).unwrap().contiguous().is_empty());
            let window = Window::dense(2);
            assert!(avg_pool(t, &[1, 1], &window, &[1, 1], true).is_err() || t.dims()[0] == 0);
            assert!(convolution(t, t, &window).map_or(true, |c| c.is_empty()));
        }
        let deep = Tensor::full(&[1, 1, 4, 4], 1.0f32).unwrap();
        assert!(max_pool(&deep, &[big, big], &Window::dense(2), &[1, big]).is_err());
        assert_eq!(avg_pool(&deep, &[big, big], &Window::dense(2), &[1, 1], false).unwrap().len(), 1);
    }
}
