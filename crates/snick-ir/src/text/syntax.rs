//! Spelling of names and quoted text, shared by printer and lexer.

use super::escape::{is_invisible, write_code};

/// Whether a graph in the text form refers to a weights file. Searches for offsets without parsing the text.
///
/// ```
/// use snick::text::has_packed_weights;
///
/// assert!(has_packed_weights("%c = Const-1 f32[64] #0123456789abcdef@128"));
/// assert!(!has_packed_weights("%c = Const-1 f32[64] #0123456789abcdef"));
/// ```
pub fn has_packed_weights(text: &str) -> bool {
    text.match_indices('@').any(|(at, _)| {
        let (_, digits) = text[..at].rsplit_once('#').unwrap_or_default();
        digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether this byte can be part of an unquoted name.
pub(super) fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'-')
}

/// Quotes the text unless it is a plain word.
pub(super) fn word(text: &str) -> String {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let plain = starts && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain && !matches!(text, "true" | "false" | "inf" | "NaN" | "_") {
        text.to_string()
    } else {
        quoted(text)
    }
}

/// The text in double quotes. Escapes are `\"`, `\\`, `\n`, `\t`, `\r`, and `\u{..}` for other characters
/// that would be invisible.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_invisible(c) => drop(write_code(&mut out, c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
