//! `snick certify`: proves rewrites for all sizes, or that two models compute the same outputs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use snick::text::Escaped;
use snick::{
    Certificate, CertifiedOutput, CertifiedRewrite, CertifyOptions, Error, Model, RewriteStatus, WrittenFile,
};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::json::Answer;
use crate::cli::layout::column;
use crate::cli::many::counted;
use crate::cli::options::{Common, OutputFormat};
use crate::cli::overwrite::OverwriteOptions;
use crate::cli::pair::PairOptions;
use crate::cli::target::is_stdout;
use crate::cli::{help, model};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick certify model.xml -o proofs.json", "Prove every rewrite of the canonical form, and save the proofs"),
        ("snick certify model.onnx --after simplified.onnx", "Prove that another optimiser kept the outputs"),
    ],
    "something is refuted, or not proved with --after or --require-proof; or --check fails"
))]
pub struct Options {
    /// The model, or - for text form on standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// With --check, the second model of a certificate about two models
    #[arg(value_name = "OTHER", requires = "check")]
    other: Option<PathBuf>,
    /// Prove that this model, in any format, computes the same outputs from the same inputs
    #[arg(long, value_name = "OTHER", conflicts_with = "check")]
    after: Option<PathBuf>,
    /// Check a certificate, without searching for proofs
    #[arg(long, value_name = "CERT.json", conflicts_with_all = ["output", "smt", "require_proof"])]
    check: Option<PathBuf>,
    /// Exit with 1 if anything is not proved
    #[arg(long)]
    require_proof: bool,
    /// Seed of the inputs on which to execute what is not proved
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    pair: PairOptions,
    /// Write the proofs to a file, for --check; - writes them to standard output
    #[arg(short, long, value_name = "CERT.json", help_heading = help::OUTPUTS)]
    output: Option<PathBuf>,
    /// Write each proof obligation to a file in this folder, as SMT-LIB 2 for other solvers
    #[arg(long, value_name = "DIR", help_heading = help::OUTPUTS)]
    smt: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteOptions,
}

/// Reads, infers, proves or checks, writes, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let (model, other) = match options.after.as_ref().or(options.other.as_ref()) {
        Some(other) => {
            let [model, other] = options.pair.both(&options.model, other)?;
            (model, Some(other))
        }
        None => (options.pair.one(&options.model)?, None),
    };
    let (mut model, mut other) =
        (model::load(&model, console)?, other.map(|other| model::load(&other, console)).transpose()?);
    if let Some(output) = &options.output {
        let files = [Some(&model), other.as_ref()].into_iter().flatten().flat_map(Model::files);
        options.overwrite.check(files.map(PathBuf::as_path), output)?;
    }
    let mut errors = model::infer(&mut model, console)?;
    if let Some(other) = &mut other {
        errors.extend(model::infer(other, console)?);
    }
    errors.iter().for_each(|error| console.located(error));
    let outcome = match &options.check {
        Some(path) => check(path, &model, other.as_ref(), common, console)?,
        None => certify(options, &model, other.as_ref(), common, console)?,
    };
    Ok(if errors.is_empty() { outcome } else { Outcome::Finding })
}

fn certify(
    options: &Options,
    model: &Model,
    other: Option<&Model>,
    common: &Common,
    console: &Console,
) -> Result<Outcome, Failure> {
    let how = CertifyOptions::new().limits(console.limits().memory(console.memory())).seed(options.seed);
    let deadline = console.deadline().clone();
    let how = how.smt(options.smt.is_some()).progress(move |progress| deadline.advance(progress.layer));
    let how = other.into_iter().fold(how, CertifyOptions::after);
    let certificate = model::in_time(model.certify(&how), console)?;
    if let Some(folder) = &options.smt {
        certificate.save_smt(folder)?;
        let count = counted(certificate.obligations().len(), "proof obligation");
        console.note(&format!("wrote {count} to {}", folder.display()));
    }
    match &options.output {
        Some(output) if is_stdout(output) => console.print(&certificate.to_json())?,
        output => {
            if let Some(output) = output {
                let json = certificate.to_json();
                console.wrote(&[WrittenFile::write(output, |file| file.write_all(json.as_bytes()))?]);
            }
            console.print(&match common.format {
                OutputFormat::Text => as_text(&certificate),
                OutputFormat::Json => as_json(&certificate),
            })?;
        }
    }
    if !certificate.errors().is_empty() {
        return Err(Failure::Layers(certificate.errors().to_vec()));
    }
    let is_required = options.require_proof || other.is_some();
    let is_fine = certificate.summary().refuted == 0 && (certificate.is_proved() || !is_required);
    Ok(Outcome::finding(!is_fine))
}

