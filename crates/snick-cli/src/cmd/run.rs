//! `snick run`: executes a model, writes its outputs and compares them with recorded ones.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use snick::{DimPolicy, Model, named_outputs, output_names};
use snick_ir::Located;
use snick_run::{Session, Variables};
use snick_tensor::Tensor;

use crate::cli::compare::{Comparison, Tolerance, compare};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::inner_values::{InnerValues, dump, first_difference};
use crate::cli::inputs::InputOptions;
use crate::cli::json::Json;
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::progress::ProgressBar;
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
    #[command(flatten)]
    tolerance: Tolerance,
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
    /// By output name, with the prefix of the step from the second step on.
    outputs: Vec<(String, Tensor)>,
    errors: Vec<Located>,
    compared: Vec<(String, Comparison)>,
    /// The first layer, in the order of execution, that differs.
    first_difference: Option<String>,
}

/// Runs, writes, compares, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    let mut report = RunReport { errors: model.infer().into_located(), ..RunReport::default() };
    if report.errors.is_empty() || options.keep_going {
        let before = (options.canon && options.compare.is_some()).then(|| model.graph().clone());
        if options.canon {
            report.errors.extend(model.canonicalise().errors);
        }
        execute(&model, options, console, &mut report)?;
        if let Some(before) = before.filter(|_| report.differs() && report.first_difference.is_none()) {
            let steps = options.inputs.steps(&before, DimPolicy::Smallest, 0, console)?;
            let inputs = steps.first().map(Vec::as_slice).unwrap_or_default();
            let found = first_difference(&before, model.graph(), inputs, options.tolerance);
            report.first_difference = found.map_err(Failure::layer)?;
        }
    }
    report.errors.iter().for_each(|error| console.located(error));
    let failed = !report.errors.is_empty();
    if let Some(path) = options.output.as_ref().filter(|_| !failed || options.keep_going) {
        npz::write(path, report.outputs.iter().map(|(key, tensor)| (key.as_str(), tensor)))?;
    }
    console.print(&match common.format {
        OutputFormat::Text => report.as_text(),
        OutputFormat::Json => report.as_json(),
    })?;
    Ok(Outcome::finding(failed || report.differs()))
}

fn execute(
    model: &Model,
    options: &Options,
    console: &Console,
    report: &mut RunReport,
) -> Result<(), Failure> {
    let graph = model.graph();
    let recorded = options.compare.as_deref().map(npz::read).transpose()?.unwrap_or_default();
    let mut inner = InnerValues::default();
    for name in &options.dump {
        if !inner.request(graph, name) {
            return Err(Failure::usage(format!("--dump {name}: no such layer")));
        }
    }
    let outputs: HashSet<&str> = graph.results().flat_map(|id| output_names(graph, id)).collect();
    for (key, _) in recorded.iter().filter(|(key, _)| !outputs.contains(&**key)) {
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
            return Ok(());
        }
    };
    let how = snick_run::Options {
        keep_going: options.keep_going,
        check_facts: options.check_facts,
        ..snick_run::Options::default()
    };
    let mut variables = Variables::default();
    for (k, inputs) in options.inputs.steps(graph, DimPolicy::Smallest, 0, console)?.into_iter().enumerate() {
        let mut bar = ProgressBar::new(console);
        let outputs = session.watch(&inputs, how, &mut variables, |progress| {
            bar.advance(&progress);
            if k == 0 {
                inner.take(graph, &progress);
            }
            ControlFlow::Continue(())
        });
        drop(bar);
        report.steps += 1;
        report.errors.extend(outputs.errors);
        for (name, value) in named_outputs(graph, &outputs.values) {
            let key = if k == 0 { name.to_string() } else { format!("s{k}_{name}") };
            report.outputs.extend(value.as_ref().map(|value| (key, value.clone())));
        }
        if !report.errors.is_empty() && !options.keep_going {
            break;
        }
    }
    for (name, tensor) in inner.taken.iter().filter(|(name, _)| options.dump.contains(name)) {
        dump(name, tensor)?;
    }
    if let Some(path) = &options.compare {
        against_recorded(&recorded, &inner, options.tolerance, report);
        for (key, _) in
            recorded.iter().filter(|(key, _)| !report.compared.iter().any(|(name, _)| name == key))
        {
            console.note(&format!("{}: the model has no output `{key}`", path.display()));
        }
        if report.compared.is_empty() && report.errors.is_empty() {
            return Err(Failure::usage(format!("{}: contains no output of the model", path.display())));
        }
    }
    Ok(())
}

/// Compares every recorded array with the inner value or output of that name: inner values in the order of the run,
/// then the outputs.
fn against_recorded(
    recorded: &[(String, Tensor)],
    inner: &InnerValues,
    tolerance: Tolerance,
    report: &mut RunReport,
) {
    for (key, got) in &inner.taken {
        let Some((_, want)) = recorded.iter().find(|(name, _)| name == key) else { continue };
        let comparison = compare(got, want, tolerance);
        if !comparison.is_within() && report.first_difference.is_none() {
            report.first_difference = Some(key.clone());
        }
        report.compared.push((key.clone(), comparison));
    }
    for (key, want) in recorded {
        if let Some((_, got)) = report.outputs.iter().find(|(name, _)| name == key) {
            report.compared.push((key.clone(), compare(got, want, tolerance)));
        }
    }
}

impl RunReport {
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
            let _ = writeln!(text, "first layer that differs: {layer}");
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
                        if let Some(why) = &comparison.incomparable {
                            json.key("message").string(why);
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
