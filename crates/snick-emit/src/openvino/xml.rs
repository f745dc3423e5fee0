//! Elements, attributes and text, escaped.

use std::fmt::{Display, Write as _};

/// An XML text in the making. Elements without content close themselves.
#[derive(Default)]
pub(super) struct Xml {
    out: String,
    depth: usize,
    /// Whether the last start tag still takes attributes.
    is_open: bool,
}

impl Xml {
    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn declaration(&mut self) {
        self.out.push_str("<?xml version=\"1.0\"?>\n");
    }

    /// Begins an element.
    pub(super) fn open(&mut self, name: &str) {
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
        let _ = write!(self.out, " {name}=\"");
        let _ = write!(Escape(&mut self.out), "{value}");
        self.out.push('"');
    }

    /// Text as the next content of the element; nothing if it is empty.
    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            if self.is_open {
                self.out.push('>');
                self.is_open = false;
            }
            let _ = Escape(&mut self.out).write_str(text);
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
                c if c.is_ascii_control() => write!(self.0, "&#{};", u32::from(c))?,
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
}
