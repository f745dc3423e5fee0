//! The limits of a page. They are smaller than those of the command line: a browser gives a page a part of the machine.
//!
//! There is no limit of time here: the page ends its worker, which also ends a step that never comes back.

use snick::Limits;

/// Bytes of the files of all models together. They are in memory twice while they are read.
pub const FILE_BYTES: usize = 500_000_000;

/// Bytes of a model of text, which takes ten times as much memory once it is read.
pub const TEXT_BYTES: usize = 64 << 20;

/// Layers, which the page lays out and draws.
pub const LAYERS: usize = 100_000;

/// Bytes of the tensors of a run.
pub const RUN_BYTES: usize = 1 << 30;

/// Elements that the layers of a run compute: some seconds of work.
pub const RUN_ELEMENTS: usize = 1 << 28;

/// The limits of reading, inference and rewriting.
pub fn of_model() -> Limits {
    Limits::new().layers(LAYERS).text_bytes(TEXT_BYTES)
}

/// The limits of a run.
pub fn of_run() -> Limits {
    of_model().memory(RUN_BYTES).fuel(RUN_ELEMENTS)
}
