//! slice-of-concat: slices only those inputs of a Concat from which a slice reads.

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{IntOrValue, Op, OpError, Value, normalize_axis};
use snick_shape::{AxisSlice, SymExpr};

use crate::selection::Selection;

/// If a slice lies within one input of the Concat, replaces it with a slice of this input. Otherwise, moves
/// the slice above a Concat without other readers, so that fewer elements are copied.
pub(crate) const RULE: Rule = Rule::exact("slice-of-concat", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let concat = |op: &Op| if let Op::Concat(op) = op { Some(op.clone()) } else { None };
    let Some((selection, joined, concat)) = Selection::of_computed(patch, concat)? else {
        return Ok(RewriteResult::NoMatch);
    };
    let Some(dims) = patch.dims(joined)? else { return Ok(RewriteResult::NoMatch) };
    let axis = normalize_axis(concat.axis, dims.len())?;
    let inputs = patch.inputs_of(joined)?;
    let parts: Vec<(Value, Selection<DynAxisSlice>)> = match selection.on(axis) {
        None => inputs.into_iter().map(|input| (input, selection.clone())).collect(),
        Some(cut) => {
            let mut sizes = Vec::with_capacity(inputs.len());
            for &input in &inputs {
                sizes.push(patch.dims(input)?.and_then(|dims| dims.get(axis).cloned()));
            }
            let constants: Vec<_> =
                sizes.iter().map(|size| size.as_ref().and_then(SymExpr::as_const)).collect();
            match cut.as_static().and_then(|slice| parts_of(slice, &constants)) {
                Some(parts) => parts
                    .into_iter()
                    .map(|(i, slice)| (inputs[i], selection.with(axis, slice.into())))
                    .collect(),
                None => match part_of(patch, cut, &sizes)? {
                    Some((i, Some(slice))) => vec![(inputs[i], selection.with(axis, slice))],
                    Some((i, None)) => vec![(inputs[i], selection.without(axis))],
                    None => return Ok(RewriteResult::NoMatch),
                },
            }
        }
    };
    if parts.is_empty()
        || (parts.len() > 1 && !(patch.is_read_once(joined) && selection.shrinks(patch, &dims)?))
    {
        return Ok(RewriteResult::NoMatch);
    }
    let mut values = Vec::with_capacity(parts.len());
    for (input, selection) in parts {
        values.push(selection.apply(patch, input)?);
    }
    match values.as_slice() {
        [value] => Ok(RewriteResult::one(*value)),
        values => patch.add_op(concat, values).map(RewriteResult::one),
    }
}

/// The only input that a contiguous slice reads for all sizes, and the slice of it; no slice if it reads the whole
/// input. `None` if it may read several inputs, or if the start within the input is unknown.
fn part_of(
    patch: &Patch,
    cut: &DynAxisSlice,
    sizes: &[Option<SymExpr>],
) -> Result<Option<(usize, Option<DynAxisSlice>)>, OpError> {
    let number = |number: IntOrValue<Value>| -> Result<_, OpError> {
        Ok(match number {
            IntOrValue::Int(int) => Some(SymExpr::from(int)),
            IntOrValue::Value(value, _) => {
                patch.fact(value)?.elements().and_then(|mut elements| elements.pop())
            }
        })
    };
    let (Some(start), Some(len), IntOrValue::Int(1)) = (number(cut.start)?, number(cut.len)?, cut.step)
    else {
        return Ok(None);
    };
    let symbols = patch.graph().symbols();
    let Some(stop) = symbols.add(&start, &len) else { return Ok(None) };
    let mut offset = SymExpr::from(0);
    for (i, size) in sizes.iter().enumerate() {
        let Some(size) = size else { return Ok(None) };
        let Some(end) = symbols.add(&offset, size) else { return Ok(None) };
        if symbols.le(&offset, &start) && symbols.le(&stop, &end) {
            let within = symbols.sub(&start, &offset).and_then(|within| within.as_const());
            let start = match within {
                Some(0) if len == *size => return Ok(Some((i, None))),
                Some(within) => IntOrValue::Int(within),
                None if offset == SymExpr::from(0) => cut.start,
                None => return Ok(None),
            };
            return Ok(Some((i, Some(DynAxisSlice { start, ..*cut }))));
        }
        offset = end;
    }
    Ok(None)
}

