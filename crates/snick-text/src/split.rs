//! Splits texts with a pattern.

use std::ops::Range;

use crate::{Pattern, TextError};

/// What happens to the matches of the pattern.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Behaviour {
    /// The matches are removed.
    #[default]
    Remove,
    /// Each match becomes a piece.
    Isolate,
    /// Each match is appended to the previous piece.
    MergedWithPrevious,
    /// Each match is prepended to the next piece.
    MergedWithNext,
}

/// How to split a text.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Split {
    /// What happens to matches.
    pub behaviour: Behaviour,
    /// Swaps the roles of matches and the parts between them.
    pub invert: bool,
    /// The maximum number of splits. After this many pieces, the rest of the text becomes the last piece.
    pub max_splits: Option<usize>,
}

/// The state of splitting a text.
struct Splitter<F> {
    split: Split,
    len: usize,
    count: usize,
    /// The start of a part that will be merged with the part after it.
    waiting: Option<usize>,
    each: F,
}

impl<F: FnMut(Range<usize>)> Splitter<F> {
    fn add(&mut self, part: Range<usize>, invert: bool) {
        let mut begin = part.start;
        match self.split.behaviour {
            Behaviour::Remove if invert => return,
            Behaviour::Remove | Behaviour::Isolate => {}
            Behaviour::MergedWithPrevious if invert => begin = self.waiting.unwrap_or(0),
            Behaviour::MergedWithPrevious if part.end != self.len => {
                self.waiting = Some(begin);
                return;
            }
            Behaviour::MergedWithPrevious => {}
            Behaviour::MergedWithNext if invert => {
                self.waiting = Some(begin);
                return;
            }
            Behaviour::MergedWithNext => begin = self.waiting.unwrap_or(begin),
        }
        let is_last = self.split.max_splits == Some(self.count);
        (self.each)(begin..if is_last { self.len } else { part.end });
        self.count += 1;
    }
}

impl Pattern {
    /// Calls `each` with the pieces of a text. If a match has no neighbour to merge with, its piece can begin
    /// where an earlier piece began, so pieces can overlap.
    ///
    /// # Errors
    /// [`TextError::Steps`].
    pub fn split(&self, text: &[u8], split: Split, each: impl FnMut(Range<usize>)) -> Result<(), TextError> {
        let mut splitter = Splitter { split, len: text.len(), count: 0, waiting: None, each };
        let mut start = 0;
        self.each_match(text, false, |found| {
            if found.range.start != start {
                splitter.add(start..found.range.start, split.invert);
            }
            start = found.range.end;
            splitter.add(found.range, !split.invert);
        })?;
        if start < text.len() {
            splitter.add(start..text.len(), split.invert);
        } else if split.behaviour == Behaviour::MergedWithNext && splitter.waiting != Some(text.len()) {
            let begin = splitter.waiting.unwrap_or(0);
            splitter.add(begin..text.len(), split.invert);
        }
        Ok(())
    }

    /// Calls `each` with every part of a text, and with whether this part is a special token. If a group of
    /// the pattern matches, the special token is the text of the group, and the rest of the match is dropped.
    ///
    /// # Errors
    /// [`TextError::Steps`].
    pub fn split_special(
        &self,
        text: &[u8],
        mut each: impl FnMut(Range<usize>, bool),
    ) -> Result<(), TextError> {
        let mut start = 0;
        self.each_match(text, true, |found| {
            if start < found.range.start {
                each(start..found.range.start, false);
            }
            start = found.range.end;
            each(found.group.filter(|group| !group.is_empty()).unwrap_or(found.range), true);
        })?;
        if start < text.len() {
            each(start..text.len(), false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(pattern: &str, text: &str, split: Split) -> Vec<String> {
        let mut pieces = Vec::new();
        let pattern = Pattern::new(pattern).unwrap();
        pattern.split(text.as_bytes(), split, |piece| pieces.push(text[piece].to_string())).unwrap();
        pieces
    }

    #[test]
    fn each_behaviour_places_the_matches() {
        let split = |behaviour| Split { behaviour, ..Split::default() };
        assert_eq!(pieces(" ", "a b  c", split(Behaviour::Remove)), ["a", "b", "c"]);
        assert_eq!(pieces(" ", "a b", split(Behaviour::Isolate)), ["a", " ", "b"]);
        assert_eq!(pieces(" ", "a b c", split(Behaviour::MergedWithPrevious)), ["a ", "b ", "c"]);
        assert_eq!(pieces("▁", "▁ab▁c▁", split(Behaviour::MergedWithNext)), ["▁ab", "▁c", "▁"]);
        assert_eq!(pieces("▁", "ab", split(Behaviour::MergedWithNext)), ["ab"]);
        let inverted = Split { invert: true, ..Split::default() };
        assert_eq!(pieces(r"\w+|[^\w\s]+", "it's 5", inverted), ["it", "'", "s", "5"]);
        let once = Split { max_splits: Some(1), behaviour: Behaviour::Isolate, ..Split::default() };
        assert_eq!(pieces("-", "a-b", once), ["a", "-b", "b"]);
    }

    #[test]
    fn gpt2_pieces_keep_the_last_space_of_a_run() {
        let pattern = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
        let split = Split { behaviour: Behaviour::Isolate, ..Split::default() };
        assert_eq!(pieces(pattern, "it's   12é!\n", split), ["it", "'s", "  ", " 12", "é", "!", "\n"]);
    }

    #[test]
    fn special_tokens_are_the_groups() {
        let pattern = Pattern::new(r"(?:\s*)(\<mask\>)|(\<s\>)(?:\s*)").unwrap();
        let (text, mut parts) = ("<s>  a <mask>b", Vec::new());
        pattern.split_special(text.as_bytes(), |part, special| parts.push((&text[part], special))).unwrap();
        assert_eq!(parts, [("<s>", true), ("a", false), ("<mask>", true), ("b", false)]);
    }

    #[test]
    fn a_text_that_is_not_utf8_is_one_piece() {
        let (pattern, mut pieces) = (Pattern::new("a").unwrap(), Vec::new());
        pattern.split(b"ba\xff", Split::default(), |piece| pieces.push(piece)).unwrap();
        assert!(matches!(&pieces[..], [all] if *all == (0..3)));
    }
}
