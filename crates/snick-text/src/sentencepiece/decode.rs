//! Decodes tokens to text.

use super::{SentencePiece, TokenKind, byte, starts_with_space};
use crate::normalizer::SPACE;
use crate::{TextError, first_char};

impl SentencePiece {
    /// Decodes tokens to text.
    ///
    /// # Errors
    /// [`TextError::TokenRange`].
    pub fn decode(&self, tokens: &[i32]) -> Result<Vec<u8>, TextError> {
        let (mut text, mut bytes) = (Vec::new(), Vec::new());
        // `at_start`: there is no text yet, so the next token may begin with the space that encoding added.
        // `had_space`: this space was just removed from a token, and no other space may be removed.
        let (mut at_start, mut had_space) = (true, false);
        let removes_space = self.whitespace.add_prefix || self.whitespace.remove_extra;
        for &id in tokens {
            let token = self.token(id)?;
            if let TokenKind::Byte(byte) = token.kind {
                bytes.push(byte);
                continue;
            }
            add_bytes(&mut bytes, &mut text);
            at_start &= !had_space && text.is_empty();
            match token.kind {
                TokenKind::Control => had_space = false,
                TokenKind::Unknown => {
                    text.extend_from_slice(&self.unk_surface);
                    had_space = false;
                }
                _ => {
                    let mut piece = token.text.as_slice();
                    had_space = at_start && removes_space && starts_with_space(piece);
                    if had_space {
                        piece = &piece[SPACE.len()..];
                        had_space = !self.whitespace.remove_extra;
                    }
                    add_spaced(piece, &mut text);
                }
            }
        }
        add_bytes(&mut bytes, &mut text);
        match &self.denormalizer {
            Some(denormalizer) => denormalizer.normalize(&text),
            None => Ok(text),
        }
    }

    /// Concatenates the texts of the tokens. The texts are as in the vocabulary, except that byte tokens
    /// become bytes. Skips tokens that are out of range.
    pub fn decode_stream(&self, tokens: &[i32]) -> Vec<u8> {
        let mut text = Vec::new();
        for token in tokens.iter().filter_map(|&id| self.token(id).ok()) {
            match byte(&token.text) {
                Some(byte) => text.push(byte),
                None => text.extend_from_slice(&token.text),
            }
        }
        text
    }
}

/// Appends a piece, with U+2581 replaced by spaces.
fn add_spaced(mut piece: &[u8], text: &mut Vec<u8>) {
    while let Some(&byte) = piece.first() {
        if starts_with_space(piece) {
            text.push(b' ');
            piece = &piece[SPACE.len()..];
        } else {
            text.push(byte);
            piece = &piece[1..];
        }
    }
}

/// Appends the collected bytes as text, replacing invalid UTF-8.
fn add_bytes(bytes: &mut Vec<u8>, text: &mut Vec<u8>) {
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let len = match first_char(rest) {
            Some((_, len)) => {
                text.extend_from_slice(&rest[..len]);
                len
            }
            None => {
                text.extend_from_slice("\u{fffd}".as_bytes());
                1
            }
        };
        rest = &rest[len..];
    }
    bytes.clear();
}
