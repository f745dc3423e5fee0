//! Options of a certification.

use std::ops::ControlFlow;

use snick_ir::{Limits, Progress};
use snick_pass::RewriteOptions;

use crate::Model;

/// Options of [`Model::certify`].
///
/// ```
/// use std::time::Duration;
/// use snick::{CertifyOptions, Limits};
///
/// let options = CertifyOptions::new().limits(Limits::new().time(Duration::from_secs(60))).seed(7);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CertifyOptions {
    pub(super) rewriting: RewriteOptions,
    pub(super) seed: u64,
    pub(super) has_smt: bool,
    pub(super) after: Option<Model>,
}

impl CertifyOptions {
    /// Proves the rewrites of the canonical form, without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Proves that another inferred model computes the same outputs from the same inputs, instead of proving
    /// rewrites. Inputs and outputs are matched by name if all names agree, otherwise by order.
    #[must_use]
    pub fn after(self, model: &Model) -> Self {
        Self { after: Some(model.clone()), ..self }
    }

    /// Sets the seed of the inputs for what is not proved: rewrites are executed on them, and counterexamples
    /// are searched among them. The default is 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { rewriting: self.rewriting.seed(seed), seed, ..self }
    }

    /// Also returns the obligations of the proofs for other solvers; see
    /// [`Certificate::obligations`](crate::Certificate::obligations).
    #[must_use]
    pub fn smt(self, has_smt: bool) -> Self {
        Self { has_smt, ..self }
    }

    /// Stops with [`Error::Limit`](crate::Error::Limit) at these limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { rewriting: self.rewriting.limits(limits), ..self }
    }

    /// Calls `progress` after each layer. If it returns `Break`, the work stops with
    /// [`Error::Cancelled`](crate::Error::Cancelled).
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { rewriting: self.rewriting.progress(progress), ..self }
    }
}
