//! Slices along a dim that is spread: elements move to the devices that hold them then, by permutations of devices.
//!
//! XLA exchanges with neighbours if no device needs more than they hold; all send what the one needs that needs most.
//! Otherwise it gathers pairs of devices into permutations, in each of which all send what any of the pairs does.

use std::ops::Range;

/// A run of elements along a dim of several devices.
pub(super) struct Slice {
    pub(super) devices: usize,
    /// What a device holds before, and after.
    pub(super) from: usize,
    pub(super) to: usize,
    /// The first element.
    pub(super) start: usize,
}

impl Slice {
    /// The width of what each device sends, of each permutation.
    pub(super) fn widths(&self) -> Vec<usize> {
        let most = |missing: &dyn Fn(usize) -> usize| (0..self.devices).map(missing).max().unwrap_or(0);
        let before = most(&|at| (at * self.from).saturating_sub(self.start + at * self.to));
        let behind = most(&|at| (self.start + (at + 1) * self.to).saturating_sub((at + 1) * self.from));
        if before.max(behind) <= self.from {
            return [before, behind].into_iter().filter(|&width| width > 0).collect();
        }
        self.permutations().iter().map(Range::len).collect()
    }

    /// What is sent in each permutation, as a range of what a device holds.
    fn permutations(&self) -> Vec<Range<usize>> {
        let mut sent: Vec<Range<usize>> = Vec::new();
        for source in 0..self.devices {
            // A device sends once in a permutation.
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

    /// What a device holds of what another one needs.
    fn piece(&self, source: usize, target: usize) -> Range<usize> {
        let (held, needed) = (source * self.from, self.start + target * self.to);
        let (start, end) = (needed.max(held), (needed + self.to).min(held + self.from));
        start.saturating_sub(held)..end.saturating_sub(held)
    }
}

#[cfg(test)]
mod tests {
    use super::Slice;

    /// As compiled by XLA, of jaxlib 0.10.2.
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
