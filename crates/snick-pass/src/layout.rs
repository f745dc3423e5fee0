//! Decides whether a slice should be moved above ops that only rearrange elements.

use snick_ir::rewrite::Patch;
use snick_ir::{Op, OpError, Value};

/// The maximum number of reshapes and transposes to look through.
const MAX_DEPTH: usize = 16;

/// Whether an op only reshapes or transposes input 0, so that it costs almost nothing.
pub(crate) fn is_view(op: &Op) -> bool {
    matches!(op, Op::Transpose(_) | Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_))
}

/// Whether a slice of `value`, when moved upstream, reaches a layer that then computes less. The slice must
/// be the only reader of `value`.
pub(crate) fn pays(patch: &Patch, mut value: Value) -> Result<bool, OpError> {
    for _ in 0..MAX_DEPTH {
        match patch.op_of(value) {
            Op::Slice(_) | Op::Const(_) => return Ok(true),
            _ if !patch.is_read_once(value) => return Ok(false),
            op if is_view(op) => value = patch.input_of(value, 0)?,
            Op::Concat(_) => return Ok(true),
            _ => return Ok(patch.graph().axis_map(value.node).is_some()),
        }
    }
    Ok(false)
}
