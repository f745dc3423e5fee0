//! `snick run`: executes a model, writes its outputs and compares them with recorded outputs.

mod profile;
mod recorded;
mod report;
mod steps;

use std::cell::LazyCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use snick::{Limits, Model, output_names};
use snick_ir::did_you_mean;
use snick_run::Session;
use snick_tensor::Tensor;

use self::recorded::{compare_recorded, read_recorded};
pub use self::report::RunReport;
use self::steps::{StepOptions, run_steps};
use crate::cli::compare::Tolerance;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::inner_values::{InnerValues, dump_file, first_difference, layer_names};
use crate::cli::inputs::{GivenInputs, InputOptions};
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::overwrite::OverwriteOptions;
use crate::cli::value_names::split_names;
use crate::npz;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick run model.xml --input image=photo.npy -o out.npz", "Run on an array and write the outputs"),
        ("snick run model.xml --inputs recorded.npz --ignore-extra --compare recorded.npz", "Run on recorded inputs and compare with recorded outputs"),
    ],
    "a layer fails, or an output differs"
))]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    inputs: InputOptions,
    /// Write the outputs to an .npz file, or a single output to an .npy file
    #[arg(short, long, value_name = "OUT.npz", help_heading = help::OUTPUTS)]
    output: Option<PathBuf>,
    /// Compare the outputs with the arrays of an .npz file
    #[arg(long, value_name = "F.npz", help_heading = help::COMPARE)]
    compare: Option<PathBuf>,
    /// Compare only this output; repeat for several
    #[arg(long, value_name = "NAME", requires = "compare", help_heading = help::COMPARE)]
    only: Vec<String>,
    /// Initial values of variables, from an .npz file
    #[arg(long, value_name = "F.npz", help_heading = help::INPUTS)]
    load_state: Option<PathBuf>,
    /// Write the values of variables after the last step to an .npz file
    #[arg(long, value_name = "F.npz", help_heading = help::OUTPUTS)]
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
    /// Also return these inner values, given as LAYER[:PORT] or by tensor name, under their names
    #[arg(long, value_name = "A,B:1", help_heading = help::OUTPUTS)]
    layers: Option<String>,
    /// Write an intermediate value to LAYER.npy
    #[arg(long, value_name = "LAYER[:PORT]", help_heading = help::OUTPUTS)]
    dump: Vec<String>,
    /// Show the time of each layer and of each operation type; the time of fused layers counts for the last of
    /// them
    #[arg(long)]
    profile: bool,
    /// Number of threads; the outputs do not depend on it
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
}

