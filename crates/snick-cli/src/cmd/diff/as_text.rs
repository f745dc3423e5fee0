//! The differences as text: the verdict, the results of a run, the inputs and outputs, the layers, and then
//! the shapes and types that changed as a consequence. Long lists of layers are abridged and summarised by
//! operation.

use std::fmt::Write as _;

use snick::text::Escaped;
use snick::{ChangeDetail, ChangeGroup, EndChange, LayerChange, LayerRef, ModelEnd, ShapeDrift};

use super::Answer;
use super::examples::examples;
use super::run::{OutputDiff, RunDiff};
use super::verdict;
use crate::cli::console::Console;
use crate::cli::layout::{Layout, column};

/// If at most this number of layers differ, all of them are listed. Also the maximum number of inputs,
/// outputs and results to list.
const MAX_WHOLE: usize = 10;

/// Maximum number of removed layers, of added layers and of changed layers to list if more than [`MAX_WHOLE`]
/// layers differ.
const MAX_EXAMPLES: usize = 5;

/// Maximum number of characters of a value to show.
const MAX_VALUE: usize = 80;

/// Markers and colours for items that only one model has.
const SIDES: [(&str, &str); 2] = [("-", "31"), ("+", "32")];

/// Writes the whole answer. `files` are the models, as the user named them. If `is_whole`, lists all layers.
pub(super) fn write(answer: &Answer, files: &[String; 2], is_whole: bool, console: &Console) -> String {
    let diff = &answer.diff;
    let mut report = Report { text: String::new(), files, is_whole, layout: console.layout(), console };
    report.line(&verdict::of_models(answer));
    if let Some(run) = &answer.run {
        report.run(run, answer);
    }
    report.ends("inputs", &diff.inputs);
    report.ends("outputs", &diff.outputs);
    let removed = diff.removed_groups();
    let added = diff.added_groups();
    let changed = diff.changed_groups();
    let is_short = diff.removed.len() + diff.added.len() + diff.changed.len() <= MAX_WHOLE;
    if !is_short {
        report.text.push('\n');
        report.summary("removed", Some(0), &removed);
        report.summary("added", Some(1), &added);
        report.summary("changed", None, &changed);
    }
    let most = if is_short || is_whole { usize::MAX } else { MAX_EXAMPLES };
    report.layers("removed", 0, &diff.removed, &removed, most);
    report.layers("added", 1, &diff.added, &added, most);
    report.changes(&diff.changed, &changed, most);
    if let Some(drift) = &diff.shape_drift {
        report.consequences(drift);
    }
    report.text
}

/// A text under construction.
struct Report<'r> {
    text: String,
    files: &'r [String; 2],
    is_whole: bool,
    layout: Layout,
    console: &'r Console,
}

/// A line about a layer of one of the models.
struct Row<'l> {
    side: usize,
    layer: &'l LayerRef,
    /// The operation and name of the layer, the body that contains it, and possibly its type and shape;
    /// escaped.
    cell: String,
}

impl<'l> Row<'l> {
    fn new(side: usize, layer: &'l LayerRef, more: &str) -> Self {
        let body = layer.body.as_ref().map(|body| format!(" in {body}")).unwrap_or_default();
        let cell = format!("{} {}{body}{more}", layer.op, layer.name);
        Self { side, layer, cell: Escaped(&cell).to_string() }
    }

    /// The same layer in both models.
    fn pair(layers: [&'l LayerRef; 2]) -> [Self; 2] {
        let [a, b] = layers;
        [Self::new(0, a, ""), Self::new(1, b, "")]
    }
}

impl Report<'_> {
    /// Writes a line, escaping control characters in names.
    fn line(&mut self, line: &str) {
        self.text += &self.layout.fold(&format!("{}\n", Escaped(line)));
    }

    fn heading(&mut self, heading: &str) {
        self.text.push('\n');
        self.line(heading);
    }

    /// Writes a line in the colour of one of the models.
    fn marked(&mut self, side: usize, line: &str) {
        let (mark, color) = SIDES[side];
        let line = format!("  {mark} {line}");
        let _ =
            writeln!(self.text, "{}", self.console.paint_result(color, self.layout.fold(&line).trim_end()));
    }

