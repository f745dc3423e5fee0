//! SentencePiece models. A model file contains the vocabulary, the algorithm and the normalisation.

mod decode;
mod encode;
mod merge;
mod proto;
mod special;

use std::collections::HashMap;

use prost::Message;

use self::proto::{ModelProto, NormalizerSpec};
pub use self::special::SpecialTokens;
use crate::normalizer::SPACE;
use crate::{CharsMap, NormalForm, Normalizer, Rule, TextError, Trie, Unigram, Whitespace};

/// The type of a token in the vocabulary.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum TokenKind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte(u8),
}

/// A token.
#[derive(Clone, PartialEq, Debug)]
struct Token {
    text: Vec<u8>,
    score: f32,
    kind: TokenKind,
}

/// How texts are split into tokens.
#[derive(Debug)]
enum Algorithm {
    Unigram(Unigram),
    Merges,
    Words,
    Chars,
}

/// A model file.
#[derive(Debug)]
pub struct SentencePiece {
    tokens: Vec<Token>,
    /// Tokens that can result from splitting: normal, user-defined and unused ones.
    pieces: HashMap<Vec<u8>, i32>,
    /// Tokens that splitting cannot produce, such as control tokens and bytes.
    reserved: HashMap<Vec<u8>, i32>,
    user_defined: Trie,
    algorithm: Algorithm,
    normalizer: Normalizer,
    denormalizer: Option<Normalizer>,
    unk: i32,
    bos: Option<i32>,
    eos: Option<i32>,
    bytes: Option<Vec<i32>>,
    unk_surface: Vec<u8>,
    whitespace: Whitespace,
}

impl SentencePiece {
    /// Parses a model file.
    ///
    /// # Errors
    /// [`TextError::Model`], [`TextError::CharsMap`].
    pub fn parse(file: &[u8]) -> Result<Self, TextError> {
        let model = ModelProto::decode(file).map_err(|error| TextError::Model(error.to_string()))?;
        let tokens = tokens(&model)?;
        let (mut pieces, mut reserved) = (HashMap::new(), HashMap::new());
        for (token, id) in tokens.iter().zip(0..) {
            let map = match token.kind {
                TokenKind::Normal | TokenKind::UserDefined | TokenKind::Unused => &mut pieces,
                TokenKind::Unknown | TokenKind::Control | TokenKind::Byte(_) => &mut reserved,
            };
            map.insert(token.text.clone(), id);
        }
        let of_kind = |kind| tokens.iter().position(|token| token.kind == kind).map(|id| id as i32);
        let unk =
            of_kind(TokenKind::Unknown).ok_or(TextError::Model("it has no unknown token".to_string()))?;
        let trainer = model.trainer.unwrap_or_default();
        let find = |name: Option<Vec<u8>>, default: &[u8]| {
            let id = reserved.get(name.as_deref().unwrap_or(default)).copied();
            id.filter(|&id| tokens[id as usize].kind == TokenKind::Control)
        };
        let is_suffix = trainer.treat_whitespace_as_suffix.unwrap_or(false);
        let (rule, whitespace) = rules(model.normalizer.unwrap_or_default(), is_suffix)?;
        let user_defined = tokens.iter().zip(0..).filter(|(token, _)| token.kind == TokenKind::UserDefined);
        let user_defined = Trie::new(user_defined.map(|(token, id)| (token.text.as_slice(), id)));
        let denormalizer = match model.denormalizer {
            Some(spec) if spec.precompiled_charsmap.as_ref().is_some_and(|map| !map.is_empty()) => {
                Some(rules(spec, false).map(|(rule, whitespace)| Normalizer::new(rule, whitespace))?)
            }
            _ => None,
        };
        let byte = |byte: u8| of_kind(TokenKind::Byte(byte));
        let bytes = (0..=u8::MAX).map(byte).collect::<Option<Vec<_>>>();
        Ok(Self {
            algorithm: algorithm(trainer.model_type.unwrap_or(1), &tokens, unk)?,
            normalizer: Normalizer::new(rule, whitespace).keeping(user_defined.clone()),
            unk,
            bos: find(trainer.bos_piece, b"<s>"),
            eos: find(trainer.eos_piece, b"</s>"),
            bytes: bytes.filter(|_| trainer.byte_fallback == Some(true)),
            unk_surface: trainer.unk_surface.map_or(" \u{2047} ".into(), String::into_bytes),
            tokens,
            pieces,
            reserved,
            user_defined,
            denormalizer,
            whitespace,
        })
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    fn token(&self, id: i32) -> Result<&Token, TextError> {
        let token = usize::try_from(id).ok().and_then(|id| self.tokens.get(id));
        token.ok_or(TextError::TokenRange { id, size: self.tokens.len() })
    }

    /// The token with this text, or the unknown token.
    fn find(&self, text: &[u8]) -> i32 {
        *self.reserved.get(text).or_else(|| self.pieces.get(text)).unwrap_or(&self.unk)
    }
}

/// The tokens of a model.
fn tokens(model: &ModelProto) -> Result<Vec<Token>, TextError> {
    let token = |piece: &proto::Piece| {
        let text = piece.piece.clone().unwrap_or_default();
        let kind = match piece.kind.unwrap_or(1) {
            1 => TokenKind::Normal,
            2 => TokenKind::Unknown,
            3 => TokenKind::Control,
            4 => TokenKind::UserDefined,
            5 => TokenKind::Unused,
            6 => TokenKind::Byte(
                byte(&text).ok_or(TextError::Model("a token of a byte names none".to_string()))?,
            ),
            kind => return Err(TextError::Model(format!("a token has the type {kind}"))),
        };
        Ok(Token { text, score: piece.score.unwrap_or(0.0), kind })
    };
    if i32::try_from(model.pieces.len()).is_err() {
        return Err(TextError::Model("it has too many tokens".to_string()));
    }
    model.pieces.iter().map(token).collect()
}

/// The byte of a token such as `<0x0A>`.
pub(crate) fn byte(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let is_written_so = digits.len() == 2 && digits.iter().all(|d| matches!(d, b'0'..=b'9' | b'A'..=b'F'));
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_written_so)?;
    u8::from_str_radix(digits, 16).ok()
}

