//! The element types that an element-wise op accepts.

use snick_tensor::ElementType;

use crate::OpError;

/// A class of element types; unknown types belong to every class.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Every type.
    Any,
    /// Integers and floats.
    Number,
    /// Floats except `nf4`, which counts as an integer.
    Real,
    /// `boolean` only.
    Boolean,
    /// `boolean` and integers; `string` and `nf4` count as integers.
    Integral,
    /// Integers; `string` and `nf4` count as integers.
    IntegralNumber,
}

impl Domain {
    /// Whether the type belongs to the class.
    pub fn contains(self, et: ElementType) -> bool {
        let index = matches!(et, ElementType::String | ElementType::NF4);
        match self {
            _ if et == ElementType::Dynamic => true,
            Self::Any => true,
            Self::Number => et.is_integer() || et.is_float(),
            Self::Real => et.is_float() && !index,
            Self::Boolean => et == ElementType::Boolean,
            Self::Integral => et.is_integer() || et == ElementType::Boolean || index,
            Self::IntegralNumber => et.is_integer() || index,
        }
    }

    /// Returns the type if it belongs to the class.
    pub fn check(self, what: &str, et: ElementType) -> Result<ElementType, OpError> {
        if self.contains(et) {
            return Ok(et);
        }
        let expected = match self {
            Self::Any => "any type",
            Self::Number => "a number",
            Self::Real => "a real number",
            Self::Boolean => "boolean",
            Self::Integral => "an integer or boolean",
            Self::IntegralNumber => "an integer",
        };
        Err(OpError::element_type(what, et, expected))
    }
}
