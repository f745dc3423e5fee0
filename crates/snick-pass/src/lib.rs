//! Graph to better graph: named passes and the canonical form.
//!
//! A pass is a list of [`Rule`]s, or one function over the graph. The driver in [`snick_ir::rewrite`] applies rules,
//! checks that every replacement refines what was known, and keeps names and source locations. [`canonicalise`] runs
//! all [`PASSES`] until nothing changes, or only those that [`Options::passes`] names. With [`Options::check`] every
//! single application of a rule is executed before and after, on random shapes and elements ([`Checker`]).
//!
//! [`legalize::for_target`] decomposes the layers that a target has no operator for. Decompositions are rules like the
//! others: [`canonicalise`] takes their names too, and checks them.
//!
//! A pass of your own is a rule, a name and a call:
//!
//! ```
//! use snick_ir::rewrite::{Patch, RewriteOptions, RewriteResult, Rule};
//! use snick_ir::{Op, OpError};
//! use snick_pass::{Pass, run};
//!
//! const RELU_ONCE: Rule = Rule::exact("relu-once", |patch| {
//!     let data = patch.input(0);
//!     match (patch.node().op.type_name(), data) {
//!         ("ReLU", Ok(data)) if patch.op_of(data).type_name() == "ReLU" => Ok(RewriteResult::one(data)),
//!         _ => Ok(RewriteResult::NoMatch),
//!     }
//! });
//!
//! let text = r#"snick 1
//! graph "g" {
//!   %x = Parameter-1 {element_type: f32, shape: "N"}
//!   %a = ReLU-1(%x)
//!   %b = ReLU-1(%a)
//!   %y = Result-1(%b)
//! }
//! "#;
//! let mut graph = snick_ir::text::parse(text, None)?;
//! snick_ir::infer(&mut graph);
//! let trace = run(&mut graph, &[Pass::of_rules("relu-once", &[RELU_ONCE])], RewriteOptions::default());
//! assert_eq!((trace.applied.len(), graph.len()), (1, 3));
//! # Ok::<(), snick_ir::text::ParseError>(())
//! ```

mod check;
mod cost;
mod layout;
pub mod legalize;
mod pipeline;
mod rules;
mod selection;
#[cfg(test)]
mod testing;

pub use check::Checker;
pub use cost::Cost;
pub use legalize::to_slice::is_slice_like;
pub use pipeline::{Options, PASSES, Pass, PassKind, Report, UnknownPass, canonicalise, run};
pub use snick_ir::rewrite::Rule;
