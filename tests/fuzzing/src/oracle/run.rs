//! Runs agree with what is inferred.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use snick::{DimPolicy, draw_inputs};
use snick_ir::{Graph, Located, NodeId, Op, OpError, OpTraits};
use snick_run::{Options, Session, Variables};
use snick_shape::SymExpr;
use snick_tensor::Tensor;

use super::compare::{Tolerance, difference, nudged};
use super::{Finding, inferred};
use crate::mutate::with_constants;

/// Memory of a run.
pub(crate) const RUN_MEMORY: usize = 1 << 22;

/// A run that takes longer is stopped.
const RUN_TIME: Duration = Duration::from_secs(1);

/// The most elements of all inputs of a run.
const MAX_ELEMENTS: i64 = 1 << 14;

/// Random sizes exceed the smallest allowed by at most this.
const SPREAD: i64 = 12;

/// How a run that was stopped ends, if not in a result.
enum Failure {
    /// At a limit, which says nothing of the graph.
    Limit,
    /// With an error.
    Error(Located),
}

/// Runs of a graph that computed all of its outputs: inputs and outputs.
pub(super) struct Runs {
    graph: Graph,
    complete: Vec<(Vec<Tensor>, Vec<Tensor>)>,
    /// Whether equal inputs may give other outputs.
    is_random: bool,
    /// Whether a run ended with an error.
    has_failed: bool,
}

impl Runs {
    /// No runs.
    pub(super) fn none() -> Self {
        Self::of(Graph::default())
    }

    fn of(graph: Graph) -> Self {
        Self { graph, complete: Vec::new(), is_random: false, has_failed: false }
    }

    /// Whether no run of the graph succeeds, or its inputs are too large for one; it is run if it was not yet. Then inference
    /// may know why once the layers that compute sizes have become constants.
    pub(super) fn none_succeeds(&self, graph: &Graph) -> bool {
        if !self.complete.is_empty() || self.has_failed {
            return self.complete.is_empty();
        }
        check(graph).is_ok_and(|runs| runs.complete.is_empty())
    }

    /// Another graph with the same inputs and outputs computes the same.
    pub(super) fn compare(&self, oracle: &'static str, graph: &Graph, how: Tolerance) -> Result<(), Finding> {
        self.compare_unless(oracle, graph, how, |_| false)
    }

    /// [`Runs::compare`], but the other graph may fail with some errors.
    pub(super) fn compare_unless(
        &self,
        oracle: &'static str,
        graph: &Graph,
        how: Tolerance,
        may_fail: impl Fn(&OpError) -> bool,
    ) -> Result<(), Finding> {
        if self.complete.is_empty() {
            return Ok(());
        }
        let session = Session::new(graph).map_err(|error| Finding::of(oracle, error, graph))?;
        for (inputs, want) in &self.complete {
            let got = match run(&session, inputs, false) {
                Ok(got) => got,
                Err(Failure::Limit) => continue,
                Err(Failure::Error(error)) if may_fail(&error.error) => continue,
                Err(Failure::Error(error)) => return Err(Finding::of(oracle, error, graph)),
            };
            let how = if self.is_random { Tolerance::Shapes } else { how };
            if let Some(place) = difference(want, &got, how, || self.nearby(inputs)) {
                let detail = format!("of {inputs:?}\nexpected {want:?}\nbut got  {got:?}\n{place}");
                return Err(Finding::of(oracle, detail, graph));
            }
        }
        Ok(())
    }

    /// What this graph computes of inputs that are nearly the same, and with constants that are: a range from 1e10 to 1 has
    /// an end that rounding moves.
    fn nearby(&self, inputs: &[Tensor]) -> Vec<Vec<Tensor>> {
        let of = |graph: &Graph, inputs: &[Tensor]| {
            let session = Session::without_folding(graph).ok()?;
            run(&session, inputs, false).ok()
        };
        // No two tensors move alike. Of rounding errors whose sign a Ceiling takes, half move in each trial.
        let of_inputs = (1..=16).filter_map(|seed: u64| {
            let nudged: Vec<Tensor> =
                inputs.iter().zip(seed << 32..).map(|(x, seed)| nudged(x, seed)).collect();
            of(&self.graph, &nudged)
        });
        let of_constants = (1..=4).filter_map(|seed: u64| {
            let mut seeds = seed << 32..;
            let nudge = |constant: &Tensor| nudged(constant, seeds.next().unwrap_or_default());
            let graph = with_constants(&self.graph, nudge);
            let (graph, errors) = inferred(&graph)?;
            errors.is_empty().then(|| of(&graph, inputs))?
        });
        of_inputs.chain(of_constants).collect()
    }
}

