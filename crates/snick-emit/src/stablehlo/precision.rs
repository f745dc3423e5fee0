//! How exactly a module computes.

use snick_tensor::ElementType;

/// How exactly StableHLO computes what the model leaves open.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    /// As `snick run` does: f16 and bf16 in f32, and products in all bits of their type. For comparing results.
    #[default]
    Highest,
    /// In the types of the model, products as the device computes them fastest. For speed on accelerators.
    Native,
}

impl Precision {
    /// The type that elements of this one are computed in. At the highest precision f16 and bf16 are computed in f32, as
    /// runtimes do, and rounded where values leave the model.
    pub(super) fn computed(self, element: ElementType) -> ElementType {
        if self == Self::Highest && element.is_half() { ElementType::F32 } else { element }
    }

    /// StableHLO's word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Highest => "HIGHEST",
            Self::Native => "DEFAULT",
        }
    }
}
