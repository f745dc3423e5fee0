//! PCRE2 patterns: search and replace.

use std::ops::Range;
use std::sync::OnceLock;

use fancy_regex::{BytesMode, Captures, Error, Regex, RegexBuilder};

use crate::error::shown;
use crate::pcre::translate;
use crate::{MAX_TEXT, TextError, char_len};

/// Limits on backtracking. A text of `n` bytes needs a limit of at least `FIXED + n * PER_BYTE`: the smallest
/// such limit is used, or the largest limit if none is sufficient.
const LIMITS: [usize; 3] = [1 << 18, 1 << 22, 1 << 26];
const FIXED: usize = 1 << 16;
const PER_BYTE: usize = 64;

/// The maximum size of compiled expressions.
const MAX_PROGRAM: usize = 1 << 16;

/// A compiled pattern, with the semantics of PCRE2 with `PCRE2_UTF` and `PCRE2_UCP`.
///
/// ```
/// use snick_text::Pattern;
///
/// let accents = Pattern::new(r"\p{Mn}")?;
/// assert_eq!(accents.substitute("e\u{301}".as_bytes(), b"", true)?, b"e");
/// # Ok::<(), snick_text::TextError>(())
/// ```
#[derive(Debug)]
pub struct Pattern {
    source: String,
    translated: String,
    groups: Vec<usize>,
    regexes: [OnceLock<Option<Regex>>; LIMITS.len()],
    /// The pattern for texts that are not valid UTF-8, compiled on first use.
    bytes: OnceLock<Option<Regex>>,
}

/// A match, and the last group that participated in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub range: Range<usize>,
    pub group: Option<Range<usize>>,
}

/// A part of a replacement.
enum ReplacementPart<'r> {
    Text(&'r [u8]),
    Group(usize),
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`TextError::Pattern`].
    pub fn new(pattern: &str) -> Result<Self, TextError> {
        let wrong = |reason: String| TextError::Pattern { pattern: shown(pattern.as_bytes()), reason };
        let translated = translate(pattern).map_err(wrong)?;
        let first = compile(&translated.pattern, LIMITS[0], BytesMode::Unicode);
        let first = first.map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            source: pattern.to_string(),
            translated: translated.pattern,
            groups: translated.groups,
            regexes: [OnceLock::from(Some(first)), OnceLock::new(), OnceLock::new()],
            bytes: OnceLock::new(),
        })
    }

    /// The compiled expression with the backtracking limit for a text of this length.
    fn regex(&self, bytes: usize) -> Result<&Regex, TextError> {
        let needed = bytes.saturating_mul(PER_BYTE).saturating_add(FIXED);
        let tier = LIMITS.iter().position(|&limit| limit >= needed).unwrap_or(LIMITS.len() - 1);
        let make = || compile(&self.translated, LIMITS[tier], BytesMode::Unicode).ok();
        self.regexes[tier].get_or_init(make).as_ref().ok_or_else(|| self.steps(bytes))
    }

    fn steps(&self, bytes: usize) -> TextError {
        TextError::Steps { pattern: shown(self.source.as_bytes()), bytes }
    }

    /// Calls `each` with the matches from left to right, and stops at an empty match. A text that is not
    /// valid UTF-8 has no matches.
    pub(crate) fn each_match(
        &self,
        text: &[u8],
        has_groups: bool,
        mut each: impl FnMut(Found),
    ) -> Result<(), TextError> {
        let Ok(text) = std::str::from_utf8(text) else { return Ok(()) };
        let regex = self.regex(text.len())?;
        let failed = |_: Error| self.steps(text.len());
        let mut start = 0;
        while start < text.len() {
            let found = match has_groups && !self.groups.is_empty() {
                false => {
                    let found = regex.find_from_pos(text, start).map_err(failed)?;
                    found.map(|found| Found { range: found.range(), group: None })
                }
                true => {
                    let captures = regex.captures_from_pos(text, start).map_err(failed)?;
                    captures.and_then(|captures| {
                        let range = captures.get(0)?.range();
                        let groups = (1..captures.len()).filter_map(|i| Some(captures.get(i)?.range()));
                        let group = groups.rev().find(|g| range.start <= g.start && g.end <= range.end);
                        Some(Found { range, group })
                    })
                }
            };
            let Some(found) = found.filter(|found| !found.range.is_empty()) else { break };
            start = found.range.end;
            each(found);
        }
        Ok(())
    }

    /// Replaces the first match, or all matches if `is_global`. In the replacement, `$1` stands for a group
    /// and `$$` for a dollar sign. As in PCRE2, the text is unchanged if the replacement uses a group that
    /// did not participate in a match.
    ///
    /// # Errors
    /// [`TextError::Steps`], [`TextError::TooLong`].
    pub fn substitute(&self, text: &[u8], replacement: &[u8], is_global: bool) -> Result<Vec<u8>, TextError> {
        let Some(parts) = parts(replacement, self.groups.iter().copied().max().unwrap_or(0)) else {
            return Ok(text.to_vec());
        };
        let out = match std::str::from_utf8(text) {
            Ok(utf8) => {
                let regex = self.regex(text.len())?;
                let find = |start| {
                    regex.captures_from_pos(utf8, start).map(|found| found.map(|c| ranges(&c, |m| m.range())))
                };
                self.replace(text, &parts, is_global, find)?
            }
            Err(_) => {
                let make = || compile(&self.translated, LIMITS[2], BytesMode::UnicodeBytes).ok();
                let Some(regex) = self.bytes.get_or_init(make) else { return Ok(text.to_vec()) };
                let find = |start| {
                    regex.captures_from_pos(text, start).map(|found| found.map(|c| ranges(&c, |m| m.range())))
                };
                self.replace(text, &parts, is_global, find)?
            }
        };
        Ok(out.unwrap_or_else(|| text.to_vec()))
    }

    /// The text after replacement; `None` if the replacement uses a group that did not participate in a
    /// match.
    fn replace(
        &self,
        text: &[u8],
        parts: &[ReplacementPart],
        is_global: bool,
        find: impl Fn(usize) -> Result<Option<Vec<Option<Range<usize>>>>, Error>,
    ) -> Result<Option<Vec<u8>>, TextError> {
        let mut out = Vec::with_capacity(text.len());
        let (mut start, mut copied) = (0, 0);
        while start <= text.len() {
            let found = find(start).map_err(|_| self.steps(text.len()))?;
            let Some((Some(whole), groups)) = found.as_deref().and_then(<[_]>::split_first) else { break };
            out.extend_from_slice(&text[copied..whole.start]);
            for part in parts {
                match part {
                    ReplacementPart::Text(part) => out.extend_from_slice(part),
                    ReplacementPart::Group(0) => out.extend_from_slice(&text[whole.clone()]),
                    ReplacementPart::Group(number) => {
                        let numbered = self.groups.iter().zip(groups).filter(|(n, _)| *n == number);
                        let Some(group) = numbered.filter_map(|(_, group)| group.clone()).next() else {
                            return Ok(None);
                        };
                        out.extend_from_slice(&text[group]);
                    }
                }
                if out.len() > MAX_TEXT {
                    return Err(TextError::TooLong { limit: MAX_TEXT });
                }
            }
            (copied, start) = (whole.end, whole.end);
            if whole.is_empty() {
                start += text.get(start).map_or(1, |&byte| char_len(byte));
            }
            if !is_global {
                break;
            }
        }
        out.extend_from_slice(&text[copied..]);
        Ok(Some(out))
    }
}

