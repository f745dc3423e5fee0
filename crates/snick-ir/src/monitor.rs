//! Limits and progress reports for long-running work.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Graph;

/// Limits of long-running work: reading, inference, passes and runs. Without a limit, work is bounded only by
/// memory and by the constants that the fields mention.
///
/// ```
/// use std::time::Duration;
/// use snick::Limits;
///
/// let limits = Limits::new().layers(100_000).rank(16).time(Duration::from_secs(30));
/// assert_eq!((limits.layers, limits.rank, limits.fuel), (Some(100_000), Some(16), None));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Layers of a model, including bodies.
    pub layers: Option<usize>,
    /// Rank of an inferred value. Inference stops at the first layer with an output of a higher rank.
    pub rank: Option<usize>,
    /// Bytes of the text of a model: XML, JSON or text form. Mapped files, such as weights and ONNX models,
    /// do not count.
    pub text_bytes: Option<usize>,
    /// Nesting depth of bodies; 0 allows none. Readers always reject models with more than about 100 levels,
    /// because they recurse.
    pub nesting: Option<usize>,
    /// Time, checked after each layer.
    pub time: Option<Duration>,
    /// Bytes of the tensors of a run.
    pub memory: Option<usize>,
    /// Elements of computed outputs; an empty output counts as one element. A run that needs more fails. At
    /// the limit, inference and passes only stop folding constants; their default limit is
    /// [`Limits::FOLDING_FUEL`]. Inference also counts the elements of the inputs.
    pub fuel: Option<usize>,
}

impl Limits {
    /// The default fuel for folding constants in inference and passes: far more than models need, and less
    /// than a second of work.
    pub const FOLDING_FUEL: usize = 1 << 26;

    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the layers of a model, including bodies.
    #[must_use]
    pub fn layers(self, layers: usize) -> Self {
        Self { layers: Some(layers), ..self }
    }

    /// Limits the rank of inferred values.
    #[must_use]
    pub fn rank(self, rank: usize) -> Self {
        Self { rank: Some(rank), ..self }
    }

    /// Limits the text of a model, in bytes. Longer files are rejected without reading them.
    #[must_use]
    pub fn text_bytes(self, bytes: usize) -> Self {
        Self { text_bytes: Some(bytes), ..self }
    }

    /// Limits the nesting depth of bodies.
    #[must_use]
    pub fn nesting(self, depth: usize) -> Self {
        Self { nesting: Some(depth), ..self }
    }

    /// Limits the memory of the tensors of a run, in bytes. Rejects a larger tensor before allocating it.
    #[must_use]
    pub fn memory(self, bytes: usize) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    /// Limits the time, checked after each layer.
    #[must_use]
    pub fn time(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }

    /// Limits the number of computed elements. A layer known to need more is rejected before it runs.
    #[must_use]
    pub fn fuel(self, elements: usize) -> Self {
        Self { fuel: Some(elements), ..self }
    }
}

/// Progress report after a layer.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use snick::Watch;
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
    /// Finished layers, including this one.
    pub done: usize,
    /// The layers known so far. Reading and rewriting may add more.
    pub layers: usize,
    /// The name of the layer.
    pub layer: &'a str,
}

/// Receives progress; `Break` stops the work.
type ProgressFn = dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync;

/// Limits and a progress callback for long-running work. Part of the options for reading, inference, passes
/// and runs; [`Watch::start`] starts one task.
///
/// ```
/// use std::ops::ControlFlow;
/// use snick::Watch;
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
    /// No limits and no callback.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the work at these limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Calls `progress` after each layer; `Break` stops the work.
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { progress: Some(Arc::new(progress)), ..self }
    }

    /// Starts a task and its clock.
    pub fn start(&self) -> Monitor {
        let deadline = self.limits.time.and_then(|time| Instant::now().checked_add(time));
        Monitor { watch: self.clone(), deadline, folded: 0, stopped: None }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limits, progress } = self;
        f.debug_struct("Watch").field("limits", limits).field("progress", &progress.is_some()).finish()
    }
}

