//! Text normalisation as in SentencePiece.

use crate::fold::fold;
use crate::{CharsMap, MAX_TEXT, NormalForm, TextError, Trie, first_char};

/// How SentencePiece represents a space.
pub(crate) const SPACE: &[u8] = "\u{2581}".as_bytes();

/// How to map characters.
#[derive(Clone, Debug)]
pub enum Rule {
    /// A Unicode normal form, and whether to fold case.
    Form(NormalForm, bool),
    /// A compiled character map.
    Map(CharsMap),
}

/// How to handle spaces.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Whitespace {
    /// Adds a space at the start.
    pub add_prefix: bool,
    /// Removes spaces at both ends, and collapses runs of spaces.
    pub remove_extra: bool,
    /// Replaces spaces with U+2581.
    pub escape: bool,
    /// Adds the space of `add_prefix` at the end instead of the start.
    pub as_suffix: bool,
}

/// Normalises texts.
///
/// ```
/// use snick_text::{NormalForm, Normalizer, Rule, Whitespace};
///
/// let normalizer = Normalizer::new(Rule::Form(NormalForm::Nfkc, true), Whitespace::default());
/// assert_eq!(normalizer.normalize("Ｆｌｕß".as_bytes())?, "fluß".as_bytes());
/// # Ok::<(), snick_text::TextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Normalizer {
    rule: Rule,
    whitespace: Whitespace,
    /// Texts to leave unchanged.
    kept: Option<Trie>,
}

impl Normalizer {
    /// Creates a normaliser.
    pub fn new(rule: Rule, whitespace: Whitespace) -> Self {
        Self { rule, whitespace, kept: None }
    }

    /// Leaves these texts unchanged.
    pub fn keeping(self, kept: Trie) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// Appends the normalised start of `text`, and returns how many bytes it consumes.
    fn prefix(&self, text: &[u8], out: &mut Vec<u8>) -> usize {
        if let Some((_, len)) = self.kept.as_ref().and_then(|kept| kept.longest(text)) {
            out.extend_from_slice(&text[..len]);
            return len;
        }
        match &self.rule {
            Rule::Form(form, folds) => {
                let mut chars = Vec::new();
                if let Some(len) = form.normalize_prefix(text, &mut chars) {
                    for c in chars {
                        let c = if *folds { fold(c) } else { c };
                        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    return len;
                }
            }
            Rule::Map(map) => {
                if let Some((len, mapped)) = map.longest(text) {
                    out.extend_from_slice(mapped);
                    return len;
                }
            }
        }
        match first_char(text) {
            Some((_, len)) => {
                out.extend_from_slice(&text[..len]);
                len
            }
            None => {
                out.extend_from_slice("\u{fffd}".as_bytes());
                1
            }
        }
    }

    /// Normalises a text.
    ///
    /// # Errors
    /// [`TextError::TooLong`].
    pub fn normalize(&self, text: &[u8]) -> Result<Vec<u8>, TextError> {
        let Whitespace { add_prefix, remove_extra, escape, as_suffix } = self.whitespace;
        let space = if escape { SPACE } else { b" " };
        let (mut rest, mut part) = (text, Vec::new());
        while remove_extra && !rest.is_empty() {
            part.clear();
            let len = self.prefix(rest, &mut part);
            if part != b" " {
                break;
            }
            rest = &rest[len..];
        }
        if rest.is_empty() {
            return Ok(Vec::new());
        }
        let mut out = Vec::with_capacity(rest.len() + space.len());
        if add_prefix && !as_suffix {
            out.extend_from_slice(space);
        }
        let mut after_space = remove_extra;
        while !rest.is_empty() {
            part.clear();
            let len = self.prefix(rest, &mut part);
            rest = &rest[len..];
            let spaces = part.iter().take_while(|&&byte| after_space && byte == b' ').count();
            let part = &part[spaces..];
            for byte in part {
                match byte {
                    b' ' => out.extend_from_slice(space),
                    byte => out.push(*byte),
                }
            }
            if let Some(last) = part.last() {
                after_space = *last == b' ';
            }
            after_space &= remove_extra;
            if out.len() > MAX_TEXT {
                return Err(TextError::TooLong { limit: MAX_TEXT });
            }
        }
        while remove_extra && out.ends_with(space) {
            out.truncate(out.len() - space.len());
        }
        if add_prefix && as_suffix {
            out.extend_from_slice(space);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalize(whitespace: Whitespace, text: &str) -> String {
        let normalizer = Normalizer::new(Rule::Form(NormalForm::Nfkc, false), whitespace);
        String::from_utf8(normalizer.normalize(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn spaces_are_kept_removed_or_escaped() {
        assert_eq!(normalize(Whitespace::default(), " a\u{3000} b "), " a  b ");
        let all = Whitespace { add_prefix: true, remove_extra: true, escape: true, as_suffix: false };
        assert_eq!(normalize(all, "  a\u{3000} b "), "▁a▁b");
        assert_eq!(normalize(all, "   "), "");
        assert_eq!(normalize(Whitespace { as_suffix: true, ..all }, " a"), "a▁");
        assert_eq!(normalize(Whitespace { remove_extra: false, ..all }, " a"), "▁▁a");
    }

    #[test]
    fn bytes_that_are_no_character_are_replaced() {
        let normalizer = Normalizer::new(Rule::Form(NormalForm::Nfd, true), Whitespace::default());
        assert_eq!(normalizer.normalize(b"A\xff\xc3"), Ok("a\u{fffd}\u{fffd}".into()));
    }

    #[test]
    fn kept_texts_stay() {
        let kept = Trie::new([(&b"<A>"[..], 0)]);
        let normalizer =
            Normalizer::new(Rule::Form(NormalForm::Nfd, true), Whitespace::default()).keeping(kept);
        assert_eq!(normalizer.normalize(b"A<A>"), Ok(b"a<A>".to_vec()));
    }
}
