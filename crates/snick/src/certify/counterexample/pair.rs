//! Runs two models on the same inputs.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use snick_ir::{Graph, Monitor, NodeId, OpTraits, Stopped, Watch};
use snick_run::{Options, Session, Variables};
use snick_tensor::Tensor;

use super::compare::change;
use super::rounding::{Coarseness, with_rounding};
use crate::{Error, Model};

/// Limit on the time of all runs together.
const TIME: Duration = Duration::from_secs(5);

/// Limit on the memory of the tensors of a run, in bytes.
const MEMORY: usize = 1 << 30;

/// Limit on the elements that a run computes, so that few runs take longer than the limit on the time.
const FUEL: usize = 1 << 26;

/// The same limit for models that round all values, which count twice, and that do not compute constants ahead.
const FUEL_WITH_ROUNDING: usize = 4 * FUEL;

/// The number of runs to compare for models with variables, which keep their values from run to run.
const STEPS: usize = 2;

/// The outputs of a model in each step.
pub(super) type Steps = Vec<Vec<Tensor>>;

/// Two models, prepared to run on the same inputs.
pub(super) struct Pair {
    sessions: [Session; 2],
    /// The models with rounding, once they are needed. `None` for a model that does not compute with floats.
    rounded: Option<[Option<Session>; 2]>,
    /// For each input of the second model, the position of the input of the first.
    inputs: Vec<usize>,
    /// For each output of the first model, the position of the output of the second.
    outputs: Vec<usize>,
    runner: Runner,
}

/// Runs models within the limits of the search.
struct Runner {
    /// The number of runs of a model on the same inputs.
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
            rounded: None,
            inputs,
            outputs,
            runner: Runner { steps: if has_variables { STEPS } else { 1 }, monitor: watch.start(), end },
        }))
    }

    /// The position of the output of the second model for an output of the first.
    pub(super) fn partner(&self, output: usize) -> usize {
        self.outputs.get(output).copied().unwrap_or(output)
    }

    /// The outputs of both models. `None` if one of the models does not accept these inputs.
    pub(super) fn run(&mut self, inputs: &[Tensor]) -> Option<[Steps; 2]> {
        let inputs = self.by_side(inputs)?;
        let [before, after] = &self.sessions;
        let before = self.runner.run(before, &inputs[0], FUEL)?;
        let after = self.runner.run(after, &inputs[1], FUEL)?;
        Some([before, after])
    }

    /// For each output of the first model, the effect of rounding inside the models, given their outputs without
    /// it. Each model loses other bits. `None` if a model does not accept these inputs with rounding.
    pub(super) fn rounding_effects(&mut self, inputs: &[Tensor], exact: &[Steps; 2]) -> Option<Vec<f64>> {
        let inputs = self.by_side(inputs)?;
        let sides = [(0, Coarseness::Fine), (1, Coarseness::Coarse)];
        let rounded = self.rounded.get_or_insert_with(|| {
            sides.map(|(side, coarseness)| {
                let graph = with_rounding(self.sessions[side].graph(), coarseness)?;
                Session::without_folding(graph).ok()
            })
        });
        let mut effects = vec![0.0; self.outputs.len()];
        for (side, session) in rounded.iter().enumerate() {
            let Some(session) = session else { continue };
            let rounded = self.runner.run(session, &inputs[side], FUEL_WITH_ROUNDING)?;
            for (exact, rounded) in exact[side].iter().zip(&rounded) {
                for (effect, (output, &partner)) in effects.iter_mut().zip(self.outputs.iter().enumerate()) {
                    let at = if side == 0 { output } else { partner };
                    let change = exact.get(at).zip(rounded.get(at)).map(|(a, b)| change(a, b));
                    *effect = f64::max(*effect, change.unwrap_or(f64::INFINITY));
                }
            }
        }
        Some(effects)
    }

    /// The inputs of both models. `inputs` are the inputs of the first model.
    fn by_side(&self, inputs: &[Tensor]) -> Option<[Vec<Tensor>; 2]> {
        let partners = self.inputs.iter().map(|&at| inputs.get(at).cloned());
        Some([inputs.to_vec(), partners.collect::<Option<_>>()?])
    }

    /// Whether the search must end: its time is over, or the caller stopped it.
    pub(super) fn is_over(&self) -> bool {
        self.runner.is_over()
    }

    /// Why the caller stopped the search, if it did.
    pub(super) fn into_stopped(self) -> Option<Stopped> {
        self.runner.monitor.into_stopped()
    }
}

impl Runner {
    /// The outputs of a model. Its variables keep their values from step to step. `None` if a step fails or is
    /// stopped.
    fn run(&mut self, session: &Session, inputs: &[Tensor], fuel: usize) -> Option<Steps> {
        let mut variables = Variables::default();
        let (limits, count) = (self.monitor.limits(), self.steps);
        let memory = limits.memory.unwrap_or(MEMORY).min(MEMORY);
        let fuel = Some(limits.fuel.unwrap_or(fuel).min(fuel));
        let options = Options { pack_outputs: true, memory, fuel, ..Options::default() };
        let mut step = || {
            let outputs = session.watch(inputs, options, &mut variables, |progress| {
                let layer = session.graph().node(progress.node).name();
                self.monitor.report(progress.done, progress.layers, layer);
                match self.is_over() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            outputs.complete().ok()
        };
        (0..count).map(|_| step()).collect()
    }

    fn is_over(&self) -> bool {
        self.monitor.is_stopped() || self.end.is_some_and(|end| Instant::now() >= end)
    }
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
