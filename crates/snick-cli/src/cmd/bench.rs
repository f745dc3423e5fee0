//! `snick bench`: measures the time of each stage within one process.

mod cold;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::{Serialize, Serializer};
use snick::{DimPolicy, InputSpec, draw_inputs, input_candidates};
use snick_ir::Graph;
use snick_run::{Session, Variables};
use snick_tensor::Tensor;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::json::Answer;
use crate::cli::many::{Asked, ManyOptions};
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::outcome::diagnostic;
use crate::cli::search::Search;
use crate::cli::verify::watch;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick bench model.xml --stage run -n 20 --threads 2", "Time 20 runs on two threads"),
        ("snick bench --cold models/", "Time the start of a process that serves all models of a folder"),
    ],
    "a layer fails"
))]
pub struct Options {
    #[command(flatten)]
    models: ManyOptions,
    /// Read and run all models once, in one process that keeps them, and time the stages of each
    #[arg(long)]
    cold: bool,
    /// Stages to time
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "read,infer,canon,run",
        conflicts_with = "cold"
    )]
    stage: Vec<Stage>,
    /// Number of repetitions of each stage
    #[arg(
        short = 'n', value_name = "N", default_value_t = 5, conflicts_with = "cold",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    runs: u32,
    /// Run the canonical form in the run stage
    #[arg(long, conflicts_with = "cold")]
    canon: bool,
    /// Number of threads of the run stage; the other stages use one
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
}

/// The stages, in order of execution: open and read the files, infer shapes and types, canonicalise, and execute
/// on random inputs with contiguous outputs.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Read,
    Infer,
    Canon,
    Run,
}

/// Times each stage and prints a table.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let model = match options.models.asked()? {
        asked if options.cold => return cold::run(&asked.into_models(), options, common, console),
        Asked::One(model) => model,
        Asked::Many(_) => return Err(Failure::usage("several models need --cold".to_string())),
    };
    let mut times = Times::new(&options.stage);
    if !times.wants_only(Stage::Run) {
        for _ in 0..options.runs {
            read_to_canon(&model, &mut times, console)?;
            console.deadline().check()?;
        }
    }
    if times.wants(Stage::Run) {
        execute(&model, options, &mut times, console)?;
    }
    console.print(&match common.format {
        OutputFormat::Text => times.as_text(),
        OutputFormat::Json => {
            let content = Content { threads: options.threads, stages: &times, peak_rss_mb: peak_rss_mb() };
            Answer::new("snick.bench/1", content).text()
        }
    })?;
    Ok(Outcome::Fine)
}

/// Runs the stages up to `canon` once on a fresh graph, which is dropped outside of the measurement. Errors
/// of the model are not reported, because other verbs report them.
fn read_to_canon(options: &ModelOptions, times: &mut Times, console: &Console) -> Result<(), Failure> {
    let mut model = times.stage(Stage::Read, || model::read(options, console, &[]))?;
    model::reshape(&mut model, options)?;
    let _errors = times.stage(Stage::Infer, || model::infer(&mut model, console))?;
    if times.wants(Stage::Canon) {
        let rewriting = model::rewriting(console);
        let report = times.stage(Stage::Canon, || model.canonicalise_with(&rewriting));
        drop(model::complete(report, console)?);
    }
    Ok(())
}

/// Runs one session repeatedly. Outputs are dropped outside of the measurement.
fn execute(
    model: &ModelOptions,
    options: &Options,
    times: &mut Times,
    console: &Console,
) -> Result<(), Failure> {
    let mut model = model::load(model, console)?;
    if let Some(error) = model::infer(&mut model, console)?.into_iter().next() {
        return Err(Failure::layer(error));
    }
    if options.canon {
        drop(model::complete(model.canonicalise_with(&model::rewriting(console)), console)?);
    }
    let graph = model.graph();
    let session = Session::new(model.share_graph()).map_err(Failure::layer)?;
    let session =
        session.with_threads(options.threads as usize).map_err(|e| Failure::usage(e.to_string()))?;
    let how = snick_run::Options { pack_outputs: true, ..console.run_options() };
    let (inputs, _) = inputs(graph, &session, how, console)?;
    for _ in 0..options.runs {
        let run = || watch(&session, &inputs, how, &mut Variables::default(), console);
        let outputs = times.stage(Stage::Run, run)?.complete();
        outputs.map_err(|error| Failure::layer(diagnostic(&error)))?;
    }
    Ok(())
}

