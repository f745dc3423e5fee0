//! Configures the C allocator to keep free memory, because the next model needs as much as the last one
//! released.
#![allow(unsafe_code, reason = "the standard library has no access to its allocator")]

/// Allocations of at least this many bytes get pages of their own, which grow without a copy and are returned
/// at once.
const LARGE: libc::c_int = 4 << 20;

/// Free memory at the end of the heap is only returned beyond this size, the maximum to which the C library
/// itself raises the threshold.
const KEPT: libc::c_int = 64 << 20;

/// The heap grows by this many bytes more than needed. They only become resident when used.
const STEP: libc::c_int = 1 << 20;

/// Keeps released memory for the next allocation. Without it, reading another model takes 20 % longer, due to
/// system calls and page faults.
pub fn keep_free_memory() {
    // SAFETY: `mallopt` only sets parameters, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}
