//! ConvertLike and ConvertPromoteTypes as plain conversions.

use snick_ir::Op;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};

use super::helpers::Result;

pub(crate) const LIKE: Rule = Rule::exact("decompose-convert-like", like);
pub(crate) const PROMOTE: Rule = Rule::exact("decompose-convert-promote-types", promote);

fn like(p: &mut Patch) -> Result<RewriteResult> {
    let Op::ConvertLike(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let (x, to) = (p.input(0)?, p.element_type(p.output(0))?);
    p.convert(x, to).map(RewriteResult::one)
}

fn promote(p: &mut Patch) -> Result<RewriteResult> {
    let Op::ConvertPromoteTypes(_) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let (x, y, to) = (p.input(0)?, p.input(1)?, p.element_type(p.output(0))?);
    let (x, y) = (p.convert(x, to)?, p.convert(y, to)?);
    Ok(RewriteResult::many([x, y]))
}
