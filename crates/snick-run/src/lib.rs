//! Graph and inputs to outputs: the interpreter.
//!
//! [`Session::new`] plans a graph once: topological order, a slot for each value, the last use of each value, and the
//! constants of every run. [`Session::run`] executes the plan: each op evaluates itself, and values are dropped after
//! their last use. Values are views: passing them on copies no elements. Consecutive element-wise layers are fused into
//! one step: one pass over memory, in place where nobody else reads its input.
//!
//! The graph must be inferred: inputs are checked against the facts of the Parameters, and with
//! [`Options::check_facts`] every computed value against its inferred facts.

mod bodies;
mod facts;
mod fused_elementwise;
mod half_precision;
mod optimize;
mod outputs;
mod plan;
mod session;
mod slice_numbers;
mod variables;

pub use outputs::{Outputs, Progress};
pub use session::{Options, Session};
pub use variables::Variables;
