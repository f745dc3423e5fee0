//! Capabilities of DirectML's slice operators at each feature level, for the reader and the writer.
//!
//! ```
//! use snick_directml::{FeatureLevel, data_type};
//! use snick_tensor::ElementType;
//!
//! let level: FeatureLevel = "2.1".parse()?;
//! assert!(level.has_slice1() && level.slices(ElementType::U8));
//! assert_eq!(data_type(ElementType::U8), Some("UINT8"));
//! # Ok::<(), snick_directml::UnknownLevel>(())
//! ```

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use snick_tensor::ElementType;

/// A DirectML feature level, which describes what a device supports.
///
/// ```
/// use snick::{FeatureLevel, UnknownLevel};
///
/// let level: FeatureLevel = "3.0".parse()?;
/// assert!(level.has_slice1() && level < FeatureLevel::V4_1);
/// # Ok::<(), UnknownLevel>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FeatureLevel {
    major: u8,
    minor: u8,
}

/// Text that is not a [`FeatureLevel`].
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("unknown feature level `{0}`; known: {levels}", levels = levels())]
pub struct UnknownLevel(pub String);

/// All feature levels, ascending.
const LEVELS: &[(u8, u8)] = &[
    (1, 0),
    (2, 0),
    (2, 1),
    (3, 0),
    (3, 1),
    (4, 0),
    (4, 1),
    (5, 0),
    (5, 1),
    (5, 2),
    (6, 0),
    (6, 1),
    (6, 2),
    (6, 3),
    (6, 4),
];

fn levels() -> String {
    let levels = LEVELS.iter().map(|&(major, minor)| FeatureLevel { major, minor }.to_string());
    levels.collect::<Vec<_>>().join(", ")
}

impl FeatureLevel {
    /// The first level with `DML_OPERATOR_SLICE1` and slices of 8-bit integers.
    pub const V2_1: Self = Self { major: 2, minor: 1 };
    /// The first level that allows 1 to 8 dimensions.
    pub const V3_0: Self = Self { major: 3, minor: 0 };
    /// The first level that slices 64-bit types.
    pub const V4_1: Self = Self { major: 4, minor: 1 };

    /// The ranks that tensors of a slice may have.
    pub fn dimension_counts(self) -> RangeInclusive<usize> {
        if self < Self::V3_0 { 4..=5 } else { 1..=8 }
    }

    /// Whether `DML_OPERATOR_SLICE1` exists.
    pub fn has_slice1(self) -> bool {
        self >= Self::V2_1
    }

    /// Whether tensors of this type can be sliced.
    pub fn slices(self, element_type: ElementType) -> bool {
        use ElementType::*;
        match element_type {
            F32 | F16 | I32 | I16 | U32 | U16 => true,
            I8 | U8 => self >= Self::V2_1,
            F64 | I64 | U64 => self >= Self::V4_1,
            _ => false,
        }
    }
}

impl FromStr for FeatureLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        let level = LEVELS.iter().map(|&(major, minor)| Self { major, minor });
        level.into_iter().find(|level| level.to_string() == text).ok_or_else(|| UnknownLevel(text.into()))
    }
}

impl fmt::Display for FeatureLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Element types that can be sliced, with their names in DirectML without the prefix `DML_TENSOR_DATA_TYPE_`.
const DATA_TYPES: &[(ElementType, &str)] = &[
    (ElementType::F32, "FLOAT32"),
    (ElementType::F16, "FLOAT16"),
    (ElementType::F64, "FLOAT64"),
    (ElementType::I8, "INT8"),
    (ElementType::I16, "INT16"),
    (ElementType::I32, "INT32"),
    (ElementType::I64, "INT64"),
    (ElementType::U8, "UINT8"),
    (ElementType::U16, "UINT16"),
    (ElementType::U32, "UINT32"),
    (ElementType::U64, "UINT64"),
];

/// The name of an element type in DirectML, if the type can be sliced.
pub fn data_type(element_type: ElementType) -> Option<&'static str> {
    DATA_TYPES.iter().find(|(et, _)| *et == element_type).map(|(_, name)| *name)
}

/// The element type with this name, with or without `DML_TENSOR_DATA_TYPE_`.
pub fn element_type(data_type: &str) -> Option<ElementType> {
    let name = data_type.strip_prefix("DML_TENSOR_DATA_TYPE_").unwrap_or(data_type);
    DATA_TYPES.iter().find(|(_, known)| *known == name).map(|(et, _)| *et)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_named() {
        let level = |text: &str| text.parse::<FeatureLevel>();
        assert!(level("2.0").unwrap() < FeatureLevel::V2_1);
        assert!(level("5.2").unwrap() > FeatureLevel::V4_1);
        assert_eq!(level("4.1").unwrap().to_string(), "4.1");
        assert!(level("2.7").is_err() && level("2").is_err() && level("").is_err());
        assert!(!level("2.0").unwrap().slices(ElementType::U8));
        assert!(!FeatureLevel::V3_0.slices(ElementType::I64));
        assert_eq!(element_type("DML_TENSOR_DATA_TYPE_INT8"), Some(ElementType::I8));
        assert_eq!(element_type("UINT4"), None);
    }
}
