//! Special tokens, which are found in a text before the model tokenizes the parts between them.

use std::collections::HashMap;

use super::SentencePiece;
use crate::{Pattern, TextError};

/// Special tokens by text.
#[derive(Debug)]
pub struct SpecialTokens {
    pattern: Pattern,
    tokens: HashMap<Vec<u8>, i32>,
}

impl SpecialTokens {
    /// Creates the set from texts and tokens. A token that consists of ASCII letters matches only at the
    /// start or end of a word.
    ///
    /// # Errors
    /// [`TextError::Pattern`] if the pattern of all tokens does not compile.
    pub fn new<'t>(tokens: impl IntoIterator<Item = (&'t [u8], i32)>) -> Result<Self, TextError> {
        let (mut alternatives, mut map) = (Vec::new(), HashMap::new());
        for (text, id) in tokens {
            let quoted: String = String::from_utf8_lossy(text).chars().flat_map(quoted).collect();
            match text.iter().all(u8::is_ascii_alphabetic) {
                true => alternatives.extend([format!(r"\b{quoted}"), format!(r"{quoted}\b")]),
                false => alternatives.push(quoted),
            }
            map.entry(text.to_vec()).or_insert(id);
        }
        Ok(Self { pattern: Pattern::new(&alternatives.join("|"))?, tokens: map })
    }
}

/// A character escaped for use in a pattern.
fn quoted(c: char) -> impl Iterator<Item = char> {
    let backslash = Some('\\').filter(|_| c.is_ascii_punctuation());
    backslash.into_iter().chain([c])
}

impl SentencePiece {
    /// Appends the tokens of a text that may contain special tokens. The token `before` is emitted before
    /// each part that is not a special token.
    ///
    /// # Errors
    /// [`TextError::Steps`], [`TextError::TooLong`].
    pub fn encode_special(
        &self,
        text: &[u8],
        special: &SpecialTokens,
        before: Option<i32>,
        tokens: &mut Vec<i32>,
    ) -> Result<(), TextError> {
        let mut matches = Vec::new();
        special.pattern.each_match(text, false, |found| matches.push(found.range))?;
        let mut start = 0;
        let encode = |part: &[u8], tokens: &mut Vec<i32>| {
            tokens.extend(before);
            self.encode(part, tokens)
        };
        for found in matches {
            if start < found.start {
                encode(&text[start..found.start], tokens)?;
            }
            tokens.extend(special.tokens.get(&text[found.clone()]));
            start = found.end;
        }
        match start < text.len() {
            true => encode(&text[start..], tokens),
            false => Ok(()),
        }
    }
}
