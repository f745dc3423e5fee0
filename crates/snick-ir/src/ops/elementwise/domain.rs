//! Which element types an element-wise op takes.

use snick_tensor::ElementType;

use crate::OpError;

/// A class of element types; an unknown type belongs to each.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Every type.
    Any,
    /// Integers and reals.
    Number,
    /// Reals.
    Real,
    /// `boolean` only.
    Boolean,
    /// `boolean`, integers, and `string`, which counts as one.
    Integral,
    /// Integers, and `string`, which counts as one.
    IntegralNumber,
}

impl Domain {
    /// Whether elements of this type are in the class.
    pub fn contains(self, et: ElementType) -> bool {
        let text = et == ElementType::String;
        match self {
            _ if et == ElementType::Dynamic => true,
            Self::Any => true,
            Self::Number => et.is_integer() || et.is_float(),
            Self::Real => et.is_float(),
            Self::Boolean => et == ElementType::Boolean,
            Self::Integral => et.is_integer() || et == ElementType::Boolean || text,
            Self::IntegralNumber => et.is_integer() || text,
        }
    }

    /// The type, if it is in the class.
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
