//! The `reduction` attribute of the scattering ops.

use snick_tensor::kernels::scatter_reduce;

/// How updates are combined with what is at their place; `None` replaces it.
pub type Reduction = Option<scatter_reduce::Reduction>;

/// The name of a reduction in an op's table.
pub(crate) fn reduction_name(table: &[(&'static str, Reduction)], reduction: Reduction) -> &'static str {
    table.iter().find(|(_, entry)| *entry == reduction).map_or("none", |(name, _)| name)
}
