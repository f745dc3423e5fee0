//! Configures the C allocator to keep freed memory, because the next model needs about as much.
#![allow(unsafe_code, reason = "the standard library has no access to its allocator")]

/// Allocations of at least this many bytes get pages of their own. They can grow without a copy, and are
/// returned to the system at once.
const LARGE: libc::c_int = 4 << 20;

/// Free memory at the end of the heap is only returned to the system if it exceeds this size. The C library
/// would never raise its own threshold beyond this size.
const KEPT: libc::c_int = 64 << 20;

/// When the heap grows, it grows by this many bytes more than needed. These bytes only become resident when
/// they are used.
const STEP: libc::c_int = 1 << 20;

/// Keeps freed memory for the next allocation. Otherwise, reading another model would take 20 % longer
/// because of system calls and page faults.
pub fn keep_free_memory() {
    // SAFETY: `mallopt` only sets parameters, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}
