//! The log of a pass over a graph.

use std::borrow::Cow;

use snick_ir::rewrite::{Applied, MissedRewrite, Tolerance, Trace};
use snick_ir::{Graph, Located, NodeRef, OpError};

/// The log of a pass over a graph, with its limits. Passed to closures of
/// [`Pass::graph`](crate::Pass::graph).
#[derive(Debug)]
pub struct PassContext {
    pass: Cow<'static, str>,
    tolerance: Option<Tolerance>,
    limit: Option<usize>,
    trace: Trace,
}

impl PassContext {
    pub(crate) fn new(pass: Cow<'static, str>, tolerance: Option<Tolerance>, limit: Option<usize>) -> Self {
        Self { pass, tolerance, limit, trace: Trace::default() }
    }

    /// The number of layers that the pass may still replace; `None` if there is no limit.
    pub fn remaining(&self) -> Option<usize> {
        self.limit.map(|limit| limit.saturating_sub(self.trace.applied.len()))
    }

    /// Logs that the pass replaces a layer.
    pub fn applied(&mut self, layer: NodeRef<'_>) {
        self.trace.applied.push(Applied {
            rule: self.pass.clone(),
            layer: layer.shared_name(),
            op: layer.op().type_name().to_string(),
            exact: self.tolerance.is_none(),
        });
    }

    /// Logs that the pass does not replace a layer, with the reason.
    pub fn declined(&mut self, layer: NodeRef<'_>, reason: impl Into<String>) {
        self.trace.missed.push(MissedRewrite {
            rule: self.pass.clone(),
            layer: layer.shared_name(),
            op: layer.op().type_name().to_string(),
            reason: reason.into(),
        });
    }

    /// Logs the result of the pass.
    pub(crate) fn end(&mut self, graph: &Graph, outcome: Result<(), PassFailure>) {
        let of_model = |error| Located::of_model(&*graph.source, &*graph.name, error);
        if let Err(PassFailure(failure)) = outcome {
            self.trace.errors.push(failure.unwrap_or_else(of_model));
        }
    }

    pub(crate) fn into_trace(self) -> Trace {
        self.trace
    }
}

/// The reason why a pass over a graph failed: an error of a layer or of the graph as a whole.
#[derive(Debug)]
pub struct PassFailure(Result<Located, OpError>);

impl From<Located> for PassFailure {
    fn from(error: Located) -> Self {
        Self(Ok(error))
    }
}

impl From<OpError> for PassFailure {
    fn from(error: OpError) -> Self {
        Self(Err(error))
    }
}

/// The return type of a closure for [`Pass::graph`](crate::Pass::graph): `()`, or a result whose error refers
/// to a layer or to the whole graph.
pub trait PassOutcome {
    /// Returns the error, if any.
    ///
    /// # Errors
    /// The error of the pass.
    fn into_result(self) -> Result<(), PassFailure>;
}

impl PassOutcome for () {
    fn into_result(self) -> Result<(), PassFailure> {
        Ok(())
    }
}

impl PassOutcome for Result<(), PassFailure> {
    fn into_result(self) -> Result<(), PassFailure> {
        self
    }
}