    /// The width of the column of layers before the column of locations.
    fn width<'l>(&self, rows: impl IntoIterator<Item = &'l Row<'l>>) -> usize {
        column(rows.into_iter().map(|row| row.cell.as_str()), self.layout.columns / 2)
    }

    /// Writes a line about a layer. If its location does not fit, it gets a line of its own, because a
    /// terminal cannot open a location that is broken.
    fn row(&mut self, row: &Row, width: usize) {
        let Row { side, layer, cell } = row;
        let (mark, color) = SIDES[*side];
        let name = Escaped(&layer.name).to_string();
        // The layers of an ONNX model have no locations.
        let place = match layer.loc.line {
            0 => String::new(),
            _ => format!("{}:{}", Escaped(&self.files[*side]), layer.loc),
        };
        let in_one_line = format!("  {mark} {cell:width$}  {place}").trim_end().to_string();
        let mut line = self.layout.shorten(in_one_line, &name);
        if !self.layout.fits(&line) {
            let layer = self.layout.shorten(format!("  {mark} {cell}"), &name);
            line = format!("{}\n      {place}", self.layout.fold(&layer).trim_end()).trim_end().to_string();
        }
        let _ = writeln!(self.text, "{}", self.console.paint_result(color, &line));
    }

    /// Writes the number of items that are not listed.
    fn more(&mut self, shown: usize, all: usize) {
        if shown < all {
            self.line(&format!("  {} more; --all shows all", all - shown));
        }
    }

    /// Writes the number of layers in each group as one list.
    fn summary<T>(&mut self, heading: &str, side: Option<usize>, groups: &[ChangeGroup<T>]) {
        if groups.is_empty() {
            return;
        }
        let sizes = groups.iter().map(|group| format!("{} {}", group.items.len(), Escaped(&group.title)));
        let sizes = sizes.collect::<Vec<_>>().join(",\n");
        let heading = format!("{heading:7}");
        let painted = side.map(|side| self.console.paint_result(SIDES[side].1, &heading));
        let sizes = self.layout.fill(sizes.split('\n'), heading.len() + 2);
        let _ = writeln!(self.text, "{}  {sizes}", painted.unwrap_or(heading));
    }

    /// Lists layers that only one model has: all of them in order, or examples.
    fn layers(
        &mut self,
        heading: &str,
        side: usize,
        layers: &[LayerRef],
        groups: &[ChangeGroup<LayerRef>],
        most: usize,
    ) {
        if layers.is_empty() {
            return;
        }
        let listed = if layers.len() <= most { layers.iter().collect() } else { examples(groups, most) };
        let rows: Vec<Row> = listed.into_iter().map(|layer| Row::new(side, layer, "")).collect();
        let width = self.width(&rows);
        self.heading(heading);
        rows.iter().for_each(|row| self.row(row, width));
        self.more(rows.len(), layers.len());
    }

    /// Lists changed layers: all of them in order, or examples.
    fn changes(&mut self, changes: &[LayerChange], groups: &[ChangeGroup<LayerChange>], most: usize) {
        if changes.is_empty() {
            return;
        }
        let listed = if changes.len() <= most { changes.iter().collect() } else { examples(groups, most) };
        let rows: Vec<[Row; 2]> = listed.iter().map(|change| Row::pair([&change.a, &change.b])).collect();
        let width = self.width(rows.iter().flatten());
        self.heading("changed");
        for (change, rows) in listed.iter().zip(&rows) {
            rows.iter().for_each(|row| self.row(row, width));
            self.change(change);
        }
        self.more(rows.len(), changes.len());
    }

    fn change(&mut self, change: &LayerChange) {
        let or_none = |value: &Option<String>| value.as_deref().map_or("none".into(), shortened);
        for detail in change.details() {
            match detail {
                ChangeDetail::Value { name, values: [a, b] } => {
                    self.line(&format!("      {name}: {} -> {}", or_none(&a), or_none(&b)));
                }
                ChangeDetail::Elements(text) => self.line(&format!("      {text}")),
                _ => {}
            }
        }
    }

    fn ends(&mut self, heading: &str, ends: &[EndChange]) {
        if ends.is_empty() {
            return;
        }
        let listed = if self.is_whole { ends } else { &ends[..ends.len().min(MAX_WHOLE)] };
        self.heading(heading);
        listed.iter().for_each(|end| self.end(end));
        self.more(listed.len(), ends.len());
    }

    fn end(&mut self, end: &EndChange) {
        if let Some((a, b)) = renamed_only(end) {
            let (index, kind) = (a.index, format!("{}{}", a.element_type, a.shape));
            return self.line(&format!("    {index}  {} -> {} {kind}", a.name, b.name));
        }
        for (side, of) in [&end.a, &end.b].into_iter().enumerate() {
            let Some(of) = of else { continue };
            let line = format!("{}  {} {}{}", of.index, of.name, of.element_type, of.shape);
            self.marked(side, &Escaped(&line).to_string());
        }
        if end.is_moved {
            self.line("      moved to another position");
        }
        if end.is_exchanged {
            self.line("      the other model gives this name to a different input or output");
        }
    }

    /// Writes the comparison of the results, and the first layer whose values differ.
    fn run(&mut self, run: &RunDiff, answer: &Answer) {
        if !run.outputs.is_empty() {
            self.heading(&format!("run on the same inputs: {}", verdict::of_run(run)));
            let mut outputs: Vec<&OutputDiff> = run.outputs.iter().collect();
            if !self.is_whole && outputs.len() > MAX_WHOLE {
                outputs.sort_by_key(|output| output.comparison.is_within());
                outputs.truncate(MAX_WHOLE);
            }
            outputs.iter().for_each(|output| self.output(output));
            self.more(outputs.len(), run.outputs.len());
        }
        if let Some((a, b, _)) = &run.first {
            self.heading("first layer with different results");
            let [a, b] = [answer.graphs[0].node(*a), answer.graphs[1].node(*b)].map(LayerRef::from);
            let rows = Row::pair([&a, &b]);
            let width = self.width(&rows);
            rows.iter().for_each(|row| self.row(row, width));
        }
    }

    fn output(&mut self, output: &OutputDiff) {
        let OutputDiff { name, comparison, .. } = output;
        let verdict = if comparison.is_within() { "ok" } else { "differs" };
        self.line(&match &comparison.incomparable {
            Some(why) if !output.is_computed() => format!("    {name}: {why}"),
            Some(why) => format!("    {name}: {verdict}: {why}"),
            None => format!(
                "    {name}: {verdict}: max abs {:.3e}, max rel {:.3e}, {} outside tolerance",
                comparison.max_abs, comparison.max_rel, comparison.outside
            ),
        });
    }

    /// Writes the number of layers whose shapes or types differ as a consequence, and the first such layer.
    fn consequences(&mut self, drift: &ShapeDrift) {
        let heading = match drift.layers {
            1 => "consequences: 1 layer has a different shape or type".to_string(),
            layers => format!("consequences: {layers} layers have different shapes or types, starting with"),
        };
        self.heading(&heading);
        let ends = drift.first.iter().zip(&drift.facts).enumerate();
        let rows: Vec<Row> =
            ends.map(|(side, (layer, fact))| Row::new(side, layer, &format!("  {fact}"))).collect();
        let width = self.width(&rows);
        rows.iter().for_each(|row| self.row(row, width));
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

#[cfg(test)]
mod tests {
    use super::*;
    use snick::Limits;
    use snick_ir::Loc;

    /// The lines about a layer on a terminal with 40 columns.
    fn lines(name: &str, file: &str) -> String {
        let (console, files) = (Console::silent(Limits::new()), [file, file].map(String::from));
        let layout = Layout::terminal(40);
        let mut report =
            Report { text: String::new(), files: &files, is_whole: false, layout, console: &console };
        let mut layer = LayerRef::default();
        (layer.op, layer.name, layer.loc) = ("ReLU".into(), name.into(), Loc { line: 12, column: 3 });
        report.row(&Row::new(0, &layer, ""), 0);
        report.text
    }

    #[test]
    fn locations_are_whole_on_a_narrow_terminal() {
        assert_eq!(lines("act", "model.xml"), "  - ReLU act  model.xml:12:3\n");
        assert_eq!(
            lines("encoder.layers.0.activation", "model.xml"),
            "  - ReLU encoder\u{2026}ivation  model.xml:12:3\n"
        );
        let file = "models/of/a/folder/whose/name/is/long/model.xml";
        assert_eq!(
            lines("encoder.layers.0.fully.connected.activation", file),
            format!("  - ReLU encoder.layers.\u{2026}cted.activation\n      {file}:12:3\n")
        );
    }
}
