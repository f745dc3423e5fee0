//! Options for applying passes.

use std::ops::ControlFlow;

use snick_ir::{Limits, Progress, Watch};

use crate::check::Checker;

/// Options for applying passes to a graph.
///
/// ```
/// use snick_pass::RewriteOptions;
///
/// let options = RewriteOptions::new().check(true).seed(7).stop_after(10);
/// # let _ = options;
/// ```
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct RewriteOptions {
    check: bool,
    seed: u64,
    stop_after: Option<usize>,
    timed: bool,
    watch: Watch,
}

impl RewriteOptions {
    /// No checks and no limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Executes the graph before and after every replacement on random sizes and elements, and rejects a
    /// replacement if the results differ.
    #[must_use]
    pub fn check(self, check: bool) -> Self {
        Self { check, ..self }
    }

    /// Sets the seed for random sizes and elements. The default is 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Stops after this many replacements, to find a wrong replacement by bisection.
    #[must_use]
    pub fn stop_after(self, rewrites: usize) -> Self {
        Self { stop_after: Some(rewrites), ..self }
    }

    /// Measures how long each rule takes; see [`Report::by_rule`](crate::Report::by_rule).
    #[must_use]
    pub fn timed(self, timed: bool) -> Self {
        Self { timed, ..self }
    }

    /// Stops at these limits; see [`Report::stopped`](crate::Report::stopped).
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { watch: self.watch.limits(limits), ..self }
    }

    /// Calls `progress` after each layer that rules visit, including new layers. If it returns `Break`, the
    /// pass stops.
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { watch: self.watch.progress(progress), ..self }
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(crate) fn checker(&self) -> Option<Checker> {
        self.check.then(|| Checker::new(self.seed))
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    pub(crate) fn limit(&self) -> Option<usize> {
        self.stop_after
    }
}
