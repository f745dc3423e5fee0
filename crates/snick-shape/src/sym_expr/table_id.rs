//! Which table a symbol is of.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Tells tables apart, so that a symbol is not taken for one of another table. A copy of a table has the same id.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TableId(pub(crate) u32);

impl Default for TableId {
    /// A new id that no other table has. Ids are serialised, so each process starts at a different number.
    fn default() -> Self {
        static NEXT: LazyLock<AtomicU32> =
            LazyLock::new(|| AtomicU32::new(RandomState::new().hash_one(0) as u32));
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
