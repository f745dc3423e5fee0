//! WordPiece: repeatedly takes the longest matching token. Tokens that continue a word have a prefix.

use crate::Trie;

/// A vocabulary of tokens that start or continue a word.
///
/// ```
/// use snick_text::WordPiece;
///
/// let pieces = WordPiece::new([(&b"un"[..], 0), (b"##it", 1), (b"##s", 2)], b"##", 100);
/// let mut tokens = Vec::new();
/// pieces.encode(b"units", 9, &mut tokens);
/// pieces.encode(b"unix", 9, &mut tokens);
/// assert_eq!(tokens, [0, 1, 2, 9]);
/// ```
#[derive(Debug)]
pub struct WordPiece {
    starts: Trie,
    continuations: Trie,
    max_bytes: usize,
}

impl WordPiece {
    /// Creates a vocabulary. Tokens with the prefix `mark` continue words; words over `max_bytes` are
    /// unknown.
    pub fn new<'t>(tokens: impl IntoIterator<Item = (&'t [u8], i32)>, mark: &[u8], max_bytes: usize) -> Self {
        let (mut starts, mut continuations) = (Vec::new(), Vec::new());
        for (token, id) in tokens {
            match token.strip_prefix(mark) {
                Some(rest) => continuations.push((rest, id)),
                None => starts.push((token, id)),
            }
        }
        Self { starts: Trie::new(starts), continuations: Trie::new(continuations), max_bytes }
    }

    /// Appends the tokens of a word, or `unk` if the word cannot be split into tokens.
    pub fn encode(&self, word: &[u8], unk: i32, tokens: &mut Vec<i32>) {
        let first = tokens.len();
        let mut found = if word.len() > self.max_bytes { None } else { self.starts.longest(word) };
        let mut rest = word;
        while let Some((token, len)) = found {
            tokens.push(token);
            rest = &rest[len..];
            if rest.is_empty() {
                return;
            }
            found = self.continuations.longest(rest);
        }
        tokens.truncate(first);
        tokens.push(unk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_an_unknown_part_is_unknown() {
        let pieces = WordPiece::new([(&b"a"[..], 1), (b"ab", 2), (b"##c", 3)], b"##", 4);
        let encode = |word: &str| {
            let mut tokens = Vec::new();
            pieces.encode(word.as_bytes(), 0, &mut tokens);
            tokens
        };
        assert_eq!(encode("abcc"), [2, 3, 3]);
        assert_eq!(encode("acb"), [0]);
        assert_eq!(encode("c"), [0]);
        assert_eq!(encode("abccc"), [0]);
        assert_eq!(encode(""), [0]);
    }
}