/// The first candidate inputs with which the model runs, and whether there are any. If it runs with none of
/// them, returns the first candidate.
fn inputs(
    graph: &Graph,
    session: &Session,
    how: snick_run::Options,
    console: &Console,
) -> Result<(Vec<Tensor>, bool), Failure> {
    let draw = |seed, draw: InputSpec| {
        draw_inputs(graph, vec![None; graph.parameters().count()], seed, draw).map_err(Failure::layer)
    };
    let mut search = Search::new(graph);
    for (seed, tried) in (0..).zip(input_candidates(graph)) {
        if search.is_over() {
            break;
        }
        let inputs = [draw(seed, tried)?];
        if !search.admits(graph, &inputs) {
            continue;
        }
        let [inputs] = inputs;
        if watch(session, &inputs, how, &mut Variables::default(), console)?.errors.is_empty() {
            return Ok((inputs, true));
        }
    }
    Ok((draw(0, DimPolicy::Fitting(0).into())?, false))
}

/// The times of all repetitions, for each stage.
struct Times {
    stages: Vec<(Stage, Vec<Duration>)>,
}

impl Times {
    fn new(wanted: &[Stage]) -> Self {
        let mut stages = wanted.to_vec();
        stages.sort();
        stages.dedup();
        Self { stages: stages.into_iter().map(|stage| (stage, Vec::new())).collect() }
    }

    fn wants(&self, stage: Stage) -> bool {
        self.stages.iter().any(|(wanted, _)| *wanted == stage)
    }

    fn wants_only(&self, stage: Stage) -> bool {
        self.stages.iter().all(|(wanted, _)| *wanted == stage)
    }

    /// Runs a stage, and records its time if requested.
    fn stage<T>(&mut self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        let time = start.elapsed();
        if let Some((_, times)) = self.stages.iter_mut().find(|(s, _)| *s == stage) {
            times.push(time);
        }
        done
    }

    /// The times of each stage, by its name.
    fn rows(&self) -> impl Iterator<Item = (String, StageTime)> {
        self.stages.iter().map(|(stage, times)| {
            let mut ms: Vec<f64> = times.iter().map(|t| t.as_secs_f64() * 1e3).collect();
            ms.sort_by(f64::total_cmp);
            let (min_ms, runs) = (ms.first().copied().unwrap_or_default(), ms.len());
            let (low, high) = (ms.len().saturating_sub(1) / 2, ms.len() / 2);
            let median_ms = ms.get(low).zip(ms.get(high)).map_or(0.0, |(a, b)| (a + b) / 2.0);
            (format!("{stage:?}").to_lowercase(), StageTime { min_ms, median_ms, runs })
        })
    }

    fn as_text(&self) -> String {
        let mut text = format!("{:8}{:>12}{:>12}{:>6}\n", "stage", "min ms", "median ms", "runs");
        for (name, StageTime { min_ms, median_ms, runs }) in self.rows() {
            let _ = writeln!(text, "{name:8}{min_ms:12.3}{median_ms:12.3}{runs:6}");
        }
        if let Some(mb) = peak_rss_mb() {
            let _ = writeln!(text, "peak memory {mb:.1} MB");
        }
        text
    }
}

/// Serialises as a map from stage names.
impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.rows())
    }
}

/// The answer.
#[derive(Serialize)]
struct Content<'t> {
    /// The number of threads of the run stage.
    threads: u32,
    /// The times of each stage, by its name.
    stages: &'t Times,
    /// The peak memory of the process in MiB, if the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_rss_mb: Option<f64>,
}

/// The time of a stage in milliseconds.
#[derive(Serialize)]
struct StageTime {
    /// The shortest time.
    min_ms: f64,
    /// The median time.
    median_ms: f64,
    /// The number of repetitions.
    runs: usize,
}

/// The peak memory of the process, if the system reports it.
fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kb: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kb / 1024.0)
}
