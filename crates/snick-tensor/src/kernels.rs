//! The numeric kernels, one family a file. Each takes and gives whole [`crate::Tensor`]s, checks
//! what it is given, and answers the same bits every time.

pub mod runs;
pub mod scatter_reduce;
pub mod strided_copy;
pub mod top_k;
