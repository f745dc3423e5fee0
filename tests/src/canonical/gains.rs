//! Checks the tables in the book that show the savings of canonicalisation: for the models of `models/`, and
//! for the recurrent networks in the folder named by `SNICK_CORPUS`, if it has them. Prints the table for
//! that corpus on standard error.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use snick::{DimPolicy, draw_inputs};
use snick_ir::{Graph, NodeId, Op, Value};
use snick_pass::{Cost, RewriteOptions, canonicalise};
use snick_run::{Session, Variables};
use snick_tensor::kernels::strided_copy::packed_parts;

use crate::documentation::{check_documented, documented};
use crate::files::{self, name};

/// Counts for one or several models.
#[derive(Clone, Default)]
struct Row {
    slice_like: usize,
    slices: usize,
    lowered: Cost,
    after: Cost,
    /// Bytes of sliced data that the interpreter must copy, for the lowered graph and for the canonical one.
    copied: [u64; 2],
}

impl Row {
    fn of(path: &Path) -> Self {
        let mut graph = snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}")).graph;
        snick_ir::infer(&mut graph);
        let mut lowered = graph.clone();
        drop(snick_pass::lower_slices(&mut lowered));
        let report = canonicalise(&mut graph, &RewriteOptions::new());
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

/// Bytes that the readers of slices, or of views of slices, copy in one run.
fn copied(graph: &Graph) -> u64 {
    let Ok(session) = Session::new(graph) else { return 0 };
    let Ok(inputs) = draw_inputs(graph, vec![None; graph.parameters().count()], 1, DimPolicy::Smallest)
    else {
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
        match graph.node(value.node).op() {
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
    // Copies inside bodies count towards the layer.
    graph.node(reader).op().bodies().next().is_some()
}

const HEADER: [&str; 2] = [
    "| model | slice-like | `slice`, lowered | `slice`, canonical | layers, lowered | layers, canonical | \
     bytes sliced, lowered | bytes sliced, canonical | copied, lowered | copied, canonical |",
    "|---|---|---|---|---|---|---|---|---|---|",
];

/// A line for each model that `is_shown` accepts, and one for the total.
fn table(models: &[PathBuf], is_shown: fn(&Row) -> bool) -> String {
    let mut lines = HEADER.map(String::from).to_vec();
    let mut all = Row::default();
    for path in models {
        let row = Row::of(path);
        all.add(&row);
        if is_shown(&row) {
            lines.push(row.line(&name(path)));
        }
    }
    lines.push(all.line(&format!("all {}", models.len())));
    lines.join("\n")
}

#[test]
fn the_documented_gains_on_models_are_current() {
    let slices = |row: &Row| row.slice_like > 1;
    if let Some(corpus) = files::corpus() {
        eprintln!("{}", table(&corpus, slices));
    }
    check_documented("canonical", &table(&files::models(), slices));
}

#[test]
fn the_documented_gains_on_recurrent_networks_are_current() {
    let Some(corpus) = files::corpus() else { return };
    let shown = documented("recurrent");
    let wanted: Vec<&str> = shown.lines().skip(2).filter_map(|line| line.split('|').nth(1)).collect();
    let (_all, wanted) = wanted.split_last().unwrap();
    let found = wanted.iter().map(|wanted| corpus.iter().find(|path| name(path) == wanted.trim()).cloned());
    // Other corpora have no such table.
    let Some(models) = found.collect::<Option<Vec<_>>>() else { return };
    check_documented("recurrent", &table(&models, |_| true));
}
