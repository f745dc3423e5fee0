//! The rules, one a file. Each file tests where its rule fires and where it stays silent.

pub(crate) mod concat_of_slices;
pub(crate) mod drop_identities;
pub(crate) mod fold_constants;
pub(crate) mod lower_slices;
pub(crate) mod merge_duplicates;
pub(crate) mod merge_slices;
pub(crate) mod shape_of_source;
pub(crate) mod slice_above_broadcast;
pub(crate) mod slice_above_elementwise;
pub(crate) mod slice_above_gather;
pub(crate) mod slice_above_matmul;
pub(crate) mod slice_above_reshape;
pub(crate) mod slice_above_rows;
pub(crate) mod slice_above_transpose;
pub(crate) mod slice_of_concat;
