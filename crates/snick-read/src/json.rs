//! JSON with locations: every value knows its line and column, which error messages show.
//!
//! Values are slices of the text and are parsed on demand, so that deep nesting cannot overflow the stack.
//! Before that, the syntax of the whole document is checked.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use snick_ir::Loc;

use crate::ReadError;

/// A JSON text and the offsets of its lines.
pub(crate) struct Document<'t> {
    text: &'t str,
    source: &'t str,
    lines: Vec<usize>,
}

impl<'t> Document<'t> {
    /// Creates a document. `source` is the name of the file in messages.
    pub(crate) fn new(text: &'t str, source: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, source, lines: std::iter::once(0).chain(ends).collect() }
    }

    /// The whole document as one value.
    pub(crate) fn root(&self) -> Result<Json<'_>, ReadError> {
        match serde_json::from_str::<&RawValue>(self.text) {
            Ok(raw) => Ok(Json { document: self, raw: raw.get() }),
            Err(error) => Err(ReadError::Json {
                source_name: self.source.to_string(),
                loc: Loc { line: narrow(error.line()), column: narrow(error.column()) },
                message: format!("invalid JSON: {}", without_place(&error)),
            }),
        }
    }
}

/// A value in a document.
#[derive(Copy, Clone)]
pub(crate) struct Json<'d> {
    document: &'d Document<'d>,
    raw: &'d str,
}

impl<'d> Json<'d> {
    /// The text of the value in the document.
    pub(crate) fn raw(self) -> &'d str {
        self.raw
    }

    pub(crate) fn is_object(self) -> bool {
        self.raw.starts_with('{')
    }

    pub(crate) fn is_array(self) -> bool {
        self.raw.starts_with('[')
    }

    /// Whether the value is a string.
    #[cfg(feature = "ngraph")]
    pub(crate) fn is_text(self) -> bool {
        self.raw.starts_with('"')
    }

    pub(crate) fn is_null(self) -> bool {
        self.raw == "null"
    }

    /// The fields of an object, in order. Rejects duplicate names.
    pub(crate) fn object(self) -> Result<Object<'d>, ReadError> {
        let Fields(fields) = self.parse("an object")?;
        let fields: Vec<_> = fields.into_iter().map(|(name, raw)| (name, self.part(raw))).collect();
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(self.error(format!("duplicate field `{}`", pair[0])));
        }
        Ok(Object { json: self, fields })
    }

    /// The items of an array.
    pub(crate) fn array(self) -> Result<Vec<Json<'d>>, ReadError> {
        let items: Vec<&RawValue> = self.parse("an array")?;
        Ok(items.into_iter().map(|raw| self.part(raw)).collect())
    }

    /// A string.
    pub(crate) fn text(self) -> Result<String, ReadError> {
        self.parse("a text")
    }

    /// An integer.
    pub(crate) fn int(self) -> Result<i64, ReadError> {
        self.parse("an integer of 64 bits")
    }

    /// The value as another type, or `None` if it does not have this type.
    pub(crate) fn try_as<T: Deserialize<'d>>(self) -> Option<T> {
        serde_json::from_str(self.raw).ok()
    }

    fn parse<T: Deserialize<'d>>(self, expected: &str) -> Result<T, ReadError> {
        self.try_as().ok_or_else(|| self.error(format!("{}, expected {expected}", self.shown())))
    }

    /// An array of integers.
    #[cfg(feature = "directml")]
    pub(crate) fn ints(self) -> Result<Vec<i64>, ReadError> {
        self.parse("an array of integers")
    }

    fn part(self, raw: &'d RawValue) -> Self {
        Self { document: self.document, raw: raw.get() }
    }

    /// The value as text for a message. For an object, a long array or a long string, returns only the kind
    /// of the value.
    fn shown(self) -> String {
        match self.raw.as_bytes().first() {
            Some(b'{') => "an object".into(),
            Some(b'[') if self.raw.len() > SHOWN => "an array".into(),
            Some(b'"') if self.raw.len() > SHOWN => "a text".into(),
            _ => self.raw.into(),
        }
    }

    /// Line and column of the value.
    pub(crate) fn loc(self) -> Loc {
        // The value is a slice of the document's text, so the difference between the addresses is its offset.
        let at = self.raw.as_ptr().addr().saturating_sub(self.document.text.as_ptr().addr());
        let line = self.document.lines.partition_point(|&start| start <= at).saturating_sub(1);
        let start = self.document.lines.get(line).copied().unwrap_or_default();
        Loc {
            line: narrow(line.saturating_add(1)),
            column: narrow(at.saturating_sub(start).saturating_add(1)),
        }
    }

    /// An error at this value.
    pub(crate) fn error(self, message: impl Into<String>) -> ReadError {
        ReadError::Json {
            source_name: self.document.source.to_string(),
            loc: self.loc(),
            message: message.into(),
        }
    }
}

/// Maximum length of a value that messages quote.
const SHOWN: usize = 60;

/// The fields of an object.
#[derive(Clone)]
pub(crate) struct Object<'d> {
    json: Json<'d>,
    fields: Vec<(String, Json<'d>)>,
}

impl<'d> Object<'d> {
    /// The object as a value.
    #[cfg(feature = "ngraph")]
    pub(crate) fn json(&self) -> Json<'d> {
        self.json
    }

    /// A field.
    pub(crate) fn get(&self, name: &str) -> Option<Json<'d>> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| *value)
    }

    /// A required field.
    pub(crate) fn require(&self, name: &str) -> Result<Json<'d>, ReadError> {
        self.get(name).ok_or_else(|| self.json.error(format!("field `{name}` is missing")))
    }

    /// All fields, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Json<'d>)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// Collects fields in the order of the document.
struct Fields<'d>(Vec<(String, &'d RawValue)>);

impl<'d> Deserialize<'d> for Fields<'d> {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'d> Visitor<'d> for Collect {
            type Value = Fields<'d>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The message of an error, without the line and column that serde_json appends to it.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(what, _)| what.to_string())
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<impl Sized, ReadError>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn values_know_their_place() {
        let document = Document::new("{\"a\": [1,\n  {\"b\": true}]}", "f.json");
        let root = document.root().unwrap().object().unwrap();
        let items = root.require("a").unwrap().array().unwrap();
        assert_eq!(items[1].loc(), Loc { line: 2, column: 3 });
        assert_eq!(items[0].int().unwrap(), 1);
        let inner = items[1].object().unwrap();
        assert_eq!(message(inner.require("b").unwrap().text()), "f.json:2:9: true, expected a text");
        assert_eq!(message(inner.require("c")), "f.json:2:3: field `c` is missing");
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, place) in [("{\"a\": 1,}", "f.json:1:9"), ("[1\n2]", "f.json:2:1"), ("", "f.json:1:0")] {
            let error = message(Document::new(text, "f.json").root().map(|_| ()));
            assert!(error.starts_with(&format!("{place}: invalid JSON: ")), "{error}");
        }
        let twice = Document::new("{\"a\": 1, \"a\": 2}", "f.json");
        assert_eq!(message(twice.root().unwrap().object()), "f.json:1:1: duplicate field `a`");
    }

    #[test]
    fn deep_nesting_is_no_danger() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let document = Document::new(&deep, "f.json");
        assert_eq!(document.root().unwrap().array().unwrap().len(), 1);
    }
}