/// The slice of each input, in reading order. `None` if the size of a needed input is dynamic.
fn parts_of(slice: AxisSlice, sizes: &[Option<i64>]) -> Option<Vec<(usize, AxisSlice)>> {
    let mut parts = Vec::new();
    let mut offset = 0i64;
    let mut taken = 0;
    for (i, size) in sizes.iter().enumerate() {
        if taken == slice.len {
            break;
        }
        let end = offset.checked_add((*size)?)?;
        // The elements k for which offset <= start + k * step < end.
        let (from, to) = match slice.step > 0 {
            true => (
                ceil_div(offset.checked_sub(slice.start)?, slice.step),
                ceil_div(end.checked_sub(slice.start)?, slice.step),
            ),
            false => {
                let back = slice.step.checked_neg()?;
                (
                    ceil_div(slice.start.checked_sub(end)?.checked_add(1)?, back),
                    ceil_div(slice.start.checked_sub(offset)?.checked_add(1)?, back),
                )
            }
        };
        let (from, to) = (from.clamp(0, slice.len), to.clamp(0, slice.len));
        if from < to {
            let len = to - from;
            let start = slice.start.checked_add(from.checked_mul(slice.step)?)?.checked_sub(offset)?;
            parts.push((i, AxisSlice { start, len, step: if len == 1 { 1 } else { slice.step } }));
            taken += len;
        }
        offset = end;
    }
    if slice.step < 0 {
        parts.reverse();
    }
    (taken == slice.len).then_some(parts)
}

/// Division rounded up; `b` is positive.
fn ceil_div(a: i64, b: i64) -> i64 {
    a.div_euclid(b) + i64::from(a.rem_euclid(b) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn parts_are_those_of_every_element() {
        let sizes = [Some(2), Some(0), Some(3), Some(1)];
        let places: Vec<(usize, i64)> =
            sizes.iter().enumerate().flat_map(|(i, n)| (0..n.unwrap()).map(move |k| (i, k))).collect();
        for start in -7..7 {
            for stop in -7..8 {
                for step in [-3, -2, -1, 1, 2, 3] {
                    let slice = AxisSlice::resolve(6, Some(start), Some(stop), step).unwrap();
                    let want: Vec<_> = slice.indices().map(|i| places[i as usize]).collect();
                    let got: Vec<_> = parts_of(slice, &sizes)
                        .unwrap()
                        .into_iter()
                        .flat_map(|(i, part)| part.indices().map(move |k| (i, k)))
                        .collect();
                    assert_eq!(got, want, "{slice:?}");
                }
            }
        }
    }

    #[test]
    fn slices_within_one_part_read_that_part() {
        let text = fires(
            "slice-of-concat",
            "%x = Parameter-1 {element_type: f32, shape: \"3,N\"}
             %z = Parameter-1 {element_type: f32, shape: \"?,N\"}
             %c = Concat-1(%x, %x, %z) {axis: 0}
             %a = slice(%c) {axes: [0], start: [5], len: [2], step: [-2]}
             %y = Result-1(%a)
             %b = Result-1(%c)",
        );
        assert!(text.contains("slice(%x) {axes: [0], start: [2], len: [2], step: [-2]}"), "{text}");
    }

    /// As in a cache: the new elements are behind the old ones, of which there are any number.
    #[test]
    fn slices_of_parts_with_symbolic_sizes_read_that_part() {
        let text = fires(
            "slice-of-concat",
            "%old = Parameter-1 {element_type: f32, shape: \"N,4\"}
             %new = Parameter-1 {element_type: f32, shape: \"M,4\"}
             %c = Concat-1(%old, %new) {axis: 0}
             %s = ShapeOf-3(%old) {output_type: i64}
             %t = ShapeOf-3(%new) {output_type: i64}
             %zero = Const-1 i64[] <0>
             %n = Gather-8(%s, %zero, %zero) {batch_dims: 0}
             %m = Gather-8(%t, %zero, %zero) {batch_dims: 0}
             %a = slice(%c, %n, %m) {axes: [0], start: [\"in ?\"], len: [\"in ?\"], step: [1]}
             %b = slice(%c, %n) {axes: [0], start: [0], len: [\"in ?\"], step: [1]}
             %y = Result-1(%a)
             %z = Result-1(%b)
             %k = Result-1(%c)",
        );
        assert!(text.contains("Result-1(%new)") && text.contains("Result-1(%old)"), "{text}");
    }

    #[test]
    fn dynamic_sizes_and_useless_moves_are_kept() {
        silent(
            "slice-of-concat",
            "%x = Parameter-1 {element_type: f32, shape: \"2..4\"}
             %z = Parameter-1 {element_type: f32, shape: \"3\"}
             %c = Concat-1(%x, %z) {axis: 0}
             %a = slice(%c) {axes: [0], start: [1], len: [2], step: [1]}
             %d = Concat-1(%z, %z) {axis: 0}
             %e = slice(%d) {axes: [0], start: [1], len: [4], step: [1]}
             %y = Result-1(%a)
             %f = Result-1(%d)
             %g = Result-1(%e)",
        );
    }
}
