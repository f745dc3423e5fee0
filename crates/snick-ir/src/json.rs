//! Writes JSON front to back: a result of 200 000 layers needs no tree in memory.

use std::fmt::{Display, Write as _};

use snick_shape::Interval;

use crate::text::Escaped;
use crate::{Diagnostic, InputOrigin};

/// A string of JSON, with its quotes.
///
/// ```
/// assert_eq!(snick_ir::json::quoted("a \"b\"\n"), r#""a \"b\"\n""#);
/// ```
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c < ' ' => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A JSON text under construction. Commas are added automatically.
///
/// ```
/// use snick_ir::json::Json;
///
/// let mut json = Json::default();
/// json.object(|json| {
///     json.key("name").string("a \"b\"");
///     json.key("dims").array(|json| [2, 3].into_iter().for_each(|dim| json.plain(dim)));
/// });
/// assert_eq!(json.finish(), "{\"name\":\"a \\\"b\\\"\",\"dims\":[2,3]}\n");
/// ```
#[derive(Clone, Default, Debug)]
pub struct Json {
    out: String,
}

impl Json {
    /// The text, with a line break.
    pub fn finish(mut self) -> String {
        self.out.push('\n');
        self.out
    }

    fn comma(&mut self) {
        if !matches!(self.out.as_bytes().last(), None | Some(b'{' | b'[' | b':' | b'\n')) {
            self.out.push(',');
        }
    }

    /// Starts the next value on a line of its own.
    pub fn line(&mut self) -> &mut Self {
        self.comma();
        self.out.push('\n');
        self
    }

    /// An object filled by `fill`.
    pub fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        self.comma();
        self.out.push('{');
        fill(self);
        self.out.push('}');
    }

    /// An array filled by `fill`.
    pub fn array(&mut self, fill: impl FnOnce(&mut Self)) {
        self.comma();
        self.out.push('[');
        fill(self);
        self.out.push(']');
    }

    /// The key of the next value.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.string(key);
        self.out.push(':');
        self
    }

    /// A string.
    pub fn string(&mut self, text: &str) {
        self.comma();
        self.out.push_str(&quoted(text));
    }

    /// A text from a model: control characters and marks of direction as `\u{..}`.
    pub fn escaped(&mut self, text: &str) {
        self.string(&Escaped(text).to_string());
    }

    /// A value whose text is JSON: a number, `true`, `false` or `null`.
    pub fn plain(&mut self, value: impl Display) {
        self.comma();
        let _ = write!(self.out, "{value}");
    }

    /// A float; infinities and NaN, which JSON lacks, become `null`.
    pub fn float(&mut self, value: f64) {
        if value.is_finite() { self.plain(value) } else { self.plain("null") }
    }

    /// An interval. One without a lower bound, of elements of values, has the least number of 64 bits.
    pub fn interval(&mut self, interval: Interval) {
        match interval {
            Interval::ANY => self.string("?"),
            interval if interval.has_lower() => self.string(&interval.to_string()),
            interval => self.string(&format!("{}..{}", i64::MIN, interval.hi())),
        }
    }

    /// The error of a layer, on a line of its own.
    pub fn located(&mut self, error: impl Into<Diagnostic>) {
        let error = error.into();
        self.line().object(|json| {
            json.key("name").string(&error.layer);
            json.key("op").string(&error.op);
            if error.loc.line > 0 {
                json.key("loc").string(&error.loc.to_string());
            }
            json.key("message").string(&message(&error));
            json.key("origins").array(|json| error.origins.iter().for_each(|origin| json.origin(origin)));
        });
    }

    /// An input that an error is about.
    pub fn origin(&mut self, origin: &InputOrigin) {
        self.object(|json| {
            json.key("value").string(&origin.value);
            if !origin.op.is_empty() {
                json.key("layer").string(&origin.layer);
                json.key("op").string(&origin.op);
            }
            if origin.loc.line > 0 {
                json.key("loc").string(&origin.loc.to_string());
            }
        });
    }
}

/// The message of an error with the inputs that it is about.
pub fn message(error: &Diagnostic) -> String {
    match error.origins.is_empty() {
        true => error.message.clone(),
        false => format!("{} (inputs: {})", error.message, error.inputs()),
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn commas_and_escapes() {
        let mut json = Json::default();
        json.object(|json| {
            json.key("a\n\"").string("\u{1}é");
            json.key("b").array(|json| {
                json.line().plain(1);
                json.line().float(f64::NAN);
                json.object(|_| {});
            });
        });
        assert_eq!(json.finish(), "{\"a\\n\\\"\":\"\\u0001é\",\"b\":[\n1,\nnull,{}]}\n");
    }
}
