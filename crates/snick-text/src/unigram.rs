//! The unigram model: finds the most probable segmentation of a text.

use crate::{Trie, char_len};

/// The difference between the lowest score of a token and the score of an unknown character.
const UNKNOWN_PENALTY: f32 = 10.0;

/// Tokens with scores.
///
/// ```
/// use snick_text::Unigram;
///
/// let unigram = Unigram::new([(&b"a"[..], -1.0), (b"b", -1.0), (b"ab", -1.5)], 7);
/// let mut tokens = Vec::new();
/// unigram.encode(b"abb??", &mut tokens);
/// assert_eq!(tokens, [2, 1, 7]);
/// ```
#[derive(Debug)]
pub struct Unigram {
    trie: Trie,
    scores: Vec<f32>,
    unk: i32,
    unk_score: f32,
}

/// The best segmentation of a prefix.
#[derive(Copy, Clone)]
struct Best {
    token: i32,
    score: f32,
    start: usize,
}

impl Unigram {
    /// Creates a model from tokens with scores, numbered in order, and the token for unknown characters.
    pub fn new<'t>(tokens: impl IntoIterator<Item = (&'t [u8], f32)>, unk: i32) -> Self {
        let (texts, scores): (Vec<&[u8]>, Vec<f32>) = tokens.into_iter().unzip();
        let least = scores.iter().copied().fold(f32::MAX, f32::min);
        Self { trie: Trie::new(texts.into_iter().zip(0..)), scores, unk, unk_score: least - UNKNOWN_PENALTY }
    }

    /// Creates a model from the scores of all tokens, a trie of the tokens to match, and the lowest score
    /// from which the score of unknown characters is derived.
    pub(crate) fn of_trie(trie: Trie, scores: Vec<f32>, least: f32, unk: i32) -> Self {
        Self { trie, scores, unk, unk_score: least - UNKNOWN_PENALTY }
    }

    /// Appends the tokens of a text. Consecutive unknown characters become one token.
    pub fn encode(&self, text: &[u8], tokens: &mut Vec<i32>) {
        let first = tokens.len();
        self.cut(text, |token, _| {
            if token != self.unk || tokens.get(first..).and_then(<[i32]>::last) != Some(&self.unk) {
                tokens.push(token);
            }
        });
        tokens[first..].reverse();
    }

    /// Calls `each` with each token and the part of the text that it covers, from last to first.
    pub(crate) fn cut<'t>(&self, text: &'t [u8], mut each: impl FnMut(i32, &'t [u8])) {
        let mut best: Vec<Option<Best>> = vec![None; text.len() + 1];
        let mut start = 0;
        let improve = |best: &mut [Option<Best>], end: usize, candidate: Best| {
            if best[end].is_none_or(|best| candidate.score > best.score) {
                best[end] = Some(candidate);
            }
        };
        while start < text.len() {
            let so_far = best[start].map_or(0.0, |best| best.score);
            let char_len = char_len(text[start]).min(text.len() - start);
            let mut has_char = false;
            for (token, len) in self.trie.prefixes(&text[start..]) {
                let score =
                    usize::try_from(token).ok().and_then(|i| self.scores.get(i)).copied().unwrap_or(0.0);
                improve(&mut best, start + len, Best { token, score: score + so_far, start });
                has_char |= len == char_len;
            }
            if !has_char {
                let score = self.unk_score + so_far;
                improve(&mut best, start + char_len, Best { token: self.unk, score, start });
            }
            start += char_len;
        }
        let mut end = text.len();
        while let Some(Best { token, start, .. }) = best[end].filter(|_| end > 0) {
            each(token, &text[start..end]);
            end = start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(text: &[u8]) -> Vec<i32> {
        let tokens = [("<unk>", 0.0), ("▁", -2.0), ("▁a", -1.0), ("b", -3.0), ("ab", -2.5), ("é", -4.0)];
        let unigram = Unigram::new(tokens.iter().map(|(token, score)| (token.as_bytes(), *score)), 0);
        let mut tokens = vec![42];
        unigram.encode(text, &mut tokens);
        tokens
    }

    #[test]
    fn the_most_probable_cut_wins() {
        assert_eq!(encode("▁ab".as_bytes()), [42, 2, 3]);
        assert_eq!(encode("abé".as_bytes()), [42, 4, 5]);
        assert_eq!(encode(b""), [42]);
    }

    #[test]
    fn unknown_characters_are_one_token() {
        assert_eq!(encode("??▁中b".as_bytes()), [42, 0, 1, 0, 3]);
        assert_eq!(encode(b"\xff\xc3"), [42, 0]);
    }
}
