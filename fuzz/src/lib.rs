//! Code shared by the targets: the counting allocator, and how inputs are checked and mutated.

use std::ffi::{c_uint, c_void};

use libfuzzer_sys::{Corpus, fuzzer_mutate};
use snick_fuzzing::{check_quickly, mutate};

pub use libfuzzer_sys;
pub use snick_fuzzing::Target;

/// Counts memory, so that excessive use is a finding.
#[global_allocator]
static ALLOCATOR: snick_fuzzing::memory::Counting = snick_fuzzing::memory::Counting;

/// Makes the standard library's random numbers constant. Otherwise each process would hash with different
/// keys, hash maps would iterate in different orders, and a search with the same seed would not be
/// reproducible.
///
/// # Safety
/// As for the C function: `buffer` has room for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, len: usize, _flags: c_uint) -> isize {
    // SAFETY: the caller has room for `len` bytes there.
    unsafe { buffer.cast::<u8>().write_bytes(7, len) };
    len.cast_signed()
}

/// Checks an input. A finding is a panic, which libFuzzer reports with the input. Inputs of the target
/// `graphs` that are not models stay out of the corpus, because only models can be mutated as graphs.
pub fn run(target: Target, bytes: &[u8]) -> Corpus {
    match check_quickly(target, bytes) {
        Ok(false) if target == Target::Graphs => Corpus::Reject,
        Ok(_) => Corpus::Keep,
        Err(finding) => panic!("{finding}"),
    }
}

/// Replaces the first `size` bytes of `data` by a mutation and returns its size.
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

/// Writes a combination of two graphs to `out` and returns its size; 0 if there is none.
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
