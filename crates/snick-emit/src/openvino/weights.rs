//! The `.bin`: constants one behind the other, equal ones once.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Constants begin at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// Packed constants.
#[derive(Default)]
pub(super) struct Weights {
    bytes: Vec<u8>,
    /// Places by hash: only a hint, the bytes decide.
    places: HashMap<u64, Vec<Range<usize>>>,
}

impl Weights {
    /// Where these bytes lie.
    pub(super) fn place(&mut self, bytes: &[u8]) -> usize {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let same = self.places.entry(hasher.finish()).or_default();
        if let Some(place) = same.iter().find(|place| self.bytes.get((*place).clone()) == Some(bytes)) {
            return place.start;
        }
        let start = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(bytes);
        same.push(start..self.bytes.len());
        start
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Weights;

    #[test]
    fn equal_bytes_share_a_place() {
        let mut weights = Weights::default();
        assert_eq!([weights.place(&[1, 2]), weights.place(&[3]), weights.place(&[1, 2])], [0, 64, 0]);
        assert_eq!(weights.finish().len(), 65);
    }
}