/// Why work stopped early.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stopped {
    /// The exceeded limit: `1000 layers`, `30s`. `None` if the callback stopped the work.
    pub limit: Option<String>,
    /// The last finished layer; empty if there is none.
    pub layer: String,
}

/// Monitors one task; created by [`Watch::start`]. The default has no limits.
#[derive(Debug, Default)]
pub struct Monitor {
    watch: Watch,
    deadline: Option<Instant>,
    /// Elements computed by folding.
    folded: usize,
    stopped: Option<Stopped>,
}

impl Monitor {
    /// Reports that a layer is finished, the `done`th of `layers`. Stops the work if the time limit is
    /// exceeded or the callback returns `Break`.
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

    /// The limits of the work.
    pub fn limits(&self) -> &Limits {
        &self.watch.limits
    }

    /// Stops the work if a model has more layers than the limit. `layer` is the last one read; empty if
    /// nothing is being read.
    pub fn count_layers(&mut self, layers: usize, layer: &str) {
        if let Some(limit) = self.watch.limits.layers
            && layers > limit
            && !self.is_stopped()
        {
            let unit = if limit == 1 { "layer" } else { "layers" };
            self.stop(Some(format!("{limit} {unit}")), layer);
        }
    }

    /// Stops the work if a graph exceeds the limit on layers or on nested bodies.
    pub fn check_graph(&mut self, graph: &Graph) {
        if self.watch.limits.layers.is_some() {
            self.count_layers(graph.layers(), "");
        }
        if let Some(limit) = self.watch.limits.nesting
            && let Some(layer) = nested_deeper(graph, limit)
            && !self.is_stopped()
        {
            self.stop(Some(format!("{limit} nested bodies")), layer);
        }
    }

    /// Stops the work if the rank of a value exceeds the limit.
    pub fn check_rank(&mut self, rank: usize, layer: &str) {
        if let Some(limit) = self.watch.limits.rank
            && rank > limit
            && !self.is_stopped()
        {
            self.stop(Some(format!("rank {limit}")), layer);
        }
    }

    /// Stops the work if a text is longer than the limit. Returns whether to read it.
    pub fn check_text(&mut self, bytes: u64) -> bool {
        if let Some(limit) = self.watch.limits.text_bytes
            && bytes > limit as u64
            && !self.is_stopped()
        {
            self.stop(Some(format!("{limit} bytes of text")), "");
        }
        !self.is_stopped()
    }

    /// Takes fuel to compute this many elements by folding; `false` if too little is left.
    pub fn take_fuel(&mut self, elements: usize) -> bool {
        let limit = self.watch.limits.fuel.unwrap_or(Limits::FOLDING_FUEL);
        let folded = self.folded.saturating_add(elements.max(1));
        let is_enough = folded <= limit;
        if is_enough {
            self.folded = folded;
        }
        is_enough
    }

    /// Reports that a layer was read, the last of `layers` so far. Returns whether to continue.
    pub fn read_layer(&mut self, layers: usize, layer: &str) -> bool {
        self.count_layers(layers, layer);
        self.report(layers, layers, layer);
        !self.is_stopped()
    }

    /// Stops the work because the caller asked for it. `layer` is the last finished layer.
    pub fn cancel(&mut self, layer: &str) {
        if !self.is_stopped() {
            self.stop(None, layer);
        }
    }

    fn stop(&mut self, limit: Option<String>, layer: &str) {
        self.stopped = Some(Stopped { limit, layer: layer.into() });
    }

    /// Whether the work must stop. Once true, stays true.
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// The reason to stop, if any.
    pub fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// Why the work stopped early, if it did.
    pub fn into_stopped(self) -> Option<Stopped> {
        self.stopped
    }
}

/// The first layer whose bodies are nested deeper than `depth`.
fn nested_deeper(graph: &Graph, depth: usize) -> Option<&str> {
    graph.ids().map(|id| graph.node(id)).find_map(|node| {
        let mut bodies = node.op().bodies().map(|(_, body)| body);
        match depth.checked_sub(1) {
            Some(depth) => bodies.find_map(|body| nested_deeper(body, depth)),
            None => bodies.next().map(|_| node.name()),
        }
    })
}
