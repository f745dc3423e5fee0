//! Detects the encoding of an `.xml` in the same way as the OpenVINO runtime (pugixml): by a byte order mark,
//! by the first characters, or by the XML declaration.

use std::borrow::Cow;

use crate::ReadError;

/// The text of an `.xml`.
pub(crate) struct Decoded<'b> {
    pub(crate) text: Cow<'b, str>,
    /// A note for the user if invalid bytes were replaced.
    pub(crate) note: Option<String>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Encoding {
    Utf8,
    Utf16(Endian),
    Utf32(Endian),
    Latin1,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Endian {
    Little,
    Big,
}

/// Decodes the bytes of an `.xml`. `source` is the name of the file in errors and notes.
///
/// # Errors
/// The bytes are not text and contain no markup.
pub(crate) fn decode<'b>(bytes: &'b [u8], source: &str) -> Result<Decoded<'b>, ReadError> {
    let text = match Encoding::of(bytes) {
        Encoding::Utf8 => return utf8(bytes, source),
        Encoding::Utf16(endian) => {
            let unit = |pair: [u8; 2]| match endian {
                Endian::Little => u16::from_le_bytes(pair),
                Endian::Big => u16::from_be_bytes(pair),
            };
            let units = bytes.as_chunks().0.iter().map(|&pair| unit(pair));
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        Encoding::Utf32(endian) => {
            let code = |quad: [u8; 4]| match endian {
                Endian::Little => u32::from_le_bytes(quad),
                Endian::Big => u32::from_be_bytes(quad),
            };
            let codes = bytes.as_chunks().0.iter().map(|&quad| code(quad));
            codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        Encoding::Latin1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
    };
    Ok(Decoded { text: Cow::Owned(text), note: None })
}

/// Decodes UTF-8. Invalid bytes are replaced, because the runtime does not validate UTF-8, and such bytes are
/// harmless in comments and `rt_info`.
fn utf8<'b>(bytes: &'b [u8], source: &str) -> Result<Decoded<'b>, ReadError> {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return Ok(Decoded { text: Cow::Borrowed(text), note: None });
    }
    let valid = simdutf8::compat::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let before = bytes.get(..valid).unwrap_or_default();
    if memchr::memchr(b'<', before).is_none() {
        return Err(ReadError::NotUtf8 { source_name: source.into() });
    }
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let column = valid - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1) + 1;
    let note = format!(
        "{source}:{line}:{column}: bytes that are not UTF-8 are read as U+FFFD; \
         declare their encoding, such as `<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>`"
    );
    Ok(Decoded { text: String::from_utf8_lossy(bytes), note: Some(note) })
}

impl Encoding {
    fn of(bytes: &[u8]) -> Self {
        use Endian::{Big, Little};
        match bytes {
            [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, b'<', ..] => Self::Utf32(Big),
            [0xff, 0xfe, 0, 0, ..] | [b'<', 0, 0, 0, ..] => Self::Utf32(Little),
            [0xfe, 0xff, _, _, ..] | [0, b'<', _, _, ..] => Self::Utf16(Big),
            [0xff, 0xfe, _, _, ..] | [b'<', 0, _, _, ..] => Self::Utf16(Little),
            _ if declared(bytes).is_some_and(is_latin1) => Self::Latin1,
            _ => Self::Utf8,
        }
    }
}

/// Whether the name is a name of Latin-1. The runtime reads files with any other declared encoding as UTF-8.
fn is_latin1(name: &[u8]) -> bool {
    [&b"iso-8859-1"[..], b"latin1"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The encoding that the XML declaration at the beginning of a file specifies.
fn declared(bytes: &[u8]) -> Option<&[u8]> {
    let inside =
        bytes.strip_prefix(b"<?xml").filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))?;
    let inside = &inside[..memchr::memchr(b'?', inside)?];
    let name = &inside[memchr::memmem::find(inside, b"encoding")?..];
    let value = name.strip_prefix(b"encoding")?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (&quote, value) = value.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
    value.get(..memchr::memchr(quote, value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<net name=\"é猫😀\"/>";

    fn decoded(bytes: &[u8]) -> String {
        let decoded = decode(bytes, "n.xml").unwrap();
        assert_eq!(decoded.note, None);
        decoded.text.trim_start_matches('\u{feff}').to_string()
    }

    #[test]
    fn utf16_and_utf32_are_read_with_and_without_a_mark() {
        for mark in ["", "\u{feff}"] {
            for declaration in ["", "<?xml version=\"1.0\"?>"] {
                let text = format!("{declaration}{TEXT}");
                let marked = format!("{mark}{text}");
                let halves: Vec<u16> = marked.encode_utf16().collect();
                let chars: Vec<u32> = marked.chars().map(u32::from).collect();
                for bytes in [
                    halves.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>(),
                    halves.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
                    chars.iter().flat_map(|code| code.to_le_bytes()).collect(),
                    chars.iter().flat_map(|code| code.to_be_bytes()).collect(),
                    marked.clone().into_bytes(),
                ] {
                    assert_eq!(decoded(&bytes), text);
                }
            }
        }
    }

    #[test]
    fn latin1_is_read_where_it_is_declared() {
        for (name, quote) in [("ISO-8859-1", '"'), ("latin1", '\''), ("Latin1", '"')] {
            let head = format!("<?xml version='1.0' encoding = {quote}{name}{quote} ?>");
            assert_eq!(decoded(&[head.as_bytes(), b"<a b='\xe9'/>"].concat()), format!("{head}<a b='é'/>"));
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced_and_noted() {
        let read = decode(b"<a>\n <b c=\"\xe9\"/></a>", "n.xml").unwrap();
        assert_eq!(read.text, "<a>\n <b c=\"\u{fffd}\"/></a>");
        assert!(read.note.unwrap().starts_with("n.xml:2:8: "));
        let declared = b"<?xml version='1.0' encoding='windows-1252'?><a b='\xe9'/>";
        assert!(decode(declared, "n.xml").unwrap().note.is_some());
        assert!(matches!(decode(b"\x89PNG\r\n", "n.xml"), Err(ReadError::NotUtf8 { .. })));
    }

    #[test]
    fn broken_units_are_replaced() {
        assert_eq!(decoded(b"<\0a\0\0\xd8>\0\xff"), "<a\u{fffd}>");
        assert_eq!(decoded(b"<\0\0\0\0\0\x11\0>\0\0\0"), "<\u{fffd}>");
    }
}
