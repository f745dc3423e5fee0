//! Graphs in text form, mutated as graphs. Checks everything that is done with graphs.

#![no_main]

snick_fuzz::target!(snick_fuzz::Target::Graphs);

libfuzzer_sys::fuzz_crossover!(|first: &[u8], second: &[u8], out: &mut [u8], seed: u32| {
    snick_fuzz::join(first, second, out, seed)
});
