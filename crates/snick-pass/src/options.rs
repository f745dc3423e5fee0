//! How passes are applied.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use snick_ir::{Limits, Monitor, Progress, ProgressFn};

use crate::check::Checker;

/// How passes are applied to a graph.
///
/// ```
/// use snick_pass::RewriteOptions;
///
/// let options = RewriteOptions::new().check(true).seed(7).stop_after(10);
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RewriteOptions {
    check: bool,
    seed: u64,
    stop_after: Option<usize>,
    limits: Limits,
    progress: Option<Arc<ProgressFn>>,
}

impl RewriteOptions {
    /// Nothing is checked, and no limit is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Executes every replacement, before and after, on random sizes and elements, and refuses those that differ.
    #[must_use]
    pub fn check(self, check: bool) -> Self {
        Self { check, ..self }
    }

    /// The seed of the random sizes and elements; 0 if it is not set.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Stops after so many replacements: to bisect for a wrong one.
    #[must_use]
    pub fn stop_after(self, rewrites: usize) -> Self {
        Self { stop_after: Some(rewrites), ..self }
    }

    /// Ends the work at these limits; see [`Report::stopped`](crate::Report::stopped).
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Calls `progress` before each layer that rules look at; `Break` ends the work.
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { progress: Some(Arc::new(progress)), ..self }
    }

    pub(crate) fn monitor(&self) -> Monitor {
        Monitor::new(self.limits, self.progress.clone())
    }

    pub(crate) fn checker(&self) -> Option<Checker> {
        self.check.then(|| Checker::new(self.seed))
    }

    pub(crate) fn limit(&self) -> Option<usize> {
        self.stop_after
    }
}

impl fmt::Debug for RewriteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, seed, stop_after, limits, progress } = self;
        f.debug_struct("RewriteOptions")
            .field("check", check)
            .field("seed", seed)
            .field("stop_after", stop_after)
            .field("limits", limits)
            .field("progress", &progress.is_some())
            .finish()
    }
}
