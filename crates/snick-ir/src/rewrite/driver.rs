//! The driver: applies rules to every node until nothing changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::time::Instant;

use super::trace::{Applied, CheckFailure, MissedRewrite, RuleWork, Trace, now};
use super::{Committed, Liveness, Patch, Replacement, RewriteResult, Rule, is_refused_by_inference};
use crate::builder::DetachedNodes;
use crate::{Fact, Graph, Located, Monitor, NodeId, OpError, OpTraits, Value};

/// A replacement before it is committed; the graph contains both old and new layers.
#[derive(Copy, Clone, Debug)]
pub struct Proposal<'a> {
    /// The graph, in which nothing reads the new values yet.
    pub graph: &'a Graph,
    /// The rule.
    pub rule: &'a Rule,
    /// The node to replace.
    pub root: NodeId,
    /// The values that would replace the outputs of the node, by port.
    pub values: &'a [Option<Value>],
    /// The nodes that the rule added.
    pub added: &'a [NodeId],
}

/// Checks replacements before they are committed.
pub trait Check {
    /// Accepts the replacement, or returns the reason for rejecting it.
    fn check(&mut self, proposal: &Proposal) -> Result<(), String>;
}

/// Selects nodes of a graph.
pub type NodeFilter<'f> = dyn Fn(&Graph, NodeId) -> bool + 'f;

/// Receives each replacement; `Break` stops the work.
pub type AppliedHook<'f> = dyn Fn(&Applied) -> ControlFlow<()> + 'f;

/// How the driver applies rules.
#[derive(Default)]
pub struct DriverOptions<'c> {
    /// The maximum number of replacements.
    pub stop_after: Option<usize>,
    /// Checks every replacement.
    pub check: Option<&'c mut dyn Check>,
    /// The nodes that rules may replace; `None` for all.
    pub only: Option<&'c NodeFilter<'c>>,
    /// Whether to measure the [time](RuleWork::time) of each rule. Takes up to a tenth of the total time,
    /// because the clock is read for each rule at each layer.
    pub timed: bool,
    /// Called after each replacement. `Break` stops the work, and the graph is then partly rewritten.
    pub on_applied: Option<&'c AppliedHook<'c>>,
    /// Reports progress, and can stop the work early; the graph is then partly rewritten.
    pub monitor: Option<&'c mut Monitor>,
}

/// Applies `rules` to every node, including new ones, until nothing changes. Removes dead nodes before and
/// afterwards, and also replaced opaque layers.
///
/// Parameters and Results are never removed, because they are the signature of the model. Nor are stateful
/// layers, because their effect is not visible in their outputs.
pub fn apply(graph: &mut Graph, rules: &[Rule], options: DriverOptions) -> Trace {
    graph.remove_dead_nodes();
    let Ok(order) = graph.order() else { return Trace::default() };
    let mut driver = Driver::new(graph, rules, order, options);
    while let Some(id) = driver.worklist.next() {
        if driver.visit(id).is_break() || driver.report(id).is_break() {
            break;
        }
    }
    driver.finish()
}

/// State of applying rules to a graph.
struct Driver<'g, 'c> {
    graph: &'g mut Graph,
    rules: &'g [Rule],
    options: DriverOptions<'c>,
    worklist: Worklist,
    /// The maximum number of replacements.
    limit: usize,
    visited: usize,
    trace: Trace,
    /// Nodes that a rule declined, with reasons; an entry is dropped when its node is visited again.
    missed: BTreeMap<NodeId, MissedRewrite>,
    /// Pairs of a node and the index of a rule that failed there and is not retried.
    failed: BTreeSet<(NodeId, usize)>,
}

impl<'g, 'c> Driver<'g, 'c> {
    fn new(graph: &'g mut Graph, rules: &'g [Rule], order: Vec<NodeId>, options: DriverOptions<'c>) -> Self {
        // The limit stops rules that keep applying to their own replacements; correct rules need only a few
        // replacements per layer.
        let limit = options.stop_after.unwrap_or(64 + 16 * order.len());
        let work = rules.iter().map(|rule| RuleWork::new(rule.shared_name())).collect();
        Self {
            worklist: Worklist::new(graph, order),
            graph,
            rules,
            options,
            limit,
            visited: 0,
            trace: Trace { work, ..Trace::default() },
            missed: BTreeMap::new(),
            failed: BTreeSet::new(),
        }
    }

    /// Applies the first rule that replaces the node. Returns `Break` at the limit of replacements.
    fn visit(&mut self, id: NodeId) -> ControlFlow<()> {
        self.missed.remove(&id);
        if self.options.only.is_some_and(|only| !only(self.graph, id)) {
            return ControlFlow::Continue(());
        }
        // Rules rely on the number of inputs. A layer with a wrong number of inputs is an error anyway.
        let arity = self.graph.node(id).op().arity();
        if arity.check(self.graph.inputs(id).len()).is_err() {
            return ControlFlow::Continue(());
        }
        let mut begun = if self.options.timed { now() } else { None };
        let mut next = 0;
        while let Some(outcome) = self.try_rules(id, next, &mut begun)? {
            next = outcome.rule + 1;
            if self.finish_visit(id, outcome, &mut begun).is_break() {
                return self.announce();
            }
        }
        ControlFlow::Continue(())
    }

