//! Vectors with inline space for a few items.

use std::fmt;
use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

/// A vector that stores up to `N` items inline and more on the heap. Derefs to a slice.
///
/// ```
/// use snick::SmallVector;
///
/// let mut axes: SmallVector<usize, 4> = [0, 2].into();
/// axes.push(3);
/// assert_eq!(axes, [0, 2, 3]);
/// assert_eq!(axes.iter().sum::<usize>(), 5);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SmallVector<T, const N: usize>(SmallVec<[T; N]>);

/// The items of a [`SmallVector`], by value.
///
/// ```
/// use snick::{SmallVector, SmallVectorIntoIter};
///
/// let axes: SmallVector<usize, 4> = [0, 2].into();
/// let mut axes: SmallVectorIntoIter<usize, 4> = axes.into_iter();
/// assert_eq!((axes.next_back(), axes.next(), axes.next()), (Some(2), Some(0), None));
/// ```
#[derive(Debug)]
pub struct SmallVectorIntoIter<T, const N: usize>(smallvec::IntoIter<[T; N]>);

impl<T, const N: usize> SmallVector<T, N> {
    /// A vector without items.
    pub fn new() -> Self {
        Self(SmallVec::new())
    }

    /// A vector without items and with space for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(SmallVec::with_capacity(capacity))
    }

    /// A vector of `count` times the same item.
    pub fn from_elem(item: T, count: usize) -> Self
    where
        T: Clone,
    {
        Self(SmallVec::from_elem(item, count))
    }

    /// A copy of a slice.
    pub fn from_slice(items: &[T]) -> Self
    where
        T: Copy,
    {
        Self(SmallVec::from_slice(items))
    }

    /// All items.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// All items, on the heap.
    pub fn into_vec(self) -> Vec<T> {
        self.0.into_vec()
    }

    /// Appends an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }

    /// Removes the last item; `None` if there are no items.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Inserts an item before the one at `index`, or at the end if there are only `index` items. Panics if
    /// there are fewer.
    pub fn insert(&mut self, index: usize, item: T) {
        self.0.insert(index, item);
    }

    /// Removes the item at `index`. Panics if there is none.
    pub fn remove(&mut self, index: usize) -> T {
        self.0.remove(index)
    }

    /// Removes the item at `index` and puts the last one in its place. Panics if there is none.
    pub fn swap_remove(&mut self, index: usize) -> T {
        self.0.swap_remove(index)
    }

    /// Removes each item that equals the one before it.
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        self.0.dedup();
    }

    /// Keeps the first `len` items.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps the items for which `is_kept` returns true.
    pub fn retain(&mut self, is_kept: impl FnMut(&mut T) -> bool) {
        self.0.retain(is_kept);
    }

    /// Appends copies of the items of a slice.
    pub fn extend_from_slice(&mut self, items: &[T])
    where
        T: Copy,
    {
        self.0.extend_from_slice(items);
    }

    /// Changes the length, filling with copies of `item`.
    pub fn resize(&mut self, len: usize, item: T)
    where
        T: Clone,
    {
        self.0.resize(len, item);
    }

    /// Changes the length, filling with results of `item`.
    pub fn resize_with(&mut self, len: usize, item: impl FnMut() -> T) {
        self.0.resize_with(len, item);
    }
}

impl<T, const N: usize> Default for SmallVector<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for SmallVector<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T, const N: usize> Deref for SmallVector<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const N: usize> DerefMut for SmallVector<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T, const N: usize> AsRef<[T]> for SmallVector<T, N> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T, const N: usize> AsMut<[T]> for SmallVector<T, N> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T, const N: usize> std::borrow::Borrow<[T]> for SmallVector<T, N> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T, const N: usize, const M: usize> From<[T; M]> for SmallVector<T, N> {
    fn from(items: [T; M]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Clone, const N: usize> From<&[T]> for SmallVector<T, N> {
    fn from(items: &[T]) -> Self {
        items.iter().cloned().collect()
    }
}

impl<T, const N: usize> From<Vec<T>> for SmallVector<T, N> {
    fn from(items: Vec<T>) -> Self {
        Self(SmallVec::from_vec(items))
    }
}

impl<T, const N: usize> FromIterator<T> for SmallVector<T, N> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(SmallVec::from_iter(items))
    }
}

impl<T, const N: usize> Extend<T> for SmallVector<T, N> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.0.extend(items);
    }
}

impl<T: PartialEq<U>, U, const N: usize> PartialEq<[U]> for SmallVector<T, N> {
    fn eq(&self, other: &[U]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq<U>, U, const N: usize> PartialEq<&[U]> for SmallVector<T, N> {
    fn eq(&self, other: &&[U]) -> bool {
        **self == **other
    }
}

impl<T: PartialEq<U>, U, const N: usize, const M: usize> PartialEq<[U; M]> for SmallVector<T, N> {
    fn eq(&self, other: &[U; M]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq<U>, U, const N: usize> PartialEq<Vec<U>> for SmallVector<T, N> {
    fn eq(&self, other: &Vec<U>) -> bool {
        **self == **other
    }
}

impl<T, const N: usize> IntoIterator for SmallVector<T, N> {
    type Item = T;
    type IntoIter = SmallVectorIntoIter<T, N>;

    #[inline]
    fn into_iter(self) -> SmallVectorIntoIter<T, N> {
        SmallVectorIntoIter(self.0.into_iter())
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a SmallVector<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a mut SmallVector<T, N> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> std::slice::IterMut<'a, T> {
        self.iter_mut()
    }
}

impl<T, const N: usize> Iterator for SmallVectorIntoIter<T, N> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T, const N: usize> DoubleEndedIterator for SmallVectorIntoIter<T, N> {
    fn next_back(&mut self) -> Option<T> {
        self.0.next_back()
    }
}

impl<T, const N: usize> ExactSizeIterator for SmallVectorIntoIter<T, N> {}
