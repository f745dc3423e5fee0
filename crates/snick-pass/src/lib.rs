//! Graph transformations: named passes and the canonical form.
//!
//! A pass is a list of [`Rule`]s, or a single function over the graph. The driver in [`snick_ir::rewrite`]
//! applies rules, checks that every replacement refines the known facts, and preserves names and source
//! locations. [`canonicalise`] runs all [`PASSES`] to a fixed point; [`apply`] runs given passes. With
//! [`RewriteOptions::check`], the graph is executed before and after each application of a rule, on random
//! shapes and elements ([`Checker`]).
//!
//! [`legalize::for_target`] decomposes the layers for which a target has no operator. Decompositions are
//! ordinary rules, so they are also available through [`Pass::by_name`].
//!
//! To add a pass, write a rule and give it a name:
//!
//! ```
//! use snick_ir::rewrite::{RewriteResult, Rule};
//! use snick_pass::{Pass, RewriteOptions, apply};
//!
//! let relu_once = Rule::new("relu-once", |patch| {
//!     let data = patch.input(0);
//!     match (patch.node().op().type_name(), data) {
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
//! let report = apply(&mut graph, &[Pass::new("mine", [relu_once])], &RewriteOptions::new().check(true));
//! assert_eq!((report.applied.len(), report.checked, graph.len()), (1, 1, 3));
//! # Ok::<(), snick_ir::text::ParseError>(())
//! ```

#[cfg(feature = "certify")]
mod certify;
mod check;
mod context;
mod cost;
mod layout;
pub mod legalize;
mod options;
mod pass;
mod pipeline;
mod primitives;
#[cfg(feature = "certify")]
mod prove;
mod report;
mod rules;
mod selection;
mod signature;
pub mod states;
#[cfg(test)]
mod testing;

#[cfg(feature = "certify")]
pub use certify::{certify_equal, certify_rewrites, check_equal, check_rewrites};
pub use check::Checker;
pub use context::{PassContext, PassFailure, PassOutcome};
pub use cost::Cost;
pub use legalize::to_slice::is_slice_like;
pub use options::RewriteOptions;
pub use pass::Pass;
pub use pipeline::{PASSES, UnknownPass, apply, canonicalise, lower_slices};
pub use primitives::{absent_primitive, primitives_by_layer};
#[cfg(feature = "certify")]
pub use prove::{
    Certificate, CertificateError, CertifiedRewrite, CertifiedRewrites, OutputProof, OutputProofs,
    RewriteStatus, SmtObligation,
};
pub use report::Report;
pub use snick_ir::rewrite::Rule;