/// The result of checking a certificate, as JSON.
#[derive(Serialize)]
struct Checked {
    /// Whether the certificate proves what it says about the models.
    valid: bool,
    /// The step that fails, or why the file cannot be read.
    error: Option<String>,
}

fn check(
    path: &Path,
    model: &Model,
    other: Option<&Model>,
    common: &Common,
    console: &Console,
) -> Result<Outcome, Failure> {
    let error = match model.check_certificate(path, other) {
        Ok(()) => None,
        Err(error @ Error::Certificate(_)) => Some(format!("{}: {error}", path.display())),
        Err(error) => Some(Failure::from(error).to_string()),
    };
    error.iter().for_each(|error| console.error(error));
    let valid = error.is_none();
    match common.format {
        OutputFormat::Json => {
            console.print(&Answer::new("snick.certify-check/1", Checked { valid, error }).text())?
        }
        OutputFormat::Text if valid => {
            console.print(&format!("{}: valid\n", Escaped(&path.display().to_string())))?;
        }
        OutputFormat::Text => {}
    }
    Ok(Outcome::finding(!valid))
}

/// The certificate as JSON.
pub fn as_json(certificate: &Certificate) -> String {
    Answer::new("snick.certify/1", certificate).text()
}

/// A line for each rule, and for each rewrite that is not proved; or a line for each output. The last line is
/// a summary.
pub fn as_text(certificate: &Certificate) -> String {
    let summary = certificate.summary();
    let (mut text, count) = match certificate.outputs() {
        [] => (of_rewrites(certificate.rewrites()), counted(summary.applied, "rewrite")),
        outputs => (outputs.iter().map(of_output).collect(), counted(outputs.len(), "output")),
    };
    let _ = writeln!(text, "{count}: {summary}");
    text
}

fn of_output(output: &CertifiedOutput) -> String {
    let mut line = format!("{:9}  {}", output.status.name(), output.name);
    if let Some(found) = &output.counterexample {
        if !found.index.is_empty() {
            let _ = write!(line, "{:?}", found.index);
        }
        let _ = write!(line, ": {} before, {} after", found.before, found.after);
        for (at, (symbol, size)) in found.sizes.iter().enumerate() {
            let _ = write!(line, "{} {symbol}={size}", if at == 0 { ", at" } else { "," });
        }
    } else if let Some(reason) = &output.reason {
        let _ = write!(line, ": {reason}");
    }
    format!("{}\n", Escaped(&line))
}

/// The rewrites of a rule.
struct RuleRow<'c> {
    rule: &'c str,
    /// The numbers of proved, sampled and refuted rewrites.
    counts: [usize; 3],
    time: Duration,
}

fn of_rewrites(rewrites: &[CertifiedRewrite]) -> String {
    let mut rows: Vec<RuleRow> = Vec::new();
    for rewrite in rewrites {
        let at = rows.iter().position(|row| row.rule == rewrite.rule).unwrap_or_else(|| {
            rows.push(RuleRow { rule: &rewrite.rule, counts: [0; 3], time: Duration::ZERO });
            rows.len() - 1
        });
        let status = match rewrite.status {
            RewriteStatus::Proved => 0,
            RewriteStatus::Refuted => 2,
            _ => 1,
        };
        rows[at].counts[status] += 1;
        rows[at].time += rewrite.time;
    }
    let width = column(rows.iter().map(|row| row.rule).chain(["rule"]), usize::MAX);
    let mut text = String::new();
    if !rows.is_empty() {
        let _ = writeln!(text, "{:width$}  applied  proved  sampled  refuted       time", "rule");
    }
    for RuleRow { rule, counts: [proved, sampled, refuted], time } in rows {
        let (rule, applied, ms) =
            (Escaped(rule).to_string(), proved + sampled + refuted, time.as_secs_f64() * 1e3);
        let _ =
            writeln!(text, "{rule:width$}  {applied:7}  {proved:6}  {sampled:7}  {refuted:7}  {ms:6.1} ms");
    }
    for rewrite in rewrites.iter().filter(|rewrite| rewrite.status != RewriteStatus::Proved) {
        let place = rewrite.loc.text().map(|loc| format!(" ({loc})")).unwrap_or_default();
        let reason = rewrite.reason.as_deref().unwrap_or_default();
        let CertifiedRewrite { rule, op, layer, status, .. } = rewrite;
        let line = format!("{:7}  {rule}  {op} {layer}{place}: {reason}", status.name());
        for (at, line) in line.lines().enumerate() {
            let _ = writeln!(text, "{}{}", if at == 0 { "" } else { "    " }, Escaped(line));
        }
    }
    text
}
