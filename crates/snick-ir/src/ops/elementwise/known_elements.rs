//! Propagates known integer elements through element-wise ops.
//!
//! Expressions are mathematical integers, but elements wrap. An expression can represent an element only if
//! the interval of the expression proves that the element does not wrap; otherwise the element is an unknown
//! within the range of its type.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, kernels};

use super::auto_broadcast::AutoBroadcast;
use crate::{Fact, Infer};

/// Maximum number of elements to track.
const MAX: usize = 256;

/// All values of an integer or boolean type.
pub fn type_range(et: ElementType) -> Interval {
    let range = match et {
        ElementType::Boolean => Some((0, 1)),
        _ => et.integer_range(),
    };
    range.and_then(|(lo, hi)| Interval::new(lo, hi)).unwrap_or(Interval::ANY)
}

/// Whether models store sizes in this type. A size without a known bound is assumed to fit in such a type, so
/// the type adds no bound.
fn counts_sizes(et: ElementType) -> bool {
    matches!(et, ElementType::I32 | ElementType::I64 | ElementType::U32 | ElementType::U64)
}

/// The range of an element: the interval of its expression, restricted to its type.
pub fn element_interval(cx: &Infer, element: &SymExpr, et: ElementType) -> Interval {
    let interval = cx.interval(element);
    let range = if counts_sizes(et) && !interval.has_upper() { Interval::ANY } else { type_range(et) };
    interval.meet(range).unwrap_or(interval)
}

/// Whether the result of arithmetic on `operands` stays within the type. An unbounded result is accepted only
/// if an operand is unbounded, because sizes without a known bound are assumed to fit in their type.
pub fn fits(et: ElementType, result: Interval, operands: &[Interval]) -> bool {
    let wide = operands.iter().any(|i| !i.has_lower() || !i.has_upper());
    let somewhere = result.lo() < i64::MAX && result.hi() > i64::MIN;
    let range = type_range(et);
    let open = wide && counts_sizes(et);
    let low = result.lo() >= range.lo() && result.has_lower() || open && !result.has_lower();
    let high = result.hi() <= range.hi() && result.has_upper() || open && !result.has_upper();
    low && high && somewhere
}

/// Returns `expr` if `result`, the interval of the operation, proves that the operation does not wrap;
/// otherwise an unknown element.
pub fn unwrapped(
    cx: &mut Infer,
    et: ElementType,
    result: Interval,
    operands: &[Interval],
    expr: impl FnOnce(&mut Infer) -> SymExpr,
) -> SymExpr {
    if !fits(et, result, operands) {
        return cx.unknown(type_range(et));
    }
    let expr = expr(cx);
    let known = cx.interval(&expr);
    if !result.covers(&known) {
        cx.symbols().refine(&expr, result);
    }
    expr
}

/// Maps the elements of input 0; `None` if they are unknown, or constant and will be folded.
pub fn map(cx: &mut Infer, f: impl FnMut(&mut Infer, &SymExpr) -> SymExpr) -> Option<Vec<SymExpr>> {
    let mut f = f;
    let input = cx.input(0);
    if input.as_tensor().is_some() {
        return None;
    }
    let elements = input.elements()?;
    Some(elements.iter().map(|e| f(cx, e)).collect())
}

/// Maps pairs of elements of inputs `i` and `j` after broadcasting; `None` if both inputs are constants,
/// which are folded, or both are unknown.
pub fn zip(
    cx: &mut Infer,
    broadcast: AutoBroadcast,
    out: &Shape,
    (i, j): (usize, usize),
    f: impl FnMut(&mut Infer, &SymExpr, &SymExpr) -> SymExpr,
) -> Option<Vec<SymExpr>> {
    let mut f = f;
    let (a, b) = (cx.input(i), cx.input(j));
    let constant = a.as_tensor().is_some() && b.as_tensor().is_some();
    if constant || (a.known.is_none() && b.known.is_none()) || !followed(a) || !followed(b) {
        return None;
    }
    let out = out.as_static()?;
    let (da, db) = (a.shape.as_static()?, b.shape.as_static()?);
    let db = broadcast.aligned(da.len(), &db).ok()?;
    let (ia, ib) = (positions(&da, &out)?, positions(&db, &out)?);
    let (ea, eb) = (cx.elements_or_unknown(i)?, cx.elements_or_unknown(j)?);
    ia.into_iter().zip(ib).map(|(x, y)| Some(f(cx, ea.get(x)?, eb.get(y)?))).collect()
}

/// Whether the elements of the tensor are tracked: only integers and booleans are.
fn followed(fact: &Fact) -> bool {
    fact.element_type.is_integer() || fact.element_type == ElementType::Boolean
}

/// For each element of a tensor of shape `out`, the position of the element broadcast to it from a tensor of
/// shape `dims`.
pub fn positions(dims: &[usize], out: &[usize]) -> Option<Vec<usize>> {
    let total = out.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    let agrees = kernels::broadcast_dims(dims, out).ok()?.as_slice() == out;
    if total > MAX || !agrees {
        return None;
    }
    if dims == out {
        return Some((0..total).collect());
    }
    let position = |mut index: usize| {
        let (mut at, mut stride) = (0, 1);
        for (axis, &size) in out.iter().enumerate().rev() {
            let coordinate = index % size;
            index /= size;
            if let Some(own) = (axis + dims.len()).checked_sub(out.len()) {
                if dims[own] != 1 {
                    at += coordinate * stride;
                }
                stride *= dims[own];
            }
        }
        at
    };
    Some((0..total).map(position).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_stretch() {
        assert_eq!(positions(&[2, 1], &[2, 3]).unwrap(), [0, 0, 0, 1, 1, 1]);
        assert_eq!(positions(&[3], &[2, 3]).unwrap(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(positions(&[], &[2]).unwrap(), [0, 0]);
        assert!(positions(&[2], &[3]).is_none());
        assert!(positions(&[1], &[257]).is_none());
        assert_eq!(positions(&[1], &[0]).unwrap(), [0usize; 0]);
    }

    #[test]
    fn what_may_wrap_does_not_fit() {
        let i = |lo, hi| Interval::new(lo, hi).unwrap();
        assert!(fits(ElementType::I32, i(0, 100), &[i(0, 50)]));
        assert!(!fits(ElementType::I32, i(0, 1 << 40), &[i(0, 1 << 20)]));
        assert!(!fits(ElementType::U8, i(-1, 3), &[i(0, 3)]));
        assert!(fits(ElementType::I64, Interval::DIM, &[Interval::DIM]));
        assert!(!fits(ElementType::I64, i(4, i64::MAX), &[i(1, 1 << 62), i(4, 4)]));
        assert!(!fits(ElementType::I64, i(i64::MAX, i64::MAX), &[Interval::DIM]));
    }
}
