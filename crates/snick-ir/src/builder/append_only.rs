//! A list that grows while its elements are borrowed.

use std::cell::{Cell, OnceCell};

/// The length of the first chunk. Each chunk is twice as long as the one before.
const FIRST_LEN: usize = 1;

/// An append-only list. Elements never move, so references to them stay valid when elements are added.
pub(super) struct AppendOnly<T> {
    first: OnceCell<Chunk<T>>,
    len: Cell<usize>,
}

struct Chunk<T> {
    slots: Box<[OnceCell<T>]>,
    next: OnceCell<Box<Chunk<T>>>,
}

impl<T> Chunk<T> {
    fn new(len: usize) -> Self {
        Self { slots: (0..len).map(|_| OnceCell::new()).collect(), next: OnceCell::new() }
    }
}

impl<T> Default for AppendOnly<T> {
    fn default() -> Self {
        Self { first: OnceCell::new(), len: Cell::new(0) }
    }
}

impl<T> AppendOnly<T> {
    pub(super) fn len(&self) -> usize {
        self.len.get()
    }

    pub(super) fn push(&self, element: T) -> &T {
        let mut at = self.len();
        let mut chunk = self.first.get_or_init(|| Chunk::new(FIRST_LEN));
        while at >= chunk.slots.len() {
            at -= chunk.slots.len();
            let len = 2 * chunk.slots.len();
            chunk = chunk.next.get_or_init(|| Box::new(Chunk::new(len)));
        }
        self.len.set(self.len() + 1);
        chunk.slots[at].get_or_init(|| element)
    }

    pub(super) fn get(&self, mut at: usize) -> Option<&T> {
        let mut chunk = self.first.get()?;
        while at >= chunk.slots.len() {
            at -= chunk.slots.len();
            chunk = chunk.next.get()?;
        }
        chunk.slots[at].get()
    }

    pub(super) fn into_elements(self) -> impl Iterator<Item = T> {
        let mut rest = self.first.into_inner();
        let slots = std::iter::from_fn(move || {
            let Chunk { slots, next } = rest.take()?;
            rest = next.into_inner().map(|next| *next);
            Some(slots)
        });
        slots.flatten().filter_map(OnceCell::into_inner)
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::AppendOnly;

    #[test]
    fn elements_stay_in_place_and_in_order() {
        let list = AppendOnly::default();
        list.push(0);
        let first = list.get(0).unwrap();
        (1..1000).for_each(|i| assert_eq!(*list.push(i), i));
        assert_eq!((*first, list.len(), list.last(), list.get(1000)), (0, 1000, Some(&999), None));
        assert!((0..1000).all(|i| list.get(i) == Some(&i)));
        assert!(std::ptr::eq(first, list.get(0).unwrap()));
        assert!(list.into_elements().eq(0..1000));
        assert!(AppendOnly::<i32>::default().last().is_none());
    }
}
