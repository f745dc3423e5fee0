//! `snick check`: findings about models and folders of models.

mod baseline;
mod github;
mod json;
mod junit;
mod project;
mod sarif;
mod text;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::Serialize;
use snick::{CheckOptions, CheckStatus, Finding, InferOptions, LoadOptions, Release, Severity};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::many::{SharedOptions, on_each};
use crate::cli::model::in_time;
use crate::cli::models;
use crate::cli::options::{Common, ReportFormat};

use baseline::Baseline;
use project::ProjectOptions;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick check models/", "Check every model in a folder"),
        ("snick check model.xml --target-openvino 2024.6 --fail-on warning", "Also check that this release reads it; fail on warnings"),
    ],
    "a finding has the severity of --fail-on or a higher one"
))]
pub struct Options {
    /// Models, or folders to search for models
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Check only these codes, such as S020, or all codes with a prefix, such as S03 or S; names also work
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    select: Vec<String>,
    /// Skip these codes
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Ignore the findings that this file lists
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write all findings to the --baseline file, to ignore them from now on
    #[arg(long, requires = "baseline")]
    write_baseline: bool,
    /// Exit with 1 for findings of this severity or above [default: error]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// OpenVINO release that must be able to read the models, such as 2024.6
    #[arg(long, value_name = "RELEASE")]
    target_openvino: Option<Release>,
    #[command(flatten)]
    shared: SharedOptions,
    /// Number of models to check at a time [default: number of processors]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// The lowest severity of a finding that makes the command fail.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug, Default)]
enum FailOn {
    #[default]
    Error,
    Warning,
    Never,
}

impl FailOn {
    fn includes(self, severity: Severity) -> bool {
        match self {
            Self::Error => severity == Severity::Error,
            Self::Warning => severity >= Severity::Warning,
            Self::Never => false,
        }
    }
}

/// A model that was checked.
#[derive(Serialize)]
struct CheckedModel {
    path: String,
    status: CheckStatus,
    #[serde(rename = "seconds", serialize_with = "json::seconds")]
    time: Duration,
    #[serde(skip)]
    findings: Vec<Finding>,
}

impl CheckedModel {
    /// Updates the status after findings were removed. The status of a stopped check only changes if no error
    /// is left.
    fn update_status(&mut self) {
        let worst = self.findings.iter().map(|finding| finding.severity).max();
        self.status = match (self.status, worst) {
            (status @ (CheckStatus::Unreadable | CheckStatus::Limit), Some(Severity::Error)) => status,
            (_, Some(Severity::Error)) => CheckStatus::Error,
            (_, Some(Severity::Warning)) => CheckStatus::Warning,
            _ => CheckStatus::Ok,
        };
    }
}

/// All models that were checked, and settings for the report.
struct Report {
    models: Vec<CheckedModel>,
    fail_on: FailOn,
    /// Whether the text shows the release that each model needs.
    shows_release: bool,
}

impl Report {
    /// All findings, with their models.
    fn findings(&self) -> impl Iterator<Item = (&CheckedModel, &Finding)> {
        self.models.iter().flat_map(|model| model.findings.iter().map(move |finding| (model, finding)))
    }

    /// The number of findings with a severity.
    fn count(&self, severity: Severity) -> usize {
        self.findings().filter(|(_, finding)| finding.severity == severity).count()
    }

    /// The report in one of the formats.
    fn render(&self, format: ReportFormat, console: &Console) -> String {
        match format {
            ReportFormat::Text => text::render(self, console),
            ReportFormat::Json => json::render(self),
            ReportFormat::Sarif => sarif::render(self),
            ReportFormat::Github => github::render(self),
            ReportFormat::Junit => junit::render(self),
        }
    }

    fn outcome(&self) -> Outcome {
        if self.fail_on == FailOn::Never {
            return Outcome::Fine;
        }
        match self.models.iter().any(|model| model.status == CheckStatus::Limit) {
            true => Outcome::Limit,
            false => {
                Outcome::finding(self.findings().any(|(_, finding)| self.fail_on.includes(finding.severity)))
            }
        }
    }
}

/// Finds and checks the models, and prints the findings.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let settings = ProjectOptions::find(options)?;
    let paths = models::find(&options.paths)?;
    let mut models = check_all(&paths, options, &settings, console)?;
    if options.write_baseline
        && let Some(file) = &settings.baseline
    {
        console.wrote(&[Baseline::of(&models, file).write(file)?]);
        return Ok(Outcome::Fine);
    }
    if let Some(file) = &settings.baseline {
        Baseline::read(file)?.remove_from(&mut models, file);
    }
    let report = Report { models, fail_on: settings.fail_on, shows_release: settings.shows_release };
    console.print(&report.render(common.report, console))?;
    Ok(report.outcome())
}

/// Checks the models on several threads; the results are in the order of the paths.
fn check_all(
    paths: &[PathBuf],
    options: &Options,
    settings: &ProjectOptions,
    console: &Console,
) -> Result<Vec<CheckedModel>, Failure> {
    let ops = options.shared.ops.as_ref().map(snick::load_ops).transpose()?;
    let deadline = console.deadline();
    let on_progress = || {
        let deadline = deadline.clone();
        move |progress: &snick::Progress| deadline.advance(progress.layer)
    };
    let mut load = LoadOptions::new().limits(console.limits());
    let mut infer = InferOptions::new().limits(console.limits());
    if let Some(ops) = &ops {
        load = load.ops(ops);
    }
    if let Some(weights) = &options.shared.weights {
        load = load.weights(weights);
    }
    if deadline.is_set() {
        (load, infer) = (load.progress(on_progress()), infer.progress(on_progress()));
    }
    let shaped = settings.check.clone().shapes(options.shared.shapes.join(","));
    let check = |at: usize| check_one(&paths[at], &load, &infer, &shaped);
    in_time(on_each(paths.len(), options.jobs, console, check), console)
}

fn check_one(
    path: &std::path::Path,
    load: &LoadOptions,
    infer: &InferOptions,
    options: &CheckOptions,
) -> Result<CheckedModel, snick::Error> {
    let started = Instant::now();
    let (status, findings) = snick::check_file(path, load, infer, options)?;
    Ok(CheckedModel { path: path.display().to_string(), status, time: started.elapsed(), findings })
}

/// The line and column of a finding, if it has a location.
fn place(finding: &Finding) -> Option<(u32, u32)> {
    (finding.loc.line > 0).then_some((finding.loc.line, finding.loc.column.max(1)))
}
