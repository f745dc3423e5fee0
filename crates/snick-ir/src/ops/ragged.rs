//! Rows of different lengths, each given by where it begins and ends in the data of all.

pub mod combine_segments;
pub mod fuze_ragged;
pub mod ragged_to_dense;
pub mod ragged_to_ragged;
pub mod ragged_to_sparse;
pub(super) mod rows;
pub mod truncate;
