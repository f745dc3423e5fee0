//! The algorithms behind the operations of tokenizer models, on plain bytes.
//!
//! ```
//! use snick_text::{Pattern, Split};
//!
//! let words = Pattern::new(r"\s+")?;
//! let mut pieces = Vec::new();
//! words.split("two words".as_bytes(), Split::default(), |piece| pieces.push(piece))?;
//! assert_eq!(pieces, [0..3, 4..9]);
//! # Ok::<(), snick_text::TextError>(())
//! ```

mod bpe;
mod charsmap;
mod error;
mod fold;
mod forms;
mod normalizer;
mod pattern;
mod pcre;
mod sentencepiece;
mod split;
mod trie;
mod unigram;
mod wordpiece;

pub use self::bpe::{Bpe, BpeOptions};
pub use self::charsmap::CharsMap;
pub use self::error::TextError;
pub use self::forms::NormalForm;
pub use self::normalizer::{Normalizer, Rule, Whitespace};
pub use self::pattern::Pattern;
pub use self::sentencepiece::{SentencePiece, SpecialTokens};
pub use self::split::{Behaviour, Split};
pub use self::trie::Trie;
pub use self::unigram::Unigram;
pub use self::wordpiece::WordPiece;

/// The maximum size of a text, in bytes.
pub const MAX_TEXT: usize = 1 << 28;

/// The length of the UTF-8 character that starts with `byte`; 1 if no character starts with it.
pub(crate) fn char_len(byte: u8) -> usize {
    match byte >> 4 {
        0xc | 0xd => 2,
        0xe => 3,
        0xf => 4,
        _ => 1,
    }
}

/// The first character of `text` and its length; `None` if `text` does not start with a valid character.
pub(crate) fn first_char(text: &[u8]) -> Option<(char, usize)> {
    let len = char_len(*text.first()?);
    let c = std::str::from_utf8(text.get(..len)?).ok()?.chars().next()?;
    Some((c, len))
}
