//! JSON of structs that serialise.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// A value on one line, without a line break.
pub fn json(value: &impl Serialize) -> String {
    json_with(value, CompactFormatter)
}

/// A value as the formatter lays it out.
pub fn json_with(value: &impl Serialize, formatter: impl Formatter) -> String {
    let mut text = Vec::new();
    // Only maps whose keys are not texts have no JSON, and writing to memory cannot fail.
    let result = value.serialize(&mut Serializer::with_formatter(&mut text, formatter));
    debug_assert!(result.is_ok(), "{result:?}");
    String::from_utf8_lossy(&text).into_owned()
}
