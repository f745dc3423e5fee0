//! Runs all steps on given and random inputs.

use std::path::Path;

use snick::{input_candidates, named_outputs, public_name};
use snick_ir::{Code, Graph};
use snick_run::{Session, Variables};
use snick_tensor::Tensor;

use super::profile::Profile;
use super::report::{RunOutput, RunReport, step_key};
use crate::cli::console::{Console, Failure};
use crate::cli::inner_values::InnerValues;
use crate::cli::inputs::GivenInputs;
use crate::cli::progress::ProgressBar;
use crate::cli::search::Search;
use crate::npz;

/// What to run, and how.
#[derive(Copy, Clone)]
pub(super) struct StepOptions<'o> {
    pub(super) given: &'o GivenInputs,
    /// The inner values that the graph returns as outputs; shown under these names.
    pub(super) layers: &'o [&'o str],
    /// The file with the initial values of variables.
    pub(super) load_state: Option<&'o Path>,
    pub(super) keep_going: bool,
    pub(super) check_facts: bool,
    pub(super) profile: bool,
}

/// Codes of errors that do not depend on input sizes: missing or truncated weights, a limit, an op that
/// cannot run.
const ANY_SIZES: [Code; 4] = [Code::WeightsMissing, Code::WeightsTruncated, Code::Limit, Code::CannotRun];

/// A run, with its inputs.
type Attempt = (Vec<Vec<Tensor>>, InnerValues, RunReport);

/// Runs all steps on given and random inputs. If sizes are dynamic, uses the first candidate with which the
/// model runs; if the model runs with none, uses the first candidate. Also returns the inputs of each step.
pub(super) fn run_steps(
    session: &Session,
    options: StepOptions,
    console: &Console,
    inner: &mut InnerValues,
    report: &mut RunReport,
) -> Result<Vec<Vec<Tensor>>, Failure> {
    let graph = session.graph();
    let given = options.given;
    let attempt = |inputs: Vec<Vec<Tensor>>| -> Result<Attempt, Failure> {
        let mut taken = InnerValues::default();
        taken.request_as(inner);
        let run = run_once(session, &inputs, options, console, &mut taken)?;
        Ok((inputs, taken, run))
    };
    let (mut first, mut failed, mut too_large) = (None, None, None);
    let mut search = Search::new(graph);
    for spec in input_candidates(graph) {
        let inputs = match given.complete(graph, spec, 0) {
            Ok(inputs) => inputs,
            Err(failure) => {
                too_large.get_or_insert(failure);
                continue;
            }
        };
        // Runs the first inputs in any case if all inputs are given, or if the run continues after failures.
        let is_only = given.is_complete() || options.keep_going;
        if is_only || search.admits(graph, &inputs) {
            let run = attempt(inputs)?;
            let succeeded = run.2.errors.is_empty();
            let is_hopeless = run.2.errors.iter().any(|error| ANY_SIZES.contains(&Code::from(&error.error)));
            if succeeded || failed.is_none() {
                failed = Some(run);
            }
            if succeeded || is_only || is_hopeless {
                break;
            }
        } else if first.is_none() {
            first = Some(inputs);
        }
        console.deadline().check()?;
        if search.is_over() {
            break;
        }
    }
    let run = match (failed, first) {
        (Some(run), _) => run,
        (None, Some(inputs)) => attempt(inputs)?,
        (None, None) => return too_large.map_or(Ok(Vec::new()), Err),
    };
    let (inputs, taken, run) = run;
    given.drawn(graph, &inputs).iter().for_each(|note| console.note(note));
    *inner = taken;
    report.steps = run.steps;
    report.outputs = run.outputs;
    report.variables = run.variables;
    report.profile = run.profile;
    report.errors.extend(run.errors);
    Ok(inputs)
}

/// Runs all steps on these inputs.
fn run_once(
    session: &Session,
    inputs: &[Vec<Tensor>],
    options: StepOptions,
    console: &Console,
    inner: &mut InnerValues,
) -> Result<RunReport, Failure> {
    let graph = session.graph();
    let how = snick_run::Options {
        keep_going: options.keep_going,
        check_facts: options.check_facts,
        ..console.run_options()
    };
    let shown_name = |id| match graph.node(id).name() {
        name if options.layers.contains(&name) => name,
        _ => public_name(graph, id),
    };
    let shown: Vec<&str> = graph.results().map(shown_name).collect();
    let mut report = RunReport::default();
    let mut variables = initial_variables(graph, options, console)?;
    let mut profile = options.profile.then(Profile::new);
    for (k, inputs) in inputs.iter().enumerate() {
        let mut bar = ProgressBar::new(console);
        profile.iter_mut().for_each(Profile::resume);
        let outputs = session.watch(inputs, how, &mut variables, |progress| {
            profile.iter_mut().for_each(|profile| profile.took(graph, progress.node));
            bar.advance(&progress);
            if k == 0 {
                inner.take(graph, &progress);
            }
            let control = console.deadline().advance(graph.node(progress.node).name());
            profile.iter_mut().for_each(Profile::resume);
            control
        });
        drop(bar);
        console.deadline().check()?;
        report.steps += 1;
        report.errors.extend(outputs.errors);
        for (i, (name, value)) in named_outputs(graph, &outputs.values).into_iter().enumerate() {
            let Some(value) = value.clone() else { continue };
            let shown = shown.get(i).map(|shown| step_key(k, shown));
            report.outputs.push(RunOutput { key: step_key(k, name), shown, value });
        }
        if !report.errors.is_empty() && !options.keep_going {
            break;
        }
    }
    (report.variables, report.profile) = (variables, profile);
    Ok(report)
}

/// The values of variables before the first step.
fn initial_variables(graph: &Graph, options: StepOptions, console: &Console) -> Result<Variables, Failure> {
    let mut variables = Variables::default();
    let Some(path) = options.load_state else { return Ok(variables) };
    for (variable_id, value) in npz::read::<Failure>(path, console.memory(), |_| Ok(true), |_, _| Ok(()))? {
        // If numpy does not have a type, its values are stored as their bits.
        let stored = npz::fit(value.clone(), Variables::element_type(graph, &variable_id), None);
        let set = variables.set_checked(graph, &variable_id, stored.unwrap_or(value));
        set.map_err(|error| Failure::usage(format!("--load-state {}: {error}", path.display())))?;
    }
    Ok(variables)
}
