//! Values aligned to a cache line, so that loading a vector of that length never crosses two lines.

use std::ops::{Deref, DerefMut};

/// A value aligned to a cache line.
#[derive(Copy, Clone, Default)]
#[repr(align(64))]
pub(crate) struct Aligned<T>(pub T);

impl<T> Deref for Aligned<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
