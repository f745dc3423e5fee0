//! `snick run`: executes a model, writes its outputs and compares them with recorded ones.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use snick::{Model, input_candidates, named_outputs, output_names, public_name};
use snick_ir::text::Escaped;
use snick_ir::{Graph, Located};
use snick_run::{Session, Variables};
use snick_tensor::Tensor;

use crate::cli::compare::{Comparison, Tolerance, compare};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::inner_values::{InnerValues, dump, first_difference, has_value};
use crate::cli::inputs::InputOptions;
use crate::cli::json::Json;
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::overwrite::OverwriteOptions;
use crate::cli::progress::ProgressBar;
use crate::cli::search::Search;
use crate::cli::summary::Summary;
use crate::npz;

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    inputs: InputOptions,
    /// Write the outputs to an .npz file
    #[arg(short, long, value_name = "OUT.npz")]
    output: Option<PathBuf>,
    /// Compare the outputs with those of an .npz file
    #[arg(long, value_name = "F.npz")]
    compare: Option<PathBuf>,
    /// Compare only this output; repeat for several
    #[arg(long, value_name = "NAME", requires = "compare")]
    only: Vec<String>,
    /// Begin with the values of variables in this .npz file
    #[arg(long, value_name = "F.npz")]
    load_state: Option<PathBuf>,
    /// Write the values of variables after the last step to an .npz file
    #[arg(long, value_name = "F.npz")]
    save_state: Option<PathBuf>,
    #[command(flatten)]
    tolerance: Tolerance,
    #[command(flatten)]
    overwrite: OverwriteOptions,
    /// Run the canonical form
    #[arg(long)]
    canon: bool,
    /// Keep going after a layer fails; skip only its dependents
    #[arg(long)]
    keep_going: bool,
    /// Check every computed value against its inferred shape and type
    #[arg(long)]
    check_facts: bool,
    /// Write a value inside the model to LAYER.npy
    #[arg(long, value_name = "LAYER[:PORT]")]
    dump: Vec<String>,
    /// Number of threads; the outputs do not depend on it
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
}

/// The results of all steps.
#[derive(Default)]
struct RunReport {
    steps: usize,
    outputs: Vec<RunOutput>,
    errors: Vec<Located>,
    /// The variables after the last step.
    variables: Variables,
    compared: Vec<(String, Comparison)>,
    /// Outputs that were to be compared, but are not in the file.
    missing: Vec<String>,
    /// The first layer, in the order of execution, that differs.
    first_difference: Option<String>,
    /// Whether integers are listed: what a tokenizer makes of texts.
    lists_elements: bool,
}

/// An output of a step, under one of its names.
struct RunOutput {
    /// The name, with the prefix of the step from the second step on.
    key: String,
    /// The name that is shown, once for each output.
    shown: Option<String>,
    value: Tensor,
}

/// Runs, writes, compares, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    for output in options.output.iter().chain(&options.save_state) {
        let read =
            options.inputs.files().chain(options.compare.as_deref()).chain(options.load_state.as_deref());
        options.overwrite.check(model.files().iter().map(PathBuf::as_path).chain(read), output)?;
    }
    let mut report = RunReport {
        errors: model::infer(&mut model, console)?,
        lists_elements: options.inputs.has_texts(),
        ..RunReport::default()
    };
    if report.errors.is_empty() || options.keep_going {
        let before = (options.canon && options.compare.is_some()).then(|| model.graph().clone());
        if options.canon {
            report
                .errors
                .extend(snick_pass::canonicalise(model.graph_mut(), &model::rewriting(console)).errors);
            console.deadline().check()?;
        }
        let inputs = execute(&model, options, console, &mut report)?;
        if let Some(before) = before.filter(|_| report.differs() && report.first_difference.is_none()) {
            let inputs = inputs.first().map(Vec::as_slice).unwrap_or_default();
            let found = first_difference(&before, model.graph(), inputs, options.tolerance);
            report.first_difference = found.map_err(Failure::layer)?;
        }
    }
    report.errors.iter().for_each(|error| console.located(error));
    if let Some(path) = &options.compare {
        for name in &report.missing {
            let hint = "name the outputs to compare with --only";
            console.error(&format!("{}: contains no output `{name}`; {hint}", path.display()));
        }
    }
    let failed = !report.errors.is_empty();
    if let Some(path) = options.output.as_ref().filter(|_| !failed || options.keep_going) {
        npz::write(path, report.outputs.iter().map(|output| (output.key.as_str(), &output.value)))?;
    }
    if let Some(path) = options.save_state.as_ref().filter(|_| !failed) {
        npz::write(path, report.variables.iter())?;
    }
    console.print(&match common.format {
        OutputFormat::Text => report.as_text(),
        OutputFormat::Json => report.as_json(),
    })?;
    match Outcome::of_errors(&report.errors) {
        Outcome::Fine => Ok(Outcome::finding(report.differs() || !report.missing.is_empty())),
        outcome => Ok(outcome),
    }
}

