//! Writes XML elements, attributes and text with escaping.

use std::collections::HashSet;
use std::fmt::{Display, Write as _};

/// A growing XML document. Elements without content become self-closing tags.
#[derive(Default)]
pub(super) struct Xml {
    out: String,
    depth: usize,
    /// Whether the last start tag can still get attributes.
    is_open: bool,
    /// The first content that XML cannot represent.
    fault: Option<String>,
}

impl Xml {
    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn declaration(&mut self) {
        self.out.push_str("<?xml version=\"1.0\"?>\n");
    }

    /// Takes and clears `fault`.
    pub(super) fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    fn check_name(&mut self, name: &str) {
        let starts = name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | ':'));
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.');
        if !(starts && name.chars().all(is_part)) {
            self.fault.get_or_insert_with(|| format!("`{name}`, which is not a valid XML name,"));
        }
    }

    /// Opens an element.
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

    /// Adds an attribute to the element that was just opened.
    pub(super) fn attr(&mut self, name: &str, value: impl Display) {
        let _ = write!(self.out, " {name}=\"");
        let _ = write!(Escape { out: &mut self.out, fault: &mut self.fault }, "{value}");
        self.out.push('"');
    }

    /// Adds attributes whose names come from a model. A name that repeats or is in `taken` is a fault.
    pub(super) fn model_attrs<'a>(
        &mut self,
        taken: &[&'a str],
        attrs: impl IntoIterator<Item = (&'a str, impl Display)>,
    ) {
        let mut names: HashSet<&str> = taken.iter().copied().collect();
        for (name, value) in attrs {
            self.check_name(name);
            if !names.insert(name) {
                self.fault.get_or_insert_with(|| format!("a second attribute `{name}`"));
            }
            self.attr(name, value);
        }
    }

    /// Adds text to the element; does nothing if the text is empty.
    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            if self.is_open {
                self.out.push('>');
                self.is_open = false;
            }
            let _ = Escape { out: &mut self.out, fault: &mut self.fault }.write_str(text);
        }
    }

    /// Closes an element.
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

/// Escapes text so that it reads back unchanged from an attribute or from content.
struct Escape<'a> {
    out: &'a mut String,
    fault: &'a mut Option<String>,
}

impl std::fmt::Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\t' | '\n' | '\r' | '\u{7f}' => write!(self.out, "&#{};", u32::from(c))?,
                // XML does not allow these characters even as character references.
                '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                    self.fault.get_or_insert_with(|| format!("the character U+{:04X}", u32::from(c)));
                }
                c => self.out.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Xml;

    #[test]
    fn what_xml_cannot_say_is_a_fault() {
        let fault = |write: &dyn Fn(&mut Xml)| {
            let mut xml = Xml::default();
            xml.open("a");
            write(&mut xml);
            xml.take_fault()
        };
        assert_eq!(fault(&|xml| xml.attr("b", "\t\r\u{7f}é")), None);
        for c in ['\0', '\u{1b}', '\u{ffff}'] {
            let expected = Some(format!("the character U+{:04X}", u32::from(c)));
            assert_eq!(fault(&|xml| xml.attr("b", c)), expected);
            assert_eq!(fault(&|xml| xml.text(&c.to_string())), expected);
        }
        assert!(fault(&|xml| xml.open("b c")).is_some_and(|what| what.contains("`b c`")));
        assert!(fault(&|xml| xml.model_attrs(&[], [("1", "")])).is_some());
        assert!(fault(&|xml| xml.model_attrs(&["b"], [("b", "")])).is_some());
        assert_eq!(fault(&|xml| xml.model_attrs(&["b"], [("c", ""), ("d", "")])), None);
    }

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
