//! An abstraction over kinds of integers, so that the arithmetic of slices is written only once.

use std::convert::Infallible;

/// An operation on two integers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum IntOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
    /// `a / b` rounded down; `b` is at least 1.
    FloorDiv,
    /// `a / b` rounded up; `b` is at least 1.
    CeilDiv,
}

/// The result of an operation, or an error if it cannot be expressed.
pub type Computed<D> = Result<<D as Integers>::Int, <D as Integers>::Error>;

/// A kind of integer: numbers, expressions, or values computed by a graph.
///
/// ```
/// use snick_shape::{Computed, IntOp, Integers, WideIntegers};
///
/// /// The middle of two indices.
/// fn middle<D: Integers>(d: &mut D, a: &D::Int, b: &D::Int) -> Computed<D> {
///     let sum = d.compute(IntOp::Add, a, b)?;
///     d.compute(IntOp::FloorDiv, &sum, &2.into())
/// }
/// assert_eq!(middle(&mut WideIntegers, &3, &8), Ok(5));
/// ```
pub trait Integers {
    /// An integer.
    type Int: Clone + From<i64>;
    /// The reason why an operation cannot be expressed.
    type Error;

    /// The result of an operation.
    ///
    /// # Errors
    /// The result cannot be expressed in this kind of integer.
    fn compute(&mut self, op: IntOp, a: &Self::Int, b: &Self::Int) -> Computed<Self>;
}

/// Plain numbers, wide enough for products of two `i64`. Sums and products beyond `i128` saturate.
#[derive(Copy, Clone, Debug)]
pub struct WideIntegers;

impl Integers for WideIntegers {
    type Int = i128;
    type Error = Infallible;

    fn compute(&mut self, op: IntOp, &a: &i128, &b: &i128) -> Result<i128, Infallible> {
        Ok(match op {
            IntOp::Add => a.saturating_add(b),
            IntOp::Sub => a.saturating_sub(b),
            IntOp::Mul => a.saturating_mul(b),
            IntOp::Min => a.min(b),
            IntOp::Max => a.max(b),
            IntOp::FloorDiv => a.div_euclid(b.max(1)),
            IntOp::CeilDiv => a.div_euclid(b.max(1)) + i128::from(a.rem_euclid(b.max(1)) != 0),
        })
    }
}
