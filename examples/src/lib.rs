//! A crate with a rewrite of its own: a rule, a pass made of it, and its tests in `tests/`.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError};
use snick_pass::Pass;

/// Drops what ReLU has done already: a second ReLU, a Clamp at zero or below.
pub const RELU_ONCE: Pass = Pass::of_rules("relu-once", &[Rule::exact("relu-once", relu_once)]);

fn relu_once(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let changes_nothing = match &patch.node().op {
        Op::Clamp(clamp) => clamp.min <= 0.0 && clamp.max == f64::INFINITY,
        op => op.type_name() == "ReLU",
    };
    let data = patch.input(0);
    match data {
        Ok(data) if changes_nothing && patch.op_of(data).type_name() == "ReLU" => {
            Ok(RewriteResult::one(data))
        }
        _ => Ok(RewriteResult::NoMatch),
    }
}
