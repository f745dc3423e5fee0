//! Custom ops become what they decompose to.

use super::{Patch, RewriteResult, Rule};
use crate::{Op, OpError};

/// Replaces every custom op that has [`CustomOp::decompose`](crate::CustomOp::decompose): for targets, which know no
/// custom ops, and for runs without an implementation.
pub const CUSTOM_OPS: Rule = Rule::for_target("custom-ops", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let Op::Custom(op) = patch.node().op() else { return Ok(RewriteResult::NoMatch) };
    op.clone().definition().decompose(patch)
}
