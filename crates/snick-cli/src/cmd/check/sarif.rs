//! SARIF 2.1.0.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Serialize, Serializer};
use snick::{CheckCode, Finding, Severity, check_codes};
use snick_ir::text::Escaped;

use super::{CheckedModel, Report, place};
use crate::cli::json;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// An object with a single key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Single<T> {
    Driver(T),
    Level(T),
    Text(T),
    Uri(T),
}

#[derive(Serialize)]
struct Log<'r> {
    #[serde(rename = "$schema")]
    schema: &'r str,
    version: &'r str,
    runs: [Run<'r>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'r> {
    tool: Single<Driver<'r>>,
    column_kind: &'r str,
    #[serde(serialize_with = "results")]
    results: (&'r Report, &'r [&'r CheckCode]),
}

#[derive(Serialize)]
struct Driver<'r> {
    name: &'r str,
    version: &'r str,
    rules: Vec<Rule<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'r> {
    id: &'r str,
    name: &'r str,
    short_description: Single<&'r str>,
    full_description: Single<&'r str>,
    help: Single<&'r str>,
    default_configuration: Single<&'r str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleResult<'r> {
    rule_id: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'r str,
    message: Single<String>,
    locations: [Location; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_locations: Option<[LogicalLocation; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Single<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
}

#[derive(Serialize)]
struct LogicalLocation {
    name: String,
    kind: &'static str,
}

pub(super) fn render(report: &Report) -> String {
    let mut codes = check_codes();
    codes.retain(|code| report.findings().any(|(_, finding)| finding.code == code.code));
    let rule = |code: &&'static CheckCode| Rule {
        id: code.code.text(),
        name: code.code.name(),
        short_description: Single::Text(code.meaning),
        full_description: Single::Text(code.reason),
        help: Single::Text(code.remedy),
        default_configuration: Single::Level(level(code.code.severity())),
    };
    let (version, rules) = (env!("CARGO_PKG_VERSION"), codes.iter().map(rule).collect());
    let tool = Single::Driver(Driver { name: "snick", version, rules });
    let run = Run { tool, column_kind: "unicodeCodePoints", results: (report, &codes) };
    json::line(&Log { schema: SCHEMA, version: "2.1.0", runs: [run] })
}

fn results<S: Serializer>(
    (report, codes): &(&Report, &[&CheckCode]),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(report.findings().map(|(model, finding)| RuleResult {
        rule_id: finding.code,
        rule_index: codes.iter().position(|code| finding.code == code.code),
        level: level(finding.severity),
        message: Single::Text(Escaped(&finding.message).to_string()),
        locations: [location(model, finding)],
    }))
}

fn location(model: &CheckedModel, finding: &Finding) -> Location {
    let region = place(finding).map(|(start_line, start_column)| Region { start_line, start_column });
    let logical = || [LogicalLocation { name: Escaped(&finding.layer).to_string(), kind: "element" }];
    Location {
        physical_location: PhysicalLocation { artifact_location: Single::Uri(uri(&model.path)), region },
        logical_locations: (!finding.layer.is_empty()).then(logical),
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "note",
    }
}

/// A path as a URI reference: relative paths stay relative, absolute paths become `file:` URIs.
fn uri(path: &str) -> String {
    let path = if std::path::MAIN_SEPARATOR == '\\' { path.replace('\\', "/") } else { path.to_string() };
    let mut uri = match (Path::new(&path).is_absolute(), path.starts_with('/')) {
        (true, true) => "file://".to_string(),
        (true, false) => "file:///".to_string(),
        _ => String::new(),
    };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte.into())
            }
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_are_references() {
        assert_eq!(uri("a b/100%#é.xml"), "a%20b/100%25%23%C3%A9.xml");
        #[cfg(unix)]
        assert_eq!(uri("/m/x.xml"), "file:///m/x.xml");
    }
}
