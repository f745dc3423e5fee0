//! Merges the findings about sizes without an upper bound into one.

use snick::Finding;

use crate::cli::many::counted;

/// Maximum number of layers to name.
const MAX_NAMED: usize = 4;

/// Merges the findings of a model about sizes without an upper bound. `None` if there are none.
pub(super) fn merged(findings: &[&Finding]) -> Option<Finding> {
    let [first, _, ..] = findings else { return findings.first().map(|finding| (*finding).clone()) };
    let (inputs, others): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().copied().partition(|finding| finding.op == "Parameter");
    let mut parts = Vec::new();
    if let Some(input) = inputs.first() {
        let axes = if inputs.len() == 1 { "1 axis".to_string() } else { format!("{} axes", inputs.len()) };
        let noun = if inputs.iter().all(|other| other.layer == input.layer) { "input" } else { "inputs" };
        let have = if inputs.len() == 1 { "has" } else { "have" };
        parts.push(format!("{axes} of the {noun} {} {have} no upper bound", names(&inputs)));
    }
    if !others.is_empty() {
        let layers = counted(others.len(), "layer");
        let compute = if others.len() == 1 { "computes" } else { "compute" };
        parts.push(format!("{layers} {compute} sizes without an upper bound: {}", names(&others)));
    }
    let leader = inputs.first().unwrap_or(first);
    let mut finding = Finding::clone(leader);
    // The finding is about several layers, so it has no layer of its own.
    (finding.layer, finding.op) = (String::new(), String::new());
    finding.message = format!("outputs have no upper bound: {}", parts.join("; "));
    if inputs.is_empty() {
        finding.help = "`snick why MODEL --unknown` shows where the sizes come from".to_string();
    }
    Some(finding)
}

/// The distinct names of the layers: `` `a`, `b` and 3 more``
fn names(findings: &[&Finding]) -> String {
    let mut names: Vec<String> = Vec::new();
    for finding in findings {
        let name = format!("`{}`", finding.layer);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() > MAX_NAMED {
        let more = names.len() - (MAX_NAMED - 1);
        names.truncate(MAX_NAMED - 1);
        names.push(format!("{more} more"));
    }
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}
