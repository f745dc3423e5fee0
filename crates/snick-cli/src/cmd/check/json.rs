//! Writes the JSON schema `snick.check/1`.

use std::time::Duration;

use serde::{Serialize, Serializer};
use snick::{Finding, Severity};

use super::{CheckedModel, Report, place};
use crate::cli::json::Answer;

#[derive(Serialize)]
struct Content<'r> {
    models: &'r [CheckedModel],
    #[serde(serialize_with = "findings")]
    findings: &'r Report,
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    models: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
}

/// A finding with its file, and its location as text.
#[derive(Serialize)]
struct PlacedFinding<'f> {
    code: &'f str,
    name: &'f str,
    severity: &'f str,
    path: &'f str,
    layer: Option<&'f str>,
    op: Option<&'f str>,
    loc: Option<String>,
    message: &'f str,
    help: &'f str,
    origins: &'f [String],
}

pub(super) fn render(report: &Report) -> String {
    let summary = Summary {
        models: report.models.len(),
        errors: report.count(Severity::Error),
        warnings: report.count(Severity::Warning),
        notes: report.count(Severity::Note),
    };
    Answer::new("snick.check/1", Content { models: &report.models, findings: report, summary }).text()
}

/// Serialises a time in seconds, with microsecond precision.
pub(super) fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((time.as_secs_f64() * 1e6).round() / 1e6)
}

fn findings<S: Serializer>(report: &&Report, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(report.findings().map(|(model, finding)| placed(model, finding)))
}

fn placed<'f>(model: &'f CheckedModel, finding: &'f Finding) -> PlacedFinding<'f> {
    let Finding { code, name, layer, op, message, help, origins, .. } = finding;
    PlacedFinding {
        code,
        name,
        severity: finding.severity_name(),
        path: &model.path,
        layer: (!op.is_empty() || !layer.is_empty()).then_some(layer),
        op: (!op.is_empty()).then_some(op),
        loc: place(finding).map(|(line, column)| format!("{line}:{column}")),
        message,
        help,
        origins,
    }
}
