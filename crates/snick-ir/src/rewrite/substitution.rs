//! What is computed in place of layers.

use super::Tolerance;
use crate::Value;

/// A value of a graph, and another one that somebody computes in its place: the claim, to be checked, that both are equal
/// whatever the values that they read are.
///
/// ```
/// use snick_ir::GraphBuilder;
/// use snick_ir::rewrite::Substitution;
/// use snick_tensor::ElementType;
///
/// let mut b = GraphBuilder::new("g");
/// let x = b.parameter("x", ElementType::F32, "N")?;
/// let relu = b.relu(x)?;
/// let (old, new) = (b.relu(relu)?, relu);
/// let twice = Substitution { by: "relu-once", old, new, reads: vec![x], tolerance: None, widens: false };
/// # let _ = twice;
/// # Ok::<(), snick_ir::OpError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Substitution {
    /// Who claims it: a rule, or a step of a session.
    pub by: &'static str,
    /// The value of the model.
    pub old: Value,
    /// What is computed in its place.
    pub new: Value,
    /// The values that both are computed from, besides constants.
    pub reads: Vec<Value>,
    /// How far elements may differ; `None` if all bits are equal.
    pub tolerance: Option<Tolerance>,
    /// Whether values of f16 and bf16 are computed in f32, on both sides.
    pub widens: bool,
}
