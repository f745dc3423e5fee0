//! Distributing work among the threads of the rayon pool that a kernel is called in. Without the feature `threads`, the
//! caller's thread does all of it.

use std::convert::Infallible;

/// Whether this thread belongs to a pool of several.
pub(crate) fn is_shared() -> bool {
    #[cfg(feature = "threads")]
    return rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1;
    #[cfg(not(feature = "threads"))]
    false
}

/// The size of the parts of `len` that threads compute one at a time: a few for each of them, but at least `least`. All of
/// it if this thread is alone.
pub(crate) fn part(len: usize, least: usize) -> usize {
    /// Parts for each thread: where one is slower, others compute more of them.
    #[cfg(feature = "threads")]
    const EACH: usize = 3;
    #[cfg(feature = "threads")]
    if is_shared() {
        return len.div_ceil(EACH * rayon::current_num_threads()).max(least).max(1);
    }
    len.max(least).max(1)
}

/// Calls `each` with every part, on all threads of the pool.
pub(crate) fn for_each<P: Send>(parts: impl Iterator<Item = P>, each: impl Fn(P) + Send + Sync) {
    let Ok(()) = try_for_each(parts, |part| {
        each(part);
        Ok::<(), Infallible>(())
    });
}

/// As [`for_each`].
///
/// # Errors
/// One of those of `each`.
pub(crate) fn try_for_each<P: Send, E: Send>(
    parts: impl Iterator<Item = P>,
    each: impl Fn(P) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    #[cfg(feature = "threads")]
    {
        use rayon::prelude::*;
        parts.collect::<Vec<P>>().into_par_iter().try_for_each(each)
    }
    #[cfg(not(feature = "threads"))]
    {
        let mut parts = parts;
        parts.try_for_each(each)
    }
}
