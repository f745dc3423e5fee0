//! Known elements through ops that only move elements: whatever the op does to positions, it does to expressions.

use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use crate::fact::MAX_ELEMENTS;
use crate::{Infer, OpDef};

/// The elements of the op's first output, of this shape, where some elements of the inputs `data` are known and the
/// other inputs are constants: the op moves the positions of the elements, and each position stands for its
/// expression. `None` where nothing is gained: nothing is known, or all of it is constant and folds anyway.
pub(crate) fn follow<O: OpDef>(
    op: &O,
    cx: &mut Infer,
    data: &[usize],
    shape: &Shape,
) -> Option<Vec<SymExpr>> {
    let known = data.iter().filter_map(|&i| cx.optional(i)).any(|fact| fact.known.is_some());
    let constant = cx.inputs().iter().all(|fact| fact.as_tensor().is_some());
    if !known || constant || !is_small(shape) {
        return None;
    }
    let mut elements: Vec<SymExpr> = Vec::new();
    let mut inputs = Vec::with_capacity(cx.len());
    for (i, fact) in cx.inputs().iter().enumerate() {
        if data.contains(&i) {
            let dims = fact.shape.as_static()?;
            let first = i64::try_from(elements.len()).ok()?;
            elements.extend(cx.elements_or_unknown(i)?);
            let last = i64::try_from(elements.len()).ok()?;
            inputs.push(Tensor::from_vec(&dims, (first..last).collect()).ok()?);
        } else {
            inputs.push(Tensor::clone(fact.as_tensor()?));
        }
    }
    let moved = op.eval(&inputs).ok()?.into_iter().next()?;
    let positions = moved.to_i64_vec().ok()?.into_iter();
    positions.map(|at| elements.get(usize::try_from(at).ok()?).cloned()).collect()
}

/// Whether elements of this shape are followed at all.
fn is_small(shape: &Shape) -> bool {
    let count = shape.as_static().and_then(|dims| dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)));
    count.is_some_and(|count| count <= MAX_ELEMENTS)
}
