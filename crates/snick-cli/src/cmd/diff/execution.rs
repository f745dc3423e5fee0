//! Compares a model with the execution graph of a plug-in.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use snick::text::Escaped;
use snick::{ExecutedLayer, Execution, LayerRef};

/// Maximum number of layers of each kind to list without `--all`.
const MAX_LISTED: usize = 30;

/// Writes the executed layers, slowest first, then the layers that were not executed separately, then totals.
/// If `is_whole`, lists all layers.
pub(super) fn write(execution: &Execution, is_whole: bool) -> String {
    let most = if is_whole { usize::MAX } else { MAX_LISTED };
    let mut text = String::new();
    let total = execution.microseconds();
    let mut ran: Vec<&ExecutedLayer> =
        execution.layers.iter().filter(|layer| layer.time.microseconds.is_some()).collect();
    if ran.is_empty() {
        // The graph was never executed, so there are no times. Constants are omitted, because they compute
        // nothing.
        ran = execution.layers.iter().filter(|layer| layer.time.op != "Const").collect();
    }
    ran.sort_by_key(|layer| std::cmp::Reverse(layer.time.microseconds));
    let _ = writeln!(text, "      us  share  executed layer, and the layers of the model that it computes");
    for layer in ran.iter().take(most) {
        let time = &layer.time;
        let microseconds = time.microseconds.unwrap_or_default();
        let share = 100.0 * microseconds as f64 / total.max(1) as f64;
        let ran = format!("{} ({}, {})", time.layer, time.op, time.primitive);
        let _ = writeln!(text, "{microseconds:8} {share:4.1} %  {}", Escaped(&ran));
        // If a layer only computes the layer with the same name, naming that layer adds no information.
        if !matches!(layer.sources.as_slice(), [source] if source.name == time.layer) {
            let _ = writeln!(text, "                   {}", Escaped(&sources(layer)));
        }
    }
    more(ran.len(), most, &mut text);
    list("not executed separately", &execution.absent, most, &mut text);
    list("inputs and outputs missing from the execution graph", &execution.missing_ends, most, &mut text);
    counts(execution, &mut text);
    text
}

fn sources(layer: &ExecutedLayer) -> String {
    if layer.sources.is_empty() {
        return "added by the plug-in".into();
    }
    let names: Vec<String> =
        layer.sources.iter().map(|source| format!("{} {}", source.op, source.name)).collect();
    names.join(", ")
}

fn list(heading: &str, layers: &[LayerRef], most: usize, text: &mut String) {
    if layers.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}");
    for layer in layers.iter().take(most) {
        let _ = writeln!(text, "  {}  {}", Escaped(&format!("{} {}", layer.op, layer.name)), layer.loc);
    }
    more(layers.len(), most, text);
}

/// Writes how many layers are not listed.
fn more(len: usize, most: usize, text: &mut String) {
    if len > most {
        let _ = writeln!(text, "  {} more; --all shows all", len - most);
    }
}

fn counts(execution: &Execution, text: &mut String) {
    let joined: Vec<&ExecutedLayer> =
        execution.layers.iter().filter(|layer| layer.sources.len() > 1).collect();
    let sources: usize = joined.iter().map(|layer| layer.sources.len()).sum();
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    for layer in execution.layers.iter().filter(|layer| layer.sources.is_empty()) {
        *made.entry(&layer.time.op).or_default() += 1;
    }
    let made: Vec<String> = made.iter().map(|(op, count)| format!("{count} {op}")).collect();
    let _ = writeln!(text, "\n{} us in {} layers", execution.microseconds(), execution.layers.len());
    if !joined.is_empty() {
        let _ = writeln!(text, "fused: {sources} layers of the model into {}", joined.len());
    }
    if !made.is_empty() {
        let _ = writeln!(text, "added by the plug-in: {}", Escaped(&made.join(", ")));
    }
    if !execution.is_of_the_model() {
        let _ = writeln!(text, "this is the execution graph of another model");
    }
}
