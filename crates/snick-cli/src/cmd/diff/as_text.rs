//! The differences as text: inputs and outputs, then causes with their locations in both files, then
//! consequences and counts.

use std::fmt::Write as _;

use snick::text::Escaped;
use snick::{EndChange, LayerChange, LayerRef, ModelDiff, ModelEnd};

use super::Answer;
use super::run::RunDiff;
use crate::cli::console::Console;

/// Maximum number of layers of each kind to list.
const MAX_LISTED: usize = 50;

/// Maximum number of characters of a value to show.
const MAX_VALUE: usize = 80;

/// Markers and colours for items that only one model has.
const SIDES: [(&str, &str); 2] = [("-", "31"), ("+", "32")];

/// Writes the whole answer. `files` are the models, as the user named them.
pub(super) fn write(answer: &Answer, files: &[String; 2], console: &Console) -> String {
    let diff = &answer.diff;
    let mut report = Report { text: String::new(), files, console };
    report.ends("inputs", &diff.inputs);
    report.ends("outputs", &diff.outputs);
    report.section("changed", &diff.changed, Report::change);
    report.section("removed", &diff.removed, |report, layer| report.layer(layer, 0));
    report.section("added", &diff.added, |report, layer| report.layer(layer, 1));
    if let Some(drift) = &diff.shape_drift {
        let layers = count(drift.layers, "layer");
        report.line(&format!("consequences: shapes or types of {layers} differ, first those of"));
        drift.first.iter().zip(&drift.facts).enumerate().for_each(|(side, (layer, fact))| {
            report.side(side, layer, &format!("  {fact}"));
        });
        report.text.push('\n');
    }
    if let Some(run) = &answer.run {
        report.run(run, answer);
    }
    report.counts(diff, answer.run.as_ref());
    report.text
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A text under construction.
struct Report<'r> {
    text: String,
    files: &'r [String; 2],
    console: &'r Console,
}

