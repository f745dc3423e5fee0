//! Concrete data: element types, storage, strided tensors and numeric kernels.
//!
//! A [`Tensor`] consists of dimensions and strides over a [`Storage`]: shared bytes on the heap or in a
//! mapped file. Slices, transposes and broadcasts are views, created in O(rank). Kernels that need packed
//! elements use [`Tensor::contiguous`], [`Tensor::values`] or [`Tensor::to_bytes`].
//!
//! ```
//! use snick_tensor::Tensor;
//!
//! let matrix = Tensor::from_vec(&[2, 3], vec![1i64, 2, 3, 4, 5, 6])?;
//! let backward = matrix.slice(1, 2, 3, -1)?; // [:, ::-1], a view
//! assert_eq!(backward.dims(), [2, 3]);
//! assert_eq!(backward.to_i64_vec()?, [3, 2, 1, 6, 5, 4]);
//! assert_eq!(matrix.transposed().to_i64_vec()?, [1, 4, 2, 5, 3, 6]);
//! # Ok::<(), snick_tensor::TensorError>(())
//! ```
// Without the feature `kernels`, about 20 helpers of buffers, layouts and vectors are dead code. A single
// attribute is shorter than one for each of them.
#![cfg_attr(not(feature = "kernels"), allow(dead_code))]

#[cfg(target_endian = "big")]
compile_error!("tensors are little-endian bytes, and read as such without conversion");

mod buffer;
mod convert;
mod element;
mod element_type;
mod error;
pub mod kernels;
mod layout;
mod memo;
mod packing;
mod small_float;
mod small_vector;
mod split_mix;
mod statistics;
mod storage;
mod tensor;
mod text;
mod values;

/// Half-precision floats: `f16` and `bf16`.
pub use half;
#[cfg(feature = "ndarray")]
pub use ndarray;

pub use buffer::Pool;
pub use element::Element;
pub(crate) use element::PodElement;
pub use element_type::{ElementType, UnknownElementType};
pub use error::{Listed, TensorError};
pub use small_vector::{SmallVector, SmallVectorIntoIter};
pub use split_mix::SplitMix;
pub use statistics::{FiniteRange, Statistics};
pub use storage::Storage;
pub use tensor::{MAX_BYTES, Tensor};

/// The size of each axis, or a permutation of axes. Ranks up to six are stored inline.
pub type Dims = SmallVector<usize, 6>;
