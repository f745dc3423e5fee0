//! SARIF 2.1.0.

use std::fmt::Write as _;
use std::path::Path;

use snick::{CheckCode, Finding, Severity, check_codes};
use snick_ir::text::Escaped;

use super::{CheckedModel, Report, place};
use crate::cli::json::Json;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn render(report: &Report) -> String {
    let mut rules = check_codes();
    rules.retain(|rule| report.findings().any(|(_, finding)| finding.code == rule.code));
    let mut json = Json::default();
    json.object(|json| {
        json.key("$schema").string(SCHEMA);
        json.key("version").string("2.1.0");
        json.key("runs").array(|json| {
            json.object(|json| {
                json.line().key("tool").object(|json| {
                    json.key("driver").object(|json| {
                        json.key("name").string("snick");
                        json.key("version").string(env!("CARGO_PKG_VERSION"));
                        json.key("rules").array(|json| rules.iter().for_each(|rule| write_rule(json, rule)));
                    });
                });
                json.line().key("columnKind").string("unicodeCodePoints");
                json.line().key("results").array(|json| {
                    report.findings().for_each(|(model, finding)| write_result(json, &rules, model, finding));
                });
            });
        });
    });
    json.finish()
}

fn write_rule(json: &mut Json, rule: &CheckCode) {
    json.line().object(|json| {
        json.key("id").string(rule.code);
        json.key("name").string(rule.name);
        let mut text = |key, text: &str| json.key(key).object(|json| json.key("text").string(text));
        text("shortDescription", rule.meaning);
        text("fullDescription", rule.reason);
        text("help", rule.remedy);
        json.key("defaultConfiguration").object(|json| json.key("level").string(level(rule.severity)));
    });
}

fn write_result(json: &mut Json, rules: &[&CheckCode], model: &CheckedModel, finding: &Finding) {
    json.line().object(|json| {
        json.key("ruleId").string(finding.code);
        if let Some(index) = rules.iter().position(|rule| rule.code == finding.code) {
            json.key("ruleIndex").plain(index);
        }
        json.key("level").string(level(finding.severity));
        let message = Escaped(&finding.message).to_string();
        json.key("message").object(|json| json.key("text").string(&message));
        json.key("locations").array(|json| json.object(|json| write_location(json, model, finding)));
    });
}

fn write_location(json: &mut Json, model: &CheckedModel, finding: &Finding) {
    json.key("physicalLocation").object(|json| {
        json.key("artifactLocation").object(|json| json.key("uri").string(&uri(&model.path)));
        if let Some((line, column)) = place(finding) {
            json.key("region").object(|json| {
                json.key("startLine").plain(line);
                json.key("startColumn").plain(column);
            });
        }
    });
    if !finding.layer.is_empty() {
        json.key("logicalLocations").array(|json| {
            json.object(|json| {
                json.key("name").string(&Escaped(&finding.layer).to_string());
                json.key("kind").string("element");
            });
        });
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "note",
    }
}

/// A path as a reference of a URI: relative as it is, absolute as a `file:`.
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
