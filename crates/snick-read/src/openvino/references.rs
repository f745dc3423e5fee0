//! Resolves XML references in the same way as the OpenVINO runtime (pugixml): five named references, and
//! numeric ones. Any other `&` is an ordinary character.

use std::borrow::Cow;

const NAMED: [(&str, char); 5] =
    [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\'')];

/// The value of an attribute. Line breaks and tabs become spaces, unless they are written as references.
pub(super) fn attribute(raw: &str) -> Cow<'_, str> {
    if memchr::memchr3(b'\n', b'\r', b'\t', raw.as_bytes()).is_none() {
        return resolve(raw);
    }
    let spaced = raw.replace("\r\n", " ").replace(['\n', '\r', '\t'], " ");
    Cow::Owned(resolve(&spaced).into_owned())
}

/// The text with its references resolved.
pub(super) fn resolve(raw: &str) -> Cow<'_, str> {
    let mut rest = raw;
    let mut text = String::new();
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        let (before, from) = rest.split_at(at);
        let (character, behind) = reference(from).unwrap_or(('&', from.get(1..).unwrap_or_default()));
        text.push_str(before);
        text.push(character);
        rest = behind;
    }
    if text.is_empty() {
        return Cow::Borrowed(raw);
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The character of the reference at the beginning of `text`, and the text after the reference. A number that
/// is not a character becomes U+FFFD. NUL also becomes U+FFFD, because it would end the string in the
/// runtime.
fn reference(text: &str) -> Option<(char, &str)> {
    if let Some(found) = NAMED.iter().find_map(|&(name, c)| Some((c, text.strip_prefix(name)?))) {
        return Some(found);
    }
    let digits = text.strip_prefix("&#")?;
    let (digits, radix) = match digits.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let (number, behind) = digits.split_at(digits.find(|c: char| !c.is_digit(radix))?);
    let behind = behind.strip_prefix(';').filter(|_| !number.is_empty())?;
    let code = u32::from_str_radix(number, radix).ok().filter(|&code| code != 0);
    Some((code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_resolved() {
        assert_eq!(resolve("&lt;a&gt; &amp; &quot;&apos;"), "<a> & \"'");
        assert_eq!(resolve("&#65;&#x1F600;&#x4a;&#9;"), "A😀J\t");
        assert!(matches!(resolve("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn any_other_ampersand_is_itself() {
        for text in [
            "cat & dog",
            "&&",
            "x&",
            "&;",
            "&foo;",
            "&amp",
            "&AMP;",
            "&#;",
            "&#x;",
            "&#X41;",
            "&#65 ",
            "&#6z;",
        ] {
            assert_eq!(resolve(text), text);
        }
        assert_eq!(resolve("&&lt;&"), "&<&");
    }

    #[test]
    fn numbers_that_are_no_character_are_replaced() {
        for text in ["&#0;", "&#xD800;", "&#x110000;", "&#99999999999;"] {
            assert_eq!(resolve(text), "\u{fffd}");
        }
    }

    #[test]
    fn line_ends_in_attributes_are_spaces() {
        assert_eq!(attribute("a\r\nb\nc\td\re&#10;f"), "a b c d e\nf");
    }
}
