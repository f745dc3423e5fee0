//! Byte pair encoding: merges neighbouring tokens, in the order of the list of merges.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::error::shown;
use crate::{TextError, Trie};

/// Options of the encoding.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BpeOptions {
    /// The token for unknown text. If this token is not in the vocabulary, unknown text is dropped.
    pub unk_token: String,
    /// Appended to each text.
    pub end_suffix: String,
    /// Whether an unknown byte becomes the token `<0xNN>`.
    pub byte_fallback: bool,
}

/// A vocabulary with merges.
///
/// ```
/// use snick_text::{Bpe, BpeOptions};
///
/// let vocabulary = [(&b"a"[..], 0), (b"b", 1), (b"ab", 2)];
/// let bpe = Bpe::new(vocabulary, [], [(&b"a"[..], &b"b"[..])], &BpeOptions::default())?;
/// let mut tokens = Vec::new();
/// bpe.encode(b"abb", &mut tokens);
/// assert_eq!(tokens, [2, 1]);
/// # Ok::<(), snick_text::TextError>(())
/// ```
#[derive(Debug)]
pub struct Bpe {
    /// The tokens that are not the result of a merge. A text is first split into these tokens.
    base: Trie,
    /// For each pair of tokens that can be merged: the rank of the merge and the resulting token.
    merges: HashMap<(i32, i32), (usize, i32)>,
    /// The token for each byte value, if there is one.
    bytes: Vec<Option<i32>>,
    unk: Option<i32>,
    end_suffix: Vec<u8>,
}

/// A part of the text, linked to its neighbours.
struct Symbol {
    token: i32,
    before: Option<usize>,
    after: Option<usize>,
    is_alive: bool,
}

/// A possible merge. The queue is ordered by rank, then by time of discovery.
type Candidate = Reverse<(usize, usize, usize, usize, i32)>;

