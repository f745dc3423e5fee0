//! `snick diff --run`: executes both models on the same inputs, and finds the first layer that differs.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use snick::{InputSpec, Model, ModelDiff, Op, draw_inputs, has_dynamic_dims, input_candidates, public_name};
use snick_ir::{Graph, Located, NodeId};
use snick_run::{Progress, Session, Variables};
use snick_tensor::Tensor;

use crate::cli::compare::{Comparison, Tolerance, compare};
use crate::cli::console::{Console, Failure};
use crate::cli::inputs::GivenInputs;
use crate::cli::progress::ProgressBar;
use crate::cli::search::Search;

/// Maximum bytes of intermediate values to keep in memory at a time.
const KEPT_BYTES: usize = 1 << 28;

/// Maximum number of successful runs with different sizes, if sizes are dynamic. The first difference ends
/// the search.
const ROUNDS: usize = 4;

/// Why an output is not compared: one of the runs did not compute it.
pub(super) const NOT_COMPUTED: &str = "not computed";

/// The comparison of the two runs.
pub(super) struct RunDiff {
    /// The outputs that both models have.
    pub outputs: Vec<OutputDiff>,
    /// The first layer whose values differ: its ids in both models, and the comparison of its values.
    pub first: Option<(NodeId, NodeId, Comparison)>,
    /// The errors of both runs.
    pub errors: Vec<Located>,
}

/// An output that both models have.
pub(super) struct OutputDiff {
    /// The public name in the first model.
    pub name: String,
    pub comparison: Comparison,
    /// The dims of the value in the second model.
    pub dims: Vec<usize>,
}

impl RunDiff {
    /// Whether all outputs were computed and are within the tolerance.
    pub fn is_equal(&self) -> bool {
        self.errors.is_empty() && self.outputs.iter().all(|output| output.comparison.is_within())
    }

    /// Whether any output that both runs computed is outside the tolerance.
    pub fn differs(&self) -> bool {
        self.outputs.iter().any(|output| output.is_computed() && !output.comparison.is_within())
    }
}

impl OutputDiff {
    /// Whether both runs computed the output.
    pub fn is_computed(&self) -> bool {
        self.comparison.incomparable.as_deref() != Some(NOT_COMPUTED)
    }
}

/// Both models, prepared to run, and how to compare them.
struct Runs<'r> {
    sessions: [Session; 2],
    diff: &'r ModelDiff,
    tolerance: Tolerance,
    console: &'r Console,
}

/// Runs both models on the same inputs, given or random, with sizes that the first model accepts. Small sizes
/// hide many differences, so if sizes are dynamic, several sizes are tried until a difference is found.
pub(super) fn run(
    models: [&Model; 2],
    diff: &ModelDiff,
    given: &GivenInputs,
    tolerance: Tolerance,
    console: &Console,
) -> Result<RunDiff, Failure> {
    let graph = models[0].graph();
    let [a, b] = models.map(|model| Session::without_folding(model.share_graph()).map_err(Failure::layer));
    let runs = Runs { sessions: [a?, b?], diff, tolerance, console };
    let rounds = if has_dynamic_dims(graph) && !given.is_complete() { ROUNDS } else { 1 };
    let (mut search, mut found, mut too_large) = (Search::new(graph), None, None);
    let mut succeeded = 0;
    for spec in input_candidates(graph) {
        let inputs = match given.complete(graph, spec, 0) {
            Ok(steps) => steps,
            Err(failure) => {
                too_large.get_or_insert(failure);
                continue;
            }
        };
        // Always tries the first sizes: if no sizes fit, the error for the first sizes is reported.
        if !search.admits(graph, &inputs) && found.is_some() {
            continue;
        }
        let first = inputs.first().map(Vec::as_slice).unwrap_or_default();
        let ours = runs.digests(0, first)?;
        let is_fine = ours.errors.is_empty();
        if is_fine || found.is_none() {
            let compared = runs.compare(first, ours, spec)?;
            let differs = !compared.is_equal() || compared.first.is_some();
            found = Some((inputs, compared));
            succeeded += usize::from(is_fine);
            if is_fine && differs {
                break;
            }
        }
        if succeeded >= rounds || search.is_over() {
            break;
        }
    }
    let Some((inputs, compared)) = found else {
        return Err(too_large.unwrap_or_else(|| Failure::usage("found no inputs to run the first model on")));
    };
    given.drawn(graph, &inputs).iter().for_each(|note| console.note(note));
    Ok(compared)
}

