//! Encodes text to tokens.

use super::{Algorithm, SentencePiece, TokenKind, starts_with_space};
use crate::{TextError, char_len};

impl SentencePiece {
    /// Appends the tokens of a text.
    ///
    /// # Errors
    /// [`TextError::TooLong`].
    pub fn encode(&self, text: &[u8], tokens: &mut Vec<i32>) -> Result<(), TextError> {
        let normalized = self.normalizer.normalize(text)?;
        let mut pieces = Vec::new();
        match &self.algorithm {
            Algorithm::Unigram(unigram) => {
                unigram.cut(&normalized, |token, part| pieces.push((token, part)));
                pieces.reverse();
            }
            Algorithm::Merges => self.merge(&normalized, &mut pieces),
            Algorithm::Words => self.words(&normalized, &mut pieces),
            Algorithm::Chars => {
                let mut rest = normalized.as_slice();
                while !rest.is_empty() {
                    let (part, after) = rest.split_at(self.char_len(rest).0);
                    pieces.push((self.find(part), part));
                    rest = after;
                }
            }
        }
        self.emit(&pieces, tokens);
        Ok(())
    }

    /// The token that starts a text, if the model has one.
    pub fn bos(&self) -> Option<i32> {
        self.bos
    }

    /// The token that ends a text, if the model has one.
    pub fn eos(&self) -> Option<i32> {
        self.eos
    }

    /// The length of the user-defined token at the start of `text` and `true`, or else the length of the
    /// first character and `false`.
    pub(super) fn char_len(&self, text: &[u8]) -> (usize, bool) {
        match self.user_defined.longest(text) {
            Some((_, len)) => (len, true),
            None => (text.first().map_or(0, |&byte| char_len(byte)).min(text.len()), false),
        }
    }

    /// Splits a text into words. A word includes the mark U+2581 for the space before it (or after it, if
    /// `as_suffix` is set).
    fn words<'t>(&self, text: &'t [u8], pieces: &mut Vec<(i32, &'t [u8])>) {
        let mut start = 0;
        let mut at = 0;
        while at < text.len() {
            let len = char_len(text[at]).min(text.len() - at);
            let is_space = starts_with_space(&text[at..]);
            let cut = match (is_space, self.whitespace.as_suffix) {
                (false, _) => start,
                (true, false) => at,
                (true, true) => at + len,
            };
            if cut > start {
                pieces.push((self.find(&text[start..cut]), &text[start..cut]));
                start = cut;
            }
            at += len;
        }
        if start < text.len() {
            pieces.push((self.find(&text[start..]), &text[start..]));
        }
    }

    /// Appends the tokens of `pieces`. Consecutive unknown pieces become one unknown token, or the tokens of
    /// their bytes.
    fn emit(&self, pieces: &[(i32, &[u8])], tokens: &mut Vec<i32>) {
        let mut after_unknown = false;
        for &(token, part) in pieces {
            let is_unknown =
                token == self.unk || self.token(token).is_ok_and(|t| t.kind == TokenKind::Unknown);
            match (&self.bytes, is_unknown) {
                (Some(bytes), true) => tokens.extend(part.iter().map(|&byte| bytes[usize::from(byte)])),
                (None, true) if after_unknown => {}
                _ => tokens.push(token),
            }
            after_unknown = is_unknown;
        }
    }
}
