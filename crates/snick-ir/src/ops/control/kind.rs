//! The kinds of ops with bodies.

/// The kind of an op with bodies.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SubGraphKind {
    /// Runs its body once for each part of its sliced inputs.
    TensorIterator,
    /// Repeats its body while a condition holds. Input 0 is the maximum number of iterations, negative for no
    /// limit; input 1 is the condition for the first iteration.
    Loop,
    /// Runs one of two bodies, selected by input 0.
    If,
}
