//! Findings as text: one per line, starting with a location that editors and terminals can jump to.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use snick::{Finding, Severity};
use snick_ir::text::Escaped;

use crate::cli::layout::Layout;

use super::{CheckedModel, Report, place};

/// Maximum number of findings to show per code and model. Further findings are only counted.
const MAX_SHOWN: usize = 5;

pub(super) fn render(report: &Report, layout: Layout) -> String {
    let mut text = String::new();
    let mut helped = HashSet::new();
    for model in &report.models {
        write_model(model, report.models.len() > 1, layout, &mut helped, &mut text);
    }
    let _ = writeln!(text, "{}", total(report));
    layout.fold(&text).into_owned()
}

fn write_model(
    model: &CheckedModel,
    is_one_of_many: bool,
    layout: Layout,
    helped: &mut HashSet<String>,
    text: &mut String,
) {
    if is_one_of_many && model.findings.is_empty() {
        let _ = writeln!(text, "{}: ok", Escaped(&model.path));
    }
    let mut shown: HashMap<&str, usize> = HashMap::new();
    for finding in &model.findings {
        let count = shown.entry(finding.code).or_insert(0);
        *count += 1;
        if *count <= MAX_SHOWN {
            write_finding(model, finding, layout, helped, text);
        }
    }
    let mut more: Vec<(&str, usize)> = shown.into_iter().filter(|(_, count)| *count > MAX_SHOWN).collect();
    more.sort_unstable();
    for (code, count) in more {
        let (path, count) = (Escaped(&model.path), count - MAX_SHOWN);
        let _ = writeln!(text, "{path}: {count} more of {code}; --format json has all");
    }
}

fn write_finding(
    model: &CheckedModel,
    finding: &Finding,
    layout: Layout,
    helped: &mut HashSet<String>,
    text: &mut String,
) {
    let place = place(finding).map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
    let layer = match finding.op.as_str() {
        "" => String::new(),
        op => format!(" {op} `{}`:", finding.layer),
    };
    let line = format!(
        "{}{place}: {} {} {}:{layer} {}",
        model.path,
        finding.severity_name(),
        finding.code,
        finding.name,
        finding.message
    );
    let line = layout.shorten(Escaped(&line).to_string(), &Escaped(&finding.layer).to_string());
    let _ = writeln!(text, "{line}");
    // Shows each help once.
    if finding.severity > Severity::Note && helped.insert(finding.help.clone()) {
        let _ = writeln!(text, "    help: {}", Escaped(&finding.help));
    }
}

fn total(report: &Report) -> String {
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    format!(
        "{}: {}, {}, {}",
        counted(report.models.len(), "model"),
        counted(report.count(Severity::Error), "error"),
        counted(report.count(Severity::Warning), "warning"),
        counted(report.count(Severity::Note), "note")
    )
}
