//! `snick reduce`: finds the smallest model that still fails in the same way.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use snick::{ErrorKind, Model, Reduction, WrittenFile, reduce};
use snick_ir::{Graph, Located, Op};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::failing_command::{Expected, FailingCommand};
use crate::cli::help;
use crate::cli::json::Answer;
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::target::TargetOptions;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick reduce model.xml -o small.snick", "Reduce the model while its first inference error stays"),
        ("snick reduce model.xml -o small.snick --test './fails.sh {}'", "Reduce the model while a command exits with 1"),
    ],
    "the output format cannot express a layer"
))]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// Shell command that fails on the model; `{}` stands for the file to test, in text form; without `{}`,
    /// the file name is appended [default: inference, which must fail]
    #[arg(long, value_name = "CMD")]
    test: Option<String>,
    #[command(flatten)]
    expected: Expected,
    /// Allow other inference errors; by default, the first error must keep its code and operation, and no new
    /// error may appear
    #[arg(long)]
    any_error: bool,
    /// File for the reduced model; a .snick file starts with the command as a `// RUN:` line
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    target: TargetOptions,
    /// Maximum number of tests
    #[arg(long, value_name = "N", default_value_t = 10_000, alias = "most")]
    max_tests: usize,
}

/// Reduces the model until nothing more can be removed.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    options.target.check(model.files().iter().map(PathBuf::as_path), &options.output)?;
    let errors = model::infer(&mut model, console)?;
    let kinds: Vec<ErrorKind> = errors.iter().map(ErrorKind::of).collect();
    // The first error must stay, and no new error may appear.
    let is_same = |errors: &[Located]| {
        options.any_error
            || kinds.first().is_none_or(|first| first.is_among(errors))
                && errors.iter().all(|error| kinds.contains(&ErrorKind::of(error)))
    };
    let test = FailingCommand::new(options.test.as_deref(), &options.expected, model.graph(), &errors)?;
    let mut failure = None;
    let reduction = reduce(model.graph(), options.max_tests, &mut |graph, errors| {
        if failure.is_some() || !is_same(errors) {
            return false;
        }
        let fails = console.deadline().check().and_then(|()| test.fails(graph, errors));
        fails.unwrap_or_else(|error| {
            failure = Some(error);
            false
        })
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    report(options, common, console, model.graph().layers(), &reduction)?;
    console.wrote(&write(options, reduction.graph)?);
    Ok(Outcome::Fine)
}

fn report(
    options: &Options,
    common: &Common,
    console: &Console,
    before: usize,
    reduction: &Reduction,
) -> Result<(), Failure> {
    let (after, tests) = (reduction.graph.layers(), reduction.tests);
    if !reduction.is_minimal {
        console.note(&format!(
            "reached --max-tests {}; more tests may reduce the model further",
            options.max_tests
        ));
    }
    let computes = |op: &Op| !matches!(op, Op::Parameter(_) | Op::Const(_) | Op::Result(_));
    if !reduction.graph.ids().any(|id| computes(reduction.graph.node(id).op())) {
        console.note("no operation is left: the test may fail for any model");
    }
    console.print(&match common.format {
        OutputFormat::Text => format!("reduced {before} layers to {after} in {tests} tests\n"),
        OutputFormat::Json => {
            let minimal = reduction.is_minimal;
            let content = Content { layers_before: before, layers_after: after, runs: tests, minimal };
            Answer::new("snick.reduce/1", content).text()
        }
    })
}

/// The answer.
#[derive(Serialize)]
struct Content {
    /// The number of layers of the model.
    layers_before: usize,
    /// The number of layers of the reduced model.
    layers_after: usize,
    /// The number of tests.
    runs: usize,
    /// Whether the search ended before `--max-tests`.
    minimal: bool,
}

/// Writes the model, and returns the written files. A model in text form starts with the command in a
/// comment.
fn write(options: &Options, small: Graph) -> Result<Vec<WrittenFile>, Failure> {
    let mut files = Model::from(small).write(&options.output, options.target.save())?;
    if options.output.extension().is_some_and(|extension| extension == "snick") {
        let text = std::fs::read_to_string(&options.output).map_err(Failure::usage)?;
        let command = options.test.as_deref().unwrap_or("snick infer {}");
        let command = command.replace("{}", "-").replace('\n', " ");
        let model = WrittenFile::write(&options.output, |file| {
            file.write_all(format!("// RUN: {command}\n{text}").as_bytes())
        })?;
        files.retain(|file| file.path != model.path);
        files.push(model);
    }
    Ok(files)
}
