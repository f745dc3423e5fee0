//! Long work is watched: limits end it, and its progress is reported.

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
    /// Bytes of the tensors of a run.
    pub memory: Option<usize>,
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

    /// Limits the memory of the tensors of a run, in bytes. What is known to exceed it is refused before memory is taken.
    #[must_use]
    pub fn memory(self, bytes: usize) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    /// Limits the time; it is looked at after each layer.
    #[must_use]
    pub fn time(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }
}

/// How far work has come: a layer is done.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use snick_ir::Watch;
///
/// let watch = Watch::new().progress(|progress| {
///     println!("{} of {}: {}", progress.done, progress.layers, progress.layer);
///     ControlFlow::Continue(())
/// });
/// let mut monitor = watch.start();
/// monitor.report(1, 3, "conv1");
/// assert!(!monitor.is_stopped());
/// ```
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Finished layers, this one included.
    pub done: usize,
    /// All layers that are known of. Reading and rewriting may find more.
    pub layers: usize,
    /// The name of the layer.
    pub layer: &'a str,
}

/// A function that progress is reported to; `Break` ends the work.
type ProgressFn = dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync;

/// What watches long work: limits, and a function that progress is reported to. It is a part of the options of reading,
/// inference, passes and runs; [`Watch::start`] begins one piece of work.
///
/// ```
/// use std::ops::ControlFlow;
/// use snick_ir::Watch;
///
/// let watch = Watch::new().progress(|progress| match progress.done {
///     0..2 => ControlFlow::Continue(()),
///     _ => ControlFlow::Break(()),
/// });
/// let mut monitor = watch.start();
/// monitor.report(1, 3, "a");
/// assert!(!monitor.is_stopped());
/// monitor.report(2, 3, "b");
/// let stopped = monitor.into_stopped().unwrap();
/// assert_eq!((stopped.layer.as_str(), stopped.limit), ("b", None));
/// ```
#[derive(Clone, Default)]
pub struct Watch {
    limits: Limits,
    progress: Option<Arc<ProgressFn>>,
}

impl Watch {
    /// No limits, and no report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the work at these limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Calls `progress` after each layer; `Break` ends the work.
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { progress: Some(Arc::new(progress)), ..self }
    }

    /// The limits.
    pub fn current_limits(&self) -> Limits {
        self.limits
    }

    /// Starts the clock of one piece of work.
    pub fn start(&self) -> Monitor {
        let deadline = self.limits.time.and_then(|time| Instant::now().checked_add(time));
        Monitor { watch: self.clone(), deadline, stopped: None }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limits, progress } = self;
        f.debug_struct("Watch").field("limits", limits).field("progress", &progress.is_some()).finish()
    }
}

/// Why work ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stopped {
    /// The limit that was reached: `1000 layers`, `30s`. `None` if the progress function ended the work.
    pub limit: Option<String>,
    /// The layer that was finished last; empty if there is none.
    pub layer: String,
}

/// Watches one piece of work; made by [`Watch::start`]. The default watches for nothing.
#[derive(Debug, Default)]
pub struct Monitor {
    watch: Watch,
    deadline: Option<Instant>,
    stopped: Option<Stopped>,
}

impl Monitor {
    /// Reports that a layer is done, `done` of `layers` so far. Ends the work if its time is over or the progress
    /// function says so.
    pub fn report(&mut self, done: usize, layers: usize, layer: &str) {
        if self.is_stopped() {
            return;
        }
        if let (Some(time), Some(true)) =
            (self.watch.limits.time, self.deadline.map(|end| Instant::now() >= end))
        {
            self.stop(Some(format!("{time:?}")), layer);
        } else if let Some(progress) = &self.watch.progress
            && progress(&Progress { done, layers, layer }).is_break()
        {
            self.stop(None, layer);
        }
    }

    /// Ends the work if a model has more layers than the limit. `layer` is the last one that was read; empty if the
    /// model is not being read.
    pub fn count_layers(&mut self, layers: usize, layer: &str) {
        if let Some(limit) = self.watch.limits.layers
            && layers > limit
            && !self.is_stopped()
        {
            let unit = if limit == 1 { "layer" } else { "layers" };
            self.stop(Some(format!("{limit} {unit}")), layer);
        }
    }

    /// Reports a layer that was read, the last of `layers` so far. Returns whether to read on.
    pub fn read_layer(&mut self, layers: usize, layer: &str) -> bool {
        self.count_layers(layers, layer);
        self.report(layers, layers, layer);
        !self.is_stopped()
    }

    fn stop(&mut self, limit: Option<String>, layer: &str) {
        self.stopped = Some(Stopped { limit, layer: layer.into() });
    }

    /// Whether the work is to end. Once it is, it always is.
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Why the work is to end, if it is.
    pub fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// Why the work ended early, if it did.
    pub fn into_stopped(self) -> Option<Stopped> {
        self.stopped
    }
}
