//! `snick reduce`: finds the smallest model for which a command still exits 1.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use snick::{Model, reduce};
use snick_ir::Graph;
use snick_ir::text::{PrintOptions, Weights, packed_weights, print};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::json::Json;
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::target::TargetOptions;

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// Command for the shell; `{}` is replaced by the file of the model to try, in text form, or that is appended
    #[arg(long, value_name = "CMD")]
    test: String,
    /// File for the smallest model; a .snick file starts with the command as a `// RUN:` line
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    target: TargetOptions,
    /// Maximum number of command runs
    #[arg(long, value_name = "N", default_value_t = 2000)]
    most: usize,
}

/// Reduces the model until nothing more can be removed.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    options.target.check(model.files().iter().map(PathBuf::as_path), &options.output)?;
    // What is wrong is left to the command.
    model::infer(&mut model, console)?;
    let folder = Folder::new()?;
    let path = folder.0.join("model.snick");
    let code = test(&options.test, model.graph(), &path)?;
    if code != Some(1) {
        let code = code.map_or("was killed by a signal".into(), |code| format!("exited {code}"));
        return Err(Failure::usage(format!("the command must exit 1 on the original model; it {code}")));
    }
    let mut runs = 1;
    let mut failure = None;
    let small = reduce(model.graph(), options.most, &mut |graph| {
        runs += 1;
        test(&options.test, graph, &path).unwrap_or_else(|error| {
            failure.get_or_insert(error);
            None
        }) == Some(1)
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let (before, after) = (model.graph().len(), small.len());
    write(options, small)?;
    console.print(&match common.format {
        OutputFormat::Text => format!("reduced {before} layers to {after} in {runs} runs of the command\n"),
        OutputFormat::Json => as_json(before, after, runs),
    })?;
    Ok(Outcome::Fine)
}

fn as_json(before: usize, after: usize, runs: usize) -> String {
    let mut json = Json::default();
    json.object(|json| {
        json.key("schema").string("snick.reduce/1");
        json.key("layers_before").plain(before);
        json.key("layers_after").plain(after);
        json.key("runs").plain(runs);
    });
    json.finish()
}

/// Writes the result; a text form starts with the command in a comment.
fn write(options: &Options, small: Graph) -> Result<(), Failure> {
    Model::from(small).save_with(&options.output, options.target.save())?;
    if options.output.extension().is_some_and(|extension| extension == "snick") {
        let text = std::fs::read_to_string(&options.output).map_err(Failure::usage)?;
        let command = options.test.replace("{}", "-").replace('\n', " ");
        snick::write_file(&options.output, |file| {
            file.write_all(format!("// RUN: {command}\n{text}").as_bytes())
        })?;
    }
    Ok(())
}

/// The exit code of the command for a graph; `None` if a signal killed it.
fn test(command: &str, graph: &Graph, path: &Path) -> Result<Option<i32>, Failure> {
    let weights = packed_weights(graph);
    let text = print(graph, PrintOptions::new().weights(Weights::Packed));
    let wrote = std::fs::write(path, text).and_then(|()| match weights.is_empty() {
        true => Ok(()),
        false => std::fs::write(path.with_extension("bin"), weights),
    });
    wrote.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    let name = path.display().to_string();
    let command =
        if command.contains("{}") { command.replace("{}", &name) } else { format!("{command} {name}") };
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut shell = Command::new(shell);
    let shell =
        shell.arg(option).arg(&command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = shell.status().map_err(|error| Failure::usage(format!("{command}: {error}")))?;
    Ok(status.code())
}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("snick-reduce-{}", std::process::id()));
        let made = std::fs::create_dir(&path);
        made.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, the system cleans up.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
