//! What the targets share: the allocator that counts, and how an input is checked and mutated.

use std::ffi::{c_uint, c_void};

use libfuzzer_sys::{Corpus, fuzzer_mutate};
use snick_fuzzing::{check_quickly, mutate};

pub use libfuzzer_sys;
pub use snick_fuzzing::Target;

/// Memory is counted, so that taking too much of it is a finding.
#[global_allocator]
static ALLOCATOR: snick_fuzzing::memory::Counting = snick_fuzzing::memory::Counting;

/// The random numbers of the standard library, the same in every run: with other keys, hash maps reach other code, and
/// the search with a seed would not come again.
///
/// # Safety
/// As for the function of the C library: `buffer` has room for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, len: usize, _flags: c_uint) -> isize {
    // SAFETY: the caller has room for `len` bytes there.
    unsafe { buffer.cast::<u8>().write_bytes(7, len) };
    len.cast_signed()
}

/// Checks an input; a finding is a panic, which libFuzzer reports with the input. Only models are kept for the target
/// of graphs, whose mutations need one.
pub fn run(target: Target, bytes: &[u8]) -> Corpus {
    match check_quickly(target, bytes) {
        Ok(false) if target == Target::Graphs => Corpus::Reject,
        Ok(_) => Corpus::Keep,
        Err(finding) => panic!("{finding}"),
    }
}

/// Writes a mutation of the first `size` bytes of `data` there, and returns its size.
pub fn mutate(target: Target, data: &mut [u8], size: usize, seed: u32) -> usize {
    let old = &data[..size];
    let new = match target {
        Target::Graphs => mutate::graph(old, seed.into()),
        Target::Onnx => None,
        _ if seed % 4 == 0 => None,
        _ => Some(mutate::tokens(old, seed.into())),
    };
    let room = data.len();
    match new.filter(|new| new.len() <= room) {
        Some(new) => place(data, &new),
        None => fuzzer_mutate(data, size, room),
    }
}

/// Writes a graph of two to `out`, and returns its size; 0 if there is none.
pub fn join(first: &[u8], second: &[u8], out: &mut [u8], seed: u32) -> usize {
    let joined = mutate::joined(first, second, seed.into());
    joined.filter(|joined| joined.len() <= out.len()).map_or(0, |joined| place(out, &joined))
}

fn place(out: &mut [u8], bytes: &[u8]) -> usize {
    out[..bytes.len()].copy_from_slice(bytes);
    bytes.len()
}

/// The functions that libFuzzer calls.
#[macro_export]
macro_rules! target {
    ($target:expr) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> $crate::libfuzzer_sys::Corpus {
            $crate::run($target, bytes)
        });

        $crate::libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::mutate($target, &mut data[..max_size], size, seed)
        });
    };
}
