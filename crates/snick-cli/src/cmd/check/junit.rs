//! JUnit XML: a test suite per model, and a test case per finding.

use std::fmt::Write as _;

use snick::Finding;
use snick_ir::text::Escaped;

use super::{CheckedModel, Report, place};

pub(super) fn render(report: &Report) -> String {
    let failures =
        |model: &CheckedModel| model.findings.iter().filter(|finding| is_failure(report, finding)).count();
    let cases = |model: &CheckedModel| model.findings.len().max(1);
    let all: (usize, usize) =
        report.models.iter().fold((0, 0), |sum, model| (sum.0 + cases(model), sum.1 + failures(model)));
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"snick check\" tests=\"{}\" failures=\"{}\">", all.0, all.1);
    for model in &report.models {
        let (path, tests, failures) = (escaped(&model.path), cases(model), failures(model));
        let time = model.time.as_secs_f64();
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{path}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"{time:.3}\">"
        );
        if model.findings.is_empty() {
            let _ = writeln!(xml, "    <testcase name=\"no findings\" classname=\"{path}\"/>");
        }
        model.findings.iter().for_each(|finding| write_case(report, model, finding, &mut xml));
        let _ = writeln!(xml, "  </testsuite>");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Whether a finding is a failed test case. Errors always are, even with `--fail-on never`.
fn is_failure(report: &Report, finding: &Finding) -> bool {
    finding.severity == snick::Severity::Error || report.fail_on.includes(finding.severity)
}

fn write_case(report: &Report, model: &CheckedModel, finding: &Finding, xml: &mut String) {
    let place = place(finding).map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
    let name = escaped(&format!("{} {} {}{place}", finding.code, finding.name, finding.layer));
    let path = escaped(&model.path);
    let _ = write!(xml, "    <testcase name=\"{name}\" classname=\"{path}\">");
    let (message, help) = (escaped(&finding.message), escaped(&finding.help));
    let (code, severity) = (finding.code, finding.severity_name());
    let _ = match is_failure(report, finding) {
        true => write!(
            xml,
            "<failure type=\"{code}\" message=\"{code} {severity}: {message}\">{path}{place}: {message}; help: {help}</failure>"
        ),
        false => write!(xml, "<system-out>{severity}: {message}; help: {help}</system-out>"),
    };
    let _ = writeln!(xml, "</testcase>");
}

/// Escapes text for elements and attributes.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in Escaped(text).to_string().chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML cannot represent these characters.
            '\u{fffe}' | '\u{ffff}' => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
