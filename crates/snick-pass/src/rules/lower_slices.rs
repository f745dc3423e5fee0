//! lower-slices: every slice-like op becomes the `slice` primitive, by the op's own lowering.

use snick_ir::rewrite::{Lowered, Patch, Rule};
use snick_ir::{Op, OpError};

/// Asks the op how it lowers.
pub(crate) const RULE: Rule = Rule::exact("lower-slices", apply);

/// Whether the op only selects elements by position, in a way that the primitive can say.
pub fn is_slice_like(op: &Op) -> bool {
    matches!(op, Op::Slice8(_) | Op::StridedSlice(_) | Op::Split(_) | Op::VariadicSplit(_))
}

fn apply(patch: &mut Patch) -> Result<Lowered, OpError> {
    let op = &patch.node().op;
    if !is_slice_like(op) {
        return Ok(Lowered::Keep);
    }
    let op = op.clone();
    op.lower(patch)
}