impl Report<'_> {
    /// Writes a line, escaping control characters in names.
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", Escaped(line));
    }

    /// Writes a line about a layer of one of the models, in the colour of that model.
    fn side(&mut self, side: usize, layer: &LayerRef, more: &str) {
        let body = layer.body.as_ref().map(|body| format!(" in {body}")).unwrap_or_default();
        let place = match layer.loc.line {
            0 => self.files[side].clone(),
            _ => format!("{}:{}", self.files[side], layer.loc),
        };
        self.marked(side, &format!("{} {}{body}{more}  {place}", layer.op, layer.name));
    }

    fn marked(&mut self, side: usize, line: &str) {
        let (mark, color) = SIDES[side];
        let line = format!("  {mark} {}", Escaped(line));
        let _ = writeln!(self.text, "{}", self.console.paint_result(color, &line));
    }

    /// Writes a heading and all items.
    fn section<T>(&mut self, heading: &str, items: &[T], write: impl Fn(&mut Self, &T)) {
        if items.is_empty() {
            return;
        }
        self.line(heading);
        items.iter().take(MAX_LISTED).for_each(|item| write(self, item));
        if items.len() > MAX_LISTED {
            self.line(&format!("  and {} more, which --format json lists", items.len() - MAX_LISTED));
        }
        self.text.push('\n');
    }

    fn layer(&mut self, layer: &LayerRef, side: usize) {
        self.side(side, layer, "");
    }

    fn change(&mut self, change: &LayerChange) {
        self.side(0, &change.a, "");
        self.side(1, &change.b, "");
        let or_none = |value: &Option<String>| value.as_deref().map_or("none".into(), shortened);
        for attr in &change.attrs {
            let [a, b] = &attr.values;
            self.line(&format!("      {}: {} -> {}", attr.name, or_none(a), or_none(b)));
        }
        for input in &change.inputs {
            let (a, b) = (or_none(&input.a), or_none(&input.b));
            self.line(&format!("      input {}: {a} -> {b}", input.port));
        }
        if let Some([a, b]) = change.types {
            self.line(&format!("      type: {a} -> {b}"));
        }
        if let Some([a, b]) = &change.shapes {
            self.line(&format!("      shape: {a} -> {b}"));
        }
        match change.weights {
            Some(weights) if weights.max_abs.is_nan() => {
                self.line(&format!("      {} of the elements differ", percent(weights.differ)));
            }
            Some(weights) => {
                let (differ, most) = (percent(weights.differ), weights.max_abs);
                self.line(&format!("      {differ} of the elements differ, by {most:.3e} at most"));
            }
            None if change.lacks_elements => {
                self.line("      elements: not the same, or not there in one of the models")
            }
            None => {}
        }
    }

    fn ends(&mut self, heading: &str, ends: &[EndChange]) {
        self.section(heading, ends, |report, end| {
            if let Some((a, b)) = renamed_only(end) {
                return report.line(&format!(
                    "    {}  {} -> {} {}{}",
                    a.index, a.name, b.name, a.element_type, a.shape
                ));
            }
            for (side, of) in [&end.a, &end.b].into_iter().enumerate() {
                let Some(of) = of else { continue };
                report.marked(side, &format!("{}  {} {}{}", of.index, of.name, of.element_type, of.shape));
            }
            if end.is_moved {
                report.line("      moved to another position");
            }
            if end.is_exchanged {
                report.line("      another one has this name in the other model");
            }
        });
    }

    fn run(&mut self, run: &RunDiff, answer: &Answer) {
        self.section("run on the same inputs", &run.outputs, |report, output| {
            let comparison = &output.comparison;
            let verdict = if comparison.is_within() { "ok" } else { "differs" };
            report.line(&match &comparison.incomparable {
                Some(why) if !output.is_computed() => format!("    {}: {why}", output.name),
                Some(why) => format!("    {}: {verdict}: {why}", output.name),
                None => format!(
                    "    {}: {verdict}: max abs {:.3e}, max rel {:.3e}, {} outside tolerance",
                    output.name, comparison.max_abs, comparison.max_rel, comparison.outside
                ),
            });
        });
        if let Some((a, b, _)) = &run.first {
            self.line("first layer with different results");
            let both = [answer.graphs[0].node(*a), answer.graphs[1].node(*b)].map(LayerRef::from);
            both.iter().enumerate().for_each(|(side, layer)| self.side(side, layer, ""));
            self.text.push('\n');
        }
    }

    fn counts(&mut self, diff: &ModelDiff, run: Option<&RunDiff>) {
        let layers = count(diff.same + diff.renamed, "layer");
        let renamed =
            if diff.renamed > 0 { format!(", {} of them renamed", diff.renamed) } else { String::new() };
        if diff.is_equal() {
            let verdict = match run {
                Some(run) if run.differs() => "equal, but the results differ",
                Some(run) if !run.is_equal() => "equal, but not all outputs were computed",
                _ => "equal",
            };
            let uncompared = match diff.uncompared {
                0 => String::new(),
                number => format!("; {} without weights were not compared", count(number, "constant")),
            };
            return self.line(&format!("{verdict}: {layers}{renamed}{uncompared}"));
        }
        let (changed, removed, added) = (diff.changed.len(), diff.removed.len(), diff.added.len());
        let counts = format!("{changed} changed, {removed} removed, {added} added");
        self.line(&format!("different: {counts}; {layers} the same{renamed}"));
    }
}

/// The input or output in both models, if only its name differs.
fn renamed_only(end: &EndChange) -> Option<(&ModelEnd, &ModelEnd)> {
    let (a, b) = end.a.as_ref().zip(end.b.as_ref())?;
    let is_same = a.element_type == b.element_type && a.shape == b.shape && a.index == b.index;
    (is_same && !end.is_moved && !end.is_exchanged).then_some((a, b))
}

/// Truncates a long text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_string(),
    }
}

/// A fraction as a percentage. A nonzero fraction is never shown as 0.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 1.0 { format!("{percent:.1} %") } else { format!("{percent:.2e} %") }
}