/// Runs, writes, compares, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let given = LazyCell::new(|| options.inputs.names());
    let mut model = model::load_with_optional_inputs(&options.model, console, |name| given.contains(name))?;
    let layers = options.layers.as_deref().map(|list| split_names(list, model.graph())).unwrap_or_default();
    let dumps: Vec<PathBuf> = options.dump.iter().map(|name| dump_file(name)).collect();
    for output in options.output.iter().chain(&options.save_state).chain(&dumps) {
        let read =
            options.inputs.files().chain(options.compare.as_deref()).chain(options.load_state.as_deref());
        options.overwrite.check(model.files().iter().map(PathBuf::as_path).chain(read), output)?;
    }
    check_arrays(options, &model, layers.len())?;
    let mut report = RunReport {
        errors: model::infer(&mut model, console)?,
        lists_elements: options.inputs.has_texts(),
        ..RunReport::default()
    };
    model.add_outputs(&layers)?;
    if report.errors.is_empty() || options.keep_going {
        let before = (options.canon && options.compare.is_some()).then(|| model.graph().clone());
        if options.canon {
            let rewritten = model.canonicalise_with(&model::rewriting(console));
            report.errors.extend(model::complete(rewritten, console)?.errors);
        }
        let inputs = execute(&model, options, &layers, console, &mut report)?;
        if let Some(before) = before.filter(|_| report.differs() && report.first_difference.is_none()) {
            let inputs = inputs.first().map(Vec::as_slice).unwrap_or_default();
            let found = first_difference(&before, model.graph(), inputs, options.tolerance, console);
            report.first_difference = found.map_err(Failure::layer)?;
        }
    }
    report.errors.iter().for_each(|error| console.located(error));
    if let Some(path) = &options.compare {
        for name in &report.missing {
            let hint = "use --only to name the outputs to compare";
            console.error(&format!("{}: contains no output `{name}`; {hint}", path.display()));
        }
    }
    let failed = !report.errors.is_empty();
    if let Some(path) = options.output.as_ref().filter(|_| !failed || options.keep_going) {
        write_outputs(path, &report, console)?;
    }
    if let Some(path) = options.save_state.as_ref().filter(|_| !failed) {
        console.wrote(&[npz::write(path, report.variables.iter())?]);
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

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

fn write_outputs(path: &Path, report: &RunReport, console: &Console) -> Result<(), Failure> {
    let mut outputs = report.arrays();
    let written = match is_npy(path) {
        true => outputs.next().map(|(_, value)| npz::write_npy(path, value)).transpose()?,
        false => Some(npz::write(path, outputs)?),
    };
    console.wrote(written.as_slice());
    Ok(())
}

/// Fails if an .npy file cannot store the outputs or variables: it holds a single array, without a name.
fn check_arrays(options: &Options, model: &Model, inner_values: usize) -> Result<(), Failure> {
    let refuse = |path: &Path, why: &str| {
        let instead = "write an .npz file, which stores arrays by name";
        Err(Failure::usage(format!(
            "{}: an .npy file stores one array, and {why}; {instead}",
            path.display()
        )))
    };
    if let Some(path) = options.save_state.as_deref().filter(|path| is_npy(path)) {
        return refuse(path, "variables are read back by name");
    }
    let count = model.graph().results().count() + inner_values;
    let count = count.saturating_mul(options.inputs.steps());
    match options.output.as_deref().filter(|path| is_npy(path) && count != 1) {
        Some(path) => refuse(path, &format!("this run has {count} outputs")),
        None => Ok(()),
    }
}

/// Runs an inferred model once, like the command line. Returns the inputs and the results.
pub fn once(model: &Model, given: &GivenInputs, limits: Limits) -> Result<(Vec<Tensor>, RunReport), Failure> {
    let console = Console::silent(limits);
    let session = Session::new(model.share_graph()).map_err(Failure::layer)?;
    let steps = StepOptions {
        given,
        layers: &[],
        load_state: None,
        keep_going: false,
        check_facts: false,
        profile: false,
    };
    let mut report = RunReport::default();
    let inputs = run_steps(&session, steps, &console, &mut InnerValues::default(), &mut report)?;
    Ok((inputs.into_iter().next().unwrap_or_default(), report))
}

/// Runs all steps and compares the outputs. Also returns the inputs of each step.
fn execute(
    model: &Model,
    options: &Options,
    layers: &[&str],
    console: &Console,
    report: &mut RunReport,
) -> Result<Vec<Vec<Tensor>>, Failure> {
    let graph = model.graph();
    let mut inner = InnerValues::default();
    for name in &options.dump {
        if !inner.request(graph, name) {
            let hint = did_you_mean(name, layer_names(graph));
            return Err(Failure::usage(format!("--dump {name}: no such layer{hint}")));
        }
    }
    let outputs: HashSet<&str> = graph.results().flat_map(|id| output_names(graph, id)).collect();
    if let Some(name) = options.only.iter().find(|name| !outputs.contains(name.as_str())) {
        let hint = did_you_mean(name, outputs.iter().copied());
        return Err(Failure::usage(format!("--only {name}: the model has no such output{hint}")));
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
    let given = options.inputs.read(graph, console.memory())?;
    let steps = StepOptions {
        given: &given,
        layers,
        load_state: options.load_state.as_deref(),
        keep_going: options.keep_going,
        check_facts: options.check_facts,
        profile: options.profile,
    };
    let inputs = run_steps(&session, steps, console, &mut inner, report)?;
    for (name, tensor) in inner.taken.iter().filter(|(name, _)| options.dump.contains(name)) {
        console.wrote(&[npz::write_npy(&dump_file(name), tensor)?]);
    }
    if let Some(path) = &options.compare {
        compare_recorded(graph, &recorded, &inner, options, report);
        let is_compared = |key: &str| report.compared.iter().any(|(name, _)| name == key);
        let others = recorded.iter().map(|(key, _)| key).filter(|key| !is_compared(key)).chain(&unknown);
        for key in others.filter(|_| options.only.is_empty()) {
            console.note(&format!("{}: the model has no output `{key}`", path.display()));
        }
    }
    Ok(inputs)
}
