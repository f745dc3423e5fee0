//! Limits of long work, and reports of its progress.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Limits that end long work: reading, inference, passes and runs. There are none by default.
///
/// ```
/// use std::time::Duration;
/// use snick_ir::Limits;
///
/// let limits = Limits::new().layers(100_000).time(Duration::from_secs(30));
/// assert_eq!(limits.layers, Some(100_000));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Layers of a model, those of bodies included.
    pub layers: Option<usize>,
    /// Time, which is looked at after each layer.
    pub time: Option<Duration>,
}

impl Limits {
    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the layers of a model, those of bodies included.
    #[must_use]
    pub fn layers(self, layers: usize) -> Self {
        Self { layers: Some(layers), ..self }
    }

    /// Limits the time; it is looked at after each layer.
    #[must_use]
    pub fn time(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }
}

/// How far work has come: the layer that is done.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Finished layers.
    pub done: usize,
    /// All layers that are known of; a rewrite may add more.
    pub layers: usize,
    /// The name of the layer.
    pub layer: &'a str,
}

/// Is told of progress; `Break` ends the work.
pub type ProgressFn = dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync;

/// Why work ended early.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stopped {
    /// The caller's progress function ended it.
    #[error("cancelled at layer `{layer}`")]
    Cancelled {
        /// The layer that was finished last.
        layer: String,
    },
    /// A limit was reached.
    #[error("the limit of {limit} is reached{}", if layer.is_empty() { String::new() } else { format!(" at layer `{layer}`") })]
    Limit {
        /// The limit: `1000 layers`, `30 s`.
        limit: String,
        /// The layer that was finished last; empty if there is none.
        layer: String,
    },
}

/// Watches one piece of work. Its clock starts when it is made.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use snick_ir::{Limits, Monitor, Stopped};
///
/// let mut monitor = Monitor::new(Limits::new(), Some(Arc::new(|progress| match progress.done {
///     0..2 => ControlFlow::Continue(()),
///     _ => ControlFlow::Break(()),
/// })));
/// assert!(monitor.goes_on(1, 3, "a"));
/// assert!(!monitor.goes_on(2, 3, "b"));
/// assert_eq!(monitor.stopped(), Some(&Stopped::Cancelled { layer: "b".into() }));
/// ```
#[derive(Default)]
pub struct Monitor {
    time: Option<Duration>,
    deadline: Option<Instant>,
    report: Option<Arc<ProgressFn>>,
    stopped: Option<Stopped>,
}

impl Monitor {
    /// Watches for these limits, and reports progress.
    pub fn new(limits: Limits, report: Option<Arc<ProgressFn>>) -> Self {
        let deadline = limits.time.and_then(|time| Instant::now().checked_add(time));
        Self { time: limits.time, deadline, report, stopped: None }
    }

    /// Whether it has anything to watch for.
    pub fn is_idle(&self) -> bool {
        self.deadline.is_none() && self.report.is_none()
    }

    /// Whether the work goes on after a layer. Once it does not, it never does.
    pub fn goes_on(&mut self, done: usize, layers: usize, layer: &str) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        if let (Some(time), Some(true)) = (self.time, self.deadline.map(|end| Instant::now() >= end)) {
            self.stopped = Some(Stopped::Limit { limit: format!("{time:?}"), layer: layer.into() });
            return false;
        }
        let goes_on =
            self.report.as_ref().is_none_or(|report| report(&Progress { done, layers, layer }).is_continue());
        if !goes_on {
            self.stopped = Some(Stopped::Cancelled { layer: layer.into() });
        }
        goes_on
    }

    /// Why the work ended early, if it did.
    pub fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// As [`Monitor::stopped`], when the work is over.
    pub fn into_stopped(self) -> Option<Stopped> {
        self.stopped
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, deadline, report, stopped } = self;
        f.debug_struct("Monitor")
            .field("time", time)
            .field("deadline", deadline)
            .field("report", &report.is_some())
            .field("stopped", stopped)
            .finish()
    }
}
