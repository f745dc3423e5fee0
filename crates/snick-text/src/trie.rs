//! Prefix search in a set of tokens.

use std::ops::Range;

/// Tokens sorted by their bytes, so that tokens with a common prefix are adjacent.
///
/// ```
/// use snick_text::Trie;
///
/// let trie = Trie::new([(&b"un"[..], 0), (b"unit", 1)]);
/// assert_eq!(trie.longest(b"units"), Some((1, 4)));
/// assert_eq!(trie.longest(b"uni"), Some((0, 2)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trie {
    bytes: Vec<u8>,
    /// The range of the bytes of each token, and its number.
    tokens: Vec<(Range<usize>, i32)>,
}

impl Trie {
    /// Creates a trie. The last of equal tokens wins; empty tokens are ignored.
    pub fn new<'t>(tokens: impl IntoIterator<Item = (&'t [u8], i32)>) -> Self {
        Self::of_list(tokens.into_iter().filter(|(token, _)| !token.is_empty()).collect())
    }

    /// Separate from the generic [`Trie::new`], so that it is compiled only once.
    fn of_list(mut all: Vec<(&[u8], i32)>) -> Self {
        all.sort_by_key(|(token, _)| *token);
        let mut trie =
            Self { bytes: Vec::with_capacity(all.iter().map(|(t, _)| t.len()).sum()), tokens: Vec::new() };
        for (i, (token, number)) in all.iter().enumerate() {
            if all.get(i + 1).is_some_and(|(next, _)| next == token) {
                continue;
            }
            let start = trie.bytes.len();
            trie.bytes.extend_from_slice(token);
            trie.tokens.push((start..trie.bytes.len(), *number));
        }
        trie
    }

    /// All tokens that `text` starts with, shortest first, as number and length.
    pub fn prefixes<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (i32, usize)> + 't {
        let mut among = 0..self.tokens.len();
        text.iter()
            .enumerate()
            .map_while(move |(depth, &byte)| {
                among = self.narrowed(among.clone(), depth, byte);
                let (token, number) = self.tokens.get(among.start).filter(|_| !among.is_empty())?;
                Some((token.len() == depth + 1).then_some((*number, depth + 1)))
            })
            .flatten()
    }

    /// The longest token that `text` starts with, as number and length.
    pub fn longest(&self, text: &[u8]) -> Option<(i32, usize)> {
        self.prefixes(text).last()
    }

    /// Narrows a range of tokens with the same first `depth` bytes to the tokens whose next byte is `byte`.
    fn narrowed(&self, among: Range<usize>, depth: usize, byte: u8) -> Range<usize> {
        let tokens = &self.tokens[among.clone()];
        let byte_of =
            |(token, _): &(Range<usize>, i32)| (token.len() > depth).then(|| self.bytes[token.start + depth]);
        let start = tokens.partition_point(|token| byte_of(token) < Some(byte));
        let len = tokens[start..].partition_point(|token| byte_of(token) == Some(byte));
        among.start + start..among.start + start + len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_come_shortest_first() {
        let trie = Trie::new([(&b"abc"[..], 3), (b"a", 1), (b"b", 9), (b"", 7), (b"a", 2)]);
        assert_eq!(trie.prefixes(b"abcd").collect::<Vec<_>>(), [(2, 1), (3, 3)]);
        assert_eq!(trie.prefixes(b"x").count(), 0);
        assert_eq!(trie.prefixes(b"").count(), 0);
        assert_eq!(Trie::default().longest(b"a"), None);
    }
}
