//! Shared code of verbs that print a full answer for a single model, or one line per model and a total for
//! several models.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use serde::Serialize;
use snick::Model;
use snick::text::Escaped;

use super::console::{Console, Failure, Outcome};
use super::help::INPUTS;
use super::options::{Common, ModelOptions, OutputFormat};
use super::progress::ProgressBar;
use super::{json, models};

/// The models and their input shapes.
#[derive(Args)]
pub struct ManyOptions {
    /// Models, or folders to search for models; - reads text form from standard input
    #[arg(value_name = "MODEL", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    shared: SharedOptions,
    /// Number of models to process at a time [default: number of processors]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Options that apply to all models.
#[derive(Args, Clone)]
pub struct SharedOptions {
    /// Weights file, instead of the .bin next to the model
    #[arg(long, value_name = "FILE", help_heading = INPUTS)]
    pub weights: Option<PathBuf>,
    /// TOML file with shape rules for custom operations
    #[arg(long, value_name = "OPS.toml", help_heading = INPUTS)]
    pub ops: Option<PathBuf>,
    /// Input shapes: "x[1,3,H=32..512,?],mask[1,2*H]", or "[1,3]" for a single input
    #[arg(long = "shape", value_name = "SPEC", help_heading = INPUTS)]
    pub shapes: Vec<String>,
}

impl SharedOptions {
    fn of(&self, model: PathBuf) -> ModelOptions {
        let Self { weights, ops, shapes } = self.clone();
        ModelOptions { model, weights, ops, shapes }
    }
}

/// The answer of a verb for a model.
pub struct Answer {
    /// The full answer, as text or as one JSON object.
    pub whole: String,
    /// The summary line, for commands on several models.
    pub line: String,
    pub outcome: Outcome,
    pub model: Model,
}

/// The models of a command.
pub enum Asked {
    /// One model, with a full answer.
    One(ModelOptions),
    /// Several models, or the models in folders.
    Many(Vec<ModelOptions>),
}

impl Asked {
    /// All models.
    pub fn into_models(self) -> Vec<ModelOptions> {
        match self {
            Self::One(model) => vec![model],
            Self::Many(models) => models,
        }
    }
}

impl ManyOptions {
    /// The models to process. A folder that contains a model with a standard file name, such as `model.xml`,
    /// counts as that model.
    pub fn asked(&self) -> Result<Asked, Failure> {
        if let [path] = self.paths.as_slice()
            && (!path.is_dir() || models::is_home(path))
        {
            return Ok(Asked::One(self.shared.of(path.clone())));
        }
        let found = models::find(&self.paths)?;
        Ok(Asked::Many(found.into_iter().map(|path| self.shared.of(path)).collect()))
    }

    /// Prints the result of `answer` for each model.
    pub fn answer(
        &self,
        common: &Common,
        console: &Console,
        answer: impl Fn(&ModelOptions, &Console) -> Result<Answer, Failure> + Sync,
    ) -> Result<Outcome, Failure> {
        let models = match self.asked()? {
            Asked::One(model) => {
                let answer = answer(&model, console)?;
                console.print(&answer.whole)?;
                // The process ends soon, so freeing a large model would only take time.
                std::mem::forget(answer.model);
                return Ok(answer.outcome);
            }
            Asked::Many(models) => models,
        };
        let quiet = console.quietly();
        let answers = on_each(models.len(), self.jobs, console, |at| {
            // Drops the model here, so that the models are not all in memory at the same time.
            Ok::<_, Failure>(
                answer(&models[at], &quiet).map(|answer| (answer.whole, answer.line, answer.outcome)),
            )
        })?;
        let mut total = Total::default();
        for (model, answer) in models.iter().zip(answers) {
            console.print(&total.add(&model.model.display().to_string(), answer, common.format)?)?;
        }
        if common.format == OutputFormat::Text {
            console.print(&total.line())?;
        }
        total.outcome()
    }
}

/// A count and a noun: `1 layer`, `2 layers`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Counts the models of a command by outcome.
#[derive(Default)]
struct Total {
    fine: usize,
    findings: usize,
    unreadable: usize,
    limits: usize,
}

impl Total {
    /// Counts a model, and returns its summary line.
    fn add(
        &mut self,
        path: &str,
        answer: Result<(String, String, Outcome), Failure>,
        format: OutputFormat,
    ) -> Result<String, Failure> {
        let (whole, line) = match answer {
            Ok((whole, line, outcome)) => {
                *match outcome {
                    Outcome::Fine => &mut self.fine,
                    Outcome::Finding => &mut self.findings,
                    Outcome::Limit => &mut self.limits,
                } += 1;
                (Some(whole), line)
            }
            Err(Failure::Closed) => return Err(Failure::Closed),
            Err(failure) => {
                *match failure {
                    _ if failure.is_limit() => &mut self.limits,
                    Failure::Layers(_) => &mut self.findings,
                    _ => &mut self.unreadable,
                } += 1;
                let message = failure.to_string();
                // The line already starts with the path.
                let message = message.strip_prefix(&format!("{path}: ")).unwrap_or(&message);
                (None, message.to_string())
            }
        };
        Ok(match format {
            OutputFormat::Text => {
                let severity = if whole.is_none() { "error: " } else { "" };
                format!("{}: {severity}{}\n", Escaped(path), Escaped(line.trim_end()))
            }
            OutputFormat::Json => of_model(path, whole.as_deref(), &line),
        })
    }

