//! Passes by name, and the order in which they run.

use std::sync::Arc;

use snick_ir::rewrite::{Applied, CheckFailure, DriverOptions, Rule, Tolerance, Trace};
use snick_ir::{Graph, Located, Monitor, did_you_mean_or};

use crate::check::{Checker, Difference};
use crate::legalize::{decompose, inline_if, to_slice};
use crate::options::{OnApplied, RewriteOptions};
use crate::pass::Pass;
use crate::report::{Report, count};
use crate::rules::*;
use crate::states;

macro_rules! canonical_form {
    ($($rule:path),* $(,)?) => {
        const RULES: &[Rule] = &[$($rule),*];

        /// All passes, by their names on the command line. The canonical form is the result of applying them
        /// to a fixed point.
        ///
        /// ```
        /// let names: Vec<&str> = snick::PASSES.iter().map(|pass| pass.name()).collect();
        /// assert!(names.contains(&"merge-slices"));
        /// ```
        pub const PASSES: &[Pass] = &[
            $(alone(const { &[$rule] }),)*
            Pass::of_graph(merge_duplicates::NAME, merge_duplicates::merge_duplicates),
        ];
    };
}

// The rules of the canonical form. Each is also available as a pass. Rules that shrink the graph come first.
canonical_form![
    inline_if::RULE,
    inline_if::HALVES,
    to_slice::RULE,
    fold_constants::RULE,
    drop_identities::RULE,
    decompose::DEFINITION,
    decompose::LOGICAL,
    fuse_attention::RULE,
    fuse_group_normalization::RULE,
    merge_slices::RULE,
    concat_of_slices::RULE,
    slice_of_concat::RULE,
    shape_of_source::RULE,
    hoist_slice::ELEMENTWISE,
    hoist_slice::BROADCAST,
    hoist_slice::ROWS,
    hoist_slice::SUMS,
    hoist_slice::GATHER,
    hoist_slice::MATMUL,
    hoist_slice::TRANSPOSE,
    hoist_slice_reshape::RULE,
];

/// A pass that consists of a single rule.
const fn alone(rules: &'static [Rule; 1]) -> Pass {
    Pass::of_rules(rules[0].name(), rules)
}

/// Maximum number of rounds. Merging duplicates can enable a rule, and a rule can enable merging, but this
/// rarely continues for more than a few rounds.
const MAX_ROUNDS: usize = 8;

/// The error if no pass has the requested name.
///
/// ```
/// let error = snick::Pass::by_name("merge-slizes").unwrap_err();
/// assert_eq!(error.to_string(), "no pass named `merge-slizes`; did you mean `merge-slices`?");
/// ```
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("no pass named `{name}`{}", suggestion(name))]
pub struct UnknownPass {
    /// The requested name.
    pub name: String,
}

/// The pass that a name may be a mistake for, otherwise all passes.
fn suggestion(name: &str) -> String {
    let names: Vec<&str> = PASSES.iter().chain(states::PASSES).map(Pass::name).collect();
    did_you_mean_or(name, names.iter().copied(), &format!("; the passes are {}", names.join(", ")))
}

impl Pass {
    /// The pass with this name: one of [`PASSES`], a pass that converts states, or a decomposition.
    ///
    /// ```
    /// assert_eq!(snick::Pass::by_name("merge-slices")?.name(), "merge-slices");
    /// assert!(snick::Pass::by_name("merge-slizes").is_err());
    /// # Ok::<(), snick::UnknownPass>(())
    /// ```
    ///
    /// # Errors
    /// [`UnknownPass`].
    pub fn by_name(name: &str) -> Result<Self, UnknownPass> {
        let decompositions = || decompose::RULES.iter().chain(decompose::DEFINITIONS);
        let decomposition = || decompositions().find(|rule| rule.name() == name);
        let known = PASSES.iter().chain(states::PASSES).find(|pass| pass.name() == name).cloned();
        let pass = known
            .or_else(|| decomposition().map(|rule| Self::of_rules(rule.name(), std::slice::from_ref(rule))));
        pass.ok_or_else(|| UnknownPass { name: name.to_string() })
    }
}

