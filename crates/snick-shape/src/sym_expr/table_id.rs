//! The identity of symbol tables.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Identifies a table, so that a symbol cannot be used with another table. Copies of a table share its id.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TableId(pub(crate) u32);

impl Default for TableId {
    /// A unique id. Each process starts at a random number, because ids are serialised.
    fn default() -> Self {
        static NEXT: LazyLock<AtomicU32> =
            LazyLock::new(|| AtomicU32::new(RandomState::new().hash_one(0) as u32));
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
