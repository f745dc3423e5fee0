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
    /// Whether to continue after a layer fails, so that only its dependents fail, too. Otherwise the first
    /// failure ends the run.
    pub keep_going: bool,
    /// Whether to check every computed value against its inferred element type, shape and known elements.
    pub check_facts: bool,
    /// Whether outputs are copied to row-major order. Otherwise, outputs may be views.
    pub pack_outputs: bool,
    /// Number of threads; 0 means the number of the session.
    pub threads: usize,
    /// Limit on the memory of all tensors together, in bytes. A layer whose outputs would exceed the limit
    /// fails. 0 means no limit.
    pub memory: usize,
    /// Limit on the number of output elements that a run computes. Layers of bodies count once per iteration,
    /// and an empty output counts as one element. A layer that would exceed the limit fails; if its shapes
    /// are known, it fails before it is computed. `None` means no limit.
    pub fuel: Option<usize>,
}

/// The progress of a run. It is reported after each layer, and for a layer with bodies also after each layer
/// inside a body.
#[derive(Copy, Clone, Debug)]
pub struct Progress<'a> {
    /// Number of finished layers.
    pub done: usize,
    /// Total number of layers.
    pub layers: usize,
    /// The layer.
    pub node: NodeId,
    /// The outputs of the layer; f16 and bf16 values may be given in f32. Empty if the layer is still
    /// running, has failed, depends on a failed layer, or was only computed as quantized codes.
    pub values: &'a [Tensor],
}

/// The outputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The value of each Result, in order; `None` if it depends on a layer that failed.
    pub values: Vec<Option<Tensor>>,
    /// The errors of layers that failed. Layers that depend on these are not reported.
    pub errors: Vec<Located>,
}

impl Outputs {
    /// Returns the values, if no layer failed.
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
