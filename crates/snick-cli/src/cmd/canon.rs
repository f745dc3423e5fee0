//! `snick canon`: the canonical form, in which `slice` is the only slice operation.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use snick::{Limits, Model, Progress, SessionCheck, check_session};
use snick_ir::text::Escaped;
use snick_ir::{Graph, Located};
use snick_pass::{Cost, Pass, Report};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::inputs::InputOptions;
use crate::cli::json::{self, LayerError};
use crate::cli::many::{Answer, Asked, ManyOptions, counted};
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::target::{TargetOptions, is_stdout};
use crate::cli::verify::{Verdict, verify};

/// The pass whose skipped layers are listed in the summary.
const LOWER_SLICES: &str = "lower-slices";

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick canon model.xml --verify", "Rewrite, check every rewrite by running it, and print the result"),
        ("snick canon model.xml -o canonical.onnx", "Write the canonical form as ONNX"),
    ],
    "inference finds an error, or --verify finds a difference or cannot verify the model"
))]
pub struct Options {
    #[command(flatten)]
    models: ManyOptions,
    #[command(flatten)]
    inputs: InputOptions,
    /// Write the canonical form to a file; the extension selects the format, as in `convert`. - writes text
    /// form to standard output
    #[arg(short, long, value_name = "OUT", help_heading = help::OUTPUTS)]
    output: Option<PathBuf>,
    #[command(flatten)]
    target: TargetOptions,
    /// Check every rewrite, then run the model before and after and compare all outputs
    #[arg(long)]
    verify: bool,
    /// Stop after N rewrites
    #[arg(long, value_name = "N")]
    stop_after: Option<usize>,
    /// Run only these passes, in this order
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    passes: Vec<String>,
}

/// Canonicalises, verifies, writes or prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let passes: Result<Vec<Pass>, _> = options.passes.iter().map(|name| Pass::by_name(name)).collect();
    let passes = passes.map_err(Failure::usage)?;
    if matches!(options.models.asked()?, Asked::Many(_)) && (!options.verify || options.output.is_some()) {
        return Err(Failure::usage("several models require --verify and do not allow -o"));
    }
    options.models.answer(common, console, |model, console| answer(model, options, &passes, common, console))
}

fn answer(
    model: &ModelOptions,
    options: &Options,
    passes: &[Pass],
    common: &Common,
    console: &Console,
) -> Result<Answer, Failure> {
    let mut model = model::load(model, console)?;
    if let Some(output) = &options.output {
        let inputs = model.files().iter().map(PathBuf::as_path).chain(options.inputs.files());
        options.target.check(inputs, output)?;
    }
    let errors = model::infer(&mut model, console)?;
    let inputs = options.verify.then_some(&options.inputs);
    let rewrite = |graph: &mut Graph| rewrite(graph, options, passes, console);
    let canonical = canonicalise(&mut model, errors, rewrite, inputs, console)?;
    let outcome = canonical.outcome();
    let line = line(&canonical.report, canonical.verdict);
    match &options.output {
        Some(output) if is_stdout(output) => {
            return Ok(Answer { whole: model.to_text(), line, outcome, model });
        }
        Some(output) => console.wrote(&model.write(output, options.target.save())?),
        None => {}
    }
    let whole = match common.format {
        OutputFormat::Text => canonical.as_text(&model, options.output.is_none()),
        OutputFormat::Json => canonical.as_json(&model),
    };
    Ok(Answer { whole, line, outcome, model })
}

/// The result of canonicalising a model.
pub struct Canonical {
    report: Report,
    /// The cost of the model after lowering its slice-like layers, without other rewrites.
    lowered: Cost,
    verdict: Option<Verdict>,
    /// The result of comparing the steps of a session of the canonical model with the layers that they
    /// replace.
    session: Option<SessionCheck>,
    errors: Vec<Located>,
}

