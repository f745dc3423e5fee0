//! `snick reduce`: the smallest model for which a command still exits 1.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use snick::{Model, reduce};
use snick_ir::Graph;
use snick_ir::text::{PrintOptions, Weights, packed_weights, print};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::json::Json;
use crate::cli::model;
use crate::cli::options::{Common, Format, ModelOptions};
use crate::cli::target::TargetOptions;

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// The command, run by the shell; `{}` in it is the model to try, in text form, and stands last if it is left out
    #[arg(long, value_name = "CMD")]
    test: String,
    /// Where the smallest model goes: .snick, a test in text form, or any other format
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    target: TargetOptions,
    /// Run the command at most so many times
    #[arg(long, value_name = "N", default_value_t = 2000)]
    most: usize,
}

/// Tries smaller models until nothing more can go.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    options.target.check(&options.model, &options.output)?;
    let mut model = model::load(&options.model, console)?;
    model.infer();
    let folder = Folder::new()?;
    let path = folder.0.join("model.snick");
    let code = test(&options.test, &model.graph, &path)?;
    if code != Some(1) {
        let code = code.map_or("a signal".into(), |code| code.to_string());
        return Err(Failure::usage(format!(
            "the command ends with {code} on the model itself, and not with 1"
        )));
    }
    let mut runs = 1;
    let mut broken = None;
    let small = reduce(&model.graph, options.most, &mut |graph| {
        runs += 1;
        test(&options.test, graph, &path).unwrap_or_else(|failure| {
            broken.get_or_insert(failure);
            None
        }) == Some(1)
    });
    if let Some(failure) = broken {
        return Err(failure);
    }
    let (before, after) = (model.graph.len(), small.len());
    write(options, small, model)?;
    console.print(&match common.format {
        Format::Text => format!("{before} layers before, {after} after {runs} runs of the command\n"),
        Format::Json => as_json(before, after, runs),
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

/// Writes the result; as text form with the command in a comment.
fn write(options: &Options, small: Graph, mut model: Model) -> Result<(), Failure> {
    model.graph = small;
    model.save_with(&options.output, options.target.save())?;
    if options.output.extension().is_some_and(|extension| extension == "snick") {
        let text = std::fs::read_to_string(&options.output).map_err(Failure::usage)?;
        let command = options.test.replace("{}", "-").replace('\n', " ");
        snick::write_file(&options.output, |file| {
            file.write_all(format!("// RUN: {command}\n{text}").as_bytes())
        })?;
    }
    Ok(())
}

/// How the command ends on a graph.
fn test(command: &str, graph: &Graph, path: &Path) -> Result<Option<i32>, Failure> {
    let weights = packed_weights(graph);
    let text = print(graph, PrintOptions { weights: Weights::Packed, ..PrintOptions::default() });
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

/// A folder of one's own, which goes when it is no longer needed.
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
        // What cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
