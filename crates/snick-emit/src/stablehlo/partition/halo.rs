//! Slices along a sharded dim. Collective permutes move elements to the devices that hold them after the
//! slice.
//!
//! If each device needs elements only from its neighbours, XLA performs one exchange per direction. In an
//! exchange, all devices send the same number of elements: the largest number that any device needs.
//! Otherwise, XLA groups pairs of devices into permutations. All pairs of a permutation send the same range,
//! which is the union of the ranges that the pairs need.

use std::ops::Range;

/// A slice along a sharded dim.
pub(super) struct Slice {
    pub(super) devices: usize,
    /// The number of elements per device of the operand (`from`) and of the result (`to`).
    pub(super) from: usize,
    pub(super) to: usize,
    /// The index of the first element of the slice.
    pub(super) start: usize,
}

impl Slice {
    /// The number of elements that each device sends, for each permutation.
    pub(super) fn widths(&self) -> Vec<usize> {
        let most = |missing: &dyn Fn(usize) -> usize| (0..self.devices).map(missing).max().unwrap_or(0);
        let before = most(&|at| (at * self.from).saturating_sub(self.start + at * self.to));
        let behind = most(&|at| (self.start + (at + 1) * self.to).saturating_sub((at + 1) * self.from));
        if before.max(behind) <= self.from {
            return [before, behind].into_iter().filter(|&width| width > 0).collect();
        }
        self.permutations().iter().map(Range::len).collect()
    }

    /// The range of local elements that each device sends, for each permutation.
    fn permutations(&self) -> Vec<Range<usize>> {
        let mut sent: Vec<Range<usize>> = Vec::new();
        for source in 0..self.devices {
            // Within a permutation, a device sends only once.
            let mut first = 0;
            for target in (0..self.devices).filter(|&target| target != source) {
                let piece = self.piece(source, target);
                if piece.is_empty() {
                    continue;
                }
                let union = |own: &Range<usize>| own.start.min(piece.start)..own.end.max(piece.end);
                let is_worth = |own: &Range<usize>| union(own).len() <= own.len() + piece.len();
                match (first..sent.len()).find(|&at| is_worth(&sent[at])) {
                    Some(at) => {
                        sent[at] = union(&sent[at]);
                        first = at + 1;
                    }
                    None => {
                        sent.push(piece);
                        first = sent.len();
                    }
                }
            }
        }
        sent
    }

    /// The range of elements on the device `source` that the device `target` needs.
    fn piece(&self, source: usize, target: usize) -> Range<usize> {
        let (held, needed) = (source * self.from, self.start + target * self.to);
        let (start, end) = (needed.max(held), (needed + self.to).min(held + self.from));
        start.saturating_sub(held)..end.saturating_sub(held)
    }
}

#[cfg(test)]
mod tests {
    use super::Slice;

    /// Compares with the code that XLA in jaxlib 0.10.2 generates.
    #[test]
    fn widths_are_those_of_xla() {
        for (devices, size, start, end, widths) in [
            (2, 48, 0, 16, &[16][..]),
            (2, 48, 16, 32, &[]),
            (2, 48, 32, 48, &[16]),
            (4, 48, 0, 16, &[8, 4]),
            (4, 48, 16, 32, &[8, 8]),
            (4, 48, 32, 48, &[4, 4, 4]),
            (2, 16, 0, 8, &[4]),
            (4, 16, 0, 8, &[4, 2]),
            (4, 16, 8, 16, &[2, 2]),
            (8, 48, 0, 16, &[4, 4, 2]),
            (8, 48, 16, 32, &[6, 2, 4]),
            (8, 48, 32, 48, &[4, 4, 2]),
        ] {
            let slice = Slice { devices, from: size / devices, to: (end - start) / devices, start };
            assert_eq!(slice.widths(), widths, "{devices} devices, {start}..{end} of {size}");
        }
    }
}
