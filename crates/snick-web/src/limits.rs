//! The limits of the page, which are lower than the limits of the command line, because a browser only gives
//! a page part of the machine.
//!
//! There is no time limit here: the page terminates its worker, which also stops a step that never returns.

use snick::Limits;

/// Total bytes of the files of all models. While they are read, they are in memory twice.
pub const FILE_BYTES: usize = 500_000_000;

/// Bytes of a text model, which takes ten times the memory once it is read.
pub const TEXT_BYTES: usize = 64 << 20;

/// Number of layers, all of which the page lays out and draws.
pub const LAYERS: usize = 100_000;

/// Bytes of tensors in a run.
pub const RUN_BYTES: usize = 1 << 30;

/// Elements that the layers of a run compute: a few seconds of work.
pub const RUN_ELEMENTS: usize = 1 << 28;

/// The limits of reading, inference and rewriting.
pub fn of_model() -> Limits {
    Limits::new().layers(LAYERS).text_bytes(TEXT_BYTES)
}

/// The limits of a run.
pub fn of_run() -> Limits {
    of_model().memory(RUN_BYTES).fuel(RUN_ELEMENTS)
}
