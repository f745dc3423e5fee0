//! `snick bench --cold`: the start of a process that serves many models.

use std::fmt::Write as _;
use std::time::Instant;

use serde::Serialize;
use snick::text::Escaped;
use snick_run::{Session, Variables};

use super::{Options, inputs, peak_rss_mb};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::json::Answer;
use crate::cli::many::{counted, on_each};
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::outcome::diagnostic;
use crate::cli::verify::watch;

/// Reads and runs each model once, and prints a table.
pub(super) fn run(
    models: &[ModelOptions],
    options: &Options,
    common: &Common,
    console: &Console,
) -> Result<Outcome, Failure> {
    let (start, quiet) = (Instant::now(), console.quietly());
    let started = on_each(models.len(), options.models.jobs, console, |at| {
        Ok::<_, Failure>(first_result(&models[at], options.threads, &quiet))
    })?;
    let total_ms = ms(start);
    let is_limit = started.iter().any(|started| started.as_ref().is_err_and(Failure::is_limit));
    let rows = models.iter().zip(&started).map(|(model, started)| Row {
        model: model.model.display().to_string(),
        times: started.as_ref().ok().map(|(times, _)| *times),
        error: started.as_ref().err().map(|failure| failure.to_string().trim_end().to_string()),
    });
    let table =
        Table { threads: options.threads, total_ms, peak_rss_mb: peak_rss_mb(), models: rows.collect() };
    console.print(&match common.format {
        OutputFormat::Text => table.as_text(),
        OutputFormat::Json => Answer::new("snick.bench-cold/1", &table).text(),
    })?;
    Ok(if is_limit { Outcome::Limit } else { Outcome::finding(table.failed() > 0) })
}

/// Reads a model, and runs it with the first inputs with which it runs. The caller keeps the session, as a server
/// would.
fn first_result(
    options: &ModelOptions,
    threads: u32,
    console: &Console,
) -> Result<(StageTimes, Session), Failure> {
    let start = Instant::now();
    let mut model = model::load(options, console)?;
    let read_ms = ms(start);
    let start = Instant::now();
    if let Some(error) = model::infer(&mut model, console)?.into_iter().next() {
        return Err(Failure::layer(error));
    }
    let infer_ms = ms(start);
    let start = Instant::now();
    let session = Session::new(model.share_graph()).map_err(Failure::layer)?;
    let session = session.with_threads(threads as usize).map_err(|e| Failure::usage(e.to_string()))?;
    let plan_ms = ms(start);
    let start = Instant::now();
    let how = snick_run::Options { pack_outputs: true, ..console.run_options() };
    let (inputs, is_found) = inputs(model.graph(), &session, how, console)?;
    if !is_found {
        let outputs = watch(&session, &inputs, how, &mut Variables::default(), console)?.complete();
        outputs.map_err(|error| Failure::layer(diagnostic(&error)))?;
    }
    Ok((StageTimes { read_ms, infer_ms, plan_ms, run_ms: ms(start) }, session))
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// The times of a model in milliseconds.
#[derive(Serialize, Copy, Clone)]
struct StageTimes {
    read_ms: f64,
    infer_ms: f64,
    plan_ms: f64,
    /// The first run, and the search for inputs.
    run_ms: f64,
}

/// A model: its times, or why it does not run.
#[derive(Serialize)]
struct Row {
    model: String,
    #[serde(flatten)]
    times: Option<StageTimes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The answer.
#[derive(Serialize)]
struct Table {
    /// The number of threads of each run.
    threads: u32,
    /// From the start of the first model to the end of the last one, in milliseconds.
    total_ms: f64,
    /// The peak memory of the process in MiB, if the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_rss_mb: Option<f64>,
    models: Vec<Row>,
}

impl Table {
    fn failed(&self) -> usize {
        self.models.iter().filter(|row| row.error.is_some()).count()
    }

    fn as_text(&self) -> String {
        let mut text =
            format!("{:>10}{:>10}{:>10}{:>10}  model\n", "read ms", "infer ms", "plan ms", "run ms");
        for Row { model, times, error } in &self.models {
            let model = Escaped(model);
            let _ = match (times, error) {
                (Some(StageTimes { read_ms, infer_ms, plan_ms, run_ms }), _) => {
                    writeln!(text, "{read_ms:10.3}{infer_ms:10.3}{plan_ms:10.3}{run_ms:10.3}  {model}")
                }
                (None, error) => {
                    writeln!(text, "{:40}  {model}: error: {}", "", Escaped(error.as_deref().unwrap_or("")))
                }
            };
        }
        let (models, failed) = (counted(self.models.len(), "model"), self.failed());
        let failed = if failed > 0 { format!(", {failed} with errors") } else { String::new() };
        let _ = writeln!(text, "{models}{failed} in {:.1} ms", self.total_ms);
        if let Some(mb) = self.peak_rss_mb {
            let _ = writeln!(text, "peak memory {mb:.1} MB");
        }
        text
    }
}
