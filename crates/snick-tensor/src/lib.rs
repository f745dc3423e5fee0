//! Concrete data: element types, storage, strided tensors and the numeric kernels.
