//! A pass has a name, and either rules or a function over the graph.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use snick_ir::Graph;
use snick_ir::rewrite::{self, DriverOptions, Rule, RuleWork, Tolerance, Trace};

use crate::context::{PassContext, PassOutcome};

/// A named pass. Cloning a pass that is a constant is cheap.
///
/// ```
/// use snick::{Pass, RewriteResult, Rule};
///
/// let most = 8;
/// let rule = Rule::new("small-only", move |patch| match patch.node().outputs().len() > most {
///     true => Ok(RewriteResult::declined("too many outputs")),
///     false => Ok(RewriteResult::NoMatch),
/// });
/// assert_eq!(Pass::new("mine", [rule]).name(), "mine");
///
/// const NOTHING: Rule = Rule::exact("nothing", |_| Ok(RewriteResult::NoMatch));
/// const PASS: Pass = Pass::of_rules("nothing", const { &[NOTHING] });
/// assert_eq!(PASS.name(), "nothing");
/// ```
#[derive(Clone, Debug)]
pub struct Pass {
    name: Cow<'static, str>,
    kind: PassKind,
    /// For a pass over the graph, the tolerance for its outputs. In a pass of rules, each rule declares its
    /// own tolerance.
    tolerance: Option<Tolerance>,
}

/// The implementation of a pass.
#[derive(Clone, Debug)]
enum PassKind {
    /// Applies rules to a fixed point; earlier rules have priority.
    Rules(Cow<'static, [Rule]>),
    /// A function over the graph.
    Graph(GraphFn),
    /// A closure over the graph.
    Closure(GraphClosure),
    /// A function over the graph of the model. It does not run on bodies.
    Model(GraphFn),
}

/// Changes a graph, and makes at most the given number of changes.
type GraphFn = fn(&mut Graph, Option<usize>) -> Trace;

/// Changes a graph and logs the changes.
#[derive(Clone)]
struct GraphClosure(Arc<ChangeGraph>);

type ChangeGraph = dyn Fn(&mut Graph, &mut PassContext) + Send + Sync;

impl fmt::Debug for GraphClosure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a closure")
    }
}

impl Pass {
    /// A pass of rules, which are applied to a fixed point. Earlier rules have priority.
    pub fn new(name: impl Into<Cow<'static, str>>, rules: impl Into<Vec<Rule>>) -> Self {
        Self { name: name.into(), kind: PassKind::Rules(Cow::Owned(rules.into())), tolerance: None }
    }

    /// Like [`Pass::new`], but for constant rules, so that the pass can be a constant.
    pub const fn of_rules(name: &'static str, rules: &'static [Rule]) -> Self {
        let kind = PassKind::Rules(Cow::Borrowed(rules));
        Self { name: Cow::Borrowed(name), kind, tolerance: None }
    }

    /// A pass that runs a closure over a whole graph. The closure runs on the model and then on each body,
    /// and logs its replacements in the context. Layers without readers are removed afterwards.
    ///
    /// With checks, the graph is executed before and after the pass on sample sizes. If a result changes, the
    /// pass is rejected and undone. If the results cannot be compared, for instance because a layer cannot be
    /// executed or the pass changed the inputs or outputs, the pass is counted as
    /// [unchecked](crate::Report::unchecked).
    ///
    /// ```
    /// use snick::{Graph, Pass, PassContext, RewriteOptions};
    ///
    /// let drop_relu = Pass::graph("drop-relu", |graph: &mut Graph, cx: &mut PassContext| {
    ///     for id in graph.order()? {
    ///         if graph.node(id).op().type_name() == "ReLU" {
    ///             let input = graph.node(id).input(0);
    ///             cx.applied(graph.node(id));
    ///             graph.replace_outputs(id, &[input]);
    ///         }
    ///     }
    ///     Ok(())
    /// });
    /// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    ///             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let report = model.apply(&[drop_relu], &RewriteOptions::new().check(true))?;
    /// assert_eq!((report.applied.len(), report.check_failures.len(), model.graph().len()), (0, 1, 3));
    /// assert!(!report.is_ok());
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn graph<R: PassOutcome>(
        name: impl Into<Cow<'static, str>>,
        change: impl Fn(&mut Graph, &mut PassContext) -> R + Send + Sync + 'static,
    ) -> Self {
        let change = move |graph: &mut Graph, cx: &mut PassContext| {
            let outcome = change(graph, cx).into_result();
            cx.end(graph, outcome);
        };
        Self { name: name.into(), kind: PassKind::Closure(GraphClosure(Arc::new(change))), tolerance: None }
    }

    /// A pass that runs a function over the graph. The function makes at most the given number of changes,
    /// and leaves replaced layers in the graph without readers.
    pub const fn of_graph(name: &'static str, change: fn(&mut Graph, Option<usize>) -> Trace) -> Self {
        Self { name: Cow::Borrowed(name), kind: PassKind::Graph(change), tolerance: None }
    }

    /// Like [`Pass::of_graph`], but does not run on bodies.
    pub const fn of_model(name: &'static str, change: fn(&mut Graph, Option<usize>) -> Trace) -> Self {
        Self { name: Cow::Borrowed(name), kind: PassKind::Model(change), tolerance: None }
    }

    /// Declares that results of a pass over the graph may be rounded differently. An element may change by
    /// `relative` times its magnitude plus `absolute`, as in [`Rule::may_round_within`]. In a pass of rules,
    /// each rule declares its own tolerance instead.
    #[must_use]
    pub const fn may_round_within(mut self, relative: f64, absolute: f64) -> Self {
        self.tolerance = Some(Tolerance { relative, absolute });
        self
    }

    /// The tolerance for outputs after a pass over the graph.
    pub(crate) const fn tolerance(&self) -> Option<Tolerance> {
        self.tolerance
    }

    /// Whether the pass is a function over the graph.
    pub(crate) fn is_of_graph(&self) -> bool {
        !matches!(self.kind, PassKind::Rules(_))
    }

    /// Whether the pass also runs on bodies.
    pub(crate) fn visits_bodies(&self) -> bool {
        !matches!(self.kind, PassKind::Model(_))
    }

    /// The name of the pass on the command line.
    pub const fn name(&self) -> &str {
        match &self.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.as_str(),
        }
    }

    /// Runs the pass on a graph without its bodies, and removes dead layers.
    pub(crate) fn run(&self, graph: &mut Graph, options: DriverOptions<'_>) -> Trace {
        let begun = (options.timed && !cfg!(target_family = "wasm")).then(Instant::now);
        let mut trace = match &self.kind {
            PassKind::Rules(rules) => return rewrite::apply(graph, rules, options),
            PassKind::Graph(change) | PassKind::Model(change) => change(graph, options.stop_after),
            PassKind::Closure(GraphClosure(change)) => {
                let mut cx = PassContext::new(self.name.clone(), self.tolerance, options.stop_after);
                change(graph, &mut cx);
                cx.into_trace()
            }
        };
        graph.remove_dead_nodes();
        let mut work = RuleWork::new(self.name.clone());
        (work.tried, work.applied, work.declined) = (1, trace.applied.len(), trace.missed.len());
        work.time = begun.map(|begun| begun.elapsed()).unwrap_or_default();
        trace.work.push(work);
        trace
    }
}
