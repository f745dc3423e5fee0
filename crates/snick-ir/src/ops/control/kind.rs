//! The ops with bodies.

/// An op with bodies.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SubGraphKind {
    /// Iterates over parts of its inputs.
    TensorIterator,
    /// Iterates while a condition holds. Input 0 is the maximum number of iterations, negative for no limit; input 1 is
    /// the condition before the first one.
    Loop,
    /// Runs one of two bodies, selected by input 0.
    If,
}
