//! Ragged tensors: rows of different lengths, stored as the start and end offsets of each row in one flat
//! array.

pub mod combine_segments;
pub mod fuze_ragged;
pub mod ragged_to_dense;
pub mod ragged_to_ragged;
pub mod ragged_to_sparse;
pub(super) mod rows;
pub mod truncate;
