//! Runs agree with inference.

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

/// Memory limit of a run.
pub(crate) const RUN_MEMORY: usize = 1 << 22;

/// Time limit of a run.
const RUN_TIME: Duration = Duration::from_secs(1);

/// Maximum total number of input elements in a run.
const MAX_ELEMENTS: i64 = 1 << 14;

/// Random sizes exceed the smallest allowed by at most this much.
const SPREAD: i64 = 12;

/// Why a run has no result.
enum Failure {
    /// It reached a limit, which says nothing about the graph.
    Limit,
    /// It failed.
    Error(Located),
}

/// Inputs and outputs of the runs of a graph that computed all outputs.
pub(super) struct Runs {
    graph: Graph,
    complete: Vec<(Vec<Tensor>, Vec<Tensor>)>,
    /// Whether equal inputs may give different outputs.
    is_random: bool,
    /// Whether a run failed.
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

    /// Whether no run of the graph succeeds or its inputs are too large. Runs it if needed. Once the layers
    /// that compute sizes are constants, inference may know why.
    pub(super) fn none_succeeds(&self, graph: &Graph) -> bool {
        if !self.complete.is_empty() || self.has_failed {
            return self.complete.is_empty();
        }
        check(graph).is_ok_and(|runs| runs.complete.is_empty())
    }

    /// Checks that another graph with the same inputs and outputs gives the same results.
    pub(super) fn compare(&self, oracle: &'static str, graph: &Graph, how: Tolerance) -> Result<(), Finding> {
        self.compare_unless(oracle, graph, how, |_| false)
    }

    /// [`Runs::compare`], but the other graph may fail with certain errors.
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

    /// The results for slightly changed inputs and constants. For instance, rounding moves the end of a range
    /// from 1e10 to 1.
    fn nearby(&self, inputs: &[Tensor]) -> Vec<Vec<Tensor>> {
        let of = |graph: &Graph, inputs: &[Tensor]| {
            let session = Session::without_folding(graph).ok()?;
            run(&session, inputs, false).ok()
        };
        // Each tensor changes differently. Where a Ceiling takes the sign of a rounding error, half of the
        // elements change in each trial.
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

/// Runs a valid graph and checks all values against their facts, unless another layer fails. Facts may depend
/// on conditions of later layers, so a failed run says nothing.
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

/// Maximum total number of generated input elements.
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

/// Whether results may round. Otherwise elements are only moved and compared, and a written model computes in
/// the same order.
pub(super) fn rounds(graph: &Graph) -> bool {
    graph.ids().any(|id| {
        let op = graph.node(id).op();
        let values = graph.node(id).outputs().any(|fact| !fact.element_type().is_integer());
        let moves = op.traits().intersects(OpTraits::MOVES_ELEMENTS | OpTraits::BOUNDARY);
        values && !moves && !matches!(op, Op::Const(_) | Op::Parameter(_) | Op::Result(_))
    })
}
