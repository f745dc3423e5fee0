//! Summarises a tensor on one line.

use std::fmt;

use serde::{Serialize, Serializer};
use snick_tensor::{FiniteRange, Statistics, Tensor};

/// A summary of a tensor: its type and dims, and its elements or their range.
pub struct Summary<'t> {
    tensor: &'t Tensor,
    found: Statistics,
    /// Whether to list integers and booleans; strings are always listed.
    lists_elements: bool,
}

/// The elements, if they are listed.
#[derive(Serialize)]
#[serde(untagged)]
enum Elements<'t> {
    Texts(Vec<&'t str>),
    Integers(Vec<i64>),
}

/// Maximum number of elements to list.
const MAX_LISTED: usize = 1 << 14;

impl<'t> Summary<'t> {
    /// Summarises a tensor.
    pub fn of(tensor: &'t Tensor) -> Self {
        Self { tensor, found: Statistics::of(tensor), lists_elements: false }
    }

    /// Lists the elements if they are integers, booleans or strings. In text, the list replaces the range.
    pub fn with_elements(self) -> Self {
        Self { lists_elements: true, ..self }
    }

    /// The elements, if they are listed.
    fn listed(&self) -> Option<Elements<'t>> {
        if self.tensor.len() > MAX_LISTED {
            return None;
        }
        if let Ok(texts) = self.tensor.as_strings() {
            return Some(Elements::Texts(texts));
        }
        let integers = self.tensor.to_i64_vec().ok().filter(|_| !self.tensor.element_type().is_float());
        integers.filter(|_| self.lists_elements).map(Elements::Integers)
    }
}

/// Serialises the range and the elements, excluding type and dims.
impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'t> {
            /// Omitted if no element is finite.
            #[serde(flatten)]
            range: Option<NumberRange>,
            /// The number of NaNs.
            nan: usize,
            /// The number of infinite elements.
            inf: usize,
            /// The elements, if they are listed.
            #[serde(skip_serializing_if = "Option::is_none")]
            values: Option<Elements<'t>>,
        }
        #[derive(Serialize)]
        struct NumberRange {
            min: f64,
            max: f64,
            mean: f64,
        }
        let Statistics { range, nan, infinite: inf, .. } = self.found;
        let range = range.map(|FiniteRange { min, max, mean, .. }| NumberRange { min, max, mean });
        Answer { range, nan, inf, values: self.listed() }.serialize(serializer)
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(listed) = self.listed() {
            let (element_type, dims) = (self.tensor.element_type(), self.tensor.dims());
            write!(f, "{element_type}{dims:?} ")?;
            return match listed {
                Elements::Texts(texts) => f.debug_set().entries(texts).finish(),
                Elements::Integers(integers) => f.debug_set().entries(integers).finish(),
            };
        }
        write!(f, "{:?}", self.tensor)?;
        if let Some(FiniteRange { min, max, mean, .. }) = self.found.range {
            write!(f, " min {min} max {max} mean {mean}")?;
        }
        if self.tensor.element_type().is_float() {
            write!(f, " NaN {} inf {}", self.found.nan, self.found.infinite)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::json::line;

    #[test]
    fn texts_are_listed_and_integers_on_request() {
        let texts = Tensor::strings(&[2], ["a\n", "é"].map(String::from).into()).unwrap();
        assert_eq!(Summary::of(&texts).to_string(), r#"string[2] {"a\n", "é"}"#);
        let integers = Tensor::from_vec(&[3, 3], (0..9i64).collect()).unwrap();
        assert_eq!(Summary::of(&integers).to_string(), "i64[3, 3] min 0 max 8 mean 4");
        let listed = Summary::of(&integers).with_elements();
        assert_eq!(listed.to_string(), "i64[3, 3] {0, 1, 2, 3, 4, 5, 6, 7, 8}");
        let range = r#"{"min":0.0,"max":8.0,"mean":4.0,"nan":0,"inf":0"#;
        assert_eq!(line(&Summary::of(&integers)), format!("{range}}}\n"));
        assert_eq!(line(&listed), format!("{range},\"values\":[0,1,2,3,4,5,6,7,8]}}\n"));
        let texts = line(&Summary::of(&texts));
        assert_eq!(texts, "{\"nan\":0,\"inf\":0,\"values\":[\"a\\n\",\"é\"]}\n");
    }

    #[test]
    fn what_is_not_finite_is_counted() {
        let tensor = Tensor::from_slice(&[f32::NAN, f32::INFINITY, 2.0, 4.0], &[4]).unwrap();
        assert_eq!(
            Summary::of(&tensor).to_string(),
            "f32[4] {NaN, inf, 2, 4} min 2 max 4 mean 3 NaN 1 inf 1"
        );
        // The text of a tensor with this many elements does not show the elements.
        let many = |i: usize| if i % 5 == 4 { f32::INFINITY } else { i as f32 };
        let tensor = Tensor::from_vec(&[21], (0..21).map(many).collect()).unwrap();
        assert!(
            Summary::of(&tensor).to_string().ends_with(" min 0 max 20 mean 9.647058823529411 NaN 0 inf 4")
        );
        let empty = Tensor::from_slice(&[0i64; 0], &[0]).unwrap();
        assert_eq!(Summary::of(&empty).to_string(), "i64[0] {}");
    }
}
