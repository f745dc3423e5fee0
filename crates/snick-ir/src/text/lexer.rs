//! Tokens of the text form.

use super::syntax::is_name_byte;
use crate::Loc;

/// A syntax error in the text form.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[error("{loc}: {message}")]
pub struct ParseError {
    /// The location.
    pub loc: Loc,
    /// What was found and what was expected.
    pub message: String,
}

/// One token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// `%name`, `%"name"~2:1`: name, occurrence and output port.
    Value { name: String, nth: usize, port: u32 },
    /// A word of letters, digits and `_`.
    Word(String),
    /// A quoted text, unescaped.
    Text(String),
    /// A token that starts with a digit or a minus sign.
    Number(String),
    /// `#` followed by letters, digits and `@`; holds the part after the `#`.
    Digest(String),
    /// Any other character.
    Mark(char),
    /// The end of the text.
    End,
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1, line_start: 0 }
    }

    /// The location of the next token.
    pub(super) fn loc(&mut self) -> Loc {
        self.skip_blanks();
        Loc { line: self.line, column: u32::try_from(self.at - self.line_start + 1).unwrap_or(u32::MAX) }
    }

    pub(super) fn error(&mut self, expected: &str) -> ParseError {
        let loc = self.loc();
        let mut ahead = self.clone_state();
        let found = match ahead.next() {
            Ok(Token::End) => "the end of the text".to_string(),
            Ok(_) => format!("`{}`", self.text.get(self.at..ahead.at).unwrap_or_default()),
            Err(error) => return error,
        };
        ParseError { loc, message: format!("found {found}, expected {expected}") }
    }

    /// Consumes the next token if `take` accepts it; otherwise returns an error.
    pub(super) fn expect<T>(
        &mut self,
        expected: &str,
        take: impl FnOnce(Token) -> Option<T>,
    ) -> Result<T, ParseError> {
        let before = self.clone_state();
        match take(self.next()?) {
            Some(taken) => Ok(taken),
            None => {
                *self = before;
                Err(self.error(expected))
            }
        }
    }

    fn clone_state(&self) -> Lexer<'t> {
        Lexer { text: self.text, at: self.at, line: self.line, line_start: self.line_start }
    }

    pub(super) fn peek(&mut self) -> Result<Token, ParseError> {
        self.skip_blanks();
        self.clone_state().next()
    }

    pub(super) fn next(&mut self) -> Result<Token, ParseError> {
        self.skip_blanks();
        let Some(first) = self.rest().chars().next() else { return Ok(Token::End) };
        match first {
            '%' => {
                self.at += 1;
                let name = match self.rest().starts_with('"') {
                    true => self.quoted()?,
                    false => self.take(|b, _| is_name_byte(b)),
                };
                let nth = if self.skip('~') { self.number()? } else { 1 };
                let port = if self.skip(':') { self.number()? as u32 } else { 0 };
                Ok(Token::Value { name, nth, port })
            }
            '"' => Ok(Token::Text(self.quoted()?)),
            '#' => {
                self.at += 1;
                Ok(Token::Digest(self.take(|b, _| b.is_ascii_alphanumeric() || b == b'@')))
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                Ok(Token::Word(self.take(|b, _| b.is_ascii_alphanumeric() || b == b'_')))
            }
            c if c.is_ascii_digit() || c == '-' => Ok(Token::Number(self.take(|b, before| {
                b.is_ascii_alphanumeric()
                    || matches!(b, b'.' | b'_')
                    || (b == b'-' && matches!(before, None | Some(b'e')))
                    || (b == b'+' && before == Some(b'e'))
            }))),
            c => {
                self.at += c.len_utf8();
                Ok(Token::Mark(c))
            }
        }
    }

    /// The text between `[` and the matching `]`.
    pub(super) fn brackets(&mut self) -> Result<&'t str, ParseError> {
        self.skip_blanks();
        if !self.skip('[') {
            return Err(self.error("`[`"));
        }
        let start = self.at;
        match self.rest().find(']') {
            Some(length) => {
                self.at += length + 1;
                Ok(&self.text[start..start + length])
            }
            None => Err(self.error("`]`")),
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn take(&mut self, is_part: impl Fn(u8, Option<u8>) -> bool) -> String {
        let bytes = self.rest().as_bytes();
        let mut length = 0;
        while length < bytes.len() && is_part(bytes[length], length.checked_sub(1).map(|i| bytes[i])) {
            length += 1;
        }
        let taken = self.rest()[..length].to_string();
        self.at += length;
        taken
    }

    fn number(&mut self) -> Result<usize, ParseError> {
        let digits = self.take(|b, _| b.is_ascii_digit());
        digits.parse().map_err(|_| self.fault("expected a number"))
    }

    fn quoted(&mut self) -> Result<String, ParseError> {
        let mut out = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return Ok(out);
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => out.push('\n'),
                    Some('r') => out.push('\r'),
                    Some('t') => out.push('\t'),
                    Some(c @ ('"' | '\\')) => out.push(c),
                    Some('u') => {
                        let hex: String =
                            chars.by_ref().map(|(_, c)| c).skip(1).take_while(|&c| c != '}').collect();
                        let c = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                        out.push(c.ok_or_else(|| self.fault("expected a character code in `\\u{..}`"))?);
                    }
                    _ => return Err(self.fault("expected an escape: \\\" \\\\ \\n \\r \\t \\u{..}")),
                },
                // The printer escapes line breaks, so a line break means that the closing quote is missing.
                '\n' => break,
                c => out.push(c),
            }
        }
        Err(self.fault("missing closing quote"))
    }

    /// An error inside a token. Unlike `error`, does not read the next token, which could recurse endlessly.
    fn fault(&mut self, message: &str) -> ParseError {
        ParseError { loc: self.loc(), message: message.into() }
    }

    fn skip_blanks(&mut self) {
        self.skip_comments(|_, _| {});
    }

    /// Skips white space and comments. Comments start with `//`, or with a `#` that is not a digest.
    fn skip_comments(&mut self, mut found: impl FnMut(u32, &'t str)) {
        loop {
            let rest = self.rest();
            match rest.as_bytes().first() {
                Some(b'\n') => {
                    self.at += 1;
                    self.line = self.line.saturating_add(1);
                    self.line_start = self.at;
                }
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'/' | b'#')
                    if rest.starts_with("//")
                        || rest.starts_with('#')
                            && !rest.as_bytes().get(1).is_some_and(u8::is_ascii_alphanumeric) =>
                {
                    let comment = &rest[..rest.find('\n').unwrap_or(rest.len())];
                    found(self.line, comment);
                    self.at += comment.len();
                }
                _ => return,
            }
        }
    }
}

