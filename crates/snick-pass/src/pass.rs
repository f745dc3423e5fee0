//! Passes: a name, and rules or one function over the graph.

use std::borrow::Cow;

use snick_ir::Graph;
use snick_ir::rewrite::{self, DriverOptions, Rule, Trace};

/// A named pass. Cheap to clone if it is a constant.
///
/// ```
/// use snick_ir::rewrite::{RewriteResult, Rule};
/// use snick_pass::Pass;
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
}

/// What a pass does.
#[derive(Clone, Debug)]
enum PassKind {
    /// Applies rules, in order of preference, until nothing changes.
    Rules(Cow<'static, [Rule]>),
    /// Looks at the graph as a whole.
    Graph(GraphFn),
    /// Looks at the graph of the model as a whole, not at its bodies.
    Model(GraphFn),
}

/// Changes a graph, at most so many times.
type GraphFn = fn(&mut Graph, Option<usize>) -> Trace;

impl Pass {
    /// A pass of rules, in order of preference. They apply until nothing changes.
    pub fn new(name: impl Into<Cow<'static, str>>, rules: impl Into<Vec<Rule>>) -> Self {
        Self { name: name.into(), kind: PassKind::Rules(Cow::Owned(rules.into())) }
    }

    /// [`Pass::new`] of constant rules, as a constant.
    pub const fn of_rules(name: &'static str, rules: &'static [Rule]) -> Self {
        Self { name: Cow::Borrowed(name), kind: PassKind::Rules(Cow::Borrowed(rules)) }
    }

    /// A function over the graph, which changes it at most so many times and leaves replaced layers unread.
    pub const fn of_graph(name: &'static str, change: fn(&mut Graph, Option<usize>) -> Trace) -> Self {
        Self { name: Cow::Borrowed(name), kind: PassKind::Graph(change) }
    }

    /// [`Pass::of_graph`], for the graph of a model and not for its bodies.
    pub const fn of_model(name: &'static str, change: fn(&mut Graph, Option<usize>) -> Trace) -> Self {
        Self { name: Cow::Borrowed(name), kind: PassKind::Model(change) }
    }

    /// Whether the pass runs on bodies, too.
    pub(crate) fn visits_bodies(&self) -> bool {
        !matches!(self.kind, PassKind::Model(_))
    }

    /// Its name in commands.
    pub const fn name(&self) -> &str {
        match &self.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.as_str(),
        }
    }

    /// Runs on a graph, without its bodies, and removes dead layers.
    pub(crate) fn run(&self, graph: &mut Graph, options: DriverOptions<'_>) -> Trace {
        match &self.kind {
            PassKind::Rules(rules) => rewrite::apply(graph, rules, options),
            PassKind::Graph(change) | PassKind::Model(change) => {
                let trace = change(graph, options.stop_after);
                graph.remove_dead_nodes();
                trace
            }
        }
    }
}