/// Rewrites an inferred model; `errors` are its inference errors. If `inputs` are given, verifies the result
/// on them.
fn canonicalise(
    model: &mut Model,
    mut errors: Vec<Located>,
    rewrite: impl FnOnce(&mut Graph) -> Report,
    inputs: Option<&InputOptions>,
    console: &Console,
) -> Result<Canonical, Failure> {
    let before = inputs.map(|inputs| (model.graph().clone(), inputs));
    let lowered = Cost::of(&lowered(model.graph()));
    let report = model::complete(rewrite(model.graph_mut()), console)?;
    errors.extend(report.errors.iter().cloned());
    errors.iter().for_each(|error| console.located(error));
    let session = before.is_some().then(|| check_session(model.graph(), 0)).transpose()?;
    let of_session = session.iter().flat_map(|session| &session.failures);
    let reports = report.check_failures.iter().map(|failure| &failure.report).chain(of_session);
    reports.flat_map(|report| report.lines()).for_each(|line| console.error(line));
    let verdict = match &before {
        Some(_) if !report.check_failures.is_empty() => Some(Verdict::Different),
        Some((before, inputs)) => Some(verify(before, model.graph(), inputs, console)?),
        None => None,
    };
    Ok(Canonical { report, lowered, verdict, session, errors })
}

/// Brings an inferred model with `errors` into canonical form, like the command line. If `progress` returns `Break`,
/// the work stops.
pub fn of_model(
    model: &mut Model,
    errors: Vec<Located>,
    is_verified: bool,
    limits: Limits,
    progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
) -> Result<Canonical, Failure> {
    let (console, inputs) = (Console::silent(limits), InputOptions::default());
    let deadline = console.deadline().clone();
    let options = model::rewriting(&console).check(is_verified).progress(move |done| match progress(done) {
        ControlFlow::Continue(()) => deadline.advance(done.layer),
        ControlFlow::Break(()) => ControlFlow::Break(()),
    });
    let rewrite = |graph: &mut Graph| snick_pass::canonicalise(graph, &options);
    canonicalise(model, errors, rewrite, is_verified.then_some(&inputs), &console)
}

/// Runs the given passes, or if there are none, all passes until nothing changes.
fn rewrite(graph: &mut Graph, options: &Options, passes: &[Pass], console: &Console) -> Report {
    let rewrite = model::rewriting(console).check(options.verify);
    let rewrite = options.stop_after.iter().fold(rewrite, |rewrite, &most| rewrite.stop_after(most));
    if passes.is_empty() {
        return snick_pass::canonicalise(graph, &rewrite);
    }
    let mut report = snick_pass::apply(graph, passes, &rewrite);
    report.missed.retain(|missed| missed.rule == LOWER_SLICES);
    report
}

impl Canonical {
    fn outcome(&self) -> Outcome {
        if self.verdict == Some(Verdict::Limit) {
            return Outcome::Limit;
        }
        let is_refuted = self.verdict.is_some_and(|verdict| !verdict.is_verified())
            || self.session.as_ref().is_some_and(|session| !session.failures.is_empty());
        Outcome::finding(!self.errors.is_empty() || is_refuted)
    }

    /// A summary, after the graph if `with_graph`. In this case the lines of the summary are comments, so
    /// that the whole output is valid text form.
    pub fn as_text(&self, model: &Model, with_graph: bool) -> String {
        let Self { report, lowered, verdict, session, .. } = self;
        let (mut text, lead) = if with_graph { (model.to_text(), "// ") } else { (String::new(), "") };
        for applied in &report.applied {
            let line = format!("{:16} {:16} {}", applied.rule, applied.op, applied.layer);
            let _ = writeln!(text, "{lead}{}", Escaped(&line));
        }
        for missed in &report.missed {
            let line = format!("{:16} {:16} {}: {}", "not lowered", missed.op, missed.layer, missed.reason);
            let _ = writeln!(text, "{lead}{}", Escaped(&line));
        }
        let (before, after) = (report.slice_like_before, report.slice_after);
        let remaining = match report.missed.len() {
            0 => "none remain".to_string(),
            1 => "1 remains".to_string(),
            n => format!("{n} remain"),
        };
        let _ = writeln!(
            text,
            "{lead}{} lowered to {}; {remaining}",
            counted(before, "slice-like layer"),
            counted(after, "slice")
        );
        let cost = Cost::of(model.graph());
        let _ = writeln!(
            text,
            "{lead}{} layers, {} bytes sliced ({} layers, {} bytes before optimisation)",
            cost.layers, cost.bytes, lowered.layers, lowered.bytes
        );
        let mut write_checked = |what: &str, checked: usize, unchecked: usize, proved: &str| {
            let all = counted(checked + unchecked, what);
            let _ = match (checked, unchecked) {
                (0, 0) => Ok(()),
                (1, 0) => writeln!(text, "{lead}{all} checked individually{proved}"),
                (_, 0) => writeln!(text, "{lead}all {all} checked individually{proved}"),
                (checked, n) => {
                    writeln!(text, "{lead}{checked} of {all} checked individually{proved}; {n} could not run")
                }
            };
        };
        let proved = match report.proved {
            0 => String::new(),
            proved => format!(", {proved} proved for all sizes"),
        };
        write_checked("rewrite", report.checked, report.unchecked, &proved);
        if let Some(session) = session {
            write_checked("session step", session.checked, session.unchecked, "");
        }
        if let Some(verdict) = verdict {
            let _ = writeln!(text, "{lead}{verdict}");
        }
        text
    }

