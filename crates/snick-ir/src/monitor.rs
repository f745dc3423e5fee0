//! Long work is watched: limits end it, and its progress is reported.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Graph;

/// Limits of long work: reading, inference, passes and runs. What a limit is not set for is bounded by memory and by the
/// constants that the fields name.
///
/// ```
/// use std::time::Duration;
/// use snick_ir::Limits;
///
/// let limits = Limits::new().layers(100_000).rank(16).time(Duration::from_secs(30));
/// assert_eq!((limits.layers, limits.rank, limits.fuel), (Some(100_000), Some(16), None));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Layers of a model, those of bodies included.
    pub layers: Option<usize>,
    /// Dims of an inferred value; inference ends at the first layer with more.
    pub rank: Option<usize>,
    /// Bytes of the text of a model: XML, JSON or text form. Weights and ONNX files, which are mapped, are no text.
    pub text_bytes: Option<usize>,
    /// How deep bodies are nested; 0 allows none. Readers refuse what is nested deeper than some 100 bodies anyhow, for
    /// they call themselves.
    pub nesting: Option<usize>,
    /// Time, which is looked at after each layer.
    pub time: Option<Duration>,
    /// Bytes of the tensors of a run.
    pub memory: Option<usize>,
    /// Elements of the outputs that are computed; an output of none counts as one. A run ends where it needs more;
    /// inference and passes fold no more constants then, [`Limits::FOLDING_FUEL`] if this is not set.
    pub fuel: Option<usize>,
}

impl Limits {
    /// The elements that inference and passes compute by folding constants, if no other fuel is set: far more than
    /// models need, and less than a second of work.
    pub const FOLDING_FUEL: usize = 1 << 26;

    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the layers of a model, those of bodies included.
    #[must_use]
    pub fn layers(self, layers: usize) -> Self {
        Self { layers: Some(layers), ..self }
    }

    /// Limits the dims of inferred values.
    #[must_use]
    pub fn rank(self, rank: usize) -> Self {
        Self { rank: Some(rank), ..self }
    }

    /// Limits the text of a model, in bytes. A longer file is refused before it is read.
    #[must_use]
    pub fn text_bytes(self, bytes: usize) -> Self {
        Self { text_bytes: Some(bytes), ..self }
    }

    /// Limits how deep bodies are nested.
    #[must_use]
    pub fn nesting(self, depth: usize) -> Self {
        Self { nesting: Some(depth), ..self }
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

    /// Limits the elements that are computed. A layer of a run that is known to need more is refused before it is
    /// computed.
    #[must_use]
    pub fn fuel(self, elements: usize) -> Self {
        Self { fuel: Some(elements), ..self }
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

    /// Starts the clock of one piece of work.
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

/// Why work ended early.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
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
    /// Elements that folding has computed.
    folded: usize,
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

    /// The limits of the work.
    pub fn limits(&self) -> &Limits {
        &self.watch.limits
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

    /// Ends the work if a graph has more layers than the limit, or bodies that are nested deeper.
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

    /// Ends the work if a value of a layer has more dims than the limit.
    pub fn check_rank(&mut self, rank: usize, layer: &str) {
        if let Some(limit) = self.watch.limits.rank
            && rank > limit
            && !self.is_stopped()
        {
            self.stop(Some(format!("rank {limit}")), layer);
        }
    }

    /// Ends the work if a text is longer than the limit. Returns whether to read it.
    pub fn check_text(&mut self, bytes: u64) -> bool {
        if let Some(limit) = self.watch.limits.text_bytes
            && bytes > limit as u64
            && !self.is_stopped()
        {
            self.stop(Some(format!("{limit} bytes of text")), "");
        }
        !self.is_stopped()
    }

    /// Takes fuel to fold so many elements, if there is enough. Otherwise a value stays unknown, or a layer as it is.
    pub fn take_fuel(&mut self, elements: usize) -> bool {
        let limit = self.watch.limits.fuel.unwrap_or(Limits::FOLDING_FUEL);
        let folded = self.folded.saturating_add(elements.max(1));
        let is_enough = folded <= limit;
        if is_enough {
            self.folded = folded;
        }
        is_enough
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

/// The first layer with bodies that are nested deeper than `depth`.
fn nested_deeper(graph: &Graph, depth: usize) -> Option<&str> {
    graph.ids().map(|id| graph.node(id)).find_map(|node| {
        let mut bodies = node.op().bodies().map(|(_, body)| body);
        match depth.checked_sub(1) {
            Some(depth) => bodies.find_map(|body| nested_deeper(body, depth)),
            None => bodies.next().map(|_| node.name()),
        }
    })
}
