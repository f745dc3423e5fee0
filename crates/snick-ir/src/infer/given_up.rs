//! Reasons why inference has no expression for a size that follows from other sizes, for
//! [`Birth::GivenUp`](snick_shape::Birth).

/// All reasons; `docs/src/shapes.md` explains them.
pub const GIVEN_UP: [&str; 9] = [
    TOO_LARGE,
    TOO_LARGE_OUTSIDE,
    BEYOND_TYPE,
    EITHER_DIRECTION,
    MAY_COPY,
    NO_ELEMENTS,
    NO_RULE,
    NO_RULE_FOR_RANK,
    NO_EXPRESSION,
];

pub(crate) const TOO_LARGE: &str = "its expression would be too long or would need more than 64 bits";
pub(crate) const TOO_LARGE_OUTSIDE: &str = "its expression in terms of sizes outside the body is too long";
pub(crate) const BEYOND_TYPE: &str =
    "start, stop or step may exceed the integers that the element type represents exactly";
pub(crate) const EITHER_DIRECTION: &str = "the step may be negative or positive";
pub(crate) const MAY_COPY: &str = "a size in the target shape may be 0, which copies a size of the input";
pub(crate) const NO_ELEMENTS: &str = "the target shape has -1 and 0, so -1 is undefined";
pub(crate) const NO_RULE: &str = "the operation is unknown, and the file declares no size";
/// For values of unknown operations whose rank the file does not declare.
pub const NO_RULE_FOR_RANK: &str = "the operation is unknown, and the file declares no rank";
/// For sizes that are unknown although all input shapes are known.
pub const NO_EXPRESSION: &str = "no formula over the input sizes is known to hold in every run";