/// Brings an inferred graph and its bodies into canonical form: `slice` is the only slicing operation that
/// remains, except in the layers listed in [`Report::missed`], and no rule matches any more.
///
/// ```
/// use snick::RewriteOptions;
/// use snick_pass::canonicalise;
///
/// let text = r#"snick 1
/// graph "g" {
///   %x = Parameter-1 {element_type: f32, shape: "10"}
///   %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}
///   %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}
///   %y = Result-1(%b)
/// }
/// "#;
/// let mut graph = snick::text::parse(text, None)?;
/// snick::infer(&mut graph);
/// let report = canonicalise(&mut graph, &RewriteOptions::new().check(true));
/// assert_eq!((report.slice_after, report.checked), (1, 1));
/// # Ok::<(), snick::text::ParseError>(())
/// ```
///
/// The rules of [`RewriteOptions::rules`] take part. If one of them replaces an unknown layer, the graph is
/// inferred again, and canonicalisation continues with the new facts.
pub fn canonicalise(graph: &mut Graph, options: &RewriteOptions) -> Report {
    canonicalise_with(graph, options, options.checker()).0
}

/// Canonicalises with a checker, and returns it.
pub(crate) fn canonicalise_with(
    graph: &mut Graph,
    options: &RewriteOptions,
    checker: Option<Checker>,
) -> (Report, Option<Checker>) {
    let mut manager = PassManager { checker, ..PassManager::new(graph, options) };
    let own = options.own_rules();
    let rules = match own.is_empty() {
        true => Pass::of_rules("rules", RULES),
        false => Pass::new("rules", [RULES, own].concat()),
    };
    let inference = manager.until_known(graph, |manager, graph| manager.canonicalise(graph, &rules));
    manager.report.errors.extend(inference.unwrap_or_default());
    let is_reported = |rule: &str| rule == to_slice::RULE.name() || own.iter().any(|own| own.name() == rule);
    manager.report.missed.retain(|missed| is_reported(&missed.rule));
    let checker = manager.checker.clone();
    (manager.finish(graph), checker)
}

/// Lowers the slice-like layers of an inferred graph and its bodies to `slice`, without any other rewrite.
pub fn lower_slices(graph: &mut Graph) -> Report {
    apply(graph, const { &[alone(const { &[to_slice::RULE] })] }, &RewriteOptions::new())
}

/// Applies passes to an inferred graph and its bodies, in order and once each, and removes dead layers. If a
/// rule replaces an unknown layer, the graph is inferred again, and the pass continues with the new facts.
///
/// ```
/// use std::collections::HashSet;
///
/// use snick::{Pass, RewriteOptions, RewriteResult, Rule};
/// use snick_pass::apply;
///
/// let dropped = HashSet::from(["a".to_string()]);
/// let rule = Rule::new("drop-named", move |patch| match dropped.contains(patch.node().name()) {
///     true => Ok(RewriteResult::one(patch.input(0)?)),
///     false => Ok(RewriteResult::NoMatch),
/// });
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// # let mut graph = snick::text::parse(text, None)?;
/// # snick::infer(&mut graph);
/// let report = apply(&mut graph, &[Pass::new("mine", [rule])], &RewriteOptions::new().check(true));
/// // ReLU is not the identity: the check finds a difference, and the layer stays.
/// assert_eq!((report.applied.len(), report.check_failures.len()), (0, 1));
/// # Ok::<(), snick::text::ParseError>(())
/// ```
pub fn apply(graph: &mut Graph, passes: &[Pass], options: &RewriteOptions) -> Report {
    let mut manager = PassManager::new(graph, options);
    let mut inference = Vec::new();
    for pass in passes {
        let errors = manager.until_known(graph, |manager, graph| manager.apply(graph, pass));
        inference = errors.unwrap_or(inference);
    }
    manager.report.errors.extend(inference);
    manager.finish(graph)
}

/// Runs passes on a model and keeps the report.
struct PassManager {
    stop_after: Option<usize>,
    timed: bool,
    checker: Option<Checker>,
    monitor: Monitor,
    on_applied: Option<Arc<OnApplied>>,
    report: Report,
}

impl PassManager {
    fn new(graph: &Graph, options: &RewriteOptions) -> Self {
        let mut monitor = options.watch().start();
        monitor.check_graph(graph);
        Self {
            stop_after: options.limit(),
            timed: options.is_timed(),
            checker: options.checker(),
            monitor,
            on_applied: options.applied_hook(),
            report: Report::before(graph),
        }
    }

    fn finish(mut self, graph: &Graph) -> Report {
        self.report.finish(graph, self.checker.as_ref());
        self.report.stopped = self.monitor.into_stopped();
        self.report
    }

