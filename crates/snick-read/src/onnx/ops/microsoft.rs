//! The operators of ONNX Runtime, domain com.microsoft, that optimised models are full of.

use super::Row;

/// Their domain.
pub(super) const DOMAIN: &str = "com.microsoft";

pub(super) const ROWS: &[Row] = &[];
