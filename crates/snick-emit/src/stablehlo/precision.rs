//! The precision of a module.

use snick_tensor::ElementType;

/// How precisely StableHLO computes where the model leaves it open.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    /// As `snick run`: f16 and bf16 in f32, and products in the full precision of their type. For comparing
    /// results.
    #[default]
    Highest,
    /// In the types of the model, with the device's fastest products. For speed on accelerators.
    Native,
}

impl Precision {
    /// The type that elements of this type are computed in. With the highest precision, f16 and bf16 are
    /// computed in f32, as in runtimes, and rounded where values leave the model.
    pub(super) fn computed(self, element: ElementType) -> ElementType {
        if self == Self::Highest && element.is_half() { ElementType::F32 } else { element }
    }

    /// StableHLO's name for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Highest => "HIGHEST",
            Self::Native => "DEFAULT",
        }
    }
}
