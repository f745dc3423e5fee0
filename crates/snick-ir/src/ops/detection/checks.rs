//! What the inputs of a detection op must agree on: element types, ranks and sizes, before a run and in it.

use smallvec::SmallVec;
use snick_shape::{Interval, SymExpr};
use snick_tensor::{Element, ElementType, Tensor, TensorError};

use crate::{Infer, OpError};

/// The one floating-point type of some inputs; `Dynamic` gives way.
pub fn common_float(cx: &mut Infer, ports: impl IntoIterator<Item = usize>) -> Result<ElementType, OpError> {
    let ports: SmallVec<[usize; 5]> = ports.into_iter().collect();
    for &port in &ports {
        expect_float(cx, port)?;
    }
    Ok(cx.common_type(ports))
}

/// Input `port` must have a floating-point type, if its type is known. `nf4`, a table of numbers, is none.
pub fn expect_float(cx: &Infer, port: usize) -> Result<(), OpError> {
    expect_type(cx, port, "a floating-point type", |et| et.is_float() && et != ElementType::NF4)
}

/// Input `port` must have an integer type, if its type is known, or `nf4`, which the runtime counts among them.
pub fn expect_whole(cx: &Infer, port: usize) -> Result<(), OpError> {
    expect_type(cx, port, "an integer type", |et| et.is_integer() || et == ElementType::NF4)
}

/// Input `port` must be bf16, f16 or f32, if its type is known.
pub fn expect_single(cx: &Infer, port: usize) -> Result<(), OpError> {
    use ElementType::{BF16, F16, F32};
    expect_type(cx, port, "bf16, f16 or f32", |et| matches!(et, BF16 | F16 | F32))
}

/// Input `port` must have a type that `fits`, if its type is known.
fn expect_type(
    cx: &Infer,
    port: usize,
    expected: &str,
    fits: impl Fn(ElementType) -> bool,
) -> Result<(), OpError> {
    match cx.element_type(port) {
        ElementType::Dynamic => Ok(()),
        et if fits(et) => Ok(()),
        et => Err(OpError::element_type(format!("input {port}"), et, expected)),
    }
}

/// A type of indices: i32 or i64.
pub fn expect_index_type(name: &str, et: ElementType) -> Result<(), OpError> {
    match et {
        ElementType::I32 | ElementType::I64 => Ok(()),
        _ => Err(OpError::element_type(format!("`{name}`"), et, "i32 or i64")),
    }
}

/// Input `port` must have this rank, if its rank is known.
pub fn expect_rank(cx: &Infer, port: usize, rank: usize) -> Result<(), OpError> {
    cx.expect_rank(port, &rank.to_string(), |got| got == rank)
}

/// One dim of an input of known rank.
pub fn dim(cx: &Infer, port: usize, axis: usize) -> Option<SymExpr> {
    cx.shape(port).dims()?.get(axis).cloned()
}

/// One dim of an input must be able to be `size`.
pub fn expect_size(cx: &Infer, port: usize, axis: usize, size: i64) -> Result<(), OpError> {
    match dim(cx, port, axis).map(|dim| cx.interval(&dim)) {
        Some(interval) if !interval.contains(size) => {
            Err(OpError::mismatch(format!("axis {axis} of input {port}"), interval, size))
        }
        _ => Ok(()),
    }
}

/// Unifies the dims of some `(port, axis)`, which are equal in every run; an unknown where none is known.
pub fn common_dim(cx: &mut Infer, axes: &[(usize, usize)]) -> Result<SymExpr, OpError> {
    let mut common: Option<(SymExpr, (usize, usize))> = None;
    for &(port, axis) in axes {
        let Some(next) = dim(cx, port, axis) else { continue };
        common = Some(match common {
            Some((dim, first)) => {
                let both = cx.merge(&dim, &next);
                let conflict = || {
                    let sentence = format!(
                        "axis {} of input {} is {{}}, axis {axis} of input {port} is {{}}",
                        first.1, first.0
                    );
                    OpError::conflict(sentence, cx.interval(&dim), cx.interval(&next))
                };
                (both.ok_or_else(conflict)?, first)
            }
            None => (next, (port, axis)),
        });
    }
    Ok(common.map_or_else(|| cx.unknown(Interval::DIM), |(dim, _)| dim))
}

/// A count of rows that is at most the product of some bounds, each the upper end of an interval.
pub fn rows_up_to(cx: &mut Infer, bounds: &[Interval]) -> SymExpr {
    let mut most = Interval::from(1);
    for &bound in bounds {
        most = most.mul(bound);
    }
    let hi = if bounds.iter().any(|bound| bound.hi() == 0) { 0 } else { most.hi() };
    cx.unknown(Interval::new(0, hi.max(0)).unwrap_or(Interval::DIM))
}

/// A tensor must have exactly these dims.
pub fn check_dims(what: &str, tensor: &Tensor, dims: &[usize]) -> Result<(), OpError> {
    if tensor.dims() == dims {
        return Ok(());
    }
    Err(OpError::mismatch(
        format!("the shape of {what}"),
        format!("{:?}", tensor.dims()),
        format!("{dims:?}"),
    ))
}

/// An empty vector with room for the elements of a tensor, whose size is checked before memory is taken.
pub fn room<T: Element>(dims: &[usize]) -> Result<Vec<T>, OpError> {
    let len = Tensor::full(dims, T::default())?.len();
    let mut values = Vec::new();
    let refused = |_| TensorError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) };
    values.try_reserve_exact(len).map_err(refused)?;
    Ok(values)
}

/// A tensor of the values that are there and zeros behind them.
pub fn padded<T: Element>(dims: &[usize], values: Vec<T>) -> Result<Tensor, OpError> {
    let mut all = room(dims)?;
    all.extend(values);
    all.resize(Tensor::full(dims, T::default())?.len(), T::default());
    Ok(Tensor::from_vec(dims, all)?)
}
