//! Findings as tuples for Python.

use snick::Finding;

/// Code, name, severity, layer, operation, location, message, help and origins.
pub type FindingTuple = (String, String, String, String, String, Option<String>, String, String, Vec<String>);

/// The tuple of a finding.
pub fn tuple(finding: Finding) -> FindingTuple {
    (
        finding.code.to_string(),
        finding.name.to_string(),
        finding.severity_name().to_string(),
        finding.layer,
        finding.op,
        finding.loc.text(),
        finding.message,
        finding.help,
        finding.origins,
    )
}

/// The worst severity, or `ok`.
pub fn status_of(findings: &[Finding]) -> &'static str {
    let names: Vec<_> = findings.iter().map(Finding::severity_name).collect();
    ["error", "warning"].into_iter().find(|name| names.contains(name)).unwrap_or("ok")
}
