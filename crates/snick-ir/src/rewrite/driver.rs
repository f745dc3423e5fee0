//! The driver: applies rules to every node until nothing changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{Liveness, Patch, RewriteResult, Rule};
use crate::{Fact, Graph, Located, NodeId, OpError, Value};

/// One rule that fired.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The rule.
    pub rule: &'static str,
    /// The layer it replaced.
    pub layer: Arc<str>,
    /// The layer's operation type.
    pub op: String,
}

/// A layer that a rule had to leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissedRewrite {
    /// The rule.
    pub rule: &'static str,
    /// The layer.
    pub layer: Arc<str>,
    /// Its operation type.
    pub op: String,
    /// Why it stays.
    pub reason: String,
}

/// A replacement that a [`Check`] refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckFailure {
    /// The rule, the layer and its operation type.
    pub applied: Applied,
    /// What is wrong with it, in as many lines as it takes.
    pub report: String,
}

/// What the driver did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// Rules that fired, in order.
    pub applied: Vec<Applied>,
    /// Layers left, with reasons.
    pub missed: Vec<MissedRewrite>,
    /// Rules that failed or whose replacement was refused.
    pub errors: Vec<Located>,
    /// Replacements that did not pass the check.
    pub check_failures: Vec<CheckFailure>,
}

impl Trace {
    /// # Errors
    /// The first that a rule gave: what it stands for is then still there.
    pub fn complete(self) -> Result<(), Box<Located>> {
        self.errors.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Adds what was done later.
    pub fn extend(&mut self, later: Self) {
        self.applied.extend(later.applied);
        self.missed.extend(later.missed);
        self.errors.extend(later.errors);
        self.check_failures.extend(later.check_failures);
    }
}

/// A replacement about to land: old and new stand in the graph side by side.
#[derive(Copy, Clone, Debug)]
pub struct Proposal<'a> {
    /// The graph, in which nobody reads the new values yet.
    pub graph: &'a Graph,
    /// The rule.
    pub rule: &'a Rule,
    /// The node to be replaced.
    pub root: NodeId,
    /// What shall replace its outputs, by port.
    pub values: &'a [Option<Value>],
    /// The nodes that the rule added for it.
    pub added: &'a [NodeId],
}

/// Judges replacements before they land.
pub trait Check {
    /// Lets the replacement land, or says what is wrong with it.
    fn check(&mut self, proposal: &Proposal) -> Result<(), String>;
}

/// How rules are applied.
#[derive(Default)]
pub struct RewriteOptions<'c> {
    /// At most so many replacements.
    pub stop_after: Option<usize>,
    /// Judges every replacement.
    pub check: Option<&'c mut dyn Check>,
}

/// Applies `rules` to every node, and to what they put in, until nothing changes. Nodes that lead nowhere are swept
/// away first; replaced nodes stay behind, unread: sweep the graph afterwards.
pub fn apply(graph: &mut Graph, rules: &[Rule], mut how: RewriteOptions) -> Trace {
    let mut trace = Trace::default();
    graph.remove_dead_nodes();
    let Ok(order) = graph.order() else { return trace };
    // A rule set that feeds itself must end: no sound one needs more than a few replacements a layer.
    let limit = how.stop_after.unwrap_or(64 + 16 * order.len());
    let mut work = Worklist::new(graph, order);
    // A node is looked at again when its surroundings change: what was said of it then no longer holds, what failed
    // is not tried again.
    let mut left = BTreeMap::new();
    let mut failed = BTreeSet::new();
    while let Some(id) = work.next() {
        left.remove(&id);
        for rule in rules {
            if failed.contains(&(id, rule.name)) {
                continue;
            }
            if trace.applied.len() >= limit {
                trace.missed.extend(left.into_values());
                return trace;
            }
            let mut patch = Patch::new(graph, id, &work.liveness);
            let outcome = (rule.apply)(&mut patch);
            if matches!(outcome, Ok(RewriteResult::NoMatch)) {
                patch.undo();
                continue;
            }
            let node = patch.node();
            let applied =
                Applied { rule: rule.name, layer: node.name.clone(), op: node.op.type_name().to_string() };
            match judge(&patch, rule, outcome, how.check.as_deref_mut()) {
                Verdict::Commit(values) => {
                    let committed = patch.commit(&values);
                    trace.applied.push(applied);
                    let alone = work.liveness.update(graph, id, &committed);
                    committed.moved.iter().for_each(|&(reader, _)| work.push_back(reader));
                    alone.into_iter().for_each(|reader| work.push_back(reader));
                    committed.added.iter().rev().for_each(|&added| work.push_front(added));
                    break;
                }
                Verdict::Declined(reason) => {
                    patch.undo();
                    left.insert(
                        id,
                        MissedRewrite { rule: applied.rule, layer: applied.layer, op: applied.op, reason },
                    );
                }
                Verdict::Fail(error) => {
                    patch.undo();
                    failed.insert((id, rule.name));
                    trace.errors.push(graph.located(id, error));
                }
                Verdict::Refute(report) => {
                    patch.undo();
                    failed.insert((id, rule.name));
                    trace.check_failures.push(CheckFailure { applied, report });
                }
            }
        }
    }
    left.retain(|&id, _| !work.liveness.is_dead(id));
    trace.missed.extend(left.into_values());
    trace
}

