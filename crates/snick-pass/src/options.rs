//! Options for applying passes.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use snick_ir::rewrite::{Applied, Rule};
use snick_ir::{Limits, Progress, Watch};

use crate::check::Checker;
#[cfg(feature = "certify")]
use crate::prove::Prover;

/// Options for applying passes to a graph.
///
/// ```
/// use snick::RewriteOptions;
///
/// let options = RewriteOptions::new().check(true).seed(7).stop_after(10);
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RewriteOptions {
    check: bool,
    executes_proved: bool,
    seed: u64,
    stop_after: Option<usize>,
    timed: bool,
    watch: Watch,
    rules: Vec<Rule>,
    on_applied: Option<Arc<OnApplied>>,
}

/// Receives replacements; `Break` stops the work.
pub(crate) type OnApplied = dyn Fn(&Applied) -> ControlFlow<()> + Send + Sync;

impl fmt::Debug for RewriteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, executes_proved, seed, stop_after, timed, watch, rules, on_applied } = self;
        f.debug_struct("RewriteOptions")
            .field("check", check)
            .field("executes_proved", executes_proved)
            .field("seed", seed)
            .field("stop_after", stop_after)
            .field("timed", timed)
            .field("watch", watch)
            .field("rules", rules)
            .field("on_applied", &on_applied.is_some())
            .finish()
    }
}

impl RewriteOptions {
    /// No checks and no limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Executes the graph before and after every replacement on random sizes and elements, and rejects a
    /// replacement if the results differ.
    #[must_use]
    pub fn check(self, check: bool) -> Self {
        Self { check, ..self }
    }

    /// Also executes replacements that are proved, so that a check does not rely on proofs. The default is
    /// `false`.
    ///
    /// ```
    /// use snick::RewriteOptions;
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
    /// #             %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}\n  %y = Result-1(%b)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer();
    /// let report = model.canonicalise_with(&RewriteOptions::new().check(true).execute_proved(true));
    /// assert!(report.is_ok() && report.checked == report.applied.len());
    /// # Ok::<(), snick::Error>(())
    /// ```
    #[must_use]
    pub fn execute_proved(self, executes_proved: bool) -> Self {
        Self { executes_proved, ..self }
    }

    /// Sets the seed for random sizes and elements. The default is 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Stops after this many replacements, to find a wrong replacement by bisection.
    #[must_use]
    pub fn stop_after(self, rewrites: usize) -> Self {
        Self { stop_after: Some(rewrites), ..self }
    }

    /// Measures how long each rule takes; see [`Report::by_rule`](crate::Report::by_rule).
    #[must_use]
    pub fn timed(self, timed: bool) -> Self {
        Self { timed, ..self }
    }

