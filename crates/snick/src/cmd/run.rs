//! `snick run`: executes a model, writes what comes out, compares it with what was recorded.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use snick::{DimPolicy, Model, named_outputs, npz, output_names};
use snick_ir::Located;
use snick_run::{Session, Variables};
use snick_tensor::Tensor;

use crate::cli::compare::{Comparison, Tolerance, compare};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::feed::FeedOptions;
use crate::cli::json::Json;
use crate::cli::model;
use crate::cli::options::{Common, Format, ModelOptions};
use crate::cli::watch::{Inner, ProgressBar, dump, first_difference};

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
    /// Write an inner value to LAYER.npy
    #[arg(long, value_name = "LAYER[:PORT]")]
    dump: Vec<String>,
    /// Threads to run on; the outputs do not depend on it
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
}

/// What running gave.
#[derive(Default)]
struct Ran {
    steps: usize,
    /// By key: the names of the outputs, of later steps with their prefix.
    outputs: Vec<(String, Tensor)>,
    errors: Vec<Located>,
    compared: Vec<(String, Comparison)>,
    /// The first layer, in the order of execution, that is not as it should be.
    first_difference: Option<String>,
}

/// Runs, writes, compares, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    let mut ran = Ran { errors: model.infer(), ..Ran::default() };
    if ran.errors.is_empty() || options.keep_going {
        let before = (options.canon && options.compare.is_some()).then(|| model.graph.clone());
        if options.canon {
            ran.errors.extend(model.canonicalise().errors);
        }
        execute(&model, options, console, &mut ran)?;
        if let Some(before) = before.filter(|_| ran.differs() && ran.first_difference.is_none()) {
            let steps = options.feed.steps(&before, DimPolicy::Smallest, 0, console)?;
            let inputs = steps.first().map(Vec::as_slice).unwrap_or_default();
            let found = first_difference(&before, &model.graph, inputs, options.tolerance);
            ran.first_difference = found.map_err(Failure::Layer)?;
        }
    }
    ran.errors.iter().for_each(|error| console.located(error));
    let failed = !ran.errors.is_empty();
    if let Some(path) = options.output.as_ref().filter(|_| !failed || options.keep_going) {
        npz::write(path, ran.outputs.iter().map(|(key, tensor)| (key.as_str(), tensor)))?;
    }
    console.print(&match common.format {
        Format::Text => ran.as_text(),
        Format::Json => ran.as_json(),
    })?;
    Ok(Outcome::finding(failed || ran.differs()))
}

fn execute(model: &Model, options: &Options, console: &Console, ran: &mut Ran) -> Result<(), Failure> {
    let graph = &model.graph;
    let recorded = options.compare.as_deref().map(npz::read).transpose()?.unwrap_or_default();
    let mut inner = Inner::default();
    for name in &options.dump {
        if !inner.want(graph, name) {
            return Err(Failure::usage(format!("--dump {name}: there is no such layer")));
        }
    }
    let outputs: HashSet<&str> = graph.results().flat_map(|id| output_names(graph, id)).collect();
    for (key, _) in recorded.iter().filter(|(key, _)| !outputs.contains(&**key)) {
        inner.want(graph, key);
    }
    let session = match inner.is_empty() && !options.check_facts {
        true => Session::new(graph),
        false => Session::without_folding(graph),
    };
    let session = match session {
        Ok(session) => session.with_threads(options.threads as usize).map_err(Failure::usage)?,
        Err(error) => {
            ran.errors.push(error);
            return Ok(());
        }
    };
    let how = snick_run::Options {
        keep_going: options.keep_going,
        check_facts: options.check_facts,
        pack_outputs: false,
    };
    let mut variables = Variables::default();
    for (k, inputs) in options.feed.steps(graph, DimPolicy::Smallest, 0, console)?.into_iter().enumerate() {
        let mut bar = ProgressBar::new(console);
        let outputs = session.watch(&inputs, how, &mut variables, |progress| {
            bar.advance(&progress);
            if k == 0 {
                inner.take(graph, &progress);
            }
            ControlFlow::Continue(())
        });
        drop(bar);
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
    for (name, tensor) in inner.found.iter().filter(|(name, _)| options.dump.contains(name)) {
        dump(name, tensor)?;
    }
    if let Some(path) = &options.compare {
        against_recorded(&recorded, &inner, options.tolerance, ran);
        for (key, _) in recorded.iter().filter(|(key, _)| !ran.compared.iter().any(|(name, _)| name == key)) {
            console.note(&format!("{}: there is no output `{key}`", path.display()));
        }
        if ran.compared.is_empty() && ran.errors.is_empty() {
            return Err(Failure::usage(format!("{}: none of the outputs is in it", path.display())));
        }
    }
    Ok(())
}

/// Compares every recorded array that is an output or an inner value: inner values in the order of the run, then the
/// outputs.
fn against_recorded(recorded: &[(String, Tensor)], inner: &Inner, tolerance: Tolerance, ran: &mut Ran) {
    for (key, got) in &inner.found {
        let Some((_, want)) = recorded.iter().find(|(name, _)| name == key) else { continue };
        let comparison = compare(got, want, tolerance);
        if !comparison.is_within() && ran.first_difference.is_none() {
            ran.first_difference = Some(key.clone());
        }
        ran.compared.push((key.clone(), comparison));
    }
    for (key, want) in recorded {
        if let Some((_, got)) = ran.outputs.iter().find(|(name, _)| name == key) {
            ran.compared.push((key.clone(), compare(got, want, tolerance)));
        }
    }
}

impl Ran {
    fn differs(&self) -> bool {
        self.compared.iter().any(|(_, comparison)| !comparison.is_within())
    }

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
        if let Some(layer) = &self.first_difference {
            let _ = writeln!(text, "the first layer that differs: {layer}");
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
            if let Some(layer) = &self.first_difference {
                json.line().key("first_difference").string(layer);
            }
            json.line().key("errors").array(|json| self.errors.iter().for_each(|error| json.located(error)));
        });
        json.finish()
    }
}
