//! Distributing work among the threads of the rayon pool that a kernel is called in. Without the feature `threads`, the
//! caller's thread does all of it.

use std::convert::Infallible;
#[cfg(feature = "threads")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "threads")]
use crate::Pool;

/// Whether this thread belongs to a pool of several.
pub(crate) fn is_shared() -> bool {
    #[cfg(feature = "threads")]
    return rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1;
    #[cfg(not(feature = "threads"))]
    false
}

/// The number of threads of the pool.
fn threads() -> usize {
    #[cfg(feature = "threads")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "threads"))]
    1
}

/// The size of the parts of `len` that threads compute one at a time: a few for each of them, but at least `least`. All of
/// it if this thread is alone.
pub(crate) fn part(len: usize, least: usize) -> usize {
    /// Where a thread is slower, others compute more parts.
    const EACH: usize = 3;
    share_of(EACH, len, least)
}

/// As [`part`], one for each thread, where every part begins with work of its own.
pub(crate) fn share(len: usize, least: usize) -> usize {
    share_of(1, len, least)
}

/// As [`part`], so many for each thread.
fn share_of(each: usize, len: usize, least: usize) -> usize {
    let parts = if is_shared() { each * threads() } else { 1 };
    len.div_ceil(parts).max(least).max(1)
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
#[cfg(feature = "threads")]
pub(crate) fn try_for_each<P: Send, E: Send>(
    parts: impl Iterator<Item = P>,
    each: impl Fn(P) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    fn unlocked<T>(result: Result<T, PoisonError<T>>) -> T {
        result.unwrap_or_else(PoisonError::into_inner)
    }
    let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    let failed = Mutex::new(None);
    on_all_threads(parts.len(), &|i| {
        let part = unlocked(parts[i].lock()).take();
        if let Some(Err(error)) = part.map(&each) {
            *unlocked(failed.lock()) = Some(error);
        }
    });
    unlocked(failed.into_inner()).map_or(Ok(()), Err)
}

/// As [`for_each`].
///
/// # Errors
/// The first of those of `each`.
#[cfg(not(feature = "threads"))]
pub(crate) fn try_for_each<P: Send, E: Send>(
    mut parts: impl Iterator<Item = P>,
    each: impl Fn(P) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    parts.try_for_each(each)
}

/// Calls `each` with every number below `count`. Not generic, so that the code of rayon is compiled once. All threads take
/// their memory from the pool of this one.
#[cfg(feature = "threads")]
fn on_all_threads(count: usize, each: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    let memory = Pool::of_this_thread();
    (0..count).into_par_iter().for_each(|i| memory.scope(|| each(i)));
}
