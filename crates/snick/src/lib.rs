//! Read, infer, canonicalise, run and emit OpenVINO IR models: the facade for other programs.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/slice8_01_basic/model.xml");
//! let mut model = snick::load(path)?;
//! assert!(model.infer().is_empty());
//! let x = model.graph.parameters().next().unwrap();
//! println!("{}", model.graph.node(x).outs[0].fact.shape.display_intervals(model.graph.symbols()));
//! # Ok::<(), snick::Error>(())
//! ```
//!
//! The crates below offer more: `snick_ir` (graph, ops, inference, text form, rewriting), `snick_shape`
//! (symbolic shapes), `snick_tensor` (data).

pub mod npz;

mod error;
mod files;
mod input_candidates;
mod inputs;
mod model;
mod outputs;
mod random_inputs;
mod reduce;
mod save;

pub use error::Error;
pub use files::write_file;
pub use input_candidates::{has_dynamic_dims, input_candidates};
pub use inputs::{by_parameter, find_input};
pub use model::{Model, load, load_with, parse};
pub use outputs::{named_outputs, output_names};
pub use random_inputs::{DimPolicy, InputSpec, draw_inputs};
pub use reduce::reduce;
pub use save::SaveOptions;
pub use snick_emit::openvino::SliceAs;
pub use snick_ir::directml::FeatureLevel;
