//! hoist-slice-matmul: multiplies only the rows, columns and matrices that are read.

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError};

use crate::selection::{Selection, SymDims};

/// Moves a slice above a MatMul that nobody else reads. A smaller product may sum in another order.
pub(crate) const RULE: Rule = Rule::exact("hoist-slice-matmul", apply).may_round_within(1e-5, 0.0);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let matmul = |op: &Op| if let Op::MatMul(op) = op { Some(op.clone()) } else { None };
    let Some((selection, product, op)) = Selection::of_computed(patch, matmul)? else {
        return Ok(RewriteResult::NoMatch);
    };
    let (a, b) = (patch.input_of(product, 0)?, patch.input_of(product, 1)?);
    let (Some(out), Some(left), Some(right)) = (patch.dims(product)?, patch.dims(a)?, patch.dims(b)?) else {
        return Ok(RewriteResult::NoMatch);
    };
    if left.len() < 2 || right.len() < 2 || !patch.is_read_once(product) || !selection.shrinks(patch, &out)? {
        return Ok(RewriteResult::NoMatch);
    }
    // For each operand: its broadcast batch axes, and the matrix axis that the output keeps.
    let side = |dims: &SymDims, kept: usize, from: usize| -> Option<Selection<DynAxisSlice>> {
        let (batch, whole) = (&dims[..dims.len() - 2], &out[..out.len() - 2]);
        let (outer, _) = selection.moved(|axis| (axis < whole.len()).then_some(axis));
        let batches = outer.before_broadcast(batch, whole)?;
        let inner = selection.on(from).filter(|_| dims.get(kept) == out.get(from));
        if inner.is_none() && selection.on(from).is_some() {
            return None;
        }
        Some(inner.map_or(batches.clone(), |cut| batches.with(kept, *cut)))
    };
    let row = left.len() - if op.transpose_a { 1 } else { 2 };
    let column = right.len() - if op.transpose_b { 2 } else { 1 };
    let (Some(rows), Some(columns)) = (side(&left, row, out.len() - 2), side(&right, column, out.len() - 1))
    else {
        return Ok(RewriteResult::NoMatch);
    };
    let (a, b) = (rows.apply(patch, a)?, columns.apply(patch, b)?);
    patch.add_op(op, &[a, b]).map(RewriteResult::one)
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn rows_columns_and_batches_are_hoisted() {
        let text = fires(
            "hoist-slice-matmul",
            "%a = Parameter-1 {element_type: f32, shape: \"1,4,6\"}
             %b = Parameter-1 {element_type: f32, shape: \"7,5,4\"}
             %p = MatMul-1(%a, %b) {transpose_a: true, transpose_b: true}
             %s = slice(%p) {axes: [0, 1, 2], start: [6, 0, 1], len: [2, 2, 3], step: [-3, 1, 1]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%a) {axes: [2], start: [0], len: [2], step: [1]}"), "{text}");
        assert!(text.contains("slice(%b) {axes: [0,1], start: [6,1], len: [2,3], step: [-3,1]}"), "{text}");
    }

    #[test]
    fn vectors_and_shared_products_are_kept() {
        silent(
            "hoist-slice-matmul",
            "%a = Parameter-1 {element_type: f32, shape: \"3,4\"}
             %v = Parameter-1 {element_type: f32, shape: \"4\"}
             %p = MatMul-1(%a, %v)
             %s = slice(%p) {axes: [0], start: [1], len: [2], step: [1]}
             %q = MatMul-1(%a, %a) {transpose_a: false, transpose_b: true}
             %t = slice(%q) {axes: [0], start: [1], len: [2], step: [1]}
             %y = Result-1(%s)
             %z = Result-1(%q)
             %w = Result-1(%t)",
        );
    }
}
