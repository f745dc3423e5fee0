//! The driver: applies rules to every node until nothing changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{Liveness, Patch, RewriteResult, Rule};
use crate::{Fact, Graph, Located, NodeId, OpError, Value};

/// An applied rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The rule.
    pub rule: &'static str,
    /// The layer it replaced.
    pub layer: Arc<str>,
    /// The layer's operation type.
    pub op: String,
}

/// A layer that a rule matched but declined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissedRewrite {
    /// The rule.
    pub rule: &'static str,
    /// The layer.
    pub layer: Arc<str>,
    /// Its operation type.
    pub op: String,
    /// The reason.
    pub reason: String,
}

/// A replacement that a [`Check`] refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckFailure {
    /// The rule, the layer and its operation type.
    pub applied: Applied,
    /// The report, of one or more lines.
    pub report: String,
}

/// The log of the driver.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// Applied rules, in order.
    pub applied: Vec<Applied>,
    /// Declined layers, with reasons.
    pub missed: Vec<MissedRewrite>,
    /// Rules that failed or whose replacement was refused.
    pub errors: Vec<Located>,
    /// Replacements that did not pass the check.
    pub check_failures: Vec<CheckFailure>,
}

impl Trace {
    /// # Errors
    /// The first error of a rule; its layer is unchanged.
    pub fn complete(self) -> Result<(), Box<Located>> {
        self.errors.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Appends a later log.
    pub fn extend(&mut self, later: Self) {
        self.applied.extend(later.applied);
        self.missed.extend(later.missed);
        self.errors.extend(later.errors);
        self.check_failures.extend(later.check_failures);
    }
}

/// A replacement before it is committed: the graph has the old and the new layers.
#[derive(Copy, Clone, Debug)]
pub struct Proposal<'a> {
    /// The graph, in which nothing reads the new values yet.
    pub graph: &'a Graph,
    /// The rule.
    pub rule: &'a Rule,
    /// The node to replace.
    pub root: NodeId,
    /// The values that replace its outputs, by port.
    pub values: &'a [Option<Value>],
    /// The nodes that the rule added for it.
    pub added: &'a [NodeId],
}

/// Checks replacements before they are committed.
pub trait Check {
    /// Accepts the replacement, or reports what is wrong with it.
    fn check(&mut self, proposal: &Proposal) -> Result<(), String>;
}

/// Chooses nodes of a graph.
pub type NodeFilter<'f> = dyn Fn(&Graph, NodeId) -> bool + 'f;

/// How rules are applied.
#[derive(Default)]
pub struct RewriteOptions<'c> {
    /// The maximum number of replacements.
    pub stop_after: Option<usize>,
    /// Checks every replacement.
    pub check: Option<&'c mut dyn Check>,
    /// The nodes that rules may replace; all if `None`.
    pub only: Option<&'c NodeFilter<'c>>,
}

/// Applies `rules` to every node, new ones included, until nothing changes. Dead nodes are removed first; replaced
/// nodes stay in the graph, unread: call [`Graph::remove_dead_nodes`] afterwards.
pub fn apply(graph: &mut Graph, rules: &[Rule], mut options: RewriteOptions) -> Trace {
    let mut trace = Trace::default();
    graph.remove_dead_nodes();
    let Ok(order) = graph.order() else { return trace };
    // Rules that apply to their own replacements must end: no sound set needs more than a few replacements a layer.
    let limit = options.stop_after.unwrap_or(64 + 16 * order.len());
    let mut work = Worklist::new(graph, order);
    // A node is visited again when its surroundings change. Reasons of before are then dropped; a failed node is not
    // visited again.
    let mut missed = BTreeMap::new();
    let mut failed = BTreeSet::new();
    while let Some(id) = work.next() {
        missed.remove(&id);
        if options.only.is_some_and(|only| !only(graph, id)) {
            continue;
        }
        for rule in rules {
            if failed.contains(&(id, rule.name)) {
                continue;
            }
            if trace.applied.len() >= limit {
                trace.missed.extend(missed.into_values());
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
                Applied { rule: rule.name, layer: node.shared_name(), op: node.op().type_name().to_string() };
            match judge(&patch, rule, outcome, options.check.as_deref_mut()) {
                Verdict::Commit(values) => {
                    let committed = patch.commit(&values, rule.keeps_facts);
                    trace.applied.push(applied);
                    let alone = work.liveness.update(graph, id, &committed);
                    committed.moved.iter().for_each(|&(reader, _)| work.push_back(reader));
                    alone.into_iter().for_each(|reader| work.push_back(reader));
                    committed.added.iter().rev().for_each(|&added| work.push_front(added));
                    break;
                }
                Verdict::Declined(reason) => {
                    patch.undo();
                    missed.insert(
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
    missed.retain(|&id, _| !work.liveness.is_dead(id));
    trace.missed.extend(missed.into_values());
    trace
}

/// Applies `rules` to the graph and its bodies, and removes dead nodes.
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

/// The nodes to visit, each at most once.
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

/// The decision on the result of a rule.
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
    match refused(patch, &values) {
        Some((error, true)) => return Verdict::Fail(error),
        Some((error, false)) if !rule.keeps_facts => return Verdict::Declined(error.to_string()),
        _ => {}
    }
    let proposal =
        Proposal { graph: patch.graph(), rule, root: patch.root, values: &values, added: patch.added() };
    match check.map_or(Ok(()), |check| check.check(&proposal)) {
        Ok(()) => Verdict::Commit(values),
        Err(report) => Verdict::Refute(report),
    }
}

/// Why a replacement is refused: a new fact does not refine the old one; and whether they contradict each other, which
/// is an error of the rule. A fact that is only less precise is not.
fn refused(patch: &Patch, values: &[Option<Value>]) -> Option<(OpError, bool)> {
    let symbols = patch.graph().symbols();
    for (port, &value) in (0..).zip(values) {
        let Some(value) = value else { continue };
        let old = patch.graph().fact(patch.output(port))?;
        let new = patch.graph().fact(value);
        if !new.is_some_and(|new| new.refines(old, symbols)) {
            let text = |f: &Fact| format!("{}{}", f.element_type, f.shape.display(symbols));
            let got = new.map_or("nothing".to_string(), text);
            let error = OpError::mismatch(format!("the replacement of output {port}"), got, text(old));
            return Some((error, !new.is_some_and(|new| new.agrees(old, symbols))));
        }
    }
    None
}
