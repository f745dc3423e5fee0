//! Values that are computed in place of other values.

use super::Tolerance;
use crate::Value;

/// Claims that one value of a graph can replace another: both are equal for any values of `reads`. A checker
/// can verify the claim.
///
/// ```
/// use snick::rewrite::Substitution;
/// use snick::{ElementType, GraphBuilder};
///
/// let b = GraphBuilder::new("g");
/// let x = b.parameter("x", ElementType::F32, "N")?;
/// let relu = b.relu(x)?;
/// let (old, new) = (b.relu(relu)?, relu);
/// let twice = Substitution { by: "relu-once", old, new, reads: vec![x], tolerance: None, widens: false };
/// # let _ = twice;
/// # Ok::<(), snick::OpError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Substitution {
    /// The rule or session step that replaces `old` with `new`.
    pub by: &'static str,
    /// The value in the model.
    pub old: Value,
    /// The value computed in its place.
    pub new: Value,
    /// The values that both are computed from, apart from constants.
    pub reads: Vec<Value>,
    /// The allowed difference; `None` if both are bit-exact.
    pub tolerance: Option<Tolerance>,
    /// Whether both sides compute f16 and bf16 values in f32.
    pub widens: bool,
}
