//! The operators of the domain com.microsoft, which occur in models that ONNX Runtime has optimised.

mod attention;
mod fused;
mod quantized;
mod quantized_lstm;

use super::ImportEntry;

/// The domain of these operators.
pub(super) const DOMAIN: &str = "com.microsoft";

pub(super) const FAMILIES: &[&[ImportEntry]] =
    &[attention::ENTRIES, fused::ENTRIES, quantized::ENTRIES, quantized_lstm::ENTRIES];
