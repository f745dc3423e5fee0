//! ONNX Runtime's operators, domain com.microsoft, which occur in optimised models.

mod attention;
mod fused;
mod quantized;
mod quantized_lstm;

use super::ImportEntry;

/// Their domain.
pub(super) const DOMAIN: &str = "com.microsoft";

pub(super) const FAMILIES: &[&[ImportEntry]] =
    &[attention::ENTRIES, fused::ENTRIES, quantized::ENTRIES, quantized_lstm::ENTRIES];
