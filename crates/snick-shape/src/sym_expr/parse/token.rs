//! Tokens of expressions.

use std::borrow::Cow;
use std::fmt;

use super::{ExprError, ExprErrorKind, error};

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Name(String),
    Number(u64),
    /// One of `+-*/%(),`.
    Sign(char),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Number(number) => write!(f, "`{number}`"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// Whether a name needs no backticks: a letter or `_`, followed by letters, digits, `_` and `.`.
pub(crate) fn is_word(text: &str) -> bool {
    text.starts_with(starts_word) && text.chars().all(continues_word)
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// The tokens with their offsets, excluding the end.
pub(super) fn tokens(text: &str, most: usize) -> Result<Vec<(usize, Token)>, ExprError> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let offset = text.len() - rest.len();
        if found.len() == most {
            return Err(error(text, offset, ExprErrorKind::TooLarge));
        }
        let (token, length) = match c {
            '+' | '-' | '*' | '/' | '%' | '(' | ')' | ',' => (Token::Sign(c), 1),
            '0'..='9' => {
                let digits = prefix(rest, |c| c.is_ascii_digit());
                let number = digits.parse().map_err(|_| error(text, offset, ExprErrorKind::TooLarge))?;
                (Token::Number(number), digits.len())
            }
            '`' => {
                let (name, length) = quoted(rest).ok_or_else(|| {
                    let expected = "a second backtick after the name";
                    error(text, text.len(), unexpected(expected, Token::End.to_string()))
                })?;
                (Token::Name(name), length)
            }
            _ if starts_word(c) => {
                let word = prefix(rest, continues_word);
                (Token::Name(word.to_owned()), word.len())
            }
            _ => {
                return Err(error(
                    text,
                    offset,
                    unexpected("a name, a number or an operator", format!("`{c}`")),
                ));
            }
        };
        found.push((offset, token));
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(found)
}

fn unexpected(expected: &'static str, found: String) -> ExprErrorKind {
    ExprErrorKind::Unexpected { expected, found }
}

fn prefix(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Prints a name, in backticks unless it is a word.
pub(crate) fn word_or_quoted(name: &str) -> Cow<'_, str> {
    if is_word(name) { Cow::Borrowed(name) } else { Cow::Owned(format!("`{}`", name.replace('`', "``"))) }
}

/// Parses a name in backticks at the start of the text, in which a doubled backtick stands for a single one.
/// Returns the name, and its length in the text including the backticks.
pub(crate) fn quoted(text: &str) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((offset, c)) = chars.next() {
        if c == '`' && chars.next_if(|(_, next)| *next == '`').is_none() {
            return Some((name, offset + 1));
        }
        name.push(c);
    }
    None
}
