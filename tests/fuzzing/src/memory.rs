//! A counting allocator, so that excessive memory use is a finding.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes held by this thread; negative if it frees what another thread allocated.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system allocator with a count of bytes per thread.
pub struct Counting;

impl Counting {
    fn count(bytes: isize) {
        HELD.with(|held| {
            let now = held.get().saturating_add(bytes);
            held.set(now);
            PEAK.with(|peak| peak.set(peak.get().max(now)));
        });
    }
}

#[allow(unsafe_code, reason = "an allocator is unsafe to implement")]
// SAFETY: every call is forwarded to the system allocator; counting does not allocate or unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size() as isize);
        // SAFETY: the caller upholds the contract of the same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size() as isize);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size as isize - layout.size() as isize);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::count(-(layout.size() as isize));
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work` and returns the peak number of bytes that this thread allocated meanwhile. Returns 0 unless
/// [`Counting`] is the global allocator.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, usize::try_from(PEAK.get().saturating_sub(before)).unwrap_or(0))
}
