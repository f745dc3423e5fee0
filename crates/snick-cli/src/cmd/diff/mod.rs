//! `snick diff`: the differences between two models in any formats, or between a model and its execution
//! graph.

mod as_json;
mod as_text;
mod examples;
mod execution;
mod run;
mod verdict;

use std::path::PathBuf;

use clap::Args;
use snick::{DiffOptions, Graph, Limits, Model, ModelDiff};

use self::run::RunDiff;

use crate::cli::compare::Tolerance;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::inputs::{GivenInputs, InputOptions};
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::outcome::diagnostic;
use crate::cli::pair::PairOptions;
use crate::cli::{json, model};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick diff old.xml new.xml", "Show which layers differ"),
        ("snick diff model.onnx model.xml --canon --run", "Compare canonical forms, then the outputs of a run"),
    ],
    "the models or their outputs differ, or a run fails"
))]
pub struct Options {
    /// The first model, or - for text form on standard input
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second model, in any format
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Compare the canonical forms, for models in different formats
    #[arg(long)]
    canon: bool,
    #[command(flatten)]
    pair: PairOptions,
    /// Show all differences, not only some of each kind
    #[arg(long)]
    all: bool,
    /// Run both models on the same inputs, and find the first layer whose values differ
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    inputs: InputOptions,
    #[command(flatten)]
    tolerance: Tolerance,
}

/// Reads, infers, compares, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let [a, b] = options.pair.both(&options.a, &options.b)?;
    let (a, b) = (load(&a, options, console)?, load(&b, options, console)?);
    if let Some(execution) = snick::execution_of(&a, &b).or_else(|| snick::execution_of(&b, &a)) {
        if options.run {
            return Err(Failure::usage("one of the models is an execution graph, which cannot be run"));
        }
        console.print(&match common.format {
            OutputFormat::Text => execution::write(&execution, options.all),
            OutputFormat::Json => json::Answer::new("snick.execution/1", &execution).text(),
        })?;
        return Ok(Outcome::finding(!execution.is_of_the_model()));
    }
    // This fails if a model has a cycle.
    let diff = snick::diff(&a, &b, &DiffOptions::new()).map_err(Failure::usage)?;
    let run = match options.run {
        true => {
            let given = options.inputs.read(a.graph(), console.memory())?;
            Some(run::run([&a, &b], &diff, &given, options.tolerance, console)?)
        }
        false => None,
    };
    run.iter().flat_map(|run| &run.errors).for_each(|error| console.located(error));
    let answer = Answer { diff, run, graphs: [a.graph(), b.graph()] };
    let files = [&options.a, &options.b].map(|path| path.display().to_string());
    console.print(&answer.render(&files, options.all, common.format, console))?;
    match answer.run.as_ref().map(|run| Outcome::of_errors(&run.errors)) {
        Some(Outcome::Limit) => Ok(Outcome::Limit),
        _ => Ok(Outcome::finding(!answer.is_equal())),
    }
}

/// All differences between two inferred models, as text and as JSON. `names` are the names of the models in
/// the text. If inputs are given, both models run on them.
pub fn between(
    [a, b]: [&Model; 2],
    names: &[String; 2],
    inputs: Option<&GivenInputs>,
    limits: Limits,
) -> Result<[String; 2], Failure> {
    let console = Console::silent(limits);
    let diff = snick::diff(a, b, &DiffOptions::new())?;
    let run =
        inputs.map(|given| run::run([a, b], &diff, given, Tolerance::default(), &console)).transpose()?;
    if let Some(errors) = run.as_ref().map(|run| &run.errors).filter(|errors| !errors.is_empty()) {
        return Err(Failure::Layers(errors.iter().map(diagnostic).collect()));
    }
    let answer = Answer { diff, run, graphs: [a.graph(), b.graph()] };
    Ok([OutputFormat::Text, OutputFormat::Json].map(|format| answer.render(names, true, format, &console)))
}

/// The differences between two models, and between their runs.
struct Answer<'g> {
    diff: ModelDiff,
    run: Option<RunDiff>,
    graphs: [&'g Graph; 2],
}

impl Answer<'_> {
    fn render(&self, files: &[String; 2], is_whole: bool, format: OutputFormat, console: &Console) -> String {
        match format {
            OutputFormat::Text => as_text::write(self, files, is_whole, console),
            OutputFormat::Json => as_json::write(self),
        }
    }

    fn is_equal(&self) -> bool {
        self.diff.is_equal() && self.run.as_ref().is_none_or(RunDiff::is_equal)
    }
}

/// Loads and infers a model, and brings it into canonical form if requested.
fn load(named: &ModelOptions, options: &Options, console: &Console) -> Result<Model, Failure> {
    let mut model = model::load(named, console)?;
    let mut errors = model::infer(&mut model, console)?.len();
    if options.canon {
        let report = model.canonicalise_with(&model::rewriting(console));
        errors += model::complete(report, console)?.errors.len();
    }
    if errors > 0 {
        let plural = if errors == 1 { "error" } else { "errors" };
        console.note(&format!("{}: {errors} {plural} in layers; see `snick infer`", named.model.display()));
    }
    Ok(model)
}
