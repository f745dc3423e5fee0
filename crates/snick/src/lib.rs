//! Read, infer, canonicalise, run and write OpenVINO IR models.
//!
//! ```
//! let mut model = snick::parse(
//!     r#"snick 1
//! graph "crop" {
//!   %x = Parameter-1 {element_type: i64, shape: "N"}
//!   %start = Const-1 i64[1] <1>
//!   %stop = Const-1 i64[1] <-1>
//!   %step = Const-1 i64[1] <1>
//!   %slice = Slice-8(%x, %start, %stop, %step)
//!   %y = Result-1(%slice)
//! }
//! "#,
//! )?;
//! assert!(model.infer().is_empty()); // or: every error, with its layer and location
//! let report = model.canonicalise();
//! assert_eq!((report.slice_like_before, report.slice_after), (1, 1));
//! let x = snick::Tensor::from_vec(&[4], vec![1i64, 2, 3, 4])?;
//! let outputs = model.run([("x", x)])?;
//! assert_eq!(outputs[0].1.to_i64_vec()?, [2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`load`] reads a file by its extension, [`Model::save`] writes one. The crates below have more: `snick_ir` (graph,
//! operations, inference, text form, rewriting), `snick_shape` (symbolic shapes), `snick_tensor` (data).

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
pub use snick_directml::FeatureLevel;
pub use snick_emit::openvino::SliceAs;
pub use snick_ir::Format;
pub use snick_tensor::{ElementType, Tensor};
