//! The direction of a sequence.

/// Where a sequence is read from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Direction {
    /// First step first.
    Forward,
    /// Last step first.
    Reverse,
    /// Both, each with its own weights.
    Bidirectional,
}

attr_words!(Direction { Forward = "forward", Reverse = "reverse", Bidirectional = "bidirectional" });

impl Direction {
    /// Whether each direction is reversed.
    pub fn reversed(self) -> &'static [bool] {
        match self {
            Self::Forward => &[false],
            Self::Reverse => &[true],
            Self::Bidirectional => &[false, true],
        }
    }
}