/// The comments of a text form with their line numbers (from 1), each including its `//` or `#`. Stops at the
/// first invalid token.
///
/// ```
/// let text = "snick 1 // one\ngraph \"// none\" { # two\n}\n";
/// assert_eq!(snick::text::comments(text), [(1, "// one"), (2, "# two")]);
/// ```
pub fn comments(text: &str) -> Vec<(u32, &str)> {
    let (mut lexer, mut comments) = (Lexer::new(text), Vec::new());
    loop {
        lexer.skip_comments(|line, comment| comments.push((line, comment)));
        if matches!(lexer.next(), Ok(Token::End) | Err(_)) {
            return comments;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::text::parse;

    #[test]
    fn errors_inside_of_tokens_look_at_nothing_else() {
        for (text, message) in [
            (r#""\u{110000}""#.to_string(), "1:1: expected a character code in `\\u{..}`"),
            (r#""\q""#.to_string(), "1:1: expected an escape: \\\" \\\\ \\n \\r \\t \\u{..}"),
            ("\"a".to_string(), "1:1: missing closing quote"),
            ("%x~".repeat(300_000), "1:4: expected a number"),
        ] {
            assert_eq!(parse(&text, None).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn errors_show_what_was_found() {
        for (text, message) in [
            ("snick 2\n", "1:7: found `2`, expected version 1 of the text form"),
            ("snick 1\ngraph \"g\" {\n  x = A-1\n}\n", "3:3: found `x`, expected `%name = ...`"),
            ("snick 1\ngraph \"g\" {\n  %x = A-1 {a-b: 1}\n}\n", "3:14: found `-b`, expected `:`"),
            ("snick 1\ngraph \"g\" {\n  %x = ", "3:8: found the end of the text, expected an operation type"),
        ] {
            assert_eq!(parse(text, None).unwrap_err().to_string(), message);
        }
    }
}
