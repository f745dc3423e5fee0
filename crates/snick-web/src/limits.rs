//! The limits of the page. They are lower than on the command line, because a browser gives a page only a
//! part of the memory.
//!
//! There is no time limit here. Instead, the page can terminate its worker at any time, even if a step never
//! returns.

use snick::Limits;

/// Maximum total bytes of the files of all models.
pub const FILE_BYTES: usize = 1_000_000_000;

/// Maximum bytes of a model in a text format, which takes ten times as much memory once it is read.
pub const TEXT_BYTES: usize = 64 << 20;

/// Maximum number of layers. The page lays out and draws all of them.
pub const LAYERS: usize = 100_000;

/// Maximum bytes of tensors in a run.
pub const RUN_BYTES: usize = 1 << 30;

/// Maximum number of elements that the layers of a run compute, which takes a few seconds.
pub const RUN_ELEMENTS: usize = 1 << 28;

/// The limits of reading, inference and rewriting.
pub fn of_model() -> Limits {
    Limits::new().layers(LAYERS).text_bytes(TEXT_BYTES)
}

/// The limits of a run.
pub fn of_run() -> Limits {
    of_model().memory(RUN_BYTES).fuel(RUN_ELEMENTS)
}