impl Bpe {
    /// Creates an encoder from a vocabulary, added tokens and ordered merges. Added tokens never replace tokens
    /// of the vocabulary.
    ///
    /// # Errors
    /// [`TextError::NoToken`] if an operand or result of a merge is not a token.
    pub fn new<'t>(
        vocabulary: impl IntoIterator<Item = (&'t [u8], i32)>,
        added: impl IntoIterator<Item = (&'t [u8], i32)>,
        merges: impl IntoIterator<Item = (&'t [u8], &'t [u8])>,
        options: &BpeOptions,
    ) -> Result<Self, TextError> {
        let mut tokens: HashMap<Vec<u8>, i32> = HashMap::new();
        tokens.extend(vocabulary.into_iter().map(|(token, id)| (token.to_vec(), id)));
        for (token, id) in added {
            tokens.entry(token.to_vec()).or_insert(id);
        }
        let unk = tokens.get(options.unk_token.as_bytes()).copied();
        let find = |token: &[u8]| {
            let id = tokens.get(token).copied();
            id.ok_or_else(|| TextError::NoToken { token: shown(token) })
        };
        let (mut pairs, mut merged) = (HashMap::new(), Vec::new());
        for (rank, (left, right)) in merges.into_iter().enumerate() {
            let whole = [left, right].concat();
            pairs.insert((find(left)?, find(right)?), (rank, find(&whole)?));
            merged.push(whole);
        }
        for token in merged {
            tokens.remove(&token);
        }
        let byte = |byte: u8| tokens.get(format!("<0x{byte:02X}>").as_bytes()).copied();
        let bytes = match options.byte_fallback {
            true => (0..=u8::MAX).map(byte).collect(),
            false => vec![None; 256],
        };
        Ok(Self {
            base: Trie::new(tokens.iter().map(|(token, id)| (token.as_slice(), *id))),
            merges: pairs,
            bytes,
            unk,
            end_suffix: options.end_suffix.as_bytes().to_vec(),
        })
    }

    /// Appends the tokens of a text.
    pub fn encode(&self, text: &[u8], tokens: &mut Vec<i32>) {
        let suffixed;
        let text = match self.end_suffix.is_empty() {
            true => text,
            false => {
                suffixed = [text, &self.end_suffix].concat();
                &suffixed
            }
        };
        let mut symbols = self.symbols(text);
        let mut queue = BinaryHeap::new();
        for left in 0..symbols.len().saturating_sub(1) {
            self.enqueue(&symbols, left, left + 1, left, &mut queue);
        }
        let mut found = symbols.len();
        while let Some(Reverse((_, _, left, right, token))) = queue.pop() {
            if !symbols[left].is_alive || !symbols[right].is_alive {
                continue;
            }
            let merged = symbols.len();
            let (before, after) = (symbols[left].before, symbols[right].after);
            symbols.push(Symbol { token, before, after, is_alive: true });
            (symbols[left].is_alive, symbols[right].is_alive) = (false, false);
            if let Some(before) = before {
                symbols[before].after = Some(merged);
                self.enqueue(&symbols, before, merged, found, &mut queue);
            }
            if let Some(after) = after {
                symbols[after].before = Some(merged);
                self.enqueue(&symbols, merged, after, found, &mut queue);
            }
            found += 1;
        }
        let mut next = symbols.iter().position(|symbol| symbol.is_alive && symbol.before.is_none());
        while let Some(at) = next {
            tokens.push(symbols[at].token);
            next = symbols[at].after;
        }
    }

    /// Splits a text into base tokens.
    fn symbols(&self, text: &[u8]) -> Vec<Symbol> {
        let mut tokens = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(&byte) = rest.first() {
            let (token, len) = match self.base.longest(rest) {
                Some((token, len)) => (Some(token), len),
                None => (self.bytes[usize::from(byte)].or(self.unk), 1),
            };
            tokens.extend(token);
            rest = &rest[len..];
        }
        let count = tokens.len();
        let link = |(i, token)| Symbol {
            token,
            before: usize::checked_sub(i, 1),
            after: Some(i + 1).filter(|&after| after < count),
            is_alive: true,
        };
        tokens.into_iter().enumerate().map(link).collect()
    }

    /// Queues the merge of two neighbours, if the list of merges contains it.
    fn enqueue(
        &self,
        symbols: &[Symbol],
        left: usize,
        right: usize,
        found: usize,
        queue: &mut BinaryHeap<Candidate>,
    ) {
        if let Some((rank, token)) = self.merges.get(&(symbols[left].token, symbols[right].token)) {
            queue.push(Reverse((*rank, found, left, right, *token)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(options: &BpeOptions, text: &str) -> Vec<i32> {
        let names = ["l", "o", "w", "e", "r", "lo", "low", "er", "<unk>", "<0x41>", "</w>", "r</w>"];
        let vocabulary = names.iter().zip(0..).map(|(name, id)| (name.as_bytes(), id));
        let merges = [("l", "o"), ("lo", "w"), ("e", "r"), ("r", "</w>")];
        let merges = merges.iter().map(|(left, right)| (left.as_bytes(), right.as_bytes()));
        let bpe = Bpe::new(vocabulary, [(&b"<s>"[..], 99), (b"l", 98)], merges, options).unwrap();
        let mut tokens = Vec::new();
        bpe.encode(text.as_bytes(), &mut tokens);
        tokens
    }

    #[test]
    fn the_first_merge_of_the_list_comes_first() {
        let plain = BpeOptions::default();
        assert_eq!(encode(&plain, "lower"), [6, 7]);
        assert_eq!(encode(&plain, "lowlo<s>w"), [6, 5, 99, 2]);
        assert_eq!(encode(&plain, "lxo"), [5]);
        assert!(encode(&plain, "").is_empty());
        assert_eq!(encode(&BpeOptions { end_suffix: "</w>".into(), ..plain }, "er"), [7, 10]);
    }

    #[test]
    fn what_no_token_matches_falls_back() {
        let unk = BpeOptions { unk_token: "<unk>".into(), ..BpeOptions::default() };
        assert_eq!(encode(&unk, "lA?"), [0, 8, 8]);
        assert_eq!(encode(&BpeOptions { byte_fallback: true, ..unk }, "lA?"), [0, 9, 8]);
    }

    #[test]
    fn a_merge_needs_its_tokens() {
        let bpe = Bpe::new([(&b"a"[..], 0)], [], [(&b"a"[..], &b"b"[..])], &BpeOptions::default());
        assert!(matches!(bpe, Err(TextError::NoToken { token }) if token == "b"));
    }
}
