//! The start or stop of a slice.

use crate::sym_expr::SymExpr;

/// What is known about the start or stop of a slice.
///
/// ```
/// use snick::{Interval, Origin, Symbols};
/// use snick_shape::{SliceBound, length};
///
/// // `x[:k]` of an axis of `W` elements, where `k` is not negative.
/// let mut symbols = Symbols::default();
/// let [w, k] = ["W", "k"].map(|name| symbols.named(name, Interval::DIM, Origin::default()).unwrap());
/// let stop = SliceBound::At(k);
/// let len = length(&mut symbols, &w, &SliceBound::Masked, &stop, Some(1), Origin::default());
/// assert_eq!(symbols.display(&len).to_string(), "min(W,k)");
///
/// // With an unknown stop, the length is only known to be at most `W`.
/// let len = length(&mut symbols, &w, &SliceBound::Masked, &SliceBound::Unknown, Some(1), Origin::default());
/// assert!(symbols.le(&len, &w));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SliceBound {
    /// The bound is omitted or masked: the first or last element in the direction of the step.
    Masked,
    /// The bound is the value of this expression.
    At(SymExpr),
    /// Nothing is known about the bound.
    Unknown,
}
