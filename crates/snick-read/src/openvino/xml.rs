//! A cursor over the elements of an XML text. It borrows from the text and keeps track of line and column.

use std::borrow::Cow;
use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use snick_ir::{Info, Loc};

use super::attributes::Attributes;
use super::{plain, references};
use crate::ReadError;

/// Maximum nesting depth of elements. Real files need about 6 levels of elements for each level of bodies.
/// This limit is fixed, because it protects the stack; users can set a lower limit with `Limits::nesting`.
const MAX_DEPTH: usize = 256;

/// The next item of the document.
#[derive(Debug)]
pub(super) enum Step<'x> {
    /// The start of an element. The cursor holds its attributes until the next step.
    Open(&'x str),
    /// The end of the innermost open element.
    Close,
    /// Character data.
    Text(Cow<'x, str>),
    /// The end of the document.
    End,
}

pub(super) struct Cursor<'x> {
    text: &'x str,
    source: &'x str,
    /// The text after the latest step.
    rest: &'x str,
    /// Reads markup that the plain parser cannot read. Its position is advanced to `rest` only when it is
    /// used.
    reader: Reader<&'x [u8]>,
    /// The attributes of the latest start tag.
    attrs: Attributes<'x>,
    /// The names of the open elements.
    open: Vec<&'x str>,
    /// Whether the latest start tag had the form `<a/>`, so that the next step is the end of the element.
    empty: bool,
    /// Whether the reader has just returned character data. In this case it must also read the next markup.
    behind_text: bool,
    /// The byte offset of the latest step.
    at: usize,
    /// A byte offset whose line is known.
    mark: Mark,
}

#[derive(Copy, Clone)]
struct Mark {
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'x> Cursor<'x> {
    pub(super) fn new(text: &'x str, source: &'x str) -> Self {
        // The reader would skip a byte order mark without counting its bytes.
        let text = text.trim_start_matches('\u{feff}');
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        // A reference splits a text into parts, so whitespace at the ends of a part must be kept.
        config.trim_text(false);
        config.allow_dangling_amp = true;
        // The cursor checks end tags itself, without allocating names.
        config.check_end_names = false;
        // The reader does not see elements that the plain parser has read, so end tags may seem unmatched to
        // it.
        config.allow_unmatched_ends = true;
        let mark = Mark { at: 0, line: 1, line_start: 0 };
        Self {
            text,
            source,
            rest: text,
            reader,
            attrs: Attributes::default(),
            open: Vec::new(),
            empty: false,
            behind_text: false,
            at: 0,
            mark,
        }
    }

    /// The next start tag, end tag or text. Skips comments, declarations and processing instructions.
    pub(super) fn step(&mut self) -> Result<Step<'x>, ReadError> {
        if std::mem::take(&mut self.empty) {
            self.open.pop();
            return Ok(Step::Close);
        }
        if let Some(step) = self.plain_step() {
            return step;
        }
        loop {
            self.at = self.text.len() - self.rest.len();
            let passed = self.at.saturating_sub(self.position());
            self.reader.stream().consume(passed);
            let event = self.reader.read_event().map_err(|error| self.error(error.to_string()))?;
            self.rest = self.text.get(self.position()..).unwrap_or_default();
            self.behind_text = matches!(event, Event::Text(_) | Event::GeneralRef(_));
            match event {
                Event::Start(start) => return self.open(&start),
                Event::Empty(start) => {
                    self.empty = true;
                    return self.open(&start);
                }
                Event::End(end) => {
                    let name = end.name().into_inner().trim_end();
                    return self.leave(name).map(|()| Step::Close);
                }
                Event::Text(text) => return Ok(Step::Text(text.into_inner())),
                Event::CData(data) => return Ok(Step::Text(data.into_inner())),
                Event::GeneralRef(name) => {
                    let reference = format!("&{};", name.into_inner());
                    return Ok(Step::Text(Cow::Owned(references::resolve(&reference).into_owned())));
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof if !self.open.is_empty() => {
                    return Err(self.error("the file ends inside an element: it is truncated"));
                }
                Event::Eof => return Ok(Step::End),
            }
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    fn open(&mut self, start: &BytesStart) -> Result<Step<'x>, ReadError> {
        let element = self.borrow(start.name().into_inner());
        self.enter(element)?;
        self.attrs.clear();
        // Disables the duplicate check of the iterator, which would allocate a list of names. `push` finds
        // duplicates.
        for attr in start.attributes().with_checks(false) {
            let attr = attr.map_err(|error| self.error(error.to_string()))?;
            let (name, raw) = (self.borrow(attr.key.into_inner()), self.borrow(&attr.value));
            if !self.attrs.push(name, references::attribute(raw)) {
                return Err(self.error(format!("duplicate attribute `{name}`")));
            }
        }
        Ok(Step::Open(element))
    }

    fn enter(&mut self, element: &'x str) -> Result<(), ReadError> {
        self.open.push(element);
        match self.open.len() {
            ..=MAX_DEPTH => Ok(()),
            _ => Err(self.error(format!("elements are nested deeper than {MAX_DEPTH}"))),
        }
    }

    fn leave(&mut self, element: &str) -> Result<(), ReadError> {
        match self.open.pop() {
            Some(open) if open == element => Ok(()),
            Some(open) => Err(self.error(format!("</{element}> closes <{open}>"))),
            None => Err(self.error(format!("</{element}> has no start tag"))),
        }
    }

    /// The remaining text, starting at the next tag. `None` where the plain parser must not be used: outside
    /// the root element, after character data, and before the end of an empty element.
    fn markup(&self) -> Option<&'x str> {
        if self.empty || self.behind_text || self.open.is_empty() {
            return None;
        }
        Some(self.rest.trim_ascii_start())
    }

    /// The next start or end tag, if the plain parser can read it.
    fn plain_step(&mut self) -> Option<Result<Step<'x>, ReadError>> {
        let markup = self.markup()?;
        let at = self.text.len() - markup.len();
        if let Some(end) = markup.strip_prefix("</") {
            let open = self.open.last()?;
            // A mismatched end tag is an error, which the reader locates.
            self.rest = end.strip_prefix(open)?.strip_prefix('>')?;
            self.at = at;
            self.open.pop();
            return Some(Ok(Step::Close));
        }
        let tag = plain::start_tag(markup, &mut self.attrs)?;
        (self.at, self.rest, self.empty) = (at, tag.behind, tag.empty);
        Some(self.enter(tag.name).map(|()| Step::Open(tag.name)))
    }

