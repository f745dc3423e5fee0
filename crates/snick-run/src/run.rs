//! The options, progress and outputs of a run.

use snick_ir::{Located, NodeId};
use snick_tensor::Tensor;

/// Options of a run.
///
/// ```
/// use snick_run::Options;
///
/// let options = Options { check_facts: true, threads: 2, ..Options::default() };
/// assert!(!options.keep_going);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// A layer that fails costs only its dependents; otherwise the first failure ends the run.
    pub keep_going: bool,
    /// Every computed value is checked against what was inferred: element type, shape, known elements.
    pub check_facts: bool,
    /// Outputs are packed in row-major order; otherwise they may be views.
    pub pack_outputs: bool,
    /// Number of threads; 0 for that of the session.
    pub threads: usize,
    /// A layer whose outputs would bring the memory of all tensors above so many bytes fails; 0 for no limit.
    pub memory: usize,
    /// The elements of outputs that a run computes, those of bodies in each iteration; an output of none counts as one. A
    /// layer that needs more than is left fails, before it is computed if its shapes are known. `None` for no limit.
    pub fuel: Option<usize>,
}

/// A layer that a run has finished, or that has executed another layer of its bodies.
#[derive(Copy, Clone, Debug)]
pub struct Progress<'a> {
    /// Finished layers.
    pub done: usize,
    /// All layers.
    pub layers: usize,
    /// The layer.
    pub node: NodeId,
    /// Its outputs, f16 and bf16 as f32; none if it is not finished, failed, or depends on a layer that failed, or if only
    /// the numbers of their levels were computed.
    pub values: &'a [Tensor],
}

/// The outputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// By Result, in their order; `None` if it depends on a layer that failed.
    pub values: Vec<Option<Tensor>>,
    /// The layers that failed; their dependents are not reported.
    pub errors: Vec<Located>,
}

impl Outputs {
    /// The values, if nothing failed.
    ///
    /// # Errors
    /// The first failure.
    pub fn complete(self) -> Result<Vec<Tensor>, Located> {
        match self.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(self.values.into_iter().flatten().collect()),
        }
    }
}