    fn line(&self) -> String {
        let Self { fine, findings, unreadable, limits } = self;
        let all = fine + findings + unreadable + limits;
        let parts = [
            (fine, "fine"),
            (findings, "with errors"),
            (unreadable, "unreadable"),
            (limits, "stopped by a limit"),
        ];
        let parts =
            parts.into_iter().filter(|(count, _)| **count > 0).map(|(count, what)| format!("{count} {what}"));
        format!("{}: {}\n", counted(all, "model"), parts.collect::<Vec<_>>().join(", "))
    }

    /// The worst outcome.
    fn outcome(&self) -> Result<Outcome, Failure> {
        match self {
            Self { limits: 1.., .. } => Ok(Outcome::Limit),
            Self { unreadable: 1.., .. } => Err(Failure::usage(format!("{} unreadable", self.unreadable))),
            Self { findings, .. } => Ok(Outcome::finding(*findings > 0)),
        }
    }
}

/// A JSON line for one model: its answer, or the reason why there is no answer.
fn of_model(model: &str, whole: Option<&str>, failure: &str) -> String {
    #[derive(Serialize)]
    struct Head<'m> {
        /// The path of the model.
        model: &'m str,
        /// Why there is no answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'m str>,
    }
    let head = json::line(&Head { model, error: whole.is_none().then_some(failure) });
    let Some(whole) = whole else { return head };
    // A line break in JSON can only occur between tokens; in strings it is escaped.
    let rest: String = whole.lines().map(str::trim_start).collect();
    format!("{},{}\n", head.trim_end().trim_end_matches('}'), rest.trim_start_matches('{'))
}

/// Calls `work` with each number below `count`, on up to `jobs` threads (default: one per processor). Returns
/// the results in order. After an error, no further calls start.
pub fn on_each<T: Send, E: Send>(
    count: usize,
    jobs: Option<usize>,
    console: &Console,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let bar = Mutex::new((0, ProgressBar::new(console)));
    let results = Mutex::new(Vec::with_capacity(count));
    let steps = || {
        while !is_over.load(Ordering::Relaxed)
            && let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < count)
        {
            let result = work(at);
            is_over.fetch_or(result.is_err(), Ordering::Relaxed);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
            let (done, bar) = &mut *bar.lock().unwrap_or_else(PoisonError::into_inner);
            *done += 1;
            bar.advance_to(*done, count, "models");
        }
    };
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = jobs.unwrap_or_else(processors).clamp(1, count.clamp(1, MAX_JOBS));
    std::thread::scope(|scope| {
        (1..jobs).for_each(|_| drop(scope.spawn(steps)));
        steps();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Maximum number of threads, even if `--jobs` is larger.
const MAX_JOBS: usize = 256;
