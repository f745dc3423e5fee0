//! hoist-slice-reshape: replaces a slice of a Reshape with a Reshape of a slice, if the axes correspond. This
//! is separate from the other hoist-slice rules, because axis maps cannot express how a Reshape merges and
//! splits axes.

use snick_ir::ops::shape::reshape::Reshape;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Value};
use snick_shape::{AxisSlice, SymExpr, Symbols};
use snick_tensor::SmallVector;

use crate::layout::pays;
use crate::selection::{AnySlice, Selection};

/// Moves a slice above a Reshape, Squeeze or Unsqueeze without other readers, if this brings the slice closer
/// to a layer that it makes cheaper.
pub(crate) const RULE: Rule = Rule::exact("hoist-slice-reshape", apply);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let reshapes = |op: &Op| matches!(op, Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_)).then_some(());
    let Some((selection, reshaped, ())) = Selection::of_computed(patch, reshapes)? else {
        return Ok(RewriteResult::NoMatch);
    };
    let data = patch.input_of(reshaped, 0)?;
    let (Some(from), Some(to)) = (patch.dims(data)?, patch.dims(reshaped)?) else {
        return Ok(RewriteResult::NoMatch);
    };
    let symbols = patch.graph().symbols();
    let Some(mapped) = through_reshape(&from, &to, &selection, symbols) else {
        return Ok(RewriteResult::NoMatch);
    };
    let Some(target) = target(patch)? else { return Ok(RewriteResult::NoMatch) };
    if !patch.is_read_once(reshaped) || !pays(patch, data)? {
        return Ok(RewriteResult::NoMatch);
    }
    let (data, target) = (mapped.apply(patch, data)?, patch.ints(&target)?);
    let op = Reshape { special_zero: false };
    patch.add_op(op, &[data, target] as &[Value]).map(RewriteResult::one)
}

/// The shape of the slice as the target of a Reshape, in which a dynamic dim is -1; `None` if no such target
/// exists.
fn target(patch: &Patch) -> Result<Option<SmallVector<i64, 4>>, OpError> {
    let dims = patch.dims(patch.output(0))?.unwrap_or_default();
    let target: SmallVector<i64, 4> = dims.iter().map(|dim| dim.as_const().unwrap_or(-1)).collect();
    let open = target.iter().filter(|&&dim| dim == -1).count();
    // Next to a dim of 0, -1 is ambiguous.
    Ok((open == 0 || (open == 1 && !target.contains(&0))).then_some(target))
}

/// The selection of a tensor with dims `from` that selects the same elements as `selection` does after the
/// tensor is reshaped to `to`. `None` if no such selection exists, or if the correspondence of axes is
/// unknown.
fn through_reshape<C: AnySlice + From<AxisSlice>>(
    from: &[SymExpr],
    to: &[SymExpr],
    selection: &Selection<C>,
    symbols: &Symbols,
) -> Option<Selection<C>> {
    let mut axes: SmallVector<(usize, C), 2> = SmallVector::new();
    let (mut i, mut j) = (0, 0);
    while i < from.len() || j < to.len() {
        let is_one = |dims: &[SymExpr], at: usize| dims.get(at).is_some_and(|dim| dim.as_const() == Some(1));
        if i < from.len() && from.get(i) == to.get(j) {
            axes.extend(selection.on(j).map(|cut| (i, *cut)));
            (i, j) = (i + 1, j + 1);
        } else if is_one(from, i) {
            i += 1;
        } else if is_one(to, j) {
            if selection.on(j).is_some() {
                return None;
            }
            j += 1;
        } else if let Some(rows) = symbolic_rows(from.get(i..)?, to.get(j..)?, symbols) {
            let rest = j + rows.to..to.len();
            let cut =
                through_rows(&rows, selection.on(j), (j + 1..rest.start).all(|j| selection.on(j).is_none()))?;
            axes.extend(cut.map(|slice| (i, slice.into())));
            (i, j) = (i + rows.from, rest.start);
        } else {
            let (first, last) = (i, j);
            let next = |dims: &[SymExpr], at: &mut usize| -> Option<i64> {
                *at += 1;
                dims.get(*at - 1)?.as_const().filter(|&dim| dim > 0)
            };
            let (mut a, mut b) = (next(from, &mut i)?, next(to, &mut j)?);
            while a != b {
                if a < b {
                    a = a.checked_mul(next(from, &mut i)?)?;
                } else {
                    b = b.checked_mul(next(to, &mut j)?)?;
                }
            }
            let group = through_group(first, &from[first..i], last, &to[last..j], selection)?;
            axes.extend(group.into_iter().map(|(axis, slice)| (axis, slice.into())));
        }
    }
    Some(Selection::new(axes))
}

