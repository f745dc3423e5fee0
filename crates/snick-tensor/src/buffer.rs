//! Memory for computed elements, and the pool that recycles it.
//!
//! Fresh memory is expensive: the system clears each page on first access, which costs more than many kernels. Repeated
//! runs of a model therefore share a [`Pool`]: memory that one layer drops, another reuses.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytemuck::{Pod, allocation::try_zeroed_vec};

use crate::TensorError;

/// Smaller buffers are left to the allocator.
const SMALL: usize = 1 << 15;

/// A buffer serves requests of at least this fraction of its size: a small tensor must not occupy the memory of a large
/// one.
const LEAST_SHARE: usize = 4;

/// Unused buffers.
///
/// Memory taken while [`Pool::scope`] runs returns to the pool when its last owner drops it, on any thread. Every run
/// of a model asks for the same sizes, at different times: the pool keeps twice the peak in use, so that most runs need
/// no fresh memory.
#[derive(Default, Debug)]
pub struct Pool {
    stock: Mutex<Stock>,
}

/// The limit of the pool, buffers in use included, as a multiple of the peak in use.
const KEPT: usize = 2;

/// The state of a pool; sizes are in words.
#[derive(Default, Debug)]
struct Stock {
    /// The oldest first.
    free: Vec<Vec<u64>>,
    in_use: usize,
    /// The peak in use.
    peak: usize,
}

impl Stock {
    /// The smallest buffer of at least `words`, unless it is far larger.
    fn recycled(&mut self, words: usize) -> Option<Vec<u64>> {
        let fits =
            |(_, buffer): &(usize, &Vec<u64>)| buffer.len() >= words && buffer.len() / LEAST_SHARE <= words;
        let best = self.free.iter().enumerate().filter(fits).min_by_key(|(_, buffer)| buffer.len());
        let best = best.map(|(i, _)| i)?;
        Some(self.free.remove(best))
    }

    /// Frees what exceeds the limits of the pool and of the thread after `words` of fresh memory are taken, oldest first.
    fn make_room(&mut self, words: usize, limit: usize) {
        let in_use = self.in_use.saturating_add(words);
        let most = self.peak.max(in_use).saturating_mul(KEPT).min(limit);
        let mut held = self.free.iter().map(Vec::len).fold(in_use, usize::saturating_add);
        let too_much = self.free.iter().take_while(|oldest| {
            let goes = held > most;
            held = held.saturating_sub(oldest.len());
            goes
        });
        let too_much = too_much.count();
        self.free.drain(..too_much);
    }

    fn taken(&mut self, words: usize) {
        self.in_use = self.in_use.saturating_add(words);
        self.peak = self.peak.max(self.in_use);
    }

    fn give(&mut self, buffer: Vec<u64>) {
        self.in_use = self.in_use.saturating_sub(buffer.len());
        self.free.push(buffer);
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The pool of a thread, and what may be in use of it.
#[derive(Clone)]
struct Current {
    pool: Arc<Pool>,
    /// In words.
    limit: usize,
}

/// Restores the previous current pool, even if a kernel panics.
struct Restore(Option<Current>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| *current = self.0.take());
    }
}

