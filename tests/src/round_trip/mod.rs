//! In every format that snick reads and writes, written models read back as the same model.

mod control_flow;
mod directml;
mod older_release;
mod onnx;
mod text;
mod uncopied_weights;
mod unknown_ranks;
