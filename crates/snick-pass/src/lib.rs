//! Graph to better graph: named passes and the canonical pipeline.
//!
//! A pass is a list of [`Rule`]s, or one function over the graph. The driver in [`snick_ir::rewrite`] applies rules,
//! checks that every replacement refines what was known, and keeps names and places. [`canonicalise`] runs the
//! [`PASSES`], together and until nothing changes, or those that [`Options`] names. With [`Options::check`] every
//! single application of a rule is executed, before and after, on shapes and elements drawn for it ([`Checker`]).
//!
//! A pass of one's own is a rule, a name and a call:
//!
//! ```
//! use snick_ir::rewrite::{RewriteOptions, RewriteResult, Patch, Rule};
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
//! let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
//!             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
//! let mut graph = snick_ir::text::parse(text, None)?;
//! snick_ir::infer(&mut graph);
//! let trace = run(&mut graph, &[Pass::of_rules("relu-once", &[RELU_ONCE])], RewriteOptions::default());
//! assert_eq!((trace.applied.len(), graph.len()), (1, 3));
//! # Ok::<(), snick_ir::text::ParseError>(())
//! ```

mod check;
mod cost;
mod layout;
mod pipeline;
mod rules;
mod selection;
#[cfg(test)]
mod testing;

pub use check::Checker;
pub use cost::Cost;
pub use pipeline::{Options, PASSES, Pass, PassKind, Report, UnknownPass, canonicalise, run};
pub use rules::lower_slices::is_slice_like;
pub use snick_ir::rewrite::Rule;
