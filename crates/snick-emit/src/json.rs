//! JSON of structs that serialise.

use serde::Serialize;

/// A value on one line, without a line break.
pub(crate) fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value);
    // Maps with keys that are no texts are the only values without JSON.
    debug_assert!(text.is_ok(), "{text:?}");
    text.unwrap_or_default()
}
