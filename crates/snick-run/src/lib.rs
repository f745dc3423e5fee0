//! The interpreter: computes the outputs of a graph from its inputs.
//!
//! [`Session::new`] plans a graph once. The plan consists of a topological order, a slot for each value, the
//! last use of each value, and the values that are the same in every run, which become constants.
//! [`Session::run`] executes the plan: each op evaluates itself, and values are dropped after their last use.
//! Tensors share their storage, so passing them on does not copy elements. Consecutive element-wise layers
//! are fused into one step that makes a single pass over memory, and that works in place if nothing else uses
//! its input.
//!
//! The graph must have been inferred. Inputs are checked against the facts of the Parameters. With
//! [`Options::check_facts`], all computed values are checked against their facts.
//!
//! ```
//! use snick_run::{Options, Session};
//! use snick_tensor::Tensor;
//!
//! let text = r#"snick 1
//! graph "last_two" {
//!   %x = Parameter-1 {element_type: i64, shape: "N"}
//!   %start = Const-1 i64[1] <-2>
//!   %stop = Const-1 i64[1] <9223372036854775807>
//!   %step = Const-1 i64[1] <1>
//!   %slice = Slice-8(%x, %start, %stop, %step)
//!   %y = Result-1(%slice)
//! }
//! "#;
//! let mut graph = snick_ir::text::parse(text, None)?;
//! assert!(snick_ir::infer(&mut graph).is_empty());
//! let session = Session::new(&graph)?;
//! let input = Tensor::from_vec(&[4], vec![1i64, 2, 3, 4])?;
//! let outputs = session.run(&[input], Options::default()).complete()?;
//! assert_eq!(outputs[0].to_i64_vec()?, [3, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bodies;
mod custom;
mod facts;
mod fuel;
mod fused_elementwise;
mod half_precision;
mod optimize;
mod plan;
mod quantized_step;
mod run;
mod session;
mod slice_numbers;
mod substitutions;
mod threads;
mod variables;

pub use run::{Options, Outputs, Progress};
pub use session::Session;
pub use substitutions::Substitutions;
pub use variables::Variables;
