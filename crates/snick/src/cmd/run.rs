//! `snick run`: executes a model, writes what comes out, compares it with what was recorded.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use snick::{Dims, Model, named_outputs, npz};
use snick_ir::Located;
use snick_run::{Session, Variables};
use snick_tensor::Tensor;

use crate::cli::compare::{Comparison, Tolerance, compare};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::feed::FeedOptions;
use crate::cli::json::Json;
use crate::cli::model;
use crate::cli::options::{Common, Format, ModelOptions};

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    feed: FeedOptions,
    /// Write the outputs to an .npz file
    #[arg(short, long, value_name = "OUT.npz")]
    output: Option<PathBuf>,
    /// Compare the outputs with those of an .npz file
    #[arg(long, value_name = "F.npz")]
    compare: Option<PathBuf>,
    #[command(flatten)]
    tolerance: Tolerance,
    /// Run the canonical form
    #[arg(long)]
    canon: bool,
    /// A layer that fails loses only what depends on it
    #[arg(long)]
    keep_going: bool,
    /// Hold everything computed against what inference said of it
    #[arg(long)]
    check_facts: bool,
}

/// What running gave.
#[derive(Default)]
struct Ran {
    steps: usize,
    /// By key: the names of the outputs, of later steps with their prefix.
    outputs: Vec<(String, Tensor)>,
    errors: Vec<Located>,
    compared: Vec<(String, Comparison)>,
}

/// Runs, writes, compares, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    let mut ran = Ran { errors: model.infer(), ..Ran::default() };
    if ran.errors.is_empty() || options.keep_going {
        if options.canon {
            ran.errors.extend(model.canonicalise().errors);
        }
        execute(&model, options, console, &mut ran)?;
    }
    ran.errors.iter().for_each(|error| console.located(error));
    let failed = !ran.errors.is_empty();
    if let Some(path) = options.output.as_ref().filter(|_| !failed || options.keep_going) {
        npz::write(path, ran.outputs.iter().map(|(key, tensor)| (key.as_str(), tensor)))?;
    }
    if options.compare.is_some() {
        against_recorded(options, console, &mut ran)?;
    }
    console.print(&match common.format {
        Format::Text => ran.as_text(),
        Format::Json => ran.as_json(),
    })?;
    let differs = ran.compared.iter().any(|(_, comparison)| !comparison.is_within());
    Ok(Outcome::finding(failed || differs))
}

fn execute(model: &Model, options: &Options, console: &Console, ran: &mut Ran) -> Result<(), Failure> {
    let graph = &model.graph;
    let session = match Session::new(graph) {
        Ok(session) => session,
        Err(error) => {
            ran.errors.push(error);
            return Ok(());
        }
    };
    let how = snick_run::Options { keep_going: options.keep_going, check_facts: options.check_facts };
    let mut variables = Variables::default();
    for (k, inputs) in options.feed.steps(graph, Dims::Smallest, 0, console)?.into_iter().enumerate() {
        let outputs = session.run_with(&inputs, how, &mut variables);
        ran.steps += 1;
        ran.errors.extend(outputs.errors);
        for (name, value) in named_outputs(graph, &outputs.values) {
            let key = if k == 0 { name.to_string() } else { format!("s{k}_{name}") };
            ran.outputs.extend(value.as_ref().map(|value| (key, value.clone())));
        }
        if !ran.errors.is_empty() && !options.keep_going {
            break;
        }
    }
    Ok(())
}

/// Compares every recorded array that is an output.
fn against_recorded(options: &Options, console: &Console, ran: &mut Ran) -> Result<(), Failure> {
    let Some(path) = &options.compare else { return Ok(()) };
    for (key, want) in npz::read(path)? {
        match ran.outputs.iter().find(|(name, _)| *name == key) {
            Some((_, got)) => ran.compared.push((key, compare(got, &want, options.tolerance))),
            None => console.note(&format!("{}: there is no output `{key}`", path.display())),
        }
    }
    if ran.compared.is_empty() && ran.errors.is_empty() {
        return Err(Failure::usage(format!("{}: none of the outputs is in it", path.display())));
    }
    Ok(())
}

impl Ran {
    fn as_text(&self) -> String {
        let mut text = String::new();
        if self.compared.is_empty() {
            for (key, tensor) in &self.outputs {
                let _ = writeln!(text, "{key}: {tensor:?}");
            }
        }
        for (key, comparison) in &self.compared {
            let verdict = if comparison.is_within() { "ok" } else { "differs" };
            let _ = match &comparison.clash {
                Some(clash) => writeln!(text, "{key}: {verdict}: {clash}"),
                None => writeln!(
                    text,
                    "{key}: {verdict}: max abs {:.3e}, max rel {:.3e}, {} outside",
                    comparison.max_abs, comparison.max_rel, comparison.outside
                ),
            };
        }
        text
    }

    fn as_json(&self) -> String {
        let mut json = Json::default();
        json.object(|json| {
            json.key("schema").string("snick.run/1");
            json.key("steps").plain(self.steps);
            json.line().key("outputs").array(|json| {
                for (key, tensor) in &self.outputs {
                    json.line().object(|json| {
                        json.key("name").string(key);
                        json.key("element_type").string(tensor.element_type().name());
                        json.key("shape").array(|json| tensor.dims().iter().for_each(|dim| json.plain(dim)));
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
                        if let Some(clash) = &comparison.clash {
                            json.key("message").string(clash);
                        }
                    });
                }
            });
            json.line().key("errors").array(|json| self.errors.iter().for_each(|error| json.located(error)));
        });
        json.finish()
    }
}
