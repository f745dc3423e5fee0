//! Converts broadcast mode `pdpd` to numpy broadcasting.

use snick_ir::Op;
use snick_ir::ops::elementwise::auto_broadcast::AutoBroadcast;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};

use super::helpers::{Result, all_inputs};

pub(crate) const RULE: Rule = Rule::exact("pdpd-to-numpy", pdpd_to_numpy);

/// Adds trailing axes of size 1 to the input that `pdpd` aligns at a given axis.
fn pdpd_to_numpy(p: &mut Patch) -> Result<RewriteResult> {
    let mut op = p.node().op().clone();
    let (broadcast, over) = match &mut op {
        Op::Arithmetic(op) => (&mut op.broadcast, 0),
        Op::Bitwise(op) => (&mut op.broadcast, 0),
        Op::Compare(op) => (&mut op.broadcast, 0),
        Op::FakeQuantize(op) => (&mut op.broadcast, 0),
        Op::Logical(op) => (&mut op.broadcast, 0),
        Op::Select(op) => (&mut op.broadcast, 1),
        _ => return Ok(RewriteResult::NoMatch),
    };
    let pdpd @ AutoBroadcast::Pdpd { .. } = std::mem::take(broadcast) else {
        return Ok(RewriteResult::NoMatch);
    };
    let mut inputs = all_inputs(p)?;
    let rank = p.rank(p.input(over)?)?;
    for (_, input) in inputs.iter_mut().enumerate().filter(|(i, _)| *i != over) {
        let own = p.rank(*input)?;
        let aligned = pdpd.aligned(rank, &vec![1; own])?.len();
        if aligned > own {
            let axes: Vec<i64> = (own..aligned).map(|axis| axis as i64).collect();
            *input = p.unsqueeze(*input, &axes)?;
        }
    }
    p.add_op(op, &inputs).map(RewriteResult::one)
}
