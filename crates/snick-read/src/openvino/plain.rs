//! A fast parser for plain markup.
//!
//! Nearly all markup of an IR has the form `<name attribute="value" ..>`, `</name>` or `<dim>7</dim>`.
//! Parsing it here takes half the time of the XML reader. All other markup, such as other quotes, entities,
//! comments and errors, is left to the XML reader.

use std::borrow::Cow;

use super::attributes::Attributes;

/// A start tag.
pub(super) struct StartTag<'x> {
    pub(super) name: &'x str,
    /// Whether the tag has the form `<name/>`.
    pub(super) empty: bool,
    /// The text after the tag.
    pub(super) behind: &'x str,
}

/// Parses the start tag at the beginning of `text` and fills `attributes`. If it returns `None`, the contents
/// of `attributes` are unspecified.
pub(super) fn start_tag<'x>(text: &'x str, attributes: &mut Attributes<'x>) -> Option<StartTag<'x>> {
    let (name, mut rest) = name(text.strip_prefix('<')?)?;
    attributes.clear();
    loop {
        // Usually, a single space precedes an attribute.
        let next = match rest.strip_prefix(' ') {
            Some(next) if next.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) => next,
            _ => rest.trim_ascii_start(),
        };
        if let Some(behind) = next.strip_prefix('>') {
            return Some(StartTag { name, empty: false, behind });
        }
        if let Some(behind) = next.strip_prefix("/>") {
            return Some(StartTag { name, empty: true, behind });
        }
        if next.len() == rest.len() {
            return None; // no space between attributes
        }
        let (name, value) = self::name(next)?;
        let value = value.strip_prefix("=\"")?;
        let end = value_end(value.as_bytes())?;
        let (value, behind) = value.split_at(end);
        rest = behind.strip_prefix('"')?;
        if !attributes.push(name, Cow::Borrowed(value)) {
            return None;
        }
    }
}

/// Marks the bytes that end an attribute value or need the XML reader. A look-up in this table is faster than
/// five comparisons.
const ENDS_VALUE: [bool; 256] = {
    let mut table = [false; 256];
    table[b'"' as usize] = true;
    table[b'&' as usize] = true;
    table[b'\n' as usize] = true;
    table[b'\r' as usize] = true;
    table[b'\t' as usize] = true;
    table
};

/// Finds the end of an attribute value, or the first byte that needs the XML reader. Most values are so short
/// that a loop is faster than starting a search.
fn value_end(value: &[u8]) -> Option<usize> {
    const SHORT: usize = 12;
    let (start, rest) = value.split_at_checked(SHORT).unwrap_or((value, &[]));
    let end = start.iter().position(|&b| ENDS_VALUE[usize::from(b)]);
    end.or_else(|| {
        let end = memchr::memchr3(b'"', b'&', b'\n', rest)?;
        Some(start.len() + memchr::memchr2(b'\r', b'\t', &rest[..end]).unwrap_or(end))
    })
}

/// The content of the `<dim>` element at the beginning of `text`, and the text after the element.
pub(super) fn dim(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix("<dim>")?;
    // For the few digits of a size, a loop is the fastest search.
    let end = inside.as_bytes().iter().position(|b| matches!(b, b'<' | b'&'))?;
    let (dim, behind) = inside.split_at(end);
    Some((dim, behind.strip_prefix("</dim>")?))
}

/// Whether a byte may occur in a name. A table is used for speed, because most bytes of an IR are checked.
const IN_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
        byte += 1;
    }
    table
};

/// The ASCII name at the beginning of `text`, and the text after it.
fn name(text: &str) -> Option<(&str, &str)> {
    let end = text.as_bytes().iter().position(|&b| !IN_NAME[usize::from(b)])?;
    let starts = text.as_bytes().first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    starts.then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tag's name, its attributes, whether it is `<name/>`, and the text after it.
    type Read<'x> = (&'x str, Vec<(&'x str, String)>, bool, &'x str);

    fn read(text: &str) -> Option<Read<'_>> {
        let mut attributes = Attributes::default();
        let tag = start_tag(text, &mut attributes)?;
        let attributes = attributes.drain().map(|(name, value)| (name, value.into_owned())).collect();
        Some((tag.name, attributes, tag.empty, tag.behind))
    }

    #[test]
    fn start_tags() {
        let attributes = vec![("id", "7".to_string()), ("type", "é <>".to_string())];
        assert_eq!(read("<port id=\"7\"\n type=\"é <>\" >\n"), Some(("port", attributes, false, "\n")));
        assert_eq!(read("<a/><b>"), Some(("a", vec![], true, "<b>")));
        assert_eq!(read("<a></a>"), Some(("a", vec![], false, "</a>")));
    }

    #[test]
    fn anything_else_is_left_to_the_reader() {
        for text in [
            "",
            "<",
            "<a",
            "< a>",
            "text<a>",
            "<!-- -->",
            "<?pi?>",
            "<a b>",
            "<a b=>",
            "<a b='1'>",
            "<a b=\"1>",
            "<a b=\"&lt;\">",
            "<a b=\"a\tb\">",
            "<a b=\"longer than a few bytes\n\">",
            "<a b=\"longer than a few bytes\r\">",
            "<a b=\"1\"c=\"2\">",
            "<a b=\"1\" b=\"2\">",
            "<a b = \"1\">",
            "<a /",
            "<a / >",
            "<é>",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn dims() {
        assert_eq!(dim("<dim>-1</dim>\n"), Some(("-1", "\n")));
        assert_eq!(dim("<dim>1<!-- --></dim>"), None);
        assert_eq!(dim("<dim>&#49;</dim>"), None);
    }
}