    /// Stops at these limits; see [`Report::stopped`](crate::Report::stopped).
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { watch: self.watch.limits(limits), ..self }
    }

    /// Calls `progress` after each layer that rules visit, including new layers. If it returns `Break`, the
    /// pass stops.
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { watch: self.watch.progress(progress), ..self }
    }

    /// Adds rules to the rules of the canonical form: [`canonicalise`](crate::canonicalise) applies both until
    /// nothing changes. No effect on [`apply`](crate::apply).
    ///
    /// ```
    /// use snick::{RewriteOptions, RewriteResult, Rule};
    ///
    /// // Without the layer between them, the slices merge.
    /// let text = r#"snick 1
    /// graph "g" {
    ///   %x = Parameter-1 {element_type: f32, shape: "10"}
    ///   %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}
    ///   %b = Mine-"my.ops"(%a) : f32[8]
    ///   %c = slice(%b) {axes: [0], start: [2], len: [4], step: [1]}
    ///   %y = Result-1(%c)
    /// }
    /// "#;
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let rule = Rule::new("drop-mine", |patch| Ok(RewriteResult::one(patch.input(0)?))).roots(["Mine"]);
    /// let report = model.canonicalise_with(&RewriteOptions::new().rules([rule]));
    /// assert_eq!(report.slice_after, 1);
    /// # Ok::<(), snick::Error>(())
    /// ```
    #[must_use]
    pub fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Calls `on_applied` after each replacement of a rule, and for each replacement that a pass over the
    /// graph logged. If it returns `Break`, the work stops; see [`Report::stopped`](crate::Report::stopped).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use snick::RewriteOptions;
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"10\"}\n  \
    /// #             %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
    /// #             %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}\n  %y = Result-1(%b)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let options = RewriteOptions::new().on_applied(|applied| {
    ///     println!("{} replaced {}", applied.rule, applied.layer);
    ///     ControlFlow::Break(())
    /// });
    /// let report = model.canonicalise_with(&options);
    /// assert_eq!((report.applied.len(), report.stopped.is_some()), (1, true));
    /// # Ok::<(), snick::Error>(())
    /// ```
    #[must_use]
    pub fn on_applied(
        self,
        on_applied: impl Fn(&Applied) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self { on_applied: Some(Arc::new(on_applied)), ..self }
    }

    pub(crate) fn own_rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(crate) fn applied_hook(&self) -> Option<Arc<OnApplied>> {
        self.on_applied.clone()
    }

    /// The limits and the progress callback.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(crate) fn checker(&self) -> Option<Checker> {
        #[cfg(feature = "certify")]
        return self.check.then(|| self.checker_with(Prover::default()));
        #[cfg(not(feature = "certify"))]
        self.check.then(|| Checker::new(self.seed))
    }

    /// A checker with this prover.
    #[cfg(feature = "certify")]
    pub(crate) fn checker_with(&self, prover: Prover) -> Checker {
        Checker::with_prover(self.seed, prover, self.executes_proved)
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    pub(crate) fn limit(&self) -> Option<usize> {
        self.stop_after
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use snick_ir::rewrite::RewriteResult;
    use snick_ir::text::parse;
    use snick_ir::{Graph, infer};

    use super::*;
    use crate::{Pass, PassContext, apply, canonicalise};

    fn graph(layers: &str) -> Graph {
        let mut graph = parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        graph
    }

    const THREE: &str = "%x = Parameter-1 {element_type: f32, shape: \"3\"}
        %a = ReLU-1(%x)\n%b = ReLU-1(%a)\n%c = ReLU-1(%b)\n%y = Result-1(%c)";

    /// Options that record what was announced, and stop after `most` replacements.
    fn recording(most: usize) -> (RewriteOptions, Arc<Mutex<Vec<String>>>) {
        let record = Arc::new(Mutex::new(Vec::new()));
        let seen = record.clone();
        let options = RewriteOptions::new().on_applied(move |applied| {
            let mut seen = seen.lock().unwrap();
            seen.push(format!("{} {}", applied.rule, applied.layer));
            if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        (options, record)
    }

    fn drop_relu(name: &'static str) -> Rule {
        Rule::new(name, |patch| Ok(RewriteResult::one(patch.input(0)?))).roots(["ReLU"])
    }

    #[test]
    fn each_replacement_is_announced() {
        let (options, record) = recording(9);
        let report = apply(&mut graph(THREE), &[Pass::new("mine", [drop_relu("r")])], &options);
        assert_eq!((report.applied.len(), report.stopped), (3, None));
        assert_eq!(*record.lock().unwrap(), ["r a", "r b", "r c"]);
    }

    #[test]
    fn break_stops_the_rules_and_the_passes_after_them() {
        let (options, record) = recording(2);
        let passes = [Pass::new("first", [drop_relu("r")]), Pass::new("second", [drop_relu("s")])];
        let mut graph = graph(THREE);
        let report = apply(&mut graph, &passes, &options);
        let stopped = report.stopped.unwrap();
        assert_eq!((report.applied.len(), &*stopped.layer, stopped.limit), (2, "b", None));
        assert_eq!((record.lock().unwrap().len(), graph.len()), (2, 3));
    }

    #[test]
    fn replacements_of_a_pass_over_the_graph_are_announced() {
        let change = |graph: &mut Graph, cx: &mut PassContext| {
            let relu: Vec<_> = graph.ids().filter(|&id| graph.node(id).op().type_name() == "ReLU").collect();
            relu.into_iter().for_each(|id| cx.applied(graph.node(id)));
        };
        let (options, record) = recording(2);
        let report = apply(&mut graph(THREE), &[Pass::graph("p", change)], &options);
        assert!(report.stopped.is_some());
        assert_eq!(*record.lock().unwrap(), ["p a", "p b"]);
    }

    /// Each rule enables the other: neither would finish alone.
    #[test]
    fn own_rules_and_the_canonical_form_reach_a_common_fixed_point() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"20\"}
            %a = slice(%x) {axes: [0], start: [1], len: [18], step: [1]}
            %b = ReLU-1(%a)
            %c = slice(%b) {axes: [0], start: [1], len: [16], step: [1]}
            %d = ReLU-1(%c)
            %e = slice(%d) {axes: [0], start: [1], len: [14], step: [1]}
            %y = Result-1(%e)";
        let relu_once = Rule::new("relu-once", |patch| match patch.input(0)? {
            data if patch.op_of(data).type_name() == "ReLU" => Ok(RewriteResult::one(data)),
            _ => Ok(RewriteResult::declined("the input may be negative")),
        });
        let mut graph = graph(layers);
        let options = RewriteOptions::new().check(true).rules([relu_once.roots(["ReLU"])]);
        let report = canonicalise(&mut graph, &options);
        assert!(report.is_ok(), "{:?}", report.check_failures);
        assert_eq!((report.slice_after, graph.len()), (1, 4), "{:?}", report.applied);
        assert_eq!((report.missed.len(), &*report.missed[0].rule), (1, "relu-once"));
        let again = canonicalise(&mut graph, &options);
        assert!(again.applied.is_empty());
    }

    /// The facts after a replaced unknown layer become known, and canonicalisation continues with them.
    #[test]
    fn facts_that_own_rules_make_known_are_used() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"9\"}
            %a = Mine-x(%x) : f32[?]
            %start = Const-1 i64[1] <-3>\n%stop = Const-1 i64[1] <9>\n%step = Const-1 i64[1] <1>
            %b = Slice-8(%a, %start, %stop, %step)
            %y = Result-1(%b)";
        let mut graph = graph(layers);
        let rule = Rule::new("drop-mine", |patch| Ok(RewriteResult::one(patch.input(0)?))).roots(["Mine"]);
        let report = canonicalise(&mut graph, &RewriteOptions::new().rules([rule]));
        assert_eq!((report.errors.len(), report.slice_after, graph.len()), (0, 1, 3));
        let result = graph.results().next().unwrap();
        assert_eq!(graph.node(result).outs()[0].fact.shape.as_static().as_deref(), Some(&[3][..]));
    }
}
