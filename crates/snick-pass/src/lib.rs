//! Graph to better graph: named passes and the canonical pipeline.
//!
//! A pass is a list of [`Rule`]s; the driver in `snick_ir::rewrite` applies them, checks that every replacement refines
//! what was known, and keeps names and places. One file a pass.

mod lower_slices;

use snick_ir::rewrite::{Applied, Left, Rule, apply};
use snick_ir::{Dialect, Graph, Located, Op};

pub use lower_slices::{LOWER_SLICES, is_slice_like};

/// A named pass.
#[derive(Copy, Clone, Debug)]
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// The rules, in order of preference.
    pub rules: &'static [Rule],
}

/// Every pass there is, in the order in which the canonical pipeline runs them.
pub const PIPELINE: &[Pass] = &[Pass { name: "lower-slices", rules: &[LOWER_SLICES] }];

/// How to canonicalise.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Stop after so many replacements: for finding the one that is wrong.
    pub stop_after: Option<usize>,
    /// Only these passes, in this order; empty: the whole pipeline.
    pub passes: Vec<String>,
}

/// What canonicalisation did.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// Slice-like layers as read.
    pub slice_like_before: usize,
    /// `slice` primitives now.
    pub slice_after: usize,
    /// Rules that fired, in order.
    pub applied: Vec<Applied>,
    /// Slice-like layers that stay, with reasons.
    pub left: Vec<Left>,
    /// Rules that failed, and replacements that were refused.
    pub errors: Vec<Located>,
}

/// No pass has this name.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("there is no pass `{name}`; there are: {}", PIPELINE.iter().map(|p| p.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownPass {
    /// The name asked for.
    pub name: String,
}

/// Brings an inferred graph, and the bodies in it, into canonical form: of the slice family only `slice` is left,
/// but for what [`Report::left`] lists.
///
/// # Errors
/// [`UnknownPass`], before anything is changed.
pub fn canonicalise(graph: &mut Graph, options: &Options) -> Result<Report, UnknownPass> {
    let mut passes = Vec::new();
    for name in &options.passes {
        let pass = PIPELINE.iter().find(|pass| pass.name == name);
        passes.push(pass.ok_or_else(|| UnknownPass { name: name.clone() })?);
    }
    if passes.is_empty() {
        passes.extend(PIPELINE);
    }
    let mut report = Report { slice_like_before: count(graph, &is_slice_like), ..Report::default() };
    run(graph, &passes, options.stop_after, &mut report);
    report.slice_after = count(graph, &|op| matches!(op, Op::Slice(_)) && op.dialect() == Dialect::Snick);
    Ok(report)
}

fn run(graph: &mut Graph, passes: &[&Pass], stop_after: Option<usize>, report: &mut Report) {
    for pass in passes {
        let left = stop_after.map(|n| n.saturating_sub(report.applied.len()));
        let trace = apply(graph, pass.rules, left);
        report.applied.extend(trace.applied);
        report.left.extend(trace.left);
        report.errors.extend(trace.errors);
    }
    graph.sweep();
    graph.for_each_body(|body| run(body, passes, stop_after, report));
}

fn count(graph: &Graph, which: &impl Fn(&Op) -> bool) -> usize {
    let here = |id| usize::from(which(&graph.node(id).op));
    let inside = |id| graph.node(id).op.bodies().map(|(_, body)| count(body, which)).sum::<usize>();
    graph.ids().map(|id| here(id) + inside(id)).sum()
}
