//! How the C library keeps free memory: the next model asks for as much as the last one gave back.
#![allow(unsafe_code, reason = "the standard library has no access to its allocator")]

/// Allocations of this many bytes have pages of their own, which grow without a copy and go back at once.
const LARGE: libc::c_int = 4 << 20;

/// Free memory at the end of the heap that goes back to the system only if it is more: the most to which the C library
/// raises this by itself.
const KEPT: libc::c_int = 64 << 20;

/// The heap grows by this many bytes more than it must. They are resident only once they are used.
const STEP: libc::c_int = 1 << 20;

/// Keeps memory that was given back for the next allocation. Without it, reading a model again takes a fifth longer, in
/// calls of the system and page faults.
pub fn keep_free_memory() {
    // SAFETY: `mallopt` only sets parameters, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TOP_PAD, STEP);
    }
}
