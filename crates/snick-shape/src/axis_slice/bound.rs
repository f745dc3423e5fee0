//! The start or stop of a slice.

use crate::sym_expr::SymExpr;

/// The start or stop of a slice, as far as known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SliceBound {
    /// Omitted or masked: the first or last element in the direction of the step.
    Masked,
    /// The value of an expression.
    At(SymExpr),
    /// Nothing is known.
    Unknown,
}
