//! Identity as its input.

use snick_ir::Op;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};

use super::helpers::Result;

pub(crate) const RULE: Rule = Rule::exact("remove-identity", identity);

fn identity(p: &mut Patch) -> Result<RewriteResult> {
    let Op::Identity(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    Ok(RewriteResult::one(p.input(0)?))
}
