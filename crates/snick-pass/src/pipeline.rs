//! Passes by name, and the order in which they run.

use snick_ir::rewrite::{Applied, CheckFailure, MissedRewrite, RewriteOptions, Rule, Trace, apply};
use snick_ir::{Dialect, Graph, Located, Op};

use crate::check::Checker;
use crate::legalize::decompose;
use crate::legalize::to_slice::{self, is_slice_like};
use crate::rules::{
    concat_of_slices, drop_identities, fold_constants, hoist_slice_broadcast, hoist_slice_elementwise,
    hoist_slice_gather, hoist_slice_matmul, hoist_slice_reshape, hoist_slice_rows, hoist_slice_transpose,
    merge_duplicates, merge_slices, shape_of_source, slice_of_concat,
};

/// A named pass.
#[derive(Copy, Clone, Debug)]
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does.
    pub kind: PassKind,
}

/// What a pass does.
#[derive(Copy, Clone, Debug)]
pub enum PassKind {
    /// Applies rules, in order of preference, until nothing changes.
    Rules(&'static [Rule]),
    /// Looks at the graph as a whole; changes it at most so many times.
    Graph(fn(&mut Graph, Option<usize>) -> Trace),
}

impl Pass {
    /// A pass of rules, in order of preference.
    pub const fn of_rules(name: &'static str, rules: &'static [Rule]) -> Self {
        Self { name, kind: PassKind::Rules(rules) }
    }
}

/// The rules of the canonical form. Those that make the graph smaller come first.
const RULES: &[Rule] = &[
    to_slice::RULE,
    fold_constants::RULE,
    drop_identities::RULE,
    merge_slices::RULE,
    concat_of_slices::RULE,
    slice_of_concat::RULE,
    shape_of_source::RULE,
    hoist_slice_elementwise::RULE,
    hoist_slice_broadcast::RULE,
    hoist_slice_rows::RULE,
    hoist_slice_rows::SUMS,
    hoist_slice_gather::RULE,
    hoist_slice_matmul::RULE,
    hoist_slice_transpose::RULE,
    hoist_slice_reshape::RULE,
];

const TOGETHER: Pass = Pass::of_rules("rules", RULES);
const MERGE_DUPLICATES: Pass =
    Pass { name: merge_duplicates::NAME, kind: PassKind::Graph(merge_duplicates::merge_duplicates) };

/// A pass of one rule.
const fn alone(rules: &'static [Rule; 1]) -> Pass {
    Pass::of_rules(rules[0].name, rules)
}

/// Every pass there is, by the name it has on the command line. The canonical form is what is left when none of them
/// finds anything to do.
pub const PASSES: &[Pass] = &[
    alone(&[to_slice::RULE]),
    alone(&[fold_constants::RULE]),
    alone(&[drop_identities::RULE]),
    alone(&[merge_slices::RULE]),
    alone(&[concat_of_slices::RULE]),
    alone(&[slice_of_concat::RULE]),
    alone(&[shape_of_source::RULE]),
    alone(&[hoist_slice_elementwise::RULE]),
    alone(&[hoist_slice_broadcast::RULE]),
    alone(&[hoist_slice_rows::RULE]),
    alone(&[hoist_slice_rows::SUMS]),
    alone(&[hoist_slice_gather::RULE]),
    alone(&[hoist_slice_matmul::RULE]),
    alone(&[hoist_slice_transpose::RULE]),
    alone(&[hoist_slice_reshape::RULE]),
    MERGE_DUPLICATES,
];

/// Merging duplicates may open the way for a rule, and that for merging. More often than this it does not.
const MAX_ROUNDS: usize = 8;

/// How to canonicalise.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Stop after so many replacements: to bisect for a wrong one.
    pub stop_after: Option<usize>,
    /// Only these passes, once each, in this order; empty: all of them until nothing changes.
    pub passes: Vec<String>,
    /// Check every application of a rule, on what is drawn from this seed.
    pub check: Option<u64>,
}

impl Options {
    /// Only the lowering of slice-like layers, one by one.
    pub fn lower_only() -> Self {
        Self { passes: vec![to_slice::RULE.name.into()], ..Self::default() }
    }
}

/// What canonicalisation did.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// Slice-like layers as read: those of the slice family, and others that turned out to be slices.
    pub slice_like_before: usize,
    /// `slice` primitives now.
    pub slice_after: usize,
    /// Rules that fired, in order.
    pub applied: Vec<Applied>,
    /// Slice-like layers that stay, with reasons.
    pub missed: Vec<MissedRewrite>,
    /// Rules that failed, and replacements that were refused.
    pub errors: Vec<Located>,
    /// Replacements that did not pass the check, and did not land.
    pub check_failures: Vec<CheckFailure>,
    /// Applications that were executed before and after, and found equal.
    pub checked: usize,
    /// Applications that could not be executed: an op that cannot run, tensors too large.
    pub unchecked: usize,
}