    /// Announces the last replacement. Returns `Break` if the caller stops the work.
    fn announce(&mut self) -> ControlFlow<()> {
        let (Some(on_applied), Some(applied)) = (self.options.on_applied, self.trace.applied.last()) else {
            return ControlFlow::Continue(());
        };
        let control = on_applied(applied);
        if let (ControlFlow::Break(()), Some(monitor)) = (control, &mut self.options.monitor) {
            monitor.cancel(&applied.layer);
        }
        control
    }

    /// Tries rules on a node, starting with rule `next`, until one matches. Returns `Break` at the limit of
    /// replacements.
    fn try_rules(
        &mut self,
        id: NodeId,
        next: usize,
        begun: &mut Option<Instant>,
    ) -> ControlFlow<(), Option<Outcome>> {
        let monitor = self.options.monitor.as_deref_mut();
        let mut patch = Patch::new(self.graph, id, &self.worklist.liveness, monitor);
        for (number, rule) in self.rules.iter().enumerate().skip(next) {
            if !rule.starts_at(patch.node().op()) || self.failed.contains(&(id, number)) {
                continue;
            }
            if self.trace.applied.len() >= self.limit {
                if self.options.stop_after.is_none() {
                    self.trace.errors.push(endless(&patch, &self.trace));
                }
                return ControlFlow::Break(());
            }
            let result = rule.apply(&mut patch);
            let work = &mut self.trace.work[number];
            work.tried += 1;
            if !matches!(result, Ok(RewriteResult::NoMatch)) {
                let new = patch.builder.take_new_nodes();
                return ControlFlow::Continue(Some(Outcome { rule: number, result, new }));
            }
            work.pause(begun);
            patch.undo();
        }
        ControlFlow::Continue(None)
    }

    /// Commits or rejects the result of a rule. Returns `Break` if the node was replaced.
    fn finish_visit(&mut self, id: NodeId, outcome: Outcome, begun: &mut Option<Instant>) -> ControlFlow<()> {
        let Outcome { rule: number, result, new } = outcome;
        let rule = &self.rules[number];
        let node = self.graph.node(id);
        let (layer, op) = (node.shared_name(), node.op().type_name().to_string());
        let applied = Applied { rule: rule.shared_name(), layer, op, exact: rule.is_exact() };
        let (verdict, replacement) = match result {
            Ok(RewriteResult::NoMatch) => return ControlFlow::Continue(()),
            Ok(RewriteResult::Declined(reason)) => (Verdict::Declined(reason), None),
            Err(error) => (Verdict::Fail(error), None),
            Ok(RewriteResult::Replaced(values)) => {
                let replacement = Replacement::stage(self.graph, id, new, values);
                let verdict = judge(self.graph, rule, &replacement, self.options.check.as_deref_mut());
                (verdict, Some(replacement))
            }
        };
        let work = &mut self.trace.work[number];
        work.applied += usize::from(matches!(verdict, Verdict::Commit { .. }));
        work.declined += usize::from(matches!(verdict, Verdict::Declined(_)));
        work.pause(begun);
        match (verdict, replacement) {
            (Verdict::Commit { keeps_facts }, Some(replacement)) => {
                let committed = replacement.commit(self.graph, keeps_facts);
                self.trace.applied.push(applied);
                self.worklist.update(self.graph, id, &committed);
                return ControlFlow::Break(());
            }
            (verdict, replacement) => {
                if let Some(replacement) = replacement {
                    replacement.undo(self.graph);
                }
                self.reject(id, number, verdict, applied);
            }
        }
        ControlFlow::Continue(())
    }

    /// Logs that a rule did not replace a node.
    fn reject(&mut self, id: NodeId, number: usize, verdict: Verdict, applied: Applied) {
        let mut miss = |applied: Applied, reason: String| {
            let Applied { rule, layer, op, .. } = applied;
            self.missed.insert(id, MissedRewrite { rule, layer, op, reason });
        };
        match verdict {
            Verdict::Commit { .. } => {}
            Verdict::Declined(reason) => miss(applied, reason),
            Verdict::Fail(error) => {
                self.failed.insert((id, number));
                // Do not report errors of the layer itself, which inference already reports.
                if is_refused_by_inference(self.graph, id) {
                    miss(applied, error.to_string());
                } else {
                    self.trace.errors.push(self.graph.located(id, error));
                }
            }
            Verdict::Refute(report) => {
                self.failed.insert((id, number));
                self.trace.check_failures.push(CheckFailure { applied, report });
            }
        }
    }