    /// Changes the graph until the number of unknown layers stays the same. Returns the errors of the last
    /// inference, if the graph was inferred again.
    fn until_known(
        &mut self,
        graph: &mut Graph,
        mut change: impl FnMut(&mut Self, &mut Graph),
    ) -> Option<Vec<Located>> {
        let report = &self.report;
        let (missed, errors, failures) =
            (report.missed.len(), report.errors.len(), report.check_failures.len());
        let mut unknown = opaque_layers(graph);
        let mut inference = None;
        loop {
            change(self, graph);
            let left = if unknown == 0 { 0 } else { opaque_layers(graph) };
            if left == unknown {
                return inference;
            }
            // The facts of later layers may be known now, so the change is repeated. Only the layers that are
            // declined or fail in the last run are reported.
            unknown = left;
            inference = Some(snick_ir::infer(graph));
            self.report.missed.truncate(missed);
            self.report.errors.truncate(errors);
            self.report.check_failures.truncate(failures);
        }
    }

    /// Canonicalises bodies first: afterwards, layers whose bodies differed may be equal and can be merged.
    fn canonicalise(&mut self, graph: &mut Graph, rules: &Pass) {
        graph.for_each_body(|body| self.canonicalise(body, rules));
        const MERGE: Pass = Pass::of_graph(merge_duplicates::NAME, merge_duplicates::merge_duplicates);
        for round in 0..MAX_ROUNDS {
            let mut trace = Trace::default();
            for step in [rules, &MERGE] {
                trace.extend(self.run(graph, step, trace.applied.len()));
            }
            let is_last = round + 1 == MAX_ROUNDS || trace.applied.is_empty() || self.monitor.is_stopped();
            if !is_last {
                // Layers that were declined or failed are only reported for the last round.
                (trace.missed, trace.errors) = (Vec::new(), Vec::new());
            }
            self.report.add(trace);
            if is_last {
                break;
            }
        }
    }

    /// Runs a pass on the graph and then on its bodies.
    fn apply(&mut self, graph: &mut Graph, pass: &Pass) {
        let trace = self.run(graph, pass, 0);
        self.report.add(trace);
        if pass.visits_bodies() {
            graph.for_each_body(|body| self.apply(body, pass));
        }
    }

    /// Runs a pass on the graph without its bodies. `unreported` is the number of replacements that the
    /// report does not contain yet.
    fn run(&mut self, graph: &mut Graph, pass: &Pass, unreported: usize) -> Trace {
        if self.monitor.is_stopped() {
            return Trace::default();
        }
        let left = self.report.remaining(self.stop_after);
        let options = DriverOptions {
            stop_after: left.map(|left| left.saturating_sub(unreported)),
            check: self.checker.as_mut().map(|checker| checker as _),
            only: None,
            timed: self.timed,
            on_applied: self.on_applied.as_deref().map(|on_applied| on_applied as _),
            monitor: Some(&mut self.monitor),
        };
        if !pass.is_of_graph() {
            return pass.run(graph, options);
        }
        let before = options.check.is_some().then(|| graph.clone());
        let trace = pass.run(graph, options);
        let trace = match before {
            Some(before) => self.checked(graph, pass, before, trace),
            None => trace,
        };
        self.announce(&trace.applied);
        trace
    }

    /// Announces the replacements of a pass over the graph.
    fn announce(&mut self, applied: &[Applied]) {
        let Some(on_applied) = &self.on_applied else { return };
        if let Some(last) = applied.iter().find(|applied| on_applied(applied).is_break()) {
            self.monitor.cancel(&last.layer);
        }
    }

    /// Executes a graph before and after a pass, and restores the graph if a result differs.
    fn checked(&mut self, graph: &mut Graph, pass: &Pass, before: Graph, mut trace: Trace) -> Trace {
        let Some(checker) = &mut self.checker else { return trace };
        if trace.applied.is_empty() && !matches!(Difference::of(&before, graph), Difference::Nothing) {
            trace.applied.push(of_graph(pass, graph));
        }
        let rounds = trace.applied.iter().any(|applied| !applied.exact).then_some(Tolerance::UNDECLARED);
        let tolerance = pass.tolerance().or(rounds);
        if let Err(report) = checker.check_graph(pass.name(), tolerance, &trace.applied, (&before, graph)) {
            let applied = trace.applied.drain(..).next().unwrap_or_else(|| of_graph(pass, graph));
            trace.check_failures.push(CheckFailure::new(applied, report));
            *graph = before;
        }
        if let Some(work) = trace.work.last_mut() {
            work.applied = trace.applied.len();
        }
        trace
    }
}

/// The log entry for a pass that changed a graph without logging anything.
fn of_graph(pass: &Pass, graph: &Graph) -> Applied {
    let exact = pass.tolerance().is_none();
    Applied {
        rule: pass.name().to_string().into(),
        layer: graph.name.as_str().into(),
        op: "model".into(),
        exact,
    }
}

fn opaque_layers(graph: &Graph) -> usize {
    count(graph, &|op| op.is_opaque())
}
