//! The values and sizes written so far. At the end of a region, its values and sizes are removed.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use snick_ir::Value;
use snick_shape::{SymExpr, SymbolId};

use super::hlo::{Operand, ValueId};

/// A map that can undo all insertions since a mark, in time linear in their number. Thus entering a region
/// does not copy the map.
pub(crate) struct ScopedMap<K, V> {
    map: HashMap<K, V>,
    /// Inserted keys with the previous values; only recorded while there is a mark.
    log: Vec<(K, Option<V>)>,
    marks: usize,
}

impl<K, V> Default for ScopedMap<K, V> {
    fn default() -> Self {
        Self { map: HashMap::new(), log: Vec::new(), marks: 0 }
    }
}

impl<K: Hash + Eq + Clone, V> ScopedMap<K, V> {
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.get(key)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.map.contains_key(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.marks == 0 {
            self.map.insert(key, value);
            return;
        }
        let old = self.map.insert(key.clone(), value);
        self.log.push((key, old));
    }

    /// Begins to record insertions.
    pub(crate) fn mark(&mut self) -> usize {
        self.marks += 1;
        self.log.len()
    }

    /// Undoes all insertions since the mark, which must be the latest one.
    pub(crate) fn forget(&mut self, mark: usize) {
        self.marks = self.marks.saturating_sub(1);
        for (key, old) in self.log.drain(mark.min(self.log.len())..).rev() {
            match old {
                Some(old) => self.map.insert(key, old),
                None => self.map.remove(&key),
            };
        }
    }
}

/// The values and sizes of a graph or region.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) values: ScopedMap<Value, Operand>,
    pub(crate) results: Vec<Operand>,
    /// For each symbol, a value and the axis of this value whose size is the symbol.
    pub(crate) sources: ScopedMap<SymbolId, (Operand, usize)>,
    /// Sizes that were written so far, as i64 scalars.
    pub(crate) numbers: ScopedMap<SymExpr, Operand>,
    /// Intermediate results of size arithmetic written so far, by operation and operands.
    pub(crate) steps: ScopedMap<(&'static str, Vec<ValueId>), Operand>,
}

/// A state of the scope that can be restored.
#[derive(Copy, Clone)]
pub(crate) struct Mark {
    values: usize,
    results: usize,
    sources: usize,
    numbers: usize,
    steps: usize,
}

impl Scope {
    pub(crate) fn mark(&mut self) -> Mark {
        Mark {
            values: self.values.mark(),
            results: self.results.len(),
            sources: self.sources.mark(),
            numbers: self.numbers.mark(),
            steps: self.steps.mark(),
        }
    }

    /// Removes everything added since the mark, which must be the latest one.
    pub(crate) fn forget(&mut self, mark: Mark) {
        self.values.forget(mark.values);
        self.results.truncate(mark.results);
        self.sources.forget(mark.sources);
        self.numbers.forget(mark.numbers);
        self.steps.forget(mark.steps);
    }
}

#[cfg(test)]
mod tests {
    use super::ScopedMap;

    #[test]
    fn marks_nest_and_give_back_what_was_replaced() {
        let mut map = ScopedMap::default();
        map.insert("a", 1);
        let outer = map.mark();
        map.insert("a", 2);
        map.insert("b", 2);
        let inner = map.mark();
        map.insert("a", 3);
        map.forget(inner);
        assert_eq!((map.get("a"), map.get("b")), (Some(&2), Some(&2)));
        map.forget(outer);
        assert_eq!((map.get("a"), map.get("b")), (Some(&1), None));
        map.insert("c", 1);
        assert!(map.log.is_empty());
    }
}
