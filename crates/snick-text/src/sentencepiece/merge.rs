//! Byte pair encoding of a SentencePiece model, which first merges the neighbours with the best score.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use super::{SentencePiece, TokenKind};

/// A part of the text, linked to its neighbours.
struct Symbol {
    part: Range<usize>,
    before: Option<usize>,
    after: Option<usize>,
    /// User-defined tokens never merge.
    is_frozen: bool,
}

/// A possible merge.
#[derive(PartialEq)]
struct Candidate {
    score: f32,
    left: Reverse<usize>,
    right: usize,
    len: usize,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |c: &Self| (c.left, c.right, c.len);
        self.score.total_cmp(&other.score).then_with(|| key(self).cmp(&key(other)))
    }
}

/// The state of merging a text.
struct Merging<'m, 't> {
    model: &'m SentencePiece,
    text: &'t [u8],
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Candidate>,
    /// For each merge that produced an unused token, the length of its left side.
    undone: HashMap<&'t [u8], usize>,
}

impl SentencePiece {
    /// Appends the parts of a text and their tokens.
    pub(super) fn merge<'t>(&self, text: &'t [u8], pieces: &mut Vec<(i32, &'t [u8])>) {
        let mut merging = Merging {
            model: self,
            text,
            symbols: Vec::new(),
            queue: BinaryHeap::new(),
            undone: HashMap::new(),
        };
        merging.start();
        while let Some(Candidate { left: Reverse(left), right, len, .. }) = merging.queue.pop() {
            merging.merge(left, right, len);
        }
        let mut next = (!merging.symbols.is_empty()).then_some(0);
        while let Some(at) = next {
            merging.emit(merging.symbols[at].part.clone(), pieces);
            next = merging.symbols[at].after;
        }
    }
}

impl<'t> Merging<'_, 't> {
    /// Splits the text into characters and queues the merges of neighbours.
    fn start(&mut self) {
        let mut start = 0;
        while start < self.text.len() {
            let (len, is_frozen) = self.model.char_len(&self.text[start..]);
            let before = self.symbols.len().checked_sub(1);
            let part = start..start + len.max(1);
            start = part.end;
            let after = (start < self.text.len()).then_some(self.symbols.len() + 1);
            self.symbols.push(Symbol { part, before, after, is_frozen });
        }
        for left in 0..self.symbols.len().saturating_sub(1) {
            self.enqueue(Some(left), Some(left + 1));
        }
    }

    /// Queues the merge of two neighbours, if the result is a token.
    fn enqueue(&mut self, left: Option<usize>, right: Option<usize>) {
        let (Some(left), Some(right)) = (left, right) else { return };
        let [a, b] = [&self.symbols[left], &self.symbols[right]];
        if a.is_frozen || b.is_frozen {
            return;
        }
        let whole = &self.text[a.part.start..b.part.end];
        let Some(&id) = self.model.pieces.get(whole) else { return };
        let Ok(token) = self.model.token(id) else { return };
        if token.kind == TokenKind::Unused {
            self.undone.insert(whole, a.part.len());
        }
        self.queue.push(Candidate { score: token.score, left: Reverse(left), right, len: whole.len() });
    }

    /// Merges two symbols, unless one of them has changed in the meantime.
    fn merge(&mut self, left: usize, right: usize, len: usize) {
        let [a, b] = [&self.symbols[left].part, &self.symbols[right].part];
        if a.is_empty() || b.is_empty() || a.len() + b.len() != len {
            return;
        }
        let (whole, after) = (a.start..b.end, self.symbols[right].after);
        self.symbols[left].part = whole;
        self.symbols[left].after = after;
        if let Some(after) = after {
            self.symbols[after].before = Some(left);
        }
        self.symbols[right].part = 0..0;
        self.enqueue(self.symbols[left].before, Some(left));
        self.enqueue(Some(left), after);
    }

    /// Appends a part of the text. If its token is unused, splits it again into the two sides of the merge.
    fn emit(&self, part: Range<usize>, pieces: &mut Vec<(i32, &'t [u8])>) {
        let mut parts = vec![part];
        while let Some(part) = parts.pop() {
            let text = &self.text[part.clone()];
            let id = self.model.find(text);
            let is_unused = self.model.token(id).is_ok_and(|token| token.kind == TokenKind::Unused);
            match self.undone.get(text).filter(|_| is_unused) {
                Some(len) => parts.extend([part.start + len..part.end, part.start..part.start + len]),
                None => pieces.push((id, text)),
            }
        }
    }
}
