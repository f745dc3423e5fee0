//! Writes graphs to file formats, one file or folder per format.
//!
//! Each format writes the operations that it can express. For any other operation, it returns an error that
//! names the layer. The output is deterministic.
//!
//! ```
//! let text = r#"snick 1
//! graph "scale" {
//!   %x = Parameter-1 {element_type: f32, shape: "2,4"}
//!   %two = Const-1 f32[1] <2.0>
//!   %mul = Multiply-1(%x, %two)
//!   %y = Result-1(%mul)
//! }
//! "#;
//! let mut graph = snick_ir::text::parse(text, None)?;
//! assert!(snick_ir::infer(&mut graph).is_empty());
//! let module = snick_emit::stablehlo(&graph, Default::default())?;
//! assert!(module.to_string().contains("stablehlo.multiply"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "onnx")]
pub mod onnx;
pub mod openvino;

mod body;
mod decompression;
mod directml;
mod dot;
mod json;
mod layer;
mod legalized;
pub mod linalg;
mod model_explorer;
mod older_target;
pub mod stablehlo;
mod table;
mod type_limits;
mod unique_names;

pub use directml::directml;
pub use dot::dot;
pub use json::{json, json_with};
pub use linalg::linalg;
pub use model_explorer::model_explorer;
pub use stablehlo::{Mesh, Precision, ShardError, ShardRules, stablehlo};
