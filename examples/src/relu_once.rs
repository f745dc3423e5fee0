//! relu-once: drops a ReLU of values that are never negative.

use snick::{Op, OpError, Patch, RewriteResult, Rule};

/// Drops a second ReLU, and a Clamp after a ReLU that only clamps at zero or below.
pub const RELU_ONCE: Rule = Rule::exact("relu-once", relu_once);

fn relu_once(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let changes_nothing = match patch.node().op() {
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