impl Pool {
    /// Runs `work`; its tensors take their memory from this pool.
    pub fn scope<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        self.scope_within(usize::MAX, work)
    }

    /// [`Pool::scope`]; a tensor that would bring the memory in use above `bytes` is refused.
    pub fn scope_within<R>(self: &Arc<Self>, bytes: usize, work: impl FnOnce() -> R) -> R {
        let current = Current { pool: self.clone(), limit: bytes / size_of::<u64>() };
        let before = CURRENT.with_borrow_mut(|before| before.replace(current));
        let _restore = Restore(before);
        work()
    }

    /// The most bytes that a tensor of this thread may take.
    pub(crate) fn limit() -> usize {
        let limit = CURRENT.with_borrow(|current| current.as_ref().map(|current| current.limit));
        limit.map_or(usize::MAX, |words| words.saturating_mul(size_of::<u64>()))
    }

    /// Memory of at least `words`, of unspecified content; refused if more than `limit` would be in use then.
    fn take(&self, words: usize, limit: usize) -> Result<Vec<u64>, ()> {
        let mut stock = self.stock();
        if stock.in_use.saturating_add(words) > limit {
            return Err(());
        }
        if let Some(found) = stock.recycled(words) {
            stock.taken(found.len());
            return Ok(found);
        }
        stock.make_room(words, limit);
        drop(stock);
        let fresh = try_zeroed_vec(words)?;
        self.stock().taken(words);
        Ok(fresh)
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory for elements: initialised, but a recycled buffer holds old values.
pub(crate) struct Buffer<T> {
    words: Vec<u64>,
    len: usize,
    home: Option<Weak<Pool>>,
    elements: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// Memory for `len` elements of unspecified value: the caller must write all of them.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`] if the allocator refuses, or the limit of the pool is reached.
    pub fn any(len: usize) -> Result<Self, TensorError> {
        let refuse = || TensorError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(refuse)?;
        let words = bytes.div_ceil(size_of::<u64>());
        let current = if bytes < SMALL { None } else { CURRENT.with_borrow(Option::clone) };
        let words = match &current {
            Some(Current { pool, limit }) => pool.take(words, *limit),
            None => try_zeroed_vec(words),
        };
        let words = words.map_err(|()| refuse())?;
        Ok(Buffer {
            words,
            len,
            home: current.map(|current| Arc::downgrade(&current.pool)),
            elements: PhantomData,
        })
    }

    /// As [`Buffer::any`], for results that cannot fail: aborts if memory runs out, as a vector does.
    pub fn any_or_abort(len: usize) -> Self {
        Self::any(len).unwrap_or_else(|_| Buffer {
            words: vec![0; len.saturating_mul(size_of::<T>()).div_ceil(size_of::<u64>())],
            len,
            home: None,
            elements: PhantomData,
        })
    }

    /// The bytes of the elements.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len * size_of::<T>()]
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(pool) = self.home.take().and_then(|home| home.upgrade()) {
            pool.stock().give(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(pool: &Pool) -> usize {
        pool.stock().free.iter().map(Vec::len).sum()
    }

    #[test]
    fn dropped_buffers_are_reused() {
        let pool = Arc::new(Pool::default());
        let first = pool.scope(|| Buffer::<f32>::any(1 << 16)).unwrap();
        let place = first.as_ptr();
        std::thread::spawn(move || drop(first)).join().unwrap();
        let second = pool.scope(|| Buffer::<u8>::any(1 << 17)).unwrap();
        assert_eq!(second.as_ptr(), place.cast());
        assert_eq!(second.len(), 1 << 17);
    }

    #[test]
    fn a_pool_holds_twice_the_peak() {
        let pool = Arc::new(Pool::default());
        let mut largest = 0;
        for len in [1 << 13, 1 << 15, 1 << 17, 1 << 20, 1 << 13, 1 << 18, 1 << 20, 1 << 13, 1 << 15] {
            drop(pool.scope(|| Buffer::<u64>::any(len)).unwrap());
            largest = largest.max(len);
            assert!(free(&pool) <= 2 * largest);
        }
        assert_eq!(pool.stock().in_use, 0);
    }

    #[test]
    fn the_same_sizes_again_are_all_there() {
        let pool = Arc::new(Pool::default());
        let run = || {
            let take = |len| pool.scope(|| Buffer::<u64>::any(len)).unwrap();
            let mut last = take(1 << 20);
            let mut places = vec![last.as_ptr()];
            for len in [1 << 17, 1 << 19, 1 << 16, 1 << 14] {
                last = take(len);
                places.push(last.as_ptr());
            }
            places.sort();
            places
        };
        let first = run();
        assert_eq!(run(), first);
    }

    #[test]
    fn memory_that_was_refused_is_not_in_use() {
        let pool = Arc::new(Pool::default());
        assert!(pool.scope(|| Buffer::<u64>::any(usize::MAX / 8)).is_err());
        assert_eq!(pool.stock().in_use, 0);
        assert_eq!(pool.stock().peak, 0);
    }

    #[test]
    fn memory_above_the_limit_is_refused() {
        let pool = Arc::new(Pool::default());
        pool.scope_within(1 << 20, || {
            let half = Buffer::<u8>::any(1 << 19).unwrap();
            assert!(Buffer::<u8>::any((1 << 19) + 8).is_err());
            drop(half);
            assert!(Buffer::<u8>::any((1 << 19) + 8).is_ok());
            assert!(crate::Tensor::scalar(1f32).broadcast_to(&[1 << 18]).is_ok());
            assert!(crate::Tensor::scalar(1f32).broadcast_to(&[(1 << 18) + 1]).is_err());
        });
        assert!(pool.scope(|| Buffer::<u8>::any(1 << 21)).is_ok());
    }

    #[test]
    fn without_a_pool_memory_is_fresh() {
        let pool = Arc::new(Pool::default());
        drop(pool.scope(|| Buffer::<u8>::any(8)).unwrap());
        drop(Buffer::<u64>::any(1 << 16).unwrap());
        assert_eq!(free(&pool), 0);
        assert!(Buffer::<u64>::any(usize::MAX / 4).is_err());
    }
}
