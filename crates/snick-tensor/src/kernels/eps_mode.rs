//! How a normalisation applies its epsilon.

/// How `eps` keeps a divisor from being zero.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum EpsMode {
    /// `sqrt(x + eps)`.
    InsideSqrt,
    /// `sqrt(x) + eps`.
    OutsideSqrt,
    /// `sqrt(max(x, eps))`: NormalizeL2 only.
    Max,
}

impl EpsMode {
    /// The divisor for a sum of squares, or a variance.
    #[cfg(feature = "kernels")]
    pub(crate) fn root(self, x: f64, eps: f64) -> f64 {
        match self {
            EpsMode::InsideSqrt => (x + eps).sqrt(),
            EpsMode::OutsideSqrt => x.sqrt() + eps,
            EpsMode::Max => x.max(eps).sqrt(),
        }
    }
}
