//! What kind of work an op does.

/// What kind of work an op does. Reports colour layers by category.
///
/// ```
/// use snick::{ops, Category, Op};
///
/// assert_eq!(Op::from(ops::Softmax::default()).category(), Category::Activation);
/// assert_eq!(Category::Activation.name(), "activation");
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Category {
    /// Inputs, outputs and constants.
    Source,
    /// Convolutions.
    Convolution,
    /// Matrix products and layers that consist of them, such as attention and recurrent cells.
    Product,
    /// Normalisations.
    Normalisation,
    /// Activation functions, including softmax.
    Activation,
    /// Other functions of the elements at the same position.
    Elementwise,
    /// Reductions and pooling.
    Reduction,
    /// Moves, copies or resamples elements, changes their shape, or reads shapes.
    Movement,
    /// Slices and the ops that become slices.
    Slice,
    /// Quantisation to a few levels, and the inverse.
    Quantisation,
    /// Strings, ragged tensors and tokens.
    Text,
    /// Runs bodies.
    Control,
    /// Reads or writes variables.
    State,
    /// Detection, signals, colours, random numbers, and unknown operations.
    Other,
}

impl Category {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Convolution => "convolution",
            Self::Product => "product",
            Self::Normalisation => "normalisation",
            Self::Activation => "activation",
            Self::Elementwise => "elementwise",
            Self::Reduction => "reduction",
            Self::Movement => "movement",
            Self::Slice => "slice",
            Self::Quantisation => "quantisation",
            Self::Text => "text",
            Self::Control => "control",
            Self::State => "state",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpTraits, ops};

    #[test]
    fn ops_that_become_slices_are_slices_and_bodies_are_control_flow() {
        for entry in ops::reference() {
            let category = entry.name.category;
            let is = |property| entry.traits.contains(property);
            assert!(!is(OpTraits::SLICE_LIKE) || category == Category::Slice, "{}", entry.name.name);
            assert_eq!(is(OpTraits::HAS_BODIES), category == Category::Control, "{}", entry.name.name);
            assert_eq!(is(OpTraits::STATEFUL), category == Category::State, "{}", entry.name.name);
        }
    }
}
