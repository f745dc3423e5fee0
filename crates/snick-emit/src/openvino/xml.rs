//! Elements, attributes and text, escaped.

use std::fmt::{Display, Write as _};

use snick_ir::text::Escaped;

/// An XML text in the making. Elements without content close themselves.
#[derive(Default)]
pub(super) struct Xml {
    out: String,
    depth: usize,
    /// Whether the last start tag still takes attributes.
    is_open: bool,
    /// The first part that XML cannot say.
    fault: Option<String>,
}

impl Xml {
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// The first name or character since the last call that XML cannot say.
    pub(super) fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    fn check_name(&mut self, name: &str) {
        let ends_name = |c: char| c.is_whitespace() || c.is_control() || "=<>/\"'&!?".contains(c);
        if name.is_empty() || name.contains(ends_name) {
            self.fault.get_or_insert_with(|| format!("the name `{}`", Escaped(name)));
        }
    }

    fn check_text(&mut self, from: usize) {
        let is_fault = |c: &char| is_fault(*c);
        if let Some(c) = self.out.get(from..).and_then(|text| text.chars().find(is_fault)) {
            self.fault.get_or_insert_with(|| format!("the character U+{:04X}", u32::from(c)));
        }
    }

    pub(super) fn declaration(&mut self) {
        self.out.push_str("<?xml version=\"1.0\"?>\n");
    }

    /// Begins an element.
    pub(super) fn open(&mut self, name: &str) {
        self.check_name(name);
        if self.is_open {
            self.out.push_str(">\n");
        }
        self.indent();
        let _ = write!(self.out, "<{name}");
        self.depth += 1;
        self.is_open = true;
    }

    /// An attribute of the element just begun.
    pub(super) fn attr(&mut self, name: &str, value: impl Display) {
        self.check_name(name);
        let _ = write!(self.out, " {name}=\"");
        let from = self.out.len();
        let _ = write!(Escape(&mut self.out), "{value}");
        self.check_text(from);
        self.out.push('"');
    }

    /// Text as the next content of the element; nothing if it is empty.
    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            if self.is_open {
                self.out.push('>');
                self.is_open = false;
            }
            let from = self.out.len();
            let _ = Escape(&mut self.out).write_str(text);
            self.check_text(from);
        }
    }

    /// Ends an element.
    pub(super) fn close(&mut self, name: &str) {
        self.depth = self.depth.saturating_sub(1);
        if std::mem::take(&mut self.is_open) {
            self.out.push_str("/>\n");
            return;
        }
        if self.out.ends_with('\n') {
            self.indent();
        }
        let _ = writeln!(self.out, "</{name}>");
    }

    fn indent(&mut self) {
        (0..self.depth).for_each(|_| self.out.push('\t'));
    }
}

/// Whether XML has no way to write a character.
fn is_fault(c: char) -> bool {
    (c < ' ' && !"\t\n\r".contains(c)) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Writes text so that a reader finds it unchanged in an attribute or in content.
struct Escape<'a>(&'a mut String);

impl std::fmt::Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                c if c.is_ascii_control() && !is_fault(c) => write!(self.0, "&#{};", u32::from(c))?,
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Xml;

    #[test]
    fn elements_and_escapes() {
        let mut xml = Xml::default();
        xml.open("a");
        xml.attr("b", "\"<\n");
        xml.open("c");
        xml.text("x & y");
        xml.close("c");
        xml.open("d");
        xml.close("d");
        xml.close("a");
        assert_eq!(xml.finish(), "<a b=\"&quot;&lt;&#10;\">\n\t<c>x &amp; y</c>\n\t<d/>\n</a>\n");
    }

    #[test]
    fn what_xml_cannot_say_is_a_fault() {
        let fault = |name: &str, value: &str| {
            let mut xml = Xml::default();
            xml.open("a");
            xml.attr(name, value);
            xml.take_fault()
        };
        assert_eq!(fault("b", "\t\u{7f}\u{e9}"), None);
        assert_eq!(fault("b", "\0").as_deref(), Some("the character U+0000"));
        assert_eq!(fault("b", "\u{1b}[2J").as_deref(), Some("the character U+001B"));
        for name in ["", "b c", "b=", "b\"", "b/"] {
            assert_eq!(fault(name, "").unwrap(), format!("the name `{name}`"));
        }
    }
}
