//! Concrete data: element types, storage, strided tensors and the numeric kernels.
//!
//! A [`Tensor`] is dims and strides over a [`Storage`], which is shared bytes on the heap or in a
//! mapped file. Slices, transposes and broadcasts are views made in O(rank); a kernel that wants
//! packed elements asks for them with [`Tensor::contiguous`], [`Tensor::values`] or
//! [`Tensor::to_bytes`].

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
mod storage;
mod tensor;
mod text;
mod values;

pub use buffer::Pool;
pub use element::Element;
pub use element_type::{ElementType, UnknownElementType};
pub use error::{Listed, TensorError};
pub use storage::Storage;
pub use tensor::{MAX_BYTES, Tensor};

/// The size of each axis, or an ordering of axes. Ranks up to six take no heap.
pub type Dims = smallvec::SmallVec<[usize; 6]>;
