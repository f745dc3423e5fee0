//! Where vectors lie.

use std::ops::{Deref, DerefMut};

/// What begins with a cache line: vectors as long as one do not lie in two.
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
