//! What is written is read again as the same model, in every format that snick reads and writes.

mod control_flow;
mod directml;
mod onnx;
mod text;
mod uncopied_weights;
mod unknown_ranks;
