//! Graph to file formats. One file or folder a format; each matches the ops it can say and answers a named error for
//! the others. Same graph, same bytes.

pub mod onnx;
pub mod openvino;

mod directml;
mod dot;
mod evaluated;
mod stablehlo;
mod states;
mod type_limits;

pub use directml::directml;
pub use dot::dot;
pub use stablehlo::stablehlo;