fn compile(pattern: &str, limit: usize, mode: BytesMode) -> Result<Regex, Error> {
    let mut builder = RegexBuilder::new(pattern);
    builder.backtrack_limit(limit).max_prog_size(MAX_PROGRAM).bytes_mode(mode);
    builder.build()
}

/// The ranges of the whole match and of the groups.
fn ranges<'t, S: fancy_regex::Input + ?Sized>(
    captures: &Captures<'t, S>,
    range: impl Fn(S::Match<'t>) -> Range<usize>,
) -> Vec<Option<Range<usize>>> {
    (0..captures.len()).map(|i| captures.get(i).map(&range)).collect()
}

/// Parses a replacement that may refer to groups up to number `groups`; `None` if PCRE2 would reject it.
fn parts(replacement: &[u8], groups: usize) -> Option<Vec<ReplacementPart<'_>>> {
    let mut parts = Vec::new();
    let mut rest = replacement;
    while let Some(at) = rest.iter().position(|&byte| byte == b'$') {
        parts.push(ReplacementPart::Text(&rest[..at]));
        rest = &rest[at + 1..];
        if rest.first() == Some(&b'$') {
            parts.push(ReplacementPart::Text(&rest[..1]));
            rest = &rest[1..];
            continue;
        }
        let is_braced = rest.first() == Some(&b'{');
        let digits = &rest[usize::from(is_braced)..];
        let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number: usize = std::str::from_utf8(&digits[..count]).ok()?.parse().ok()?;
        rest = &digits[count..];
        if is_braced {
            rest = rest.strip_prefix(b"}")?;
        }
        if number > groups {
            return None;
        }
        parts.push(ReplacementPart::Group(number));
    }
    parts.push(ReplacementPart::Text(rest));
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substitute(pattern: &str, replacement: &str, text: &str) -> String {
        let out = Pattern::new(pattern).unwrap().substitute(text.as_bytes(), replacement.as_bytes(), true);
        String::from_utf8(out.unwrap()).unwrap()
    }

    #[test]
    fn replacements_name_groups() {
        assert_eq!(substitute("(^)([^▁])", "▁$2", "ab"), "▁ab");
        assert_eq!(substitute(r"([\p{Han}])", " $1 ", "a中b"), "a 中 b");
        assert_eq!(substitute(r"^\s*|\s*$", "", " a b \n"), "a b");
        assert_eq!(substitute("(?| ([.,])| (n't))", "$1", "no , do n't ."), "no, don't.");
        assert_eq!(substitute("b", "$$${0}", "abc"), "a$bc");
    }

    #[test]
    fn what_the_replacement_cannot_name_leaves_the_text() {
        assert_eq!(substitute("(a)|b", "<$1>", "ab"), "ab");
        assert_eq!(substitute("a", "$1", "a"), "a");
        assert_eq!(substitute("a", "$", "a"), "a");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced_around() {
        let pattern = Pattern::new("^ ").unwrap();
        assert_eq!(pattern.substitute(b" \xff x", b"", true), Ok(b"\xff x".to_vec()));
    }

    #[test]
    fn backtracking_is_bounded() {
        let text = "a".repeat(64) + "b";
        let pattern = Pattern::new(r"^(?:(?=a)a|a)+(?=c)").unwrap();
        assert!(matches!(pattern.substitute(text.as_bytes(), b"", true), Err(TextError::Steps { .. })));
        assert!(matches!(
            Pattern::new(r"((((\w{200}){200}){200}){200})(?=x)"),
            Err(TextError::Pattern { .. })
        ));
    }

    #[test]
    fn a_long_text_has_the_steps_it_needs() {
        let text = "word ".repeat(100_000);
        let pattern = Pattern::new(r"\s*$").unwrap();
        assert_eq!(pattern.substitute(text.as_bytes(), b"", true).unwrap().len(), text.len() - 1);
    }
}
