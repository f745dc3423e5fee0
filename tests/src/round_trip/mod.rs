//! In every format that snick reads and writes, written models read back as the same model.

mod control_flow;
mod directml;
mod onnx;
mod text;
mod uncopied_weights;
mod unknown_ranks;
