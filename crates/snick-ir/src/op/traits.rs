//! Properties declared by ops, so that passes and runs need no lists of op names.

bitflags::bitflags! {
    /// Properties of an op that inference, passes and runs rely on.
    ///
    /// ```
    /// use snick::{ops, Op, OpTraits};
    ///
    /// let add = Op::from(ops::Add::default());
    /// assert!(add.has(OpTraits::ELEMENTWISE) && !add.has(OpTraits::ROOT));
    /// ```
    #[derive(Copy, Clone, PartialEq, Eq, Debug)]
    pub struct OpTraits: u16 {
        /// Equal inputs give equal outputs, without side effects, so equal nodes merge and constants fold.
        const PURE = 1;
        /// Generates random numbers. Never folded or merged.
        const RANDOM = 1 << 1;
        /// Reads or writes a variable that persists across runs.
        const STATEFUL = 1 << 2;
        /// Kept even if nothing reads it.
        const ROOT = 1 << 3;
        /// Owns bodies; only a session can execute it.
        const HAS_BODIES = 1 << 4;
        /// Each output element depends on the input elements at the same position, after broadcasting.
        const ELEMENTWISE = 1 << 5;
        /// Only moves or copies the elements of its first input.
        const MOVES_ELEMENTS = 1 << 6;
        /// Selects elements by their positions along axes; the canonical form uses `slice` instead.
        const SLICE_LIKE = 1 << 7;
        /// Equivalent to a slice for some constant inputs, such as a Gather whose indices are an arithmetic
        /// progression.
        const MAYBE_SLICE = 1 << 8;
        /// Computes sums of products, as a matrix product does. Subnormal factors count as zero.
        const CONTRACTION = 1 << 9;
        /// Computes a floating-point formula; for integer inputs, the result is rounded.
        const FLOAT_FORMULA = 1 << 10;
        /// The values of the op cross a boundary of a body, a variable or the model, so they keep their
        /// declared type.
        const BOUNDARY = 1 << 11;
        /// Does no arithmetic on elements: copies elements of any input, converts them, or reads shapes.
        const NO_ARITHMETIC = 1 << 12;
        /// The outputs share the memory of the first input.
        const VIEW = 1 << 13;
        /// The elements of outputs need not be adjacent in memory.
        const STRIDED = 1 << 14;
    }
}

impl OpTraits {
    /// Whether a node with constant inputs may be evaluated before the run.
    pub fn is_foldable(self) -> bool {
        self.contains(Self::PURE) && !self.intersects(Self::HAS_BODIES)
    }
}