/// Applies `rules` to the graph and the bodies in it, and sweeps away what is left behind.
///
/// # Errors
/// As [`Trace::complete`].
pub fn apply_throughout(graph: &mut Graph, rules: &[Rule]) -> Result<(), Box<Located>> {
    let mut result = apply(graph, rules, RewriteOptions::default()).complete();
    graph.remove_dead_nodes();
    graph.for_each_body(|body| {
        if result.is_ok() {
            result = apply_throughout(body, rules);
        }
    });
    result
}

/// Nodes still to look at, each at most once.
struct Worklist {
    todo: VecDeque<NodeId>,
    waiting: Vec<bool>,
    liveness: Liveness,
}

impl Worklist {
    fn new(graph: &Graph, order: Vec<NodeId>) -> Self {
        Self { waiting: vec![true; graph.bound()], todo: order.into(), liveness: Liveness::of(graph) }
    }

    fn next(&mut self) -> Option<NodeId> {
        loop {
            let id = self.todo.pop_front()?;
            self.waiting[id.index()] = false;
            if !self.liveness.is_dead(id) {
                return Some(id);
            }
        }
    }

    fn is_new(&mut self, id: NodeId) -> bool {
        if id.index() >= self.waiting.len() {
            self.waiting.resize(id.index() + 1, false);
        }
        !std::mem::replace(&mut self.waiting[id.index()], true)
    }

    fn push_back(&mut self, id: NodeId) {
        if self.is_new(id) {
            self.todo.push_back(id);
        }
    }

    fn push_front(&mut self, id: NodeId) {
        if self.is_new(id) {
            self.todo.push_front(id);
        }
    }
}

/// What becomes of what a rule answered.
enum Verdict {
    Commit(crate::op::Values),
    Declined(String),
    Fail(OpError),
    Refute(String),
}

fn judge(
    patch: &Patch,
    rule: &Rule,
    outcome: Result<RewriteResult, OpError>,
    check: Option<&mut (dyn Check + '_)>,
) -> Verdict {
    let values = match outcome {
        Ok(RewriteResult::Replaced(values)) => values,
        Ok(RewriteResult::Declined(reason)) => return Verdict::Declined(reason),
        Ok(RewriteResult::NoMatch) => return Verdict::Declined(String::new()),
        Err(error) => return Verdict::Fail(error),
    };
    if let Some((error, is_wrong)) = refused(patch, &values) {
        return if is_wrong { Verdict::Fail(error) } else { Verdict::Declined(error.to_string()) };
    }
    let proposal =
        Proposal { graph: patch.graph(), rule, root: patch.root, values: &values, added: patch.added() };
    match check.map_or(Ok(()), |check| check.check(&proposal)) {
        Ok(()) => Verdict::Commit(values),
        Err(report) => Verdict::Refute(report),
    }
}

/// Why a replacement must not land: some new fact does not refine the old one. It may say less, which is no mistake of
/// the rule, or something else, which is.
fn refused(patch: &Patch, values: &[Option<Value>]) -> Option<(OpError, bool)> {
    let symbols = patch.graph().symbols();
    for (port, &value) in (0..).zip(values) {
        let Some(value) = value else { continue };
        let old = patch.graph().fact(patch.output(port))?;
        let new = patch.graph().fact(value);
        if !new.is_some_and(|new| new.refines(old, symbols)) {
            let text = |f: &Fact| format!("{}{}", f.element_type, f.shape.display_symbolic(symbols));
            let got = new.map_or("nothing".to_string(), text);
            let error = OpError::mismatch(format!("the replacement of output {port}"), got, text(old));
            return Some((error, !new.is_some_and(|new| new.agrees(old, symbols))));
        }
    }
    None
}
