//! Findings as text: one per line, starting with a location that editors and terminals can jump to.

mod unbounded;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use snick::{Code, Finding, Severity};
use snick_ir::text::Escaped;

use crate::cli::console::{Console, ERROR, NOTE, OK, WARNING};
use crate::cli::many::counted;

use super::{CheckedModel, Report, place};

/// Maximum number of findings to show per code and model. Further findings are only counted.
const MAX_SHOWN: usize = 5;

pub(super) fn render(report: &Report, console: &Console) -> String {
    let mut text = String::new();
    let mut helped = HashSet::new();
    for model in &report.models {
        write_model(model, &shown(model, report.shows_release), console, &mut helped, &mut text);
    }
    let _ = writeln!(text, "{}", total(report));
    console.layout().fold(&text).into_owned()
}

/// The findings to show. Every model needs some release, so findings about it are only shown on request.
/// Sizes without an upper bound usually have to be bounded together, so they are merged into one finding.
fn shown(model: &CheckedModel, shows_release: bool) -> Vec<Cow<'_, Finding>> {
    let is_unbounded = |finding: &Finding| finding.code == Code::UnboundedDim;
    let unbounded: Vec<&Finding> = model.findings.iter().filter(|finding| is_unbounded(finding)).collect();
    let mut merged = unbounded::merged(&unbounded);
    let others = model.findings.iter().filter(|finding| shows_release || finding.code != Code::NeedsOpenVino);
    others
        .filter_map(|finding| match is_unbounded(finding) {
            true => merged.take().map(Cow::Owned),
            false => Some(Cow::Borrowed(finding)),
        })
        .collect()
}

fn write_model(
    model: &CheckedModel,
    findings: &[Cow<Finding>],
    console: &Console,
    helped: &mut HashSet<String>,
    text: &mut String,
) {
    if findings.is_empty() {
        let _ = writeln!(text, "{}: {}", Escaped(&model.path), console.paint_result(OK, "ok"));
    }
    let mut shown: HashMap<&str, usize> = HashMap::new();
    for finding in findings {
        let count = shown.entry(finding.code).or_insert(0);
        *count += 1;
        if *count <= MAX_SHOWN {
            write_finding(model, finding, console, helped, text);
        }
    }
    let mut more: Vec<(&str, usize)> = shown.into_iter().filter(|(_, count)| *count > MAX_SHOWN).collect();
    more.sort_unstable();
    for (code, count) in more {
        let (path, count) = (Escaped(&model.path), count - MAX_SHOWN);
        let _ = writeln!(text, "{path}: {count} more of {code}; --format json lists all");
    }
}

fn write_finding(
    model: &CheckedModel,
    finding: &Finding,
    console: &Console,
    helped: &mut HashSet<String>,
    text: &mut String,
) {
    let color = match finding.severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        _ => NOTE,
    };
    let layer = match finding.op.as_str() {
        "" => String::new(),
        op => format!(" {op} `{}`:", finding.layer),
    };
    let rest = format!("{} {}:{layer} {}", finding.code, finding.name, finding.message);
    let severity = console.paint_result(color, finding.severity_name());
    let line = format!("{}: {severity} {}", location(model, finding), Escaped(&rest));
    let line = console.layout().shorten(line, &Escaped(&finding.layer).to_string());
    let _ = writeln!(text, "{line}");
    // Each help text is only shown once.
    if finding.severity > Severity::Note && helped.insert(finding.help.clone()) {
        let _ = writeln!(text, "    help: {}", Escaped(&finding.help));
    }
}

/// `model.xml:12:3`, or only the path for a finding about the whole file.
fn location(model: &CheckedModel, finding: &Finding) -> String {
    let path = Escaped(&model.path);
    match place(finding) {
        Some((line, column)) => format!("{path}:{line}:{column}"),
        None => path.to_string(),
    }
}

/// The number of models and findings, and the OpenVINO release that is needed to read all models.
fn total(report: &Report) -> String {
    let mut counts: HashMap<Severity, usize> = HashMap::new();
    for model in &report.models {
        for finding in shown(model, report.shows_release) {
            *counts.entry(finding.severity).or_default() += 1;
        }
    }
    let count = |severity, noun| counted(counts.get(&severity).copied().unwrap_or_default(), noun);
    let mut text = format!(
        "{}: {}, {}, {}",
        counted(report.models.len(), "model"),
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
        count(Severity::Note, "note")
    );
    let needed = report.findings().filter_map(|(model, finding)| Some((finding.release?, model, finding)));
    // If several models need the same release, the first of them is named.
    let highest = needed.reduce(|a, b| if b.0 > a.0 { b } else { a }).filter(|_| !report.shows_release);
    if let Some((release, model, finding)) = highest {
        let _ = write!(
            text,
            "; {}: needs OpenVINO {release} or later ({})",
            Code::NeedsOpenVino,
            location(model, finding)
        );
    }
    text
}
