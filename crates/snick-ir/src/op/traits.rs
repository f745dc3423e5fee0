//! Properties that an op declares, so that no driver keeps a list of op names.

bitflags::bitflags! {
    /// What drivers may assume of an op.
    ///
    /// ```
    /// use snick_ir::{Op, OpTraits, ops};
    ///
    /// let add = Op::from(ops::Add::default());
    /// assert!(add.has(OpTraits::ELEMENTWISE) && !add.has(OpTraits::ROOT));
    /// ```
    #[derive(Copy, Clone, PartialEq, Eq, Debug)]
    pub struct OpTraits: u16 {
        /// Equal inputs give equal outputs, and nothing else happens: equal nodes merge, constants fold.
        const PURE = 1;
        /// Draws random numbers: never folded, never merged.
        const RANDOM = 1 << 1;
        /// Reads or writes a variable that outlives the run.
        const STATEFUL = 1 << 2;
        /// Kept though nothing reads it.
        const ROOT = 1 << 3;
        /// Owns bodies; only a session executes it.
        const HAS_BODIES = 1 << 4;
        /// Each output element depends on the input elements at the same position, after broadcasting.
        const ELEMENTWISE = 1 << 5;
        /// Moves or copies the elements of its first input and computes nothing from them.
        const MOVES_ELEMENTS = 1 << 6;
        /// Selects elements by position along axes: the canonical form has `slice` in its place.
        const SLICE_LIKE = 1 << 7;
        /// A slice for some constant inputs, such as Gather with arithmetic indices.
        const MAYBE_SLICE = 1 << 8;
        /// Sums of products. Factors that are subnormal count as zero.
        const CONTRACTION = 1 << 9;
        /// A floating-point formula; of integers the result is rounded.
        const FLOAT_FORMULA = 1 << 10;
        /// Its values cross into or out of a body, a variable or the model, so they keep their declared type.
        const BOUNDARY = 1 << 11;
    }
}

impl OpTraits {
    /// Whether a node whose inputs are constants may be evaluated ahead of the run.
    pub fn is_foldable(self) -> bool {
        self.contains(Self::PURE) && !self.intersects(Self::HAS_BODIES)
    }
}
