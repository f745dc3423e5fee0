//! Characters that terminals and editors interpret instead of displaying.

use std::fmt;

/// Text from a model on one line, with line breaks, control characters and bidirectional marks as `\u{..}`.
///
/// ```
/// use snick::text::Escaped;
///
/// assert_eq!(Escaped("a\u{1b}[31m\nb").to_string(), r"a\u{1b}[31m\u{a}b");
/// assert_eq!(Escaped("größer").to_string(), "größer");
/// ```
#[derive(Copy, Clone, Debug)]
pub struct Escaped<'t>(pub &'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_invisible(c)) {
            f.write_str(&rest[..at])?;
            write_code(f, c)?;
            rest = &rest[at + c.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// Writes a character as `\u{..}`.
pub(super) fn write_code(out: &mut impl fmt::Write, c: char) -> fmt::Result {
    write!(out, "\\u{{{:x}}}", u32::from(c))
}

/// Whether a character is a control character, a line or paragraph separator, or a bidirectional mark.
pub fn is_invisible(c: char) -> bool {
    let is_mark =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_mark || matches!(c, '\u{2028}' | '\u{2029}')
}
