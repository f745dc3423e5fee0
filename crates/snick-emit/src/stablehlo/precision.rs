//! The precision of a module.

use snick_tensor::ElementType;

/// The precision of computations that the model leaves open.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    /// Like `snick run`: f16 and bf16 are computed in f32, and contractions use the full precision of their
    /// type. Use this to compare results.
    #[default]
    Highest,
    /// The types of the model, with the fastest contractions of the device. Use this for speed on
    /// accelerators.
    Native,
}

impl Precision {
    /// The type in which elements of this type are computed. With the highest precision, f16 and bf16 are
    /// computed in f32, as in runtimes, and rounded when a value leaves the model.
    pub(super) fn computed(self, element: ElementType) -> ElementType {
        if self == Self::Highest && element.is_half() { ElementType::F32 } else { element }
    }

    /// The name of this precision in StableHLO.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Highest => "HIGHEST",
            Self::Native => "DEFAULT",
        }
    }
}