/// A group of axes of which the first has a symbolic size before and after a Reshape, and the others have constant
/// sizes.
struct Rows {
    /// The number of axes before and after.
    from: usize,
    to: usize,
    /// The number of elements per index of the first axis, before and after.
    row: i64,
    new_row: i64,
}

/// The leading axes, if one side splits the first axis of the other into rows of constant size.
fn symbolic_rows(from: &[SymExpr], to: &[SymExpr], symbols: &Symbols) -> Option<Rows> {
    let is_split = |whole: &SymExpr, parts: &[SymExpr]| {
        let mut row = 1i64;
        for (count, size) in (2..).zip(parts.get(1..)?) {
            row = row.checked_mul(size.as_const().filter(|size| *size > 0)?)?;
            if symbols.mul(&parts[0], &SymExpr::from(row)).as_ref() == Some(whole) {
                return Some((count, row));
            }
        }
        None
    };
    let (before, after) = (from.first()?, to.first()?);
    if before.as_const().is_some() || after.as_const().is_some() {
        return None;
    }
    if let Some((to, new_row)) = is_split(before, to) {
        return Some(Rows { from: 1, to, row: 1, new_row });
    }
    is_split(after, from).map(|(from, row)| Rows { from, to: 1, row, new_row: 1 })
}

/// The slice of the first axis before the Reshape. The outer `None` is returned if there is none.
fn through_rows<C: AnySlice>(
    rows: &Rows,
    cut: Option<&C>,
    are_rows_whole: bool,
) -> Option<Option<AxisSlice>> {
    let Some(cut) = cut else { return are_rows_whole.then_some(None) };
    let slice = cut.as_static().filter(|slice| are_rows_whole && slice.step == 1 && slice.len > 0)?;
    let moved = |size: i64| {
        let elements = size.checked_mul(rows.new_row)?;
        (elements % rows.row == 0).then_some(elements / rows.row)
    };
    Some(Some(AxisSlice { start: moved(slice.start)?, len: moved(slice.len)?, step: 1 }))
}

/// Like [`through_reshape`], for a group of axes that has the same number of elements before and after. The
/// group starts at axis `first` before the Reshape and at axis `last` after it. Its dims are constant and not
/// 0.
fn through_group<C: AnySlice>(
    first: usize,
    from: &[SymExpr],
    last: usize,
    to: &[SymExpr],
    selection: &Selection<C>,
) -> Option<SmallVector<(usize, AxisSlice), 2>> {
    let mut sliced = selection.iter().filter(|&(axis, _)| (last..last + to.len()).contains(&axis));
    let Some((axis, cut)) = sliced.next() else { return Some(SmallVector::new()) };
    let slice = cut.as_static()?;
    let sizes =
        |dims: &[SymExpr]| dims.iter().map(SymExpr::as_const).collect::<Option<SmallVector<i64, 4>>>();
    let (from, to) = (sizes(from)?, sizes(to)?);
    let (outer, inner) = to.split_at(axis - last);
    // The slice must be contiguous: its step is 1, and all axes of the group before the sliced axis have size
    // 1.
    if sliced.next().is_some() || outer.iter().any(|&dim| dim != 1) || slice.step != 1 || slice.len == 0 {
        return None;
    }
    let row = product(inner.get(1..)?)?;
    let (start, len) = (slice.start.checked_mul(row)?, slice.len.checked_mul(row)?);
    let mut axes = SmallVector::new();
    let mut below = product(&from)?;
    let mut offset = start;
    for (at, dim) in (first..).zip(from) {
        below /= dim;
        let (index, within) = (offset / below, offset % below);
        if within == 0 && len % below == 0 && index + len / below <= dim {
            axes.push((at, AxisSlice { start: index, len: len / below, step: 1 }));
            return Some(axes);
        }
        // Assumes that the whole range is at a single index of this axis. If this is wrong, the range exceeds
        // a later axis, and the result is `None`.
        axes.push((at, AxisSlice { start: index, len: 1, step: 1 }));
        offset = within;
    }
    None
}

/// The product of sizes; `None` if it is 0 or overflows.
fn product(sizes: &[i64]) -> Option<i64> {
    sizes.iter().try_fold(1i64, |product, &size| product.checked_mul(size)).filter(|&product| product != 0)
}

#[cfg(test)]
mod tests {
    use snick_tensor::Tensor;

    use super::*;
    use crate::testing::{fires, silent};

    fn select(data: &Tensor, selection: &Selection) -> Tensor {
        selection.iter().fold(data.clone(), |data, (axis, s)| {
            data.slice(axis, s.start as usize, s.len as usize, s.step as isize).unwrap()
        })
    }

