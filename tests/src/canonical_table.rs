//! The table of what canonicalisation does to the models of `models/`, as the README shows it. With `SNICK_CORPUS` set,
//! the same for that corpus goes to standard error.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use snick::{Dims, draw_inputs};
use snick_ir::{Graph, NodeId, Op, Value};
use snick_pass::{Cost, Options, canonicalise};
use snick_run::{Session, Variables};
use snick_tensor::kernels::strided_copy::packed_parts;

use crate::files;

/// Counts of a model, or of several.
#[derive(Clone, Default)]
struct Row {
    slice_like: usize,
    slices: usize,
    lowered: Cost,
    after: Cost,
    /// Bytes that a run copies of what slices give out: of the lowered graph, and of the canonical one.
    copied: [u64; 2],
}

impl Row {
    fn of(path: &Path) -> Self {
        let mut graph = snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}")).graph;
        snick_ir::infer(&mut graph);
        let mut lowered = graph.clone();
        canonicalise(&mut lowered, &Options::lower_only()).unwrap();
        let report = canonicalise(&mut graph, &Options::default()).unwrap();
        let copied = [copied(&lowered), copied(&graph)];
        let (lowered, after) = (Cost::of(&lowered), Cost::of(&graph));
        Self { slice_like: report.slice_like_before, slices: report.slice_after, lowered, after, copied }
    }

    fn add(&mut self, other: &Self) {
        self.slice_like += other.slice_like;
        self.slices += other.slices;
        for (sum, cost) in [(&mut self.lowered, other.lowered), (&mut self.after, other.after)] {
            sum.layers += cost.layers;
            sum.slices += cost.slices;
            sum.bytes += cost.bytes;
        }
        for (sum, bytes) in self.copied.iter_mut().zip(other.copied) {
            *sum += bytes;
        }
    }

    fn line(&self, name: &str) -> String {
        let Self { slice_like, slices, lowered, after, copied: [before, now] } = self;
        format!(
            "| {name} | {slice_like} | {} | {slices} | {} | {} | {} | {} | {before} | {now} |",
            lowered.slices, lowered.layers, after.layers, lowered.bytes, after.bytes
        )
    }
}

/// Bytes that layers copy in one run, of those that read slices, or views of slices.
fn copied(graph: &Graph) -> u64 {
    let Ok(session) = Session::new(graph) else { return 0 };
    let Ok(inputs) = draw_inputs(graph, vec![None; graph.parameters().count()], 1, Dims::Smallest) else {
        return 0;
    };
    let (mut before, mut bytes) = (packed_parts(), 0);
    let options = snick_run::Options { keep_going: true, ..snick_run::Options::default() };
    session.watch(&inputs, options, &mut Variables::default(), |progress| {
        let now = packed_parts();
        if reads_slices(graph, progress.node) {
            bytes += now - before;
        }
        before = now;
        ControlFlow::Continue(())
    });
    bytes
}

fn reads_slices(graph: &Graph, reader: NodeId) -> bool {
    let mut todo: Vec<Value> = graph.inputs(reader).into_iter().flatten().collect();
    let mut seen = Vec::new();
    while let Some(value) = todo.pop() {
        match graph.node(value.node).op {
            Op::Slice(_) => return true,
            Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Transpose(_)
                if !seen.contains(&value) =>
            {
                todo.extend(graph.inputs(value.node).first().copied().flatten());
                seen.push(value);
            }
            _ => {}
        }
    }
    // Of bodies all is told in one.
    graph.node(reader).op.bodies().next().is_some()
}

/// A line for each model that slices, and one for all.
fn table(models: &[PathBuf]) -> String {
    let mut lines = vec![
        "| model | slice-like | `slice`, lowered | `slice`, canonical | layers, lowered | layers, canonical | \
         bytes sliced, lowered | bytes sliced, canonical | copied, lowered | copied, canonical |"
            .to_string(),
        "|---|---|---|---|---|---|---|---|---|---|".to_string(),
    ];
    let mut all = Row::default();
    for path in models {
        let row = Row::of(path);
        all.add(&row);
        if row.slice_like > 1 {
            lines.push(row.line(&path.parent().unwrap().file_name().unwrap().to_string_lossy()));
        }
    }
    lines.push(all.line(&format!("all {}", models.len())));
    lines.join("\n")
}

#[test]
fn the_readme_shows_what_canonicalisation_does() {
    if let Some(corpus) = files::corpus() {
        eprintln!("{}", table(&corpus));
    }
    let table = table(&files::models());
    let readme = std::fs::read_to_string(files::root().join("README.md")).unwrap();
    let shown =
        readme.split_once("<!-- canonical -->").and_then(|(_, rest)| rest.split_once("<!-- /canonical -->"));
    let shown = shown.map(|(shown, _)| shown.trim());
    assert_eq!(
        shown,
        Some(table.as_str()),
        "between <!-- canonical --> and <!-- /canonical --> of README.md:\n{table}"
    );
}