    /// The same text as a slice of the document, so that steps can borrow it.
    fn borrow(&self, part: &str) -> &'x str {
        let start = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let found = start.checked_add(part.len()).and_then(|end| self.text.get(start..end));
        // The reader does not copy the text, so the part is always inside it.
        found.unwrap_or_default()
    }

    /// An attribute of the latest start tag.
    #[inline]
    pub(super) fn attr(&self, name: &str) -> Option<&Cow<'x, str>> {
        self.attrs.get(name)
    }

    /// The names of the attributes of the latest start tag.
    pub(super) fn attr_names(&self) -> impl Iterator<Item = &'x str> + '_ {
        self.attrs.names()
    }

    /// A required attribute of the latest start tag.
    #[inline]
    pub(super) fn require(&mut self, name: &str) -> Result<Cow<'x, str>, ReadError> {
        match self.attr(name) {
            Some(value) => Ok(value.clone()),
            None => Err(self.error(format!("attribute `{name}` is missing"))),
        }
    }

    /// A required attribute that is a number.
    #[inline]
    pub(super) fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<T, ReadError> {
        let number = self.attr(name).and_then(|value| value.trim_ascii().parse().ok());
        number.ok_or_else(|| self.not_a_number(name))
    }

    #[cold]
    fn not_a_number(&mut self, name: &str) -> ReadError {
        let message = match self.attr(name) {
            Some(value) => format!("attribute `{name}` is \"{value}\", expected a number"),
            None => format!("attribute `{name}` is missing"),
        };
        self.error(message)
    }

    /// Takes the attributes of the latest start tag.
    pub(super) fn take_attrs(&mut self) -> impl Iterator<Item = (&'x str, Cow<'x, str>)> + '_ {
        self.attrs.drain()
    }

    /// The text up to the end of the open element, which must not contain elements.
    pub(super) fn text(&mut self) -> Result<Cow<'x, str>, ReadError> {
        let mut all = Cow::Borrowed("");
        loop {
            match self.step()? {
                Step::Text(text) if all.is_empty() => all = text,
                Step::Text(text) => all.to_mut().push_str(&text),
                Step::Close => return Ok(all),
                Step::Open(name) => {
                    return Err(self.error(format!("unexpected element <{name}> inside text")));
                }
                Step::End => return Ok(all),
            }
        }
    }

    /// The content of the next element, if it is a `<dim>` that the plain parser can read.
    pub(super) fn dim(&mut self) -> Option<&'x str> {
        let (dim, rest) = plain::dim(self.markup()?)?;
        self.rest = rest;
        Some(dim)
    }

    /// The open element with its contents, as metadata.
    pub(super) fn info(&mut self, name: &str) -> Result<Info, ReadError> {
        let attrs = self.attrs.drain().map(|(n, v)| (n.to_string(), v.into_owned())).collect();
        let mut info = Info { name: name.to_string(), attrs, ..Info::default() };
        loop {
            match self.step()? {
                // The depth of this recursion is bounded by MAX_DEPTH.
                Step::Open(name) => info.children.push(self.info(name)?),
                Step::Text(text) => info.text.push_str(&text),
                Step::Close | Step::End => {
                    let text = info.text.trim_ascii();
                    if text.len() < info.text.len() {
                        info.text = text.to_string();
                    }
                    return Ok(info);
                }
            }
        }
    }

    /// Line and column of the latest step. Counts lines from the position of the previous call, so that
    /// locating all layers takes only one pass over the text.
    pub(super) fn loc(&mut self) -> Loc {
        let at = self.at.min(self.text.len());
        let bytes = self.text.as_bytes();
        if at < self.mark.at {
            self.mark = Mark { at: 0, line: 1, line_start: 0 };
        }
        // `at` may point to whitespace before an element, which is skipped here.
        let at = at + bytes[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        let passed = &bytes[self.mark.at..at];
        let lines = memchr::memchr_iter(b'\n', passed).count();
        if let Some(last) = memchr::memrchr(b'\n', passed) {
            self.mark.line_start = self.mark.at + last + 1;
        }
        self.mark.line = self.mark.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.mark.at = at;
        Loc { line: self.mark.line, column: u32::try_from(at - self.mark.line_start + 1).unwrap_or(u32::MAX) }
    }

    pub(super) fn error(&mut self, message: impl Into<String>) -> ReadError {
        let loc = self.loc();
        self.error_at(loc, message)
    }

    pub(super) fn error_at(&self, loc: Loc, message: impl Into<String>) -> ReadError {
        ReadError::Xml { source_name: self.source.to_string(), loc, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reader and the plain parser alternate here, and must agree on the position.
    #[test]
    fn byte_order_marks_are_passed_over() {
        for marks in 0..3 {
            let text =
                format!("{}<?xml version=\"1.0\"?><a><b c=\"&lt;\"/><d/></a>", "\u{feff}".repeat(marks));
            let mut cursor = Cursor::new(&text, "a.xml");
            assert!(matches!(cursor.step(), Ok(Step::Open("a"))));
            let info = cursor.info("a").unwrap();
            assert_eq!((info.children[0].attrs[0].1.as_str(), info.children[1].name.as_str()), ("<", "d"));
            assert!(matches!(cursor.step(), Ok(Step::End)));
        }
    }

    #[test]
    fn ampersands_that_begin_no_reference_are_text() {
        let text = "<a><b c=\"x & y\" d=\"&foo;\n&amp;\"> p & q &foo; &<c/></b></a>";
        let mut cursor = Cursor::new(text, "a.xml");
        assert!(matches!(cursor.step(), Ok(Step::Open("a"))));
        let info = cursor.info("a").unwrap();
        let b = &info.children[0];
        let attrs: Vec<&str> = b.attrs.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!((attrs.as_slice(), b.text.as_str()), (&["x & y", "&foo; &"][..], "p & q &foo; &"));
        assert_eq!(b.children[0].name, "c");
    }

    #[test]
    fn white_space_beside_references_is_text() {
        let text = "<a>\n  <b> x &amp; y &lt;z </b>\n  <!-- c --> <c/>\n</a>";
        let mut cursor = Cursor::new(text, "a.xml");
        assert!(matches!(cursor.step(), Ok(Step::Open("a"))));
        let info = cursor.info("a").unwrap();
        assert_eq!((info.text.as_str(), info.children[0].text.as_str()), ("", "x & y <z"));
        assert_eq!(info.children[1].name, "c");
        assert!(matches!(cursor.step(), Ok(Step::Text(_) | Step::End)));
    }
}
