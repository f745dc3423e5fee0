//! The rules, one per file. Rules that differ only in the op above which they move a slice share a file. The
//! tests in each file show where its rules apply and where they do not.

pub(crate) mod concat_of_slices;
pub(crate) mod drop_identities;
pub(crate) mod fold_constants;
pub(crate) mod fuse_attention;
pub(crate) mod fuse_group_normalization;
pub(crate) mod hoist_slice;
pub(crate) mod hoist_slice_reshape;
pub(crate) mod merge_duplicates;
pub(crate) mod merge_slices;
pub(crate) mod shape_of_source;
pub(crate) mod slice_of_concat;
