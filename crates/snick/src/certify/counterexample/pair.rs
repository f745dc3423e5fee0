//! Runs two models on the same inputs.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use snick_ir::{Graph, Monitor, NodeId, OpTraits, Stopped, Watch};
use snick_run::{Options, Session, Variables};
use snick_tensor::Tensor;

use crate::{Error, Model};

/// Limit on the time of all runs together.
const TIME: Duration = Duration::from_secs(5);

/// Limit on the memory of the tensors of a run, in bytes.
const MEMORY: usize = 1 << 30;

/// Limit on the elements that a run computes, so that few runs take longer than the limit on the time.
const FUEL: usize = 1 << 26;

/// The number of runs to compare for models with variables, which keep their values from run to run.
const STEPS: usize = 2;

/// The outputs of a model in each step.
pub(super) type Steps = Vec<Vec<Tensor>>;

/// Two models, prepared to run on the same inputs.
pub(super) struct Pair {
    sessions: [Session; 2],
    /// For each input of the second model, the position of the input of the first.
    inputs: Vec<usize>,
    /// For each output of the first model, the position of the output of the second.
    pub(super) outputs: Vec<usize>,
    steps: usize,
    monitor: Monitor,
    end: Option<Instant>,
}

impl Pair {
    /// `None` if the models cannot be compared by running them: they have different numbers of inputs or
    /// outputs, or random operations.
    pub(super) fn new(models: [&Model; 2], watch: &Watch) -> Result<Option<Self>, Error> {
        let [before, after] = models.map(Model::graph);
        let inputs = matching(&names(after, after.parameters()), &names(before, before.parameters()));
        let outputs = matching(&names(before, before.results()), &names(after, after.results()));
        let (Some(inputs), Some(outputs)) = (inputs, outputs) else { return Ok(None) };
        if [before, after].iter().any(|graph| has(graph, OpTraits::RANDOM)) {
            return Ok(None);
        }
        let has_variables = [before, after].iter().any(|graph| has(graph, OpTraits::STATEFUL));
        let end = Instant::now().checked_add(TIME);
        let [first, second] = models.map(|model| Session::new(model.share_graph()));
        Ok(Some(Self {
            sessions: [first?, second?],
            inputs,
            outputs,
            steps: if has_variables { STEPS } else { 1 },
            monitor: watch.start(),
            end,
        }))
    }

    /// The outputs of both models. `None` if one of the models does not accept these inputs.
    pub(super) fn run(&mut self, inputs: &[Tensor]) -> Option<[Steps; 2]> {
        let before = self.run_one(0, inputs)?;
        let inputs: Option<Vec<Tensor>> = self.inputs.iter().map(|&at| inputs.get(at).cloned()).collect();
        let after = self.run_one(1, &inputs?)?;
        Some([before, after])
    }

    fn run_one(&mut self, side: usize, inputs: &[Tensor]) -> Option<Steps> {
        let (session, end, monitor) = (&self.sessions[side], self.end, &mut self.monitor);
        let mut variables = Variables::default();
        let memory = monitor.limits().memory.unwrap_or(MEMORY).min(MEMORY);
        let fuel = Some(monitor.limits().fuel.unwrap_or(FUEL).min(FUEL));
        let options = Options { pack_outputs: true, memory, fuel, ..Options::default() };
        let mut step = || {
            let outputs = session.watch(inputs, options, &mut variables, |progress| {
                let layer = session.graph().node(progress.node).name();
                monitor.report(progress.done, progress.layers, layer);
                match monitor.is_stopped() || is_past(end) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            outputs.complete().ok()
        };
        (0..self.steps).map(|_| step()).collect()
    }

    /// Whether the search must end: its time is over, or the caller stopped it.
    pub(super) fn is_over(&self) -> bool {
        self.monitor.is_stopped() || is_past(self.end)
    }

    /// Why the caller stopped the search, if it did.
    pub(super) fn into_stopped(self) -> Option<Stopped> {
        self.monitor.into_stopped()
    }
}

fn is_past(end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end)
}

/// Whether the graph or one of its bodies contains an operation with this trait.
fn has(graph: &Graph, traits: OpTraits) -> bool {
    let mut ops = graph.ids().map(|id| graph.node(id).op());
    ops.any(|op| op.has(traits) || op.bodies().any(|(_, body)| has(body, traits)))
}

fn names(graph: &Graph, ids: impl Iterator<Item = NodeId>) -> Vec<&str> {
    ids.map(|id| graph.node(id).name()).collect()
}

/// For each of our names the position of the matching name of theirs: the same name if both sides have the
/// same names, and the same position otherwise. `None` if the numbers of names differ.
fn matching(ours: &[&str], theirs: &[&str]) -> Option<Vec<usize>> {
    if ours.len() != theirs.len() {
        return None;
    }
    let mut sorted = [ours.to_vec(), theirs.to_vec()];
    sorted.iter_mut().for_each(|names| names.sort_unstable());
    let [mut mine, other] = sorted;
    let is_same = mine == other;
    mine.dedup();
    if is_same && mine.len() == ours.len() {
        return ours.iter().map(|name| theirs.iter().position(|other| other == name)).collect();
    }
    Some((0..ours.len()).collect())
}
