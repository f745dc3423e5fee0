//! Handles SIGBUS, which the system sends if a mapped file becomes shorter while a command reads it.
#![allow(unsafe_code, reason = "the standard library has no handlers of signals")]

/// The message; the exit code is 2, as for any unreadable file.
const MESSAGE: &[u8] = b"error: a file of weights became shorter while it was read\n";

/// Makes SIGBUS end the process with a message and exit code 2. By default, it would kill the process without
/// a message.
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
