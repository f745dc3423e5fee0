//! Unicode normal forms as in SentencePiece. SentencePiece applies them as a character map, so combining
//! marks are not reordered.

use std::iter::once;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, decompose_canonical, decompose_compatible};

use crate::first_char;

/// A Unicode normal form.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NormalForm {
    /// Unchanged.
    Identity,
    /// Composed.
    Nfc,
    /// Decomposed.
    Nfd,
    /// Composed, with compatibility characters replaced.
    Nfkc,
    /// Decomposed, with compatibility characters replaced.
    Nfkd,
}

impl NormalForm {
    /// The form with this name, such as `nfkc`, ignoring case.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "identity" => Self::Identity,
            "nfc" => Self::Nfc,
            "nfd" => Self::Nfd,
            "nfkc" => Self::Nfkc,
            "nfkd" => Self::Nfkd,
            _ => return None,
        })
    }

    /// Normalises the start of `text`: the longest sequence that composes to one character, or else the first
    /// character. Appends the result to `out` and returns the length of the sequence; `None` if `text` does not
    /// start with a valid character.
    pub(crate) fn normalize_prefix(self, text: &[u8], out: &mut Vec<char>) -> Option<usize> {
        let (c, len) = first_char(text)?;
        let composes = matches!(self, Self::Nfc | Self::Nfkc);
        if c.is_ascii() && !(composes && text.get(len).is_some_and(|byte| !byte.is_ascii())) {
            out.push(c);
            return Some(len);
        }
        if composes && let Some((composed, len)) = self.composed(c, &text[len..]) {
            out.push(composed);
            return Some(len + c.len_utf8());
        }
        match self {
            Self::Identity => out.push(c),
            Self::Nfd => decompose_canonical(c, |c| out.push(c)),
            Self::Nfkd => decompose_compatible(c, |c| out.push(c)),
            Self::Nfc => out.extend(once(c).nfc()),
            Self::Nfkc => out.extend(once(c).nfkc()),
        }
        Some(len)
    }

    fn decompose(self, c: char, each: impl FnMut(char)) {
        match self {
            Self::Nfkc | Self::Nfkd => decompose_compatible(c, each),
            Self::Nfc | Self::Nfd => decompose_canonical(c, each),
            Self::Identity => {
                let mut each = each;
                each(c);
            }
        }
    }

    /// The decomposition of `c`, if it consists of a single character.
    fn single(self, c: char) -> Option<char> {
        let (mut first, mut count) = (c, 0);
        self.decompose(c, |c| {
            first = if count == 0 { c } else { first };
            count += 1;
        });
        (count == 1).then_some(first)
    }

    /// The longest run of characters that is the complete decomposition of one character. The run consists of
    /// `first` and characters at the start of `rest`. Returns the composed character, and the number of bytes
    /// of `rest` in the run.
    fn composed(self, first: char, rest: &[u8]) -> Option<(char, usize)> {
        let first = self.single(first)?;
        let (mut parts, mut whole) = (vec![first], Some(first));
        let (mut taken, mut best) = (0, None);
        while let Some(composed) = whole {
            let Some((next, len)) = first_char(&rest[taken..]) else { break };
            let Some(next) = self.single(next) else { break };
            parts.push(next);
            taken += len;
            whole = compose(composed, next);
            if let Some(whole) = whole {
                let mut decomposed = Vec::with_capacity(parts.len());
                decompose_canonical(whole, |c| decomposed.push(c));
                if decomposed == parts {
                    best = Some((whole, taken));
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(form: NormalForm, text: &str) -> String {
        let (mut rest, mut out) = (text.as_bytes(), Vec::new());
        while !rest.is_empty() {
            let len = form.normalize_prefix(rest, &mut out).unwrap();
            rest = &rest[len..];
        }
        out.into_iter().collect()
    }

    #[test]
    fn forms_differ_by_composition_and_compatibility() {
        assert_eq!(all(NormalForm::Nfd, "éệ한ﬁ"), "e\u{301}e\u{323}\u{302}\u{1112}\u{1161}\u{11ab}ﬁ");
        assert_eq!(
            all(NormalForm::Nfc, "e\u{301}e\u{323}\u{302}\u{1112}\u{1161}\u{11ab}ﬁA\u{30a}"),
            "éệ한ﬁÅ"
        );
        assert_eq!(all(NormalForm::Nfkc, "ﬁｶ\u{ff9e}①ＡÅ"), "fiガ1AÅ");
        assert_eq!(all(NormalForm::Nfkd, "ﬁé"), "fie\u{301}");
        assert_eq!(all(NormalForm::Identity, "ﬁé"), "ﬁé");
    }

    #[test]
    fn marks_keep_their_order() {
        assert_eq!(all(NormalForm::Nfd, "a\u{302}\u{323}"), "a\u{302}\u{323}");
        assert_eq!(all(NormalForm::Nfc, "a\u{302}\u{323}"), "â\u{323}");
    }
}