impl Report {
    /// Whether a rule fired that computes in another order, so that real numbers may round differently.
    pub fn may_round(&self) -> bool {
        let rounds = |applied: &Applied| {
            RULES.iter().chain(decompose::RULES).any(|rule| !rule.exact && rule.name == applied.rule)
        };
        self.applied.iter().any(rounds)
    }

    fn add(&mut self, trace: Trace) {
        self.applied.extend(trace.applied);
        self.missed.extend(trace.missed.into_iter().filter(|left| left.rule == to_slice::RULE.name));
        self.errors.extend(trace.errors);
        self.check_failures.extend(trace.check_failures);
    }
}

/// No pass has this name.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("no pass named `{name}`; the passes are {}", PASSES.iter().map(|p| p.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownPass {
    /// The name asked for.
    pub name: String,
}

/// Brings an inferred graph, and the bodies in it, into canonical form: of the slice family only `slice` is left,
/// but for what [`Report::missed`] lists, and no rule finds anything to improve.
///
/// # Errors
/// [`UnknownPass`], before anything is changed.
pub fn canonicalise(graph: &mut Graph, options: &Options) -> Result<Report, UnknownPass> {
    let mut passes = Vec::new();
    for name in &options.passes {
        passes.push(pass(name).ok_or_else(|| UnknownPass { name: name.clone() })?);
    }
    let rounds = if passes.is_empty() { MAX_ROUNDS } else { 1 };
    if passes.is_empty() {
        passes = vec![TOGETHER, MERGE_DUPLICATES];
    }
    let mut report = Report { slice_like_before: count(graph, &is_slice_like), ..Report::default() };
    let mut checker = options.check.map(Checker::new);
    canonicalise_graph(graph, &passes, rounds, options.stop_after, &mut checker, &mut report);
    let others =
        |applied: &&Applied| applied.rule == to_slice::RULE.name && !to_slice::is_family(&applied.op);
    report.slice_like_before += report.applied.iter().filter(others).count();
    report.slice_after = count(graph, &|op| matches!(op, Op::Slice(_)) && op.dialect() == Dialect::Snick);
    if let Some(checker) = checker {
        (report.checked, report.unchecked) = (checker.checked(), checker.unchecked());
    }
    Ok(report)
}

/// The pass of this name; a decomposition is one, too.
fn pass(name: &str) -> Option<Pass> {
    let decomposition = || decompose::RULES.iter().find(|rule| rule.name == name);
    let known = PASSES.iter().find(|pass| pass.name == name).copied();
    known.or_else(|| decomposition().map(|rule| Pass::of_rules(rule.name, std::slice::from_ref(rule))))
}

/// The graph, and then its bodies.
fn canonicalise_graph(
    graph: &mut Graph,
    passes: &[Pass],
    rounds: usize,
    stop_after: Option<usize>,
    checker: &mut Option<Checker>,
    report: &mut Report,
) {
    for round in 0..rounds {
        let check = checker.as_mut().map(|checker| checker as _);
        let stop_after = stop_after.map(|most| most.saturating_sub(report.applied.len()));
        let mut trace = run(graph, passes, RewriteOptions { stop_after, check, only: None });
        if round + 1 < rounds && !trace.applied.is_empty() {
            // The last round reports declined and failed layers.
            (trace.missed, trace.errors) = (Vec::new(), Vec::new());
            report.add(trace);
            continue;
        }
        report.add(trace);
        break;
    }
    graph.for_each_body(|body| canonicalise_graph(body, passes, rounds, stop_after, checker, report));
}

/// Runs passes on an inferred graph, one after the other, and removes dead nodes. Bodies stay as they
/// are.
pub fn run(graph: &mut Graph, passes: &[Pass], mut how: RewriteOptions) -> Trace {
    let mut trace = Trace::default();
    for pass in passes {
        let stop_after = how.stop_after.map(|most| most.saturating_sub(trace.applied.len()));
        trace.extend(match pass.kind {
            PassKind::Rules(rules) => {
                let check = reborrow(&mut how.check);
                apply(graph, rules, RewriteOptions { stop_after, check, only: how.only })
            }
            PassKind::Graph(change) => change(graph, stop_after),
        });
        graph.remove_dead_nodes();
    }
    trace
}

/// The same check, lent for a shorter time.
fn reborrow<'s>(
    check: &'s mut Option<&mut dyn snick_ir::rewrite::Check>,
) -> Option<&'s mut dyn snick_ir::rewrite::Check> {
    match check {
        Some(check) => Some(*check),
        None => None,
    }
}

fn count(graph: &Graph, which: &impl Fn(&Op) -> bool) -> usize {
    let here = |id| usize::from(which(graph.node(id).op()));
    let inside = |id| graph.node(id).op().bodies().map(|(_, body)| count(body, which)).sum::<usize>();
    graph.ids().map(|id| here(id) + inside(id)).sum()
}