/// The results of a run, with digests of the intermediate values.
struct Digests {
    /// For each layer, the digest of its outputs and their number of bytes.
    layers: HashMap<NodeId, (u64, usize)>,
    outputs: Vec<Option<Tensor>>,
    errors: Vec<Located>,
}

impl Runs<'_> {
    /// Runs the second model on the inputs of the first and compares the runs. Inputs that the first model
    /// lacks are random.
    fn compare(&self, inputs: &[Tensor], ours: Digests, spec: InputSpec) -> Result<RunDiff, Failure> {
        let theirs = self.other_inputs(inputs);
        let drawn = draw_inputs(self.graph(1), theirs, 0, spec).map_err(Failure::layer)?;
        let other = self.digests(1, &drawn)?;
        let outputs = self.outputs(&ours, &other);
        let first = self.first_difference([inputs, &drawn], [&ours, &other])?;
        let errors = ours.errors.into_iter().chain(other.errors).collect();
        Ok(RunDiff { outputs, first, errors })
    }

    fn graph(&self, side: usize) -> &Graph {
        self.sessions[side].graph()
    }

    /// Runs a model; `watch` sees the values of each layer.
    fn watch(
        &self,
        side: usize,
        inputs: &[Tensor],
        mut watch: impl FnMut(&Progress) + Send,
    ) -> Result<snick_run::Outputs, Failure> {
        let how = snick_run::Options { keep_going: true, ..self.console.run_options() };
        let mut bar = ProgressBar::new(self.console);
        let outputs = self.sessions[side].watch(inputs, how, &mut Variables::default(), |progress| {
            bar.advance(&progress);
            watch(&progress);
            self.console.deadline().advance(self.graph(side).node(progress.node).name())
        });
        self.console.deadline().check()?;
        Ok(outputs)
    }

    fn digests(&self, side: usize, inputs: &[Tensor]) -> Result<Digests, Failure> {
        let mut layers = HashMap::new();
        let run = self.watch(side, inputs, |progress| {
            if progress.values.is_empty() {
                return;
            }
            let mut hasher = DefaultHasher::new();
            for value in progress.values {
                (value.element_type(), value.dims(), value.to_bytes()).hash(&mut hasher);
            }
            let bytes = progress.values.iter().map(Tensor::size_in_bytes).sum();
            layers.insert(progress.node, (hasher.finish(), bytes));
        })?;
        Ok(Digests { layers, outputs: run.values, errors: run.errors })
    }

    /// For each input of the second model, the value of the corresponding input of the first model, if there
    /// is one.
    fn other_inputs(&self, inputs: &[Tensor]) -> Vec<Option<Tensor>> {
        let given: HashMap<NodeId, &Tensor> = self.graph(0).parameters().zip(inputs).collect();
        let of: HashMap<NodeId, NodeId> = self.diff.pairs.iter().map(|&(a, b)| (b, a)).collect();
        let value = |id: NodeId| of.get(&id).and_then(|other| given.get(other)).map(|&tensor| tensor.clone());
        self.graph(1).parameters().map(value).collect()
    }

    /// Compares the outputs that both models have.
    fn outputs(&self, ours: &Digests, theirs: &Digests) -> Vec<OutputDiff> {
        let of: HashMap<NodeId, NodeId> = self.diff.pairs.iter().copied().collect();
        let theirs: HashMap<NodeId, &Option<Tensor>> = self.graph(1).results().zip(&theirs.outputs).collect();
        let compared = self.graph(0).results().zip(&ours.outputs).filter_map(|(id, want)| {
            let got = *theirs.get(of.get(&id)?)?;
            let comparison = match (got, want) {
                (Some(got), Some(want)) => compare(got, want, self.tolerance),
                _ => Comparison::incomparable(NOT_COMPUTED.into()),
            };
            let dims = got.as_ref().map(|got| got.dims().to_vec()).unwrap_or_default();
            Some(OutputDiff { name: public_name(self.graph(0), id).to_string(), comparison, dims })
        });
        compared.collect()
    }

    /// The layers to compare, in execution order of the first model: corresponding layers, and layers with the
    /// same name, such as a layer whose operation was replaced.
    fn compared_layers(&self) -> Vec<(NodeId, NodeId)> {
        let mut of: HashMap<NodeId, NodeId> = self.diff.pairs.iter().copied().collect();
        let matched: HashSet<NodeId> = of.values().copied().collect();
        let others = self.graph(1).ids().rev().filter(|id| !matched.contains(id));
        let by_name: HashMap<&str, NodeId> = others.map(|id| (self.graph(1).node(id).name(), id)).collect();
        for id in self.graph(0).ids() {
            if let Some(&other) = by_name.get(self.graph(0).node(id).name()) {
                of.entry(id).or_insert(other);
            }
        }
        // Cannot fail: a graph with a cycle has no session.
        let order = self.graph(0).order().unwrap_or_default();
        order.into_iter().filter_map(|id| Some((id, *of.get(&id)?))).collect()
    }

    /// The first layer whose values differ by more than the tolerance. Both models run again to compare the
    /// layers with different digests, in batches whose values fit in [`KEPT_BYTES`].
    fn first_difference(
        &self,
        inputs: [&[Tensor]; 2],
        runs: [&Digests; 2],
    ) -> Result<Option<(NodeId, NodeId, Comparison)>, Failure> {
        let is_computed =
            |id: NodeId| !matches!(self.graph(0).node(id).op(), Op::Const(_) | Op::Parameter(_));
        let pairs = self.compared_layers();
        let differing = pairs.iter().filter_map(|&(a, b)| {
            let (ours, theirs) = (runs[0].layers.get(&a)?, runs[1].layers.get(&b)?);
            (ours.0 != theirs.0 && is_computed(a)).then_some((a, b, ours.1))
        });
        let mut differing = differing.peekable();
        while differing.peek().is_some() {
            let (mut window, mut bytes) = (Vec::new(), 0usize);
            while let Some((a, b, size)) = differing
                .next_if(|(_, _, size)| window.is_empty() || bytes.saturating_add(*size) <= KEPT_BYTES)
            {
                window.push((a, b));
                bytes = bytes.saturating_add(size);
            }
            if let Some(found) = self.differs_within(&window, inputs)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first of these layers whose values differ by more than the tolerance.
    fn differs_within(
        &self,
        window: &[(NodeId, NodeId)],
        inputs: [&[Tensor]; 2],
    ) -> Result<Option<(NodeId, NodeId, Comparison)>, Failure> {
        let mut kept: HashMap<NodeId, Vec<Tensor>> = HashMap::new();
        let of: HashMap<NodeId, NodeId> = window.iter().map(|&(a, b)| (b, a)).collect();
        let wanted: HashMap<NodeId, NodeId> = window.iter().copied().collect();
        self.watch(0, inputs[0], |progress| {
            if wanted.contains_key(&progress.node) && !progress.values.is_empty() {
                kept.insert(progress.node, progress.values.to_vec());
            }
        })?;
        let mut found: HashMap<NodeId, Comparison> = HashMap::new();
        self.watch(1, inputs[1], |progress| {
            let Some((a, want)) = of.get(&progress.node).and_then(|a| kept.get_key_value(a)) else { return };
            let compared =
                want.iter().zip(progress.values).map(|(want, got)| compare(got, want, self.tolerance));
            let mut differing = compared.filter(|comparison| !comparison.is_within());
            if let Some(comparison) = differing.next() {
                found.insert(*a, comparison);
            }
        })?;
        let first = window.iter().find(|(a, _)| found.contains_key(a)).copied();
        Ok(first.and_then(|(a, b)| Some((a, b, found.remove(&a)?))))
    }
}
