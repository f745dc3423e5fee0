//! Graph and inputs to outputs: the interpreter.
//!
//! [`Session::new`] plans a graph once: topological order, a slot a value, after which step a value is not needed any
//! more, and what is the same in every run. [`Session::run`] walks the plan, asking each op to evaluate itself, and
//! drops values as early as that allows. Values are views: handing them on copies no elements. Element-wise layers that
//! follow each other are one step: one pass over memory, in place where nobody else reads what it begins with.
//!
//! The graph must be inferred: what is given is checked against the facts of the Parameters, and with
//! [`Options::check_facts`] everything computed against what inference said of it.

mod bodies;
mod facts;
mod fold;
mod fused_elementwise;
mod half_precision;
mod plan;
mod session;
mod slice_numbers;
mod variables;

pub use session::{Options, Outputs, Progress, Session};
pub use variables::Variables;