    /// The summary as JSON.
    pub fn as_json(&self, model: &Model) -> String {
        let Self { report, lowered, verdict, session, errors } = self;
        let cost = Cost::of(model.graph());
        let left = report.missed.iter().map(|missed| NotLowered {
            name: &missed.layer,
            op: &missed.op,
            reason: &missed.reason,
        });
        let summary = Summary {
            slice_like_before: report.slice_like_before,
            slice_after: report.slice_after,
            rewrites: report.applied.len(),
            layers_lowered: lowered.layers,
            layers_after: cost.layers,
            slices_lowered: lowered.slices,
            bytes_lowered: lowered.bytes,
            bytes_after: cost.bytes,
            checked: report.checked,
            proved: report.proved,
            unchecked: report.unchecked,
            refuted: report.check_failures.iter().map(|failure| failure.report.as_str()).collect(),
            left: left.collect(),
            session: session.as_ref().map(|session| SessionSummary {
                checked: session.checked,
                unchecked: session.unchecked,
                refuted: &session.failures,
            }),
            verified: verdict.and_then(|verdict| match verdict {
                Verdict::Equal | Verdict::Rounded => Some(true),
                Verdict::Different => Some(false),
                Verdict::Limit | Verdict::NotRun | Verdict::NoOutputs => None,
            }),
            errors: errors.iter().map(LayerError::of).collect(),
        };
        json::Answer::new("snick.canon/1", summary).text()
    }
}

/// The summary as JSON.
#[derive(Serialize)]
struct Summary<'s> {
    /// The number of slice-like layers in the original model.
    slice_like_before: usize,
    /// The number of `slice` primitives in the canonical form.
    slice_after: usize,
    /// The number of rewrites applied.
    rewrites: usize,
    /// The number of layers after lowering the slice-like layers, before optimisation.
    layers_lowered: usize,
    /// The number of layers of the canonical form.
    layers_after: usize,
    /// The number of slices after lowering.
    slices_lowered: usize,
    /// The bytes sliced after lowering.
    bytes_lowered: u64,
    /// The bytes sliced by the canonical form.
    bytes_after: u64,
    /// The number of rewrites that were proved, or checked by executing the old and the new layers.
    checked: usize,
    /// The number of rewrites that were proved for all sizes.
    proved: usize,
    /// The number of rewrites that could not be executed.
    unchecked: usize,
    /// Reports of rewrites that would change results. These rewrites are not applied.
    refuted: Vec<&'s str>,
    /// The slice-like layers that were not lowered.
    left: Vec<NotLowered<'s>>,
    /// `null` if `--verify` is not given.
    session: Option<SessionSummary<'s>>,
    /// `null` if the outputs were not compared.
    verified: Option<bool>,
    /// Errors of inference and rewriting.
    errors: Vec<LayerError>,
}

/// The result of comparing the steps of a session with the layers that they replace.
#[derive(Serialize)]
struct SessionSummary<'s> {
    /// The number of substitutes that were executed.
    checked: usize,
    /// The number of substitutes that could not be executed.
    unchecked: usize,
    /// Reports of substitutes whose results differ.
    refuted: &'s [String],
}

/// A slice-like layer that was not lowered.
#[derive(Serialize)]
struct NotLowered<'s> {
    /// Its name.
    name: &'s str,
    /// Its operation type.
    op: &'s str,
    /// Why it was not lowered.
    reason: &'s str,
}

/// The summary line, for commands on several models.
fn line(report: &Report, verdict: Option<Verdict>) -> String {
    let lowered = counted(report.slice_like_before, "slice-like layer");
    let verdict = verdict.map(|verdict| format!("; {verdict}")).unwrap_or_default();
    format!("{lowered} lowered to {}{verdict}", counted(report.slice_after, "slice"))
}

/// A copy of the graph in which only the slice-like layers are lowered.
fn lowered(graph: &Graph) -> Graph {
    let mut lowered = graph.clone();
    drop(snick_pass::lower_slices(&mut lowered));
    lowered
}
