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
    /// Whether a layer that fails only affects its dependents. Otherwise the first failure ends the run.
    pub keep_going: bool,
    /// Whether to check every computed value against its inferred element type, shape and known elements.
    pub check_facts: bool,
    /// Whether outputs are packed in row-major order. Otherwise they may be views.
    pub pack_outputs: bool,
    /// Number of threads; 0 uses the number of the session.
    pub threads: usize,
    /// Limit of the memory of all tensors in bytes; a layer whose outputs would exceed it fails. 0 means no
    /// limit.
    pub memory: usize,
    /// Limit of the number of output elements that a run computes, counting bodies in each iteration and an
    /// empty output as one. A layer that needs more than is left fails, before it is computed if its shapes
    /// are known. `None` means no limit.
    pub fuel: Option<usize>,
}

/// A layer that has finished, or that has executed a layer of one of its bodies.
#[derive(Copy, Clone, Debug)]
pub struct Progress<'a> {
    /// Number of finished layers.
    pub done: usize,
    /// Number of all layers.
    pub layers: usize,
    /// The layer.
    pub node: NodeId,
    /// Its outputs, with f16 and bf16 as f32. Empty if the layer is not finished, failed, depends on a failed
    /// layer, or was only computed as codes.
    pub values: &'a [Tensor],
}

/// The outputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The value of each Result in order; `None` if it depends on a layer that failed.
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