    #[test]
    fn the_selection_keeps_elements_and_order() {
        let shapes: [&[usize]; 9] =
            [&[24], &[2, 12], &[2, 3, 4], &[6, 4], &[1, 24, 1], &[4, 6], &[2, 1, 3, 4], &[8, 3], &[3, 8]];
        let exprs = |dims: &[usize]| dims.iter().map(|&d| SymExpr::from(d as i64)).collect::<Vec<_>>();
        let (symbols, mut mapped) = (Symbols::default(), 0);
        for from in shapes {
            let data = Tensor::from_vec(from, (0..24i64).collect()).unwrap();
            for to in shapes {
                for (axis, &dim) in to.iter().enumerate() {
                    for start in 0..dim as i64 {
                        for len in 1..=dim as i64 - start {
                            let selection = Selection::new([(axis, AxisSlice { start, len, step: 1 })]);
                            let Some(before) =
                                through_reshape(&exprs(from), &exprs(to), &selection, &symbols)
                            else {
                                continue;
                            };
                            mapped += 1;
                            let want = select(&data.reshape(to).unwrap(), &selection).to_i64_vec().unwrap();
                            assert_eq!(
                                select(&data, &before).to_i64_vec().unwrap(),
                                want,
                                "{from:?} {to:?} {selection:?}"
                            );
                        }
                    }
                }
            }
        }
        assert!(mapped > 2000, "{mapped}");
    }

    #[test]
    fn elements_of_one_row_and_whole_rows_are_selections() {
        let (symbols, rows) = (Symbols::default(), [3, 8].map(SymExpr::from));
        let before = |start, len| {
            let selection = Selection::new([(0, AxisSlice { start, len, step: 1 })]);
            let before = through_reshape(&rows, &[SymExpr::from(24)], &selection, &symbols)?;
            Some(before.iter().map(|(axis, slice)| (axis, slice.start, slice.len)).collect::<Vec<_>>())
        };
        assert_eq!(before(8, 16), Some(vec![(0, 1, 2)]));
        assert_eq!(before(11, 4), Some(vec![(0, 1, 1), (1, 3, 4)]));
        assert_eq!(before(11, 5), Some(vec![(0, 1, 1), (1, 3, 5)]));
        assert_eq!(before(11, 6), None);
        assert_eq!(before(16, 16), None, "beyond the axis");
    }

    #[test]
    fn corresponding_axes_are_hoisted() {
        let text = fires(
            "hoist-slice-reshape",
            "%x = Parameter-1 {element_type: f32, shape: \"N,12,5\"}
             %a = ReLU-1(%x)
             %to = Const-1 i64[4] <0, 3, 4, 5>
             %r = Reshape-1(%a, %to) {special_zero: true}
             %s = slice(%r) {axes: [1, 3], start: [1, 0], len: [2, 2], step: [1, 2]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%a) {axes: [1,2], start: [4,0], len: [8,2], step: [1,2]}"), "{text}");
        assert!(text.contains("<-1, 2, 4, 2>"), "{text}");
    }

    #[test]
    fn slices_of_symbolic_axes_are_hoisted_by_rows() {
        let text = fires(
            "hoist-slice-reshape",
            "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
             %a = ReLU-1(%x)
             %to = Const-1 i64[1] <-1>
             %r = Reshape-1(%a, %to) {special_zero: false}
             %s = slice(%r) {axes: [0], start: [4], len: [8], step: [1]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%a) {axes: [0], start: [1], len: [2], step: [1]}"), "{text}");
        let text = fires(
            "hoist-slice-reshape",
            "%x = Parameter-1 {element_type: f32, shape: \"12*N\"}
             %a = ReLU-1(%x)
             %to = Const-1 i64[3] <-1, 3, 4>
             %r = Reshape-1(%a, %to) {special_zero: false}
             %s = slice(%r) {axes: [0], start: [2], len: [3], step: [1]}
             %y = Result-1(%s)",
        );
        assert!(text.contains("slice(%a) {axes: [0], start: [24], len: [36], step: [1]}"), "{text}");
    }

    #[test]
    fn other_axes_are_kept() {
        silent(
            "hoist-slice-reshape",
            "%x = Parameter-1 {element_type: f32, shape: \"12,5\"}
             %a = ReLU-1(%x)
             %to = Const-1 i64[2] <5, 12>
             %r = Reshape-1(%a, %to) {special_zero: false}
             %s = slice(%r) {axes: [1], start: [1], len: [2], step: [1]}
             %y = Result-1(%s)",
        );
    }
}
