//! JSON of serializable values.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// A value on one line.
pub fn json(value: &impl Serialize) -> String {
    json_with(value, CompactFormatter)
}

/// A value in the layout of `formatter`.
pub fn json_with(value: &impl Serialize, formatter: impl Formatter) -> String {
    let mut text = Vec::new();
    // Only maps with keys that are not strings fail to serialize, and writing to memory cannot fail.
    let result = value.serialize(&mut Serializer::with_formatter(&mut text, formatter));
    debug_assert!(result.is_ok(), "{result:?}");
    String::from_utf8_lossy(&text).into_owned()
}
