//! Parts of a vector as slices.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};

use super::helpers::{Result, at_run_time};

pub(crate) const RULE: Rule = Rule::exact("decompose-split-of-vector", split);

fn split(p: &mut Patch) -> Result<RewriteResult> {
    let (Op::Split(_) | Op::VariadicSplit(_)) = p.node().op() else { return Ok(RewriteResult::NoMatch) };
    let x = p.input(0)?;
    if p.rank(x)? != 1 {
        return Ok(RewriteResult::NoMatch);
    }
    let mut parts: Vec<Value> = Vec::new();
    let mut start: i64 = 0;
    for port in 0..p.node().outs().len() {
        let Some(size) = p.output_dim(port as u32, 0)?.as_const() else {
            return Ok(at_run_time("sizes of parts"));
        };
        let stop = start.saturating_add(size);
        parts.push(p.slice_range(x, 0, start, stop)?);
        start = stop;
    }
    Ok(RewriteResult::many(parts))
}
