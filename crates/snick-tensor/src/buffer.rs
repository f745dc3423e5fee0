//! Memory for computed elements, and a pool that recycles it.
//!
//! Fresh memory is expensive: the system clears each page on first access, which costs more than many
//! kernels. Repeated runs of a model therefore share a [`Pool`]: a layer reuses memory that earlier layers
//! have dropped.

mod memory;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytemuck::Pod;

use self::memory::Memory;
use crate::TensorError;

/// Buffers of fewer bytes come from the allocator instead of the pool.
const SMALL: usize = 1 << 15;

/// A buffer is reused only for requests of at least `1 / LEAST_SHARE` of its size, so that a small tensor
/// does not occupy the memory of a large one.
const LEAST_SHARE: usize = 4;

/// A buffer larger than the request is reused only while the occupied memory stays below `1 / SPARE_SHARE` of
/// the limit.
const SPARE_SHARE: usize = 2;

/// A pool of unused buffers.
///
/// Memory taken inside [`Pool::scope`] returns to the pool when its last owner drops it, on any thread. All
/// runs of a model request the same sizes, but the order of requests and releases varies. The pool therefore
/// keeps up to three times the peak of the memory in use, so that most runs need no fresh memory.
#[derive(Default, Debug)]
pub struct Pool {
    stock: Mutex<Stock>,
}

/// The maximum size of the pool, including occupied buffers, as a multiple of the peak.
const KEPT: usize = 3;

/// The state of a pool, with sizes in words.
#[derive(Default, Debug)]
struct Stock {
    /// Unused buffers, oldest first.
    free: Vec<Memory>,
    /// Words requested for tensors. The limit applies to this number and not to `occupied`, because the
    /// outcome of a run must not depend on which buffers are free.
    in_use: usize,
    /// Words requested as scratch memory, which grow with the number of threads that compute a layer.
    scratch: usize,
    /// The total size of the buffers in use, which can be larger than requested.
    occupied: usize,
    /// The peak of requested words, including scratch.
    peak: usize,
}

impl Stock {
    /// Takes the smallest free buffer of at least `words`. `None` if all such buffers are much larger
    /// ([`LEAST_SHARE`]) or too large for the remaining memory ([`SPARE_SHARE`]).
    fn recycled(&mut self, words: usize, limit: usize) -> Option<Memory> {
        let most = words.max((limit / SPARE_SHARE).saturating_sub(self.occupied));
        let fits = |(_, buffer): &(usize, &Memory)| {
            (words..=most).contains(&buffer.len()) && buffer.len() / LEAST_SHARE <= words
        };
        // Among equals, the newest is the most likely to be in a cache.
        let best = self.free.iter().enumerate().rev().filter(fits).min_by_key(|(_, buffer)| buffer.len());
        let best = best.map(|(i, _)| i)?;
        Some(self.free.remove(best))
    }

    /// Frees the oldest buffers until `words` of fresh memory fit into the limits of the pool and the thread.
    fn make_room(&mut self, words: usize, limit: usize) {
        let most = self.peak.max(self.total().saturating_add(words)).saturating_mul(KEPT).min(limit);
        let taken = self.occupied.saturating_add(words);
        let mut held = self.free.iter().map(|memory| memory.len()).fold(taken, usize::saturating_add);
        let too_much = self.free.iter().take_while(|oldest| {
            let goes = held > most;
            held = held.saturating_sub(oldest.len());
            goes
        });
        let too_much = too_much.count();
        self.free.drain(..too_much);
    }

    /// All requested words, including scratch.
    fn total(&self) -> usize {
        self.in_use.saturating_add(self.scratch)
    }

    /// Records that a buffer of `len` words serves a request.
    fn taken(&mut self, asked: Asked, len: usize) {
        let counter = self.counter(asked);
        *counter = counter.saturating_add(asked.words);
        self.occupied = self.occupied.saturating_add(len);
        self.peak = self.peak.max(self.total());
    }

    fn released(&mut self, asked: Asked, len: usize) {
        let counter = self.counter(asked);
        *counter = counter.saturating_sub(asked.words);
        self.occupied = self.occupied.saturating_sub(len);
    }

    fn counter(&mut self, asked: Asked) -> &mut usize {
        if asked.is_scratch { &mut self.scratch } else { &mut self.in_use }
    }
}

/// A request for memory.
#[derive(Copy, Clone, Default)]
struct Asked {
    words: usize,
    /// Whether this is scratch memory, which the limit of the run does not cover.
    is_scratch: bool,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The current pool of a thread, and its limit.
#[derive(Clone)]
struct Current {
    pool: Arc<Pool>,
    /// In words.
    limit: usize,
}

/// The pool of a thread, passed on to threads that share its work.
#[cfg(feature = "threads")]
pub(crate) struct InheritedPool(Option<Current>);

#[cfg(feature = "threads")]
impl InheritedPool {
    /// Runs `work` with this pool as the current one.
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> R {
        let _restore = Restore(CURRENT.replace(self.0.clone()));
        work()
    }
}

/// Restores the previous pool, even if a kernel panics.
struct Restore(Option<Current>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| *current = self.0.take());
    }
}

