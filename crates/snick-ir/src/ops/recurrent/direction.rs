//! The direction of a sequence.

/// The order in which steps are processed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the first step to the last.
    Forward,
    /// From the last step to the first.
    Reverse,
    /// In both directions, with separate weights.
    Bidirectional,
}

attr_words!(Direction { Forward = "forward", Reverse = "reverse", Bidirectional = "bidirectional" });

impl Direction {
    /// For each direction that is processed, whether it is reversed.
    pub fn reversed(self) -> &'static [bool] {
        match self {
            Self::Forward => &[false],
            Self::Reverse => &[true],
            Self::Bidirectional => &[false, true],
        }
    }
}
