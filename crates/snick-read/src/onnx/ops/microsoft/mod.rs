//! The operators of ONNX Runtime, domain com.microsoft, that optimised models are full of.

mod attention;
mod fused;
mod quantized;
mod quantized_lstm;

use super::Row;

/// Their domain.
pub(super) const DOMAIN: &str = "com.microsoft";

pub(super) const FAMILIES: &[&[Row]] = &[attention::ROWS, fused::ROWS, quantized::ROWS, quantized_lstm::ROWS];