/// Runs all steps, and compares. Returns the inputs of each step.
fn execute(
    model: &Model,
    options: &Options,
    console: &Console,
    report: &mut RunReport,
) -> Result<Vec<Vec<Tensor>>, Failure> {
    let graph = model.graph();
    let mut inner = InnerValues::default();
    for name in &options.dump {
        if !inner.request(graph, name) {
            return Err(Failure::usage(format!("--dump {name}: no such layer")));
        }
    }
    let outputs: HashSet<&str> = graph.results().flat_map(|id| output_names(graph, id)).collect();
    if let Some(name) = options.only.iter().find(|name| !outputs.contains(name.as_str())) {
        return Err(Failure::usage(format!("--only {name}: the model has no such output")));
    }
    let mut unknown = Vec::new();
    let recorded = match &options.compare {
        Some(path) => read_recorded(graph, path, &outputs, console.memory(), &mut unknown)?,
        None => Vec::new(),
    };
    for (key, _) in recorded.iter().filter(|(key, _)| options.only.is_empty() && !outputs.contains(&**key)) {
        inner.request(graph, key);
    }
    let session = match inner.is_empty() && !options.check_facts {
        true => Session::new(model.share_graph()),
        false => Session::without_folding(model.share_graph()),
    };
    let session = match session {
        Ok(session) => session.with_threads(options.threads as usize).map_err(Failure::usage)?,
        Err(error) => {
            report.errors.push(error);
            return Ok(Vec::new());
        }
    };
    let inputs = run_steps(&session, options, console, &mut inner, report)?;
    for (name, tensor) in inner.taken.iter().filter(|(name, _)| options.dump.contains(name)) {
        dump(name, tensor)?;
    }
    if let Some(path) = &options.compare {
        against_recorded(graph, &recorded, &inner, options, report);
        let is_compared = |key: &str| report.compared.iter().any(|(name, _)| name == key);
        let others = recorded.iter().map(|(key, _)| key).filter(|key| !is_compared(key)).chain(&unknown);
        for key in others.filter(|_| options.only.is_empty()) {
            console.note(&format!("{}: the model has no output `{key}`", path.display()));
        }
    }
    Ok(inputs)
}

/// The arrays of a file that are outputs or other values of the model; the keys of the others are `unknown`.
fn read_recorded(
    graph: &Graph,
    path: &Path,
    outputs: &HashSet<&str>,
    memory: usize,
    unknown: &mut Vec<String>,
) -> Result<Vec<(String, Tensor)>, Failure> {
    let is_value = |key: &str| {
        let of_step = key.strip_prefix('s').and_then(|rest| rest.split_once('_'));
        let is_output = outputs.contains(key) || of_step.is_some_and(|(_, name)| outputs.contains(name));
        let is_known = is_output || has_value(graph, key);
        if !is_known {
            unknown.push(key.to_string());
        }
        Ok(is_known)
    };
    npz::read(path, memory, is_value, |_, _| Ok(()))
}

/// Codes of errors that larger sizes do not help: weights that are missing or cut, a limit, an op that cannot run.
const ANY_SIZES: [&str; 4] = ["S002", "S003", "S008", "S050"];

/// A run, and what it was on.
type Attempt = (Vec<Vec<Tensor>>, InnerValues, RunReport);