/// Runs a valid graph, and checks all values against what is inferred where nothing else fails. Facts may follow from
/// what later layers demand, so a run with an error says nothing.
pub(super) fn check(graph: &Graph) -> Result<Runs, Finding> {
    let mut runs = Runs::of(graph.clone());
    let is_random = |id| graph.node(id).op().has(OpTraits::RANDOM);
    runs.is_random = graph.ids().any(is_random) || graph.layers() != graph.len();
    let session = Session::without_folding(graph).map_err(|error| Finding::of("a session", error, graph))?;
    for (seed, dims) in [(1, DimPolicy::Smallest), (2, DimPolicy::Drawn), (3, DimPolicy::MultipleOf(4))] {
        if elements(graph).is_none_or(|elements| elements > MAX_ELEMENTS) {
            break;
        }
        let given = vec![None; graph.parameters().count()];
        let Ok(inputs) = draw_inputs(graph, given, seed, dims) else { continue };
        let outputs = match run(&session, &inputs, false) {
            Ok(outputs) => outputs,
            Err(failure) => {
                runs.has_failed |= matches!(failure, Failure::Error(_));
                continue;
            }
        };
        if let Err(Failure::Error(error)) = run(&session, &inputs, true) {
            return Err(Finding::of("inference is not sound", error, graph));
        }
        runs.complete.push((inputs, outputs));
        if !graph.parameters().any(|id| is_dynamic(graph, id)) {
            break;
        }
    }
    runs.compare("a session that folds", graph, Tolerance::Exact)?;
    Ok(runs)
}

fn is_dynamic(graph: &Graph, parameter: NodeId) -> bool {
    graph.node(parameter).outputs().any(|fact| fact.shape().as_static().is_none())
}

/// The most elements of all inputs that are drawn.
fn elements(graph: &Graph) -> Option<i64> {
    let symbols = graph.symbols();
    let interval = |expr: &SymExpr| symbols.interval(expr).lo().max(1).checked_add(SPREAD);
    let size = |dim: &SymExpr| match dim {
        SymExpr::Const(_) => dim.as_const(),
        _ => symbols.eval(dim, &|symbol| interval(&symbol.into()))?.max(interval(dim)?).into(),
    };
    let of_parameter = |id| {
        let unranked = vec![SymExpr::from(1 + SPREAD); 4];
        let fact = graph.node(id).outputs().next()?;
        let dims = fact.shape.dims().map_or(unranked, |dims| dims.to_vec());
        dims.iter().try_fold(1i64, |count, dim| count.checked_mul(size(dim)?.max(1)))
    };
    graph.parameters().try_fold(0i64, |sum, id| sum.checked_add(of_parameter(id)?))
}

/// The outputs of a run within the limits.
fn run(session: &Session, inputs: &[Tensor], check_facts: bool) -> Result<Vec<Tensor>, Failure> {
    let options = Options { check_facts, memory: RUN_MEMORY, pack_outputs: true, ..Options::default() };
    let end = Instant::now() + RUN_TIME;
    let mut is_late = false;
    let outputs = session.watch(inputs, options, &mut Variables::default(), |_| {
        is_late |= Instant::now() > end;
        if is_late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match outputs.complete() {
        _ if is_late => Err(Failure::Limit),
        Ok(values) => Ok(values),
        Err(error) if error.error.is_limit() => Err(Failure::Limit),
        Err(error) => Err(Failure::Error(error)),
    }
}

/// Whether elements are only moved and compared, so that what is written is computed in the same order.
pub(super) fn rounds(graph: &Graph) -> bool {
    graph.ids().any(|id| {
        let op = graph.node(id).op();
        let values = graph.node(id).outputs().any(|fact| !fact.element_type().is_integer());
        let moves =
            op.traits().intersects(OpTraits::MOVES_ELEMENTS | OpTraits::SLICE_LIKE | OpTraits::BOUNDARY);
        values && !moves && !matches!(op, Op::Const(_) | Op::Parameter(_) | Op::Result(_))
    })
}