    /// Reports progress: a node was visited. Returns `Break` if the monitor stops the work.
    fn report(&mut self, id: NodeId) -> ControlFlow<()> {
        self.visited += 1;
        let Some(monitor) = &mut self.options.monitor else { return ControlFlow::Continue(()) };
        let waiting = self.worklist.todo.len();
        monitor.report(self.visited, self.visited + waiting, self.graph.node(id).name());
        if monitor.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Removes dead nodes and returns the log.
    fn finish(mut self) -> Trace {
        let liveness = self.worklist.liveness;
        self.missed.retain(|&id, _| !liveness.is_dead(id));
        self.trace.missed.extend(self.missed.into_values());
        self.graph
            .remove_all_but(|graph, id| graph.node(id).op().has(OpTraits::ROOT) && !liveness.is_dead(id));
        self.trace
    }
}

/// The error for rules that keep applying to their own replacements.
fn endless(patch: &Patch, trace: &Trace) -> Located {
    let rule = trace.applied.last().map_or_else(String::new, |applied| applied.rule.to_string());
    patch.graph().located(patch.root, OpError::EndlessRule { rule, rewrites: trace.applied.len() })
}

/// Applies `rules` to the graph and its bodies.
///
/// # Errors
/// See [`Trace::complete`].
pub fn apply_throughout(graph: &mut Graph, rules: &[Rule]) -> Result<(), Box<Located>> {
    let mut result = apply(graph, rules, DriverOptions::default()).complete();
    graph.for_each_body(|body| {
        if result.is_ok() {
            result = apply_throughout(body, rules);
        }
    });
    result
}

/// The queue of nodes to visit, which holds each node at most once.
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

    /// Puts the nodes added by a replacement of `root` at the front of the queue. Redirected readers, and
    /// nodes that have become the only reader of another node, go to the back.
    fn update(&mut self, graph: &Graph, root: NodeId, committed: &Committed) {
        let alone = self.liveness.update(graph, root, committed);
        committed.moved.iter().for_each(|&(reader, _)| self.push_back(reader));
        alone.into_iter().for_each(|reader| self.push_back(reader));
        committed.added.iter().rev().for_each(|&added| self.push_front(added));
    }
}

/// The result of a rule that matched or failed.
struct Outcome {
    /// The index of the rule.
    rule: usize,
    result: Result<RewriteResult, OpError>,
    new: DetachedNodes,
}

/// The driver's decision about the result of a rule.
enum Verdict {
    Commit { keeps_facts: bool },
    Declined(String),
    Fail(OpError),
    Refute(String),
}

/// Decides whether to commit a replacement.
fn judge(
    graph: &Graph,
    rule: &Rule,
    replacement: &Replacement,
    check: Option<&mut (dyn Check + '_)>,
) -> Verdict {
    if let Err(error) = connects(graph, replacement) {
        return Verdict::Fail(error);
    }
    let Replacement { root, values, added } = replacement;
    let keeps_facts = match refused(graph, replacement) {
        Some((error, true)) => return Verdict::Fail(error),
        // The facts of an opaque layer come from the file, and may be more precise than the facts inferred
        // for its replacement.
        Some((error, false)) if !rule.keeps_facts() && !graph.node(*root).op().is_opaque() => {
            return Verdict::Declined(error.to_string());
        }
        refused => rule.keeps_facts() || refused.is_some(),
    };
    let proposal = Proposal { graph, rule, root: *root, values, added };
    match check.map_or(Ok(()), |check| check.check(&proposal)) {
        Ok(()) => Verdict::Commit { keeps_facts },
        Err(report) => Verdict::Refute(report),
    }
}

/// Checks that each value of a replacement replaces an existing output, exists in the graph, and does not
/// depend on the replaced node.
fn connects(graph: &Graph, replacement: &Replacement) -> Result<(), OpError> {
    let &Replacement { root, ref values, ref added } = replacement;
    let outputs = graph.node(root).outs().len();
    for (port, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let output = Value { node: root, port: u32::try_from(port).unwrap_or(u32::MAX) };
        if port >= outputs && graph.uses(output).is_empty() {
            let expected = format!("{outputs}, as for the layer");
            return Err(OpError::mismatch("the number of new values", values.len(), expected));
        }
        graph.fact(*value).ok_or(OpError::ForeignValue)?;
        if value.node == root {
            return Err(OpError::ReadsReplaced);
        }
    }
    let reads_root = |&id: &NodeId| graph.sources(id).any(|source| source == root);
    if added.iter().any(reads_root) { Err(OpError::ReadsReplaced) } else { Ok(()) }
}

/// The error if the fact of a new value does not refine the fact of the output it replaces, and whether
/// the two facts contradict each other. A contradiction is an error of the rule; a less precise fact is not.
fn refused(graph: &Graph, replacement: &Replacement) -> Option<(OpError, bool)> {
    let symbols = graph.symbols();
    for (port, &value) in (0..).zip(&replacement.values) {
        let Some(value) = value else { continue };
        // An opaque layer may have more outputs than it declares.
        let Some(old) = graph.fact(Value { node: replacement.root, port }) else { continue };
        let new = graph.fact(value);
        if !new.is_some_and(|new| new.refines(old, symbols)) {
            let text = |f: &Fact| format!("{}{}", f.element_type, f.shape.display(symbols));
            let got = new.map_or("nothing".to_string(), text);
            let error = OpError::mismatch(format!("the replacement of output {port}"), got, text(old));
            return Some((error, !new.is_some_and(|new| new.agrees(old, symbols))));
        }
    }
    None
}
