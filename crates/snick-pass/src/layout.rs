//! Whether it pays to move a slice above ops that only look at elements otherwise.

use snick_ir::rewrite::Patch;
use snick_ir::{Op, OpError, Value};

use crate::rules::hoist_slice_elementwise::is_elementwise;

/// So many layers of looking otherwise are looked through.
const MAX_DEPTH: usize = 16;

/// Whether a slice of `value` would meet something that it makes cheaper: moving it there is worth while. `value`
/// itself is read by no one else.
pub(crate) fn pays(patch: &Patch, mut value: Value) -> Result<bool, OpError> {
    for _ in 0..MAX_DEPTH {
        let op = patch.op_of(value);
        match op {
            Op::Slice(_) | Op::Const(_) => return Ok(true),
            Op::Transpose(_) | Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_)
                if patch.is_read_once(value) =>
            {
                value = patch.input_of(value, 0)?;
            }
            Op::Concat(_) | Op::MatMul(_) | Op::Broadcast(_) | Op::Gather(_) => {
                return Ok(patch.is_read_once(value));
            }
            op => return Ok(is_elementwise(op) && patch.is_read_once(value)),
        }
    }
    Ok(false)
}
