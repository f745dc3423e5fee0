//! A mapped file that becomes shorter while a command reads it: the system then sends SIGBUS.
#![allow(unsafe_code, reason = "the standard library has no handlers of signals")]

/// What is reported; exit code 2, as for every file that cannot be read.
const MESSAGE: &[u8] = b"error: a file of weights became shorter while it was read\n";

/// Ends the process with a message and exit code 2 on SIGBUS, which would kill it without one.
pub fn report_as_error() {
    // SAFETY: the handler has the signature that `signal` expects, and makes only async-signal-safe calls.
    unsafe { libc::signal(libc::SIGBUS, end as extern "C" fn(libc::c_int) as libc::sighandler_t) };
}

extern "C" fn end(_: libc::c_int) {
    // SAFETY: `write` and `_exit` are async-signal-safe, and the message is a constant.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(2);
    }
}