/// The normalisation of characters and spaces.
fn rules(spec: NormalizerSpec, as_suffix: bool) -> Result<(Rule, Whitespace), TextError> {
    let rule = match spec.precompiled_charsmap.filter(|map| !map.is_empty()) {
        Some(map) => Rule::Map(CharsMap::parse(&map)?),
        None => Rule::Form(NormalForm::Identity, false),
    };
    let whitespace = Whitespace {
        add_prefix: spec.add_dummy_prefix.unwrap_or(true),
        remove_extra: spec.remove_extra_whitespaces.unwrap_or(true),
        escape: spec.escape_whitespaces.unwrap_or(true),
        as_suffix,
    };
    Ok((rule, whitespace))
}

/// The algorithm of a model.
fn algorithm(model_type: i32, tokens: &[Token], unk: i32) -> Result<Algorithm, TextError> {
    Ok(match model_type {
        1 => Algorithm::Unigram(unigram(tokens, unk)),
        2 => Algorithm::Merges,
        3 => Algorithm::Words,
        4 => Algorithm::Chars,
        other => return Err(TextError::Model(format!("it has the type {other}"))),
    })
}

/// The unigram model. The score of user-defined tokens is high enough to always win.
fn unigram(tokens: &[Token], unk: i32) -> Unigram {
    let normal = || tokens.iter().filter(|token| token.kind == TokenKind::Normal).map(|token| token.score);
    let (least, most) = (normal().fold(f32::MAX, f32::min), normal().fold(f32::MIN_POSITIVE, f32::max));
    let score = |token: &Token| match token.kind {
        TokenKind::UserDefined => token.text.len() as f32 * most - 0.1,
        _ => token.score,
    };
    let usable =
        tokens.iter().zip(0..).filter(|(t, _)| matches!(t.kind, TokenKind::Normal | TokenKind::UserDefined));
    let trie = Trie::new(usable.map(|(token, id)| (token.text.as_slice(), id)));
    Unigram::of_trie(trie, tokens.iter().map(score).collect(), least, unk)
}

/// Whether a text starts with the mark U+2581 for a space.
fn starts_with_space(text: &[u8]) -> bool {
    text.starts_with(SPACE)
}

#[cfg(test)]
mod tests;
