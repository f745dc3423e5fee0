//! Patterns of checks: text, regular expressions, and captures.

use std::collections::HashMap;

use fancy_regex::{Regex, escape};

/// The captured texts, by name.
pub(crate) type Captures = HashMap<String, String>;

/// An invalid pattern.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PatternError {
    /// `{{` or `[[` that is not closed.
    #[error("`{begin}` is never closed")]
    Open {
        /// The opening brackets.
        begin: &'static str,
    },
    /// The use of a capture that no earlier check defines.
    #[error("`[[{name}]]` is not captured before; `[[{name}:REGEX]]` captures")]
    Undefined {
        /// Its name.
        name: String,
    },
    /// An invalid regular expression.
    #[error("{message}")]
    Regex {
        /// The error message.
        message: String,
    },
}

/// A part of a pattern.
#[derive(Debug)]
enum Piece<'a> {
    Text(&'a str),
    /// `{{REGEX}}`, a regular expression.
    Regex(&'a str),
    /// `[[NAME:REGEX]]`, a regular expression whose match is captured.
    Capture {
        name: &'a str,
        regex: &'a str,
    },
    /// `[[NAME]]`, the text of an earlier capture.
    Use(&'a str),
}

/// A parsed pattern.
#[derive(Debug)]
pub(crate) struct Pattern<'a>(Vec<Piece<'a>>);

/// A pattern in which earlier captures are substituted.
#[derive(Debug)]
pub(crate) struct Resolved(Regex);

impl<'a> Pattern<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, PatternError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut searched = 0;
        while let Some(at) = rest[searched..].find(['{', '[']).map(|at| at + searched) {
            let tail = &rest[at..];
            let (piece, len) = match Piece::parse(tail)? {
                Some(found) => found,
                None => {
                    searched = at + 1;
                    continue;
                }
            };
            pieces.push(Piece::Text(&rest[..at]));
            pieces.push(piece);
            rest = &tail[len..];
            searched = 0;
        }
        pieces.push(Piece::Text(rest));
        Ok(Self(pieces))
    }

    /// Checks that all captures that the pattern uses are defined, and that its regular expressions are
    /// valid. Returns the names of the captures that it defines.
    pub(crate) fn check(&self, defined: &[String]) -> Result<Vec<String>, PatternError> {
        let known: Captures = defined.iter().map(|name| (name.clone(), String::new())).collect();
        self.resolve(&known)?;
        let names = self.0.iter().filter_map(|piece| match piece {
            Piece::Capture { name, .. } => Some(name.to_string()),
            _ => None,
        });
        Ok(names.collect())
    }

    pub(crate) fn resolve(&self, captures: &Captures) -> Result<Resolved, PatternError> {
        let mut regex = String::new();
        let mut own: Vec<&str> = Vec::new();
        for piece in &self.0 {
            match *piece {
                // Keeps blanks at both ends of the text, because they separate it from the neighbouring
                // pieces.
                Piece::Text(text) => regex.push_str(&escape(&single_blanks(text))),
                Piece::Regex(part) => regex.push_str(&format!("(?:{part})")),
                Piece::Capture { name, regex: part } => {
                    own.push(name);
                    regex.push_str(&format!("(?P<{name}>{part})"));
                }
                Piece::Use(name) if own.contains(&name) => regex.push_str(&format!("\\k<{name}>")),
                Piece::Use(name) => match captures.get(name) {
                    Some(text) => regex.push_str(&escape(text)),
                    None => return Err(PatternError::Undefined { name: name.to_string() }),
                },
            }
        }
        let wrong = |error: fancy_regex::Error| PatternError::Regex { message: error.to_string() };
        Regex::new(&regex).map(Resolved).map_err(wrong)
    }
}

impl<'a> Piece<'a> {
    /// The piece at the start of a text, and its length; `None` if the text starts with plain text.
    fn parse(text: &'a str) -> Result<Option<(Self, usize)>, PatternError> {
        if let Some(regex) = text.strip_prefix("{{") {
            let end = regex.find("}}").ok_or(PatternError::Open { begin: "{{" })?;
            // If more than two braces follow each other, the last two close the piece, as in `{{a{2}}}`.
            let end = end + regex[end + 2..].bytes().take_while(|&byte| byte == b'}').count();
            return Ok(Some((Self::Regex(&regex[..end]), end + 4)));
        }
        let Some(inner) = text.strip_prefix("[[") else { return Ok(None) };
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &inner[..inner.find(|c| !is_in_name(c)).unwrap_or(inner.len())];
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Ok(None);
        }
        let rest = &inner[name.len()..];
        if rest.starts_with("]]") {
            return Ok(Some((Self::Use(name), name.len() + 4)));
        }
        let Some(regex) = rest.strip_prefix(':') else { return Ok(None) };
        let end = regex.find("]]").ok_or(PatternError::Open { begin: "[[" })?;
        // If more than two brackets follow each other, the last two close the piece, as in `[[X:[a-z]]]`.
        let end = end + regex[end + 2..].bytes().take_while(|&byte| byte == b']').count();
        Ok(Some((Self::Capture { name, regex: &regex[..end] }, name.len() + end + 5)))
    }
}

impl Resolved {
    /// Whether the pattern matches a part of the line.
    pub(crate) fn is_in(&self, line: &str) -> bool {
        self.0.is_match(line).unwrap_or(false)
    }

    /// Whether the pattern matches a part of the line. If so, stores its captures.
    pub(crate) fn capture(&self, line: &str, captures: &mut Captures) -> bool {
        let Ok(Some(found)) = self.0.captures(line) else { return false };
        for name in self.0.capture_names().flatten() {
            if let Some(text) = found.name(name) {
                captures.insert(name.to_string(), text.as_str().to_string());
            }
        }
        true
    }
}

/// Trims a line and collapses runs of blanks.
pub(crate) fn one_blank(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Collapses runs of blanks without trimming.
fn single_blanks(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c.is_whitespace() {
            true if out.ends_with(' ') => {}
            true => out.push(' '),
            false => out.push(c),
        }
    }
    out
}
