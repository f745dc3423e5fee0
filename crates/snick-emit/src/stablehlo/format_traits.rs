//! Differences between the formats that are written as a typed module.

/// How a format differs from others.
pub(crate) struct FormatTraits {
    /// The name in error messages.
    pub(crate) name: &'static str,
    /// The schema of its manifest.
    pub(crate) schema: &'static str,
    /// Whether sizes may depend on data. XLA needs sizes that follow from those of the inputs.
    pub(crate) sizes_from_data: bool,
    /// Whether programs check the sizes of their inputs.
    pub(crate) assertions: bool,
}
