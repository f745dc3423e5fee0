//! Sets of ports.

use snick_tensor::SmallVector;

/// A set of ports, given by their indices.
#[derive(Default)]
pub(super) struct PortSet(SmallVector<u64, 1>);

impl PortSet {
    /// Inserts a port, and returns whether it is new.
    pub(super) fn insert(&mut self, port: usize) -> bool {
        let (word, bit) = (port / 64, 1 << (port % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}