impl Pool {
    /// Runs `work`, whose tensors take memory from this pool.
    pub fn scope<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        self.scope_within(usize::MAX, work)
    }

    /// [`Pool::scope`] with a limit: a tensor that would bring the memory in use above `bytes` is an error.
    pub fn scope_within<R>(self: &Arc<Self>, bytes: usize, work: impl FnOnce() -> R) -> R {
        let current = Current { pool: self.clone(), limit: bytes / size_of::<u64>() };
        let before = CURRENT.with_borrow_mut(|before| before.replace(current));
        let _restore = Restore(before);
        work()
    }

    /// The pool of this thread with its limit.
    #[cfg(feature = "threads")]
    pub(crate) fn of_this_thread() -> InheritedPool {
        InheritedPool(CURRENT.with_borrow(Option::clone))
    }

    /// Runs `work`. If `stays`, the result outlives the run, so it is allocated outside the pool and does not
    /// count as memory of the run.
    pub(crate) fn outside_if<R>(stays: bool, work: impl FnOnce() -> R) -> R {
        let _restore = stays.then(|| Restore(CURRENT.take()));
        work()
    }

    /// The maximum size of a tensor on this thread, in bytes.
    pub(crate) fn limit() -> usize {
        let limit = CURRENT.with_borrow(|current| current.as_ref().map(|current| current.limit));
        limit.map_or(usize::MAX, |words| words.saturating_mul(size_of::<u64>()))
    }

    /// Whether the limit allows a vector of this many bytes on this thread.
    fn has_room(bytes: usize) -> bool {
        let fits = |current: &Current| {
            let in_use = current.pool.stock().in_use;
            in_use.saturating_add(bytes.div_ceil(size_of::<u64>())) <= current.limit
        };
        bytes < SMALL || CURRENT.with_borrow(|current| current.as_ref().is_none_or(fits))
    }

    /// Takes memory of at least the requested size, with unspecified contents. Returns an error if more than
    /// `limit` words would be in use; scratch memory does not count.
    fn take(&self, asked: Asked, limit: usize) -> Result<Memory, TensorError> {
        let bytes = asked.words.saturating_mul(size_of::<u64>());
        let mut stock = self.stock();
        let counted = if asked.is_scratch { 0 } else { asked.words };
        if stock.in_use.saturating_add(counted) > limit {
            return Err(TensorError::LimitReached { bytes, limit: Self::limit() });
        }
        if let Some(found) = stock.recycled(asked.words, limit) {
            stock.taken(asked, found.len());
            return Ok(found);
        }
        stock.make_room(asked.words, limit);
        drop(stock);
        let fresh = Memory::zeroed(asked.words).map_err(|()| TensorError::OutOfMemory { bytes })?;
        self.stock().taken(asked, asked.words);
        Ok(fresh)
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A vector of `len` equal elements. Returns an error instead of aborting if the allocator or the limit of
/// the pool refuses the memory.
pub(crate) fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>, TensorError> {
    let bytes = len.saturating_mul(size_of::<T>());
    let mut all = Vec::new();
    if !Pool::has_room(bytes) {
        return Err(TensorError::LimitReached { bytes, limit: Pool::limit() });
    }
    all.try_reserve_exact(len).map_err(|_| TensorError::OutOfMemory { bytes })?;
    all.resize(len, value);
    Ok(all)
}

/// Accounts for the memory of a vector, which counts as in use but does not come from the pool.
pub(crate) struct Charge {
    home: Option<Weak<Pool>>,
    asked: Asked,
}

impl Charge {
    /// Counts this many bytes until dropped.
    pub fn new(bytes: usize) -> Self {
        let asked = Asked { words: bytes / size_of::<u64>(), is_scratch: false };
        let current = if bytes < SMALL { None } else { CURRENT.with_borrow(Option::clone) };
        let home = current.map(|Current { pool, .. }| {
            pool.stock().taken(asked, asked.words);
            Arc::downgrade(&pool)
        });
        Self { home, asked }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(pool) = self.home.take().and_then(|home| home.upgrade()) {
            pool.stock().released(self.asked, self.asked.words);
        }
    }
}

/// Memory for elements. It is initialised, but recycled memory holds old values.
pub(crate) struct Buffer<T> {
    words: Memory,
    len: usize,
    asked: Asked,
    home: Option<Weak<Pool>>,
    elements: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// Memory for `len` elements with unspecified values. The caller must write all of them.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`], or [`TensorError::LimitReached`] at the limit of the pool.
    pub fn any(len: usize) -> Result<Self, TensorError> {
        Self::taken(len, false)
    }

    /// [`Buffer::any`] for temporary memory of a kernel, which does not count as memory of the run. Aborts if
    /// memory runs out, like a vector.
    pub fn scratch(len: usize) -> Self {
        Self::taken(len, true).unwrap_or_else(|_| Self::of_heap(len))
    }

    fn taken(len: usize, is_scratch: bool) -> Result<Self, TensorError> {
        let refuse = || TensorError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(refuse)?;
        let asked = Asked { words: bytes.div_ceil(size_of::<u64>()), is_scratch };
        let current = if bytes < SMALL { None } else { CURRENT.with_borrow(Option::clone) };
        let memory = match &current {
            Some(Current { pool, limit }) => pool.take(asked, *limit),
            None => Memory::zeroed(asked.words).map_err(|()| refuse()),
        };
        Ok(Buffer {
            words: memory?,
            len,
            asked,
            home: current.map(|current| Arc::downgrade(&current.pool)),
            elements: PhantomData,
        })
    }

    /// [`Buffer::any`] for functions that cannot return an error. Aborts if memory runs out, like a vector.
    pub fn any_or_abort(len: usize) -> Self {
        Self::any(len).unwrap_or_else(|_| Self::of_heap(len))
    }

    fn of_heap(len: usize) -> Self {
        let words = len.saturating_mul(size_of::<T>()).div_ceil(size_of::<u64>());
        let (words, asked) = (Memory::zeroed_or_abort(words), Asked::default());
        Buffer { words, len, asked, home: None, elements: PhantomData }
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
            let buffer = std::mem::take(&mut self.words);
            let mut stock = pool.stock();
            stock.released(self.asked, buffer.len());
            stock.free.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(pool: &Pool) -> usize {
        pool.stock().free.iter().map(|memory| memory.len()).sum()
    }

    /// Requested and occupied words.
    fn taken(pool: &Pool) -> [usize; 2] {
        let stock = pool.stock();
        [stock.in_use, stock.occupied]
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
    fn unused_buffers_take_a_multiple_of_the_peak() {
        let pool = Arc::new(Pool::default());
        let mut largest = 0;
        for len in [1 << 13, 1 << 15, 1 << 17, 1 << 20, 1 << 13, 1 << 18, 1 << 20, 1 << 13, 1 << 15] {
            drop(pool.scope(|| Buffer::<u64>::any(len)).unwrap());
            largest = largest.max(len);
            assert!(free(&pool) <= (KEPT - 1) * largest);
        }
        assert_eq!(pool.stock().in_use, 0);
    }

    #[test]
    fn scratch_does_not_displace_what_the_next_run_takes() {
        let pool = Arc::new(Pool::default());
        let run = || {
            pool.scope(|| {
                let result = Buffer::<u64>::any(1 << 17).unwrap();
                let place = result.as_ptr();
                drop(result);
                drop([(); 2].map(|()| Buffer::<u64>::scratch((1 << 17) + 8)));
                place
            })
        };
        let place = run();
        assert_eq!([run(), run()], [place; 2]);
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
    fn what_a_kernel_needs_is_recycled_but_does_not_count() {
        let pool = Arc::new(Pool::default());
        pool.scope_within(1 << 20, || {
            let all = Buffer::<u8>::any(1 << 20).unwrap();
            let scratch = Buffer::<u64>::scratch(1 << 16);
            assert_eq!(taken(&pool), [1 << 17, (1 << 17) + (1 << 16)]);
            let place = scratch.as_ptr();
            drop(scratch);
            assert_eq!(Buffer::<u64>::scratch(1 << 16).as_ptr(), place);
            drop(all);
        });
        assert_eq!(taken(&pool), [0, 0]);
    }

    #[test]
    fn vectors_count_as_memory_in_use() {
        let pool = Arc::new(Pool::default());
        pool.scope_within(1 << 20, || {
            let half = crate::Tensor::from_vec(&[1 << 19], vec![0u8; 1 << 19]).unwrap();
            assert!(Buffer::<u8>::any((1 << 19) + 8).is_err());
            let zeros = |len| crate::Tensor::zeros(crate::ElementType::U8, &[len]);
            assert!(zeros((1 << 19) + 8).is_err());
            assert!(zeros(1 << 19).is_ok());
            drop(half);
            assert!(Buffer::<u8>::any((1 << 19) + 8).is_ok());
        });
        assert_eq!(pool.stock().in_use, 0);
    }

    #[test]
    fn larger_buffers_count_as_what_was_asked_for() {
        let pool = Arc::new(Pool::default());
        let take = |len, limit| pool.scope_within(limit, || Buffer::<u64>::any(len)).unwrap();
        drop(take(1 << 16, 1 << 30));
        let half = take(1 << 15, 1 << 30);
        assert_eq!(half.words.len(), 1 << 16);
        assert_eq!(taken(&pool), [1 << 15, 1 << 16]);
        drop(half);
        assert_eq!(taken(&pool), [0, 0]);
        // For the first request, the free buffer exceeds half of the limit. For the second, it is much larger
        // than the request.
        assert_eq!(take(1 << 15, 1 << 19).words.len(), 1 << 15);
        assert_eq!(take(1 << 12, 1 << 30).words.len(), 1 << 12);
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