/// Runs all steps on the inputs given and drawn: of the sizes that are open, on the first that the model runs with, or
/// the first of all if it runs with none. Returns the inputs of each step.
fn run_steps(
    session: &Session,
    options: &Options,
    console: &Console,
    inner: &mut InnerValues,
    report: &mut RunReport,
) -> Result<Vec<Vec<Tensor>>, Failure> {
    let graph = session.graph();
    let given = options.inputs.read(graph, console.memory())?;
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
        // Nothing is left to choose, or failures are expected.
        let is_only = given.is_complete() || options.keep_going;
        if is_only || search.admits(graph, &inputs) {
            let run = attempt(inputs)?;
            let succeeded = run.2.errors.is_empty();
            let is_hopeless = run.2.errors.iter().any(|error| ANY_SIZES.contains(&error.error.code()));
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
    report.errors.extend(run.errors);
    Ok(inputs)
}

/// Runs all steps on these inputs.
fn run_once(
    session: &Session,
    inputs: &[Vec<Tensor>],
    options: &Options,
    console: &Console,
    inner: &mut InnerValues,
) -> Result<RunReport, Failure> {
    let graph = session.graph();
    let how = snick_run::Options {
        keep_going: options.keep_going,
        check_facts: options.check_facts,
        memory: console.memory(),
        fuel: console.limits().fuel,
        ..snick_run::Options::default()
    };
    let shown: Vec<&str> = graph.results().map(|id| public_name(graph, id)).collect();
    let mut report = RunReport::default();
    let mut variables = initial_variables(graph, options, console)?;
    for (k, inputs) in inputs.iter().enumerate() {
        let mut bar = ProgressBar::new(console);
        let outputs = session.watch(inputs, how, &mut variables, |progress| {
            bar.advance(&progress);
            if k == 0 {
                inner.take(graph, &progress);
            }
            console.deadline().advance(graph.node(progress.node).name())
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
    report.variables = variables;
    Ok(report)
}

/// The variables before the first step.
fn initial_variables(graph: &Graph, options: &Options, console: &Console) -> Result<Variables, Failure> {
    let mut variables = Variables::default();
    let Some(path) = &options.load_state else { return Ok(variables) };
    for (variable_id, value) in npz::read::<Failure>(path, console.memory(), |_| Ok(true), |_, _| Ok(()))? {
        // Types that numpy lacks are stored as their bits.
        let stored = npz::fit(value.clone(), Variables::element_type(graph, &variable_id), None);
        let set = variables.set_checked(graph, &variable_id, stored.unwrap_or(value));
        set.map_err(|error| Failure::usage(format!("--load-state {}: {error}", path.display())))?;
    }
    Ok(variables)
}

/// The key of an output of a step.
fn step_key(step: usize, name: &str) -> String {
    if step == 0 { name.to_string() } else { format!("s{step}_{name}") }
}

/// Compares every recorded array with the inner value or output of that name: inner values in the order of the run,
/// then the outputs. Outputs that are not recorded are missing.
fn against_recorded(
    graph: &Graph,
    recorded: &[(String, Tensor)],
    inner: &InnerValues,
    options: &Options,
    report: &mut RunReport,
) {
    for (key, got) in &inner.taken {
        let Some((_, want)) = recorded.iter().find(|(name, _)| name == key) else { continue };
        let comparison = compare(got, want, options.tolerance);
        if !comparison.is_within() && report.first_difference.is_none() {
            report.first_difference = Some(key.clone());
        }
        report.compared.push((key.clone(), comparison));
    }
    let find = |key: &str| recorded.iter().find(|(name, _)| name == key);
    for step in 0..report.steps {
        for result in graph.results() {
            let names = output_names(graph, result);
            let is_wanted =
                options.only.is_empty() || names.iter().any(|name| options.only.iter().any(|o| o == name));
            if is_wanted && names.iter().all(|name| find(&step_key(step, name)).is_none()) {
                report.missing.push(step_key(step, names[0]));
            }
        }
    }
    let only: HashSet<String> = (0..report.steps)
        .flat_map(|step| options.only.iter().map(move |name| step_key(step, name)))
        .collect();
    for output in report.outputs.iter().filter(|output| only.is_empty() || only.contains(&output.key)) {
        if let Some((key, want)) = find(&output.key) {
            report.compared.push((key.clone(), compare(&output.value, want, options.tolerance)));
        }
    }
}

impl RunReport {
    fn differs(&self) -> bool {
        self.compared.iter().any(|(_, comparison)| !comparison.is_within())
    }

    fn summary<'t>(&self, value: &'t Tensor) -> Summary<'t> {
        let summary = Summary::of(value);
        if self.lists_elements { summary.with_elements() } else { summary }
    }

    fn as_text(&self) -> String {
        let mut text = String::new();
        if self.compared.is_empty() {
            for RunOutput { shown, value, .. } in &self.outputs {
                let Some(name) = shown else { continue };
                let _ = writeln!(text, "{}: {}", Escaped(name), self.summary(value));
            }
        }
        for (key, comparison) in &self.compared {
            let key = Escaped(key);
            let verdict = if comparison.is_within() { "ok" } else { "differs" };
            let _ = match &comparison.incomparable {
                Some(why) => writeln!(text, "{key}: {verdict}: {why}"),
                None => writeln!(
                    text,
                    "{key}: {verdict}: max abs {:.3e}, max rel {:.3e}, {} outside tolerance",
                    comparison.max_abs, comparison.max_rel, comparison.outside
                ),
            };
        }
        if let Some(layer) = &self.first_difference {
            let _ = writeln!(text, "first layer that differs: {}", Escaped(layer));
        }
        text
    }

    fn as_json(&self) -> String {
        let mut json = Json::default();
        json.object(|json| {
            json.key("schema").string("snick.run/1");
            json.key("steps").plain(self.steps);
            json.line().key("outputs").array(|json| {
                for RunOutput { key, value, .. } in &self.outputs {
                    json.line().object(|json| {
                        json.key("name").string(key);
                        json.key("element_type").string(value.element_type().name());
                        json.key("shape").array(|json| value.dims().iter().for_each(|dim| json.plain(dim)));
                        self.summary(value).write(json);
                    });
                }
            });
            json.line().key("compared").array(|json| {
                for (key, comparison) in &self.compared {
                    json.line().object(|json| {
                        json.key("name").string(key);
                        json.key("ok").plain(comparison.is_within());
                        json.key("max_abs").float(comparison.max_abs);
                        json.key("max_rel").float(comparison.max_rel);
                        json.key("outside").plain(comparison.outside);
                        if let Some(why) = &comparison.incomparable {
                            json.key("message").string(why);
                        }
                    });
                }
            });
            json.line().key("missing").array(|json| {
                for name in &self.missing {
                    json.string(name);
                }
            });
            if let Some(layer) = &self.first_difference {
                json.line().key("first_difference").string(layer);
            }
            json.line().key("errors").array(|json| self.errors.iter().for_each(|error| json.located(error)));
        });
        json.finish()
    }
}
