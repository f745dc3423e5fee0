//! Checks of element types, ranks and sizes for the inputs of detection ops.

use std::fmt::Display;

use snick_shape::{Interval, SymExpr};
use snick_tensor::{Element, ElementType, Listed, SmallVector, Tensor};

use crate::ops::allocation::reserved;
use crate::{Infer, OpError};

/// The floating-point type that these inputs must share; `Dynamic` matches any.
pub fn common_float(cx: &mut Infer, ports: impl IntoIterator<Item = usize>) -> Result<ElementType, OpError> {
    let ports: SmallVector<usize, 5> = ports.into_iter().collect();
    ports.iter().try_for_each(|&port| cx.expect_real(port))?;
    Ok(cx.common_type(ports))
}

/// If the type is known, requires an integer type or `nf4`, which the OpenVINO runtime also accepts.
pub fn expect_integer_or_nf4(cx: &Infer, port: usize) -> Result<(), OpError> {
    expect_type(cx, port, "an integer type", |et| et.is_integer() || et == ElementType::NF4)
}

/// Requires bf16, f16 or f32, if the type is known.
pub fn expect_f32_or_half(cx: &Infer, port: usize) -> Result<(), OpError> {
    use ElementType::{BF16, F16, F32};
    expect_type(cx, port, "bf16, f16 or f32", |et| matches!(et, BF16 | F16 | F32))
}

/// Requires a type that satisfies `fits`, if the type is known.
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

/// Requires the inputs to have these ranks, ignoring unknown ranks and absent inputs.
pub fn expect_ranks(cx: &Infer, ranks: &[usize]) -> Result<(), OpError> {
    let mut ports = ranks.iter().enumerate().take(cx.len());
    ports.try_for_each(|(port, &rank)| cx.expect_rank(port, &rank.to_string(), |got| got == rank))
}

/// A dim of an input; `None` if the rank is unknown.
pub fn dim(cx: &Infer, port: usize, axis: usize) -> Option<SymExpr> {
    cx.shape(port).dims()?.get(axis).cloned()
}

/// Rejects a dim that cannot equal `size`.
pub fn expect_size(cx: &Infer, port: usize, axis: usize, size: i64) -> Result<(), OpError> {
    match dim(cx, port, axis).map(|dim| cx.interval(&dim)) {
        Some(interval) if !interval.contains(size) => {
            Err(OpError::mismatch(format!("axis {axis} of input {port}"), interval, size))
        }
        _ => Ok(()),
    }
}

/// Unifies dims, given as `(port, axis)`, that must be equal; the result is unknown if none of them is known.
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

/// An unknown number of rows, at most the product of the upper ends of `bounds`.
pub fn rows_up_to(cx: &mut Infer, bounds: &[Interval]) -> SymExpr {
    let most = bounds.iter().fold(Interval::from(1), |most, &bound| most.mul(bound));
    let hi = if bounds.iter().any(|bound| bound.hi() == 0) { 0 } else { most.hi() };
    cx.unknown(Interval::new(0, hi.max(0)).unwrap_or(Interval::DIM))
}

/// Requires an attribute to be at least `least`.
pub fn expect_at_least(name: &str, value: i64, least: i64) -> Result<(), OpError> {
    match value >= least {
        true => Ok(()),
        false => Err(OpError::out_of_range(format!("`{name}`"), value, format!("{least} or more"))),
    }
}

/// Converts a limit: -1 means no limit.
pub fn limit(value: i64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The dims of a tensor of rank `N`.
pub fn dims_of<const N: usize>(what: &str, tensor: &Tensor) -> Result<[usize; N], OpError> {
    tensor.dims().try_into().map_err(|_| OpError::rank(what, tensor.rank(), N.to_string()))
}

/// Requires a tensor to have exactly these dims.
pub fn check_dims(what: &str, tensor: &Tensor, dims: &[usize]) -> Result<(), OpError> {
    if tensor.dims() == dims { Ok(()) } else { Err(wrong_shape(what, tensor, Listed(dims))) }
}

/// The error for a tensor with an unexpected shape.
pub fn wrong_shape(what: &str, tensor: &Tensor, expected: impl Display) -> OpError {
    OpError::mismatch(format!("the shape of {what}"), Listed(tensor.dims()), expected)
}

/// A tensor with these values, padded with zeros.
pub fn zero_padded<T: Element>(dims: &[usize], mut values: Vec<T>) -> Result<Tensor, OpError> {
    let len = Tensor::full(dims, T::default())?.len();
    if len > values.capacity() {
        let mut all = reserved(dims)?;
        all.append(&mut values);
        values = all;
    }
    values.resize(len, T::default());
    Ok(Tensor::from_vec(dims, values)?)
}
